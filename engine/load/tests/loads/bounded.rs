//! Bounded loads: exactly the given number of transactions, and the end with the last of them.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{Manner, Server};
use super::{Echoes, Watch, check_identities, context, echoes, load, measure, number};
use loadcell_core::clock::{MILLISECOND, SECOND, now};
use loadcell_core::observe::Directive;
use loadcell_core::pace::Arrivals;
use loadcell_core::spec::{Load, Schedule, Stretch};
use loadcell_load::run;

fn bounded(requests: u64, load: Load) -> Load {
    Load { requests: Some(requests), ..load }
}

fn at_rate(per_s: f64, load: Load) -> Load {
    let rate = vec![Stretch { from_per_s: per_s, to_per_s: per_s, for_ns: load.duration_ns }];
    let arrivals = Arrivals::Poisson;
    Load { schedule: Some(Schedule { arrivals, rate, most_overdue_ns: 5 * SECOND, seed: 9 }), ..load }
}

fn brisk() -> Server {
    Server::start(Manner { service: Duration::from_micros(200), ..Manner::default() })
}

/// Checks a complete bounded load: the measurement has `requests`, begun and ended in it, and intervals fill
/// it.
fn check_made(requests: u64, result: &Value, watch: &Watch<'_>) {
    check_identities(result, watch);
    assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]);
    let transaction = &result["operations"][0];
    let of = |name: &str| number(&transaction[name]);
    assert_eq!((of("carried_in"), of("attempted"), of("in_flight")), (0, requests, 0), "{transaction:#}");
    assert_eq!(of("succeeded") + of("failed"), requests);
    let intervals = watch.of("interval");
    let measured: Vec<_> = intervals.iter().filter(|event| event["phase"] == "measure").collect();
    let covered: u64 = measured.iter().map(|event| number(&event["duration_ns"])).sum();
    let window = number(&result["window"]["duration_ns"]);
    // Only what was told before the end was heard of can lie beyond it.
    assert!((window..window + 50 * MILLISECOND).contains(&covered), "{covered} of {window} ns");
    let last = measured.last().expect("there is one");
    assert!(number(&last["operations"][0]["started"]) > 0 || measured.len() > 1);
}

#[test]
fn as_many_are_made_as_were_asked_for_whatever_the_threads() {
    let server = brisk();
    for (requests, clients, threads) in [(1, 1, 1), (7, 4, 2), (500, 8, 1), (1_001, 8, 2), (3, 8, 3)] {
        let before = server.seen.answers.load(SeqCst);
        let mut watch = Watch::new(|_| Directive::Continue);
        let result = measure(&server, &bounded(requests, load(clients, threads, 0, 60_000)), &mut watch);
        check_made(requests, &result, &watch);
        assert_eq!(server.seen.answers.load(SeqCst) - before, requests);
        assert!(number(&result["window"]["duration_ns"]) < 20 * SECOND);
    }
}

#[test]
fn the_warm_up_is_none_of_them() {
    let server = brisk();
    for threads in [1, 2] {
        let before = server.seen.answers.load(SeqCst);
        let mut watch = Watch::new(|_| Directive::Continue);
        let result = measure(&server, &bounded(300, load(6, threads, 150, 60_000)), &mut watch);
        check_made(300, &result, &watch);
        let all = number(&result["lifetime"]["transactions"]);
        assert_eq!(server.seen.answers.load(SeqCst) - before, all);
        let warmup = watch.of("interval").into_iter().filter(|event| event["phase"] == "warmup");
        assert_eq!(warmup.map(|event| number(&event["operations"][0]["succeeded"])).sum::<u64>(), all - 300);
        assert!(all > 300);
        let phases: Vec<_> =
            watch.of("phase").iter().map(|event| event["phase"].as_str().unwrap().to_string()).collect();
        assert_eq!(phases, ["warmup", "measure", "drain"]);
    }
}

