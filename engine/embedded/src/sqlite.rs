//! SQLite: one table of keys and values per file, with a write-ahead log. Each thread has a connection with
//! its own cache; there is a single writer, for which the others wait. Its library is loaded on demand.

mod library;

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::fault::{BUSY, DAMAGED, DENIED, ENGINE, IO, NO_SPACE, TOO_LARGE};
use super::library::{Object, bytes};
use super::{Change, Changes, Fault, Handle, Key, Options, Store};

pub use library::{Loaded, find};

const CREATE: &CStr =
    c"CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
const GET: &CStr = c"SELECT value FROM kv WHERE key = ?1";
const PUT: &CStr = c"INSERT INTO kv VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const REMOVE: &CStr = c"DELETE FROM kv WHERE key = ?1";
const SCAN: &CStr = c"SELECT key, value FROM kv WHERE key >= ?1 ORDER BY key";

/// Limit of waiting for another writer.
const BUSY_TIMEOUT_MS: c_int = 10_000;

// Constants of sqlite3.h.
const OK: c_int = 0;
const ROW: c_int = 100;
const DONE: c_int = 101;
const OPEN_READWRITE: c_int = 0x2;
const OPEN_CREATE: c_int = 0x4;
const OPEN_NOMUTEX: c_int = 0x8000;
const PREPARE_PERSISTENT: u32 = 1;

pub struct Sqlite {
    library: Loaded,
    /// Paths of the files, and the initial statements of each connection.
    paths: Vec<PathBuf>,
    settings: CString,
    /// One idle connection per file, which keeps the file open until the store is closed.
    idle: Mutex<Vec<IdleConnection>>,
}

/// A connection's pointer, movable between threads.
struct IdleConnection(Object);

// SAFETY: used by one thread at a time, under the lock.
unsafe impl Send for IdleConnection {}

/// One thread's connections, one per file.
pub struct Connections<'s> {
    files: Vec<Connection<'s>>,
}

struct Connection<'s> {
    library: &'s Loaded,
    database: Object,
    get: Object,
    put: Object,
    remove: Object,
    scan: Object,
    begin: Object,
    begin_writing: Object,
    commit: Object,
}

impl Store for Sqlite {
    type Handle<'s> = Connections<'s>;

    fn open(options: &Options, threads: u32) -> Result<Self, Fault> {
        let library = library::find(options.library.as_deref())?;
        // SAFETY: no arguments.
        if unsafe { (library.threadsafe)() } == 0 {
            return Err(Fault::fatal(
                ENGINE,
                "this SQLite was built for one thread only (SQLITE_THREADSAFE=0)",
            ));
        }
        let path = |file| options.directory.join(format!("{}.sqlite", Options::name(file)));
        // With a write-ahead log, NORMAL keeps the file consistent and syncs only at checkpoints; FULL syncs
        // each commit.
        let synchronous = if options.sync { "FULL" } else { "NORMAL" };
        let cache_kib = (options.cache_per_connection(threads) >> 10).clamp(1, i32::MAX as u64);
        let settings = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -{cache_kib}"
        );
        let settings = CString::new(settings).expect("a text without zeros");
        let paths: Vec<_> = (0..options.files).map(path).collect();
        let idle = paths.iter().map(|path| {
            let database = open(&library, path, &settings)?;
            let connection = IdleConnection(database);
            execute(&library, database, CREATE).inspect_err(|_| close(&library, &connection))?;
            Ok(connection)
        });
        let idle = idle.collect::<Result<_, Fault>>()?;
        Ok(Self { library, paths, settings, idle: Mutex::new(idle) })
    }

    fn handle(&self) -> Result<Connections<'_>, Fault> {
        let connect = |path: &PathBuf| Connection::new(&self.library, path, &self.settings);
        let files = self.paths.iter().map(connect).collect::<Result<_, _>>()?;
        Ok(Connections { files })
    }

    fn close(self) -> Result<(), Fault> {
        let idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let settle = c"PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)";
        idle.iter().try_for_each(|connection| execute(&self.library, connection.0, settle))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        idle.iter().for_each(|connection| close(&self.library, connection));
    }
}

