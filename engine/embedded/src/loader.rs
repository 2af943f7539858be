//! Loads the initial records into a store.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::run::{opened, options, work};
use super::ycsb_client::loaded;
use super::{Changes, Engine, Fault, Fjall, Handle, Lmdb, Options, Redb, Rocksdb, Sqlite, Store};
use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, LoadStep};
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;
use loadcell_workloads::dataload::Prepared;
use loadcell_workloads::keyvalue::Data;
use loadcell_workloads::ycsb;

/// Limits of one write batch: large for speed, small in memory.
const MOST_CHANGES: usize = 2_000;
const MOST_BYTES: usize = 4 << 20;
/// Interval of progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Load the data of the workload of `spec`. Single-threaded, as these stores have one writer or one log.
pub fn load(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let configured = options(spec)?;
    // Made durable once, at the end.
    let options = Options { sync: false, ..configured.clone() };
    let (name, section) = spec.workload();
    let data = match name {
        "ycsb" => Rows::Records(ycsb::Records::new(&ycsb::Options::read(section)?, spec.seed)),
        _ => Rows::Keys(Data::new(&work(name, section)?, spec.seed)),
    };
    let started = Instant::now();
    match options.engine {
        Engine::Redb => fill::<Redb>(&options, &data, observer),
        Engine::Fjall => fill::<Fjall>(&options, &data, observer),
        Engine::Lmdb => fill::<Lmdb>(&options, &data, observer),
        Engine::Sqlite => fill::<Sqlite>(&options, &data, observer),
        Engine::Rocksdb => fill::<Rocksdb>(&options, &data, observer),
    }?;
    let size_bytes = size(&options.directory).ok();
    Ok(Prepared { rows: data.count(), size_bytes, duration_ns: started.elapsed().as_nanos() as Nanos })
}

/// Records to load.
enum Rows {
    Keys(Data),
    Records(ycsb::Records),
}

impl Rows {
    fn count(&self) -> u64 {
        match self {
            Self::Keys(data) => data.count,
            Self::Records(records) => records.count,
        }
    }

    fn key(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Keys(data) => data.key(number, out),
            Self::Records(records) => records.key(number, out),
        }
    }

    fn value(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Keys(data) => data.value(number, out),
            Self::Records(records) => loaded(records, number, out),
        }
    }
}

fn fill<S: Store>(options: &Options, data: &Rows, observer: &mut dyn Observer) -> Result<(), LoadError> {
    let store = opened::<S>(options, 1)?;
    let doing = |fault: Fault| {
        fault.during(LoadStep::new(
            "engine.load-store",
            json!({"path": options.directory.display().to_string()}),
        ))
    };
    let mut handle = store.handle().map_err(doing)?;
    let (mut changes, mut last_event, mut next) = (Changes::default(), Instant::now(), 0);
    while next < data.count() {
        changes.clear();
        while next < data.count() && changes.len() < MOST_CHANGES && changes.size() < MOST_BYTES {
            changes.put(options.files, |out| data.key(next, out), |out| data.value(next, out));
            next += 1;
        }
        handle.write(&changes).map_err(doing)?;
        let mut go = observer.tick();
        if go == Directive::Continue && last_event.elapsed() >= PROGRESS_INTERVAL {
            last_event = Instant::now();
            go = report(observer, next, data.count());
        }
        if go != Directive::Continue {
            return Err(stopped());
        }
    }
    drop(handle);
    store.close().map_err(doing)?;
    if report(observer, next, data.count()) == Directive::Continue { Ok(()) } else { Err(stopped()) }
}

fn report(observer: &mut dyn Observer, done: u64, total: u64) -> Directive {
    observer.event(&json!({"type": "progress", "doing": "records", "done_rows": done, "total_rows": total}))
}

fn stopped() -> LoadError {
    LoadError::stopped("engine.preparation-stopped")
}

/// Total size of the files below a directory.
fn size(directory: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(directory)?.try_fold(0, |sum, entry| {
        let entry = entry?;
        let metadata = entry.metadata()?;
        Ok(sum + if metadata.is_dir() { size(&entry.path())? } else { metadata.len() })
    })
}
