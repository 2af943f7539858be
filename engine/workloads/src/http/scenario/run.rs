//! One client's way through a scenario.
//!
//! A step that fails ends the scenario, or the scenario continues and fails at its end. Times of a step begin
//! when it is due: the first one with the scenario, each other one when the step before it has ended and its
//! think time is over.

use std::sync::Arc;

use super::super::check::Body;
use super::super::exchange::{MOST_REFUSALS, Operations, State};
use super::super::head::as_path;
use super::super::session::{NextStep, Work};
use super::condition::{failure, unsafe_value};
use super::cookies::CookieJar;
use super::options::{AfterFailure, CookieScope};
use super::script::{SET_COOKIE, Script, Step, StepFields};
use crate::keyvalue::distribution::Chooser;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::random::Random;
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_core::session::Context;
use loadcell_protocols::http::{Limits, Request, WatchedFields};

pub struct ScenarioRun {
    script: Arc<Script>,
    operations: Operations,
    client: u32,
    random: Random,
    choosers: Vec<Chooser>,
    /// Values of all variables, and whether they are set.
    values: Vec<Vec<u8>>,
    set: Vec<bool>,
    jar: CookieJar,
    /// The client's first scenario has come to its end.
    once_done: bool,
    state: State,
    step: usize,
    status: u16,
    target: Vec<u8>,
    sent_body: Vec<u8>,
    /// Header fields of the steps whose fields vary.
    fields: Vec<Option<Box<StepFields>>>,
    uses_fields: bool,
    body: Body,
    /// The response's body, where values are read from it.
    text: Vec<u8>,
    /// Failure of the present step's header fields, and the first failure of the scenario.
    fields_failure: Option<Failure>,
    failure: Option<Failure>,
    intended: Nanos,
    begun: Nanos,
    /// When the present step was due, begun and sent; in a pause, when the next one is due.
    due: Nanos,
    step_begun: Nanos,
    sent: Nanos,
    refused: u32,
    requests: u64,
    /// Think time before the next scenario.
    resting: Nanos,
}

impl ScenarioRun {
    /// The run of client `client` of `clients`.
    pub fn new(script: Arc<Script>, operations: Operations, seed: u64, client: u32, clients: u32) -> Self {
        let choosers = script.parameters.iter().map(|parameter| parameter.chooser(client, clients)).collect();
        let variables = script.names.len();
        let mut set = vec![true; variables];
        script.steps.iter().flat_map(|step| &step.extracts).for_each(|extract| set[extract.slot] = false);
        Self {
            operations,
            client,
            random: Random::stream(seed, client.into()),
            choosers,
            values: vec![Vec::new(); variables],
            set,
            jar: CookieJar::default(),
            once_done: false,
            state: State::Over,
            step: 0,
            status: 0,
            target: Vec::new(),
            sent_body: Vec::new(),
            fields: script.steps.iter().map(|_| None).collect(),
            uses_fields: false,
            body: Body::default(),
            text: Vec::new(),
            fields_failure: None,
            failure: None,
            intended: 0,
            begun: 0,
            due: 0,
            step_begun: 0,
            sent: 0,
            refused: 0,
            requests: 0,
            resting: 0,
            script,
        }
    }

    #[inline]
    fn operation(&self) -> OpId {
        OpId(1 + self.step as u16)
    }

    /// A scenario of one step, whose times are those of the step.
    #[inline]
    fn is_single(&self) -> bool {
        self.script.steps.len() == 1
    }

    /// Take the rows and draw the parameters of the next scenario. False if the data have ended.
    fn draw(&mut self) -> bool {
        let Self { script, values, random, .. } = self;
        for (number, data) in script.data.iter().enumerate() {
            let Some(row) = data.next(self.client, random) else { return false };
            for &(slot, _, column) in script.columns.iter().filter(|(_, data, _)| *data == number) {
                values[slot].clear();
                values[slot].extend_from_slice(data.cell(row, column));
            }
        }
        for (slot, parameter) in script.parameters.iter().enumerate() {
            values[slot].clear();
            parameter.draw(&mut self.choosers[slot], random, &mut values[slot]);
        }
        script.extracted.iter().for_each(|slot| self.set[*slot] = false);
        true
    }

