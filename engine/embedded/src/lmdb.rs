//! LMDB (through heed): B-trees in memory-mapped files. Readers see snapshots and take no locks; there is a
//! single writer. It has no cache besides the system's.

use std::ops::Bound;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, MdbError};

use super::fault::{BUSY, CLOSED, DAMAGED, ENGINE, NO_SPACE, TOO_LARGE};
use super::{Changes, Fault, Handle, Key, Options, Store};

/// Maximum size of a file. It reserves address space, which is plentiful, not memory or disk.
const MAP_BYTES: usize = 64 << 30;
/// Reader slots for threads outside the load.
const SPARE_READERS: u32 = 16;

pub struct Lmdb {
    files: Vec<File>,
}

struct File {
    environment: Env,
    database: Database<Bytes, Bytes>,
}

impl Store for Lmdb {
    type Handle<'s> = &'s Lmdb;

    fn open(options: &Options, threads: u32) -> Result<Self, Fault> {
        let open = |file| {
            let mut settings = EnvOpenOptions::new();
            settings.map_size(MAP_BYTES).max_readers(threads + SPARE_READERS);
            let mut flags = EnvFlags::NO_SUB_DIR;
            flags.set(EnvFlags::NO_SYNC, !options.sync);
            let path = options.directory.join(format!("{}.lmdb", Options::name(file)));
            // SAFETY: no other process modifies the file, which lies in a private directory. Without sync a
            // crash of the machine may damage it, after which it is not read again.
            let environment = unsafe {
                settings.flags(flags);
                settings.open(path).map_err(fault)?
            };
            let mut transaction = environment.write_txn().map_err(fault)?;
            let database = environment.create_database(&mut transaction, None).map_err(fault)?;
            transaction.commit().map_err(fault)?;
            Ok(File { environment, database })
        };
        Ok(Self { files: (0..options.files).map(open).collect::<Result<_, Fault>>()? })
    }

    fn handle(&self) -> Result<Self::Handle<'_>, Fault> {
        Ok(self)
    }

    fn close(self) -> Result<(), Fault> {
        self.files.into_iter().try_for_each(|file| {
            file.environment.force_sync().map_err(fault)?;
            file.environment.prepare_for_closing().wait();
            Ok(())
        })
    }
}

impl Handle for &Lmdb {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let file = &self.files[key.file];
        let transaction = file.environment.read_txn().map_err(fault)?;
        Ok(show(file.database.get(&transaction, key.bytes).map_err(fault)?))
    }

    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        let mut transactions = Vec::new();
        transactions.resize_with(self.files.len(), || None);
        for key in keys {
            let (file, transaction) = (&self.files[key.file], &mut transactions[key.file]);
            let transaction = match transaction {
                Some(transaction) => transaction,
                None => transaction.insert(file.environment.read_txn().map_err(fault)?),
            };
            show(file.database.get(transaction, key.bytes).map_err(fault)?);
        }
        Ok(())
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        for (number, changes) in changes.by_file(self.files.len()) {
            let file = &self.files[number];
            let mut transaction = file.environment.write_txn().map_err(fault)?;
            for change in changes {
                match change.value {
                    Some(value) => file.database.put(&mut transaction, change.key, value).map_err(fault)?,
                    None => drop(file.database.delete(&mut transaction, change.key).map_err(fault)?),
                }
            }
            transaction.commit().map_err(fault)?;
        }
        Ok(())
    }

    fn scan(&mut self, from: Key<'_>, mut show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        let file = &self.files[from.file];
        let transaction = file.environment.read_txn().map_err(fault)?;
        // LMDB has no empty keys, not even as a start of a range.
        let start = if from.bytes.is_empty() { Bound::Unbounded } else { Bound::Included(from.bytes) };
        for entry in file.database.range(&transaction, &(start, Bound::Unbounded)).map_err(fault)? {
            let (key, value) = entry.map_err(fault)?;
            if !show(key, value) {
                break;
            }
        }
        Ok(())
    }
}

#[cold]
fn fault(error: heed::Error) -> Fault {
    let error = match error {
        heed::Error::Io(error) => return Fault::from(error),
        heed::Error::Mdb(error) => error,
        error @ heed::Error::EnvAlreadyOpened => return Fault::fatal(BUSY, error.to_string()),
        error => return Fault::new(ENGINE, error.to_string()),
    };
    match error {
        MdbError::MapFull => {
            Fault::new(NO_SPACE, format!("a file may not become larger than {} GiB", MAP_BYTES >> 30))
        }
        MdbError::BadValSize => {
            Fault::new(TOO_LARGE, "LMDB takes keys of 1 to 511 bytes, and values up to 4 GiB".to_string())
        }
        MdbError::Panic => Fault::fatal(CLOSED, error.to_string()),
        MdbError::Corrupted | MdbError::Invalid | MdbError::PageNotFound | MdbError::VersionMismatch => {
            Fault::fatal(DAMAGED, error.to_string())
        }
        error => Fault::new(ENGINE, error.to_string()),
    }
}
