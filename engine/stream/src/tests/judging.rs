//! Lost, repeated and reordered records are counted exactly.

use std::io::Write;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::service::{Service, counter, echo, lines, number, temporary};
use super::{count, errors, failed, measured, metric, run, specification};

/// Findings over a load of 10,000 records: lost, duplicated, reordered, unknown.
fn findings(service: &Service, more: Value) -> ([u64; 4], Value) {
    let mut stream = json!({"answers": "each", "order": "all"});
    stream.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let result = measured(service, stream.clone(), json!({"requests": 10_000}));
    let reordered = result["figures"]["stream.reordered"].as_f64();
    assert_eq!(reordered.is_none(), stream["order"] == "none", "it is reported where it is judged");
    let names = ["stream.lost", "stream.duplicated", "stream.unknown"];
    let [lost, duplicated, unknown] = names.map(|name| metric(&result, name) as u64);
    ([lost, duplicated, reordered.unwrap_or_default() as u64, unknown], result)
}

#[test]
fn an_intact_service_has_no_findings() {
    let (findings, result) = findings(&Service::local(echo(|_, number| vec![number])), json!({}));
    assert_eq!((findings, failed(&result)), ([0; 4], 0));
    assert_eq!((count(&result, "succeeded"), metric(&result, "stream.results")), (10_000, 0.0));
    assert!(result["received"]["bytes"].as_u64().unwrap() > 40_000);
}

#[test]
fn lost_records_are_counted_exactly() {
    let dropper = |index: u64, number| if index % 1_000 == 999 { vec![] } else { vec![number] };
    let (findings, result) = findings(&Service::start(echo(dropper)), json!({}));
    assert_eq!((findings, errors(&result)), ([10, 0, 0, 0], vec![("stream.lost", 10)]));
    assert_eq!((result["outcome"].as_str(), count(&result, "succeeded")), (Some("completed"), 9_990));
}

#[test]
fn repeated_and_invented_answers_are_counted_exactly() {
    let service = Service::start(echo(|index, number| match index % 1_000 {
        1 => vec![number, number],
        2 => vec![number, number + 1_000_000],
        _ => vec![number],
    }));
    let (findings, result) = findings(&service, json!({}));
    assert_eq!((findings, failed(&result)), ([0, 10, 0, 10], 0));
}

#[test]
fn swapped_answers_are_counted_exactly() {
    let swapper = || {
        Service::start(|stream, _| {
            let mut held = None;
            lines(stream, move |index, line, answers| {
                let text = match (index % 500, held.take()) {
                    (10, _) => {
                        held = Some(number(line));
                        String::new()
                    }
                    (_, Some(held)) => format!("{}\n{held}\n", number(line)),
                    _ => format!("{}\n", number(line)),
                };
                answers.write_all(text.as_bytes()).is_ok()
            });
        })
    };
    assert_eq!(findings(&swapper(), json!({})).0, [0, 0, 20, 0]);
    assert_eq!(findings(&swapper(), json!({"order": "none"})).0, [0; 4]);
    // With one key in all both orders are the same, and with keys in turn no two neighbours have the same.
    let of_keys = |to: u64| {
        let fields = json!([{"name": "id", "number": {"start": 0, "step": 1}},
            {"name": "key", "draw": {"to": to, "distribution": "sequential"}}]);
        findings(&swapper(), json!({"source": {"fields": fields}, "order": "key", "key": "key"})).0
    };
    assert_eq!((of_keys(0), of_keys(1)), ([0, 0, 20, 0], [0; 4]));
}

#[test]
fn results_are_counted_and_answers_are_kept() {
    let service = Service::start(|stream, _| {
        lines(stream, |index, line, answers| {
            let result = if index % 10 == 0 { " r1 r3" } else { "" };
            answers.write_all(format!("{}{result}\r\n", number(line)).as_bytes()).is_ok()
        });
    });
    let path = temporary("answers");
    let (findings, result) = findings(&service, json!({"keep_answers": path}));
    assert_eq!((findings, metric(&result, "stream.results")), ([0; 4], 1_000.0));
    let stored = path.with_extension("0");
    let text = std::fs::read_to_string(&stored).unwrap();
    assert_eq!((text.lines().count(), text.lines().next()), (10_000, Some("0 r1 r3")));
    std::fs::remove_file(&stored).unwrap();
}

#[test]
fn answers_may_come_on_another_connection() {
    use std::sync::Arc;
    // Each connection for answers gets those of all records.
    type Listeners = Arc<Mutex<Vec<Box<dyn super::service::Stream>>>>;
    let listeners = Listeners::default();
    let theirs = listeners.clone();
    let results = Service::start(move |stream, _| theirs.lock().unwrap().push(stream));
    let service = Service::start(move |stream, _| {
        let listeners = listeners.clone();
        lines(stream, move |_, line, _| {
            let answer = format!("{}\n", number(line));
            listeners.lock().unwrap().iter_mut().all(|listener| listener.write_all(answer.as_bytes()).is_ok())
        });
    });
    let address = json!({"host": "127.0.0.1", "port": results.target()["port"]});
    let stream = json!({"answers": "each", "order": "all", "results": address});
    let result = measured(&service, stream, json!({"clients": 2, "requests": 2_000}));
    assert_eq!((count(&result, "succeeded"), failed(&result)), (2_000, 0), "{:?}", errors(&result));
    assert_eq!((metric(&result, "stream.unknown"), metric(&result, "stream.duplicated")), (0.0, 0.0));
}

#[test]
fn counts_are_judged() {
    let reported = |text: &'static str| {
        let service = Service::start(move |stream, _| {
            lines(stream, |index, _, answers| {
                let text = if index == 99 { text } else { "50\n" };
                (index % 50 < 49) || answers.write_all(text.as_bytes()).is_ok()
            });
        });
        let spec = specification(&service.target(), json!({"answers": "count"}), json!({"requests": 100}));
        let (result, watch) = run(&spec);
        let codes: Vec<String> =
            errors(&result).iter().map(|(code, count)| format!("{code} {count}")).collect();
        assert!(!watch.troubles().is_empty());
        (codes.join(), count(&result, "succeeded"))
    };
    assert_eq!(reported("1000000\n"), ("stream.acknowledged-too-much 50".into(), 50));
    assert_eq!(reported("49\n"), ("stream.decreasing 50".into(), 50));
    assert_eq!(reported("what?\n"), ("stream.garbage 50".into(), 50));
    let result = measured(&Service::start(counter), json!({"answers": "count"}), json!({"requests": 50_000}));
    assert_eq!((count(&result, "succeeded"), metric(&result, "stream.overacknowledged")), (50_000, 0.0));
}

trait Join {
    fn join(&self) -> String;
}

impl Join for Vec<String> {
    fn join(&self) -> String {
        self.as_slice().join(", ")
    }
}
