//! Store options: the `store` section of a target.

use std::path::PathBuf;

use serde::Deserialize;

/// Available engines.
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
    /// Directory of its files: existing and otherwise empty.
    pub directory: PathBuf,
    /// Writes are durable when they return; otherwise when the operating system writes them.
    pub sync: bool,
    /// Number of files (or the engine's equivalent) over which keys are spread.
    pub files: usize,
    /// Size of the engine's cache for all files together, in bytes.
    pub cache_bytes: u64,
    /// Path of an engine's shared library, instead of the system's.
    pub library: Option<PathBuf>,
}

impl Options {
    /// Cache size of one file and one of `connections` connections, in bytes.
    pub fn cache_per_connection(&self, connections: u32) -> u64 {
        self.cache_bytes / self.files.max(1) as u64 / u64::from(connections.max(1))
    }

    /// Name of a file or its equivalent.
    pub fn name(file: usize) -> String {
        format!("kv-{file}")
    }
}
