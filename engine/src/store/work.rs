//! One thread's load: what its client chooses is carried out at once, by calling the store.
//!
//! Unlike a reactor's thread it has nothing to wait for but the instant at which something is due: a store has answered when
//! the call returns. Service begins when keys and values are ready for the call, and ends when the store has shown, or
//! written, all of them.

use std::io;
use std::sync::Arc;

use super::steps::Steps;
use super::{Fault, Handle};
use crate::clock::{self, Nanos};
use crate::keyvalue::Client;
use crate::pace::Pacer;
use crate::reactor::{Control, Epoll, Mail, Message, Punctual};
use crate::record::{Lifetime, Recorder, TRANSACTION, Window};

/// What a thread has to know besides its client.
pub struct Settings {
    pub client: u32,
    pub files: usize,
    /// The most operations in one of the store's transactions.
    pub batch: usize,
}

/// One thread.
pub struct Worker<H, P> {
    handle: H,
    client: Client,
    steps: Steps,
    batch: usize,
    pacer: P,
    desk: Desk,
}

/// What a thread has that is no part of its work.
struct Desk {
    recorder: Recorder,
    control: Arc<Control>,
    epoll: Epoll,
    punctual: Punctual,
    window: Window,
    /// Since when the client is free: the instant that was read last.
    free: Nanos,
    /// What this thread took in the open interval for itself: to choose, to record, to keep time.
    own: Nanos,
    /// Its CPU time when the interval began.
    cpu: Nanos,
}

impl<H: Handle, P: Pacer> Worker<H, P> {
    /// To be made and run on its own thread.
    pub fn new(
        handle: H,
        client: Client,
        settings: &Settings,
        pacer: P,
        mut recorder: Recorder,
        control: Arc<Control>,
        mail: &Mail,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(control.bell.clone())?;
        let now = clock::now();
        recorder.serve(settings.client);
        recorder.connected(now, false);
        control.set_connections(recorder.connections());
        mail.send(Message::Connected);
        let desk = Desk {
            recorder,
            control,
            epoll,
            punctual: Punctual::default(),
            window: Window::UNKNOWN,
            free: now,
            own: 0,
            cpu: clock::thread_cpu(),
        };
        Ok(Self { handle, client, steps: Steps::new(settings.files), batch: settings.batch, pacer, desk })
    }

    /// Works as the control says, and tells what was counted.
    pub fn run(mut self) -> io::Result<Lifetime> {
        let mut usable = true;
        loop {
            let now = self.desk.free;
            self.advance(now);
            if self.desk.control.is_abandoned() || now >= self.desk.window.end {
                return Ok(self.desk.recorder.finish());
            }
            if self.desk.window == Window::UNKNOWN {
                self.enter()?;
            } else if self.desk.control.end() < self.desk.window.end {
                self.desk.end_at(self.desk.control.end());
            } else if !usable {
                self.desk.wait(Nanos::MAX)?;
            } else {
                let due = self.pacer.due(now.max(self.desk.window.begin));
                if due > now {
                    self.desk.wait(due)?;
                } else if let Err(fault) = self.work(due, now) {
                    // It is over for this client; when it is for all the load is given up.
                    usable = false;
                    self.desk.lose(&fault);
                }
            }
        }
    }

    /// Waits until it is known when work begins.
    fn enter(&mut self) -> io::Result<()> {
        let desk = &mut self.desk;
        match desk.control.window() {
            Some(window) => {
                desk.window = window;
                desk.recorder.arm(window);
                self.pacer.begin(&window, &mut desk.recorder);
                Ok(())
            }
            None => desk.wait(Nanos::MAX),
        }
    }

    /// It is `now`: whatever was due until then is in the record, in the interval to which it belongs.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while now >= self.desk.recorder.boundary() {
            let boundary = self.desk.recorder.boundary();
            self.pacer.pass(boundary, &mut self.desk.recorder);
            self.desk.close();
            self.desk.recorder.advance(boundary);
        }
    }

    /// One of the store's transactions: the action that is due since `due`, and others that are due by now.
    #[inline]
    fn work(&mut self, due: Nanos, now: Nanos) -> Result<(), Fault> {
        let Self { handle, client, steps, batch, pacer, desk } = self;
        steps.clear();
        pacer.pass(now + 1, &mut desk.recorder);
        let mut due = due;
        loop {
            if P::SCHEDULED && desk.began_late(due) {
                desk.recorder.waited(now - due);
            } else {
                desk.recorder.late(now - due);
            }
            pacer.take(&mut desk.recorder);
            let op = steps.choose(client, due).op;
            desk.recorder.start(TRANSACTION, due);
            desk.recorder.start(op, due);
            if steps.list.len() >= *batch {
                break;
            }
            due = pacer.due(now);
            if due > now {
                break;
            }
        }
        let sent = clock::now();
        let carried_out = steps.carry_out(handle, client);
        let done = clock::now();
        desk.own += sent - now;
        self.record(sent, done);
        carried_out
    }

    /// What was carried out from `sent` to `done` goes into the record.
    #[inline]
    fn record(&mut self, sent: Nanos, done: Nanos) {
        self.advance(done);
        let Self { client, steps, desk, .. } = self;
        let recorder = &mut desk.recorder;
        let mut read = 0;
        for at in 0..steps.list.len() {
            steps.judge(at, &mut read, client);
            let step = &steps.list[at];
            match &step.outcome {
                Ok(()) => {
                    let written = step.written();
                    recorder.succeed(step.action.op, step.intended, sent, done);
                    recorder.succeed(TRANSACTION, step.intended, sent, done);
                    recorder.queries(done, u64::from(written == 0), u64::from(written > 0), 0);
                    recorder.rows_changed(written as u64);
                    if let Some(outcome) = client.done() {
                        recorder.start(outcome, step.intended);
                        recorder.succeed(outcome, step.intended, sent, done);
                    }
                }
                Err(why) => {
                    recorder.fail(step.action.op, step.intended, sent, done, why);
                    recorder.fail(TRANSACTION, step.intended, sent, done, why);
                    client.failed();
                }
            }
        }
        desk.free = done;
    }
}

impl Desk {
    /// Whether the client was not free yet when something fell due.
    #[inline]
    fn began_late(&self, due: Nanos) -> bool {
        self.free > due
    }

    /// Waits until `due`, or until something else is to be looked at.
    #[cold]
    fn wait(&mut self, due: Nanos) -> io::Result<()> {
        let until = self.recorder.boundary().min(self.window.end);
        if due == Nanos::MAX {
            self.epoll.wait(until)?;
        } else {
            self.punctual.wait(&mut self.epoll, until, due)?;
        }
        self.free = clock::now();
        Ok(())
    }

    fn end_at(&mut self, end: Nanos) {
        self.window.end = end;
        self.recorder.end_at(end);
    }

    /// Nothing more can be had of the store.
    #[cold]
    fn lose(&mut self, fault: &Fault) {
        self.recorder.tell(self.free, fault.code, &fault.message);
        self.recorder.disconnected(self.free);
        self.control.set_connections(self.recorder.connections());
    }

    /// An interval ends. Of its CPU time the recorder is told what was not the thread's own: the store's work, which is done on
    /// this thread, and waiting awake.
    #[cold]
    fn close(&mut self) {
        let cpu = clock::thread_cpu();
        let used = cpu - std::mem::replace(&mut self.cpu, cpu);
        self.recorder.spun(used.saturating_sub(std::mem::take(&mut self.own)));
        self.punctual.spun();
    }
}
