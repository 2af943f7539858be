//! Whole loads against a server that is known in every respect.

mod armed;
mod bounded;
mod failures;
mod groups;
mod http;
mod http2;
mod open;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use serde_json::Value;

use loadcell_core::clock::{MILLISECOND, Nanos, SECOND, now};
use loadcell_core::error::{Failure, LoadError};
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::record::{Kind, OpId, Operation, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, SessionFactory, Step};
use loadcell_core::spec::Load;
use loadcell_load::{TargetContext, run};
use loadcell_transport::{Address, Endpoint};
use server::{GREETING, Manner, REFUSAL, Server};

const ASK: OpId = OpId(1);

/// Sends eight bytes (or more), and wants them back.
struct Echo {
    request: usize,
    /// Pause before each transaction.
    think_time: Nanos,
    greeted: bool,
    /// The transaction in progress: its number, when it should have started, when it was sent.
    asked: Option<(u64, Nanos, Nanos)>,
    next: u64,
    long: Arc<AtomicU64>,
}

/// Responses longer than this are counted in `Echoes::long`.
const LONG: Nanos = 150 * MILLISECOND;

impl Session for Echo {
    fn opened(&mut self, _: &mut Vec<u8>) -> NextAction {
        self.greeted = false;
        NextAction::Reply
    }

    fn secured(&mut self, _: &[u8], _: &mut Vec<u8>) -> NextAction {
        unreachable!("it never asks for TLS")
    }

    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<Step, Failure> {
        if !self.greeted {
            return match input[0] {
                GREETING => {
                    self.greeted = true;
                    Ok(Step { consumed: 1, action: NextAction::Idle })
                }
                REFUSAL => Err(Failure { code: "53300".into(), message: "too many already".into() }),
                other => panic!("what is {other}?"),
            };
        }
        if input.len() < 8 {
            return Ok(Step { consumed: 0, action: NextAction::Reply });
        }
        let (number, intended, sent) = self.asked.take().expect("an answer follows a request");
        assert_eq!(input, number.to_be_bytes());
        for op in [ASK, TRANSACTION] {
            cx.recorder.succeed(op, intended, sent, at);
        }
        cx.recorder.queries(at, 1, 0, 0);
        self.long.fetch_add(u64::from(at - intended > LONG), SeqCst);
        Ok(Step { consumed: 8, action: NextAction::Idle })
    }

    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        assert!(intended <= at);
        self.next += 1;
        self.asked = Some((self.next, intended, at));
        for op in [TRANSACTION, ASK] {
            cx.recorder.start(op, intended);
        }
        out.extend(self.next.to_be_bytes());
        out.resize(out.len() + self.request - 8, 0);
        NextAction::Reply
    }

    fn think_time(&mut self, _: Nanos) -> Nanos {
        self.think_time
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        if let Some((_, intended, sent)) = self.asked.take() {
            for op in [ASK, TRANSACTION] {
                cx.recorder.fail(op, intended, sent, at, why);
            }
        }
        Reconnect::Later
    }
}

struct Echoes {
    request: usize,
    think_time: Nanos,
    long: Arc<AtomicU64>,
}

impl SessionFactory for Echoes {
    type Session = Echo;

    fn operations(&self) -> &[Operation] {
        &[
            Operation { name: "transaction", kind: Kind::Transaction },
            Operation { name: "ask", kind: Kind::Read },
        ]
    }

    fn session(&self, client: u32) -> Echo {
        let next = u64::from(client) << 32;
        Echo {
            request: self.request,
            think_time: self.think_time,
            greeted: false,
            asked: None,
            next,
            long: self.long.clone(),
        }
    }
}

/// Keeps the events with the instants at which they came, and does something on each of them.
struct Watch<'a> {
    events: Vec<(Nanos, Value)>,
    act: Box<dyn FnMut(&Value) -> Directive + 'a>,
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: &Value) -> Directive {
        self.events.push((now(), event.clone()));
        (self.act)(event)
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

impl<'a> Watch<'a> {
    fn new(act: impl FnMut(&Value) -> Directive + 'a) -> Self {
        Self { events: Vec::new(), act: Box::new(act) }
    }

    fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().map(|(_, event)| event).filter(|event| event["type"] == kind).collect()
    }
}

