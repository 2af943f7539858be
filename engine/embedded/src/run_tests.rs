//! Whole loads on stores: real ones, and one that lies.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Value, json};

use super::fault::{CLOSED, NO_SPACE};
use super::run::Stored;
use super::tests::Place;
use super::*;
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;
use loadcell_load::blocking::BlockingLoad;
use loadcell_load::{TargetContext, run as run_load};

#[derive(Default)]
struct Watch {
    events: Vec<Value>,
    /// Stops the load when the first interval is there.
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

fn spec(place: &Place, engine: &str, kv: Value, load: Value) -> Value {
    let mut whole =
        json!({"clients": 2, "warmup_ns": 20_000_000, "duration_ns": 150_000_000, "interval_ns": 50_000_000});
    whole.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let store = json!({"engine": engine, "directory": place.path(), "sync": false, "files": 2, "cache_bytes": 1 << 22});
    json!({"version": 1, "seed": 5, "target": {"protocol": "store", "store": store}, "workload": {"kv": kv}, "load": whole})
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
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn figure(result: &Value, name: &str, what: &str) -> u64 {
    operation(result, name)[what].as_u64().unwrap()
}

/// What must be true of every result.
fn adds_up(result: &Value) {
    for one in result["operations"].as_array().unwrap() {
        let of = |name: &str| one[name].as_u64().unwrap();
        assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{one}");
    }
}

#[test]
fn every_engine_carries_every_mix_and_its_answers_are_right() {
    let mix = json!({"get": 4, "set": 4, "mget": 1, "mset": 1, "delete": 1, "insert": 1, "scan": 1, "read_modify_write": 1});
    // Of all engines together: how far one of them comes is the machine's affair.
    let mut done = std::collections::BTreeMap::new();
    for engine in ENGINES {
        for batch in [1, 7] {
            let place = Place::new();
            let kv = json!({"keys": 500, "mix": mix, "multi": 3, "scan_length": 5, "verify": true, "batch": batch,
                "distribution": "zipfian"});
            let spec = spec(&place, engine, kv, json!({}));
            loaded(&spec);
            let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
            assert_eq!(result["outcome"], "completed", "{engine}: {}", result["reason"]);
            adds_up(&result);
            assert_eq!(result["errors"], json!([]), "{engine}, batch {batch}");
            assert!(figure(&result, "transaction", "succeeded") > 0, "{engine}, batch {batch}");
            for one in result["operations"].as_array().unwrap() {
                *done.entry(one["name"].to_string()).or_insert(0) += one["succeeded"].as_u64().unwrap();
            }
            assert_eq!(result["client"]["threads"].as_array().unwrap().len(), 2, "a thread a client");
        }
    }
    assert!(done.len() == 10 && done.values().all(|&count| count > 0), "{done:?}");
}

#[test]
fn an_open_loop_offers_what_its_schedule_says() {
    let place = Place::new();
    let schedule = json!({"arrivals": "constant", "rate": [{"from_per_s": 400, "to_per_s": 400, "for_ns": 1_000_000_000}]});
    let kv = json!({"keys": 100, "batch": 3});
    let spec =
        spec(&place, "lmdb", kv, json!({"schedule": schedule, "duration_ns": 250_000_000, "warmup_ns": 0}));
    loaded(&spec);
    let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
    adds_up(&result);
    assert_eq!(figure(&result, "transaction", "attempted"), 100);
    assert_eq!(figure(&result, "transaction", "failed"), 0);
}

#[test]
fn a_load_makes_as_many_transactions_as_it_is_asked_for() {
    let schedule = json!({"rate": [{"from_per_s": 2_000, "to_per_s": 2_000, "for_ns": 1_000_000_000}]});
    let cases = [
        (json!({"requests": 1_001}), 1_001),
        (json!({"requests": 1_001, "warmup_ns": 0}), 1_001),
        (json!({"requests_per_client": 300}), 600),
        (json!({"requests": 101, "schedule": schedule}), 101),
    ];
    let kinds = [json!({"reads": 1.0}), json!({"batch": 1}), json!({"batch": 3})];
    for ((bounds, expected), kind) in cases.iter().flat_map(|case| kinds.iter().map(move |kind| (case, kind)))
    {
        let place = Place::new();
        let mut load = json!({"duration_ns": 60_000_000_000u64});
        load.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        let mut kv = json!({"keys": 100});
        kv.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        let spec = spec(&place, "redb", kv, load);
        loaded(&spec);
        let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
        assert_eq!(result["outcome"], "completed", "{bounds}");
        adds_up(&result);
        assert_eq!(figure(&result, "transaction", "succeeded"), *expected, "{bounds}, {kind}");
    }
}

#[test]
fn a_load_that_is_stopped_ends_early_and_properly() {
    let place = Place::new();
    let spec = spec(&place, "redb", json!({"keys": 100}), json!({"duration_ns": 60_000_000_000u64}));
    loaded(&spec);
    let result =
        loadcell_dispatch::run(&spec.to_string(), &mut Watch { stops: true, ..Watch::default() }).unwrap();
    assert_eq!(result["outcome"], "stopped");
    adds_up(&result);
    assert!(figure(&result, "transaction", "succeeded") > 0);
}

#[test]
fn groups_share_a_store() {
    let place = Place::new();
    let mut spec = spec(&place, "redb", json!({"keys": 100}), json!({}));
    loaded(&spec);
    let object = spec.as_object_mut().unwrap();
    object.remove("workload");
    let load = object["load"].as_object_mut().unwrap();
    load.remove("clients");
    let group = |name: &str, reads: f64| json!({"name": name, "workload": {"kv": {"keys": 100, "reads": reads}}, "load": {"clients": 2}});
    object.insert("groups".into(), json!([group("readers", 1.0), group("writers", 0.0)]));
    let result = loadcell_dispatch::run(&spec.to_string(), &mut Watch::default()).unwrap();
    assert_eq!(result["outcome"], "completed");
    for name in ["readers:get", "writers:set"] {
        assert!(figure(&result, name, "succeeded") > 0, "{name}");
    }
}

#[test]
fn what_cannot_be_done_is_told_before_anything_is() {
    let place = Place::new();
    let refused = |kv: Value, engine: &str| {
        let spec = spec(&place, engine, kv, json!({})).to_string();
        match loadcell_dispatch::run(&spec, &mut Watch::default()).unwrap_err() {
            loadcell_load::NoResult::Problem(problem) => problem,
            other => panic!("{other:?}"),
        }
    };
    assert!(
        refused(json!({"commands": {"a": {"command": "PING"}}}), "redb").finding.contains("no `commands`")
    );
    assert!(refused(json!({"ttl_ns": 5_000_000_000u64}), "redb").finding.contains("`ttl`"));
    assert!(refused(json!({}), "leveldb").finding.contains("unknown variant `leveldb`"));
    let without = spec(&place, "redb", json!({}), json!({}));
    let mut without = without.as_object().unwrap().clone();
    without["target"].as_object_mut().unwrap().remove("store");
    assert!(
        loadcell_dispatch::prepare(&json!(without).to_string(), &mut Watch::default())
            .unwrap_err()
            .finding
            .contains("no `store`")
    );
}

/// A store in memory that goes wrong in the way it is told.
struct Liar {
    manner: Manner,
    value: std::sync::Mutex<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>,
    calls: AtomicU64,
}

#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Forgets,
    Garbles,
    Full,
    Dies,
    /// Now and then it takes its time.
    Dawdles,
}

/// How long that is.
const DAWDLING: u64 = 300_000;

struct Word<'s>(&'s Liar);

