//! One load: connect, warm up, measure, drain; what happens is told each interval, and all of it at the end.

mod books;
mod crew;
mod leader;
mod overload;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::observe::Observer;
use crate::session::SessionFactory;
use crate::spec::{Load, Problem};
use crate::transport::Endpoint;

/// Where the load goes to.
pub struct Ground {
    pub endpoint: Arc<Endpoint>,
    pub connect_timeout_ns: crate::clock::Nanos,
    /// A remedy for an error's code; empty where there is none.
    pub advice: fn(&str) -> &'static str,
}

/// Why there is no result.
#[derive(Debug)]
pub enum NoResult {
    Problem(Problem),
    /// The observer did not want to wait for one.
    Aborted,
}

impl From<Problem> for NoResult {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Makes load with the sessions of `factory`, and gives the result as the specification's reader expects it.
pub fn run<F: SessionFactory>(
    factory: &F,
    ground: &Ground,
    load: &Load,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    std::thread::scope(|scope| {
        let crew = crew::Crew::start(scope, factory, ground, load)?;
        leader::Leader::new(factory.operations(), ground, load, crew, observer).lead()
    })
}
