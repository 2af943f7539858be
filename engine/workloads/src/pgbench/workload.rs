//! pgbench scripts as a workload: requests, and the operations that record them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::Answer;
use super::client::{Client as Runner, Next as Step};
use super::error::{ScriptError, text};
use super::options::Options;
use super::program::{Program, Run};
use super::random::Random;
use super::request::Request;
use super::script::{Action, Script};
use super::shell::ShellCommand;
use super::statement::{Mode, Statement, Store, first_word};
use super::variables::Slot;
use crate::sql::{Next, SentRequest, Transactions, Workload};
use loadcell_core::clock::Nanos;
use loadcell_core::error::{Failure, LoadError, SpecError};
use loadcell_core::record::{Kind, OpId, Operation, TRANSACTION};
use loadcell_protocols::postgres::encode;

/// Up to this number, statements are recorded individually; beyond it, by kind.
const MOST_TIMED: usize = 250;
/// Failure code of errors in a script.
const SCRIPT: &str = "script";

/// Compiled scripts, shared by all clients.
pub struct Pgbench {
    operations: Vec<Operation>,
    late: Option<OpId>,
    plan: Arc<Plan>,
}

struct Plan {
    program: Program,
    /// For each script: its operation besides the transaction, if there are several scripts.
    types: Vec<Option<OpId>>,
    /// For each script and command: the data to send.
    sends: Vec<Vec<Option<Send>>>,
    parse: Vec<u8>,
    threads: u32,
}

/// Data sent by a command.
struct Send {
    sent_request: SentRequest,
    /// Request of a statement; a pipeline's end sends the queued requests.
    request: Option<Request>,
}

impl Pgbench {
    pub fn new(options: &Options, seed: u64, clients: u32, threads: u32) -> Result<Self, LoadError> {
        let scale = i64::from(options.scale);
        let program = options.builder()?.build(Run { seed, clients, threads, scale }).map_err(|finding| {
            SpecError::new("engine.spec.script", "workload.pgbench.scripts", json!({"said": finding}))
        })?;
        if !options.allow_shell
            && let Some(mut error) = program.first_shell()
        {
            error.advice = None;
            return Err(LoadError::with_text(SCRIPT, error, "engine.script-shell", json!({})));
        }
        let mut names = Names::default();
        let mut operations =
            vec![Operation { name: names.unique("transaction".into()), kind: Kind::Transaction }];
        let mut types = vec![None; program.scripts().len()];
        if types.len() > 1 {
            for (script, of_type) in program.scripts().iter().zip(&mut types) {
                *of_type = Some(OpId(operations.len() as u16));
                operations.push(Operation { name: names.unique(plain(&script.name)), kind: Kind::Type });
            }
        }
        let late = options.latency_limit_ns.map(|_| {
            operations.push(Operation { name: names.unique("late".into()), kind: Kind::Outcome });
            OpId(operations.len() as u16 - 1)
        });
        let mut timed = Timed { names, operations, alone: count(&program) <= MOST_TIMED };
        let mode = program.mode();
        let sends: Vec<_> = program
            .scripts()
            .iter()
            .enumerate()
            .map(|(number, script)| timed.script(mode, number, script))
            .collect();
        let requests = sends.iter().flatten().flatten().filter_map(|send| send.request.as_ref());
        let parse = requests.flat_map(|request| request.parse.iter().copied()).collect();
        let plan = Plan { program, types, sends, parse, threads };
        Ok(Self { operations: timed.operations, late, plan: Arc::new(plan) })
    }

    /// Operation of transactions beyond the latency limit, if there is one.
    pub fn late(&self) -> Option<OpId> {
        self.late
    }
}

/// Description of a section's scripts, without running them.
pub fn check(section: &Value) -> Result<Value, LoadError> {
    let workload = Pgbench::new(&Options::read(section)?, 0, 1, 1)?;
    let writes = workload.plan.program.scripts().iter().flat_map(|script| &script.commands).any(|command| {
        matches!(&command.action,
            Action::Sql(statement) if pieces(statement.text()).any(|piece| !leaves_data(piece)))
    });
    let operations: Vec<_> = workload.operations.iter().map(|operation| operation.name).collect();
    Ok(json!({"writes": writes, "operations": operations}))
}

