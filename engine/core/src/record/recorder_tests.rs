use std::sync::mpsc::{Receiver, channel};

use super::{Counts, IntervalStats, Kind, OpId, Operation, Phase, Quota, TRANSACTION, Window};
use super::{Published, Recorder, Sink};
use crate::error::Failure;

const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];
const OP: OpId = TRANSACTION;

fn recorder() -> (Recorder, Receiver<Published>) {
    let (to, published) = channel();
    let (_, free_list) = channel();
    let send = Box::new(move |event| to.send(event).unwrap());
    (Recorder::publishing(OPS, Sink { send, free_list }), published)
}

/// Published intervals, with their shared times resolved.
fn intervals(published: &Receiver<Published>) -> Vec<IntervalStats> {
    let interval = |event| match event {
        Published::Interval(mut interval) => {
            interval.resolve_shared();
            Some(*interval)
        }
        Published::Error(_) | Published::Timeline(_) => None,
    };
    published.try_iter().filter_map(interval).collect()
}

fn failure(code: &str) -> Failure {
    Failure { code: code.into(), message: format!("it says {code}") }
}

#[test]
fn every_count_belongs_to_the_window_in_which_it_happened() {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 200, end: 300, interval: 1_000 });
    recorder.advance(110);
    recorder.start(OP, 110);
    recorder.advance(150);
    recorder.succeed(OP, 110, 110, 150); // inside the warm-up
    recorder.start(OP, 150);
    recorder.advance(199);
    recorder.start(OP, 199); // these two are carried in
    recorder.advance(200);
    recorder.succeed(OP, 150, 151, 200);
    recorder.start(OP, 200);
    recorder.advance(250);
    recorder.fail(OP, 199, 199, 250, &failure("40001"));
    recorder.start(OP, 250); // in flight at the end
    recorder.advance(299);
    recorder.succeed(OP, 200, 200, 299);
    recorder.advance(300);
    recorder.succeed(OP, 250, 250, 300); // drained: too late to count
    let lifetime = recorder.finish();

    let intervals = intervals(&published);
    assert_eq!(
        intervals.iter().map(|interval| interval.span.phase).collect::<Vec<_>>(),
        [Phase::Warmup, Phase::Measure, Phase::Drain]
    );
    let stats = &intervals[1].operations[0];
    let attempted = stats.carried_in + stats.counts.started;
    assert_eq!((stats.carried_in, stats.counts.started), (2, 2));
    assert_eq!((stats.counts.succeeded, stats.counts.failed, stats.in_flight), (2, 1, 1));
    assert_eq!(attempted, stats.counts.succeeded + stats.counts.failed + stats.in_flight);
    assert_eq!(stats.response.count(), stats.counts.succeeded);
    assert_eq!((stats.response.max(), stats.service.min()), (99, 49));
    assert_eq!(stats.failed_response.as_ref().unwrap().max(), 51);
    assert_eq!(intervals[1].errors[0].code, "40001");
    assert!(intervals[2].errors.is_empty());
    assert_eq!(lifetime.operations[0], Counts { started: 5, succeeded: 4, failed: 1, retried: 0 });
}

#[test]
fn intervals_without_events_are_handed_over_too() {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 100, end: 140, interval: 10 });
    recorder.advance(105);
    recorder.start(OP, 105);
    recorder.advance(137);
    let intervals = intervals(&published);
    assert_eq!(intervals.len(), 3);
    assert_eq!(
        intervals.iter().map(|interval| interval.operations[0].in_flight).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    assert_eq!(
        intervals.iter().map(|interval| interval.operations[0].counts.started).collect::<Vec<_>>(),
        [1, 0, 0]
    );
}

#[test]
fn time_without_a_connection_is_cut_at_the_interval_too() {
    let (mut recorder, published) = recorder();
    recorder.connected(50, false);
    recorder.connected(60, false);
    recorder.set_window(Window { begin: 100, start: 100, end: 120, interval: 10 });
    recorder.advance(104);
    recorder.disconnected(104);
    recorder.advance(113);
    recorder.connected(113, true);
    recorder.advance(120);
    let intervals = intervals(&published);
    assert_eq!(intervals.iter().map(|interval| interval.disconnected_ns).collect::<Vec<_>>(), [6, 3]);
    assert_eq!(intervals.iter().map(|interval| interval.connected).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(intervals.iter().map(|interval| interval.reconnects).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn time_that_clients_rest_is_cut_at_the_interval_too() {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 100, end: 120, interval: 10 });
    recorder.advance(102);
    recorder.begin_think_time(101); // it was free since then
    recorder.begin_think_time(102);
    recorder.advance(113);
    recorder.end_think_time(112); // it was due then
    recorder.advance(120);
    let intervals = intervals(&published);
    assert_eq!(intervals.iter().map(|interval| interval.resting_ns).collect::<Vec<_>>(), [9 + 8, 2 * 2 + 8]);
}

#[test]
fn the_window_can_end_early_even_before_it_started() {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 200, end: 300, interval: 1_000 });
    recorder.advance(120);
    recorder.end_at(130);
    assert_eq!(recorder.interval_end(), 130);
    recorder.advance(131);
    let intervals = intervals(&published);
    assert_eq!((intervals.len(), intervals[0].span.phase, intervals[0].span.end), (1, Phase::Warmup, 130));
    assert_eq!(recorder.stats().span.phase, Phase::Drain);
}

