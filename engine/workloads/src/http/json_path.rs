//! A JSON path, found in a text by skipping: no value is built, and reading ends at the match.
//!
//! `$.items[0].id`, `$['a key'][*].name`: names, indexes, and `*` for any element or member, of which the
//! first one counts under which the rest of the path exists. Only what is read on the way is checked: a text
//! that is broken after the match is not noticed.

use memchr::memchr2;
use serde_json::json;

use loadcell_core::error::SpecError;

/// Longest path in steps; each is one level of recursion.
const MOST_STEPS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Index(usize),
    Any,
}

/// Compiled path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    steps: Vec<PathStep>,
}

/// The text is no JSON at this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoJson(pub usize);

impl JsonPath {
    /// Compile a path. Errors name the position of the mistake, counted in characters from 1.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let wrong = |at: usize| {
            let position = text[..at].chars().count() + 1;
            let matched: String = text[at..].chars().take(12).collect();
            let arguments = json!({"json_path": text, "position": position.to_string(), "found": matched});
            let code = if matched.is_empty() { "engine.spec.json-path-end" } else { "engine.spec.json-path" };
            SpecError::new(code, "workload.http.steps", arguments)
        };
        if !text.starts_with('$') {
            return Err(wrong(0));
        }
        let (mut at, mut steps) = (1, Vec::new());
        while at < text.len() {
            let (step, length) = path_step(&text[at..]).map_err(|offset| wrong(at + offset))?;
            steps.push(step);
            at += length;
            if steps.len() > MOST_STEPS {
                return Err(wrong(at));
            }
        }
        Ok(Self { text: text.into(), steps })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at the path, as it is written in `body`; none if there is no such value.
    pub fn find<'b>(&self, body: &'b [u8]) -> Result<Option<&'b [u8]>, NoJson> {
        let mut scanner = Scanner { text: body, at: 0 };
        scanner.blank();
        scanner.find(&self.steps)
    }
}

/// The step at the start of `text` and its length, or the offset of the mistake.
fn path_step(text: &str) -> Result<(PathStep, usize), usize> {
    let remaining = match text.as_bytes()[0] {
        b'.' => {
            let name = &text[1..];
            if name.starts_with('*') {
                return Ok((PathStep::Any, 2));
            }
            let good = |character: char| {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-') || !character.is_ascii()
            };
            let length = name.find(|character| !good(character)).unwrap_or(name.len());
            return if length == 0 {
                Err(1)
            } else {
                Ok((PathStep::Name(name[..length].into()), 1 + length))
            };
        }
        b'[' => &text[1..],
        _ => return Err(0),
    };
    let closed =
        |length: usize| if remaining[length..].starts_with(']') { Ok(length + 2) } else { Err(length + 1) };
    match remaining.chars().next() {
        Some('*') => Ok((PathStep::Any, closed(1)?)),
        Some('0'..='9') => {
            let length =
                remaining.find(|character: char| !character.is_ascii_digit()).unwrap_or(remaining.len());
            let index = remaining[..length].parse().map_err(|_| 1usize)?;
            Ok((PathStep::Index(index), closed(length)?))
        }
        Some(quote @ ('\'' | '"')) => {
            let (mut name, mut characters) = (String::new(), remaining.char_indices().skip(1));
            while let Some((offset, character)) = characters.next() {
                match character {
                    '\\' => match characters.next() {
                        Some((_, escaped)) if matches!(escaped, '\\' | '\'' | '"') => name.push(escaped),
                        _ => return Err(1 + offset),
                    },
                    end if end == quote => return Ok((PathStep::Name(name), closed(offset + 1)?)),
                    other => name.push(other),
                }
            }
            Err(1 + remaining.len())
        }
        _ => Err(1),
    }
}

/// True for bytes that end a value without quotes or brackets.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b':' | b'"' | b'{' | b'[')
}

struct Scanner<'b> {
    text: &'b [u8],
    at: usize,
}

impl<'b> Scanner<'b> {
    #[inline]
    fn byte(&self) -> Result<u8, NoJson> {
        self.text.get(self.at).copied().ok_or(NoJson(self.at))
    }

