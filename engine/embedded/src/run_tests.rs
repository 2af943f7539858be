//! Complete loads on stores: real ones, and a faulty one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Value, json};

use super::fault::{CLOSED, NO_SPACE};
use super::run::EmbeddedLoad;
use super::tests::TempDirectory;
use super::*;
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;
use loadcell_load::blocking::BlockingLoad;
use loadcell_load::{TargetContext, run as run_load};

#[derive(Default)]
struct Watch {
    events: Vec<Value>,
    /// Stop the load after the first interval.
    stops: bool,
}

impl Observer for Watch {
    fn event(&mut self, event: &Value) -> Directive {
        self.events.push(event.clone());
        if self.stops && event["type"] == "interval" { Directive::Finish } else { Directive::Continue }
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

impl Watch {
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }
}

const ENGINES: [&str; 5] = ["redb", "fjall", "lmdb", "sqlite", "rocksdb"];

fn spec(directory: &TempDirectory, engine: &str, kv: Value, load: Value) -> Value {
    let mut load_spec =
        json!({"clients": 2, "warmup_ns": 20_000_000, "duration_ns": 150_000_000, "interval_ns": 50_000_000});
    load_spec.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let store = json!({"engine": engine, "directory": directory.path(), "sync": false, "files": 2,
        "cache_bytes": 1 << 22});
    loadcell_testing::specification(json!({"target": {"protocol": "store", "store": store},
        "workload": {"kv": kv}, "seed": 5, "load": load_spec}))
}

fn loaded(spec: &Value) {
    let mut watch = Watch::default();
    let prepared = loadcell_dispatch::prepare(&spec.to_string(), &mut watch).unwrap();
    assert_eq!(prepared.rows, spec["workload"]["kv"]["keys"].as_u64().unwrap());
    assert!(prepared.size_bytes.unwrap() > 0);
    let progress = watch.of("progress");
    assert_eq!(progress[progress.len() - 1]["done_rows"], prepared.rows);
}

fn operation<'r>(result: &'r Value, name: &str) -> &'r Value {
    result["operations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|operation| operation["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn figure(result: &Value, name: &str, field: &str) -> u64 {
    operation(result, name)[field].as_u64().unwrap()
}

/// Invariants of every result.
fn adds_up(result: &Value) {
    for operation in result["operations"].as_array().unwrap() {
        let of = |name: &str| operation[name].as_u64().unwrap();
        assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{operation}");
    }
}

#[test]
fn every_engine_runs_every_mix_correctly() {
    let mix = json!({"get": 4, "set": 4, "mget": 1, "mset": 1, "delete": 1, "insert": 1, "scan": 1,
        "read_modify_write": 1});
    // Summed over all engines, as the progress of a single one depends on the machine.
    let mut done = std::collections::BTreeMap::new();
    for engine in ENGINES {
        for batch in [1, 7] {
            let directory = TempDirectory::new();
            let kv = json!({"keys": 500, "mix": mix, "multi": 3, "scan_length": 5, "verify": true,
                "batch": batch,
                "distribution": "zipfian"});
            let spec = spec(&directory, engine, kv, json!({}));
            loaded(&spec);
            let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
            assert_eq!(result["outcome"], "completed", "{engine}: {}", result["reason_args"]);
            adds_up(&result);
            assert_eq!(result["errors"], json!([]), "{engine}, batch {batch}");
            assert!(figure(&result, "transaction", "succeeded") > 0, "{engine}, batch {batch}");
            for operation in result["operations"].as_array().unwrap() {
                *done.entry(operation["name"].to_string()).or_insert(0) +=
                    operation["succeeded"].as_u64().unwrap();
            }
            assert_eq!(result["client"]["threads"].as_array().unwrap().len(), 2, "a thread a client");
        }
    }
    assert!(done.len() == 10 && done.values().all(|&count| count > 0), "{done:?}");
}

#[test]
fn open_loop_follows_its_schedule() {
    let directory = TempDirectory::new();
    let schedule = json!({"arrivals": "constant", "rate": [{"from_per_s": 400, "to_per_s": 400,
        "for_ns": 1_000_000_000}]});
    let kv = json!({"keys": 100, "batch": 3});
    let spec = spec(
        &directory,
        "lmdb",
        kv,
        json!({"schedule": schedule, "duration_ns": 250_000_000, "warmup_ns": 0}),
    );
    loaded(&spec);
    let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
    adds_up(&result);
    assert_eq!(figure(&result, "transaction", "attempted"), 100);
    assert_eq!(figure(&result, "transaction", "failed"), 0);
}

#[test]
fn load_ends_at_its_transaction_count() {
    let schedule = json!({"rate": [{"from_per_s": 2_000, "to_per_s": 2_000, "for_ns": 1_000_000_000}]});
    let cases = [
        (json!({"requests": 1_001}), 1_001),
        (json!({"requests": 1_001, "warmup_ns": 0}), 1_001),
        (json!({"requests_per_client": 300}), 600),
        (json!({"requests": 101, "schedule": schedule}), 101),
    ];
    let kinds = [json!({"mix": {"get": 1}}), json!({"batch": 1}), json!({"batch": 3})];
    for ((bounds, expected), kind) in cases.iter().flat_map(|case| kinds.iter().map(move |kind| (case, kind)))
    {
        let directory = TempDirectory::new();
        let mut load = json!({"duration_ns": 60_000_000_000u64});
        load.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        let mut kv = json!({"keys": 100});
        kv.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        let spec = spec(&directory, "redb", kv, load);
        loaded(&spec);
        let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
        assert_eq!(result["outcome"], "completed", "{bounds}");
        adds_up(&result);
        assert_eq!(figure(&result, "transaction", "succeeded"), *expected, "{bounds}, {kind}");
    }
}

#[test]
fn stopped_load_ends_early_with_a_result() {
    let directory = TempDirectory::new();
    let spec = spec(&directory, "redb", json!({"keys": 100}), json!({"duration_ns": 60_000_000_000u64}));
    loaded(&spec);
    let result =
        loadcell_dispatch::run(&spec.to_string(), &mut Watch { stops: true, ..Watch::default() }).unwrap();
    assert_eq!(result["outcome"], "stopped");
    adds_up(&result);
    assert!(figure(&result, "transaction", "succeeded") > 0);
}

#[test]
fn groups_share_a_store() {
    let directory = TempDirectory::new();
    let mut spec = spec(&directory, "redb", json!({"keys": 100}), json!({}));
    loaded(&spec);
    let object = spec.as_object_mut().unwrap();
    object.remove("workload");
    let load = object["load"].as_object_mut().unwrap();
    load.remove("clients");
    let group = |name: &str, reads: f64| {
        json!({"name": name, "workload": {"kv": {"keys": 100,
        "mix": {"get": reads, "set": 1.0 - reads}}}, "load": {"clients": 2}})
    };
    object.insert("groups".into(), json!([group("readers", 1.0), group("writers", 0.0)]));
    let spec = loadcell_testing::specification(spec);
    let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
    assert_eq!(result["outcome"], "completed");
    for name in ["readers:get", "writers:set"] {
        assert!(figure(&result, name, "succeeded") > 0, "{name}");
    }
}

#[test]
fn invalid_options_are_rejected_before_the_load() {
    let directory = TempDirectory::new();
    let refused = |kv: Value, engine: &str| {
        let spec = spec(&directory, engine, kv, json!({})).to_string();
        loadcell_dispatch::run(&spec, &mut Watch::default()).unwrap_err()
    };
    assert!(refused(json!({}), "leveldb").to_string().contains("unknown variant `leveldb`"));
    let without = spec(&directory, "redb", json!({}), json!({}));
    let mut without = without.as_object().unwrap().clone();
    without["target"].as_object_mut().unwrap().remove("store");
    assert!(
        loadcell_dispatch::prepare(&json!(without).to_string(), &mut Watch::default())
            .unwrap_err()
            .to_string()
            .contains("target.store")
    );
}

/// An in-memory store with a configurable fault.
struct FaultyStore {
    fault: FaultKind,
    value: std::sync::Mutex<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>,
    calls: AtomicU64,
}

#[derive(Clone, Copy, PartialEq)]
enum FaultKind {
    Forgets,
    Garbles,
    Full,
    Dies,
    /// Some calls are slow.
    SlowCalls,
}

/// Duration of a slow call.
const SLOW_NS: u64 = 300_000;

struct FaultyHandle<'s>(&'s FaultyStore);

