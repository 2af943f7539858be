//! Compiles the text of a script into commands.

use super::branches::Open;
use super::error::{ScriptError, Span, nearest, text};
use super::lexer::{Lexer, Mistake, shorten};
use super::parser::{self, Shared};
use super::script::{Action, Command, Count, Script, Word};
use super::splitter::{Ended, Splitter};
use super::statement::{MAX_PARAMETERS, Mode, Statement, Store};
use super::variables::{Slot, begins_name, continues_name, is_name};

const META_COMMANDS: [&str; 13] = [
    "set",
    "setshell",
    "shell",
    "sleep",
    "gset",
    "aset",
    "if",
    "elif",
    "else",
    "endif",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
];

/// Maximum words of a meta command, its name included.
const MAX_WORDS: usize = MAX_PARAMETERS + 1;
/// Maximum of mistakes reported per script.
const MAX_ERRORS: usize = 20;

/// Compile a script. Returns all mistakes, unless one hides another, up to a limit of 20.
pub fn compile(
    name: &str,
    source: &[u8],
    weight: u32,
    mode: Mode,
    shared: &mut Shared<'_>,
) -> Result<Script, Vec<ScriptError>> {
    let mut compiler = Compiler {
        source,
        mode,
        shared,
        commands: Vec::new(),
        mistakes: Vec::new(),
        open: Vec::new(),
        pipeline: Some(false),
    };
    match source.iter().position(|&b| b == 0) {
        Some(nul) => compiler.mistakes.push(
            Mistake::new(Span::new(nul, nul + 1), "a NUL byte, which no SQL text can have")
                .advise("is this a script? It may be a binary file, or text in UTF-16"),
        ),
        None if u32::try_from(source.len()).is_err() => {
            compiler.mistakes.push(Mistake::new(Span::default(), "the script is larger than 4 GB"));
        }
        None => compiler.run(),
    }
    let Compiler { commands, mut mistakes, .. } = compiler;
    if mistakes.is_empty() {
        return Ok(Script { name: name.into(), weight, commands, source: source.into() });
    }
    mistakes.sort_by_key(|mistake| mistake.span.start);
    mistakes.truncate(MAX_ERRORS);
    Err(mistakes.into_iter().map(|m| ScriptError::new(name, source, m.span, m.finding, m.advice)).collect())
}

pub(super) struct Compiler<'c, 's> {
    source: &'c [u8],
    mode: Mode,
    shared: &'c mut Shared<'s>,
    pub(super) commands: Vec<Command>,
    mistakes: Vec<Mistake>,
    pub(super) open: Vec<Open>,
    /// A pipeline is open at this point of the script; `None` if that depends on conditions.
    pub(super) pipeline: Option<bool>,
}

impl Compiler<'_, '_> {
    fn run(&mut self) {
        let mut splitter = Splitter::default();
        let mut at = 0;
        loop {
            let mut sql = Vec::new();
            let (ended, first) = splitter.statement(self.source, &mut at, &mut sql);
            if !sql.is_empty() {
                self.sql(sql, first, if ended == Ended::Backslash { at - 1 } else { at });
            }
            match ended {
                Ended::Script => break,
                Ended::Semicolon => {}
                Ended::Backslash => {
                    let mut lexer = Lexer { source: self.source, at };
                    if let Err(mistake) = self.meta(&mut lexer, at - 1) {
                        self.mistakes.push(mistake);
                    }
                    lexer.finish();
                    at = lexer.at;
                }
            }
            if self.mistakes.len() >= MAX_ERRORS {
                return;
            }
        }
        for open in self.open.drain(..) {
            self.mistakes
                .push(Mistake::new(open.span, "\\if without matching \\endif").advise("add an \\endif"));
        }
        if self.mistakes.is_empty() && self.pipeline == Some(true) {
            let span = self.last_span(|action| matches!(action, Action::StartPipeline));
            self.mistakes.push(
                Mistake::new(span, "end of script reached with pipeline open")
                    .advise("end it with \\endpipeline"),
            );
        }
        if self.mistakes.is_empty() && self.commands.is_empty() {
            self.mistakes.push(
                Mistake::new(Span::default(), "empty command list for script")
                    .advise("it needs at least one SQL statement or meta command"),
            );
        }
    }

    fn last_span(&self, is: impl Fn(&Action) -> bool) -> Span {
        self.commands
            .iter()
            .rev()
            .find(|command| is(&command.action))
            .map_or(Span::default(), |command| command.span)
    }

    pub(super) fn push(&mut self, action: Action, span: Span) {
        self.commands.push(Command { action, span });
    }

    fn sql(&mut self, sql: Vec<u8>, first: usize, end: usize) {
        let blank = self.source[first..end].iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
        let span = Span::new(first, end - blank);
        match Statement::new(sql, span, self.mode, self.shared.names) {
            Ok(statement) => self.push(Action::Sql(statement), span),
            Err(mistake) => self.mistakes.push(mistake),
        }
    }

