//! A client: chooses an operation, carries it out, and compares its result with what the client wrote.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::random::Random;
use loadcell_core::record::{OpId, Recorder, TRANSACTION};
use loadcell_load::blocking::{BlockingClient, Fault};
use loadcell_workloads::keyvalue::IntegrityError;
use loadcell_workloads::keyvalue::values::{Size, ValueShape, check};

use super::directory::{self, Finding, Layout};
use super::options::{Action, Operations, Options};
use super::ownership::{File, Files, State};

/// Shape of the contents of all files; sizes are drawn apart.
pub const CONTENT: ValueShape = ValueShape { size: Size::Fixed(0), checksummed: true };

/// State that all clients of a load share.
pub struct Shared {
    pub options: Options,
    pub operations: Operations,
    pub layout: Layout,
}

/// A selected operation, prepared as far as possible before it is timed.
struct Selected {
    action: Action,
    op: OpId,
    intended: Nanos,
    /// Index of the file; unused by a list.
    index: usize,
    /// The file as the operation leaves it.
    after: File,
    path: PathBuf,
    /// New name, for a rename.
    new_path: PathBuf,
    outcome: Result<(), Finding>,
}

pub struct FilesClient {
    shared: Arc<Shared>,
    random: Random,
    files: Files,
    bytes: Vec<u8>,
    names: HashMap<(u64, u32), u32>,
    selected: Option<Selected>,
    list: PathBuf,
}

impl FilesClient {
    /// `list`: path of the list of its files, written when the client ends.
    pub fn new(shared: Arc<Shared>, random: Random, files: Files, list: PathBuf) -> Self {
        let (bytes, names) = (Vec::new(), HashMap::new());
        Self { shared, random, files, bytes, names, selected: None, list }
    }

    /// The action to carry out, and the index of its file.
    fn choose(&mut self) -> (Action, usize) {
        let action = self.shared.operations.choose(&mut self.random);
        match action {
            Action::List => (action, 0),
            Action::Create => (action, self.files.vacant()),
            _ => match self.files.choose(&mut self.random) {
                Some(index) => (action, index),
                None if self.shared.operations.has(Action::Create) => (Action::Create, self.files.vacant()),
                None => (Action::List, 0),
            },
        }
    }

    /// Compare the result of the operation with what was written.
    fn verified(&mut self, selected: &Selected) -> Result<(), Failure> {
        let file = || self.files.all[selected.index];
        match (&selected.outcome, selected.action) {
            (Ok(()), Action::Read) => {
                let file = file();
                if file.state == State::Changed {
                    return Ok(());
                }
                let version = check(file.number, file.version, &self.bytes).map_err(|wrong| {
                    failure(wrong.code(), format!("{}: {}", selected.path.display(), wrong.message()))
                })?;
                // A later version than the last one was never written.
                if version != file.version || self.bytes.len() as u64 != file.size {
                    let wrong = IntegrityError::Corrupt;
                    return Err(failure(wrong.code(), format!("{}", selected.path.display())));
                }
                Ok(())
            }
            (Ok(()), Action::List) => self.compare_names(selected),
            (Ok(()), _) => Ok(()),
            (Err(Finding::Mode(mode)), _) => {
                Err(failure("wrong-mode", format!("{} has mode {mode:o}", selected.path.display())))
            }
            (Err(Finding::Failed(error)), action)
                if error.raw_os_error() == Some(libc::ENOENT)
                    && matches!(action, Action::Read | Action::Write | Action::Rename | Action::Delete) =>
            {
                Err(failure(IntegrityError::Lost.code(), format!("{} is missing", selected.path.display())))
            }
            (Err(Finding::Failed(error)), _) => {
                let error = error.raw_os_error().map_or_else(
                    || std::io::Error::new(error.kind(), error.to_string()),
                    std::io::Error::from_raw_os_error,
                );
                Err(Fault::from(error).failure())
            }
        }
    }