impl Store for FaultyStore {
    type Handle<'s> = FaultyHandle<'s>;

    fn open(_: &Options, _: u32) -> Result<Self, Fault> {
        unreachable!("it is made by hand")
    }

    fn handle(&self) -> Result<FaultyHandle<'_>, Fault> {
        Ok(FaultyHandle(self))
    }

    fn close(self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Handle for FaultyHandle<'_> {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let call = self.0.calls.fetch_add(1, Relaxed);
        if self.0.fault == FaultKind::Dies && call > 50 {
            return Err(Fault::fatal(CLOSED, "it is dead"));
        }
        let mut value = self.0.value.lock().unwrap().get(key.bytes).cloned();
        if call.is_multiple_of(10) {
            match (self.0.fault, &mut value) {
                (FaultKind::SlowCalls, _) => std::thread::sleep(std::time::Duration::from_nanos(SLOW_NS)),
                (FaultKind::Forgets, value) => *value = None,
                (FaultKind::Garbles, Some(value)) => value[20] ^= 1,
                _ => {}
            }
        }
        Ok(show(value.as_deref()))
    }

    fn multi_get<'k>(
        &mut self,
        mut keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        keys.try_for_each(|key| self.get(key, &mut show))
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        if self.0.fault == FaultKind::Full {
            return Err(Fault::new(NO_SPACE, "No space left on device"));
        }
        let mut map = self.0.value.lock().unwrap();
        for change in changes.iter() {
            map.insert(change.key.into(), change.value.unwrap_or_default().into());
        }
        Ok(())
    }

    fn scan(&mut self, _: Key<'_>, _: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        Ok(())
    }
}