    /// Compile the meta command whose backslash is at `start`, followed by its name.
    fn meta(&mut self, lexer: &mut Lexer<'_>, start: usize) -> Result<(), Mistake> {
        // A backslash alone on its line is ignored, as in pgbench.
        let Some(name_span) = lexer.word() else { return Ok(()) };
        let written = name_span.of(self.source);
        let Some(name) = META_COMMANDS.into_iter().find(|name| written.eq_ignore_ascii_case(name.as_bytes()))
        else {
            let written = text(written);
            let near = nearest(&written, META_COMMANDS);
            let written = shorten(&written);
            let mistake = Mistake::new(
                Span::new(start, name_span.end as usize),
                format!("invalid command \"{written}\""),
            );
            return Err(match near {
                Some(near) => mistake.advise(format!("did you mean \\{near}?")),
                None => mistake.advise(format!("there are \\{}", META_COMMANDS.join(", \\"))),
            });
        };
        let named = |mut mistake: Mistake| {
            mistake.finding = format!("{} in command \"{name}\"", mistake.finding);
            mistake
        };
        let span = Span::new(start, name_span.end as usize);
        match name {
            "set" => self.set(lexer, span).map_err(named),
            // The structure is tracked even if a condition is wrong, to avoid consequential errors.
            "if" | "elif" => {
                let condition = parser::expression(lexer, self.shared).map_err(named);
                let span = Span::new(start, end_of_words(self.source, lexer.at));
                let compiled_condition = condition.as_ref().ok().cloned().unwrap_or_default();
                if name == "if" {
                    self.begin_if(compiled_condition, span)
                } else {
                    self.elif(compiled_condition, span)?
                }
                condition.map(|_| ())
            }
            _ => {
                let words: Vec<Span> = std::iter::from_fn(|| lexer.word()).collect();
                let span = words.last().map_or(span, |last| span.to(*last));
                self.words(name, &words, span).map_err(|mistake| match name {
                    "elif" | "else" | "endif" | "gset" | "aset" if words.is_empty() => mistake,
                    _ => named(mistake),
                })
            }
        }
    }

    fn variable(&mut self, span: Span) -> Result<Slot, Mistake> {
        let name = span.of(self.source);
        if is_name(name) {
            return Ok(self.shared.names.intern(name));
        }
        Err(Mistake::new(span, format!("invalid variable name: {:?}", shorten(&text(name))))
            .advise("a name has letters, digits and underscores, and does not begin with a digit"))
    }

    fn set(&mut self, lexer: &mut Lexer<'_>, span: Span) -> Result<(), Mistake> {
        let Some(name) = lexer.word() else {
            return Err(Mistake::new(span, "missing argument").advise("write \\set name expression"));
        };
        let slot = self.variable(name)?;
        let value = parser::expression(lexer, self.shared)?;
        self.push(
            Action::Set { slot, value },
            Span::new(span.start as usize, end_of_words(self.source, lexer.at)),
        );
        Ok(())
    }

    /// Compile a command whose arguments are words.
    fn words(&mut self, name: &str, words: &[Span], span: Span) -> Result<(), Mistake> {
        if words.len() >= MAX_WORDS {
            return Err(Mistake::new(words[MAX_WORDS - 1], "too many arguments")
                .advise(format!("at most {} are possible", MAX_WORDS - 1)));
        }
        match name {
            "setshell" => {
                let [variable, command @ ..] = words else {
                    return Err(
                        Mistake::new(span, "missing argument").advise("write \\setshell name command")
                    );
                };
                if command.is_empty() {
                    return Err(
                        Mistake::new(span, "missing argument").advise("write \\setshell name command")
                    );
                }
                let slot = self.variable(*variable)?;
                let words = self.shell_words(command)?;
                self.push(Action::SetShell { slot, words }, span);
            }
            "shell" => {
                if words.is_empty() {
                    return Err(Mistake::new(span, "missing command").advise("write \\shell command"));
                }
                let words = self.shell_words(words)?;
                self.push(Action::Shell { words }, span);
            }
            "sleep" => {
                let (count, unit_us) = self.sleep(words, span)?;
                self.push(Action::Sleep { count, unit_us }, span);
            }
            "gset" | "aset" => return self.store(name, words, span),
            _ => {
                if let Some(&extra) = words.first() {
                    // Its effect on the structure is tracked regardless.
                    let _ = self.plain(name, span);
                    return Err(
                        Mistake::new(extra, "unexpected argument").advise(format!("\\{name} stands alone"))
                    );
                }
                return self.plain(name, span);
            }
        }
        Ok(())
    }

    fn plain(&mut self, name: &str, span: Span) -> Result<(), Mistake> {
        match name {
            "else" => self.begin_else(span),
            "endif" => self.endif(span),
            _ => self.in_pipeline(name, span),
        }
    }

