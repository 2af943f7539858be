//! From a specification's text to a running load or preparation.

use std::sync::Arc;

use serde_json::Value;

use crate::load::{Ground, NoResult, run as run_load};
use crate::observe::Observer;
use crate::prepare;
use crate::protocol::postgres::advice;
use crate::spec::{Problem, Spec};
use crate::sql;
use crate::transport::Endpoint;
use crate::workload::pgbench;

/// Makes the load that `spec` describes.
pub fn run(spec: &str, observer: &mut dyn Observer) -> Result<Value, NoResult> {
    let spec = Spec::read(spec)?;
    let (name, section) = spec.workload();
    // Each workload brings sessions of its own type, so that no call to them is dynamic.
    match name {
        "sysbench" => {
            let sessions = sql::sysbench(&spec, section)?;
            run_load(&sessions, &ground(&spec)?, &spec.load, observer)
        }
        "tpcc" => {
            let sessions = sql::tpcc(&spec, section)?;
            run_load(&sessions, &ground(&spec)?, &spec.load, observer)
        }
        "pgbench" => {
            let sessions = sql::pgbench(&spec, section)?;
            run_load(&sessions, &ground(&spec)?, &spec.load, observer)
        }
        _ => Err(unknown(name).into()),
    }
}

/// Loads the data that `spec` describes.
pub fn prepare(spec: &str, observer: &mut dyn Observer) -> Result<prepare::Prepared, Problem> {
    prepare::prepare(&Spec::read(spec)?, observer)
}

/// What a workload (the section of a specification) will do, found out without a target; its mistakes are the error.
pub fn check(workload: &str) -> Result<Value, Problem> {
    let wrong = |finding: String| Problem::new("spec", finding, "see `loadcell/_engine.pyi`");
    let workload: serde_json::Map<String, Value> =
        serde_json::from_str(workload).map_err(|error| wrong(format!("the workload cannot be read: {error}")))?;
    match workload.iter().next() {
        Some((name, section)) if name == "pgbench" => pgbench::check(section),
        Some((name, _)) => Err(wrong(format!("the engine has nothing to say of the workload `{name}`"))),
        None => Err(wrong("no workload is named".into())),
    }
}

fn ground(spec: &Spec) -> Result<Ground, Problem> {
    let endpoint = Arc::new(Endpoint::of(&spec.target)?);
    Ok(Ground { endpoint, connect_timeout_ns: spec.target.connect_timeout_ns, advice })
}

fn unknown(name: &str) -> Problem {
    Problem::new("spec", format!("the engine has no workload `{name}`"), "use `pgbench`, `sysbench` or `tpcc`")
}
