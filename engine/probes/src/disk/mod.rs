//! Disk probe in the style of fio: reads and writes blocks of a file, sequentially or at random, with
//! flushes.
//!
//! Each client has a file, laid out before the measurement, and a thread. A block is a transaction; a flush
//! after a write belongs to that block's transaction, and both are also recorded separately. Only unnamed
//! files are created: no device is opened, and nothing remains however the process ends.

mod buffer;
mod file;
mod options;
mod order;
mod permutation;
mod psync;
mod ring;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Value, json};

use self::options::{Engine, Options};
use self::order::{Act, Order};
use self::psync::Psync;
use self::ring::Ring;
use crate::memory_budget;
use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, LoadStep, SpecError, within};
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};
use loadcell_core::session::Remark;
use loadcell_core::spec::Spec;
use loadcell_load::Measurement;
use loadcell_load::blocking::{BlockingClient, BlockingClientFactory, Fault};

/// Shared state of a disk probe's clients.
pub struct Disk {
    options: Options,
    directory: PathBuf,
    seed: u64,
    operations: Vec<Operation>,
    ops: Ops,
    /// Makes a file bypass the page cache; returns whether that is supported.
    go_direct: fn(&File) -> io::Result<bool>,
    /// The page cache could not be bypassed as requested.
    indirect: AtomicBool,
}

/// Operations besides the transaction; equal to the transaction's where they do not occur.
#[derive(Clone, Copy)]
struct Ops {
    read: OpId,
    write: OpId,
    flush: OpId,
}

impl Ops {
    fn of(self, act: Act) -> OpId {
        match act {
            Act::Read => self.read,
            Act::Write => self.write,
        }
    }

    /// Operation of a flush. After a read there may be nothing to flush: its time is only part of the
    /// transaction.
    fn flush_after(self, act: Act) -> Option<OpId> {
        (act == Act::Write).then_some(self.flush)
    }
}

impl Disk {
    /// Prepare the probe, and check free space and permissions.
    pub fn new(options: Options, spec: &Spec) -> Result<Self, LoadError> {
        within("workload.probe.disk.block", options.block_bytes, 1..=u64::MAX)?;
        let Some(directory) = spec.target.directory.clone() else {
            return Err(SpecError::value("target.directory", Value::Null).into());
        };
        check_free_space(&directory, &options, spec.load.clients)?;
        file::nameless(&directory).map_err(|error| in_directory("engine.make-file", &directory, error))?;
        if options.engine == Engine::IoUring {
            ring::available()?;
        }
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let mut add = |wanted: bool, name, kind| {
            if !wanted {
                return TRANSACTION;
            }
            operations.push(Operation { name, kind });
            OpId(operations.len() as u16 - 1)
        };
        let ops = Ops {
            read: add(options.access.reads(), "read", Kind::Read),
            write: add(options.access.writes(), "write", Kind::Write),
            flush: add(options.fdatasync > 0, "fdatasync", Kind::Other),
        };
        let (seed, indirect) = (spec.seed, AtomicBool::new(false));
        Ok(Self { options, directory, seed, operations, ops, go_direct: file::go_direct, indirect })
    }

    /// Create a client's file. `None` if it is no longer wanted.
    fn file(&self, random: &mut Random, wanted: &dyn Fn() -> bool) -> Result<Option<File>, Fault> {
        let doing = |error: io::Error| {
            let fault = Fault::from(error);
            Fault {
                message: format!("cannot lay out a file in {}: {}", self.directory.display(), fault.message),
                ..fault
            }
        };
        let file = file::nameless(&self.directory).map_err(doing)?;
        if self.options.direct && !(self.go_direct)(&file).map_err(doing)? {
            self.indirect.store(true, Relaxed);
        }
        let laid_out = file::lay_out(&file, self.options.file_bytes(), random, wanted).map_err(doing)?;
        Ok(laid_out.then_some(file))
    }
}

