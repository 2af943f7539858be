//! What a specification says of a store: the `store` section of its target.

use std::path::PathBuf;

use serde::Deserialize;

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Redb,
    Fjall,
    Lmdb,
    Sqlite,
    Rocksdb,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub engine: Engine,
    /// Where its files lie: a directory that is there, with nothing else in it.
    pub directory: PathBuf,
    /// Whether a write is on disk when it is answered; otherwise when the operating system sees fit.
    #[serde(default = "yes")]
    pub sync: bool,
    /// Over how many files (or what the engine has in their place) keys are spread.
    #[serde(default = "one")]
    pub files: usize,
    /// The engine's own cache, of all files together.
    #[serde(default = "cache")]
    pub cache_bytes: u64,
    /// Of an engine whose library is found at run time: which one, instead of the system's.
    #[serde(default)]
    pub library: Option<PathBuf>,
}

impl Options {
    /// The part of the cache that belongs to one file of as many as there are, shared by so many connections.
    pub fn cache_of_one(&self, connections: u32) -> u64 {
        self.cache_bytes / self.files.max(1) as u64 / u64::from(connections.max(1))
    }

    /// The name of a file, or of what is in its place.
    pub fn name(file: usize) -> String {
        format!("kv-{file}")
    }
}

fn yes() -> bool {
    true
}
fn one() -> usize {
    1
}
fn cache() -> u64 {
    256 << 20
}