fn close(library: &Loaded, connection: &IdleConnection) {
    // SAFETY: a connection without statements that is no longer used.
    unsafe { (library.close_v2)(connection.0) };
}

fn open(library: &Loaded, path: &Path, settings: &CStr) -> Result<Object, Fault> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Fault::new(ENGINE, "the directory's name has a zero in it"))?;
    let flags = OPEN_READWRITE | OPEN_CREATE | OPEN_NOMUTEX;
    let mut database = std::ptr::null_mut();
    // SAFETY: valid name and output pointer. A connection that failed to open must be closed as well.
    unsafe {
        let opened = (library.open_v2)(name.as_ptr(), &mut database, flags, std::ptr::null());
        let ready = checked(library, database, opened).and_then(|()| {
            (library.busy_timeout)(database, BUSY_TIMEOUT_MS);
            execute(library, database, settings)
        });
        ready.inspect_err(|_| close(library, &IdleConnection(database)))?;
    }
    Ok(database)
}

/// Execute statements without results.
fn execute(library: &Loaded, database: Object, sql: &CStr) -> Result<(), Fault> {
    let nothing = std::ptr::null_mut();
    // SAFETY: an open connection and a text.
    let code = unsafe { (library.exec)(database, sql.as_ptr(), nothing, nothing, nothing) };
    checked(library, database, code)
}

#[inline]
fn checked(library: &Loaded, database: Object, code: c_int) -> Result<(), Fault> {
    if matches!(code, OK | ROW | DONE) { Ok(()) } else { Err(fault(library, database, code)) }
}

#[cold]
fn fault(library: &Loaded, database: Object, code: c_int) -> Fault {
    // SAFETY: messages belong to the library and are copied at once; without a connection there is one for
    // the code.
    let message = unsafe {
        CStr::from_ptr(if database.is_null() { (library.errstr)(code) } else { (library.errmsg)(database) })
    };
    let message = message.to_string_lossy().into_owned();
    // The low byte is the error, the others its detail.
    match code & 0xff {
        13 => Fault::new(NO_SPACE, message),
        3 | 8 | 14 | 23 => Fault::new(DENIED, message),
        11 | 26 => Fault::fatal(DAMAGED, message),
        5 | 6 => Fault::new(BUSY, message),
        18 => Fault::new(TOO_LARGE, message),
        10 => Fault::new(IO, message),
        _ => Fault::new(ENGINE, message),
    }
}

/// Current row of a statement.
struct Row<'r> {
    library: &'r Loaded,
    statement: Object,
}

impl Row<'_> {
    #[inline]
    fn column(&self, number: c_int) -> &[u8] {
        // SAFETY: a column's data is valid until the next step, and so longer than the row.
        unsafe {
            let start = (self.library.column_blob)(self.statement, number);
            bytes(start, (self.library.column_bytes)(self.statement, number) as usize)
        }
    }
}

impl<'s> Connection<'s> {
    fn new(library: &'s Loaded, path: &Path, settings: &CStr) -> Result<Self, Fault> {
        let nothing = std::ptr::null_mut();
        let mut connection = Self {
            library,
            database: open(library, path, settings)?,
            get: nothing,
            put: nothing,
            remove: nothing,
            scan: nothing,
            begin: nothing,
            begin_writing: nothing,
            commit: nothing,
        };
        connection.get = connection.prepare(GET)?;
        connection.put = connection.prepare(PUT)?;
        connection.remove = connection.prepare(REMOVE)?;
        connection.scan = connection.prepare(SCAN)?;
        connection.begin = connection.prepare(c"BEGIN")?;
        connection.begin_writing = connection.prepare(c"BEGIN IMMEDIATE")?;
        connection.commit = connection.prepare(c"COMMIT")?;
        Ok(connection)
    }

    fn prepare(&self, sql: &CStr) -> Result<Object, Fault> {
        let (lib, mut statement) = (self.library, std::ptr::null_mut());
        // SAFETY: an open connection, a zero-terminated text, and an output pointer.
        let code = unsafe {
            let unread = std::ptr::null_mut();
            (lib.prepare_v3)(self.database, sql.as_ptr(), -1, PREPARE_PERSISTENT, &mut statement, unread)
        };
        checked(lib, self.database, code)?;
        Ok(statement)
    }