    /// A word with a single leading colon is a variable; two colons stand for one.
    fn shell_words(&mut self, words: &[Span]) -> Result<Box<[Word]>, Mistake> {
        words
            .iter()
            .map(|&span| match span.of(self.source) {
                [b':', b':', ..] => Ok(Word::Text(span.of(self.source)[1..].into())),
                [b':', ..] => {
                    let name = Span::new(span.start as usize + 1, span.end as usize);
                    self.variable(name).map(Word::Variable)
                }
                word => Ok(Word::Text(word.into())),
            })
            .collect()
    }

    fn sleep(&mut self, words: &[Span], span: Span) -> Result<(Count, i64), Mistake> {
        let &[count, ref units @ ..] = words else {
            return Err(Mistake::new(span, "missing argument").advise("write \\sleep number [us|ms|s]"));
        };
        if let Some(&extra) = units.get(1) {
            return Err(Mistake::new(extra, "too many arguments").advise("write \\sleep number [us|ms|s]"));
        }
        let mut unit = units.first().copied();
        let written = count.of(self.source);
        let count = if written[0] == b':' {
            Count::Variable(self.variable(Span::new(count.start as usize + 1, count.end as usize))?)
        } else {
            let sign = usize::from(matches!(written[0], b'+' | b'-'));
            let end = sign + written[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
            if end < written.len() && unit.is_none() {
                // The unit may follow without a blank: `2ms`.
                unit = Some(Span::new(count.start as usize + end, count.end as usize));
            }
            let complete = end == written.len() || units.is_empty();
            let number = std::str::from_utf8(&written[..end]).ok().filter(|_| complete && end > sign);
            match number.and_then(|digits| digits.parse().ok()) {
                Some(number) => Count::Fixed(number),
                None => {
                    let written = shorten(&text(written));
                    return Err(Mistake::new(
                        count,
                        format!("invalid sleep time, must be an integer ({written})"),
                    ));
                }
            }
        };
        let unit_us = match unit.map(|unit| (unit, unit.of(self.source).to_ascii_lowercase())) {
            None => 1_000_000,
            Some((span, name)) => match &name[..] {
                b"us" => 1,
                b"ms" => 1_000,
                b"s" => 1_000_000,
                _ => {
                    let written = shorten(&text(span.of(self.source)));
                    return Err(Mistake::new(
                        span,
                        format!("unrecognized time unit, must be us, ms or s ({written})"),
                    ));
                }
            },
        };
        Ok((count, unit_us))
    }

    /// Attach `\gset` or `\aset` to the preceding statement.
    fn store(&mut self, name: &str, words: &[Span], span: Span) -> Result<(), Mistake> {
        if let Some(&extra) = words.get(1) {
            return Err(Mistake::new(extra, "too many arguments").advise(format!("write \\{name} [prefix]")));
        }
        let prefix = words.first().map_or(&[][..], |prefix| prefix.of(self.source));
        if prefix.first().is_some_and(|&first| !begins_name(first))
            || !prefix.iter().copied().all(continues_name)
        {
            return Err(Mistake::new(words[0], format!("invalid variable name: {:?}", text(prefix)))
                .advise("a name has letters, digits and underscores, and does not begin with a digit"));
        }
        if self.pipeline == Some(true) {
            return Err(Mistake::new(span, format!("\\{name} is not allowed in pipeline mode"))
                .advise("the result is not there before \\endpipeline: store it outside of the pipeline"));
        }
        match self.commands.last_mut() {
            Some(Command { action: Action::Sql(statement), .. }) if statement.store.is_none() => {
                statement.store = Some(Store { all: name == "aset", prefix: prefix.into(), span });
                Ok(())
            }
            // The preceding statement may be missing because it is wrong itself.
            _ if !self.mistakes.is_empty() => Ok(()),
            _ => Err(Mistake::new(span, format!("\\{name} must follow an SQL command"))
                .advise("put it in the place of the statement's semicolon")),
        }
    }

    fn in_pipeline(&mut self, name: &str, span: Span) -> Result<(), Mistake> {
        if self.mode == Mode::Simple {
            return Err(Mistake::new(span, "cannot use pipeline mode with the simple query protocol")
                .advise("set the workload's protocol to extended or prepared"));
        }
        let (action, open) = match name {
            "startpipeline" => (Action::StartPipeline, true),
            "syncpipeline" => (Action::SyncPipeline, true),
            _ => (Action::EndPipeline, false),
        };
        match (self.pipeline, &action) {
            (Some(true), Action::StartPipeline) => {
                return Err(Mistake::new(span, "already in pipeline mode")
                    .advise("end the one before with \\endpipeline"));
            }
            (Some(false), Action::SyncPipeline | Action::EndPipeline) => {
                return Err(
                    Mistake::new(span, "not in pipeline mode").advise("begin one with \\startpipeline")
                );
            }
            _ => {}
        }
        self.pipeline = Some(open);
        self.push(action, span);
        Ok(())
    }
}

/// End of a command that was read up to `at`, without trailing white space.
fn end_of_words(source: &[u8], at: usize) -> usize {
    at - source[..at].iter().rev().take_while(|b| b.is_ascii_whitespace()).count()
}