fn count(program: &Program) -> usize {
    let commands = program.scripts().iter().flat_map(|script| &script.commands);
    let timed =
        |action: &Action| matches!(action, Action::Sql(_) | Action::StartPipeline) || action.uses_shell();
    commands.filter(|command| timed(&command.action)).count()
}

/// Assigns operations to statements.
struct Timed {
    names: Names,
    operations: Vec<Operation>,
    /// Statements are recorded individually.
    alone: bool,
}

impl Timed {
    fn script(&mut self, mode: Mode, number: usize, script: &Script) -> Vec<Option<Send>> {
        let (mut line, mut counted) = (1, 0);
        let mut pipeline: Option<SentRequest> = None;
        let mut sends = Vec::with_capacity(script.commands.len());
        for (index, command) in script.commands.iter().enumerate() {
            let start = command.span.start as usize;
            line += script.source[counted..start].iter().filter(|&&byte| byte == b'\n').count();
            counted = start;
            let send = match &command.action {
                Action::Sql(statement) => {
                    let sent_request = pipeline.unwrap_or_else(|| {
                        let word = text(first_word(statement.text())).to_ascii_lowercase();
                        self.sent_request(&script.name, line, &word, kind(statement.text()))
                    });
                    let sent_request =
                        if statement.store.is_some() { sent_request.with_rows() } else { sent_request };
                    let request = Request::new(mode, &format!("P{number}_{index}"), statement);
                    Some(Send { sent_request, request: Some(request) })
                }
                Action::StartPipeline => {
                    let inside = script.commands[index..].iter();
                    let inside = inside.take_while(|command| !matches!(command.action, Action::EndPipeline));
                    let kinds = inside.filter_map(|command| match &command.action {
                        Action::Sql(statement) => Some(kind(statement.text())),
                        _ => None,
                    });
                    let sent_request = self.sent_request(&script.name, line, "pipeline", strongest(kinds));
                    pipeline = Some(sent_request);
                    Some(Send { sent_request, request: None })
                }
                Action::EndPipeline => {
                    pipeline = None;
                    None
                }
                action @ (Action::Shell { .. } | Action::SetShell { .. }) => {
                    let word = action.meta_name().unwrap_or_default();
                    Some(Send {
                        sent_request: self.sent_request(&script.name, line, word, Kind::Other),
                        request: None,
                    })
                }
                _ => None,
            };
            sends.push(send);
        }
        sends
    }

    fn sent_request(&mut self, script: &str, line: usize, word: &str, kind: Kind) -> SentRequest {
        let name = if self.alone {
            format!("{}:{line}:{}", plain(script), plain(word))
        } else {
            match kind {
                Kind::Read => "read",
                Kind::Write => "write",
                _ => "other",
            }
            .into()
        };
        if let Some(existing) =
            self.operations.iter().position(|operation| !self.alone && operation.name == name)
        {
            return SentRequest::new(OpId(existing as u16), kind);
        }
        let op = OpId(self.operations.len() as u16);
        self.operations.push(Operation { name: self.names.unique(name), kind });
        SentRequest::new(op, kind)
    }
}

/// Names in use.
#[derive(Default)]
struct Names(Vec<&'static str>);

impl Names {
    fn unique(&mut self, name: String) -> &'static str {
        let mut candidate = name.clone();
        for number in 2.. {
            if !self.0.contains(&candidate.as_str()) {
                break;
            }
            candidate = format!("{name}.{number}");
        }
        // Operation names live as long as the process, which runs one load; there are some hundreds at most.
        let name = Box::leak(candidate.into_boxed_str());
        self.0.push(name);
        name
    }
}

/// Name for results without commas or blanks: the file name without directories.
fn plain(name: &str) -> String {
    let file_name = name.rsplit('/').next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    file_name.chars().take(60).map(safe).collect()
}