    #[inline]
    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// The value at `steps` from the value that begins here.
    fn find(&mut self, steps: &[PathStep]) -> Result<Option<&'b [u8]>, NoJson> {
        let Some((step, remaining)) = steps.split_first() else {
            let start = self.at;
            self.skip()?;
            return Ok(Some(&self.text[start..self.at]));
        };
        match (step, self.byte()?) {
            (PathStep::Name(_) | PathStep::Any, b'{') => self.child(step, remaining, b'}'),
            (PathStep::Index(_) | PathStep::Any, b'[') => self.child(step, remaining, b']'),
            _ => Ok(None),
        }
    }

    /// In the object or array that `end` closes: the value under the first member or element that `step`
    /// means.
    fn child(
        &mut self,
        step: &PathStep,
        remaining: &[PathStep],
        end: u8,
    ) -> Result<Option<&'b [u8]>, NoJson> {
        self.at += 1;
        self.blank();
        if self.byte()? == end {
            return Ok(None);
        }
        let mut number = 0;
        loop {
            let name = if end == b'}' { self.member_name()? } else { &[] };
            let matches = match step {
                PathStep::Name(wanted) => is_name(name, wanted),
                PathStep::Index(wanted) => *wanted == number,
                PathStep::Any => true,
            };
            if matches {
                let value = self.at;
                let matched = self.find(remaining)?;
                if matched.is_some() || *step != PathStep::Any {
                    return Ok(matched);
                }
                self.at = value;
            }
            self.skip()?;
            if !self.next_of(end)? {
                return Ok(None);
            }
            number += 1;
        }
    }

    /// The name of a member as it is written between its quotes; the value begins behind it.
    fn member_name(&mut self) -> Result<&'b [u8], NoJson> {
        let start = self.at;
        if self.byte()? != b'"' {
            return Err(NoJson(self.at));
        }
        self.string()?;
        let name = &self.text[start + 1..self.at - 1];
        self.blank();
        if self.byte()? != b':' {
            return Err(NoJson(self.at));
        }
        self.at += 1;
        self.blank();
        Ok(name)
    }

    /// After a member or element: true if another follows, false if `end` does.
    fn next_of(&mut self, end: u8) -> Result<bool, NoJson> {
        self.blank();
        let byte = self.byte()?;
        if byte != b',' && byte != end {
            return Err(NoJson(self.at));
        }
        self.at += 1;
        self.blank();
        Ok(byte == b',')
    }

    /// Skip the value that begins here. Brackets are only counted.
    fn skip(&mut self) -> Result<(), NoJson> {
        let start = self.at;
        match self.byte()? {
            b'"' => self.string(),
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match self.byte()? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
            }
            _ => {
                let remaining = &self.text[start..];
                let length = remaining.iter().position(|byte| ends_word(*byte)).unwrap_or(remaining.len());
                self.at += length;
                if is_word(&remaining[..length]) { Ok(()) } else { Err(NoJson(start)) }
            }
        }
    }

    /// Skip the string that begins here.
    #[inline]
    fn string(&mut self) -> Result<(), NoJson> {
        let start = self.at;
        self.at += 1;
        loop {
            let remaining = self.text.get(self.at..).unwrap_or_default();
            let Some(length) = memchr2(b'"', b'\\', remaining) else { return Err(NoJson(start)) };
            self.at += length + 1;
            if remaining[length] == b'"' {
                return Ok(());
            }
            self.at += 1;
        }
    }
}

/// A literal, or the beginning of a number.
fn is_word(word: &[u8]) -> bool {
    matches!(word, b"true" | b"false" | b"null") || matches!(word.first(), Some(b'-' | b'0'..=b'9'))
}

/// True if the member's name, as it is written between its quotes, is `wanted`.
#[inline]
fn is_name(written: &[u8], wanted: &str) -> bool {
    if written == wanted.as_bytes() {
        return true;
    }
    if !written.contains(&b'\\') {
        return false;
    }
    let mut name = Vec::new();
    unescape(written, &mut name).is_ok() && name == wanted.as_bytes()
}

/// Append the text of a value: of a string what it stands for, of all others what is written.
pub fn write_text(value: &[u8], out: &mut Vec<u8>) -> Result<(), NoJson> {
    match value {
        [b'"', inner @ .., b'"'] => unescape(inner, out),
        _ => {
            out.extend_from_slice(value);
            Ok(())
        }
    }
}

fn unescape(mut written: &[u8], out: &mut Vec<u8>) -> Result<(), NoJson> {
    while let Some(at) = memchr::memchr(b'\\', written) {
        out.extend_from_slice(&written[..at]);
        let escape = written.get(at + 1).ok_or(NoJson(at))?;
        written = &written[at + 2..];
        match escape {
            b'"' | b'\\' | b'/' => out.push(*escape),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let mut unit = hexadecimal(written).ok_or(NoJson(at))?;
                written = &written[4..];
                if let (0xd800..0xdc00, Some(b"\\u")) = (unit, written.get(..2))
                    && let Some(low @ 0xdc00..0xe000) = hexadecimal(&written[2..])
                {
                    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    written = &written[6..];
                }
                let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(NoJson(at)),
        }
    }
    out.extend_from_slice(written);
    Ok(())
}

/// The number of the first four hexadecimal digits.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let digits = digits.get(..4)?;
    digits.iter().try_fold(0, |number, byte| Some(number << 4 | char::from(*byte).to_digit(16)?))
}

#[cfg(test)]
#[path = "json_path_tests.rs"]
mod tests;
