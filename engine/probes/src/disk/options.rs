//! The `disk` section of a probe.

use loadcell_core::error::SpecError;
use serde::Deserialize;
use serde_json::Value;

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
    #[serde(default = "yes")]
    pub random_map: bool,
    /// Share of reads in mixed access.
    #[serde(default = "half")]
    pub reads: f64,
}

/// Maximum queue depth, the limit of io_uring for a small ring.
const DEEPEST: u32 = 4096;
const LARGEST_BLOCK: u64 = 1 << 30;
const LARGEST_FILE: u64 = 1 << 50;
/// Common divisor of the sector sizes of all devices.
const SECTOR: u64 = 512;

impl Options {
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = serde_json::from_value(section.clone())
            .map_err(|error| SpecError::unreadable("workload.probe.disk", &error))?;
        options.check()?;
        Ok(options)
    }

    /// True if a flush follows a block after `written` writes. As in fio also after a read, until the next
    /// write.
    pub fn flushes(&self, written: u64) -> bool {
        self.fdatasync > 0 && written > 0 && written.is_multiple_of(self.fdatasync)
    }

    fn check(&self) -> Result<(), SpecError> {
        if !(1..=LARGEST_BLOCK).contains(&self.block_bytes) {
            return Err(SpecError::value("workload.probe.disk.block", self.block_bytes));
        }
        if !(self.block_bytes..=LARGEST_FILE).contains(&self.size_bytes) {
            return Err(SpecError::value("workload.probe.disk.size", self.size_bytes));
        }
        if self.direct && !self.block_bytes.is_multiple_of(SECTOR) {
            return Err(SpecError::value("workload.probe.disk.block", self.block_bytes));
        }
        if !(1..=DEEPEST).contains(&self.depth) {
            return Err(SpecError::value("workload.probe.disk.depth", self.depth));
        }
        if self.engine == Engine::Psync && self.depth > 1 {
            return Err(SpecError::conflict("workload.probe.disk.depth", "engine"));
        }
        if self.fdatasync > 0 && !self.access.writes() {
            return Err(SpecError::conflict("workload.probe.disk.fdatasync", "access"));
        }
        if !(0.0..=1.0).contains(&self.reads) {
            return Err(SpecError::value("workload.probe.disk.reads", self.reads));
        }
        Ok(())
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

fn yes() -> bool {
    true
}
fn half() -> f64 {
    0.5
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(key: &str, value: Value) -> Result<Options, SpecError> {
        let mut section = json!({"access": "randrw", "size_bytes": 10_000, "block_bytes": 4096,
            "direct": true,
            "fdatasync": 0, "depth": 1, "engine": "psync"});
        section[key] = value;
        Options::read(&section)
    }

    #[test]
    fn file_size_is_a_multiple_of_the_block() {
        let options = changed("fdatasync", json!(1)).unwrap();
        assert_eq!((options.blocks(), options.file_bytes(), options.random_map), (2, 8192, true));
        assert!(options.access.is_random() && options.access.reads() && options.access.writes());
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        let finding = |key: &str, value: Value| changed(key, value).unwrap_err().to_string();
        assert!(finding("access", json!("trim")).contains("unknown variant `trim`"));
        assert!(finding("block_bytes", json!(0)).contains("disk.block"));
        assert!(finding("block_bytes", json!(1000)).contains("disk.block"));
        assert!(finding("size_bytes", json!(4095)).contains("disk.size"));
        assert!(finding("depth", json!(0)).contains("value workload.probe.disk.depth"));
        assert!(finding("depth", json!(2)).contains("conflict workload.probe.disk.depth"));
        assert!(finding("reads", json!(1.5)).contains("disk.reads"));
        assert!(finding("more", json!(1)).contains("unknown field"));
        let mut section = json!({"access": "read", "size_bytes": 10_000, "block_bytes": 4096, "direct": true,
            "fdatasync": 1, "depth": 1, "engine": "psync"});
        assert!(
            Options::read(&section)
                .unwrap_err()
                .to_string()
                .contains("conflict workload.probe.disk.fdatasync")
        );
        section["access"] = json!("readwrite");
        assert_eq!(Options::read(&section).unwrap().access, Access::Readwrite);
    }
}