/// Successes of two clients every 10 ns from 105 on, which end at 150; `end_at` comes at `ended.1` for
/// `ended.0`.
fn successes_by_client(ended: Option<(u64, u64)>) -> (Vec<u64>, u64) {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 120, end: 150, interval: 10 });
    for client in 0..2 {
        recorder.set_client(client);
        recorder.connected(90, false);
    }
    for at in (105..170).step_by(5) {
        recorder.advance(at);
        if let Some((end, reported_at)) = ended
            && reported_at == at
        {
            recorder.end_at(end);
            recorder.advance(at);
        }
        recorder.set_client(u32::from(at % 10 == 0));
        recorder.start(OP, at);
        recorder.succeed(OP, at, at, at);
    }
    let lifetime = recorder.finish();
    let measured = intervals(&published)
        .iter()
        .filter(|interval| interval.span.phase == Phase::Measure)
        .map(|interval| interval.operations[OP.index()].counts.succeeded)
        .sum();
    (lifetime.by_client.of(2).collect(), measured)
}

#[test]
fn successes_of_clients_are_those_of_the_measured_intervals() {
    assert_eq!(successes_by_client(None), (vec![3, 3], 6));
    // It ends within the open interval, or at its start, or before it.
    assert_eq!(successes_by_client(Some((143, 140))), (vec![2, 3], 5));
    assert_eq!(successes_by_client(Some((140, 145))), (vec![2, 2], 4));
    assert_eq!(successes_by_client(Some((135, 145))), (vec![2, 2], 4));
    assert_eq!(successes_by_client(Some((110, 115))), (vec![0, 0], 0));
}

#[test]
fn trouble_is_published_once_an_interval_and_code() {
    let (mut recorder, published) = recorder();
    recorder.set_window(Window { begin: 100, start: 100, end: 200, interval: 10 });
    recorder.set_client(7);
    for at in [101, 102, 109, 111] {
        recorder.advance(at);
        recorder.start(OP, at);
        recorder.fail(OP, at, at, at, &failure("57P01"));
    }
    let troubles: Vec<_> = published
        .try_iter()
        .filter_map(|event| match event {
            Published::Error(trouble) => Some((trouble.at, trouble.client)),
            Published::Interval(_) | Published::Timeline(_) => None,
        })
        .collect();
    assert_eq!(troubles, [(101, 7), (111, 7)]);
}

#[test]
fn memory_of_a_slot_is_used_again() {
    let (to, published) = channel();
    let (give, free_list) = channel();
    let send = Box::new(move |event| to.send(event).unwrap());
    let mut recorder = Recorder::publishing(OPS, Sink { send, free_list });
    recorder.set_window(Window { begin: 100, start: 100, end: 200, interval: 10 });
    recorder.advance(100);
    let spare = Box::new(IntervalStats::new(1));
    let address = std::ptr::from_ref(&*spare);
    give.send(spare).unwrap();
    recorder.advance(110);
    assert!(std::ptr::eq(recorder.stats(), address));
    assert_eq!(intervals(&published).len(), 1);
}

/// Everything that is published and counted of transactions that end one by one, or by bulk methods.
fn ended(open: bool, bulk: bool) -> String {
    let (mut recorder, published) = recorder();
    recorder.keep_timeline();
    recorder.set_window(Window { begin: 100, start: 100, end: 300, interval: 50 });
    if open {
        recorder.follow_schedule();
    }
    recorder.set_quota(Quota::per_client(20, 1, 1));
    for (at, count) in [(110, 5u64), (120, 1), (160, 7)] {
        recorder.advance(at);
        match (open, bulk) {
            (true, _) => (0..count).for_each(|_| recorder.mark_due(at)),
            (false, true) => recorder.start_many(at, count),
            (false, false) => (0..count).for_each(|_| recorder.start(OP, at)),
        }
        let (sent, done) = (at + 5, at + 30);
        recorder.advance(done);
        let times = if open { (at, sent, done) } else { (at, at, done) };
        let failed = count / 3;
        let why = failure("40001");
        if bulk {
            recorder.succeed_many(times.0, times.1, times.2, count - failed);
            if failed > 0 {
                recorder.fail_many(times.0, times.1, times.2, &why, failed);
            }
        } else {
            (failed..count).for_each(|_| recorder.succeed(OP, times.0, times.1, times.2));
            (0..failed).for_each(|_| recorder.fail(OP, times.0, times.1, times.2, &why));
        }
    }
    let remaining = recorder.reserve(100);
    let lifetime = recorder.finish();
    let mut text = format!("{remaining} {lifetime:?}");
    for event in published.try_iter() {
        match event {
            Published::Interval(mut interval) => {
                interval.resolve_shared();
                let stats = &interval.operations[0];
                let failed = stats.failed_response.as_deref();
                text += &format!(
                    "{:?} {:?} {:?} {:?} {failed:?} {:?} {} {} {}",
                    interval.span,
                    stats.counts,
                    stats.response,
                    stats.service,
                    interval.errors,
                    interval.presence_ns,
                    interval.age_at_start_ns,
                    interval.age_at_end_ns
                );
            }
            Published::Error(error) => text += &format!("{error:?}"),
            Published::Timeline(timeline) => text += &format!("{:?}", timeline.slots),
        }
    }
    text
}

#[test]
fn bulk_methods_record_what_single_calls_record() {
    for open in [false, true] {
        let single = ended(open, false);
        assert!(single.contains("count: 4"), "{single}");
        assert_eq!(ended(open, true), single);
    }
}

#[test]
fn an_unlimited_load_can_be_limited_while_it_runs() {
    let mut recorder = Recorder::new(OPS);
    assert_eq!(recorder.reserve(100), 100);
    recorder.limit_quota(5);
    assert_eq!(recorder.reserve(3), 3);
    recorder.start_many(10, 3);
    recorder.limit_quota(50); // It is limited already.
    assert_eq!(recorder.reserve(100), 2);
    recorder.start_many(10, 2);
    assert!(!recorder.is_exhausted());
    recorder.succeed_many(10, 10, 20, 5);
    assert!(recorder.is_exhausted() && recorder.reserve(1) == 0);
}
