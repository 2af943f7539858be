use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::{Fault, Settings, Task, Worker};
use crate::reactor::{Control, EventSender};
use loadcell_core::clock::{MILLISECOND, Nanos, now};
use loadcell_core::pace::{Arrivals, ClosedLoop, OpenLoop, Pacer, RateSegment, ScheduleShare};
use loadcell_core::record::{
    IntervalStats, Kind, Operation, Phase, Published, Recorder, Sink, TRANSACTION, Window,
};

const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];

/// Does nothing, often.
#[derive(Default)]
struct Nothing {
    due: Vec<Nanos>,
}

impl Task for Nothing {
    fn clear(&mut self) {
        self.due.clear();
    }

    fn choose(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        self.due.push(due);
    }

    fn chosen(&self) -> usize {
        self.due.len()
    }

    fn carry_out(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        for &due in &self.due {
            recorder.succeed(TRANSACTION, due, sent, done);
        }
    }
}

/// What one thread records that hears of a window when it has begun `late` ago, and of which `length` is left.
fn measured(pacer: impl Pacer, batch: usize, late: Nanos, length: Nanos) -> Vec<IntervalStats> {
    let (to, published) = channel();
    let (_give, free_list) = channel();
    let send = Box::new(move |what| to.send(what).unwrap());
    let recorder = Recorder::publishing(OPS, Sink { send, free_list });
    let control = Arc::new(Control::new().unwrap());
    let events = EventSender { thread: 0, to: channel().0 };
    let settings = Settings { client: 0, batch, bounds: None };
    let worker = Worker::new(Nothing::default(), settings, pacer, recorder, control.clone(), events).unwrap();
    let begin = now();
    std::thread::sleep(Duration::from_nanos(late));
    control.begin(Window { begin, start: begin, end: now() + length, interval: 5 * MILLISECOND });
    worker.run().unwrap();
    let interval = |what| match what {
        Published::Interval(interval) if interval.span.phase == Phase::Measure => Some(*interval),
        _ => None,
    };
    published.try_iter().filter_map(interval).collect()
}

#[test]
fn a_thread_that_wakes_up_late_owes_the_time_since_the_window_began() {
    for batch in [1, 3] {
        let intervals = measured(ClosedLoop, batch, 40 * MILLISECOND, 200 * MILLISECOND);
        let longest = intervals.iter().map(|interval| interval.operations[0].response.max()).max().unwrap();
        assert!(longest >= 40 * MILLISECOND, "{longest}");
        let late = intervals.iter().map(|interval| interval.lateness.max()).max().unwrap();
        assert!(late >= 40 * MILLISECOND, "{late}");
    }
}

#[test]
fn what_falls_due_while_the_client_is_free_is_started_late_and_does_not_wait_for_it() {
    // So far apart that the client is free again, however busy the machine is: it does nothing.
    let segments = vec![RateSegment::constant(100.0, 1.0)];
    let pacer =
        OpenLoop::new(Arrivals::Constant, segments, ScheduleShare { thread: 0, threads: 1, clients: 1 }, 1);
    let intervals = measured(pacer, 1, 0, 100 * MILLISECOND);
    let late: u64 = intervals.iter().map(|interval| interval.lateness.count()).sum();
    let made: u64 = intervals.iter().map(|interval| interval.operations[0].counts.succeeded).sum();
    assert!(late > 0 && late <= made, "{late} of {made}");
}
