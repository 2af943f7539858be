//! Stores that live in this process: no connection and no protocol, and a thread a client that calls them.
//!
//! What every engine gives is the trait [`Store`]; each engine is one file. A store may be spread over several files (or
//! what an engine has in their place): a key always lies in the same one, which its hash names.

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
pub use fault::{Fault, advice};
pub use fjall::Fjall;
pub use lmdb::Lmdb;
pub use loader::load;
pub use options::{Engine, Options};
pub use redb::Redb;
pub use rocksdb::Rocksdb;
pub use run::sessions;
pub use shard::{merge, shard};
pub use sqlite::Sqlite;

/// A key and the number of the file that it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'k> {
    pub file: usize,
    pub bytes: &'k [u8],
}

/// An open store, which all threads share.
pub trait Store: Sized + Send + Sync + 'static {
    /// What one thread works with.
    type Handle<'s>: Handle
    where
        Self: 's;

    /// Opens what lies in the options' directory, or makes it there; for so many threads at once.
    fn open(options: &Options, threads: u32) -> Result<Self, Fault>;

    /// To be called on the thread that will use it.
    fn handle(&self) -> Result<Self::Handle<'_>, Fault>;

    /// Puts everything on disk and lets go of it; all handles are gone.
    fn close(self) -> Result<(), Fault>;
}

/// One thread's way into a store. Values are shown while the store holds them, and never copied.
pub trait Handle {
    /// Shows the value of a key, or that there is none.
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault>;

    /// The same of several keys, in their order; those of one file as they are at one instant.
    fn multi_get<'k>(
        &mut self,
        keys: impl Iterator<Item = Key<'k>> + Clone,
        show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault>;

    /// Does all changes, those to one file at once or not at all; durable when it returns if the store is to be so.
    fn write(&mut self, changes: &Changes) -> Result<(), Fault>;

    /// Shows the keys of a file from `from` on with their values, in order, until it was told to stop (false).
    fn scan(&mut self, from: Key<'_>, show: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault>;
}
