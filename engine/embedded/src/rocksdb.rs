//! RocksDB: log-structured merge trees in C++, one per column family, with a common write-ahead log. It
//! flushes and compacts in its own threads. Its library is loaded on demand.

mod library;

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use super::fault::{ENGINE, TOO_LARGE};
use super::library::{Object, bytes};
use super::{Changes, Fault, Handle, Key, Options, Store};

pub use library::{Loaded, find};

/// Exists in every store; a store cannot be opened without it.
const DEFAULT_FAMILY: &str = "default";

pub struct Rocksdb {
    library: Loaded,
    database: Object,
    /// The default family, then those of the files.
    families: Vec<Object>,
    write: Object,
    read: Object,
}

// SAFETY: RocksDB's database, column families and options are thread-safe (rocksdb/db.h); the only object
// that is not, the batch, belongs to a handle.
unsafe impl Send for Rocksdb {}
unsafe impl Sync for Rocksdb {}

/// One thread's write batch, and buffers of its reads.
pub struct Batch<'s> {
    store: &'s Rocksdb,
    batch: Object,
    asked: ReadBuffers,
}

/// Keys and results of a `multi_get`, in the form of the C interface.
#[derive(Default)]
struct ReadBuffers {
    families: Vec<Object>,
    keys: Vec<*const c_char>,
    sizes: Vec<usize>,
    values: Vec<*mut c_char>,
    value_sizes: Vec<usize>,
    errors: Vec<*mut c_char>,
}

impl Store for Rocksdb {
    type Handle<'s> = Batch<'s>;

    fn open(options: &Options, _: u32) -> Result<Self, Fault> {
        let library = library::find(options.library.as_deref())?;
        let names = std::iter::once(DEFAULT_FAMILY.to_string()).chain((0..options.files).map(Options::name));
        let names: Vec<_> = names.map(|name| CString::new(name).expect("a name without zeros")).collect();
        let path = options.directory.join("rocksdb");
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Fault::new(ENGINE, "the directory's name has a zero in it"))?;
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let mut families = vec![std::ptr::null_mut(); names.len()];
        // SAFETY: every object is created and freed by the same library, in this order; the arrays have as
        // many elements as there are names. Options share ownership of their arguments.
        let database = unsafe {
            let lib = &library;
            let settings = (lib.options_create)();
            (lib.options_set_create_if_missing)(settings, 1);
            (lib.options_set_create_missing_column_families)(settings, 1);
            let table = (lib.block_based_options_create)();
            let cache = (lib.cache_create_lru)(usize::try_from(options.cache_bytes).unwrap_or(usize::MAX));
            (lib.block_based_options_set_block_cache)(table, cache);
            (lib.options_set_block_based_table_factory)(settings, table);
            let of_each = vec![settings; names.len()];
            let opened = lib.checked(|error| {
                (lib.open_column_families)(
                    settings,
                    path.as_ptr(),
                    names.len() as c_int,
                    pointers.as_ptr(),
                    of_each.as_ptr(),
                    families.as_mut_ptr(),
                    error,
                )
            });
            (lib.block_based_options_destroy)(table);
            (lib.cache_destroy)(cache);
            (lib.options_destroy)(settings);
            opened?
        };
        // SAFETY: as above; both are freed when the store is dropped.
        let (write, read) = unsafe { ((library.writeoptions_create)(), (library.readoptions_create)()) };
        unsafe { (library.writeoptions_set_sync)(write, u8::from(options.sync)) };
        Ok(Self { library, database, families, write, read })
    }

    fn handle(&self) -> Result<Batch<'_>, Fault> {
        // SAFETY: freed when the handle is dropped.
        Ok(Batch {
            store: self,
            batch: unsafe { (self.library.writebatch_create)() },
            asked: ReadBuffers::default(),
        })
    }

    fn close(self) -> Result<(), Fault> {
        // SAFETY: the database is open until it is dropped.
        self.library.checked(|error| unsafe { (self.library.flush_wal)(self.database, 1, error) })
    }
}

