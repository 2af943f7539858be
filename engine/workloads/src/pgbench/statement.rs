//! SQL statements and the positions of their variables.

use super::error::Span;
use super::lexer::Mistake;
use super::variables::{Names, Slot, Variables, begins_name, continues_name};

/// Query protocol of the statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Simple query protocol: variables are inlined into the text.
    #[default]
    Simple,
    /// Parse, Bind and Execute each time: variables are parameters.
    Extended,
    /// Parse once, then Bind and Execute.
    Prepared,
}

/// Treatment of returned rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// `\aset`: all results of the request, with the last row of each. `\gset`: the last result, with exactly
    /// one row.
    pub all: bool,
    pub prefix: Box<[u8]>,
    /// Source range of the meta command.
    pub span: Span,
}

/// Maximum number of parameters of a statement, as in pgbench.
pub const MAX_PARAMETERS: usize = 255;

/// An SQL statement (or several, joined by `\;`).
#[derive(Clone, Debug)]
pub struct Statement {
    /// Text to send: with `$1`, `$2` ... for parameters in the extended modes, otherwise as written.
    text: Box<[u8]>,
    variables: Box<[Variable]>,
    mode: Mode,
    pub store: Option<Store>,
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    slot: Slot,
    /// Range in the text: the complete `:name`, in simple mode.
    span: Span,
}

impl Statement {
    /// Find the variables of a text from [`Splitter`](super::splitter::Splitter). `span` is the statement's
    /// source range.
    pub fn new(text: Vec<u8>, span: Span, mode: Mode, names: &mut Names) -> Result<Self, Mistake> {
        let mut variables = Vec::new();
        let mut numbered = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(colon) =
            text[at..].iter().position(|&b| b == b':').map(|colon_offset| at + colon_offset)
        {
            // Two colons are a cast: a name after several colons is not a variable.
            let after = colon + text[colon..].iter().take_while(|&&b| b == b':').count();
            if after > colon + 1 || !text.get(after).copied().is_some_and(begins_name) {
                at = after;
                continue;
            }
            let end = after + text[after..].iter().take_while(|&&b| continues_name(b)).count();
            variables.push(Variable { slot: names.intern(&text[after..end]), span: Span::new(colon, end) });
            if mode != Mode::Simple {
                if variables.len() > MAX_PARAMETERS {
                    let finding = format!("statement has too many arguments (maximum is {MAX_PARAMETERS})");
                    return Err(Mistake::new(span, finding).advise(
                        "every :variable of a statement is one; use fewer, or the simple query protocol",
                    ));
                }
                numbered.extend_from_slice(&text[copied..colon]);
                numbered.extend_from_slice(format!("${}", variables.len()).as_bytes());
                copied = end;
            }
            at = end;
        }
        let text = if mode == Mode::Simple {
            text
        } else {
            numbered.extend_from_slice(&text[copied..]);
            numbered
        };
        Ok(Self { text: text.into(), variables: variables.into(), mode, store: None })
    }

    /// Text to parse in the extended modes, with `$1`, `$2` ... for its parameters.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Append the text for simple mode: set variables are replaced, even inside quotes; others stay as
    /// written.
    pub fn write(&self, variables: &Variables, out: &mut Vec<u8>) {
        let mut copied = 0;
        if self.mode == Mode::Simple {
            for variable in &self.variables {
                out.extend_from_slice(&self.text[copied..variable.span.start as usize]);
                copied = variable.span.start as usize;
                if variables.write(variable.slot, out) {
                    copied = variable.span.end as usize;
                }
            }
        }
        out.extend_from_slice(&self.text[copied..]);
    }

    /// Number of parameters in the extended modes.
    pub fn parameter_count(&self) -> usize {
        if self.mode == Mode::Simple { 0 } else { self.variables.len() }
    }

    /// Variables of the parameters in order. An unset one is bound as NULL.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = Slot> {
        self.variables[..self.parameter_count()].iter().map(|variable| variable.slot)
    }
}

/// First word of SQL text after any comments, which determines the statement's kind; empty if there is none.
pub fn first_word(text: &[u8]) -> &[u8] {
    let mut at = 0;
    while at < text.len() && !begins_name(text[at]) {
        let remaining = &text[at..];
        at += match remaining {
            [b'/', b'*', ..] => {
                remaining.windows(2).position(|w| w == b"*/").map_or(remaining.len(), |end| end + 2)
            }
            [b'-', b'-', ..] => remaining.iter().position(|&b| b == b'\n').unwrap_or(remaining.len()),
            _ => 1,
        };
    }
    let length = text[at..].iter().take_while(|&&b| continues_name(b)).count();
    &text[at..at + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::value::Value;

    fn statement(text: &str, mode: Mode) -> (Statement, Variables, Names) {
        let mut names = Names::default();
        let (a, null) = (names.intern(b"a"), names.intern(b"null"));
        let statement = Statement::new(text.into(), Span::default(), mode, &mut names).unwrap();
        let mut variables = Variables::new(&names);
        variables.set(a, Value::Integer(-5));
        variables.set(null, Value::Null);
        (statement, variables, names)
    }

    #[test]
    fn simple_mode_replaces_set_variables() {
        for (text, expected) in [
            ("select :a;", "select -5;"),
            ("select ':a', :null, :b", "select '-5', NULL, :b"),
            ("select :a::int, x::a, :::a", "select -5::int, x::a, :::a"),
            ("select '12:34:56', a:1, : a", "select '12:34:56', a:1, : a"),
            (":a:a:aa", "-5-5:aa"),
        ] {
            let (statement, variables, _) = statement(text, Mode::Simple);
            let mut out = Vec::new();
            statement.write(&variables, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn extended_modes_use_parameters() {
        let (colon_offset, _, names) = statement("select :a::int, ':b', :a;", Mode::Prepared);
        assert_eq!(colon_offset.text(), b"select $1::int, '$2', $3;");
        let parameters: Vec<_> = colon_offset.parameters().map(|slot| names.name(slot).to_vec()).collect();
        assert_eq!(parameters, [b"a", b"b", b"a"]);

        let many = |count| format!("select {}", vec![":a"; count].join(","));
        let new =
            |count, mode| Statement::new(many(count).into(), Span::default(), mode, &mut Names::default());
        assert_eq!(new(255, Mode::Extended).unwrap().parameter_count(), 255);
        assert!(
            new(256, Mode::Extended).unwrap_err().finding.contains("too many arguments (maximum is 255)")
        );
        assert_eq!(new(256, Mode::Simple).unwrap().parameter_count(), 0);
    }

    #[test]
    fn first_word_is_the_kind() {
        for (text, word) in
            [("/* a */ (SELECT 1)", "SELECT"), ("-- x\n update t", "update"), (";", ""), ("/*", "")]
        {
            assert_eq!(first_word(text.as_bytes()), word.as_bytes());
        }
    }
}