/// Statements of a text that `\;` may have joined. Quoted semicolons split, too; the remainder then has no
/// known kind.
fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b';').filter(|piece| !first_word(piece).is_empty())
}

fn kind(text: &[u8]) -> Kind {
    strongest(pieces(text).map(|piece| match &first_word(piece).to_ascii_lowercase()[..] {
        b"insert" | b"update" | b"delete" | b"merge" | b"copy" | b"truncate" => Kind::Write,
        b"with" if !leaves_data(piece) => Kind::Write,
        b"select" | b"with" | b"values" | b"table" | b"show" | b"explain" | b"fetch" => Kind::Read,
        _ => Kind::Other,
    }))
}

fn strongest(kinds: impl Iterator<Item = Kind>) -> Kind {
    let rank = |kind: &Kind| match kind {
        Kind::Write => 2,
        Kind::Read => 1,
        _ => 0,
    };
    kinds.max_by_key(rank).unwrap_or(Kind::Other)
}

/// True if a statement certainly changes no rows (functions called by SELECT are trusted).
fn leaves_data(statement: &[u8]) -> bool {
    let word = |word: &[u8], words: &[&str]| {
        words.iter().any(|existing| word.eq_ignore_ascii_case(existing.as_bytes()))
    };
    match &first_word(statement).to_ascii_lowercase()[..] {
        b"with" | b"explain" => !statement
            .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
            .any(|part| word(part, &["insert", "update", "delete", "merge"])),
        first => word(
            first,
            &[
                "select",
                "values",
                "table",
                "show",
                "begin",
                "start",
                "end",
                "commit",
                "rollback",
                "abort",
                "savepoint",
                "release",
                "set",
                "reset",
                "prepare",
                "deallocate",
                "discard",
                "declare",
                "fetch",
                "move",
                "close",
            ],
        ),
    }
}

impl Workload for Pgbench {
    type Client = Client;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, client: u32) -> Client {
        // pgbench has one stream per thread, from which its clients draw in unpredictable order. Here each
        // client has its own: the first client of a thread that of the thread, the others derived ones.
        let threads = &self.plan.program.seeds().threads;
        let (thread, turn) = (client % self.plan.threads, client / self.plan.threads);
        let mut choose = threads[thread as usize].choose;
        if turn > 0 {
            choose = Random::seeded(choose.bits() ^ u64::from(turn));
        }
        Client {
            runner: self.plan.program.client(client),
            plan: self.plan.clone(),
            choose,
            pipeline: Vec::new(),
            piped: SentRequest::new(TRANSACTION, Kind::Other).times(0),
            awaited: None,
            answer: Answer::default(),
            shell_command: None,
        }
    }
}

/// One client of the scripts.
pub struct Client {
    plan: Arc<Plan>,
    runner: Runner,
    choose: Random,
    /// Queued requests of the open pipeline, and their record.
    pipeline: Vec<u8>,
    piped: SentRequest,
    /// Command whose rows are read.
    awaited: Option<usize>,
    answer: Answer,
    /// Running shell command, the index of its script command, and the variable for its output.
    shell_command: Option<(ShellCommand, usize, Option<Slot>)>,
}

/// Treatment of the statement's rows.
fn stored(plan: &Plan, script: usize, command: usize) -> Option<&Store> {
    match &plan.program.scripts()[script].commands[command].action {
        Action::Sql(Statement { store, .. }) => store.as_ref(),
        _ => None,
    }
}

fn failure(error: &ScriptError) -> Box<Failure> {
    let ScriptError { script, line, column, finding, .. } = error;
    let message = format!("{script}:{line}:{column}: {finding}");
    Box::new(Failure { code: SCRIPT.into(), message })
}

fn failed(error: &ScriptError) -> Next {
    Next::Fail(failure(error))
}

impl Client {
    fn fresh(&mut self) {
        self.pipeline.clear();
        self.piped.statements = 0;
        self.awaited = None;
        self.shell_command = None;
    }

