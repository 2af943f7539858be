//! Data loading: dispatch to the loader of a workload.

use serde_json::Value;

use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::observe::Observer;
use loadcell_core::spec::Spec;
use loadcell_core::target::Protocol;
use loadcell_workloads::dataload::{Prepared, load};
use loadcell_workloads::sql::{dialect, only_postgres};
use loadcell_workloads::{pgbench, redis, sysbench, tpcc, ycsb};

/// Load the data of the workload of `spec`.
pub fn prepare(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    match spec.target.protocol {
        Protocol::Store => return loadcell_embedded::load(spec, observer),
        Protocol::Resp => return redis::prepare(spec, observer),
        Protocol::Postgres | Protocol::Mysql | Protocol::Http | Protocol::Host | Protocol::Calls => {}
    }
    match spec.workload() {
        ("sysbench", section) => prepare_sysbench(spec, section, observer),
        ("tpcc", section) => prepare_tpcc(spec, section, observer),
        ("pgbench", section) => prepare_pgbench(spec, section, observer),
        ("ycsb", section) => prepare_ycsb(spec, section, observer),
        (name, _) => Err(SpecError::workload(name).into()),
    }
}

fn prepare_sysbench(
    spec: &Spec,
    section: &Value,
    observer: &mut dyn Observer,
) -> Result<Prepared, LoadError> {
    let options = sysbench::Options::read(section)?;
    let data = sysbench::DataSet::new(dialect(spec)?, &options, spec.seed);
    load(spec, &data, options.load_workers, observer)
}

fn prepare_tpcc(spec: &Spec, section: &Value, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let options = tpcc::Options::read(section)?;
    let data = tpcc::DataSet::new(dialect(spec)?, &options, spec.seed);
    load(spec, &data, options.load_workers, observer)
}

fn prepare_pgbench(spec: &Spec, section: &Value, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    only_postgres(spec, "pgbench")?;
    let options = pgbench::Options::read(section)?;
    let data = pgbench::DataSet::new(&options);
    load(spec, &data, options.load_workers, observer)
}

fn prepare_ycsb(spec: &Spec, section: &Value, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let options = ycsb::Options::read(section)?;
    let data = ycsb::DataSet::new(dialect(spec)?, &options, spec.seed);
    load(spec, &data, options.load_workers, observer)
}
