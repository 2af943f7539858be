//! Whole loads of HTTP/2, with a server that goes away.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use serde_json::{Value, json};

use super::{Watch, check_operations, ground_of, load, number};
use crate::http::Sessions;
use crate::load::run;
use crate::observe::Go;
use crate::protocol::http2::Http2;
use crate::spec::{Load, Spec};

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PREFACE: usize = 24;

#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
}

/// How a server leaves.
#[derive(Clone, Copy)]
enum Manner {
    /// So many requests are answered on a connection; the next is said not to have been begun.
    Refuse(u64),
    /// With the last of so many answers it says that it leaves, and hangs up.
    Leave(u64),
    /// It says so when nobody asks for anything.
    LeaveIdle(u64),
}

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags], &stream[..], payload].concat()
}

/// GOAWAY: the last request that was begun, and why (NO_ERROR).
fn go_away(last: [u8; 4]) -> Vec<u8> {
    frame(7, 0, [0; 4], &[last, [0; 4]].concat())
}

fn serve(manner: Manner) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
    let its = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, seen) = (stream.unwrap(), its.clone());
            stream.set_nodelay(true).unwrap();
            seen.connections.fetch_add(1, SeqCst);
            thread::spawn(move || converse(stream, &seen, manner));
        }
    });
    (address, seen)
}

/// One connection, until it ends; none tells that it has.
fn converse(mut stream: TcpStream, seen: &Seen, manner: Manner) -> Option<()> {
    let mut preface = [0; PREFACE];
    stream.read_exact(&mut preface).ok()?;
    stream.write_all(SETTINGS).ok()?;
    let (mut asked, mut before) = (0u64, [0; 4]);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let [a, b, c, kind, _, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).ok()?;
        if kind != 1 {
            continue;
        }
        asked += 1;
        if matches!(manner, Manner::Refuse(most) if asked > most) {
            seen.refused.fetch_add(1, SeqCst);
            return stream.write_all(&go_away(before)).ok();
        }
        let answer = [frame(1, 4, id, &[0x88]), frame(0, 1, id, b"ok")].concat();
        seen.answered.fetch_add(1, SeqCst);
        match manner {
            Manner::Leave(most) if asked == most => return stream.write_all(&[go_away(id), answer].concat()).ok(),
            Manner::LeaveIdle(most) if asked == most => {
                // The client must not ask again here, although the connection stays for a while.
                stream.write_all(&[answer, go_away(id)].concat()).ok()?;
                while stream.read(&mut head).ok()? > 0 {
                    seen.refused.fetch_add(1, SeqCst);
                }
                return Some(());
            }
            _ => stream.write_all(&answer).ok()?,
        }
        before = id;
    }
}

fn measure(manner: Manner, requests: u64) -> (Value, Arc<Seen>) {
    let (address, seen) = serve(manner);
    let load = Load { requests: Some(requests), ..load(3, 2, 0, 30_000) };
    let spec = json!({
        "version": 1,
        "target": {"protocol": "http", "host": "127.0.0.1", "port": address.port(), "sslmode": "disable"},
        "workload": {"http": {"version": "2", "requests": [{"path": "/"}]}},
        "load": {"clients": load.clients, "duration_ns": load.duration_ns},
    });
    let spec = Spec::read(&spec.to_string()).unwrap();
    let sessions = Sessions::<Http2>::new(&spec, spec.workload().1).unwrap();
    let mut watch = Watch::new(|_| Go::On);
    let result = run(&sessions, &ground_of(address), &load, &mut watch).unwrap();
    check_operations(&result, &result["operations"].as_array().unwrap()[..1], &watch);
    (result, seen)
}

/// Of all transactions: attempted, failed, retried.
fn counts(result: &Value) -> [u64; 3] {
    let lifetime = &result["operations"][0];
    ["attempted", "failed", "retried"].map(|name| number(&lifetime[name]))
}

#[test]
fn a_request_that_was_refused_is_made_again_and_counted_once() {
    let (result, seen) = measure(Manner::Refuse(7), 300);
    let [_, failed, retried] = counts(&result);
    assert_eq!((failed, result["errors"].as_array().unwrap().len()), (0, 0), "{result:#}");
    assert!(retried > 0);
    assert_eq!(number(&result["lifetime"]["transactions"]), seen.answered.load(SeqCst));
    assert!(retried <= seen.refused.load(SeqCst));
    assert_eq!(seen.connections.load(SeqCst), 3 + seen.refused.load(SeqCst));
}

#[test]
fn a_server_that_leaves_after_an_answer_costs_no_count() {
    for manner in [Manner::Leave(5), Manner::LeaveIdle(5)] {
        let (result, seen) = measure(manner, 200);
        assert_eq!(counts(&result)[1..], [0, 0], "{result:#}");
        assert_eq!(number(&result["lifetime"]["transactions"]), seen.answered.load(SeqCst));
        assert_eq!(seen.refused.load(SeqCst), 0);
        assert!(seen.connections.load(SeqCst) > 3);
    }
}

#[test]
fn a_server_that_refuses_whatever_it_is_asked_fails_with_its_code() {
    let (result, _) = measure(Manner::Refuse(0), 20);
    assert_eq!(counts(&result), [20, 20, 100], "{result:#}");
    assert_eq!(result["errors"][0]["code"], "NO_ERROR");
}
