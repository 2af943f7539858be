//! redb: copy-on-write B-trees in Rust, one per file. Readers see snapshots; there is a single writer.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use super::fault::{BUSY, CLOSED, DAMAGED, ENGINE, TOO_LARGE};
use super::{Changes, Fault, Handle, Key, Options, Store};
use loadcell_core::clock::{Nanos, SECOND, now};

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("kv");

/// Interval of durable commits without `sync`. Other commits stay in memory and the system's caches; the
/// pages that they free are reusable only after a durable one, without which files would grow without limit.
const DURABLE_INTERVAL: Nanos = SECOND;

pub struct Redb {
    files: Vec<File>,
    sync: bool,
}

struct File {
    database: Database,
    /// Time of the last durable commit.
    last_durable: AtomicU64,
}

impl Store for Redb {
    type Handle<'s> = &'s Redb;

    fn open(options: &Options, _: u32) -> Result<Self, Fault> {
        let open = |file| {
            let path = options.directory.join(format!("{}.redb", Options::name(file)));
            let cache = usize::try_from(options.cache_per_connection(1)).unwrap_or(usize::MAX);
            let database = Database::builder().set_cache_size(cache).create(path).map_err(fault)?;
            // A table must exist before it is read.
            let transaction = database.begin_write().map_err(fault)?;
            transaction.open_table(TABLE).map_err(fault)?;
            transaction.commit().map_err(fault)?;
            Ok(File { database, last_durable: AtomicU64::new(now()) })
        };
        Ok(Self { files: (0..options.files).map(open).collect::<Result<_, Fault>>()?, sync: options.sync })
    }

    fn handle(&self) -> Result<Self::Handle<'_>, Fault> {
        Ok(self)
    }

    fn close(self) -> Result<(), Fault> {
        self.files.into_iter().try_for_each(|file| {
            // Make all earlier commits durable.
            file.database.begin_write().map_err(fault)?.commit().map_err(fault)?;
            file.database.close().map_err(fault)
        })
    }
}

impl File {
    fn durability(&self) -> Durability {
        let (now, last) = (now(), self.last_durable.load(Relaxed));
        let due = now.saturating_sub(last) >= DURABLE_INTERVAL;
        if due && self.last_durable.compare_exchange(last, now, Relaxed, Relaxed).is_ok() {
            Durability::Immediate
        } else {
            Durability::None
        }
    }
}

impl Handle for &Redb {
    #[inline]
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let transaction = self.files[key.file].database.begin_read().map_err(fault)?;
        let table = transaction.open_table(TABLE).map_err(fault)?;
        let value = table.get(key.bytes).map_err(fault)?;
        Ok(show(value.as_ref().map(|value| value.value())))
    }

    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        let mut tables = Vec::new();
        tables.resize_with(self.files.len(), || None);
        for key in keys {
            let table_slot = &mut tables[key.file];
            let table = match table_slot {
                Some(table) => table,
                None => {
                    let transaction = self.files[key.file].database.begin_read().map_err(fault)?;
                    table_slot.insert(transaction.open_table(TABLE).map_err(fault)?)
                }
            };
            let value = table.get(key.bytes).map_err(fault)?;
            show(value.as_ref().map(|value| value.value()));
        }
        Ok(())
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        for (number, changes) in changes.by_file(self.files.len()) {
            let file = &self.files[number];
            let mut transaction = file.database.begin_write().map_err(fault)?;
            if !self.sync {
                transaction.set_durability(file.durability()).map_err(fault)?;
            }
            {
                let mut table = transaction.open_table(TABLE).map_err(fault)?;
                for change in changes {
                    match change.value {
                        Some(value) => drop(table.insert(change.key, value).map_err(fault)?),
                        None => drop(table.remove(change.key).map_err(fault)?),
                    }
                }
            }
            transaction.commit().map_err(fault)?;
        }
        Ok(())
    }

    fn scan(&mut self, from: Key<'_>, mut show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        let transaction = self.files[from.file].database.begin_read().map_err(fault)?;
        let table = transaction.open_table(TABLE).map_err(fault)?;
        for entry in table.range(from.bytes..).map_err(fault)? {
            let (key, value) = entry.map_err(fault)?;
            if !show(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }
}

#[cold]
fn fault(error: impl Into<redb::Error>) -> Fault {
    use redb::Error;
    match error.into() {
        Error::Io(error) => Fault::from(error),
        error @ (Error::Corrupted(_) | Error::UpgradeRequired(_) | Error::RepairAborted) => {
            Fault::fatal(DAMAGED, error.to_string())
        }
        error @ Error::DatabaseAlreadyOpen => Fault::fatal(BUSY, error.to_string()),
        error @ (Error::PreviousIo | Error::DatabaseClosed | Error::LockPoisoned(_)) => {
            Fault::fatal(CLOSED, error.to_string())
        }
        error @ Error::ValueTooLarge(_) => Fault::new(TOO_LARGE, error.to_string()),
        error => Fault::new(ENGINE, error.to_string()),
    }
}
