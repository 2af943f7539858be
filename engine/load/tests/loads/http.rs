//! Whole loads of HTTP: connections that are made within transactions, and transactions that time out.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Watch, check_operations, ground_of, load, number};
use loadcell_core::clock::MILLISECOND;
use loadcell_core::observe::Directive;
use loadcell_core::spec::{Load, Spec};
use loadcell_load::run;
use loadcell_protocols::http1::Http1;
use loadcell_workloads::http::Sessions;

/// Server's reaction to a request, given its number and head. Returns whether the connection stays open.
type Answer = fn(&mut TcpStream, u64, &str) -> bool;

struct Service {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

fn serve(answer: Answer) -> Service {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let service = Service {
        address: listener.local_addr().unwrap(),
        requests: Arc::default(),
        connections: Arc::default(),
    };
    let (requests, connections) = (service.requests.clone(), service.connections.clone());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, requests) = (stream.unwrap(), requests.clone());
            stream.set_nodelay(true).unwrap();
            connections.fetch_add(1, SeqCst);
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0; 4096];
                loop {
                    match stream.read(&mut byte) {
                        Ok(count) if count > 0 => head.extend_from_slice(&byte[..count]),
                        _ => return,
                    }
                    if head.ends_with(b"\r\n\r\n") {
                        let number = requests.fetch_add(1, SeqCst) + 1;
                        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
                        if !answer(&mut stream, number, &text) {
                            return;
                        }
                    }
                }
            });
        }
    });
    service
}

fn ok(stream: &mut TcpStream) -> bool {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_ok()
}

fn measure(service: &Service, load: &Load, section: Value) -> Value {
    let spec = json!({
        "version": 1,
        "target": {
            "protocol": "http", "host": "127.0.0.1", "port": service.address.port(), "sslmode": "disable",
        },
        "workload": {"http": section},
        "load": {"clients": load.clients, "duration_ns": load.duration_ns},
    });
    let spec = Spec::read(&loadcell_testing::specification(spec).to_string()).unwrap();
    let sessions = Sessions::<Http1>::new(&spec, spec.workload().1).unwrap();
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = run(&sessions, &ground_of(service.address), load, &mut watch).unwrap();
    check_identities_but_stages(&result, &watch);
    check_littles_law(&result, load);
    result
}

/// A stage fails with its transaction, whose error is counted there.
fn check_identities_but_stages(result: &Value, watch: &Watch<'_>) {
    check_operations(result, &result["operations"].as_array().unwrap()[..1], watch);
    for operation in result["operations"].as_array().unwrap() {
        let of = |name: &str| number(&operation[name]);
        assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{operation:#}");
    }
}

/// Clients are in a transaction, or without a connection, all of the time.
fn check_littles_law(result: &Value, load: &Load) {
    let transaction = &result["operations"][0];
    let spent = |kind: &str| {
        let figures = &transaction[kind];
        figures["count"].as_f64().unwrap_or(0.0) * figures["mean_ns"].as_f64().unwrap_or(0.0)
    };
    let client = |name: &str| result["client"][name].as_f64().unwrap();
    let accounted_ns = spent("response") + spent("failed_response") + client("age_at_end_ns")
        - client("age_at_start_ns")
        + client("reconnecting_ns");
    let all = f64::from(load.clients) * result["window"]["duration_ns"].as_f64().unwrap();
    // What is amiss is what a client spends between two transactions, at the window's two ends.
    assert!((accounted_ns / all - 1.0).abs() < 0.05, "{accounted_ns} of {all}: {result:#}");
}

fn operation<'r>(result: &'r Value, name: &str) -> &'r Value {
    result["operations"].as_array().unwrap().iter().find(|operation| operation["name"] == name).unwrap()
}

