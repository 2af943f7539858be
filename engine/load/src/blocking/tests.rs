use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::{BlockingClient, BlockingLoop, Fault};
use crate::reactor::{Control, EventSender, ThreadContext};
use loadcell_core::clock::{MILLISECOND, Nanos, now};
use loadcell_core::pace::{Arrivals, ClosedLoop, OpenLoop, Pacer, RateSegment, ScheduleShare};
use loadcell_core::record::{
    IntervalStats, Kind, Operation, Phase, Published, Recorder, Sink, TRANSACTION, Window,
};

const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];

/// A client whose operations take no time.
#[derive(Default)]
struct Nothing {
    due: Vec<Nanos>,
}

impl BlockingClient for Nothing {
    fn clear(&mut self) {
        self.due.clear();
    }

    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        self.due.push(due);
    }

    fn selected(&self) -> usize {
        self.due.len()
    }

    fn execute(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        for &due in &self.due {
            recorder.succeed(TRANSACTION, due, sent, done);
        }
    }
}

/// Intervals of a thread that learns of its window `late` after its beginning, when `length` remains.
fn measured(pacer: impl Pacer, batch: usize, late: Nanos, length: Nanos) -> Vec<IntervalStats> {
    let (to, published) = channel();
    let (_give, free_list) = channel();
    let send = Box::new(move |event| to.send(event).unwrap());
    let recorder = Recorder::publishing(OPS, Sink { send, free_list });
    let control = Arc::new(Control::new().unwrap());
    let events = EventSender { thread: 0, to: channel().0 };
    let context = ThreadContext { recorder, control: control.clone(), events, bounds: None };
    let client_loop = BlockingLoop::new(0, Nothing::default(), batch, context, pacer).unwrap();
    let begin = now();
    std::thread::sleep(Duration::from_nanos(late));
    control.begin(Window { begin, start: begin, end: now() + length, interval: 5 * MILLISECOND });
    client_loop.run().unwrap();
    let interval = |event| match event {
        Published::Interval(interval) if interval.span.phase == Phase::Measure => Some(*interval),
        _ => None,
    };
    published.try_iter().filter_map(interval).collect()
}

#[test]
fn the_response_time_of_a_late_thread_counts_from_the_beginning_of_the_window() {
    for batch in [1, 3] {
        let intervals = measured(ClosedLoop, batch, 40 * MILLISECOND, 200 * MILLISECOND);
        let longest = intervals.iter().map(|interval| interval.operations[0].response.max()).max().unwrap();
        assert!(longest >= 40 * MILLISECOND, "{longest}");
        let late = intervals.iter().map(|interval| interval.lateness.max()).max().unwrap();
        assert!(late >= 40 * MILLISECOND, "{late}");
    }
}

#[test]
fn a_request_that_is_due_while_its_client_is_idle_is_late_and_not_in_the_backlog() {
    // So far apart that the client is idle again in between, unless the machine stalls for the whole window.
    let counts = || {
        let segments = vec![RateSegment::constant(100.0, 1.0)];
        let share = ScheduleShare { thread: 0, threads: 1, clients: 1 };
        let pacer = OpenLoop::new(Arrivals::Constant, segments, share, 1);
        let intervals = measured(pacer, 1, 0, 100 * MILLISECOND);
        let late: u64 = intervals.iter().map(|interval| interval.lateness.count()).sum();
        let succeeded: u64 = intervals.iter().map(|interval| interval.operations[0].counts.succeeded).sum();
        (late, succeeded)
    };
    let (late, succeeded) = (0..50).map(|_| counts()).find(|(late, _)| *late > 0).expect("none was late");
    assert!(late <= succeeded, "{late} of {succeeded}");
}
