//! Backpressure of services that stall for a known time or read at a known rate. The bounds from below and
//! above are the arithmetic, so that half the time and twice the time fail.

use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::{Seen, Service, Stream, sink};
use super::{failed, measured, metric, run, specification};

const RECORD_BYTES: f64 = 1_000.0;
const RATE_PER_S: f64 = 2_000.0;
/// Size that the send buffer is asked to have, and the size that the kernel gives it.
const SEND_BUFFER: u64 = 20_000;
const SEND_BUFFER_GIVEN: f64 = 2.0 * SEND_BUFFER as f64;
/// Twice the size that a receive buffer has at first (`tcp_rmem`): it may grow.
const RECEIVE_BUFFER: f64 = 2.0 * 131_072.0;
/// Time for which client or service may wait for a processor.
const SLACK_S: f64 = 0.1;

/// Reads everything, but nothing for a while, once: from `after_s` after the begin of the connection on.
fn stalling(after_s: f64, for_s: f64) -> impl Fn(Box<dyn Stream>, &Seen) {
    move |mut stream, seen| {
        let (began, mut bytes) = (Instant::now(), vec![0; 1 << 16]);
        while began.elapsed().as_secs_f64() < after_s {
            if stream.read(&mut bytes).unwrap_or(0) == 0 {
                return;
            }
        }
        thread::sleep(Duration::from_secs_f64(for_s));
        sink(stream, seen);
    }
}

/// Records at a fixed rate for each of the connections.
fn at_rate(clients: u32, warmup_s: f64, duration_s: f64) -> Value {
    let per_s = RATE_PER_S * f64::from(clients);
    let rate = json!([{"from_per_s": per_s, "to_per_s": per_s, "for_ns": 20_000_000_000u64}]);
    json!({"clients": clients, "warmup_ns": (warmup_s * 1e9) as u64, "duration_ns": (duration_s * 1e9) as u64,
        "schedule": {"rate": rate}})
}

fn stream() -> Value {
    json!({"size": RECORD_BYTES as u64, "send_buffer": SEND_BUFFER})
}

/// Time blocked of a load, in seconds.
fn blocked_s(result: &Value) -> f64 {
    assert_eq!((result["outcome"].as_str(), failed(result)), (Some("completed"), 0), "{}", result["errors"]);
    metric(result, "stream.blocked_time") / 1e3
}

/// Bounds of the time blocked by a stall: records fill the buffers at first.
fn blocked_by(stall_s: f64, buffers: f64) -> RangeInclusive<f64> {
    let filling_s = buffers / (RATE_PER_S * RECORD_BYTES);
    stall_s - filling_s - SLACK_S..=stall_s + SLACK_S
}