/// Run a load on a faulty store.
fn run_faulty(fault: FaultKind, kv: Value) -> Value {
    let directory = TempDirectory::new();
    // A dead store ends the load long before its duration.
    let duration_ns: u64 = if fault == FaultKind::Dies { 60_000_000_000 } else { 150_000_000 };
    let load = json!({"warmup_ns": 0, "duration_ns": duration_ns, "lost_ns": 50_000_000});
    let mut load_spec = json!({"keys": 100, "verify": true});
    load_spec.as_object_mut().unwrap().extend(kv.as_object().unwrap().clone());
    let spec = spec(&directory, "redb", load_spec, load);
    let spec = Spec::read(&spec.to_string()).unwrap();
    let store = FaultyStore { fault, value: Default::default(), calls: AtomicU64::new(0) };
    let work = loadcell_workloads::keyvalue::Options::read(spec.workload().1).unwrap();
    let data = loadcell_workloads::keyvalue::Data::new(&work, 1);
    for number in 0..data.count {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        data.key(number, &mut key);
        data.value(number, &mut value);
        store.value.lock().unwrap().insert(key, value);
    }
    let sessions = BlockingLoad(EmbeddedLoad::around(store, &spec, &work).unwrap());
    let endpoint = std::sync::Arc::new(loadcell_transport::Endpoint::of(&spec.target).unwrap());
    let ground = TargetContext { endpoint, connect_timeout_ns: 0 };
    let result = run_load(&sessions, &ground, &spec.load, &mut Watch::default()).unwrap();
    adds_up(&result);
    result
}