impl Store for Liar {
    type Handle<'s> = Word<'s>;

    fn open(_: &Options, _: u32) -> Result<Self, Fault> {
        unreachable!("it is made by hand")
    }

    fn handle(&self) -> Result<Word<'_>, Fault> {
        Ok(Word(self))
    }

    fn close(self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Handle for Word<'_> {
    fn get<R>(&mut self, key: Key<'_>, show: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Fault> {
        let call = self.0.calls.fetch_add(1, Relaxed);
        if self.0.manner == Manner::Dies && call > 50 {
            return Err(Fault::fatal(CLOSED, "it is dead"));
        }
        let mut found = self.0.value.lock().unwrap().get(key.bytes).cloned();
        if call.is_multiple_of(10) {
            match (self.0.manner, &mut found) {
                (Manner::Dawdles, _) => std::thread::sleep(std::time::Duration::from_nanos(DAWDLING)),
                (Manner::Forgets, found) => *found = None,
                (Manner::Garbles, Some(value)) => value[20] ^= 1,
                _ => {}
            }
        }
        Ok(show(found.as_deref()))
    }

    fn multi_get<'k>(
        &mut self,
        mut keys: impl Iterator<Item = Key<'k>> + Clone,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Result<(), Fault> {
        keys.try_for_each(|key| self.get(key, &mut show))
    }

    fn write(&mut self, changes: &Changes) -> Result<(), Fault> {
        if self.0.manner == Manner::Full {
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

/// Makes load on a store that goes wrong.
fn lied_to(manner: Manner, kv: Value) -> Value {
    let place = Place::new();
    // One that is dead ends the load long before its time is over.
    let duration_ns: u64 = if manner == Manner::Dies { 60_000_000_000 } else { 150_000_000 };
    let load = json!({"warmup_ns": 0, "duration_ns": duration_ns, "lost_ns": 50_000_000});
    let mut whole = json!({"keys": 100, "verify": true});
    whole.as_object_mut().unwrap().extend(kv.as_object().unwrap().clone());
    let spec = spec(&place, "redb", whole, load);
    let spec = Spec::read(&spec.to_string()).unwrap();
    let store = Liar { manner, value: Default::default(), calls: AtomicU64::new(0) };
    let work = loadcell_workloads::keyvalue::Options::read(spec.workload().1).unwrap();
    let data = loadcell_workloads::keyvalue::Data::new(&work, 1);
    for number in 0..data.count {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        data.key(number, &mut key);
        data.value(number, &mut value);
        store.value.lock().unwrap().insert(key, value);
    }
    let sessions = BlockingLoad(Stored::around(store, &spec, &work).unwrap());
    let endpoint = std::sync::Arc::new(loadcell_transport::Endpoint::of(&spec.target).unwrap());
    let ground = TargetContext { endpoint, connect_timeout_ns: 0, advice };
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
fn lost_and_garbled_values_are_found_out() {
    for batch in [1, 5] {
        for (manner, code) in [(Manner::Forgets, "lost"), (Manner::Garbles, "corrupt")] {
            let result = lied_to(manner, json!({"batch": batch}));
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
fn what_is_only_read_is_carried_out_in_a_row_and_judged_and_timed_one_by_one() {
    for (manner, code) in [(Manner::Forgets, "lost"), (Manner::Garbles, "corrupt")] {
        let result = lied_to(manner, json!({"reads": 1.0}));
        assert_eq!(codes(&result), [code]);
        let (failed, gets) = (figure(&result, "get", "failed"), figure(&result, "get", "attempted"));
        // What a thread still had to do when the window ended is in no window.
        assert!(failed.abs_diff(gets.div_ceil(10)) <= 4, "{failed} of {gets}");
    }
    let missed = lied_to(Manner::Forgets, json!({"reads": 1.0, "verify": false}));
    let (missing, gets) = (figure(&missed, "missed", "succeeded"), figure(&missed, "get", "succeeded"));
    assert!(missing.abs_diff(gets.div_ceil(10)) <= 4, "{missing} of {gets}");
    let dawdled = lied_to(Manner::Dawdles, json!({"reads": 1.0}));
    let whole = |times: &Value| times["mean_ns"].as_f64().unwrap() * times["count"].as_f64().unwrap();
    let get = operation(&dawdled, "get");
    assert!(get["service"]["p95_ns"].as_u64().unwrap() >= DAWDLING, "one in ten takes so long: {get}");
    let dawdling = (get["succeeded"].as_u64().unwrap() / 10).saturating_sub(4) * DAWDLING;
    assert!(whole(&get["service"]) >= dawdling as f64, "{get}");
    let there_was = 2.0 * dawdled["window"]["duration_ns"].as_f64().unwrap();
    assert!(whole(&get["response"]) <= there_was, "two clients have no more time than there is: {get}");
    assert!(whole(&get["service"]) <= whole(&get["response"]), "{get}");
}

#[test]
fn a_store_that_is_full_fails_what_it_refuses_and_the_load_goes_on() {
    let result = lied_to(Manner::Full, json!({}));
    assert_eq!(result["outcome"], "completed");
    assert_eq!(codes(&result), [NO_SPACE]);
    assert!(figure(&result, "get", "succeeded") > 0);
    assert_eq!(figure(&result, "set", "succeeded"), 0);
}

#[test]
fn a_store_that_is_dead_ends_the_load() {
    let result = lied_to(Manner::Dies, json!({}));
    assert_eq!(result["outcome"], "lost");
    assert!(result["reason"].as_str().unwrap().contains("it is dead"), "{}", result["reason"]);
    assert!(result["advice"].as_str().unwrap().contains("first error"));
}

fn ycsb_spec(place: &Place, engine: &str, ycsb: Value) -> Value {
    let mut whole = spec(place, engine, json!({}), json!({}));
    let mut section = json!({"recordcount": 300, "fieldcount": 3, "fieldlength": 10, "maxscanlength": 20});
    section.as_object_mut().unwrap().extend(ycsb.as_object().unwrap().clone());
    whole["workload"] = json!({"ycsb": section});
    whole
}

#[test]
fn ycsb_runs_on_every_store() {
    let mixes = [
        json!({"proportions": {"read": 0.5, "update": 0.5}, "requestdistribution": "zipfian"}),
        json!({"proportions": {"read": 0, "update": 0, "scan": 0.9, "insert": 0.1}}),
        json!({"proportions": {"read": 0.5, "update": 0, "readmodifywrite": 0.5}, "readallfields": false}),
    ];
    for engine in ENGINES {
        let place = Place::new();
        let prepared = loadcell_dispatch::prepare(
            &ycsb_spec(&place, engine, json!({})).to_string(),
            &mut Watch::default(),
        )
        .unwrap();
        assert_eq!(prepared.rows, 300);
        for mix in &mixes {
            let result = loadcell_dispatch::run(
                &ycsb_spec(&place, engine, mix.clone()).to_string(),
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
