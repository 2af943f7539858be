//! Sessions of SQL workloads: run transactions over a database protocol and record them.

mod session;
#[cfg(test)]
mod session_tests;
mod workload;

pub use session::{RetryPolicy, SqlSession};
pub use workload::{Next, SentRequest, Transactions, Workload};

use serde_json::json;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::pgbench::{self, Pgbench};
use crate::statements::{self, Statements};
use crate::sysbench::{self, Sysbench};
use crate::tpcc::{self, Tpcc};
use crate::ycsb::{self, Ycsb};
use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::record::Operation;
use loadcell_core::session::SessionFactory;
use loadcell_core::spec::Spec;
use loadcell_core::target::{Dialect, Protocol};
use loadcell_protocols::postgres::Postgres;
use loadcell_protocols::{Config, Mode, SqlProtocol};

/// Shared state of a load's sessions: workload `W` over protocol `P`.
pub struct Sessions<W: Workload, P> {
    config: Arc<Config>,
    retry_policy: Arc<RetryPolicy>,
    workload: W,
    /// `fn() -> P`, as no value of `P` is shared between threads.
    protocol: PhantomData<fn() -> P>,
}

impl<W: Workload, P: SqlProtocol> Sessions<W, P> {
    fn new(spec: &Spec, retry_policy: RetryPolicy, workload: W) -> Self {
        let config = Arc::new(Config::new(&spec.target));
        Self { config, retry_policy: Arc::new(retry_policy), workload, protocol: PhantomData }
    }

    /// Sessions that retry transactions after these SQLSTATEs.
    fn retrying(spec: &Spec, mode: Mode, sqlstates: Vec<String>, workload: W) -> Result<Self, SpecError> {
        check_mode(P::DIALECT, mode)?;
        let retry = retried(P::DIALECT, sqlstates);
        let retry_policy = RetryPolicy { retry, max_retries: spec.load.max_retries, late: None, skip: false };
        Ok(Self::new(spec, retry_policy, workload))
    }
}

impl<W: Workload, P: SqlProtocol> SessionFactory for Sessions<W, P> {
    type Session = SqlSession<W::Client, P>;

    fn operations(&self) -> &[Operation] {
        self.workload.operations()
    }

    fn session(&self, client: u32) -> Self::Session {
        SqlSession::new(self.config.clone(), self.retry_policy.clone(), self.workload.client(client))
    }
}

/// Sessions of a sysbench load; `section`: the `sysbench` section of the specification.
pub fn sysbench<P: SqlProtocol>(
    spec: &Spec,
    section: &serde_json::Value,
) -> Result<Sessions<Sysbench, P>, SpecError> {
    let options = sysbench::Options::read(section)?;
    let workload = Sysbench::new(P::DIALECT, &options, spec.seed, spec.load.clients);
    Sessions::retrying(spec, options.protocol, options.retry_sqlstates, workload)
}

/// Sessions of a pgbench load; `section`: the `pgbench` section of the specification.
pub fn pgbench(spec: &Spec, section: &serde_json::Value) -> Result<Sessions<Pgbench, Postgres>, LoadError> {
    only_postgres(spec, "pgbench")?;
    let options = pgbench::Options::read(section)?;
    let workload = Pgbench::new(&options, spec.seed, spec.load.clients, spec.load.threads)?;
    let retry_policy = RetryPolicy {
        retry: pgbench::RETRIED.map(String::from).to_vec(),
        max_retries: options.max_tries.map_or(spec.load.max_retries, |tries| tries - 1),
        late: options.latency_limit_ns.zip(workload.late()),
        skip: spec.load.schedule.is_some(),
    };
    Ok(Sessions::new(spec, retry_policy, workload))
}

/// Sessions of a TPC-C load; `section`: the `tpcc` section of the specification.
pub fn tpcc<P: SqlProtocol>(
    spec: &Spec,
    section: &serde_json::Value,
) -> Result<Sessions<Tpcc, P>, SpecError> {
    let options = tpcc::Options::read(section)?;
    let workload = Tpcc::new(P::DIALECT, &options, spec.seed, spec.load.clients)?;
    Sessions::retrying(spec, options.protocol, options.retry_sqlstates, workload)
}

/// Sessions of a YCSB load; `section`: the `ycsb` section of the specification.
pub fn ycsb<P: SqlProtocol>(
    spec: &Spec,
    section: &serde_json::Value,
) -> Result<Sessions<Ycsb, P>, SpecError> {
    let options = ycsb::Options::read(section)?;
    let workload = Ycsb::new(P::DIALECT, &options, spec.seed, spec.load.clients);
    Sessions::retrying(spec, options.protocol, options.retry_sqlstates, workload)
}

/// Sessions of a load with statements of the plan; `section`: the `sql` section of the specification.
pub fn statements<P: SqlProtocol>(
    spec: &Spec,
    section: &serde_json::Value,
) -> Result<Sessions<Statements, P>, SpecError> {
    let options = statements::Options::read(section)?;
    let workload = Statements::new(P::DIALECT, &options, spec.seed, spec.load.clients)?;
    Sessions::retrying(spec, options.protocol, options.retry_sqlstates, workload)
}

/// Reject a target other than PostgreSQL, for workloads in its SQL dialect.
pub fn only_postgres(spec: &Spec, workload: &str) -> Result<(), SpecError> {
    if spec.target.protocol == Protocol::Postgres {
        return Ok(());
    }
    Err(SpecError::new("engine.spec.only-postgres", "workload", json!({"workload": workload})))
}

/// Reject a query protocol that the database does not have.
fn check_mode(dialect: Dialect, mode: Mode) -> Result<(), SpecError> {
    if (dialect, mode) != (Dialect::Mysql, Mode::Extended) {
        return Ok(());
    }
    Err(SpecError::new("engine.spec.extended-protocol", "workload.protocol", json!({})))
}

/// Codes of retryable errors. For MySQL, serialisation failures (40001, a deadlock) imply the equivalent
/// errors without a SQLSTATE of their own: lock wait timeout (1205) and a record changed since it was read
/// (1020). sysbench retries the same three.
fn retried(dialect: Dialect, mut codes: Vec<String>) -> Vec<String> {
    if dialect == Dialect::Mysql && codes.iter().any(|code| code == "40001") {
        codes.extend(["1205", "1020"].map(String::from));
    }
    codes
}

/// SQL dialect of the target; rejects targets without SQL.
pub fn dialect(spec: &Spec) -> Result<Dialect, SpecError> {
    spec.target.protocol.dialect().ok_or_else(|| SpecError::workload(spec.workload().0))
}
