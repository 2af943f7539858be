//! Scenarios: requests of one client in steps, with values that pass from responses to later requests.
//!
//! One pass through the steps is a transaction, each step an operation within it.

mod body;
mod condition;
mod cookies;
mod data;
mod extract;
mod options;
mod run;
mod script;
#[cfg(test)]
mod session_tests;

pub use options::Options;

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use self::run::ScenarioRun;
use self::script::Script;
use super::exchange::Operations;
use super::session::HttpSession;
use loadcell_core::error::SpecError;
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::session::SessionFactory;
use loadcell_core::spec::Spec;
use loadcell_core::target::Target;
use loadcell_protocols::http::{Http, WatchedFields};

/// Methods that change nothing (RFC 9110, 9.2.1).
const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/// Shared state of a load's sessions, for HTTP version `H`.
pub struct ScenarioSessions<H> {
    script: Arc<Script>,
    operations: Vec<Operation>,
    numbers: Operations,
    seed: u64,
    clients: u32,
    version: PhantomData<fn() -> H>,
}

impl<H: Http> ScenarioSessions<H> {
    /// `section`: the `http` section of the specification.
    pub fn new(spec: &Spec, section: &Value) -> Result<Self, SpecError> {
        let mut script = Script::read(section, &spec.target)?;
        if spec.load.schedule.is_some() && script.stops() {
            // A request that is due would have no data.
            return Err(SpecError::value("workload.http.scenario.data.at_end", "stop"));
        }
        script.write_fixed::<H>();
        let (operations, numbers) = counted(&script);
        let (seed, clients) = (spec.seed, spec.load.clients);
        Ok(Self { script: Arc::new(script), operations, numbers, seed, clients, version: PhantomData })
    }
}

/// Names of the operations of a valid section.
pub fn check(section: &Value, target: &Target) -> Result<Vec<&'static str>, SpecError> {
    let (operations, _) = counted(&Script::read(section, target)?);
    Ok(operations.iter().map(|operation| operation.name).collect())
}

/// Operations to record: the scenario, its steps, and the stages of a request.
fn counted(script: &Script) -> (Vec<Operation>, Operations) {
    let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
    for step in &script.steps {
        let kind = if SAFE.contains(&step.head.method.as_str()) { Kind::Read } else { Kind::Write };
        // Names live as long as the process, which runs one load.
        operations.push(Operation { name: Box::leak(step.name.clone().into_boxed_str()), kind });
    }
    let mut stage = |name: &'static str| {
        operations.push(Operation { name, kind: Kind::Stage });
        OpId(operations.len() as u16 - 1)
    };
    let (connect, first_byte) = (stage("connect"), stage("first_byte"));
    (operations, Operations { first_kind: Some(1), connect, first_byte })
}

impl<H: Http> SessionFactory for ScenarioSessions<H> {
    type Session = HttpSession<H, ScenarioRun>;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn session(&self, client: u32) -> Self::Session {
        let run = ScenarioRun::new(self.script.clone(), self.numbers, self.seed, client, self.clients);
        let mut session = HttpSession::new(run);
        session.watch(WatchedFields::new(self.script.watched.clone()));
        session
    }
}
