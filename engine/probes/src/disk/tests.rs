//! Complete probes of a directory: counts, remaining files, and messages for missing resources.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::{Value, json};

use super::options::{Engine, Options};
use super::order::Order;
use super::psync::Psync;
use super::ring::Ring;
use super::{Client, Disk};
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::random::Random;
use loadcell_core::record::Recorder;
use loadcell_core::spec::Spec;
use loadcell_load::blocking::{BlockingClient, BlockingLoad, Fault};
use loadcell_load::{TargetContext, run as run_load};
use loadcell_transport::Endpoint;

/// A temporary directory.
pub struct TempDirectory(PathBuf);

static COUNTER: AtomicU32 = AtomicU32::new(0);

impl TempDirectory {
    pub fn new() -> Self {
        let name = format!("loadcell-disk-{}-{}", std::process::id(), COUNTER.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn entries(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Counts the names in the directory during the load.
struct Watch<'p>(&'p TempDirectory, usize);

impl Observer for Watch<'_> {
    fn event(&mut self, _: &Value) -> Directive {
        self.1 = self.1.max(self.0.entries());
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

fn spec(directory: &Path, disk: Value, load: Value) -> Value {
    let mut section = json!({"access": "randrw", "size_bytes": 1 << 20, "block_bytes": 4096,
        "direct": false, "fdatasync": 0,
        "depth": 1, "engine": "psync"});
    section.as_object_mut().unwrap().extend(disk.as_object().unwrap().clone());
    let mut load_spec = json!({"clients": 2, "duration_ns": 150_000_000, "interval_ns": 50_000_000});
    load_spec.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    loadcell_testing::specification(json!({"seed": 5, "target": {"protocol": "host", "directory": directory},
        "workload": {"probe": {"disk": section}}, "load": load_spec}))
}

fn run(disk: Value, load: Value) -> Value {
    let directory = TempDirectory::new();
    let mut watch = Watch(&directory, 0);
    let result = loadcell_dispatch::run(&spec(directory.path(), disk, load).to_string(), &mut watch).unwrap();
    assert_eq!((watch.1, directory.entries()), (0, 0), "nothing has a name");
    for operation in result["operations"].as_array().unwrap() {
        let of = |name: &str| operation[name].as_u64().unwrap();
        assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{operation}");
    }
    result
}

fn count(result: &Value, name: &str) -> u64 {
    let operations = result["operations"].as_array().unwrap();
    let matching =
        operations.iter().find(|operation| operation["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    matching["succeeded"].as_u64().unwrap()
}

fn can_queue() -> bool {
    super::ring::available().is_ok()
}

/// Engines that the kernel permits: one thread with one block, and with several.
fn engines() -> Vec<Value> {
    let mut engines = vec![json!({"engine": "psync"})];
    if can_queue() {
        engines.push(json!({"engine": "io_uring", "depth": 1}));
        engines.push(json!({"engine": "io_uring", "depth": 7}));
    }
    engines
}

fn with(operation: &Value, other: &Value) -> Value {
    let mut both = operation.clone();
    both.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    both
}

/// Number of blocks, which ends a probe long before its time limit of a minute.
const BLOCKS: u64 = 200;

fn bounded() -> Value {
    json!({"requests": BLOCKS, "duration_ns": 60_000_000_000_u64})
}

#[test]
fn each_write_is_flushed() {
    for engine in engines() {
        let result = run(with(&engine, &json!({"fdatasync": 1, "access": "randrw"})), bounded());
        assert_eq!(result["outcome"], "completed", "{engine}: {}", result["reason_args"]);
        let (reads, writes, flushes) =
            (count(&result, "read"), count(&result, "write"), count(&result, "fdatasync"));
        assert_eq!(
            (count(&result, "transaction"), reads + writes, flushes),
            (BLOCKS, BLOCKS, writes),
            "{engine}"
        );
        assert!(reads > 50 && writes > 50, "about half each: {reads}, {writes}");
        let metrics = &result["figures"];
        assert!(metrics["iops"].as_f64().unwrap() > 0.0 && metrics["read_mib_per_s"].as_f64().unwrap() > 0.0);
        assert!(metrics["write_mib_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!(result["client"]["threads"].as_array().unwrap().len(), 2, "a thread a client");
    }
}

#[test]
fn one_flush_after_several_writes() {
    for engine in engines() {
        let load = with(&bounded(), &json!({"clients": 1}));
        let result = run(with(&engine, &json!({"fdatasync": 8, "access": "write"})), load);
        assert_eq!((count(&result, "write"), count(&result, "fdatasync")), (BLOCKS, BLOCKS / 8), "{engine}");
    }
}

#[test]
fn read_only_probe_has_no_writes() {
    for engine in engines() {
        for access in ["read", "randread"] {
            let result = run(with(&engine, &json!({"access": access})), bounded());
            assert_eq!(count(&result, "read"), BLOCKS, "{engine}");
            assert_eq!(result["operations"].as_array().unwrap().len(), 2);
            assert_eq!(result["figures"].get("write_mib_per_s"), None);
        }
    }
}

#[test]
fn time_limit_ends_it_with_a_full_queue() {
    for engine in engines() {
        let result = run(with(&engine, &json!({"access": "randread"})), json!({"warmup_ns": 30_000_000}));
        assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]);
        assert_eq!(result["errors"], json!([]));
        let depth = engine["depth"].as_u64().unwrap_or(1);
        assert!(result["operations"][0]["in_flight"].as_u64().unwrap() <= 2 * depth);
        assert!(count(&result, "transaction") > 0);
    }
}

#[test]
fn direct_io_where_supported() {
    let result = run(json!({"direct": true}), bounded());
    assert_eq!((count(&result, "transaction"), &result["outcome"]), (BLOCKS, &json!("completed")));
}

/// Options of the probe in a specification.
fn section(load_spec: &Value) -> Options {
    crate::read("disk", &load_spec["workload"]["probe"]["disk"]).unwrap()
}

/// A probe with a replaced `go_direct`, to simulate unsupported or failing files.
fn by_hand(go_direct: fn(&File) -> io::Result<bool>) -> Value {
    let directory = TempDirectory::new();
    let load_spec = spec(directory.path(), json!({"direct": true}), bounded());
    let spec = Spec::read(&load_spec.to_string()).unwrap();
    let disk = Disk::new(section(&load_spec), &spec).unwrap();
    let probe = BlockingLoad(Disk { go_direct, ..disk });
    let endpoint = std::sync::Arc::new(Endpoint::of(&spec.target).unwrap());
    let ground = TargetContext { endpoint, connect_timeout_ns: 0 };
    run_load(&probe, &ground, &spec.load, &mut Watch(&directory, 0)).unwrap()
}

#[test]
fn missing_direct_io_is_a_remark() {
    let result = by_hand(|_| Ok(false));
    assert_eq!(
        (&result["outcome"], &result["remarks"]),
        (&json!("completed"), &json!({"indirect": {"asked_for": true, "done": false}}))
    );
    assert_eq!(count(&result, "transaction"), BLOCKS);
    assert_eq!(by_hand(|_| Ok(true)).get("remarks"), None);
}

#[test]
fn failing_device_is_reported() {
    let result = by_hand(|_| Err(io::Error::from_raw_os_error(libc::EIO)));
    assert_eq!(result["outcome"], "connect-failed");
    let args = &result["reason_args"];
    assert_eq!((&args["refused"], &args["here"], &args["code"]), (&json!(2), &json!(true), &json!("io")));
    assert!(args["said"].as_str().unwrap().ends_with("Input/output error"), "{args}");
    // One whose files are replaced by what takes nothing, as a full device.
    let full = by_hand(|file| {
        let full = File::options().write(true).open("/dev/full")?;
        // SAFETY: both descriptors are open.
        loadcell_transport::check(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&full), fd(file)) })?;
        Ok(true)
    });
    let args = &full["reason_args"];
    assert!(args["said"].as_str().unwrap().ends_with("No space left on device"), "{args}");
    assert_eq!(args["code"], "no-space");
}

fn fd(file: &File) -> std::os::fd::RawFd {
    std::os::fd::AsRawFd::as_raw_fd(file)
}

fn problem(directory: &Path, disk: Value) -> String {
    match loadcell_dispatch::run(
        &spec(directory, disk, json!({})).to_string(),
        &mut Watch(&TempDirectory::new(), 0),
    ) {
        Err(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_is_never_filled() {
    let directory = TempDirectory::new();
    let message = problem(directory.path(), json!({"size_bytes": 1_u64 << 49}));
    assert!(message.contains(r#""needed_bytes":1125899906842624"#), "{message}");
    assert!(
        message.contains("engine.no-room")
            && message.contains("free_bytes")
            && message.contains("kept_bytes"),
        "{message}"
    );
}

#[test]
fn memory_is_never_filled_by_a_file_system_without_a_size() {
    let message = problem(Path::new("/proc"), json!({"size_bytes": 1_u64 << 49})); // which has none either
    assert!(message.contains("engine.memory-files") && message.contains("\"clients\":2"), "{message}");
    assert!(message.contains("available_bytes"), "{message}");
}

#[test]
fn a_directory_that_takes_no_files_is_reported() {
    let message = problem(Path::new("/proc"), json!({}));
    assert!(message.contains("engine.make-file") && message.contains("/proc"), "{message}");
    let message = problem(Path::new("/nowhere/at/all"), json!({}));
    assert!(
        message.contains("engine.use-directory") && message.contains("No such file or directory"),
        "{message}"
    );
}

#[test]
fn queue_is_available_or_reported() {
    let directory = TempDirectory::new();
    let disk = json!({"engine": "io_uring", "depth": 4});
    if can_queue() {
        let result = run(disk, bounded());
        assert_eq!(result["outcome"], "completed");
    } else {
        assert!(problem(directory.path(), disk).starts_with("the kernel refuses io_uring"));
    }
}

/// First step of a single client on the file at `path`.
fn single_step(engine: &Value, path: &str) -> (Fault, Recorder) {
    let directory = TempDirectory::new();
    let load_spec =
        spec(directory.path(), with(engine, &json!({"access": "write", "fdatasync": 1})), json!({}));
    let disk = Disk::new(section(&load_spec), &Spec::read(&load_spec.to_string()).unwrap()).unwrap();
    let (file, mut random) = (File::options().write(true).open(path).unwrap(), Random::stream(1, 1));
    let (order, mut recorder) = (Order::new(&disk.options, random.clone()), Recorder::new(&disk.operations));
    let mut client = match disk.options.engine {
        Engine::Psync => Client::Single(Box::new(Psync::new(&disk, file, order, &mut random))),
        Engine::IoUring => Client::Many(Box::new(Ring::new(&disk, file, order, &mut random).unwrap())),
    };
    client.select(&mut recorder, 5);
    let mut outcome = client.execute();
    client.record(&mut recorder, 10, 20);
    while outcome.is_ok() {
        outcome = client.execute(); // A queue flushes in a separate step.
        client.record(&mut recorder, 25, 30);
    }
    (outcome.unwrap_err(), recorder)
}

#[test]
fn full_or_failing_device_ends_the_load_and_is_counted() {
    for engine in engines() {
        let (fault, recorder) = single_step(&engine, "/dev/full");
        assert_eq!((&*fault.code, fault.fatal), ("no-space", true), "{engine}");
        assert_eq!(fault.message, "a block could not be written: No space left on device");
        let failed = |recorder: &Recorder, op: usize| recorder.stats().operations[op].counts.failed;
        assert!(failed(&recorder, 0) > 0 && failed(&recorder, 0) == failed(&recorder, 1), "{engine}");
        assert_eq!(recorder.stats().errors[0].code, "no-space");
        // A device that accepts all data but no flush.
        let (fault, recorder) = single_step(&engine, "/dev/null");
        assert!(
            fault.fatal && fault.message.starts_with("the data could not be flushed"),
            "{engine}: {fault:?}"
        );
        assert!(recorder.stats().operations[1].counts.succeeded > 0 && failed(&recorder, 2) > 0, "{engine}");
        assert_eq!(failed(&recorder, 0), failed(&recorder, 2), "{engine}");
    }
}