fn load(clients: u32, threads: u32, warmup_ms: u64, duration_ms: u64) -> Load {
    Load {
        clients,
        threads,
        warmup_ns: warmup_ms * MILLISECOND,
        duration_ns: duration_ms * MILLISECOND,
        interval_ns: 100 * MILLISECOND,
        drain_ns: SECOND,
        timeout_ns: None,
        lost_ns: 10 * SECOND,
        max_retries: 0,
        armed_ns: None,
        timeline: false,
        schedule: None,
        requests: None,
        requests_per_client: None,
    }
}

fn context(server: &Server) -> TargetContext {
    ground_of(server.address)
}

fn ground_of(address: SocketAddr) -> TargetContext {
    let endpoint = Endpoint { addresses: vec![Address::Tcp(address)], name: address.to_string(), tls: None };
    TargetContext { endpoint: Arc::new(endpoint), connect_timeout_ns: SECOND }
}

fn echoes(request: usize) -> Echoes {
    Echoes { request, think_time: 0, long: Arc::default() }
}

fn measure(server: &Server, load: &Load, watch: &mut Watch<'_>) -> Value {
    run(&echoes(8), &context(server), load, watch).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a count"))
}

/// Checks the identities that hold for every result.
fn check_identities(result: &Value, watch: &Watch<'_>) {
    check_operations(result, result["operations"].as_array().unwrap(), watch);
    assert_eq!(result["queries"]["total"], result["operations"][0]["succeeded"]);
}

