//! Whole loads of HTTP/2, with a server that goes away.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Watch, check_operations, ground_of, load, number};
use loadcell_core::clock::{MILLISECOND, Nanos};
use loadcell_core::observe::Directive;
use loadcell_core::spec::{Load, Spec};
use loadcell_load::{ClientFactory, run};
use loadcell_protocols::http2::Http2;
use loadcell_workloads::http::{Sessions, StreamSessions};

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PREFACE: usize = 24;
const AT_ONCE: u8 = 3;
const SHORT: Duration = Duration::from_millis(2);

#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    at_once: AtomicU64,
}

/// Behaviour of a server that ends connections.
#[derive(Clone, Copy)]
enum Manner {
    /// It answers this number of requests on a connection, and refuses the next one as not processed.
    Refuse(u64),
    /// After this number of answers it announces the end (GOAWAY), and closes.
    Leave(u64),
    /// It says so when nobody asks for anything.
    LeaveIdle(u64),
    /// It resets every so-manieth request.
    Reset(u64),
    /// It takes three requests, and answers the last of them first; every so-manieth it never answers.
    Backwards(u64),
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
    if matches!(manner, Manner::Backwards(_)) {
        stream.write_all(&frame(4, 0, [0; 4], &[0, 3, 0, 0, 0, AT_ONCE])).ok()?;
    } else {
        stream.write_all(SETTINGS).ok()?;
    }
    let mut waiting: Vec<[u8; 4]> = Vec::new();
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
            return hang_up(stream, &go_away(before));
        }
        let answer = |id| [frame(1, 4, id, &[0x88]), frame(0, 1, id, b"ok")].concat();
        match manner {
            Manner::Reset(nth) if asked.is_multiple_of(nth) => {
                seen.refused.fetch_add(1, SeqCst);
                stream.write_all(&frame(3, 0, id, &[0, 0, 0, 2])).ok()?;
                continue;
            }
            Manner::Backwards(nth) => {
                waiting.push(id);
                seen.at_once.fetch_max(waiting.len() as u64, SeqCst);
                // The last requests of a load may be fewer: then the others are answered as soon as nothing
                // else comes.
                stream.set_read_timeout(Some(SHORT)).ok()?;
                if waiting.len() < AT_ONCE.into() && stream.peek(&mut [0]).is_ok_and(|count| count > 0) {
                    continue;
                }
                stream.set_read_timeout(None).ok()?;
                for id in waiting.drain(..).rev() {
                    if seen.answered.fetch_add(1, SeqCst) % nth < nth - 1 {
                        stream.write_all(&answer(id)).ok()?;
                    }
                }
                continue;
            }
            _ => {}
        }
        let answer = answer(id);
        seen.answered.fetch_add(1, SeqCst);
        match manner {
            Manner::Leave(most) if asked == most => return hang_up(stream, &[go_away(id), answer].concat()),
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

/// The last words. What the client still asks is read: a socket that is closed over unread requests resets
/// the connection, and the client may never see what it was told.
fn hang_up(mut stream: TcpStream, last: &[u8]) -> Option<()> {
    stream.write_all(last).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    while stream.read(&mut [0; 512]).ok()? > 0 {}
    Some(())
}

fn measure(manner: Manner, requests: u64) -> (Value, Arc<Seen>) {
    measure_several(manner, requests, 1, None)
}

/// Runs a load with `streams` streams and a timeout of requests.
fn measure_several(
    manner: Manner,
    requests: u64,
    streams: u32,
    timeout_ns: Option<Nanos>,
) -> (Value, Arc<Seen>) {
    let (address, seen) = serve(manner);
    let load = Load { requests: Some(requests), timeout_ns, ..load(3, 2, 0, 30_000) };
    let spec = json!({
        "version": 1,
        "target": {"protocol": "http", "host": "127.0.0.1", "port": address.port(), "sslmode": "disable"},
        "workload": {"http": {"version": "2", "streams": streams, "requests": [{"path": "/"}]}},
        "load": {"clients": load.clients, "duration_ns": load.duration_ns},
    });
    let spec = Spec::read(&loadcell_testing::specification(spec).to_string()).unwrap();
    let section = spec.workload().1;
    let sessions: Box<dyn ClientFactory> = match streams {
        1 => Box::new(Sessions::<Http2>::new(&spec, section).unwrap()),
        _ => Box::new(StreamSessions::new(&spec, section).unwrap()),
    };
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = run(&*sessions, &ground_of(address), &load, &mut watch).unwrap();
    check_operations(&result, &result["operations"].as_array().unwrap()[..1], &watch);
    (result, seen)
}

/// Counts of all transactions: attempted, failed, retried.
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

#[test]
fn several_requests_at_once_are_counted_once_each() {
    let (result, seen) = measure_several(Manner::Leave(7), 300, 4, None);
    assert_eq!(counts(&result)[1], 0, "{result:#}");
    assert_eq!(number(&result["lifetime"]["transactions"]), 300);
    assert!(seen.connections.load(SeqCst) > 3);
}

#[test]
fn a_reset_costs_its_request_and_not_the_connection() {
    for streams in [1, 5] {
        let (result, seen) = measure_several(Manner::Reset(5), 200, streams, None);
        let reset = seen.refused.load(SeqCst);
        assert!(reset >= 200 / 5 - 3, "{reset}");
        assert_eq!(counts(&result), [200, reset, 0], "{result:#}");
        assert_eq!(result["errors"][0]["code"], "INTERNAL_ERROR");
        assert_eq!(seen.connections.load(SeqCst), 3);
    }
}

#[test]
fn there_are_never_more_at_once_than_the_server_takes() {
    let (result, seen) = measure_several(Manner::Backwards(u64::MAX), 300, 8, None);
    assert_eq!((counts(&result)[1], number(&result["lifetime"]["transactions"])), (0, 300), "{result:#}");
    assert_eq!(seen.at_once.load(SeqCst), u64::from(AT_ONCE));
    assert_eq!(result["remarks"], json!({"streams": {"asked_for": 8, "taken": AT_ONCE}}));
}

#[test]
fn a_request_without_an_answer_times_out_and_the_others_go_on() {
    let (result, seen) = measure_several(Manner::Backwards(20), 100, 8, Some(100 * MILLISECOND));
    let [attempted, failed, _] = counts(&result);
    assert_eq!((attempted, failed >= 100 / 20), (100, true), "{result:#}");
    assert_eq!(result["errors"][0]["code"], "timeout");
    assert_eq!(seen.connections.load(SeqCst), 3);
}
