//! fjall: log-structured merge trees in Rust, one per keyspace, with a common journal. It flushes and
//! compacts in its own threads.

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::fault::{BUSY, CLOSED, DAMAGED, ENGINE};
use super::{Changes, Fault, Handle, Key, Options, Store};

pub struct Fjall {
    database: Database,
    keyspaces: Vec<Keyspace>,
    persist: PersistMode,
}

impl Store for Fjall {
    type Handle<'s> = &'s Fjall;

    fn open(options: &Options, _: u32) -> Result<Self, Fault> {
        let path = options.directory.join("fjall");
        let database = Database::builder(path).cache_size(options.cache_bytes).open().map_err(fault)?;
        let keyspace =
            |file| database.keyspace(&Options::name(file), KeyspaceCreateOptions::default).map_err(fault);
        let keyspaces = (0..options.files).map(keyspace).collect::<Result<_, _>>()?;
        let persist = if options.sync { PersistMode::SyncData } else { PersistMode::Buffer };
        Ok(Self { database, keyspaces, persist })
    }

    fn handle(&self) -> Result<Self::Handle<'_>, Fault> {
        Ok(self)
    }

    fn close(self) -> Result<(), Fault> {
        self.database.persist(PersistMode::SyncAll).map_err(fault)
    }
}

impl Handle for &Fjall {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let value = self.keyspaces[key.file].get(key.bytes).map_err(fault)?;
        Ok(show(value.as_deref()))
    }

    fn multi_get<'k>(
        &mut self,
        mut keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        use fjall::Readable;
        let snapshot = self.database.snapshot();
        keys.try_for_each(|key| {
            let value = snapshot.get(&self.keyspaces[key.file], key.bytes).map_err(fault)?;
            show(value.as_deref());
            Ok(())
        })
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        // A single change needs no batch.
        if changes.len() == 1 {
            for change in changes.iter() {
                let keyspace = &self.keyspaces[change.file];
                match change.value {
                    Some(value) => keyspace.insert(change.key, value).map_err(fault)?,
                    None => keyspace.remove(change.key).map_err(fault)?,
                }
            }
            return match self.persist {
                PersistMode::Buffer => Ok(()),
                mode => self.database.persist(mode).map_err(fault),
            };
        }
        let mut batch = self.database.batch().durability(Some(self.persist));
        for change in changes.iter() {
            let keyspace = &self.keyspaces[change.file];
            match change.value {
                Some(value) => batch.insert(keyspace, change.key, value),
                None => batch.remove(keyspace, change.key),
            }
        }
        batch.commit().map_err(fault)
    }

    fn scan(&mut self, from: Key<'_>, mut show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        for entry in self.keyspaces[from.file].range(from.bytes..) {
            let (key, value) = entry.into_inner().map_err(fault)?;
            if !show(&key, &value) {
                break;
            }
        }
        Ok(())
    }
}

#[cold]
fn fault(error: fjall::Error) -> Fault {
    use fjall::{Error, LsmError};
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => Fault::from(error),
        Error::Poisoned => Fault::fatal(CLOSED, "it takes no more writes after an earlier failure"),
        Error::Locked => Fault::fatal(BUSY, "its directory is locked by another process"),
        Error::KeyspaceDeleted => Fault::fatal(ENGINE, "a keyspace was deleted"),
        Error::Storage(error) => Fault::fatal(DAMAGED, format!("{error:?}")),
        error => Fault::fatal(DAMAGED, format!("{error:?}")),
    }
}
