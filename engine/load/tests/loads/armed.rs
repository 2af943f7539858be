//! Armed loads: they begin at a given instant; and the merge of loads that began at the same one.

use serde_json::{Value, json};

use super::server::{Manner, Server};
use super::{context, echoes, load, number};
use loadcell_core::clock::{MILLISECOND, Nanos, SECOND, now};
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Load;
use loadcell_load::{merge_results, run};

/// Gives the start instant, relative to the time when the load is ready; none for never.
struct Starter {
    after_ready: Option<i64>,
    ready: Option<Nanos>,
    events: Vec<Value>,
}

impl Observer for Starter {
    fn event(&mut self, event: &Value) -> Directive {
        if event["type"] == "ready" {
            self.ready = Some(now());
        }
        self.events.push(event.clone());
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }

    fn start_at(&mut self) -> Option<Nanos> {
        self.ready?.checked_add_signed(self.after_ready?)
    }
}

fn armed(armed_ms: u64, load: Load) -> Load {
    Load { armed_ns: Some(armed_ms * MILLISECOND), ..load }
}

fn start(load: &Load, after_ready: Option<Nanos>) -> (Result<Value, LoadError>, Starter) {
    start_relative(load, after_ready.map(|nanos| nanos as i64))
}

fn start_relative(load: &Load, after_ready: Option<i64>) -> (Result<Value, LoadError>, Starter) {
    let server = Server::start(Manner::default());
    let mut starter = Starter { after_ready, ready: None, events: Vec::new() };
    (run(&echoes(8), &context(&server), load, &mut starter), starter)
}

/// Code of the error that an armed load ends with.
fn code(load: &Load, after_ready: Option<i64>) -> String {
    start_relative(load, after_ready).0.unwrap_err().code
}

#[test]
fn an_armed_load_reports_ready_and_begins_at_its_instant() {
    let load = armed(10_000, load(4, 2, 100, 200));
    let (result, starter) = start(&load, Some(700 * MILLISECOND));
    let (result, begin) = (result.unwrap(), starter.ready.unwrap() + 700 * MILLISECOND);
    let types: Vec<_> = starter.events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types[..3], ["connected", "ready", "phase"]);
    let phases = starter.events.iter().filter(|event| event["type"] == "phase");
    let starts: Vec<_> = phases.map(|event| number(&event["mono_ns"])).collect();
    assert_eq!(starts, [begin, begin + 100 * MILLISECOND, begin + 300 * MILLISECOND]);
    assert_eq!(number(&result["window"]["start_mono_ns"]), begin + 100 * MILLISECOND);
    assert!(number(&result["operations"][0]["succeeded"]) > 0);
}

#[test]
fn nothing_is_requested_before_the_instant() {
    let server = Server::start(Manner::default());
    let mut starter = Starter { after_ready: Some(500_000_000), ready: None, events: Vec::new() };
    let load = armed(10_000, load(4, 2, 0, 200));
    let result = run(&echoes(8), &context(&server), &load, &mut starter).unwrap();
    let begin = starter.ready.unwrap() + 500 * MILLISECOND;
    assert_eq!(number(&result["window"]["start_mono_ns"]), begin);
    let intervals: Vec<_> = starter.events.iter().filter(|event| event["type"] == "interval").collect();
    assert!(intervals.iter().all(|event| number(&event["start_mono_ns"]) >= begin));
    assert_eq!(number(&result["lifetime"]["transactions"]), {
        server.seen.answers.load(std::sync::atomic::Ordering::SeqCst)
    });
}

#[test]
fn an_instant_that_passed_long_ago_is_an_error() {
    assert_eq!(code(&armed(10_000, load(2, 1, 0, 100)), Some(-(SECOND as i64))), "start-missed");
}

#[test]
fn an_instant_beyond_the_time_limit_is_an_error() {
    assert_eq!(code(&armed(300, load(2, 1, 0, 100)), Some(60 * SECOND as i64)), "start-too-far");
}

#[test]
fn an_instant_that_never_comes_is_an_error_at_the_time_limit() {
    let begin = now();
    assert_eq!(code(&armed(300, load(2, 1, 0, 100)), None), "start-never-came");
    assert!((300 * MILLISECOND..10 * SECOND).contains(&(now() - begin)));
}

/// The histogram of an operation in a result's JSON.
fn histogram(result: &Value, kind: &str) -> loadcell_core::record::Histogram {
    serde_json::from_value(result["histograms"]["operations"][0][kind].clone()).unwrap()
}

#[test]
fn merged_results_have_summed_counts_and_the_union_of_all_values() {
    let load = armed(10_000, load(3, 2, 0, 300));
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| start(&load, Some(200 * MILLISECOND)).0.unwrap())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let merged = merge_results(&results.iter().map(Value::to_string).collect::<Vec<_>>()).unwrap();
    for key in ["attempted", "carried_in", "succeeded", "failed", "in_flight", "retried"] {
        let sum: u64 = results.iter().map(|result| number(&result["operations"][0][key])).sum();
        assert_eq!(number(&merged["operations"][0][key]), sum, "{key}");
    }
    for kind in ["response", "service"] {
        let mut union = histogram(&results[0], kind);
        union.merge(&histogram(&results[1], kind));
        assert!(union.count() > 0);
        assert!(histogram(&merged, kind) == union, "{kind}");
        let summary = &merged["operations"][0][kind];
        assert_eq!(number(&summary["count"]), union.count());
        assert_eq!(number(&summary["max_ns"]), union.max());
        assert_eq!(number(&summary["p99_ns"]), union.quantile(0.99));
    }
    assert_eq!(merged["client"]["threads"].as_array().unwrap().len(), 4);
    assert_eq!(merged["outcome"], "completed");
}

#[test]
fn results_of_different_loads_do_not_merge() {
    let result = start(&load(2, 1, 0, 100), None).0.unwrap();
    let mut other = result.clone();
    other["operations"][0]["kind"] = json!("read");
    let problem = merge_results(&[result.to_string(), other.to_string()]).unwrap_err();
    assert_eq!(problem.code, "merge");
    assert_eq!(merge_results(&[]).unwrap_err().code, "merge");
    assert_eq!(merge_results(&["{}".into()]).unwrap_err().code, "merge");
    let merged = merge_results(&[result.to_string()]).unwrap();
    assert_eq!(merged["histograms"], result["histograms"]);
}
