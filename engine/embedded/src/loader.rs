//! Fills a store with the records that are there before a load.

use crate::fault::problem;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::run::{opened, options, work};
use super::ycsb_client::loaded;
use super::{Changes, Engine, Fault, Fjall, Handle, Lmdb, Options, Redb, Rocksdb, Sqlite, Store};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Problem;
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;
use loadcell_workloads::dataload::Prepared;
use loadcell_workloads::keyvalue::Data;
use loadcell_workloads::ycsb;

/// How much is written at once: many records, and not much memory.
const MOST_CHANGES: usize = 2_000;
const MOST_BYTES: usize = 4 << 20;
/// How often progress is told.
const NEWS: Duration = Duration::from_millis(250);

/// Loads what the workload of `spec` needs. One thread does it: these stores take one writer at a time, or have one log.
pub fn load(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, Problem> {
    let given = options(spec)?;
    // It is made durable once, at the end.
    let options = Options { sync: false, ..given.clone() };
    let (name, section) = spec.workload();
    let data = match name {
        "ycsb" => Filling::Records(ycsb::Records::new(&ycsb::Options::read(section)?, spec.seed)),
        _ => Filling::Keys(Data::new(&work(name, section)?, spec.seed)),
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

/// What a store is filled with.
enum Filling {
    Keys(Data),
    Records(ycsb::Records),
}

impl Filling {
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

fn fill<S: Store>(options: &Options, data: &Filling, observer: &mut dyn Observer) -> Result<(), Problem> {
    let store = opened::<S>(options, 1)?;
    let doing =
        |fault: Fault| problem(&fault, &format!("cannot load the store in {}", options.directory.display()));
    let mut handle = store.handle().map_err(doing)?;
    let (mut changes, mut told, mut next) = (Changes::default(), Instant::now(), 0);
    while next < data.count() {
        changes.clear();
        while next < data.count() && changes.len() < MOST_CHANGES && changes.size() < MOST_BYTES {
            changes.put(options.files, |out| data.key(next, out), |out| data.value(next, out));
            next += 1;
        }
        handle.write(&changes).map_err(doing)?;
        let mut go = observer.tick();
        if go == Directive::Continue && told.elapsed() >= NEWS {
            told = Instant::now();
            go = tell(observer, next, data.count());
        }
        if go != Directive::Continue {
            return Err(stopped());
        }
    }
    drop(handle);
    store.close().map_err(doing)?;
    if tell(observer, next, data.count()) == Directive::Continue { Ok(()) } else { Err(stopped()) }
}

fn tell(observer: &mut dyn Observer, done: u64, total: u64) -> Directive {
    observer.event(&json!({"type": "progress", "doing": "records", "done_rows": done, "total_rows": total}))
}

fn stopped() -> Problem {
    Problem::new("stopped", "the load of the data was stopped", "start it again: it begins anew")
}

/// What the files below a directory hold.
fn size(directory: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(directory)?.try_fold(0, |sum, entry| {
        let entry = entry?;
        let found = entry.metadata()?;
        Ok(sum + if found.is_dir() { size(&entry.path())? } else { found.len() })
    })
}
