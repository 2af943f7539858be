//! The files of one client, and the list of them for the comparison after the load.
//!
//! A list has one line per file: number, generation of the name, version, size and state, divided by spaces.
//! The last line is `end`; a list without it is of a client whose last call never returned.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use loadcell_core::random::Random;

/// State of a file, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It exists with its version and size.
    There,
    /// It exists, and a failed write may have changed it.
    Changed,
    /// It was deleted.
    Gone,
    /// A failed call may have created, renamed or deleted it.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    pub number: u64,
    /// Number of times that its name changed.
    pub generation: u32,
    pub version: u32,
    pub size: u64,
    pub state: State,
}

/// Files of one client.
pub struct Files {
    pub all: Vec<File>,
    /// Indexes of the files that exist.
    present: Vec<usize>,
    /// Indexes of deleted files, which can be created again.
    absent: Vec<usize>,
    client: u64,
    clients: u64,
}

impl Files {
    /// Files of `client`, of which `loaded` are there before the load, in the order of their numbers.
    pub fn new(client: u64, clients: u64, loaded: impl Iterator<Item = File>) -> Self {
        let all: Vec<_> = loaded.collect();
        let present = (0..all.len()).collect();
        Self { all, present, absent: Vec::new(), client, clients }
    }

    /// Index of an existing file.
    pub fn choose(&self, random: &mut Random) -> Option<usize> {
        let position = (!self.present.is_empty()).then(|| random.below(self.present.len() as u64))?;
        Some(self.present[position as usize])
    }

    /// Index of a file that does not exist: a deleted one, or a new one.
    pub fn vacant(&mut self) -> usize {
        if let Some(index) = self.absent.last() {
            return *index;
        }
        let number = self.client + self.all.len() as u64 * self.clients;
        self.all.push(File { number, generation: 0, version: 0, size: 0, state: State::Gone });
        self.absent.push(self.all.len() - 1);
        self.all.len() - 1
    }

    pub fn set(&mut self, index: usize, file: File) {
        let was = self.all[index].state;
        self.all[index] = file;
        let exists = |state| matches!(state, State::There | State::Changed);
        if exists(was) != exists(file.state) {
            if exists(was) {
                let position = self.present.iter().position(|present| *present == index);
                position.map(|position| self.present.swap_remove(position));
            } else {
                self.present.push(index);
            }
        }
        if was == State::Gone && file.state != State::Gone {
            self.absent.retain(|absent| *absent != index);
        } else if was != State::Gone && file.state == State::Gone {
            self.absent.push(index);
        }
    }

    /// Return true for the number of a file of this client.
    pub fn owns(&self, number: u64) -> bool {
        number % self.clients == self.client
    }

    pub fn list(&self) -> String {
        let mut text = String::with_capacity(self.all.len() * 24);
        for File { number, generation, version, size, state } in &self.all {
            let state = match state {
                State::There => "there",
                State::Changed => "changed",
                State::Gone => "gone",
                State::Unknown => "unknown",
            };
            let _ = writeln!(text, "{number} {generation} {version} {size} {state}");
        }
        text.push_str("end\n");
        text
    }
}

/// Path of a client's list.
pub fn list_path(lists: &Path, client: u32) -> PathBuf {
    lists.join(format!("client-{client}"))
}

/// Begin the list of a client, which is incomplete until the client's end.
pub fn begin(lists: &Path, client: u32) -> io::Result<()> {
    std::fs::write(list_path(lists, client), "")
}

/// Remove all lists of an earlier load.
pub fn forget(lists: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(lists)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