    /// Compare the listed names with those of the client's files in the same directory.
    fn compare_names(&self, selected: &Selected) -> Result<(), Failure> {
        let layout = &self.shared.layout;
        for file in &self.files.all {
            if !matches!(file.state, State::There | State::Changed)
                || layout.path(file).parent() != Some(&selected.path)
            {
                continue;
            }
            match self.names.get(&(file.number, file.generation)) {
                Some(1) => {}
                Some(count) => {
                    let path = layout.path(file);
                    return Err(failure(
                        "listed-twice",
                        format!("{} is listed {count} times", path.display()),
                    ));
                }
                None => {
                    let path = layout.path(file);
                    return Err(failure(
                        IntegrityError::Lost.code(),
                        format!("{} is not listed", path.display()),
                    ));
                }
            }
        }
        let deleted = self.files.all.iter().find(|file| {
            file.state == State::Gone && self.names.contains_key(&(file.number, file.generation))
        });
        match deleted {
            Some(file) if self.files.owns(file.number) => {
                let path = layout.path(file);
                Err(failure(
                    IntegrityError::Stale.code(),
                    format!("{} is listed, but deleted", path.display()),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Keep what the operation has done to its file.
    fn apply(&mut self, selected: &Selected) {
        let before = self.files.all.get(selected.index).copied();
        let after = match (selected.action, &selected.outcome, before) {
            (Action::List | Action::Read, ..) | (.., None) => return,
            (_, Ok(()), _) => selected.after,
            // Nothing was done to a file that is missing: the comparison after the load reports it.
            (Action::Write | Action::Rename | Action::Delete, Err(Finding::Failed(error)), Some(_))
                if error.raw_os_error() == Some(libc::ENOENT) =>
            {
                return;
            }
            (Action::Write, Err(_), Some(_)) => File { state: State::Changed, ..selected.after },
            (_, Err(_), Some(before)) => File { state: State::Unknown, ..before },
        };
        self.files.set(selected.index, after);
    }
}

fn failure(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Failure {
    Fault::new(code, message).failure()
}

impl BlockingClient for FilesClient {
    fn clear(&mut self) {
        self.selected = None;
    }

    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let (action, index) = self.choose();
        let shared = self.shared.clone();
        let op = shared.operations.id(action);
        let none = File { number: 0, generation: 0, version: 0, size: 0, state: State::Gone };
        let before = self.files.all.get(index).copied().unwrap_or(none);
        let mut after = before;
        let mut path = shared.layout.path(&before);
        let mut new_path = PathBuf::new();
        match action {
            Action::Create | Action::Write => {
                after.version += 1;
                after.size = shared.options.sizes.draw(&mut self.random);
                after.state = State::There;
                self.bytes.clear();
                let Self { bytes, random, .. } = self;
                CONTENT.write_sized(after.number, after.version, after.size, random, bytes);
                if action == Action::Create && before.version > 0 {
                    // A new name: the deleted one must not be listed again.
                    after.generation += 1;
                    path = shared.layout.path(&after);
                }
            }
            Action::Rename => {
                after.generation += 1;
                new_path = shared.layout.path(&after);
            }
            Action::Delete => after.state = State::Gone,
            Action::List => path = shared.layout.folder(self.random.below(shared.options.directories)),
            Action::Read => {}
        }
        recorder.start_single(op, due);
        self.selected =
            Some(Selected { action, op, intended: due, index, after, path, new_path, outcome: Ok(()) });
    }

    fn selected(&self) -> usize {
        usize::from(self.selected.is_some())
    }

    fn execute(&mut self) -> Result<(), Fault> {
        let Self { shared, selected: Some(selected), bytes, names, .. } = self else { return Ok(()) };
        let (path, fsync) = (&selected.path, shared.options.fsync);
        selected.outcome = match selected.action {
            Action::Create => directory::write(path, bytes, true, fsync).map_err(Finding::from),
            Action::Write => directory::write(path, bytes, false, fsync).map_err(Finding::from),
            Action::Read => directory::read(path, bytes),
            Action::Rename => std::fs::rename(path, &selected.new_path).map_err(Finding::from),
            Action::List => directory::list(path, names).map_err(Finding::from),
            Action::Delete => std::fs::remove_file(path).map_err(Finding::from),
        };
        Ok(())
    }

    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Some(selected) = self.selected.take() else { return };
        let writes = !matches!(selected.action, Action::Read | Action::List);
        match self.verified(&selected) {
            Ok(()) => {
                recorder.succeed_single(selected.op, selected.intended, sent, done);
                recorder.queries(done, u64::from(!writes), u64::from(writes), 0);
            }
            Err(why) => {
                recorder.fail(selected.op, selected.intended, sent, done, &why);
                recorder.fail(TRANSACTION, selected.intended, sent, done, &why);
            }
        }
        self.apply(&selected);
        self.selected = Some(selected);
    }
}

impl Drop for FilesClient {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.list, self.files.list()) {
            eprintln!("the list of a client's files was not written: {error}");
        }
    }
}
