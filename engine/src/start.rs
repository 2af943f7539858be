//! From a specification's text to a running load or preparation.

use std::sync::Arc;

use serde_json::Value;

use crate::blocking::Direct;
use crate::callable::{self, Callees, Calls};
use crate::dataload;
use crate::embedded;
use crate::groups::{self, Group};
use crate::http::{self, Version};
use crate::load::{ClientFactory, GroupInput, NoResult, TargetContext, run as run_load, run_together};
use crate::observe::Observer;
use crate::probe;
use crate::protocol::http1::Http1;
use crate::protocol::http2::Http2;
use crate::protocol::mysql::Mysql;
use crate::protocol::postgres::Postgres;
use crate::protocol::{Protocol, SqlProtocol};
use crate::redis;
use crate::spec::{Problem, Spec};
use crate::sql;
use crate::transport::Endpoint;
use crate::workload::pgbench;

/// Makes the load that `spec` describes.
pub fn run(spec: &str, observer: &mut dyn Observer) -> Result<Value, NoResult> {
    if let Some(groups) = groups::read(spec)? {
        return run_groups(&groups, observer);
    }
    let spec = Spec::read(spec)?;
    run_load(&*sessions(&spec)?, &context(&spec)?, &spec.load, observer)
}

/// Makes the load that `spec` describes by calling `callees`.
pub fn run_calls(spec: &str, callees: impl Callees, observer: &mut dyn Observer) -> Result<Value, NoResult> {
    let spec = Spec::read(spec)?;
    let ("calls", section) = spec.workload() else {
        return Err(Problem::new("spec", "the workload is not `calls`", "see `loadcell/_engine.pyi`").into());
    };
    let calls = Direct(Calls { callees, operations: callable::operations(section)? });
    run_load(&calls, &context(&spec)?, &spec.load, observer)
}

/// Makes the load of several groups of clients at once.
fn run_groups(groups: &[Group], observer: &mut dyn Observer) -> Result<Value, NoResult> {
    let made = groups.iter().map(|group| sessions(&group.spec).map_err(|problem| group.problem(problem)));
    let made = made.collect::<Result<Vec<_>, _>>()?;
    let each = groups.iter().zip(&made);
    let parts = each.map(|(group, sessions)| GroupInput {
        name: &group.name,
        sessions: &**sessions,
        load: &group.spec.load,
    });
    run_together(&parts.collect::<Vec<_>>(), &context(&groups[0].spec)?, observer)
}

/// Each workload brings sessions of its own type: threads are started for them by a dynamic call, and none is on the path
/// of a request.
fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, Problem> {
    match spec.target.protocol {
        Protocol::Postgres => sql_sessions::<Postgres>(spec),
        Protocol::Mysql => sql_sessions::<Mysql>(spec),
        Protocol::Store => embedded::sessions(spec),
        Protocol::Host => probe::sessions(spec),
        Protocol::Calls => Err(Problem::new("spec", "there is nothing to call", "use `run_calls`")),
        Protocol::Resp => match spec.workload() {
            ("kv", section) => Ok(Box::new(redis::sessions(spec, section)?)),
            ("ycsb", section) => Ok(Box::new(redis::ycsb(spec, section)?)),
            (name, _) => Err(Problem::new(
                "spec",
                format!("the engine has no workload `{name}` for Redis"),
                "use `kv` or `ycsb`",
            )),
        },
        Protocol::Http => match spec.workload() {
            ("http", section) => Ok(match http::version(section)? {
                (Version::One, _) => Box::new(http::Sessions::<Http1>::new(spec, section)?),
                (Version::Two, 1) => Box::new(http::Sessions::<Http2>::new(spec, section)?),
                (Version::Two, _) => Box::new(http::StreamSessions::new(spec, section)?),
            }),
            (name, _) => Err(unknown(name)),
        },
    }
}

fn sql_sessions<P: SqlProtocol + 'static>(spec: &Spec) -> Result<Box<dyn ClientFactory>, Problem> {
    let (name, section) = spec.workload();
    Ok(match name {
        "sysbench" => Box::new(sql::sysbench::<P>(spec, section)?),
        "tpcc" => Box::new(sql::tpcc::<P>(spec, section)?),
        "ycsb" => Box::new(sql::ycsb::<P>(spec, section)?),
        "pgbench" => Box::new(sql::pgbench(spec, section)?),
        _ => return Err(unknown(name)),
    })
}

/// Loads the data that `spec` describes.
pub fn prepare(spec: &str, observer: &mut dyn Observer) -> Result<dataload::Prepared, Problem> {
    dataload::prepare(&Spec::read(spec)?, observer)
}

/// What a workload (the section of a specification) will do, found out without a target; its mistakes are the error.
pub fn check(workload: &str) -> Result<Value, Problem> {
    let wrong = |finding: String| Problem::new("spec", finding, "see `loadcell/_engine.pyi`");
    let workload: serde_json::Map<String, Value> = serde_json::from_str(workload)
        .map_err(|error| wrong(format!("the workload cannot be read: {error}")))?;
    match workload.iter().next() {
        Some((name, section)) if name == "pgbench" => pgbench::check(section),
        Some((name, section)) if name == "http" => http::check(section),
        Some((name, section)) if name == "kv" => redis::checked(section),
        Some((name, _)) => Err(wrong(format!("the engine has nothing to say of the workload `{name}`"))),
        None => Err(wrong("no workload is named".into())),
    }
}

/// What an embedded store's engine is: its version, and the library it is in.
pub fn about_store(engine: &str) -> Result<Value, Problem> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        engine: embedded::Engine,
        library: Option<std::path::PathBuf>,
    }
    let asked: Asked = serde_json::from_str(engine).map_err(|error| {
        Problem::new("spec", format!("the engine cannot be read: {error}"), "see `loadcell/_engine.pyi`")
    })?;
    embedded::about(asked.engine, asked.library.as_deref())
}

fn context(spec: &Spec) -> Result<TargetContext, Problem> {
    let mut endpoint = Endpoint::of(&spec.target)?;
    if let ("http", section) = spec.workload() {
        let (version, _) = http::version(section)?;
        endpoint.tls = endpoint.tls.map(|tls| tls.speaking(version.alpn()));
    }
    Ok(TargetContext {
        endpoint: Arc::new(endpoint),
        connect_timeout_ns: spec.target.connect_timeout_ns,
        advice: spec.target.protocol.advice(),
    })
}

fn unknown(name: &str) -> Problem {
    Problem::new(
        "spec",
        format!("the engine has no workload `{name}`"),
        "use `http`, `kv`, `pgbench`, `sysbench`, `tpcc` or `ycsb`",
    )
}
