//! Groups of clients side by side: one window, one record, and each group's own account in it.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::Value;

use super::server::{Manner, Server};
use super::{Echoes, Watch, check_identities, context, echoes, load, number};
use loadcell_core::clock::{MILLISECOND, SECOND};
use loadcell_core::observe::Directive;
use loadcell_core::pace::Arrivals;
use loadcell_core::spec::{Load, Schedule, Stretch};
use loadcell_load::{GroupInput, TargetContext, run_groups};

/// The same load as an open loop.
fn due(rate: f64, most_overdue_ms: u64, load: Load) -> Load {
    let rate = vec![Stretch { from_per_s: rate, to_per_s: rate, for_ns: SECOND }];
    let most_overdue_ns = most_overdue_ms * MILLISECOND;
    let schedule = Schedule { arrivals: Arrivals::Constant, rate, most_overdue_ns, seed: 3 };
    Load { schedule: Some(schedule), ..load }
}

fn run_grouped(context: &TargetContext, groups: &[(&str, &Echoes, &Load)], watch: &mut Watch<'_>) -> Value {
    let parts: Vec<_> = groups
        .iter()
        .map(|&(name, sessions, load)| GroupInput { name, clients: sessions as _, load })
        .collect();
    run_groups(&parts, context, watch).unwrap()
}

fn brisk() -> Server {
    Server::start(Manner { service: Duration::from_millis(2), ..Manner::default() })
}