impl BlockingClientFactory for Disk {
    type Client<'t> = Client<'t>;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, client: u32, wanted: &dyn Fn() -> bool) -> Result<Client<'_>, Fault> {
        let mut random = Random::stream(self.seed, client.into());
        let Some(file) = self.file(&mut random, wanted)? else {
            return Err(Fault::new("stopped", "it was stopped while its file was laid out"));
        };
        let order = Order::new(&self.options, random.clone());
        Ok(match self.options.engine {
            Engine::Psync => Client::Single(Box::new(Psync::new(self, file, order, &mut random))),
            Engine::IoUring => Client::Many(Box::new(Ring::new(self, file, order, &mut random)?)),
        })
    }

    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        let mib = self.options.block_bytes as f64 / f64::from(1 << 20);
        let mut metrics: Vec<_> =
            measured.rate_per_s(TRANSACTION).map(|rate| ("iops", rate)).into_iter().collect();
        for (name, op) in [("read_mib_per_s", self.ops.read), ("write_mib_per_s", self.ops.write)] {
            if op != TRANSACTION {
                metrics.extend(measured.rate_per_s(op).map(|rate| (name, rate * mib)));
            }
        }
        metrics
    }

    fn remarks(&self) -> Vec<Remark> {
        let remark = (INDIRECT, json!({"asked_for": true, "done": false}));
        if self.indirect.load(Relaxed) { vec![remark] } else { Vec::new() }
    }
}

/// Remark: blocks went through the page cache against the request.
pub const INDIRECT: &str = "indirect";

/// Client with the requested engine.
pub enum Client<'d> {
    Single(Box<Psync<'d>>),
    Many(Box<Ring<'d>>),
}

impl BlockingClient for Client<'_> {
    fn clear(&mut self) {}

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        match self {
            Self::Single(client) => client.select(recorder, due),
            Self::Many(many) => many.select(recorder, due),
        }
    }

    /// Any number of blocks: one selection fills the queue.
    #[inline]
    fn selected(&self) -> usize {
        1
    }

    #[inline]
    fn execute(&mut self) -> Result<(), Fault> {
        match self {
            Self::Single(client) => client.execute(),
            Self::Many(many) => many.execute(),
        }
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        match self {
            Self::Single(client) => client.record(recorder, sent, done),
            Self::Many(many) => many.record(recorder, sent, done),
        }
    }

    #[inline]
    fn is_unfinished(&self) -> bool {
        match self {
            Self::Single(_) => false,
            Self::Many(many) => many.is_unfinished(),
        }
    }
}

/// Failure of a block or a flush, which ends the probe.
fn fatal(doing: &str, error: io::Error) -> Fault {
    let fault = Fault::from(error);
    Fault { message: format!("{doing}: {}", fault.message), fatal: true, ..fault }
}

fn doing(act: Act) -> &'static str {
    match act {
        Act::Read => "a block could not be read",
        Act::Write => "a block could not be written",
    }
}
const FLUSHING: &str = "the data could not be flushed";

/// Share of a file system, and minimum, that stays free for other programs.
const RESERVED_SHARE: u64 = 20;
const RESERVED_LEAST: u64 = 1 << 30;

/// Check that the files fit and leave free space.
fn check_free_space(directory: &Path, options: &Options, clients: u32) -> Result<(), LoadError> {
    let (free, all) = file::free_space(directory)
        .map_err(|error| in_directory("engine.use-directory", directory, error))?;
    let needed = options.file_bytes().saturating_mul(clients.into());
    if all == 0 {
        // Like ramfs, whose files are in memory without a limit: memory must not be filled.
        return memory_budget::check(needed, clients).map_err(|mut error| {
            if let Some(step) = &mut error.step {
                step.code = "engine.memory-files";
                step.arguments["path"] = directory.display().to_string().into();
            }
            error
        });
    }
    let reserved = (all / RESERVED_SHARE).max(RESERVED_LEAST);
    if needed.saturating_add(reserved) <= free {
        return Ok(());
    }
    let arguments = json!({
        "path": directory.display().to_string(),
        "clients": clients,
        "needed_bytes": needed,
        "free_bytes": free,
        "kept_bytes": reserved,
    });
    let step = if reserved < free { "engine.no-room" } else { "engine.no-room-at-all" };
    Err(LoadError::at(loadcell_load::blocking::fault::NO_SPACE, step, arguments))
}

fn in_directory(step: &'static str, directory: &Path, error: io::Error) -> LoadError {
    Fault::from(error).during(LoadStep::new(step, json!({"path": directory.display().to_string()})))
}
