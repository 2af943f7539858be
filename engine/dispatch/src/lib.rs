//! From a specification's text to a running load or preparation.

mod groups;
mod prepare;

use std::sync::Arc;

use serde_json::Value;

use crate::groups::Group;
use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::observe::Observer;
use loadcell_core::spec::Spec;
use loadcell_core::target::Protocol;
use loadcell_embedded as embedded;
use loadcell_files as files;
use loadcell_load::blocking::BlockingLoad;
use loadcell_load::callable::{self, CallableClients, CallableFactory};
use loadcell_load::{
    ClientFactory, GroupInput, TargetContext, run as run_load, run_groups as run_load_groups,
};
use loadcell_probes as probes;
use loadcell_protocols::SqlProtocol;
use loadcell_protocols::http::Version;
use loadcell_protocols::http1::Http1;
use loadcell_protocols::http2::Http2;
use loadcell_protocols::mysql::Mysql;
use loadcell_protocols::postgres::Postgres;
use loadcell_stream as stream;
use loadcell_transport::Endpoint;
use loadcell_workloads::dataload::Prepared;
use loadcell_workloads::http::{self, Shape};
use loadcell_workloads::pgbench;
use loadcell_workloads::redis;
use loadcell_workloads::sql;

/// Makes the load that `spec` describes.
pub fn run(spec: &str, observer: &mut dyn Observer) -> Result<Value, LoadError> {
    if let Some(groups) = groups::read(spec)? {
        return run_groups(&groups, observer);
    }
    let spec = Spec::read(spec)?;
    run_load(&*sessions(&spec)?, &context(&spec)?, &spec.load, observer)
}

/// Makes the load that `spec` describes by calling the callables of `factory`.
pub fn run_calls(
    spec: &str,
    factory: impl CallableFactory,
    observer: &mut dyn Observer,
) -> Result<Value, LoadError> {
    let spec = Spec::read(spec)?;
    let ("calls", section) = spec.workload() else {
        return Err(SpecError::workload(spec.workload().0).into());
    };
    let calls = BlockingLoad(CallableClients { factory, operations: callable::operations(section)? });
    run_load(&calls, &context(&spec)?, &spec.load, observer)
}

/// Makes the load of several groups of clients at once.
fn run_groups(groups: &[Group], observer: &mut dyn Observer) -> Result<Value, LoadError> {
    let factories =
        groups.iter().map(|group| sessions(&group.spec).map_err(|error| error.of_group(&group.name)));
    let factories = factories.collect::<Result<Vec<_>, _>>()?;
    let inputs = groups.iter().zip(&factories).map(|(group, clients)| GroupInput {
        name: &group.name,
        clients: &**clients,
        load: &group.spec.load,
    });
    run_load_groups(&inputs.collect::<Vec<_>>(), &context(&groups[0].spec)?, observer)
}

/// Client factory of a workload. Sessions have static types: the dynamic call starts threads, and is not on
/// the path of a request.
fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    match spec.target.protocol {
        Protocol::Postgres => sql_sessions::<Postgres>(spec),
        Protocol::Mysql => sql_sessions::<Mysql>(spec),
        Protocol::Store => embedded::sessions(spec),
        Protocol::Files => files::sessions(spec),
        Protocol::Host => probes::sessions(spec),
        Protocol::Stream => stream::sessions(spec),
        Protocol::Calls => Err(SpecError::workload(spec.workload().0).into()),
        Protocol::Resp => match spec.workload() {
            ("kv", section) => Ok(Box::new(redis::sessions(spec, section)?)),
            ("ycsb", section) => Ok(Box::new(redis::ycsb(spec, section)?)),
            (name, _) => Err(SpecError::workload(name).into()),
        },
        Protocol::Http => match spec.workload() {
            ("http", section) => Ok(match http::shape(section)? {
                (Version::One, Shape::Scenario) => {
                    Box::new(http::ScenarioSessions::<Http1>::new(spec, section)?)
                }
                (Version::Two, Shape::Scenario) => {
                    Box::new(http::ScenarioSessions::<Http2>::new(spec, section)?)
                }
                (Version::Two, Shape::Streams) => Box::new(http::StreamSessions::new(spec, section)?),
                (Version::Two, Shape::Sequential) => Box::new(http::Sessions::<Http2>::new(spec, section)?),
                (Version::One, _) => Box::new(http::Sessions::<Http1>::new(spec, section)?),
            }),
            (name, _) => Err(SpecError::workload(name).into()),
        },
    }
}

fn sql_sessions<P: SqlProtocol + 'static>(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    let (name, section) = spec.workload();
    Ok(match name {
        "sysbench" => Box::new(sql::sysbench::<P>(spec, section)?),
        "tpcc" => Box::new(sql::tpcc::<P>(spec, section)?),
        "ycsb" => Box::new(sql::ycsb::<P>(spec, section)?),
        "pgbench" => Box::new(sql::pgbench(spec, section)?),
        "sql" => Box::new(sql::statements::<P>(spec, section)?),
        _ => return Err(SpecError::workload(name).into()),
    })
}

/// Loads the data that `spec` describes.
pub fn prepare(spec: &str, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let spec = Spec::read(spec)?;
    prepare::prepare(&spec, observer)
}

/// Validate a workload (a section of a specification) without a target. Returns its description.
pub fn check(workload: &str) -> Result<Value, LoadError> {
    let workload: serde_json::Map<String, Value> =
        serde_json::from_str(workload).map_err(|error| SpecError::unreadable("workload", &error))?;
    match workload.iter().next() {
        Some((name, section)) if name == "pgbench" => pgbench::check(section),
        Some((name, section)) if name == "http" => Ok(http::check(section)?),
        Some((name, section)) if name == "kv" => Ok(redis::checked(section)?),
        Some((name, section)) if name == "stream" => Ok(stream::check(section)?),
        Some((name, _)) => Err(SpecError::workload(name).into()),
        None => Err(SpecError::workload("").into()),
    }
}

/// The first `count` records of a connection of the stream that `spec` describes, as they are sent.
pub fn stream_records(spec: &str, connection: u32, count: u64) -> Result<Vec<u8>, LoadError> {
    stream::records(&Spec::read(spec)?, connection, count)
}

/// Version of an embedded store's engine, and the path of its library.
pub fn about_store(engine: &str) -> Result<Value, LoadError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        engine: embedded::Engine,
        library: Option<std::path::PathBuf>,
    }
    let asked: Request = serde_json::from_str(engine).map_err(|error| SpecError::unreadable("", &error))?;
    embedded::about(asked.engine, asked.library.as_deref())
}

fn context(spec: &Spec) -> Result<TargetContext, LoadError> {
    let mut endpoint = Endpoint::of(&spec.target)?;
    if let ("http", section) = spec.workload() {
        let (version, _) = http::shape(section)?;
        endpoint.tls = endpoint.tls.map(|tls| tls.speaking(version.alpn()));
    }
    Ok(TargetContext { endpoint: Arc::new(endpoint), connect_timeout_ns: spec.target.connect_timeout_ns })
}
