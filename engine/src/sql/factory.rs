//! Makes the sessions of one load from its specification.

use std::sync::Arc;

use super::session::{Rules, SqlSession};
use crate::protocol::postgres::Config;
use crate::record::Operation;
use crate::session::SessionFactory;
use crate::spec::{Problem, Spec};
use crate::workload::Workload;
use crate::workload::pgbench::{self, Pgbench};
use crate::workload::sysbench::{self, Sysbench};
use crate::workload::tpcc::{self, Tpcc};

/// What the sessions of a load share.
pub struct Sessions<W: Workload> {
    config: Arc<Config>,
    rules: Arc<Rules>,
    workload: W,
}

impl<W: Workload> Sessions<W> {
    pub fn new(config: Config, rules: Rules, workload: W) -> Self {
        Self { config: Arc::new(config), rules: Arc::new(rules), workload }
    }
}

impl<W: Workload> SessionFactory for Sessions<W> {
    type Session = SqlSession<W::Client>;

    fn operations(&self) -> &[Operation] {
        self.workload.operations()
    }

    fn session(&self, client: u32) -> Self::Session {
        SqlSession::new(self.config.clone(), self.rules.clone(), self.workload.client(client))
    }
}

/// The sessions of a sysbench load; `section` is what stands under `sysbench` in the specification.
pub fn sysbench(spec: &Spec, section: &serde_json::Value) -> Result<Sessions<Sysbench>, Problem> {
    let options = sysbench::Options::read(section)?;
    let workload = Sysbench::new(&options, spec.seed, spec.load.clients);
    let rules = Rules { retry: options.retry_sqlstates, max_retries: spec.load.max_retries, late: None, skip: false };
    Ok(Sessions::new(Config::new(&spec.target), rules, workload))
}

/// The sessions of a pgbench load; `section` is what stands under `pgbench` in the specification.
pub fn pgbench(spec: &Spec, section: &serde_json::Value) -> Result<Sessions<Pgbench>, Problem> {
    let options = pgbench::Options::read(section)?;
    let workload = Pgbench::new(&options, spec.seed, spec.load.clients, spec.load.threads)?;
    let rules = Rules {
        retry: pgbench::RETRIED.map(String::from).to_vec(),
        max_retries: options.max_tries.map_or(spec.load.max_retries, |tries| tries - 1),
        late: options.latency_limit_ns.zip(workload.late()),
        skip: spec.load.schedule.is_some(),
    };
    Ok(Sessions::new(Config::new(&spec.target), rules, workload))
}

/// The sessions of a TPC-C load; `section` is what stands under `tpcc` in the specification.
pub fn tpcc(spec: &Spec, section: &serde_json::Value) -> Result<Sessions<Tpcc>, Problem> {
    let options = tpcc::Options::read(section)?;
    let workload = Tpcc::new(&options, spec.seed, spec.load.clients)?;
    let rules = Rules { retry: options.retry_sqlstates, max_retries: spec.load.max_retries, late: None, skip: false };
    Ok(Sessions::new(Config::new(&spec.target), rules, workload))
}
