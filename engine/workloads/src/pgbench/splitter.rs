//! Finds the end of SQL statements.
//!
//! A statement ends at a semicolon outside of quotes, comments, parentheses and a function body written as
//! `BEGIN ATOMIC ... END`; at a backslash that starts a meta command; or at the end of the script. `\;` and
//! `\:` stand for the characters themselves, so `\;` joins statements into one request. These are the rules
//! of psql, which pgbench shares.

use super::variables::{begins_name, continues_name};

/// Terminator of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A semicolon, which belongs to the statement.
    Semicolon,
    /// A backslash, followed by a meta command.
    Backslash,
    Script,
}

/// Splitter state. As in psql, the state of parentheses and words is reset only by a semicolon that ends a
/// statement.
#[derive(Debug, Default)]
pub struct Splitter {
    parentheses: u32,
    /// Nesting of BEGIN and CASE in the body of a function definition.
    blocks: u32,
    /// First letters of the first words, which may form `CREATE [OR REPLACE] {FUNCTION | PROCEDURE}`.
    beginning: [u8; 4],
    words: usize,
}

/// White space between tokens, line ends included.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0x0b)
}

impl Splitter {
    /// Append the statement that starts at `at` to `out`, and advance `at` past its terminator. Leading white
    /// space and `--` comments are dropped; nothing is appended if there is no statement. Returns the
    /// position of its first byte, too.
    pub fn statement(&mut self, source: &[u8], at: &mut usize, out: &mut Vec<u8>) -> (Ended, usize) {
        let mut first = *at;
        let emit = |out: &mut Vec<u8>, first: &mut usize, from: usize, to: usize| {
            if out.is_empty() {
                *first = from;
            }
            out.extend_from_slice(&source[from..to]);
        };
        while let Some(&byte) = source.get(*at) {
            let start = *at;
            let next = source.get(start + 1).copied();
            let end = match byte {
                _ if is_space(byte) => start + 1,
                b'-' if next == Some(b'-') => line_end(source, start),
                b'\\' => {
                    if !matches!(next, Some(b';' | b':')) {
                        *at += 1;
                        return (Ended::Backslash, first);
                    }
                    *at += 1;
                    start + 2
                }
                b'/' if next == Some(b'*') => comment_end(source, start),
                b'\'' => quote_end(source, start, false),
                b'"' => doubled_end(source, start + 1, b'"'),
                b'$' => dollar_end(source, start),
                b'(' => {
                    self.parentheses += 1;
                    start + 1
                }
                b')' => {
                    self.parentheses = self.parentheses.saturating_sub(1);
                    start + 1
                }
                b'0'..=b'9' => number_end(source, start),
                _ if begins_name(byte) => self.word(source, start),
                _ => start + 1,
            };
            let blank = is_space(byte) || (byte == b'-' && next == Some(b'-'));
            if !(blank && out.is_empty()) {
                emit(out, &mut first, *at, end);
            }
            *at = end;
            if byte == b';' && self.parentheses == 0 && self.blocks == 0 {
                self.words = 0;
                return (Ended::Semicolon, first);
            }
        }
        (Ended::Script, first)
    }

