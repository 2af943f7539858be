//! The proxy between real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

fn spec() -> Spec {
    let target = json!({"protocol": "resp", "sslmode": "disable", "connect_timeout_ns": 1});
    let target = serde_json::from_value(target).unwrap();
    Spec { target, threads: 1, connections: 16, processors: Vec::new(), seed: 1 }
}

fn proxy(upstream: SocketAddr) -> Proxy {
    Proxy::between([Address::Tcp(upstream)].into(), &spec()).unwrap()
}

fn client(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A server that handles each connection on a thread.
fn server(handle: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| drop(thread::spawn(move || handle(stream))))
    });
    address
}

/// Send back whatever comes.
fn echo(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn exchange(stream: &mut TcpStream, message: &[u8]) -> io::Result<Duration> {
    let began = Instant::now();
    stream.write_all(message)?;
    let mut answer = vec![0; message.len()];
    stream.read_exact(&mut answer)?;
    assert_eq!(answer, message);
    Ok(began.elapsed())
}

fn is_reset(result: io::Result<impl Sized>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::ConnectionReset)
}

fn effect(text: serde_json::Value) -> Effect {
    serde_json::from_value(text).unwrap()
}

#[test]
fn bytes_and_ends_arrive_in_both_directions() {
    let proxy = proxy(server(echo));
    let mut stream = client(&proxy);
    exchange(&mut stream, b"hello").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "the server ended after the client");
    drop(stream);
    let totals = proxy.stop();
    assert_eq!((totals.connections, totals.bytes), (1, [5, 5]));
}

#[test]
fn long_streams_arrive_complete() {
    const SIZE: usize = 64 << 20;
    let proxy = proxy(server(echo));
    let mut sender = client(&proxy);
    let mut receiver = sender.try_clone().unwrap();
    let pattern: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).unwrap();
        all
    });
    sender.write_all(&pattern).unwrap();
    sender.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(reading.join().unwrap() == pattern);
}

#[test]
fn a_slow_reader_holds_its_sender_up_and_loses_nothing() {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let proxy = proxy(server(|mut stream| {
        let block = [7; 65536];
        for _ in 0..512 {
            if stream.write_all(&block).is_err() {
                return;
            }
            SENT.fetch_add(1, Relaxed);
        }
    }));
    let mut stream = client(&proxy);
    thread::sleep(Duration::from_millis(300));
    assert!(SENT.load(Relaxed) < 512, "it is held up");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), 512 * 65536);
}

#[test]
fn a_target_may_listen_on_a_unix_socket() {
    let path = std::env::temp_dir().join(format!("loadcell-proxy-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"welcome").unwrap();
    });
    let proxy = Proxy::between([Address::Unix(path.clone())].into(), &spec()).unwrap();
    let mut answer = String::new();
    client(&proxy).read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "welcome");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_target_that_is_down_resets_clients() {
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = proxy(nowhere);
    assert!(is_reset(client(&proxy).read(&mut [0; 8])));
    assert_eq!(proxy.stop().unconnected, 1);
}

#[test]
fn a_delay_holds_each_direction_back_and_ends() {
    let proxy = proxy(server(echo));
    let mut stream = client(&proxy);
    exchange(&mut stream, b"before").unwrap();
    let delay = |direction: &str| {
        effect(json!({"delay": {"time_ns": 20_000_000, "jitter_ns": 0, "direction": direction}}))
    };
    for (direction, least_ms) in [("to-client", 20), ("to-server", 20), ("both", 40)] {
        let number = proxy.begin(delay(direction)).unwrap();
        let took = exchange(&mut stream, b"delayed").unwrap();
        assert!(took >= Duration::from_millis(least_ms), "{direction}: {took:?}");
        proxy.end(number).unwrap();
    }
    assert!(exchange(&mut stream, b"after").unwrap() < Duration::from_millis(20));
    let number = proxy
        .begin(effect(json!({"delay": {"time_ns": 60_000_000_000u64, "jitter_ns": 0, "direction": "both"}})))
        .unwrap();
    stream.write_all(b"held").unwrap();
    thread::sleep(Duration::from_millis(50));
    proxy.end(number).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"held", "it is released at the end");
}

