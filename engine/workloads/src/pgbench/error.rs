//! Errors of scripts, with their position and advice.

use std::fmt;

use super::variables::Slot;

/// A range of a script's bytes: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub fn of(self, source: &[u8]) -> &[u8] {
        &source[self.start as usize..self.end as usize]
    }
}

/// Reason why an expression has no value. Small and without text, as it passes through the evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EvaluationError {
    Undefined(Slot),
    Malformed(Slot),
    Coercion { from: &'static str, to: &'static str },
    DoubleToInteger(f64),
    Overflow(&'static str),
    DivisionByZero,
    EmptyRange { min: i64, max: i64 },
    RangeTooLarge,
    GaussianParameter(f64),
    ExponentialParameter(f64),
    ZipfianParameter(f64),
    PermuteSize(i64),
}

impl EvaluationError {
    /// Finding and advice. `describe` returns a variable's name and text.
    pub fn explain(self, describe: impl Fn(Slot) -> (String, String)) -> (String, Option<String>) {
        match self {
            Self::Undefined(slot) => {
                let (name, _) = describe(slot);
                (
                    format!("undefined variable {name:?}"),
                    Some(format!("set it before, or define it: {name}=value")),
                )
            }
            Self::Malformed(slot) => {
                let (name, text) = describe(slot);
                (
                    format!("malformed variable {name:?} value: {text:?}"),
                    Some("an expression takes null, a boolean, a 64-bit integer or a double".into()),
                )
            }
            Self::Coercion { from, to } => (format!("cannot coerce {from} to {to}"), None),
            Self::DoubleToInteger(double) => (format!("double to int overflow for {double}"), None),
            Self::Overflow(operation) => (
                format!("bigint {operation} out of range"),
                Some("use a double, such as 1.0, to go on past 2^63".into()),
            ),
            Self::DivisionByZero => ("division by zero".into(), None),
            Self::EmptyRange { min, max } => (
                format!("empty range given to random: {min} to {max}"),
                Some("the lower bound comes first".into()),
            ),
            Self::RangeTooLarge => {
                ("random range is too large".into(), Some("it holds at most 2^63 - 1 values".into()))
            }
            Self::GaussianParameter(parameter) => {
                (format!("gaussian parameter must be at least 2 (not {parameter})"), None)
            }
            Self::ExponentialParameter(parameter) => {
                (format!("exponential parameter must be greater than zero (not {parameter})"), None)
            }
            Self::ZipfianParameter(parameter) => {
                (format!("zipfian parameter must be in range [1.001, 1000] (not {parameter})"), None)
            }
            Self::PermuteSize(parameter) => {
                (format!("permute size parameter must be greater than zero (not {parameter})"), None)
            }
        }
    }
}

/// An error in a script, at compile time or run time: position, finding, advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub script: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    pub finding: String,
    pub advice: Option<String>,
    /// The line, or an excerpt around the position.
    excerpt: String,
    /// Characters of the excerpt before the position, and the number to mark.
    indent: usize,
    width: usize,
}

/// Characters of a line shown on either side of the position.
const EXCERPT_REACH: usize = 60;

impl ScriptError {
    pub fn new(script: &str, source: &[u8], span: Span, finding: String, advice: Option<String>) -> Self {
        let start = (span.start as usize).min(source.len());
        let end = (span.end as usize).clamp(start, source.len());
        let line = 1 + source[..start].iter().filter(|&&b| b == b'\n').count();
        let line_start = source[..start].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line_end = source[start..].iter().position(|&b| b == b'\n').map_or(source.len(), |at| start + at);
        let before: Vec<char> = text(&source[line_start..start]).chars().collect();
        let within = text(&source[start..end.min(line_end)]).chars().count();
        let after = text(&source[start..line_end]);
        let indent = before.len().min(EXCERPT_REACH);
        let shown = before[before.len() - indent..].iter().copied().chain(after.chars().take(EXCERPT_REACH));
        Self {
            script: script.into(),
            line,
            column: before.len() + 1,
            finding,
            advice,
            excerpt: shown
                .map(|c| if c == '\0' { '\u{fffd}' } else { c })
                .collect::<String>()
                .trim_end()
                .into(),
            indent,
            width: within.clamp(1, EXCERPT_REACH),
        }
    }
}

/// Bytes as displayable text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}:{}: {}", self.script, self.line, self.column, self.finding)?;
        writeln!(f, "    {}", self.excerpt)?;
        // Tabs before the position remain tabs, so that the mark is aligned on every terminal.
        let indent: String =
            self.excerpt.chars().take(self.indent).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "    {indent:<width$}{}", "^".repeat(self.width), width = self.indent)?;
        match &self.advice {
            Some(advice) => write!(f, "\n    {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScriptError {}

/// The known word with the smallest edit distance to `input`, if it is close enough.
pub fn nearest<'a>(input: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A very long word is not a typing error, and comparing it would be slow.
    if input.len() > 40 {
        return None;
    }
    let input = input.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|word| (distance(input.as_bytes(), word.as_bytes()), word))
        .filter(|&(distance, word)| distance <= 1 + word.len() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Edit distance (Levenshtein, 1966).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(source: &str, start: usize, end: usize) -> String {
        ScriptError::new("rw.sql", source.as_bytes(), Span::new(start, end), "odd".into(), None).to_string()
    }

    #[test]
    fn error_shows_its_line_and_marks_the_position() {
        assert_eq!(
            error("select 1;\n\\set i foo(1)\n", 17, 20),
            "rw.sql:2:8: odd\n    \\set i foo(1)\n           ^^^"
        );
        assert_eq!(
            error("\\set \u{e9} 1 +", 10, 11),
            "rw.sql:1:10: odd\n    \\set \u{e9} 1 +\n             ^"
        );
        assert_eq!(error("\t\\set", 1, 2), "rw.sql:1:2: odd\n    \t\\set\n    \t^");
        assert_eq!(error("", 0, 0), "rw.sql:1:1: odd\n    \n    ^");
    }

    #[test]
    fn long_lines_are_excerpted() {
        let long = "x".repeat(1 << 20);
        assert!(error(&long, 500_000, 600_000).len() < 400);
    }

    #[test]
    fn nearest_word_is_suggested() {
        let candidates = ["random", "random_zipfian", "hash"];
        assert_eq!(nearest("randon", candidates), Some("random"));
        assert_eq!(nearest("HASH", candidates), Some("hash"));
        assert_eq!(nearest("xyz", candidates), None);
    }
}
