//! Script interpreter of one client. Executes commands that need no server, and returns the next step for all
//! others.

use super::error::{ScriptError, Span, text};
use super::expression::{Expression, Machine, Trap};
use super::program::Program;
use super::random::Random;
use super::script::{Action, Count, Word};
use super::statement::{Statement, Store};
use super::value::Value;
use super::variables::{Slot, Variables};

/// Next step for the caller. `command` is the index of the command in its script.
#[derive(Clone, Debug)]
pub enum Next<'p> {
    /// Send the statement; store rows in the variables of [`Client::column`] if it has a `store`.
    Sql {
        command: usize,
        statement: &'p Statement,
    },
    /// Sleep for this duration; negative means none.
    Sleep {
        microseconds: i64,
    },
    /// Run the command line and ignore its output. A non-zero status is a failure.
    Shell {
        command: usize,
        line: Vec<u8>,
    },
    /// Run the command line and pass its output to [`Client::shell_result`].
    SetShell {
        command: usize,
        slot: Slot,
        line: Vec<u8>,
    },
    StartPipeline {
        command: usize,
    },
    SyncPipeline,
    EndPipeline,
    /// The script is complete.
    End,
}

/// A value printed by `debug()`.
#[derive(Clone, Copy, Debug)]
pub struct Debugged {
    pub script: usize,
    pub command: usize,
    pub value: Value,
}

impl std::fmt::Display for Debugged {
    /// In the format of pgbench, which counts commands from 1.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "debug(script={},command={}): {}", self.script, self.command + 1, self.value.type_name())?;
        if self.value.is_null() {
            return Ok(());
        }
        let mut out = Vec::new();
        self.value.write(&mut out);
        write!(f, " {}", text(&out))
    }
}

/// Receiver of values printed by `debug()`.
pub type DebugSink = Box<dyn FnMut(Debugged) + Send>;

pub struct Client {
    pub variables: Variables,
    machine: Machine,
    /// Random state at the start of the transaction, for retries.
    beginning: Random,
    script: usize,
    at: usize,
    in_pipeline: bool,
    debug: Option<DebugSink>,
}

/// Result of running a script. The error is boxed, as it is rare and large.
pub type RunResult<T> = Result<T, Box<ScriptError>>;

impl Client {
    pub(super) fn new(variables: Variables, random: Random, sites: usize) -> Self {
        let machine = Machine::new(random, sites);
        Self { variables, machine, beginning: random, script: 0, at: 0, in_pipeline: false, debug: None }
    }

    pub fn set_debug(&mut self, sink: DebugSink) {
        self.debug = Some(sink);
    }

    /// Start the next transaction with a script.
    pub fn begin(&mut self, script: usize) {
        self.beginning = self.machine.random;
        self.script = script;
        self.at = 0;
        self.in_pipeline = false;
    }

    /// Restart the transaction with the same random numbers. Variables keep their values, as in pgbench 15.
    pub fn again(&mut self) {
        self.machine.random = self.beginning;
        self.at = 0;
        self.in_pipeline = false;
    }

    pub fn script(&self) -> usize {
        self.script
    }

    /// True if statements are queued until `\endpipeline` or `\syncpipeline`.
    pub fn in_pipeline(&self) -> bool {
        self.in_pipeline
    }