fn check_operations(result: &Value, operations: &[Value], watch: &Watch<'_>) {
    for operation in operations {
        let of = |name: &str| number(&operation[name]);
        assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{operation:#}");
        let timed = operation["response"]["count"].as_u64().unwrap_or(0);
        assert_eq!(timed, of("succeeded"));
        let timed = operation["failed_response"]["count"].as_u64().unwrap_or(0);
        assert_eq!(timed, of("failed"));
        let errors = result["errors"].as_array().unwrap().iter();
        let errors = errors.filter(|error| error["operation"] == operation["name"]);
        assert_eq!(errors.map(|error| number(&error["count"])).sum::<u64>(), of("failed"));
        let intervals = watch.of("interval");
        let measured = intervals.iter().filter(|event| event["phase"] == "measure");
        let seen = measured
            .flat_map(|event| event["operations"].as_array().unwrap())
            .filter(|counts| counts["name"] == operation["name"]);
        assert_eq!(seen.map(|counts| number(&counts["succeeded"])).sum::<u64>(), of("succeeded"));
    }
}

#[test]
fn counts_times_and_littles_law_agree_with_the_server() {
    const CLIENTS: u32 = 8;
    let service = Duration::from_millis(4);
    let server = Server::start(Manner { service, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &load(CLIENTS, 2, 150, 600), &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "completed");

    let transaction = &result["operations"][0];
    assert_eq!((number(&transaction["carried_in"]), number(&transaction["in_flight"])), (8, 8));
    let response = &transaction["response"];
    let (mean, max) = (response["mean_ns"].as_f64().unwrap(), response["max_ns"].as_f64().unwrap());
    assert!(number(&response["min_ns"]) >= service.as_nanos() as u64);
    assert!(number(&response["p50_ns"]) <= number(&response["p99_ns"]));

    // N = X R: in a closed loop every client is always waiting, except for what the window cuts off at its
    // ends.
    let waited = mean * number(&transaction["succeeded"]) as f64;
    let window = f64::from(CLIENTS) * number(&result["window"]["duration_ns"]) as f64;
    assert!((waited - window).abs() <= f64::from(CLIENTS) * max, "{waited} of {window} ns");
    assert!((waited / window - 1.0).abs() < 0.1, "{waited} of {window} ns");

    assert_eq!(number(&result["lifetime"]["transactions"]), server.seen.answers.load(SeqCst));
    assert_eq!(number(&result["client"]["connects"]), 8);
    let threads = result["client"]["threads"].as_array().unwrap();
    assert_eq!(threads.iter().map(|thread| number(&thread["connections"])).collect::<Vec<_>>(), [4, 4]);
    assert_eq!(
        threads.iter().map(|thread| number(&thread["requests"])).sum::<u64>(),
        number(&transaction["succeeded"])
    );
    for thread in threads {
        let (cpu, wall) = (number(&thread["cpu_ns"]), number(&thread["wall_ns"]));
        assert!(cpu > 0 && cpu < wall && wall.abs_diff(600 * MILLISECOND) < 100 * MILLISECOND, "{thread}");
    }
}

#[test]
fn clients_that_rest_are_timed_from_the_end_of_their_rest() {
    const CLIENTS: u32 = 4;
    let server = Server::start(Manner { service: Duration::from_millis(2), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let resting = Echoes { think_time: 20 * MILLISECOND, ..echoes(8) };
    let result = run(&resting, &context(&server), &load(CLIENTS, 2, 110, 600), &mut watch).unwrap();
    check_identities(&result, &watch);
    let transaction = &result["operations"][0];
    let (succeeded, response) = (number(&transaction["succeeded"]), &transaction["response"]);
    assert!(response["p50_ns"].as_f64().unwrap() < 15e6, "{response}");
    assert!(succeeded < 4 * 600 / 22 + 8, "{succeeded} transactions, each after a rest of 20 ms");
    // N = X (R + Z): a client is in a transaction, or rests.
    let window = f64::from(CLIENTS) * number(&result["window"]["duration_ns"]) as f64;
    let waited = response["mean_ns"].as_f64().unwrap() * succeeded as f64;
    let rested = number(&result["client"]["resting_ns"]) as f64;
    let edges = f64::from(CLIENTS) * response["max_ns"].as_f64().unwrap();
    assert!(
        (waited + rested - window).abs() <= edges + 0.01 * window,
        "{waited} and {rested} of {window} ns"
    );
    assert!(rested > 0.5 * window);
    let answered = server.seen.answers.load(SeqCst);
    assert_eq!(number(&result["lifetime"]["transactions"]), answered, "nothing is begun after the window");
}

#[test]
fn events_come_in_order_and_on_time() {
    let server = Server::start(Manner { service: Duration::from_millis(1), ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &load(3, 2, 250, 400), &mut watch);
    let start = number(&result["window"]["start_mono_ns"]);
    let events: Vec<String> = watch
        .events
        .iter()
        .filter(|(_, event)| event["phase"] != "drain")
        .map(|(_, event)| match event["type"].as_str().unwrap() {
            "interval" => format!("{} {}", event["phase"].as_str().unwrap(), event["index"]),
            "phase" => format!("-> {}", event["phase"].as_str().unwrap()),
            other => other.to_string(),
        })
        .collect();
    let (warmup, measured): (Vec<_>, Vec<_>) = events[1..].iter().partition(|text| text.contains("warmup"));
    assert_eq!(events[0], "connected");
    assert_eq!(warmup, ["-> warmup", "warmup 0", "warmup 1", "warmup 2"]);
    assert_eq!(measured, ["-> measure", "measure 0", "measure 1", "measure 2", "measure 3"]);
    let lengths: Vec<_> =
        watch.of("interval").iter().map(|event| number(&event["duration_ns"]) / MILLISECOND).collect();
    assert_eq!(lengths, [100, 100, 50, 100, 100, 100, 100]);
    for (came, event) in watch.events.iter().filter(|(_, event)| event["type"] == "interval") {
        let end = number(&event["start_mono_ns"]) + number(&event["duration_ns"]);
        assert!((end..end + 150 * MILLISECOND).contains(came), "{} ns late", *came as i64 - end as i64);
        assert_eq!((number(&event["connected"]), number(&event["in_flight"])), (3, 3));
        let lines = event["hlog"].as_array().unwrap();
        if event["phase"] == "measure" {
            let at = (number(&event["start_mono_ns"]) - start) as f64 / 1e9;
            assert!(
                lines[0].as_str().unwrap().starts_with(&format!("Tag=transaction/response,{at:.3},0.100,"))
            );
        } else {
            assert!(lines.is_empty());
        }
    }
    assert!(result["hlog"][0].as_str().unwrap().starts_with("Tag=ask/response,0.000,0.400,"));
    assert_eq!(result["hlog_header"].as_array().unwrap().len(), 4);
}

#[test]
fn a_stall_shows_once_for_every_client() {
    let server = Server::start(Manner { service: Duration::from_millis(1), ..Manner::default() });
    let mut watch = Watch::new(|event: &Value| {
        if event["type"] == "interval" && event["phase"] == "measure" && event["index"] == 1 {
            server.stall(now() + 200 * MILLISECOND);
        }
        Directive::Continue
    });
    let echoes = echoes(8);
    let result = run(&echoes, &context(&server), &load(6, 2, 0, 700), &mut watch).unwrap();
    check_identities(&result, &watch);
    let response = &result["operations"][0]["response"];
    let max = number(&response["max_ns"]);
    assert!((190 * MILLISECOND..300 * MILLISECOND).contains(&max), "the longest response took {max} ns");
    assert_eq!(echoes.long.load(SeqCst), 6);
}

#[test]
fn a_lost_connection_is_an_error_and_its_time_is_in_the_record() {
    let service = Duration::from_millis(1);
    let server = Server::start(Manner { service, hang_up_every: 50, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &load(5, 2, 100, 800), &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "completed");
    let hang_ups = server.seen.hang_ups.load(SeqCst);
    assert!(hang_ups > 3);
    assert_eq!(number(&result["lifetime"]["failed"]), hang_ups);
    assert_eq!(result["errors"][0]["code"], "connection");
    assert_eq!(result["errors"][0]["message"], "the server closed the connection");
    let client = &result["client"];
    assert!(number(&client["connects"]).abs_diff(5 + hang_ups) <= 5, "{client:#} after {hang_ups}");
    // The client is without a connection for the back-off at least, and that is in its next response time.
    let reconnects = number(&client["reconnects"]);
    assert!(number(&client["reconnecting_ns"]) > (reconnects - 1) * 10 * MILLISECOND);
    let transaction = &result["operations"][0];
    assert!(number(&transaction["response"]["max_ns"]) >= 11 * MILLISECOND);
    let waited = transaction["response"]["mean_ns"].as_f64().unwrap()
        * number(&transaction["succeeded"]) as f64
        + transaction["failed_response"]["mean_ns"].as_f64().unwrap() * number(&transaction["failed"]) as f64;
    let window = 5.0 * number(&result["window"]["duration_ns"]) as f64;
    assert!((waited / window - 1.0).abs() < 0.15, "{waited} of {window} ns");
    let codes: Vec<_> = watch.of("trouble").iter().map(|event| event["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"connection") && codes.contains(&"reconnected"), "{codes:?}");
}

#[test]
fn answers_in_pieces_and_requests_larger_than_the_socket_takes_are_whole() {
    let pieces = Server::start(Manner { in_pieces: true, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&pieces, &load(2, 1, 0, 200), &mut watch);
    check_identities(&result, &watch);
    assert!(number(&result["operations"][0]["succeeded"]) > 10);

    let request = 8 << 20; // More than the buffers of both sockets.
    let large = Server::start(Manner { request, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let patient = Load { drain_ns: 20 * SECOND, ..load(2, 1, 0, 400) };
    let result = run(&echoes(request), &context(&large), &patient, &mut watch).unwrap();
    check_identities(&result, &watch);
    assert!(number(&result["lifetime"]["transactions"]) >= 2);
    assert_eq!(number(&result["lifetime"]["transactions"]), large.seen.answers.load(SeqCst));
}