#[test]
fn the_end_of_a_stream_is_delayed_after_its_bytes() {
    let proxy = proxy(server(|mut stream| drop(stream.write_all(b"bye"))));
    proxy
        .begin(effect(
            json!({"delay": {"time_ns": 30_000_000, "jitter_ns": 10_000_000, "direction": "to-client"}}),
        ))
        .unwrap();
    let (began, mut answer) = (Instant::now(), String::new());
    client(&proxy).read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "bye");
    assert!(began.elapsed() >= Duration::from_millis(20));
}

#[test]
fn connections_share_a_bandwidth() {
    const RATE: u64 = 4_000_000;
    let proxy = proxy(server(echo));
    let mut streams: Vec<_> = (0..4).map(|_| client(&proxy)).collect();
    streams.iter_mut().try_for_each(|stream| exchange(stream, b"x").map(|_| ())).unwrap();
    proxy.begin(effect(json!({"bandwidth": {"bytes_per_s": RATE, "direction": "to-client"}}))).unwrap();
    let began = Instant::now();
    let reading: Vec<_> = streams
        .into_iter()
        .map(|mut stream| {
            thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                let writing = thread::spawn(move || writer.write_all(&[1; 500_000]));
                stream.read_exact(&mut [0; 500_000]).unwrap();
                writing.join().unwrap().unwrap();
            })
        })
        .collect();
    reading.into_iter().for_each(|thread| thread.join().unwrap());
    let share = 2_000_000.0 / began.elapsed().as_secs_f64() / RATE as f64;
    // A busy machine may be slower. The truth test bounds both sides.
    assert!((0.5..1.05).contains(&share), "{share} of the bandwidth");
}

#[test]
fn connections_are_reset_as_long_as_it_lasts() {
    let proxy = proxy(server(echo));
    let mut stream = client(&proxy);
    exchange(&mut stream, b"before").unwrap();
    let number = proxy.begin(Effect::Reset {}).unwrap();
    assert!(is_reset(stream.read(&mut [0; 8])));
    let refused = TcpStream::connect(proxy.address()).and_then(|mut stream| stream.read(&mut [0; 8]));
    assert!(is_reset(refused));
    proxy.end(number).unwrap();
    exchange(&mut client(&proxy), b"after").unwrap();
    assert_eq!(proxy.stop().reset, 2);
}

#[test]
fn new_connections_are_refused_and_old_ones_stay() {
    let proxy = proxy(server(echo));
    let mut stream = client(&proxy);
    exchange(&mut stream, b"before").unwrap();
    let number = proxy.begin(Effect::Refuse {}).unwrap();
    let refused = TcpStream::connect(proxy.address()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    exchange(&mut stream, b"meanwhile").unwrap();
    proxy.end(number).unwrap();
    exchange(&mut client(&proxy), b"after").unwrap();
}

#[test]
fn connections_lead_to_another_target_after_a_reset() {
    let proxy = proxy(server(echo));
    let mut stream = client(&proxy);
    exchange(&mut stream, b"before").unwrap();
    let other = server(|mut stream| drop(stream.write_all(b"other")));
    let target = json!({
        "protocol": "resp", "host": "127.0.0.1", "port": other.port(), "sslmode": "disable",
        "connect_timeout_ns": 1,
    });
    let number = proxy.begin(effect(json!({"redirect": {"target": target}}))).unwrap();
    assert!(is_reset(stream.read(&mut [0; 8])));
    let mut answer = [0; 5];
    client(&proxy).read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"other");
    // another effect changes nothing about it
    let delay = json!({"delay": {"time_ns": 1, "jitter_ns": 0, "direction": "both"}});
    proxy.end(proxy.begin(effect(delay)).unwrap()).unwrap();
    client(&proxy).read_exact(&mut answer).unwrap();
    proxy.end(number).unwrap();
    exchange(&mut client(&proxy), b"after").unwrap();
    assert!(proxy.stop().reset >= 1);
}

