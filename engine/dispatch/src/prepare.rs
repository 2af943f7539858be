//! Data loading: dispatch to the loader of a workload.

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
        Protocol::Files => return loadcell_files::load(spec, observer),
        Protocol::Resp => return redis::prepare(spec, observer),
        Protocol::Postgres
        | Protocol::Mysql
        | Protocol::Http
        | Protocol::Host
        | Protocol::Calls
        | Protocol::Stream => {}
    }
    match spec.workload() {
        ("sysbench", section) => {
            let options = sysbench::Options::read(section)?;
            let data = sysbench::DataSet::new(dialect(spec)?, &options, spec.seed);
            load(spec, &data, options.load_workers, observer)
        }
        ("tpcc", section) => {
            let options = tpcc::Options::read(section)?;
            let data = tpcc::DataSet::new(dialect(spec)?, &options, spec.seed);
            load(spec, &data, options.load_workers, observer)
        }
        ("pgbench", section) => {
            only_postgres(spec, "pgbench")?;
            let options = pgbench::Options::read(section)?;
            load(spec, &pgbench::DataSet::new(&options), options.load_workers, observer)
        }
        ("ycsb", section) => {
            let options = ycsb::Options::read(section)?;
            let data = ycsb::DataSet::new(dialect(spec)?, &options, spec.seed);
            load(spec, &data, options.load_workers, observer)
        }
        (name, _) => Err(SpecError::workload(name).into()),
    }
}