#[test]
fn a_closed_and_an_open_group_are_one_record_with_an_account_each() {
    let server = brisk();
    let mut watch = Watch::new(|_| Directive::Continue);
    let (closed, open) = (load(4, 2, 100, 500), due(200.0, 5_000, load(3, 1, 100, 500)));
    let echoes = echoes(8);
    let result =
        run_grouped(&context(&server), &[("busy", &echoes, &closed), ("paced", &echoes, &open)], &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "completed");
    assert_eq!(result["schedule"], Value::Null);

    let operations = result["operations"].as_array().unwrap();
    let named: Vec<_> = operations.iter().map(|operation| operation["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["transaction", "busy", "busy:ask", "paced", "paced:ask"]);
    for count in ["attempted", "carried_in", "succeeded", "failed", "in_flight"] {
        let of = |index: usize| number(&operations[index][count]);
        assert_eq!(of(0), of(1) + of(3), "{count}");
    }
    let longest = |index: usize| number(&operations[index]["response"]["max_ns"]);
    assert_eq!(longest(0), longest(1).max(longest(3)));
    assert_eq!(number(&result["lifetime"]["transactions"]), server.seen.answers.load(SeqCst));
    assert_eq!(number(&result["client"]["connects"]), 7);
    assert_eq!(result["client"]["threads"].as_array().unwrap().len(), 3);

    // Each group's account is what its load alone would have given.
    let groups = result["groups"].as_array().unwrap();
    let (busy, paced) = (&groups[0], &groups[1]);
    assert_eq!((busy["name"].as_str(), paced["name"].as_str()), (Some("busy"), Some("paced")));
    assert_eq!(busy["schedule"], Value::Null);
    assert_eq!(number(&paced["schedule"]["offered"]), 100);
    assert!(number(&paced["schedule"]["presence_ns"]) > 0);
    for (group, index) in [(busy, 1), (paced, 3)] {
        assert_eq!(group["operations"][0]["name"], "transaction");
        assert_eq!(group["operations"][0]["succeeded"], operations[index]["succeeded"]);
        assert_eq!(group["operations"][0]["response"], operations[index]["response"]);
        assert_eq!(group["queries"]["total"], operations[index]["succeeded"]);
    }
    let threads = |group: &Value| group["client"]["threads"].as_array().unwrap().len();
    assert_eq!((threads(busy), threads(paced)), (2, 1));
    // N = X R holds for the closed group by itself.
    let transaction = &busy["operations"][0];
    let spent =
        transaction["response"]["mean_ns"].as_f64().unwrap() * number(&transaction["succeeded"]) as f64;
    let window = 4.0 * number(&result["window"]["duration_ns"]) as f64;
    let edges = 4.0 * transaction["response"]["max_ns"].as_f64().unwrap();
    assert!((spent - window).abs() <= edges, "{spent} of {window} ns");

    let intervals = watch.of("interval");
    assert_eq!(intervals.iter().filter(|event| event["phase"] == "measure").count(), 5);
    for event in intervals {
        let (busy, paced) = (&event["groups"][0], &event["groups"][1]);
        assert_eq!((number(&busy["in_flight"]), number(&busy["connected"])), (4, 4));
        assert!(busy.get("backlog").is_none() && paced.get("backlog").is_some());
        assert_eq!(event["backlog"], paced["backlog"]);
        let merged = event["operations"].as_array().unwrap();
        assert_eq!(
            number(&merged[0]["started"]),
            number(&merged[1]["started"]) + number(&merged[3]["started"])
        );
        assert!(
            event["hlog"]
                .as_array()
                .unwrap()
                .iter()
                .all(|line| line.as_str().unwrap().contains("Tag=transaction/"))
        );
    }
}

#[test]
fn an_overloaded_group_ends_the_load_for_all_and_is_named() {
    let server = Server::start(Manner { service: Duration::from_millis(20), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let (closed, open) = (load(2, 1, 0, 60_000), due(5_000.0, 200, load(1, 1, 0, 60_000)));
    let echoes = echoes(8);
    let result =
        run_grouped(&context(&server), &[("calm", &echoes, &closed), ("flood", &echoes, &open)], &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "overloaded");
    let args = &result["reason_args"];
    assert_eq!((args["group"].as_str(), number(&args["clients"])), (Some("flood"), 1));
    assert!(number(&result["window"]["duration_ns"]) < 60 * SECOND);
    assert!(number(&result["groups"][0]["operations"][0]["succeeded"]) > 0);
}

#[test]
fn a_group_without_any_connection_ends_the_load_for_all_and_is_named() {
    // One server, two groups; only one of them has to do with a target that is gone.
    let server = brisk();
    let mut watch = Watch::new(|event| {
        if event["type"] == "interval" && event["index"] == 1 {
            server.die();
        }
        Directive::Continue
    });
    let brief = Load { lost_ns: 300 * MILLISECOND, ..load(2, 1, 0, 60_000) };
    let patient = Load { lost_ns: 60 * SECOND, ..load(2, 1, 0, 60_000) };
    let echoes = echoes(8);
    let result = run_grouped(
        &context(&server),
        &[("patient", &echoes, &patient), ("brief", &echoes, &brief)],
        &mut watch,
    );
    assert_eq!(result["outcome"], "lost");
    assert_eq!(result["reason_args"]["group"], "brief");
    assert!(result["reason_args"]["where"].as_str().unwrap().starts_with("127.0.0.1"));
    let troubled = watch.of("trouble");
    assert!(["patient", "brief"].iter().all(|name| troubled.iter().any(|event| event["group"] == *name)));
    // Errors carry their group, and add up.
    let errors = result["errors"].as_array().unwrap();
    for (index, name) in [(0, "patient"), (1, "brief")] {
        let group_errors =
            errors.iter().filter(|error| error["group"] == name && error["operation"] == "transaction");
        let failed = number(&result["groups"][index]["operations"][0]["failed"]);
        assert_eq!(group_errors.map(|error| number(&error["count"])).sum::<u64>(), failed);
    }
}

#[test]
fn groups_connect_together_or_not_at_all() {
    let server = Server::start(Manner { most: 5, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let small = load(4, 1, 0, 500);
    let echoes = echoes(8);
    let result =
        run_grouped(&context(&server), &[("a", &echoes, &small), ("b", &echoes, &small)], &mut watch);
    assert_eq!(result["outcome"], "connect-failed");
    let args = &result["reason_args"];
    assert_eq!((number(&args["refused"]), number(&args["clients"])), (3, 8), "{result}");
    assert!(watch.of("interval").is_empty());
}
