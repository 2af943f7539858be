//! Calls of the operating system on the files of a directory, and the names of the files.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::ownership::File;

/// Type and permissions of every file.
pub const MODE: u32 = libc::S_IFREG | 0o600;

/// Names of files: the directory of a file follows from its number and the generation of its name.
pub struct Layout {
    directory: PathBuf,
    directories: u64,
}

/// Reason why an operation failed.
#[derive(Debug)]
pub enum Finding {
    /// Type or permissions, as found.
    Mode(u32),
    Failed(io::Error),
}

impl From<io::Error> for Finding {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Layout {
    pub fn new(directory: &Path, directories: u64) -> Self {
        Self { directory: directory.into(), directories }
    }

    pub fn folder_of(&self, number: u64, generation: u32) -> u64 {
        (number + u64::from(generation)) % self.directories
    }

    pub fn folder(&self, folder: u64) -> PathBuf {
        self.directory.join(format!("d{folder:04}"))
    }

    pub fn path(&self, file: &File) -> PathBuf {
        let folder = self.folder(self.folder_of(file.number, file.generation));
        folder.join(format!("f{}-{}", file.number, file.generation))
    }

    pub fn make(&self) -> io::Result<()> {
        (0..self.directories).try_for_each(|folder| match fs::create_dir(self.folder(folder)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        })
    }
}

/// Number and generation in a file's name.
fn parsed(name: &str) -> Option<(u64, u32)> {
    let (number, generation) = name.strip_prefix('f')?.split_once('-')?;
    Some((number.parse().ok()?, generation.parse().ok()?))
}

/// Write a whole file; `new`: it must not exist yet, else it must.
pub fn write(path: &Path, bytes: &[u8], new: bool, fsync: bool) -> io::Result<()> {
    let mut open = OpenOptions::new();
    open.write(true).mode(MODE & 0o7777);
    if new {
        open.create_new(true);
    } else {
        open.truncate(true);
    }
    let mut file = open.open(path)?;
    file.write_all(bytes)?;
    if fsync { file.sync_all() } else { Ok(()) }
}

/// Read a whole file into `bytes`.
pub fn read(path: &Path, bytes: &mut Vec<u8>) -> Result<(), Finding> {
    bytes.clear();
    let mut file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.mode() != MODE {
        return Err(Finding::Mode(metadata.mode()));
    }
    bytes.reserve(metadata.len() as usize + 1);
    file.read_to_end(bytes)?;
    Ok(())
}

/// Number of times that each name of a file is listed, by number and generation.
pub fn list(folder: &Path, names: &mut HashMap<(u64, u32), u32>) -> io::Result<()> {
    names.clear();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().and_then(parsed) {
            *names.entry(name).or_default() += 1;
        }
    }
    Ok(())
}