#[test]
fn the_window_ends_with_the_last_answer() {
    let server = Server::start(Manner { service: Duration::from_millis(30), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &bounded(10, load(2, 2, 0, 60_000)), &mut watch);
    check_made(10, &result, &watch);
    let transaction = &result["operations"][0];
    let spent = transaction["response"]["mean_ns"].as_f64().unwrap() * 10.0;
    // Two clients that always wait: what they spent is the window, but for a last turn that only one of them
    // had.
    let window = 2.0 * number(&result["window"]["duration_ns"]) as f64;
    let longest = transaction["response"]["max_ns"].as_f64().unwrap();
    assert!((0.0..=longest + 0.02 * window).contains(&(window - spent)), "{spent} of {window} ns");
}

#[test]
fn each_client_makes_its_own_number() {
    let server = brisk();
    for (clients, threads) in [(5, 1), (5, 2)] {
        let before = server.seen.answers.load(SeqCst);
        let mut watch = Watch::new(|_| Directive::Continue);
        let load = Load { requests_per_client: Some(40), ..load(clients, threads, 50, 60_000) };
        let result = measure(&server, &load, &mut watch);
        check_made(200, &result, &watch);
        let all = number(&result["lifetime"]["transactions"]);
        assert_eq!(server.seen.answers.load(SeqCst) - before, all);
        // Who was done before the others had nothing left to do: Little's law, with that time in it.
        let transaction = &result["operations"][0];
        let spent = transaction["response"]["mean_ns"].as_f64().unwrap() * 200.0;
        let rested = result["client"]["resting_ns"].as_f64().unwrap();
        let window = f64::from(clients) * number(&result["window"]["duration_ns"]) as f64;
        let edges = f64::from(clients) * transaction["response"]["max_ns"].as_f64().unwrap();
        assert!(
            (spent + rested - window).abs() <= edges + 0.02 * window,
            "{spent} and {rested} of {window} ns"
        );
    }
}

#[test]
fn what_fails_was_made_too() {
    let service = Duration::from_micros(200);
    let server = Server::start(Manner { service, hang_up_every: 20, ..Manner::default() });
    for threads in [1, 2] {
        let mut watch = Watch::new(|_| Directive::Continue);
        let result = measure(&server, &bounded(200, load(4, threads, 0, 60_000)), &mut watch);
        check_made(200, &result, &watch);
        assert_eq!(number(&result["operations"][0]["failed"]), 10);
    }
}

#[test]
fn an_open_loop_has_the_requests_due_and_ends_when_all_are_answered() {
    let server = brisk();
    for (threads, warmup_ms) in [(1, 0), (2, 0), (2, 100)] {
        let before = server.seen.answers.load(SeqCst);
        let mut watch = Watch::new(|_| Directive::Continue);
        let load = at_rate(1_000.0, bounded(150, load(6, threads, warmup_ms, 60_000)));
        let result = measure(&server, &load, &mut watch);
        check_made(150, &result, &watch);
        let schedule = &result["schedule"];
        assert_eq!((number(&schedule["offered"]), number(&schedule["backlog"]["at_end"])), (150, 0));
        assert_eq!(server.seen.answers.load(SeqCst) - before, number(&result["lifetime"]["transactions"]));
    }
}

#[test]
fn an_open_loop_with_a_backlog_makes_no_more_either() {
    // One connection, 5 ms each: 30 that are due within 30 ms take 150.
    let server = Server::start(Manner { service: Duration::from_millis(5), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &at_rate(1_000.0, bounded(30, load(1, 1, 20, 60_000))), &mut watch);
    check_made(30, &result, &watch);
    assert!(number(&result["window"]["duration_ns"]) >= 150 * MILLISECOND);
}

#[test]
fn clients_that_rest_make_their_number_too() {
    let server = brisk();
    let mut watch = Watch::new(|_| Directive::Continue);
    let resting = Echoes { think_time: 5 * MILLISECOND, ..echoes(8) };
    let result = run(&resting, &context(&server), &bounded(50, load(4, 2, 30, 60_000)), &mut watch).unwrap();
    check_made(50, &result, &watch);
}

#[test]
fn a_limit_that_is_reached_says_how_many_were_made() {
    let server = Server::start(Manner { service: Duration::from_millis(20), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &bounded(1_000, load(2, 1, 0, 300)), &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "unfinished");
    let made = number(&result["operations"][0]["succeeded"]);
    let expected = json!({"made": made, "asked": 1000, "limit_s": 0.3, "under_way": 2});
    assert_eq!(result["reason_args"], expected);
    assert_eq!(number(&result["window"]["duration_ns"]), 300 * MILLISECOND);
}

#[test]
fn a_request_that_is_never_answered_ends_in_the_limit() {
    for warmup_ms in [0, 50] {
        let server = Server::start(Manner { deaf: true, ..Manner::default() });
        let mut watch = Watch::new(|_| Directive::Continue);
        let load = Load { drain_ns: 50 * MILLISECOND, ..bounded(2, load(2, 1, warmup_ms, 150)) };
        let began = now();
        let result = measure(&server, &load, &mut watch);
        let (outcome, expected) = match warmup_ms {
            0 => ("unfinished", json!(0)),
            _ => ("unsettled", Value::Null),
        };
        assert_eq!(result["outcome"], outcome);
        assert_eq!(result["reason_args"]["made"], expected);
        assert!(now() - began < 20 * SECOND);
    }
}

#[test]
fn stopping_early_is_stopping() {
    let server = brisk();
    for warmup_ms in [0, 60_000] {
        let phase = if warmup_ms == 0 { "measure" } else { "warmup" };
        let mut watch = Watch::new(|event: &Value| {
            if event["type"] == "interval" && event["phase"] == phase {
                Directive::Finish
            } else {
                Directive::Continue
            }
        });
        let result = measure(&server, &bounded(1_000_000, load(2, 2, warmup_ms, 60_000)), &mut watch);
        check_identities(&result, &watch);
        assert_eq!(result["outcome"], "stopped");
        assert_eq!(result["window"].is_null(), warmup_ms > 0, "{}", result["window"]);
    }
}