fn codes(result: &Value) -> Vec<&str> {
    let mut codes: Vec<_> =
        result["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap()).collect();
    codes.dedup();
    codes
}

#[test]
fn lost_and_corrupt_values_are_detected() {
    for batch in [1, 5] {
        for (fault, code) in [(FaultKind::Forgets, "lost"), (FaultKind::Garbles, "corrupt")] {
            let result = run_faulty(fault, json!({"batch": batch}));
            assert_eq!(result["outcome"], "completed");
            assert_eq!(codes(&result), [code], "batch {batch}");
            let (failed, gets) = (figure(&result, "get", "failed"), figure(&result, "get", "attempted"));
            assert!(failed > 0 && failed <= gets / 10 + 2, "{failed} of {gets}");
            assert_eq!(figure(&result, "transaction", "failed"), failed);
            assert_eq!(figure(&result, "set", "failed"), 0);
        }
    }
}

#[test]
fn back_to_back_reads_are_checked_and_timed_individually() {
    for (fault, code) in [(FaultKind::Forgets, "lost"), (FaultKind::Garbles, "corrupt")] {
        let result = run_faulty(fault, json!({"mix": {"get": 1}}));
        assert_eq!(codes(&result), [code]);
        let (failed, gets) = (figure(&result, "get", "failed"), figure(&result, "get", "attempted"));
        // Operations in progress at the end of the window are in no window.
        assert!(failed.abs_diff(gets.div_ceil(10)) <= 4, "{failed} of {gets}");
    }
    let missed = run_faulty(FaultKind::Forgets, json!({"mix": {"get": 1}, "verify": false}));
    let (missing, gets) = (figure(&missed, "missed", "succeeded"), figure(&missed, "get", "succeeded"));
    assert!(missing.abs_diff(gets.div_ceil(10)) <= 4, "{missing} of {gets}");
    let dawdled = run_faulty(FaultKind::SlowCalls, json!({"mix": {"get": 1}}));
    let load_spec = |times: &Value| times["mean_ns"].as_f64().unwrap() * times["count"].as_f64().unwrap();
    let get = operation(&dawdled, "get");
    assert!(get["service"]["p95_ns"].as_u64().unwrap() >= SLOW_NS, "one in ten takes so long: {get}");
    let dawdling = (get["succeeded"].as_u64().unwrap() / 10).saturating_sub(4) * SLOW_NS;
    assert!(load_spec(&get["service"]) >= dawdling as f64, "{get}");
    let there_was = 2.0 * dawdled["window"]["duration_ns"].as_f64().unwrap();
    assert!(load_spec(&get["response"]) <= there_was, "two clients have no more time than there is: {get}");
    assert!(load_spec(&get["service"]) <= load_spec(&get["response"]), "{get}");
}

#[test]
fn full_store_fails_operations_and_the_load_continues() {
    let result = run_faulty(FaultKind::Full, json!({}));
    assert_eq!(result["outcome"], "completed");
    assert_eq!(codes(&result), [NO_SPACE]);
    assert!(figure(&result, "get", "succeeded") > 0);
    assert_eq!(figure(&result, "set", "succeeded"), 0);
}

#[test]
fn dead_store_ends_the_load() {
    let result = run_faulty(FaultKind::Dies, json!({}));
    assert_eq!(result["outcome"], "lost");
    assert!(result["reason_args"]["said"].as_str().unwrap().contains("it is dead"), "{result}");
    assert_eq!(result["reason_args"]["code"], CLOSED);
}

fn ycsb_spec(directory: &TempDirectory, engine: &str, ycsb: Value) -> Value {
    let mut load_spec = spec(directory, engine, json!({}), json!({}));
    let mut section = json!({"recordcount": 300, "fieldcount": 3, "fieldlength": 10, "maxscanlength": 20});
    section.as_object_mut().unwrap().extend(ycsb.as_object().unwrap().clone());
    load_spec["workload"] = json!({"ycsb": section});
    loadcell_testing::specification(load_spec)
}

#[test]
fn ycsb_runs_on_every_store() {
    let mixes = [
        json!({"proportions": {"read": 0.5, "update": 0.5}, "requestdistribution": "zipfian"}),
        json!({"proportions": {"read": 0, "update": 0, "scan": 0.9, "insert": 0.1}}),
        json!({"proportions": {"read": 0.5, "update": 0, "readmodifywrite": 0.5}, "readallfields": false}),
    ];
    for engine in ENGINES {
        let directory = TempDirectory::new();
        let prepared = loadcell_dispatch::prepare(
            &ycsb_spec(&directory, engine, json!({})).to_string(),
            &mut Watch::default(),
        )
        .unwrap();
        assert_eq!(prepared.rows, 300);
        for mix in &mixes {
            let result = loadcell_dispatch::run(
                &ycsb_spec(&directory, engine, mix.clone()).to_string(),
                &mut Watch::default(),
            )
            .unwrap();
            assert_eq!(result["outcome"], "completed", "{engine}: {result}");
            assert_eq!(result["errors"], json!([]), "{engine}");
            let lifetime = &result["lifetime"]["operations"];
            let count = |name: &str| lifetime[name].as_u64().unwrap_or(0);
            assert!(count("transaction") > 0, "{engine}");
            assert_eq!(count("missed"), 0, "{engine}: {mix}");
            let both = count("READ-MODIFY-WRITE");
            if both > 0 {
                assert_eq!((count("UPDATE"), count("READ")), (both, count("transaction")), "{engine}");
            } else {
                let parts = ["READ", "UPDATE", "INSERT", "SCAN"].map(count);
                assert_eq!(parts.iter().sum::<u64>(), count("transaction"), "{engine}");
            }
        }
    }
}