    /// Go to the step `number` or the first one after it that is to be made.
    #[inline(always)]
    fn go_to(&mut self, cx: &mut Context<'_>, number: usize, at: Nanos) -> NextStep {
        self.step = number;
        loop {
            let Some(step) = self.script.steps.get(self.step) else {
                self.step = self.script.steps.len() - 1;
                return self.finish(cx, at);
            };
            if !(step.once && self.once_done) {
                break;
            }
            self.step += 1;
        }
        if !self.is_single() {
            cx.recorder.start(self.operation(), self.due);
        }
        (self.step_begun, self.refused, self.status) = (at, 0, 0);
        match self.make(at) {
            Ok(()) => {
                self.state = State::Unsent;
                NextStep::Send
            }
            Err(why) => self.step_failed(cx, at, why),
        }
    }

    /// Make the request of the present step, unless it is encoded already.
    #[inline(always)]
    fn make(&mut self, now: Nanos) -> Result<(), Failure> {
        let step = &self.script.steps[self.step];
        let cookies = !self.jar.is_empty() && step.takes_cookies;
        self.uses_fields = cookies || !step.head.changing.is_empty();
        if step.written.is_some() && !self.uses_fields {
            return Ok(());
        }
        self.write_request(now)
    }

    #[inline(never)]
    fn write_request(&mut self, now: Nanos) -> Result<(), Failure> {
        let Self { script, values, jar, .. } = self;
        let step = &script.steps[self.step];
        if let Some(slot) = step.uses.iter().find(|slot| !self.set[**slot]) {
            let message = format!("the variable {} has no value", script.names[*slot]);
            return Err(failure("unset", message));
        }
        let value = |slot: usize| values[slot].as_slice();
        self.target.clear();
        step.head.target.write(&mut self.target, value);
        if let Some(slot) = step.in_path {
            as_path(&mut self.target).map_err(|()| unsafe_value(&script.names[slot], "a path"))?;
        }
        if let Some(template) = &step.body {
            self.sent_body.clear();
            template.write(&mut self.sent_body, value);
        }
        if !self.uses_fields {
            return Ok(());
        }
        let broken = |slot: &&usize| value(**slot).iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        if let Some(slot) = step.in_fields.iter().find(broken) {
            return Err(unsafe_value(&script.names[*slot], "a header field"));
        }
        let fresh = || Box::new(StepFields { fields: step.head.fields.clone(), cookies: 0 });
        let made = self.fields[self.step].get_or_insert_with(fresh);
        let mut changed = false;
        for (index, template) in &step.head.changing {
            let field = &mut made.fields.list[*index].1;
            field.clear();
            template.write(field, value);
            changed = true;
        }
        if step.takes_cookies && (made.cookies != jar.version || jar.varies) {
            made.cookies = jar.version;
            made.fields.list.truncate(step.head.fields.list.len());
            let mut field = Vec::new();
            jar.write(&self.target, now, &mut field);
            if !field.is_empty() {
                made.fields.list.push(("cookie".into(), field));
            }
            changed = true;
        }
        if changed {
            made.fields.write();
        }
        Ok(())
    }

    /// Judge the complete response of the present step apart from its status, and take its values.
    fn judge(&mut self) -> Result<(), Failure> {
        let step = &self.script.steps[self.step];
        if step.reads_fields
            && let Some(why) = self.fields_failure.take()
        {
            return Err(why);
        }
        self.body.judge(step.check.body.as_ref())?;
        if step.reads_body {
            let most = self.script.body_bytes;
            if self.text.len() > most {
                let message = format!("the body is longer than {most} bytes; `body_limit` may be raised");
                return Err(failure("body-limit", message));
            }
            step.check.judge_json(&self.text)?;
        }
        for extract in step.extracts.iter().filter(|extract| extract.reads_body()) {
            extract.apply(None, &self.text, &mut self.values[extract.slot])?;
            self.set[extract.slot] = true;
        }
        Ok(())
    }

