//! Creates the files that are there before a load.

use std::time::{Duration, Instant};

use serde_json::json;

use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, LoadStep};
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::random::Random;
use loadcell_core::spec::Spec;
use loadcell_load::blocking::Fault;
use loadcell_workloads::dataload::Prepared;
use loadcell_workloads::keyvalue::values::LOADED;

use super::client::CONTENT;
use super::directory::{self, Layout};
use super::options::{Location, Options};
use super::ownership::{File, State};

/// Seed of the loaded files: a load of any seed knows their sizes.
const LOADED_SEED: u64 = 1;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// A loaded file, and the random stream of its contents.
pub fn loaded(options: &Options, number: u64) -> (File, Random) {
    let mut random = Random::stream(LOADED_SEED, number);
    let size = options.sizes.draw(&mut random);
    (File { number, generation: 0, version: LOADED, size, state: State::There }, random)
}

/// Create the files of the workload of `spec`, single-threaded.
pub fn load(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let (options, location) = (Options::of(spec)?, Location::of(spec)?);
    let layout = Layout::new(&location.directory, options.directories);
    let started = Instant::now();
    let doing = |error: std::io::Error| {
        let step =
            LoadStep::new("engine.load-store", json!({"path": location.directory.display().to_string()}));
        Fault::from(error).during(step)
    };
    layout.make().map_err(doing)?;
    let (mut bytes, mut size_bytes, mut last_event) = (Vec::new(), 0, Instant::now());
    for number in 0..options.count {
        let (file, mut random) = loaded(&options, number);
        bytes.clear();
        CONTENT.write_sized(number, file.version, file.size, &mut random, &mut bytes);
        directory::write(&layout.path(&file), &bytes, true, false).map_err(doing)?;
        size_bytes += file.size;
        let mut directive = observer.tick();
        if directive == Directive::Continue && last_event.elapsed() >= PROGRESS_INTERVAL {
            last_event = Instant::now();
            directive = report(observer, number + 1, options.count);
        }
        if directive != Directive::Continue {
            return Err(LoadError::stopped("engine.preparation-stopped"));
        }
    }
    if report(observer, options.count, options.count) != Directive::Continue {
        return Err(LoadError::stopped("engine.preparation-stopped"));
    }
    let duration_ns = started.elapsed().as_nanos() as Nanos;
    Ok(Prepared { rows: options.count, size_bytes: Some(size_bytes), duration_ns })
}

fn report(observer: &mut dyn Observer, done: u64, total: u64) -> Directive {
    observer.event(&json!({"type": "progress", "doing": "records", "done_rows": done, "total_rows": total}))
}