fn errors(result: &Value) -> Vec<&str> {
    result["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap()).collect()
}

fn one_path() -> Value {
    json!({"requests": [{"path": "/"}]})
}

#[test]
fn a_connection_carries_request_after_request() {
    let service = serve(|stream, _, _| ok(stream));
    let result = measure(&service, &load(3, 2, 0, 300), one_path());
    assert_eq!((service.connections.load(SeqCst), number(&result["client"]["connects"])), (3, 3));
    assert_eq!(number(&result["lifetime"]["transactions"]), service.requests.load(SeqCst));
    let succeeded = number(&operation(&result, "transaction")["succeeded"]);
    assert_eq!(number(&result["received"]["body_bytes"]), 2 * succeeded);
    assert_eq!(number(&result["received"]["bytes"]), 40 * succeeded);
    assert_eq!(number(&result["received"]["statuses"]["2xx"]), succeeded);
    assert_eq!(number(&operation(&result, "first_byte")["succeeded"]), succeeded);
    assert_eq!(
        number(&result["client"]["threads"][0]["requests"])
            + number(&result["client"]["threads"][1]["requests"]),
        succeeded
    );
    assert!(result["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_connection_for_each_request_is_no_reconnection() {
    let service = serve(|stream, _, head| {
        assert!(head.contains("Connection: close"));
        ok(stream);
        false
    });
    let section = json!({"requests": [{"path": "/"}], "keep_alive": false});
    let result = measure(&service, &load(4, 2, 0, 400), section);
    let lifetime = number(&result["lifetime"]["transactions"]);
    assert_eq!(lifetime, service.requests.load(SeqCst));
    assert_eq!(
        number(&result["client"]["connects"]),
        lifetime + 4,
        "the first ones only show that it is there"
    );
    assert_eq!(
        (number(&result["client"]["reconnects"]), number(&result["client"]["reconnecting_ns"])),
        (0, 0)
    );
    assert_eq!(number(&result["lifetime"]["operations"]["connect"]), lifetime);
    let (connect, transaction) = (operation(&result, "connect"), operation(&result, "transaction"));
    assert!(connect["service"]["mean_ns"].as_f64() < transaction["service"]["mean_ns"].as_f64());
    assert!(errors(&result).is_empty());
}

#[test]
fn what_is_not_answered_in_time_fails_then_and_not_later() {
    let service = serve(|stream, number, _| {
        if number % 10 == 0 {
            thread::sleep(Duration::from_millis(600));
        }
        ok(stream)
    });
    let load = Load { timeout_ns: Some(50 * MILLISECOND), ..load(4, 2, 0, 600) };
    let result = measure(&service, &load, one_path());
    assert_eq!(errors(&result), ["timeout"]);
    let transaction = operation(&result, "transaction");
    let failed = &transaction["failed_response"];
    assert!(number(&failed["count"]) >= 1);
    assert!(number(&failed["min_ns"]) >= 50 * MILLISECOND);
    // Nobody waits for a response after its timeout: with 600 ms each, a client would see one of them.
    assert!(failed["mean_ns"].as_f64().unwrap() < 400e6, "{failed}");
    assert!(number(&transaction["succeeded"]) > number(&transaction["failed"]));
    assert_eq!(number(&result["client"]["reconnects"]), 0);
}

#[test]
fn a_server_that_never_answers_times_out_again_and_again() {
    let service = serve(|_, _, _| true);
    let load = Load { timeout_ns: Some(40 * MILLISECOND), ..load(2, 1, 0, 400) };
    let result = measure(&service, &load, one_path());
    let failed = number(&operation(&result, "transaction")["failed"]);
    assert!((2..=20).contains(&failed), "{failed}");
    assert_eq!(
        (errors(&result), number(&operation(&result, "transaction")["succeeded"])),
        (vec!["timeout"], 0)
    );
}

#[test]
fn a_server_that_hangs_up_costs_the_requests_it_did_not_answer() {
    let service = serve(|stream, number, _| match number % 5 {
        0 => false,
        1 => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
            false
        }
        2 => {
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nuntil the end");
            false
        }
        _ => ok(stream),
    });
    let result = measure(&service, &load(3, 1, 0, 300), one_path());
    let mut codes = errors(&result);
    codes.sort_unstable();
    assert_eq!(codes, ["connection", "length"]);
    let transaction = operation(&result, "transaction");
    let share = number(&transaction["failed"]) as f64 / number(&transaction["attempted"]) as f64;
    assert!((0.2..0.6).contains(&share), "{share}");
    assert_eq!(number(&result["client"]["reconnects"]), 0);
}

#[test]
fn an_open_loop_connects_when_something_is_due() {
    let service = serve(|stream, number, _| ok(stream) && number % 3 != 0);
    let rate =
        vec![loadcell_core::spec::Stretch { from_per_s: 300.0, to_per_s: 300.0, for_ns: 400 * MILLISECOND }];
    let schedule = loadcell_core::spec::Schedule {
        arrivals: loadcell_core::pace::Arrivals::Constant,
        rate,
        most_overdue_ns: loadcell_core::clock::SECOND,
        seed: 3,
    };
    let spec = json!({
        "version": 1,
        "target": {
            "protocol": "http", "host": "127.0.0.1", "port": service.address.port(), "sslmode": "disable",
        },
        "workload": {"http": one_path()},
        "load": {"clients": 4, "duration_ns": 1},
    });
    let spec = Spec::read(&loadcell_testing::specification(spec).to_string()).unwrap();
    let sessions = Sessions::<Http1>::new(&spec, spec.workload().1).unwrap();
    let mut watch = Watch::new(|_| Directive::Continue);
    let load = Load { schedule: Some(schedule), ..load(4, 1, 0, 400) };
    let result = run(&sessions, &ground_of(service.address), &load, &mut watch).unwrap();
    check_identities_but_stages(&result, &watch);
    let transaction = operation(&result, "transaction");
    assert!((110..=120).contains(&number(&transaction["attempted"])), "{transaction}");
    assert!(number(&result["lifetime"]["operations"]["connect"]) >= 20);
    assert_eq!(number(&result["client"]["reconnects"]), 0);
}

#[test]
fn a_refused_connection_is_reported_from_the_first() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let service = Service { address, requests: Arc::default(), connections: Arc::default() };
    let spec = json!({
        "version": 1,
        "target": {"protocol": "http", "host": "127.0.0.1", "port": address.port(), "sslmode": "disable"},
        "workload": {"http": one_path()},
        "load": {"clients": 2, "duration_ns": 1},
    });
    let spec = Spec::read(&loadcell_testing::specification(spec).to_string()).unwrap();
    let sessions = Sessions::<Http1>::new(&spec, spec.workload().1).unwrap();
    let context = ground_of(service.address);
    let result =
        run(&sessions, &context, &load(2, 1, 0, 100), &mut Watch::new(|_| Directive::Continue)).unwrap();
    assert_eq!(result["outcome"], "connect-failed");
    assert_eq!(result["reason_args"]["said"], "Connection refused");
    assert_eq!(result["reason_args"]["code"], "refused");
}
