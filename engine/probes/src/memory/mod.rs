//! Memory probe with the definitions of three tools: sysbench's blocks, mbw's copies, STREAM's arrays.

mod blocks;
mod copies;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::Deserialize;

use super::{Passes, Probe, memory_budget};
use loadcell_core::error::{LoadError, LoadStep, SpecError};
use loadcell_core::random::Random;
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_load::Measurement;
use loadcell_load::blocking::Fault;

pub use blocks::{Access, Blocks, Operation};
pub use copies::{Copies, CopyMethod};
pub use stream::{Kernel, Stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    Sysbench,
    Memcpy,
    Dumb,
    Mcblock,
    Copy,
    Scale,
    Add,
    Triad,
}

/// Scope of sysbench's block: shared by all threads, or one per thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Global,
    Local,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub test: Test,
    /// Size of one array of each thread in bytes; not for sysbench's test.
    pub size: u64,
    /// For sysbench's test: size of the block in bytes, and the access to it.
    pub block: u64,
    pub access: Access,
    pub operation: Operation,
    pub scope: Scope,
}

/// Test and its shared state.
enum Method {
    /// The block shared by all threads; `None` if each has its own.
    Blocks(Option<Arc<Vec<AtomicU64>>>),
    Copies(CopyMethod),
    Stream(Kernel),
}

pub struct Memory {
    options: Options,
    method: Method,
    seed: u64,
    /// Bytes counted per pass.
    moved: u64,
}

/// Size of a word in bytes, the unit of all tests.
const WORD: u64 = 8;

impl Memory {
    /// Prepare for `clients` threads. Fails if memory is insufficient.
    pub fn new(options: &Options, clients: u32, seed: u64) -> Result<Self, LoadError> {
        let (test, threads) = (options.test, u64::from(clients));
        let is_word_multiple = |bytes: u64| bytes >= WORD && bytes.is_multiple_of(WORD);
        let kernel = match test {
            Test::Copy => Some(Kernel::Copy),
            Test::Scale => Some(Kernel::Scale),
            Test::Add => Some(Kernel::Add),
            Test::Triad => Some(Kernel::Triad),
            _ => None,
        };
        let (method, moved) = match (test, kernel) {
            (Test::Sysbench, _) => {
                if !is_word_multiple(options.block) {
                    return Err(SpecError::value("workload.probe.memory.block", options.block).into());
                }
                let copies = if options.scope == Scope::Global { 1 } else { threads };
                memory_budget::check(options.block.saturating_mul(copies), clients)?;
                let shared = match options.scope {
                    Scope::Global => Some(Arc::new(blocks::block(options.block).map_err(refused)?)),
                    Scope::Local => None,
                };
                let blocks = Blocks::in_a_pass(options.block, options.access);
                (Method::Blocks(shared), options.block.saturating_mul(blocks))
            }
            _ if !is_word_multiple(options.size) => {
                return Err(SpecError::value("workload.probe.memory.size", options.size).into());
            }
            (_, Some(kernel)) => {
                fits(options.size, 3, clients)?;
                (Method::Stream(kernel), options.size * kernel.arrays_moved())
            }
            _ => {
                fits(options.size, 2, clients)?;
                let copy_method = match test {
                    Test::Dumb => CopyMethod::Dumb,
                    Test::Mcblock => CopyMethod::Mcblock,
                    _ => CopyMethod::Memcpy,
                };
                (Method::Copies(copy_method), options.size)
            }
        };
        Ok(Self { options: options.clone(), method, seed, moved })
    }
}

/// Check that `arrays` arrays per thread fit into memory.
fn fits(size: u64, arrays: u64, clients: u32) -> Result<(), LoadError> {
    memory_budget::check(size.saturating_mul(arrays).saturating_mul(clients.into()), clients)
}

fn refused(fault: Fault) -> LoadError {
    fault.during(LoadStep::new("engine.error", json!({})))
}

impl Probe for Memory {
    type Passes<'p> = MemoryPasses;

    fn passes(&self, client: u32) -> Result<MemoryPasses, Fault> {
        let Options { size, block, access, operation, .. } = self.options;
        Ok(match &self.method {
            Method::Blocks(shared) => {
                let words = match shared {
                    Some(shared) => shared.clone(),
                    None => Arc::new(blocks::block(block)?),
                };
                MemoryPasses::Blocks(Blocks::new(
                    words,
                    access,
                    operation,
                    Random::stream(self.seed, client.into()),
                ))
            }
            Method::Copies(copy_method) => MemoryPasses::Copies(Copies::new(*copy_method, size)?),
            Method::Stream(kernel) => MemoryPasses::Stream(Stream::new(*kernel, size)?),
        })
    }

    /// Mean speed of a pass, times the number of threads. For STREAM also the best pass, of one thread.
    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        let mib = self.moved as f64 / f64::from(1 << 20);
        let mut metrics: Vec<_> = measured
            .service_rate_per_s(TRANSACTION)
            .map(|pace| ("mib_per_s", pace * mib))
            .into_iter()
            .collect();
        let fastest = measured.operations[TRANSACTION.index()].service.min();
        if !metrics.is_empty()
            && matches!(self.method, Method::Stream(_))
            && measured.clients == 1
            && fastest > 0
        {
            metrics.push(("best_mib_per_s", mib * 1e9 / fastest as f64));
        }
        metrics
    }
}

/// Work of one thread.
pub enum MemoryPasses {
    Blocks(Blocks),
    Copies(Copies),
    Stream(Stream),
}

impl Passes for MemoryPasses {
    fn pass(&mut self) -> Result<OpId, Fault> {
        match self {
            Self::Blocks(blocks) => blocks.pass(),
            Self::Copies(copies) => copies.pass(),
            Self::Stream(stream) => stream.pass(),
        }
        Ok(TRANSACTION)
    }
}
