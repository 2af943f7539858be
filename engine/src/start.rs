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
        _ => Err(unknown(name).into()),
    }
}

/// Loads the data that `spec` describes.
pub fn prepare(spec: &str, observer: &mut dyn Observer) -> Result<prepare::Prepared, Problem> {
    prepare::prepare(&Spec::read(spec)?, observer)
}

fn ground(spec: &Spec) -> Result<Ground, Problem> {
    let endpoint = Arc::new(Endpoint::of(&spec.target)?);
    Ok(Ground { endpoint, connect_timeout_ns: spec.target.connect_timeout_ns, advice })
}

fn unknown(name: &str) -> Problem {
    Problem::new("spec", format!("the engine has no workload `{name}`"), "use `sysbench` or `tpcc`")
}
