use std::sync::mpsc::{Receiver, channel};

use super::recorder::{Outlet, Published, Recorder};
use super::{Counts, Kind, OpId, Operation, Phase, Slot, TRANSACTION, Window};
use crate::session::Failure;

const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];
const OP: OpId = TRANSACTION;

fn recorder() -> (Recorder, Receiver<Published>) {
    let (to, published) = channel();
    let (_, spares) = channel();
    let send = Box::new(move |what| to.send(what).unwrap());
    (Recorder::publishing(OPS, Outlet { send, spares }), published)
}

/// What was handed over, complete as whoever merges it makes it.
fn slots(published: &Receiver<Published>) -> Vec<Slot> {
    let slot = |what| match what {
        Published::Slot(mut slot) => {
            slot.complete();
            Some(*slot)
        }
        Published::Trouble(_) => None,
    };
    published.try_iter().filter_map(slot).collect()
}

fn failure(code: &str) -> Failure {
    Failure { code: code.into(), message: format!("it says {code}") }
}

#[test]
fn every_count_belongs_to_the_window_in_which_it_happened() {
    let (mut recorder, published) = recorder();
    recorder.arm(Window { begin: 100, start: 200, end: 300, interval: 1_000 });
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

    let slots = slots(&published);
    assert_eq!(
        slots.iter().map(|slot| slot.span.phase).collect::<Vec<_>>(),
        [Phase::Warmup, Phase::Measure, Phase::Drain]
    );
    let tally = &slots[1].tallies[0];
    let attempted = tally.carried_in + tally.counts.started;
    assert_eq!((tally.carried_in, tally.counts.started), (2, 2));
    assert_eq!((tally.counts.succeeded, tally.counts.failed, tally.in_flight), (2, 1, 1));
    assert_eq!(attempted, tally.counts.succeeded + tally.counts.failed + tally.in_flight);
    assert_eq!(tally.response.count(), tally.counts.succeeded);
    assert_eq!((tally.response.max(), tally.service.min()), (99, 49));
    assert_eq!(tally.failed_response.as_ref().unwrap().max(), 51);
    assert_eq!(slots[1].errors[0].code, "40001");
    assert!(slots[2].errors.is_empty());
    assert_eq!(lifetime.operations[0], Counts { started: 5, succeeded: 4, failed: 1, retried: 0 });
}

#[test]
fn intervals_without_events_are_handed_over_too() {
    let (mut recorder, published) = recorder();
    recorder.arm(Window { begin: 100, start: 100, end: 140, interval: 10 });
    recorder.advance(105);
    recorder.start(OP, 105);
    recorder.advance(137);
    let slots = slots(&published);
    assert_eq!(slots.len(), 3);
    assert_eq!(slots.iter().map(|slot| slot.tallies[0].in_flight).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(slots.iter().map(|slot| slot.tallies[0].counts.started).collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn time_without_a_connection_is_cut_at_the_interval_too() {
    let (mut recorder, published) = recorder();
    recorder.connected(50, false);
    recorder.connected(60, false);
    recorder.arm(Window { begin: 100, start: 100, end: 120, interval: 10 });
    recorder.advance(104);
    recorder.disconnected(104);
    recorder.advance(113);
    recorder.connected(113, true);
    recorder.advance(120);
    let slots = slots(&published);
    assert_eq!(slots.iter().map(|slot| slot.disconnected_ns).collect::<Vec<_>>(), [6, 3]);
    assert_eq!(slots.iter().map(|slot| slot.connected).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(slots.iter().map(|slot| slot.reconnects).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn time_that_clients_rest_is_cut_at_the_interval_too() {
    let (mut recorder, published) = recorder();
    recorder.arm(Window { begin: 100, start: 100, end: 120, interval: 10 });
    recorder.advance(102);
    recorder.rest(101); // it was free since then
    recorder.rest(102);
    recorder.advance(113);
    recorder.rested(112); // it was due then
    recorder.advance(120);
    let slots = slots(&published);
    assert_eq!(slots.iter().map(|slot| slot.resting_ns).collect::<Vec<_>>(), [9 + 8, 2 * 2 + 8]);
}

#[test]
fn the_window_can_end_early_even_before_it_started() {
    let (mut recorder, published) = recorder();
    recorder.arm(Window { begin: 100, start: 200, end: 300, interval: 1_000 });
    recorder.advance(120);
    recorder.end_at(130);
    assert_eq!(recorder.boundary(), 130);
    recorder.advance(131);
    let slots = slots(&published);
    assert_eq!((slots.len(), slots[0].span.phase, slots[0].span.end), (1, Phase::Warmup, 130));
    assert_eq!(recorder.slot().span.phase, Phase::Drain);
}

#[test]
fn trouble_is_told_once_an_interval_and_code() {
    let (mut recorder, published) = recorder();
    recorder.arm(Window { begin: 100, start: 100, end: 200, interval: 10 });
    recorder.serve(7);
    for at in [101, 102, 109, 111] {
        recorder.advance(at);
        recorder.start(OP, at);
        recorder.fail(OP, at, at, at, &failure("57P01"));
    }
    let told: Vec<_> = published
        .try_iter()
        .filter_map(|what| match what {
            Published::Trouble(trouble) => Some((trouble.at, trouble.client)),
            Published::Slot(_) => None,
        })
        .collect();
    assert_eq!(told, [(101, 7), (111, 7)]);
}

#[test]
fn memory_of_a_slot_is_used_again() {
    let (to, published) = channel();
    let (give, spares) = channel();
    let send = Box::new(move |what| to.send(what).unwrap());
    let mut recorder = Recorder::publishing(OPS, Outlet { send, spares });
    recorder.arm(Window { begin: 100, start: 100, end: 200, interval: 10 });
    recorder.advance(100);
    let spare = Box::new(Slot::new(1));
    let place = std::ptr::from_ref(&*spare);
    give.send(spare).unwrap();
    recorder.advance(110);
    assert!(std::ptr::eq(recorder.slot(), place));
    assert_eq!(slots(&published).len(), 1);
}
