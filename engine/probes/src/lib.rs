//! Machine probes: CPU, memory, disk and network, each with the definition of a well-known tool.
//!
//! A probe is a load like any other. Each client is a thread that runs passes: a pass is the recorded
//! operation, timed from call to return. The unit of a probe may be far smaller (a memory block written in 30
//! ns): a pass is then a fixed number of units, so that reading the clock is negligible and the metrics
//! follow from the duration of passes.
//!
//! A new probe is one file: its options, its shared state ([`Probe`]), and the work of a thread ([`Passes`]).
//! A probe with concurrent operations implements [`BlockingClient`] itself, and records each of them.

mod cpu;
#[cfg(test)]
mod cpu_tests;
mod disk;
mod latency;
mod memory;
mod memory_budget;
pub mod network;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde_json::Value;

use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};
use loadcell_core::spec::{self, Spec};
use loadcell_load::blocking::{BlockingClient, BlockingClientFactory, BlockingLoad, Fault};
use loadcell_load::{ClientFactory, Measurement};

/// Operations of a probe with identical passes.
pub const PASS: [Operation; 1] = [Operation { name: "transaction", kind: Kind::Transaction }];

/// Shared state of a probe's threads.
pub trait Probe: Send + Sync {
    /// Work of one thread.
    type Passes<'p>: Passes
    where
        Self: 'p;

    /// Operations of passes, the transaction first.
    fn operations(&self) -> &[Operation] {
        &PASS
    }

    /// Work of client number `client`. Called on the client's thread before the measurement, so that memory
    /// is allocated near it.
    fn passes(&self, client: u32) -> Result<Self::Passes<'_>, Fault>;

    /// Metrics of the probe by name.
    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)>;
}

/// Work of one thread.
pub trait Passes {
    /// Run one pass. Returns its operation besides the transaction; `TRANSACTION` if there is only one kind.
    /// A fatal fault ends this client.
    fn pass(&mut self) -> Result<OpId, Fault>;
}

/// A probe as a factory of blocking clients.
struct Probed<P>(P);

/// The passes of one thread, and the state of the current one.
struct Passing<P> {
    passes: P,
    /// Intended start of the selected pass.
    due: Option<Nanos>,
    outcome: Result<OpId, Fault>,
}

impl<P: Probe> BlockingClientFactory for Probed<P> {
    type Client<'t>
        = Passing<P::Passes<'t>>
    where
        Self: 't;

    fn operations(&self) -> &[Operation] {
        self.0.operations()
    }

    fn client(&self, client: u32, _: &dyn Fn() -> bool) -> Result<Self::Client<'_>, Fault> {
        Ok(Passing { passes: self.0.passes(client)?, due: None, outcome: Ok(TRANSACTION) })
    }

    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        self.0.metrics(measured)
    }
}

impl<P: Passes> BlockingClient for Passing<P> {
    #[inline]
    fn clear(&mut self) {
        self.due = None;
    }

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        self.due = Some(due);
    }

    #[inline]
    fn selected(&self) -> usize {
        usize::from(self.due.is_some())
    }

    #[inline]
    fn execute(&mut self) -> Result<(), Fault> {
        self.outcome = self.passes.pass();
        match &self.outcome {
            Err(fault) if fault.fatal => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Some(due) = self.due else { return };
        match &self.outcome {
            Ok(op) => {
                if *op != TRANSACTION {
                    recorder.start(*op, due);
                    recorder.succeed(*op, due, sent, done);
                }
                recorder.succeed(TRANSACTION, due, sent, done);
            }
            Err(fault) => recorder.fail(TRANSACTION, due, sent, done, &fault.failure()),
        }
    }
}

/// Client factory of the probe in a specification.
pub fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    let (name, section) = spec.workload();
    if name != "probe" {
        return Err(SpecError::workload(name).into());
    }
    let only = section
        .as_object()
        .filter(|sections| sections.len() == 1)
        .and_then(|sections| sections.iter().next());
    let Some((name, section)) = only else {
        return Err(SpecError::value("workload.probe", section).into());
    };
    let clients = spec.load.clients;
    match name.as_str() {
        "cpu" => Ok(boxed(cpu::Cpu::new(&read(name, section)?))),
        "memory" => Ok(boxed(memory::Memory::new(&read(name, section)?, clients, spec.seed)?)),
        "latency" => Ok(boxed(latency::Latency::new(&read(name, section)?, clients, spec.seed)?)),
        "disk" => Ok(Box::new(BlockingLoad(disk::Disk::new(read(name, section)?, spec)?))),
        "network" => Ok(Box::new(BlockingLoad(network::Network::new(read(name, section)?, spec)?))),
        _ => Err(SpecError::value("workload.probe", name).into()),
    }
}

fn boxed<P: Probe + 'static>(probe: P) -> Box<dyn ClientFactory> {
    Box::new(BlockingLoad(Probed(probe)))
}

/// Options of the probe `name`.
fn read<O: DeserializeOwned>(name: &str, section: &Value) -> Result<O, SpecError> {
    spec::section(&format!("workload.probe.{name}"), section)
}