impl Drop for Rocksdb {
    fn drop(&mut self) {
        // SAFETY: no object is in use, as handles borrow the store.
        unsafe {
            self.families.iter().for_each(|&family| (self.library.column_family_handle_destroy)(family));
            (self.library.close)(self.database);
            (self.library.writeoptions_destroy)(self.write);
            (self.library.readoptions_destroy)(self.read);
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // SAFETY: exclusively owned.
        unsafe { (self.store.library.writebatch_destroy)(self.batch) };
    }
}

impl Rocksdb {
    #[inline]
    fn family(&self, file: usize) -> Object {
        self.families[file + 1]
    }
}

impl Handle for Batch<'_> {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let (store, lib) = (self.store, &self.store.library);
        let (family, start, size) = (store.family(key.file), key.bytes.as_ptr().cast(), key.bytes.len());
        // SAFETY: all objects belong to the store; the slice is valid until it is destroyed after use.
        unsafe {
            let value = lib.checked(|error| {
                (lib.get_pinned_cf)(store.database, store.read, family, start, size, error)
            })?;
            if value.is_null() {
                return Ok(show(None));
            }
            let mut size = 0;
            let start = (lib.pinnableslice_value)(value, &mut size);
            let shown = show(Some(bytes(start, size)));
            (lib.pinnableslice_destroy)(value);
            Ok(shown)
        }
    }

    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        let (store, lib, asked) = (self.store, &self.store.library, &mut self.asked);
        asked.families.clear();
        asked.keys.clear();
        asked.sizes.clear();
        for key in keys {
            asked.families.push(store.family(key.file));
            asked.keys.push(key.bytes.as_ptr().cast());
            asked.sizes.push(key.bytes.len());
        }
        let count = asked.keys.len();
        for texts in [&mut asked.values, &mut asked.errors] {
            texts.clear();
            texts.resize(count, std::ptr::null_mut());
        }
        asked.value_sizes.clear();
        asked.value_sizes.resize(count, 0);
        let mut trouble = Ok(());
        // SAFETY: all arrays have `count` elements; values and errors are allocated with malloc and freed
        // here.
        unsafe {
            (lib.multi_get_cf)(
                store.database,
                store.read,
                asked.families.as_ptr(),
                count,
                asked.keys.as_ptr(),
                asked.sizes.as_ptr(),
                asked.values.as_mut_ptr(),
                asked.value_sizes.as_mut_ptr(),
                asked.errors.as_mut_ptr(),
            );
            for ((&value, &size), &error) in asked.values.iter().zip(&asked.value_sizes).zip(&asked.errors) {
                if !error.is_null() {
                    trouble = trouble.and(Err(lib.fault(error)));
                } else if value.is_null() {
                    show(None);
                } else {
                    show(Some(bytes(value, size)));
                }
                if !value.is_null() {
                    (lib.free)(value.cast());
                }
            }
        }
        trouble
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        let (store, lib) = (self.store, &self.store.library);
        // Sizes are 32 bits wide, and overflow without an immediate error.
        if changes.iter().any(|change| change.value.is_some_and(|value| value.len() > u32::MAX as usize)) {
            return Err(Fault::new(TOO_LARGE, "RocksDB takes values up to 4 GiB"));
        }
        // SAFETY: the batch copies its arguments.
        unsafe {
            (lib.writebatch_clear)(self.batch);
            for change in changes.iter() {
                let (family, key) = (store.family(change.file), change.key.as_ptr().cast());
                match change.value {
                    Some(value) => {
                        let start = value.as_ptr().cast();
                        (lib.writebatch_put_cf)(
                            self.batch,
                            family,
                            key,
                            change.key.len(),
                            start,
                            value.len(),
                        );
                    }
                    None => (lib.writebatch_delete_cf)(self.batch, family, key, change.key.len()),
                }
            }
            lib.checked(|error| (lib.write)(store.database, store.write, self.batch, error))
        }
    }

    fn scan(&mut self, from: Key<'_>, mut show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        let (store, lib) = (self.store, &self.store.library);
        // SAFETY: key and value are valid until the iterator advances; it is destroyed at the end.
        unsafe {
            let cursor = (lib.create_iterator_cf)(store.database, store.read, store.family(from.file));
            (lib.iter_seek)(cursor, from.bytes.as_ptr().cast(), from.bytes.len());
            while (lib.iter_valid)(cursor) != 0 {
                let (mut key_size, mut value_size) = (0, 0);
                let key = (lib.iter_key)(cursor, &mut key_size);
                let value = (lib.iter_value)(cursor, &mut value_size);
                if !show(bytes(key, key_size), bytes(value, value_size)) {
                    break;
                }
                (lib.iter_next)(cursor);
            }
            let ended = lib.checked(|error| (lib.iter_get_error)(cursor, error));
            (lib.iter_destroy)(cursor);
            ended
        }
    }
}
