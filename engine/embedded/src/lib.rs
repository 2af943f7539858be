//! Embedded stores: no connection or protocol; each client is a thread that calls the store.
//!
//! The trait [`Store`] is the common interface; each engine is one file. A store may be spread over several
//! files (or the engine's equivalent); the hash of a key selects its file.

mod about;
mod batch;
mod changes;
mod fault;
mod fjall;
mod kv_client;
mod library;
mod lmdb;
mod loader;
mod options;
mod redb;
mod rocksdb;
mod run;
#[cfg(test)]
mod run_tests;
mod shard;
mod sqlite;
#[cfg(test)]
mod tests;
mod ycsb_client;

pub use about::about;
pub use changes::{Change, Changes};
pub use fault::Fault;
pub use fjall::Fjall;
pub use lmdb::Lmdb;
pub use loader::load;
pub use options::{Engine, Options};
pub use redb::Redb;
pub use rocksdb::Rocksdb;
pub use run::sessions;
pub use shard::{merge, shard};
pub use sqlite::Sqlite;

/// A key and the number of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'k> {
    pub file: usize,
    pub bytes: &'k [u8],
}

/// An open store, shared by all threads.
pub trait Store: Sized + Send + Sync + 'static {
    /// Access of one thread.
    type Handle<'s>: Handle
    where
        Self: 's;

    /// Open or create the store in the options' directory, for `threads` threads.
    fn open(options: &Options, threads: u32) -> Result<Self, Fault>;

    /// Create a handle; to be called on the thread that uses it.
    fn handle(&self) -> Result<Self::Handle<'_>, Fault>;

    /// Make everything durable and close; all handles are gone.
    fn close(self) -> Result<(), Fault>;
}

/// One thread's access to a store. Values are passed to callbacks in place, without copies.
pub trait Handle {
    /// Pass the value of a key to `show`; `None` if the key is missing.
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault>;

    /// The same for several keys, in order; those of one file are read from one snapshot.
    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault>;

    /// Apply all changes, atomically per file; durable on return if the store is configured so.
    fn write(&mut self, changes: &Changes) -> Result<(), Fault>;

    /// Pass the keys of a file from `from` on, with values, in order to `show`, until it returns false.
    fn scan(&mut self, from: Key<'_>, show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault>;
}
