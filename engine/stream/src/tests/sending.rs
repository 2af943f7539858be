//! Records that are sent: exact numbers of records, by any source, over any socket, at any pace.

use std::fs;

use serde_json::json;

use super::service::{Service, collector, counter, echo, temporary};
use super::{count, errors, failed, measured, metric, run, specification};

#[test]
fn a_fixed_number_of_records_is_sent_exactly() {
    for (clients, stream) in [
        (1, json!({})),
        (3, json!({})),
        (1, json!({"prepared": 7})),
        (2, json!({"prepared": 100_000, "size": 60})),
        (1, json!({"send_buffer": 4096, "size": 1000})),
    ] {
        let service = Service::start(collector);
        let result = measured(&service, stream.clone(), json!({"clients": clients, "requests": 20_001}));
        assert_eq!(result["outcome"], "completed", "{stream}: {}", result["reason_args"]);
        assert_eq!((count(&result, "succeeded"), count(&result, "attempted")), (20_001, 20_001));
        assert_eq!(metric(&result, "stream.sent") as u64, 20_001);
        let lines = wait_for(&service, 20_001);
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        assert_eq!(metric(&result, "stream.sent_bytes") as usize, bytes);
        let run_s = metric(&result, "stream.run_time") / 1e3;
        let window_s = result["window"]["duration_ns"].as_f64().unwrap() / 1e9;
        assert!(run_s > 0.0 && run_s <= window_s, "{run_s} of {window_s}");
    }
}

/// Lines of a service that is still reading what the kernel has.
fn wait_for(service: &Service, count: usize) -> Vec<String> {
    for _ in 0..500 {
        if service.seen.lines.lock().unwrap().len() >= count {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    service.lines()
}

#[test]
fn what_is_sent_is_what_the_seed_gives_whatever_the_pace() {
    let load = json!({"clients": 2, "requests_per_client": 500});
    let at_rate = json!({"clients": 2, "requests_per_client": 500,
        "schedule": {"rate": [{"from_per_s": 5000, "to_per_s": 5000, "for_ns": 1_000_000_000}]}});
    let stream = json!({"size": 100});
    let mut expected = Vec::new();
    for load in [load, at_rate] {
        let service = Service::local(collector);
        let spec = specification(&service.target(), stream.clone(), load);
        let (result, _) = run(&spec);
        assert_eq!((count(&result, "succeeded"), failed(&result)), (1_000, 0), "{:?}", errors(&result));
        let lines = wait_for(&service, 1_000);
        if expected.is_empty() {
            let of = |connection| crate::records(&spec, connection, 500).unwrap();
            let text = String::from_utf8([of(0), of(1)].concat()).unwrap();
            expected = text.lines().map(String::from).collect();
            expected.sort_by_key(|line| super::service::number(line));
        }
        assert_eq!(lines, expected);
    }
}

#[test]
fn the_warm_up_of_a_bounded_load_is_acknowledged_before_the_measurement() {
    for (stream, manner) in [
        (json!({"answers": "count"}), Service::start(counter)),
        (json!({"answers": "each"}), Service::start(echo(|_, number| vec![number]))),
    ] {
        let mut stream = stream;
        (stream["size"], stream["send_buffer"]) = (1000.into(), 20_000.into());
        let result = measured(&manner, stream, json!({"requests": 300, "warmup_ns": 50_000_000}));
        assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]);
        assert_eq!((count(&result, "succeeded"), count(&result, "carried_in"), failed(&result)), (300, 0, 0));
        assert!(result["lifetime"]["transactions"].as_u64().unwrap() > 300);
    }
}

#[test]
fn a_rate_is_kept_and_times_begin_when_records_are_due() {
    let service = Service::start(echo(|_, number| vec![number]));
    let rate = json!([{"from_per_s": 2000, "to_per_s": 2000, "for_ns": 1_000_000_000}]);
    let load = json!({"duration_ns": 1_000_000_000, "schedule": {"rate": rate}});
    let result = measured(&service, json!({"answers": "each"}), load);
    assert_eq!(result["outcome"], "completed");
    assert_eq!(result["schedule"]["offered"], 2_000);
    let (succeeded, in_flight) = (count(&result, "succeeded"), count(&result, "in_flight"));
    assert!(succeeded + in_flight == 2_000 && succeeded > 1_900, "{succeeded} {in_flight}");
    assert_eq!(failed(&result), 0);
    let transaction = &result["operations"][0];
    let mean = |kind: &str| transaction[kind]["mean_ns"].as_f64().unwrap();
    assert!(mean("response") >= mean("service") && mean("service") > 0.0);
}

#[test]
fn a_load_ends_with_its_file() {
    let path = temporary("records");
    let lines: Vec<String> = (0..1_000).map(|number| format!("{number},k{}", number % 7)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    for load in [
        json!({"clients": 1}),
        json!({"clients": 3}),
        json!({"clients": 2, "schedule":
            {"rate": [{"from_per_s": 4000, "to_per_s": 4000, "for_ns": 1_000_000_000}]}}),
    ] {
        let service = Service::start(collector);
        let source = json!({"source": {"file": path, "repeat": false}});
        let result = measured(&service, source, load);
        assert_eq!(result["outcome"], "completed");
        assert_eq!((count(&result, "succeeded"), failed(&result)), (1_000, 0), "{:?}", errors(&result));
        assert_eq!(wait_for(&service, 1_000), lines);
    }
    let service = Service::start(collector);
    let source = json!({"source": {"file": path, "repeat": true}});
    let result = measured(&service, source, json!({"requests": 2_500}));
    assert_eq!(count(&result, "succeeded"), 2_500);
    assert_eq!(wait_for(&service, 2_500)[..6], ["0,k0", "0,k0", "0,k0", "1,k1", "1,k1", "1,k1"]);
    fs::remove_file(&path).unwrap();
}

#[test]
fn time_alone_ends_a_load_and_what_is_in_progress_is_awaited() {
    let service = Service::start(counter);
    let load = json!({"clients": 2, "duration_ns": 300_000_000, "warmup_ns": 100_000_000});
    let result = measured(&service, json!({"answers": "count", "size": 200}), load);
    assert_eq!(
        (result["outcome"].as_str(), failed(&result)),
        (Some("completed"), 0),
        "{:?}",
        errors(&result)
    );
    let sent = metric(&result, "stream.sent");
    assert_eq!(result["lifetime"]["transactions"].as_f64(), Some(sent));
    assert_eq!(metric(&result, "stream.lost"), 0.0);
    assert!(metric(&result, "stream.outstanding.max") >= 1.0);
}