    /// Bind values, pass rows to `read` until it returns false, and reset the statement.
    #[inline]
    fn run(
        &self,
        statement: Object,
        values: &[&[u8]],
        mut read: impl FnMut(&Row<'_>) -> bool,
    ) -> Result<(), Fault> {
        let lib = self.library;
        let mut ended = Ok(());
        // SAFETY: the statement belongs to this connection; bound data outlives the reset.
        unsafe {
            for (number, value) in values.iter().enumerate() {
                let Ok(size) = c_int::try_from(value.len()) else {
                    return Err(Fault::new(TOO_LARGE, "SQLite takes keys and values up to 2 GiB"));
                };
                let code = (lib.bind_blob)(
                    statement,
                    number as c_int + 1,
                    value.as_ptr(),
                    size,
                    std::ptr::null_mut(),
                );
                checked(lib, self.database, code)?;
            }
            loop {
                let code = (lib.step)(statement);
                if code != ROW {
                    ended = ended.and(checked(lib, self.database, code));
                    break;
                }
                if !read(&Row { library: lib, statement }) {
                    break;
                }
            }
            (lib.reset)(statement);
        }
        ended
    }

    fn get<R>(&self, key: &[u8], show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let (mut show, mut shown) = (Some(show), None);
        self.run(self.get, &[key], |row| {
            shown = show.take().map(|show| show(Some(row.column(0))));
            false
        })?;
        Ok(match (shown, show) {
            (Some(shown), _) => shown,
            (None, Some(show)) => show(None),
            (None, None) => unreachable!("what was shown has a result"),
        })
    }

    fn change(&self, change: Change<'_>) -> Result<(), Fault> {
        match change.value {
            Some(value) => self.run(self.put, &[change.key, value], |_| true),
            None => self.run(self.remove, &[change.key], |_| true),
        }
    }

    /// Run `work` in a transaction started by `begin`.
    fn transact(&self, begin: Object, work: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
        self.run(begin, &[], |_| true)?;
        let done = work().and_then(|()| self.run(self.commit, &[], |_| true));
        if done.is_err() {
            // Some errors have already rolled back.
            let _ = execute(self.library, self.database, c"ROLLBACK");
        }
        done
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        let statements =
            [self.get, self.put, self.remove, self.scan, self.begin, self.begin_writing, self.commit];
        // SAFETY: they belong to this connection and are no longer used; null is allowed.
        unsafe {
            for statement in statements {
                (self.library.finalize)(statement);
            }
            (self.library.close_v2)(self.database);
        }
    }
}

impl Handle for Connections<'_> {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        self.files[key.file].get(key.bytes, show)
    }

    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        // Each file involved gets a transaction, which always ends.
        let mut begun = vec![false; self.files.len()];
        let mut keys = keys;
        let asked = keys.try_for_each(|key| {
            let connection = &self.files[key.file];
            if !std::mem::replace(&mut begun[key.file], true) {
                connection.run(connection.begin, &[], |_| true)?;
            }
            connection.get(key.bytes, &mut show)
        });
        let begun = self.files.iter().zip(begun).filter(|(_, begun)| *begun);
        begun.fold(asked, |so_far, (connection, _)| {
            so_far.and(connection.run(connection.commit, &[], |_| true))
        })
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        // A single statement is a transaction already.
        if changes.len() == 1 {
            return changes.iter().try_for_each(|change| self.files[change.file].change(change));
        }
        for (file, mut changes_of_file) in changes.by_file(self.files.len()) {
            let connection = &self.files[file];
            connection.transact(connection.begin_writing, || {
                changes_of_file.try_for_each(|change| connection.change(change))
            })?;
        }
        Ok(())
    }

    fn scan(&mut self, from: Key<'_>, mut show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        let connection = &self.files[from.file];
        connection.run(connection.scan, &[from.bytes], |row| show(row.column(0), row.column(1)))
    }
}