#[test]
fn a_black_hole_swallows_bytes_and_keeps_connections_open() {
    let proxy = proxy(server(echo));
    let (mut used, mut idle) = (client(&proxy), client(&proxy));
    exchange(&mut used, b"before").unwrap();
    exchange(&mut idle, b"before").unwrap();
    let number = proxy.begin(Effect::Blackhole {}).unwrap();
    let mut new = client(&proxy);
    for stream in [&mut used, &mut new] {
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        stream.write_all(b"lost").unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
    proxy.end(number).unwrap();
    assert!(is_reset(used.read(&mut [0; 8])), "its bytes are lost");
    assert!(is_reset(new.read(&mut [0; 8])), "the target does not know of it");
    exchange(&mut idle, b"after").unwrap();
    assert_eq!(proxy.stop().swallowed_bytes, 8);
}

/// Answer each request of HTTP with its own body.
fn http(mut stream: TcpStream) {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(length) = request::header_length(&received) {
            let header = request::read(&received[..length]).unwrap();
            let request::Body::Bytes(body) = header.body else { return };
            let total = length + body as usize;
            if received.len() < total {
                break;
            }
            let body = &received[length..total];
            let mut answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
            answer.extend_from_slice(body);
            if stream.write_all(&answer).is_err() {
                return;
            }
            received.drain(..total);
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => received.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
}

/// Status and body of the response to a request.
fn ask(stream: &mut TcpStream, body: &str) -> io::Result<(u16, String)> {
    write!(stream, "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        text.push(byte[0]);
    }
    let header = String::from_utf8(text).unwrap();
    let length = header.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok((header[9..12].parse().unwrap(), String::from_utf8(body).unwrap()))
}

#[test]
fn a_share_of_requests_is_answered_with_an_error() {
    let proxy = proxy(server(http));
    let mut stream = client(&proxy);
    assert_eq!(ask(&mut stream, "before").unwrap(), (200, "before".into()));
    let number = proxy.begin(effect(json!({"http-5xx": {"share": 0.3, "status": 503}}))).unwrap();
    let mut failed = 0;
    for request in 0..1000 {
        let body = format!("body {request}");
        match ask(&mut stream, &body).unwrap() {
            (503, _) => failed += 1,
            answer => assert_eq!(answer, (200, body)),
        }
    }
    assert!((230..370).contains(&failed), "{failed} of 1000");
    proxy.end(number).unwrap();
    assert_eq!(ask(&mut stream, "after").unwrap(), (200, "after".into()));
    assert_eq!(proxy.stop().answered, failed);
}

#[test]
fn a_response_is_cut_and_its_connection_closed() {
    let proxy = proxy(server(http));
    let mut stream = client(&proxy);
    ask(&mut stream, "before").unwrap();
    let number = proxy.begin(effect(json!({"truncate": {"bytes": 45}}))).unwrap();
    assert_eq!(ask(&mut stream, "short").unwrap().0, 200, "it is shorter");
    write!(stream, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012345");
    proxy.end(number).unwrap();
    assert_eq!(ask(&mut client(&proxy), "0123456789").unwrap().0, 200);
    assert_eq!(proxy.stop().truncated, 1);
}

#[test]
fn several_threads_follow_an_effect_at_once() {
    let proxy = Proxy::between([Address::Tcp(server(echo))].into(), &Spec { threads: 3, ..spec() }).unwrap();
    let mut streams: Vec<_> = (0..32).map(|_| client(&proxy)).collect();
    streams.iter_mut().try_for_each(|stream| exchange(stream, b"before").map(|_| ())).unwrap();
    proxy.begin(Effect::Reset {}).unwrap();
    for mut stream in streams {
        assert!(is_reset(stream.read(&mut [0; 8])));
    }
    assert_eq!(proxy.stop().reset, 32);
}