    /// Run up to the next command that needs the caller, executing all commands before it (`\set`, `\if`
    /// ...).
    pub fn next<'p>(&mut self, program: &'p Program) -> RunResult<Next<'p>> {
        let commands = &program.scripts()[self.script].commands;
        loop {
            let command = self.at;
            let Some(this) = commands.get(command) else {
                if self.in_pipeline {
                    let last = commands.last().map_or(Span::default(), |last| last.span);
                    return Err(self.fail(
                        program,
                        last,
                        "end of script reached with pipeline open".into(),
                        Some("end it with \\endpipeline on every way through the script".into()),
                    ));
                }
                return Ok(Next::End);
            };
            self.at = command + 1;
            match &this.action {
                Action::Set { slot, value } => {
                    let value = self.evaluate(program, command, value)?;
                    self.variables.set(*slot, value);
                }
                Action::Sql(statement) => {
                    if let (true, Some(store)) = (self.in_pipeline, &statement.store) {
                        let name = if store.all { "aset" } else { "gset" };
                        let advice =
                            "the result is not there before \\endpipeline: store it outside of the pipeline";
                        let finding = format!("\\{name} is not allowed in pipeline mode");
                        return Err(self.fail(program, store.span, finding, Some(advice.into())));
                    }
                    return Ok(Next::Sql { command, statement });
                }
                Action::If { condition, otherwise } => {
                    if !self.evaluate(program, command, condition)?.truth() {
                        self.branch(program, *otherwise)?;
                    }
                }
                // Reached at the end of the branch that was taken.
                Action::Elif { end, .. } | Action::Else { end } => self.at = *end,
                Action::Endif => {}
                Action::Sleep { count, unit_us } => {
                    let count = match *count {
                        Count::Fixed(count) => count,
                        Count::Variable(slot) => self.sleep_count(program, this.span, slot)?,
                    };
                    return Ok(Next::Sleep { microseconds: count.saturating_mul(*unit_us) });
                }
                Action::Shell { words } => {
                    let line = self.command_line(program, this.span, words)?;
                    return Ok(Next::Shell { command, line });
                }
                Action::SetShell { slot, words } => {
                    let line = self.command_line(program, this.span, words)?;
                    return Ok(Next::SetShell { command, slot: *slot, line });
                }
                Action::StartPipeline => {
                    if std::mem::replace(&mut self.in_pipeline, true) {
                        return Err(self.fail(program, this.span, "already in pipeline mode".into(), None));
                    }
                    return Ok(Next::StartPipeline { command });
                }
                Action::SyncPipeline | Action::EndPipeline => {
                    let ends = matches!(this.action, Action::EndPipeline);
                    if !self.in_pipeline {
                        return Err(self.fail(program, this.span, "not in pipeline mode".into(), None));
                    }
                    self.in_pipeline = !ends;
                    return Ok(if ends { Next::EndPipeline } else { Next::SyncPipeline });
                }
            }
        }
    }

    /// Find the branch to continue with, from the `\elif`, `\else` or `\endif` after a false condition.
    fn branch(&mut self, program: &Program, mut to: usize) -> RunResult<()> {
        let commands = &program.scripts()[self.script].commands;
        while let Action::Elif { condition, otherwise, .. } = &commands[to].action {
            if self.evaluate(program, to, condition)?.truth() {
                break;
            }
            to = *otherwise;
        }
        self.at = to + 1;
        Ok(())
    }

    #[inline]
    fn evaluate(&mut self, program: &Program, command: usize, expression: &Expression) -> RunResult<Value> {
        let value = expression.evaluate(&mut self.variables, &mut self.machine);
        if !self.machine.debugged.is_empty() {
            self.show(command);
        }
        value.map_err(|trap| self.trapped(program, trap))
    }

    #[cold]
    fn show(&mut self, command: usize) {
        if let Some(sink) = &mut self.debug {
            for &value in &self.machine.debugged {
                sink(Debugged { script: self.script, command, value });
            }
        }
    }

    #[cold]
    fn trapped(&self, program: &Program, trap: Trap) -> Box<ScriptError> {
        let (finding, advice) = trap.fault.explain(|slot| {
            let mut value = Vec::new();
            self.variables.write(slot, &mut value);
            (text(program.names().name(slot)), super::lexer::shorten(&text(&value)))
        });
        self.fail(program, trap.span, finding, advice)
    }

    #[cold]
    fn fail(
        &self,
        program: &Program,
        span: Span,
        finding: String,
        advice: Option<String>,
    ) -> Box<ScriptError> {
        let script = &program.scripts()[self.script];
        Box::new(ScriptError::new(&script.name, &script.source, span, finding, advice))
    }

    /// Failure of a command detected by the caller, with its finding.
    pub fn failure(
        &self,
        program: &Program,
        command: usize,
        finding: String,
        advice: Option<String>,
    ) -> Box<ScriptError> {
        let span = program.scripts()[self.script].commands.get(command).map_or(Span::default(), |c| c.span);
        self.fail(program, span, finding, advice)
    }

    fn name(program: &Program, slot: Slot) -> String {
        text(program.names().name(slot))
    }

    /// The integer at the start of the variable's text, parsed like C's `atoi`.
    fn sleep_count(&self, program: &Program, span: Span, slot: Slot) -> RunResult<i64> {
        let mut value = Vec::new();
        if !self.variables.write(slot, &mut value) {
            let finding = format!("sleep: undefined variable {:?}", Self::name(program, slot));
            return Err(self.fail(program, span, finding, None));
        }
        let value = value.trim_ascii_start();
        let sign = usize::from(matches!(value.first(), Some(b'+' | b'-')));
        let digits = sign + value[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        let number = std::str::from_utf8(&value[..digits]).ok().and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| {
            let finding = format!(
                "sleep: invalid sleep time {:?} for variable {:?}",
                text(value),
                Self::name(program, slot)
            );
            self.fail(program, span, finding, None)
        })
    }

    fn command_line(&self, program: &Program, span: Span, words: &[Word]) -> RunResult<Vec<u8>> {
        let mut line = Vec::new();
        for (number, word) in words.iter().enumerate() {
            if number > 0 {
                line.push(b' ');
            }
            match word {
                Word::Text(text) => line.extend_from_slice(text),
                Word::Variable(slot) => {
                    if !self.variables.write(*slot, &mut line) {
                        let finding =
                            format!("shell: undefined variable \":{}\"", Self::name(program, *slot));
                        return Err(self.fail(program, span, finding, None));
                    }
                }
            }
        }
        Ok(line)
    }

    /// Set the variable of a `\setshell` from the output of its command: an integer, optionally surrounded by
    /// white space.
    pub fn shell_result(
        &mut self,
        program: &Program,
        command: usize,
        slot: Slot,
        printed: &[u8],
    ) -> RunResult<()> {
        // Like pgbench, read a single line.
        let line = printed.split_inclusive(|&b| b == b'\n').next().unwrap_or_default();
        let number = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse::<i64>().ok());
        match number {
            Some(number) => {
                // pgbench truncates to 32 bits; a larger number is an error here rather than another number.
                if i32::try_from(number).is_err() {
                    let finding = format!("shell command must return an integer of 32 bits (not {number})");
                    return Err(self.failure(program, command, finding, None));
                }
                self.variables.set(slot, Value::Integer(number));
                Ok(())
            }
            None => {
                let shown = super::lexer::shorten(&text(line));
                let finding = format!("shell command must return an integer (not {shown:?})");
                Err(self.failure(program, command, finding, None))
            }
        }
    }

    /// Variable of a column; `None` if no script reads it, though its name is checked.
    pub fn column(&self, program: &Program, store: &Store, column: &[u8]) -> RunResult<Option<Slot>> {
        let name = [&store.prefix, column].concat();
        if super::variables::is_name(&name) {
            return Ok(program.names().find(&name));
        }
        let finding = format!("error storing into variable {}", text(&name));
        let advice = Some("name the column: SELECT ... AS name".into());
        Err(self.fail(program, store.span, finding, advice))
    }

    /// Failure of a `\gset` with no row or several.
    pub fn row_count_failure(&self, program: &Program, store: &Store, rows: usize) -> Box<ScriptError> {
        let advice = Some("\\gset takes exactly one row; \\aset takes the last of any number".into());
        self.fail(program, store.span, format!("expected one row, got {rows}"), advice)
    }
}