/// Repeats a check in real time up to four times, if other work on the machine disturbed it.
fn undisturbed(check: impl Fn()) {
    for _ in 0..4 {
        if catch_unwind(AssertUnwindSafe(&check)).is_ok() {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
    check();
}

#[test]
fn the_time_blocked_is_the_stall_without_the_filling_of_the_buffers() {
    undisturbed(|| {
        for (service, buffers) in [
            (Service::local(stalling(0.5, 1.0)), SEND_BUFFER_GIVEN),
            (Service::start(stalling(0.5, 1.0)), SEND_BUFFER_GIVEN + RECEIVE_BUFFER),
        ] {
            let result = measured(&service, stream(), at_rate(1, 0.0, 2.0));
            let (blocked_s, bounds) = (blocked_s(&result), blocked_by(1.0, buffers));
            assert!(bounds.contains(&blocked_s), "{blocked_s} s, {bounds:?}");
            let share = metric(&result, "stream.blocked_share");
            assert!((share - blocked_s / 2.0).abs() < 0.01, "{share} of 2 s");
        }
    });
}

#[test]
fn the_time_blocked_is_that_within_the_measurement() {
    undisturbed(|| {
        // From 0.5 s to 1.5 s: the stall begins before it, lies within it, and ends after it.
        for (after_s, for_s) in [(0.2, 0.8), (0.75, 0.5), (1.0, 1.0)] {
            let service = Service::local(stalling(after_s, for_s));
            let blocked_s = blocked_s(&measured(&service, stream(), at_rate(1, 0.5, 1.0)));
            let bounds = blocked_by(0.5, SEND_BUFFER_GIVEN);
            assert!(bounds.contains(&blocked_s), "{blocked_s} s, stall after {after_s} s");
        }
    });
}

#[test]
fn the_share_is_that_of_all_connections() {
    undisturbed(|| {
        let connections = AtomicU32::new(0);
        let (intact, stalled) = (sink, stalling(0.5, 1.0));
        let service = Service::local(move |stream, seen| match connections.fetch_add(1, SeqCst) {
            0 => stalled(stream, seen),
            _ => intact(stream, seen),
        });
        let result = measured(&service, stream(), at_rate(2, 0.0, 2.0));
        let (blocked_s, bounds) = (blocked_s(&result), blocked_by(1.0, SEND_BUFFER_GIVEN));
        assert!(bounds.contains(&blocked_s), "{blocked_s} s, {bounds:?}");
        let share = metric(&result, "stream.blocked_share");
        assert!((share - blocked_s / 4.0).abs() < 0.01, "{share} of 2 connections for 2 s");
    });
}

#[test]
fn a_service_that_reads_slowly_blocks_all_the_time() {
    undisturbed(|| {
        const READ_BYTES: usize = 10_000;
        let service = Service::local(|mut stream, _| {
            let (began, mut bytes, mut total) = (Instant::now(), vec![0; READ_BYTES], 0);
            // A megabyte per second for 1.5 s, and then everything.
            while began.elapsed() < Duration::from_millis(1_500) {
                let due = Duration::from_micros(total);
                thread::sleep(due.saturating_sub(began.elapsed()));
                total += stream.read(&mut bytes).unwrap_or(0) as u64;
            }
            sink(stream, &Seen::default());
        });
        let result = measured(&service, stream(), json!({"duration_ns": 1_000_000_000}));
        let blocked_s = blocked_s(&result);
        assert!((1.0 - SLACK_S..=1.0).contains(&blocked_s), "{blocked_s} s of 1 s");
        let mean = metric(&result, "stream.unacknowledged.mean");
        assert!((SEND_BUFFER_GIVEN / 4.0..=2.0 * SEND_BUFFER_GIVEN).contains(&mean), "{mean}");
    });
}

#[test]
fn a_service_that_reads_fast_enough_blocks_never() {
    undisturbed(|| {
        let result = measured(&Service::local(sink), stream(), at_rate(1, 0.0, 1.0));
        let blocked_s = blocked_s(&result);
        assert!(blocked_s < SLACK_S, "{blocked_s} s");
    });
}

#[test]
fn unread_bytes_of_a_unix_socket_are_unacknowledged_with_the_overhead_of_the_kernel() {
    undisturbed(|| {
        // The buffer is full all the time, or from the middle of the measurement on and almost empty before.
        for (after_s, share) in [(0.0, 1.0), (0.5, 0.5)] {
            let service = Service::local(stalling(after_s, 1.1 - after_s));
            let result = measured(&service, stream(), at_rate(1, 0.0, 1.0));
            let max = metric(&result, "stream.unacknowledged.max");
            // It is full at its size, and less than another message may exceed it.
            assert!((SEND_BUFFER_GIVEN..1.5 * SEND_BUFFER_GIVEN).contains(&max), "{max}");
            let mean = metric(&result, "stream.unacknowledged.mean");
            assert!((share - SLACK_S..=share + SLACK_S).contains(&(mean / max)), "{mean} {max}");
        }
    });
}

#[test]
fn bytes_that_the_kernel_of_the_peer_has_not_received_are_unacknowledged() {
    undisturbed(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        // Bytes in the receive buffer every 10 ms of the load, of which nothing is read until it has ended.
        let received = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (began, mut bytes) = (Instant::now(), vec![0; 1 << 20]);
            let samples: Vec<f64> = (1..40)
                .map(|sample| {
                    thread::sleep(Duration::from_millis(10 * sample).saturating_sub(began.elapsed()));
                    stream.peek(&mut bytes).unwrap() as f64
                })
                .collect();
            thread::sleep(Duration::from_millis(600));
            io::copy(&mut stream, &mut io::sink()).unwrap();
            samples
        });
        let target = json!({"protocol": "stream", "host": "127.0.0.1", "port": port, "sslmode": "disable"});
        let load = json!({"duration_ns": 400_000_000, "drain_ns": 100_000_000});
        let (result, _) = run(&specification(&target, stream(), load));
        let (sent, received) = (metric(&result, "stream.sent_bytes"), received.join().unwrap());
        let most = sent - received.iter().copied().fold(f64::MAX, f64::min);
        let expected = sent - received.iter().sum::<f64>() / received.len() as f64;
        let mean = metric(&result, "stream.unacknowledged.mean");
        assert!((0.8..=1.25).contains(&(mean / expected)), "{mean}, {expected}");
        let max = metric(&result, "stream.unacknowledged.max");
        assert!((mean..=1.1 * most).contains(&max), "{max}, {mean} to {most}");
    });
}