    /// Skip a word, or a string with a letter prefix. Tracks the body of a function.
    fn word(&mut self, source: &[u8], start: usize) -> usize {
        if let Some(b'\'') = source.get(start + 1) {
            match source[start] {
                b'e' | b'E' => return quote_end(source, start + 1, true),
                b'b' | b'B' | b'x' | b'X' | b'n' | b'N' => return quote_end(source, start + 1, false),
                _ => {}
            }
        }
        let end = start + source[start..].iter().take_while(|&&b| continues_name(b) || b == b'$').count();
        let word = &source[start..end];
        let is = |keyword: &[u8]| word.eq_ignore_ascii_case(keyword);
        if self.words == 0 {
            self.beginning = [0; 4];
        }
        let telling = [&b"create"[..], b"function", b"procedure", b"or", b"replace"].into_iter().any(is);
        if let Some(letter) = self.beginning.get_mut(self.words).filter(|_| telling) {
            *letter = word[0].to_ascii_lowercase();
        }
        self.words += 1;
        let creates = matches!(self.beginning, [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']);
        if creates && self.parentheses == 0 {
            if is(b"begin") || (is(b"case") && self.blocks > 0) {
                self.blocks += 1;
            } else if is(b"end") {
                self.blocks = self.blocks.saturating_sub(1);
            }
        }
        end
    }
}

fn line_end(source: &[u8], start: usize) -> usize {
    start + source[start..].iter().take_while(|&&b| b != b'\n' && b != b'\r').count()
}

/// Position after a comment, with nested comments.
fn comment_end(source: &[u8], start: usize) -> usize {
    let mut depth = 1;
    let mut at = start + 2;
    while at < source.len() {
        match source[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// Position after the next `quote` that is not doubled.
fn doubled_end(source: &[u8], mut at: usize, quote: u8) -> usize {
    while at < source.len() {
        if source[at] == quote {
            if source.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    at
}

/// Position after the string whose opening quote is at `start`. With `escapes` a backslash escapes the next
/// character, also in continuations of the string on later lines.
fn quote_end(source: &[u8], start: usize, escapes: bool) -> usize {
    if !escapes {
        return doubled_end(source, start + 1, b'\'');
    }
    let mut at = start + 1;
    while at < source.len() {
        match (source[at], source.get(at + 1)) {
            (b'\\', _) | (b'\'', Some(b'\'')) => at += 2,
            (b'\'', _) => match continued(source, at + 1) {
                Some(quote) => at = quote + 1,
                None => return at + 1,
            },
            _ => at += 1,
        }
    }
    source.len()
}

/// Opening quote of the string's continuation: only white space and comments may precede it, with at least
/// one line end.
fn continued(source: &[u8], mut at: usize) -> Option<usize> {
    let mut lines = 0;
    loop {
        match source.get(at)? {
            b'\'' if lines > 0 => return Some(at),
            b'\n' | b'\r' => {
                lines += 1;
                at += 1;
            }
            &byte if is_space(byte) => at += 1,
            b'-' if source.get(at + 1) == Some(&b'-') => at = line_end(source, at),
            _ => return None,
        }
    }
}

/// Position after a `$tag$ ... $tag$` string, or after the dollar sign if it starts none.
fn dollar_end(source: &[u8], start: usize) -> usize {
    let tag = source[start + 1..].iter().take_while(|&&b| continues_name(b)).count();
    let body = start + tag + 2;
    let named = tag == 0 || begins_name(source[start + 1]);
    if !named || source.get(body - 1) != Some(&b'$') {
        return start + 1;
    }
    let delimiter = &source[start..body];
    let mut at = body;
    while let Some(dollar) = source[at..].iter().position(|&b| b == b'$') {
        at += dollar;
        if source[at..].starts_with(delimiter) {
            return at + delimiter.len();
        }
        at += 1;
    }
    source.len()
}

/// Position after a number. One adjacent letter belongs to it: the `e` of `1e'` starts no string.
fn number_end(source: &[u8], start: usize) -> usize {
    let digits =
        |at: usize| at + source[at.min(source.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = digits(start);
    if source.get(at) == Some(&b'.') && source.get(at + 1) != Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(source.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(source.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end > at + 1 + sign {
            at = end;
        }
    }
    at + usize::from(source.get(at).copied().is_some_and(begins_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(source: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut at = 0;
        let mut all = Vec::new();
        loop {
            let mut out = Vec::new();
            let (ended, _) = splitter.statement(source.as_bytes(), &mut at, &mut out);
            if !out.is_empty() {
                all.push(String::from_utf8(out).unwrap());
            }
            match ended {
                Ended::Script => return all,
                Ended::Backslash => all.push("\\".into()),
                Ended::Semicolon => {}
            }
        }
    }

    #[test]
    fn statements_end_as_in_psql() {
        for (source, expected) in [
            ("select 1; select 2", &["select 1;", "select 2"][..]),
            ("-- a;\n\n  select 1 -- b;\n, 2;", &["select 1 -- b;\n, 2;"]),
            (";;", &[";", ";"]),
            ("/* a */ \\x", &["/* a */ ", "\\", "x"]),
            ("select 1 /* a /* ; */ ; */;x", &["select 1 /* a /* ; */ ; */;", "x"]),
            ("select 2+--;\n3;", &["select 2+--;\n3;"]),
            ("select 'a;''b;';x", &["select 'a;''b;';", "x"]),
            ("select \"a;\"\"b;\";x", &["select \"a;\"\"b;\";", "x"]),
            ("select 'a\\';x", &["select 'a\\';", "x"]),
            ("select E'a\\';';x", &["select E'a\\';';", "x"]),
            ("select e'a'\n --;\n 'b\\';';x", &["select e'a'\n --;\n 'b\\';';", "x"]),
            ("select 'a'\n 'b\\';x", &["select 'a'\n 'b\\';", "x"]),
            ("select E'a' 'b';x", &["select E'a' 'b';", "x"]),
            ("select $$a;$$, $b$ $$; $b$;x", &["select $$a;$$, $b$ $$; $b$;", "x"]),
            ("select a$$;b$$", &["select a$$;", "b$$"]),
            ("select $1;x", &["select $1;", "x"]),
            ("select (1; 2);x", &["select (1; 2);", "x"]),
            ("select 1));x", &["select 1));", "x"]),
            ("select 1 \\; select 2\\: ;x", &["select 1 ; select 2: ;", "x"]),
            ("select 1 \\gset", &["select 1 ", "\\", "gset"]),
            ("select 'a; \\x", &["select 'a; \\x"]),
            ("select 1e'a\\", &["select 1e'a\\"]),
            (
                "create or replace function f() begin atomic select 1; select case when true then 1 end; \
                    end; x",
                &[
                    "create or replace function f() begin atomic select 1; select case when true then 1 \
                        end; end;",
                    "x",
                ],
            ),
            (
                "create function f() as $$ begin; $$; begin; x; end;",
                &["create function f() as $$ begin; $$;", "begin;", "x;", "end;"],
            ),
            ("create table f (a int); begin; end;", &["create table f (a int);", "begin;", "end;"]),
        ] {
            assert_eq!(split(source), expected, "{source:?}");
        }
    }
}