    /// Judge the header fields of a response, and take their values.
    fn read_fields(&mut self, fields: &WatchedFields) {
        let step = &self.script.steps[self.step];
        self.fields_failure = step.check.judge_headers(fields).err();
        for extract in step.extracts.iter().filter(|extract| !extract.reads_body()) {
            match extract.apply(Some(fields), &[], &mut self.values[extract.slot]) {
                Ok(()) => self.set[extract.slot] = true,
                Err(why) => self.fields_failure = self.fields_failure.take().or(Some(why)),
            }
        }
    }

    fn take_cookies(&mut self, fields: &WatchedFields, at: Nanos) {
        let step = &self.script.steps[self.step];
        // The path of a request that is encoded once is not at hand.
        if step.written.is_some() {
            self.target.clear();
            step.head.target.write(&mut self.target, |_| b"");
        }
        fields.values(SET_COOKIE).for_each(|field| self.jar.set(field, &self.target, at));
    }

    /// The present step has failed; its start is recorded.
    #[cold]
    fn step_failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: Failure) -> NextStep {
        self.end_step_failed(cx, at, why);
        match self.script.after_failure {
            AfterFailure::Stop => {
                self.resting = self.think();
                self.finish(cx, at)
            }
            AfterFailure::Continue => self.on_step_over(cx, at),
        }
    }

    #[cold]
    fn end_step_failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: Failure) {
        if self.state == State::Waiting {
            cx.recorder.fail_without_error(self.operations.first_byte, self.sent, at);
        }
        cx.recorder.fail_without_error(self.operation(), self.due, at);
        self.script.steps[self.step].extracts.iter().for_each(|extract| self.set[extract.slot] = false);
        let named = |why: Failure| {
            let message = format!("step {}: {}", self.script.steps[self.step].name, why.message);
            Failure { message, ..why }
        };
        let why = if self.is_single() { why } else { named(why) };
        self.failure.get_or_insert(why);
    }

    #[inline]
    fn think(&mut self) -> Nanos {
        let (from, to) = self.script.steps[self.step].think_ns;
        if to == 0 { 0 } else { self.random.uniform(from, to) }
    }

    /// The present step is over: pause, go to the next one, or end.
    #[inline(always)]
    fn on_step_over(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep {
        let think = self.think();
        if self.step + 1 == self.script.steps.len() {
            self.resting = think;
            return self.finish(cx, at);
        }
        self.due = at + think;
        if think > 0 {
            self.state = State::Pausing;
            return NextStep::Pause(self.due);
        }
        self.go_to(cx, self.step + 1, at)
    }

    /// The scenario has failed.
    #[cold]
    fn fail(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if let Some(why) = self.failure.take() {
            cx.recorder.fail(TRANSACTION, self.intended, self.begun, at, &why);
        }
    }

    /// The scenario is over.
    #[inline(always)]
    fn finish(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep {
        self.state = State::Over;
        if self.failure.is_some() {
            self.fail(cx, at);
        } else {
            self.once_done = true;
            cx.recorder.queries(at, 0, 0, self.requests);
            if !self.is_single() {
                cx.recorder.succeed(TRANSACTION, self.intended, self.begun, at);
            }
        }
        NextStep::Over
    }
}

impl Work for ScenarioRun {
    fn os(&self) -> Limits {
        self.script.os
    }

    fn tls(&self) -> bool {
        self.script.tls
    }

    fn keep_alive(&self) -> bool {
        self.script.keep_alive
    }

    fn operations(&self) -> Operations {
        self.operations
    }

    fn state(&self) -> State {
        self.state
    }

    fn due(&self) -> Nanos {
        self.due
    }

    fn timed_since(&self) -> Option<Nanos> {
        Some(match self.state {
            State::Pausing | State::Over => Nanos::MAX,
            _ => self.step_begun,
        })
    }

    fn think_time(&mut self) -> Nanos {
        std::mem::take(&mut self.resting)
    }

    #[inline]
    fn request(&self) -> Request<'_> {
        let step: &Step = &self.script.steps[self.step];
        let fields = self.fields[self.step].as_ref().filter(|_| self.uses_fields);
        Request {
            method: &step.head.method,
            target: &self.target,
            fields: fields.map_or(&step.head.fields, |made| &made.fields),
            body: step.body.is_some().then_some(self.sent_body.as_slice()),
            written: if self.uses_fields { None } else { step.written.as_deref() },
        }
    }

    #[inline(always)]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos) -> NextStep {
        if self.script.draws && !self.draw() {
            cx.recorder.end_quota();
            return NextStep::Over;
        }
        if self.script.cookies == CookieScope::Scenario {
            self.jar.clear();
        }
        (self.intended, self.begun, self.due, self.requests) = (intended, at, intended, 0);
        if self.is_single() {
            cx.recorder.start_single(OpId(1), intended);
        } else {
            cx.recorder.start(TRANSACTION, intended);
        }
        self.go_to(cx, 0, at)
    }

    fn after_pause(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep {
        self.go_to(cx, self.step + 1, at)
    }

    #[inline(always)]
    fn sent(&mut self, cx: &mut Context<'_>, at: Nanos) {
        (self.state, self.sent) = (State::Waiting, at);
        self.body.begin();
        self.text.clear();
        cx.recorder.start(self.operations.first_byte, at);
    }

    #[inline]
    fn on_response(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.succeed(self.operations.first_byte, self.sent, self.sent, at);
            self.state = State::Reading;
        }
    }

    #[inline]
    fn on_status(&mut self, status: u16, fields: &WatchedFields, at: Nanos) {
        self.status = status;
        let step = &self.script.steps[self.step];
        if step.reads_fields {
            self.read_fields(fields);
        }
        if self.script.cookies != CookieScope::None && !fields.is_empty() {
            self.take_cookies(fields, at);
        }
    }

    #[inline]
    fn piece(&mut self, piece: &[u8]) {
        let step = &self.script.steps[self.step];
        self.body.add(piece, step.check.body.as_ref());
        if step.reads_body && self.text.len() <= self.script.body_bytes {
            self.text.extend_from_slice(piece);
        }
    }

    #[inline(always)]
    fn done(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep {
        cx.recorder.response(self.status, self.body.bytes);
        let step = &self.script.steps[self.step];
        if let Err(why) = step.check.judge_status(self.status, &self.script.success) {
            return self.step_failed(cx, at, why);
        }
        if step.judges
            && let Err(why) = self.judge()
        {
            return self.step_failed(cx, at, why);
        }
        self.requests += 1;
        if self.is_single() {
            cx.recorder.succeed_single(OpId(1), self.intended, self.begun, at);
        } else {
            cx.recorder.succeed(self.operation(), self.due, self.step_begun, at);
        }
        self.on_step_over(cx, at)
    }

    #[cold]
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> NextStep {
        self.step_failed(cx, at, why.clone())
    }

    #[cold]
    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        if self.state == State::Pausing {
            self.failure.get_or_insert_with(|| why.clone());
        } else {
            self.end_step_failed(cx, at, why.clone());
        }
        self.finish(cx, at);
    }

    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> bool {
        self.refused += 1;
        if self.refused > MOST_REFUSALS {
            return false;
        }
        if self.state == State::Waiting {
            cx.recorder.fail_without_error(self.operations.first_byte, self.sent, at);
        }
        self.state = State::Unsent;
        cx.recorder.retry(TRANSACTION);
        cx.recorder.retry(self.operation());
        true
    }
}