    /// Start a shell command.
    fn send_out(&mut self, command: usize, slot: Option<Slot>, line: Vec<u8>) -> Next {
        let op = self.plan.sends[self.runner.script()][command]
            .as_ref()
            .map_or(TRANSACTION, |send| send.sent_request.op);
        match ShellCommand::start(line, slot.is_some()) {
            Ok(shell_command) => {
                let descriptor = shell_command.descriptor();
                self.shell_command = Some((shell_command, command, slot));
                Next::Until(descriptor, op)
            }
            Err(finding) => failed(&self.runner.failure(&self.plan.program, command, finding, None)),
        }
    }
}

impl Transactions for Client {
    fn parse(&self) -> &[u8] {
        &self.plan.parse
    }

    fn begin(&mut self) -> Option<OpId> {
        let script = self.plan.program.choose(&mut self.choose);
        self.runner.begin(script);
        self.fresh();
        self.plan.types[script]
    }

    fn again(&mut self) {
        self.runner.again();
        self.fresh();
    }

    fn returned(&mut self) -> Result<(), Box<Failure>> {
        let Some((shell_command, command, slot)) = self.shell_command.take() else { return Ok(()) };
        let program = &self.plan.program;
        shell_command
            .outcome()
            .map_err(|finding| self.runner.failure(program, command, finding, None))
            .and_then(|printed| match slot {
                Some(slot) => self.runner.shell_result(program, command, slot, &printed),
                None => Ok(()),
            })
            .map_err(|error| failure(&error))
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        let plan = &*self.plan;
        let script = self.runner.script();
        if let Some(command) = self.awaited.take()
            && let Some(store) = stored(plan, script, command)
            && let Err(error) = self.answer.settle(&mut self.runner, &plan.program, store)
        {
            return failed(&error);
        }
        let sends = &plan.sends[script];
        loop {
            let step = match self.runner.next(&plan.program) {
                Ok(step) => step,
                Err(error) => return failed(&error),
            };
            match step {
                Step::Sql { command, statement } => {
                    let Some(Send { sent_request, request: Some(request) }) = &sends[command] else {
                        unreachable!("every statement has its request")
                    };
                    if self.runner.in_pipeline() {
                        request.write(statement, &self.runner.variables, &mut self.pipeline);
                        self.piped.statements += 1;
                        continue;
                    }
                    request.write(statement, &self.runner.variables, out);
                    if plan.program.mode() != Mode::Simple {
                        out.extend_from_slice(encode::SYNC);
                    }
                    if sent_request.wants_rows {
                        self.awaited = Some(command);
                        self.answer.clear();
                    }
                    return Next::Ask(*sent_request);
                }
                Step::Sleep { microseconds } => {
                    if let Ok(microseconds @ 1..) = Nanos::try_from(microseconds) {
                        return Next::Pause(microseconds.saturating_mul(1_000));
                    }
                }
                Step::StartPipeline { command } => {
                    if let Some(send) = &sends[command] {
                        self.piped = send.sent_request.times(0);
                    }
                }
                // Without a statement there is no response.
                Step::SyncPipeline | Step::EndPipeline if self.piped.statements == 0 => {}
                Step::SyncPipeline | Step::EndPipeline => {
                    out.append(&mut self.pipeline);
                    out.extend_from_slice(encode::SYNC);
                    let sent_request = self.piped;
                    self.piped = sent_request.times(0);
                    return Next::Ask(sent_request);
                }
                Step::Shell { command, line } => return self.send_out(command, None, line),
                Step::SetShell { command, slot, line } => {
                    return self.send_out(command, Some(slot), line);
                }
                Step::End => return Next::Done(None),
            }
        }
    }

    fn columns<'r>(&mut self, names: &mut impl Iterator<Item = &'r [u8]>) {
        let plan = &*self.plan;
        if let Some(store) = self.awaited.and_then(|command| stored(plan, self.runner.script(), command)) {
            self.answer.columns(&self.runner, &plan.program, store, names);
        }
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        let plan = &*self.plan;
        if let Some(store) = self.awaited.and_then(|command| stored(plan, self.runner.script(), command)) {
            self.answer.row(&mut self.runner, store, columns);
        }
    }

    fn completed(&mut self, _: u64) {
        self.answer.complete();
    }
}
