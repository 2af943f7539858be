//! The `disk` section of a probe.

use serde::Deserialize;

/// Access pattern, with fio's names and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
    Readwrite,
    Randread,
    Randwrite,
    Randrw,
}

impl Access {
    pub fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw)
    }

    pub fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::Randwrite)
    }

    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread)
    }
}

/// I/O engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// `pread` and `pwrite`: one block per thread at a time.
    Psync,
    /// Several blocks at a time, up to the queue depth.
    #[serde(rename = "io_uring")]
    IoUring,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub access: Access,
    /// Size of each client's file in bytes.
    pub size_bytes: u64,
    pub block_bytes: u64,
    /// Bypass the page cache.
    pub direct: bool,
    /// Number of written blocks between flushes; 0: never flush.
    pub fdatasync: u64,
    /// Concurrent blocks per client.
    pub depth: u32,
    pub engine: Engine,
    /// Random access visits every block once before repeating any.
    pub random_map: bool,
    /// Share of reads in mixed access.
    pub reads: f64,
}

impl Options {
    /// True if a flush follows a block after `written` writes. As in fio also after a read, until the next
    /// write.
    pub fn flushes(&self, written: u64) -> bool {
        self.fdatasync > 0 && written > 0 && written.is_multiple_of(self.fdatasync)
    }

    /// Number of blocks of a file.
    pub fn blocks(&self) -> u64 {
        self.size_bytes / self.block_bytes
    }

    /// Size of a file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.blocks() * self.block_bytes
    }
}

#[cfg(test)]
mod tests {
    use loadcell_core::error::SpecError;
    use serde_json::{Value, json};

    use super::*;

    fn changed(key: &str, value: Value) -> Result<Options, SpecError> {
        let mut section = json!({"access": "randrw", "size_bytes": 10_000, "block_bytes": 4096,
            "direct": true, "fdatasync": 0, "depth": 1, "engine": "psync"});
        section[key] = value;
        crate::read("disk", &loadcell_testing::section("probe.disk", &section))
    }

    #[test]
    fn file_size_is_a_multiple_of_the_block() {
        let options = changed("fdatasync", json!(1)).unwrap();
        assert_eq!((options.blocks(), options.file_bytes(), options.random_map), (2, 8192, true));
        assert!(options.access.is_random() && options.access.reads() && options.access.writes());
    }

    #[test]
    fn unknown_options_are_named() {
        let finding = |key: &str, value: Value| changed(key, value).unwrap_err().to_string();
        assert!(finding("access", json!("trim")).contains("unknown variant `trim`"));
        assert!(finding("more", json!(1)).contains("unknown field"));
    }
}
