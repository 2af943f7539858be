//! Complete probes on the loopback, compared with the server's counts; and unrelated or hostile peers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::handshake::{ANSWER_BYTES, Answer, Hello, Test};
use super::server::{Server, ServerTotals};
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::os;

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: &Value) -> Directive {
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

fn server() -> Server {
    Server::start(listener()).unwrap()
}

fn spec(peer: &str, network: &Value, load: &Value) -> String {
    let mut load_spec =
        json!({"clients": 2, "warmup_ns": 20_000_000, "duration_ns": 150_000_000, "interval_ns": 50_000_000});
    load_spec.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let spec = json!({"seed": 5, "target": {"protocol": "host", "peer": peer},
        "workload": {"probe": {"network": network}}, "load": load_spec});
    loadcell_testing::specification(spec).to_string()
}

fn run(server: &Server, network: &Value, load: &Value) -> Value {
    let result =
        loadcell_dispatch::run(&spec(&server.address.to_string(), network, load), &mut Nobody).unwrap();
    let transaction = &result["operations"][0];
    let of = |name: &str| transaction[name].as_u64().unwrap();
    assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{transaction}");
    result
}

/// Totals of the server, once every client has left.
fn settled(server: &Server) -> ServerTotals {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !server.is_idle() {
        assert!(Instant::now() < deadline, "connections that never end");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.served()
}

#[test]
fn client_and_server_count_the_same_requests() {
    for (test, connections) in [("rr", Some(2)), ("crr", None)] {
        let server = server();
        let network = json!({"test": test, "request_bytes": 4096, "response_bytes": 70_000});
        let result = run(&server, &network, &json!({"requests": 100, "duration_ns": 60_000_000_000_u64}));
        assert_eq!(
            (&result["outcome"], &result["errors"]),
            (&json!("completed"), &json!([])),
            "{}",
            result["reason_args"]["said"]
        );
        assert_eq!(result["operations"][0]["succeeded"], 100);
        let served = settled(&server);
        let lifetime = result["lifetime"]["transactions"].as_u64().unwrap();
        assert_eq!(served.transactions, lifetime, "{test}");
        assert_eq!(served.connections, connections.unwrap_or(lifetime), "{test}");
        assert!(result["figures"]["transactions_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn stream_is_counted_at_the_receiver() {
    let server = server();
    let network = json!({"test": "stream", "block_bytes": 10_000});
    let result = run(&server, &network, &json!({"warmup_ns": 0}));
    assert_eq!(
        (&result["outcome"], &result["errors"]),
        (&json!("completed"), &json!([])),
        "{}",
        result["reason_args"]["said"]
    );
    let transaction = &result["operations"][0];
    let arrived = transaction["succeeded"].as_u64().unwrap();
    let (handed_over, served) = (transaction["attempted"].as_u64().unwrap(), settled(&server));
    assert!(arrived > 0 && served.connections == 2);
    // Bytes in flight at the end may have arrived, too.
    assert!((arrived * 10_000..=(handed_over + 2) * 10_000).contains(&served.received_bytes), "{served:?}");
    let seconds = result["window"]["duration_ns"].as_f64().unwrap() / 1e9;
    let figure = result["figures"]["mbit_per_s"].as_f64().unwrap();
    assert!((figure - arrived as f64 * 80_000.0 / 1e6 / seconds).abs() < 1e-6 * figure);
}

#[test]
fn stream_ends_at_its_block_count() {
    let server = server();
    let network = json!({"test": "stream", "block_bytes": 1000});
    let result =
        run(&server, &network, &json!({"requests_per_client": 50, "duration_ns": 60_000_000_000_u64}));
    assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]["said"]);
    assert_eq!(result["operations"][0]["succeeded"], 100);
    let lifetime = result["lifetime"]["transactions"].as_u64().unwrap();
    assert_eq!(settled(&server).received_bytes, lifetime * 1000);
}

fn problem(peer: &str) -> String {
    match loadcell_dispatch::run(&spec(peer, &json!({"test": "rr"}), &json!({})), &mut Nobody) {
        Err(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_that_is_gone_is_reported_before_anything_is_measured() {
    let gone = listener().local_addr().unwrap(); // It is closed again.
    let message = problem(&gone.to_string());
    assert!(message.contains("engine.peer-gone") && message.contains("Connection refused"), "{message}");
    assert!(message.contains(&gone.to_string()));
    assert!(problem("no port").contains("engine.peer-name"));
}

/// A server that sends these bytes to every client and closes.
fn stranger(says: Vec<u8>) -> String {
    let listener = listener();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(&says);
    });
    address
}

#[test]
fn unrelated_and_incompatible_servers_are_distinguished() {
    assert!(
        problem(&stranger(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())).contains("engine.peer-stranger")
    );
    assert!(problem(&stranger(Vec::new())).contains("engine.peer-stranger"));
    let mut other = Answer::Welcome.encode();
    other[9] = 9;
    let message = problem(&stranger(other.to_vec()));
    assert!(message.contains("engine.peer-version") && message.contains("\"found\":9"), "{message}");
    assert!(problem(&stranger(Answer::Full.encode().to_vec())).contains("engine.peer-full"));
}

#[test]
fn lost_peer_ends_the_load() {
    // Accepts one greeting and one test, which it aborts.
    let listener = listener();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(&Answer::Welcome.encode());
            let _ = stream.read(&mut [0; 1]);
        }
    });
    let load = json!({"clients": 1, "warmup_ns": 0, "duration_ns": 60_000_000_000_u64});
    let result = loadcell_dispatch::run(&spec(&address, &json!({"test": "rr"}), &load), &mut Nobody).unwrap();
    assert_eq!(result["outcome"], "lost");
    assert!(
        result["reason_args"]["said"].as_str().unwrap().contains("the peer broke the connection off"),
        "{}",
        result["reason_args"]["said"]
    );
    assert_eq!(result["errors"][0]["code"], "reset");
}

#[test]
fn exhausted_ports_are_transient() {
    let fault = super::fault(&std::io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
    assert!(!fault.fatal && fault.code == os::PORTS);
}

fn answer_to(server: &Server, message: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(message).unwrap();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    received
}

#[test]
fn unrelated_clients_get_no_answer() {
    let server = server();
    assert_eq!(answer_to(&server, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"), b"");
    assert_eq!(answer_to(&server, b"too short"), b"");
    let mut other = Hello { test: Test::Rr, request: 1, response: 1 }.encode();
    other[9] = 200;
    assert_eq!(answer_to(&server, &other), Answer::Version.encode());
    let huge = Hello { test: Test::Rr, request: u32::MAX, response: 1 }.encode();
    assert_eq!(answer_to(&server, &huge), Answer::Unknown.encode());
    assert_eq!(server.served().transactions, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arbitrary_input_never_breaks_the_server(
        message in prop::collection::vec(any::<u8>(), 0..200),
        valid: bool,
    ) {
        let server = server();
        let mut all = if valid { Hello { test: Test::Rr, request: 7,
            response: 3 }.encode().to_vec() } else { Vec::new() };
        all.extend(&message);
        let received = answer_to(&server, &all);
        prop_assert!(!valid || received.len() == ANSWER_BYTES + message.len() / 7 * 3, "{} octets",
            received.len());
        let greeted = answer_to(&server, &Hello { test: Test::Greeting, request: 1, response: 1 }.encode());
        prop_assert_eq!(greeted, Answer::Welcome.encode());
    }
}
