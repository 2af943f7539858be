//! Incremental tokenizer of replies.
//!
//! A reply is one token, or a list (array, map, set) of replies. The reader returns tokens in order and only
//! counts the missing elements at each depth. It never allocates or recurses, and consumes each byte once,
//! however large the reply. RESP3 pushes and attributes are skipped.

use super::line;
use crate::Malformed;

/// Maximum nesting of lists. Redis' own replies are at most 10 deep; some clients stop at 9.
pub const DEEPEST: usize = 32;
/// Maximum bulk string in bytes: Redis' default of proto-max-bulk-len.
pub const LONGEST_BULK: u64 = 512 << 20;
/// Maximum list length, above the number of keys of any server.
const LONGEST_LIST: u64 = 1 << 32;
/// Maximum error in bytes that comes as a bulk string: a sentence as well.
const LONGEST_ERROR: u64 = line::LONGEST as u64;

/// Marks a list without declared length.
const STREAMED: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Array,
    /// Keys and values alternate.
    Map,
    Set,
}

/// One element of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Part of a skipped element, or of one that is incomplete.
    Nothing,
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    /// A skipped bulk string of this size.
    Skipped(u64),
    /// A bulk string with its format (`txt`, `mkd`).
    Verbatim(&'a [u8], &'a [u8]),
    Null,
    Boolean(bool),
    /// As text: a number, `inf`, `-inf` or `nan`.
    Double(&'a [u8]),
    BigNumber(&'a [u8]),
    /// Start of a list with this many elements (map keys and values count separately); `None`: until `Close`.
    Open(Shape, Option<u64>),
    /// End of a list without declared length.
    Close,
}

/// A token with the bytes consumed, its nesting depth, and whether a reply ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadToken<'a> {
    pub size: usize,
    pub token: Token<'a>,
    pub depth: usize,
    pub ends: bool,
}

/// Remainder of a skipped bulk string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    None,
    /// `remaining` bytes and the line terminator remain, of a string of `size` bytes.
    Skipping {
        remaining: u64,
        size: u64,
    },
    /// A string in pieces, of which `size` bytes have arrived; `remaining` bytes of its current piece remain.
    Pieces {
        remaining: Option<u64>,
        size: u64,
    },
}

/// Tokenizer state of one connection.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Missing elements of each open list, the outermost first.
    missing: [u64; DEEPEST],
    depth: usize,
    /// Bit set of the open lists that are not part of a reply.
    hidden: u32,
    body: Body,
}

impl Default for Reader {
    fn default() -> Self {
        Self { missing: [0; DEEPEST], depth: 0, hidden: 0, body: Body::None }
    }
}

impl Reader {
    /// Next token at the start of `input`; `None` when more input is needed. Bulk strings of up to `keep`
    /// bytes are returned complete; longer ones are skipped unless they are already in `input`.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], keep: usize) -> Result<Option<ReadToken<'a>>, Malformed> {
        if self.body != Body::None {
            return self.skip_string(input);
        }
        let Some(&kind) = input.first() else { return Ok(None) };
        match kind {
            b'$' => self.bulk(input, keep),
            b'+' => self.line(input, Token::Simple),
            b':' => match line::number(input, 1)? {
                Some((value, size)) => Ok(self.leaf(Token::Integer(value), size)),
                None => Ok(None),
            },
            _ => self.rare(kind, input, keep),
        }
    }

    fn rare<'a>(
        &mut self,
        kind: u8,
        input: &'a [u8],
        keep: usize,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        match kind {
            b'-' => self.line(input, Token::Error),
            b'*' => self.list(input, Shape::Array, 1),
            b'%' => self.list(input, Shape::Map, 2),
            b'~' => self.list(input, Shape::Set, 1),
            b'>' if self.depth > 0 => Err(Malformed("a push within a reply".into())),
            b'>' => self.open_hidden(input, 1),
            b'|' => self.open_hidden(input, 2),
            b'.' => self.close(input),
            b'_' => self.line_like(input, |text| text.is_empty().then_some(Token::Null)),
            b'#' => self.line_like(input, |text| match text {
                b"t" => Some(Token::Boolean(true)),
                b"f" => Some(Token::Boolean(false)),
                _ => None,
            }),
            b',' => self.line_like(input, |text| {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
                number.map(|_| Token::Double(text))
            }),
            b'(' => self.line_like(input, |text| {
                let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
                let number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                number.then_some(Token::BigNumber(text))
            }),
            b'!' => self.counted(input, LONGEST_ERROR, |body| Ok(Token::Error(body))),
            b'=' => self.counted(input, keep as u64, |body| match body {
                [_, _, _, b':', ..] => Ok(Token::Verbatim(&body[..3], &body[4..])),
                _ => Err(Malformed("a verbatim string without its format".into())),
            }),
            _ => Err(unknown(kind)),
        }
    }

    #[inline]
    fn bulk<'a>(&mut self, input: &'a [u8], keep: usize) -> Result<Option<ReadToken<'a>>, Malformed> {
        if input.get(1) == Some(&b'?') {
            return self.chunked_bulk(input);
        }
        let Some((length, start)) = line::number(input, 1)? else { return Ok(None) };
        let Ok(size) = usize::try_from(length) else {
            return if length == -1 {
                Ok(self.leaf(Token::Null, start))
            } else {
                Err(wrong_length('$', length))
            };
        };
        let end = start + size;
        match input.get(end..end + 2) {
            Some(b"\r\n") => Ok(self.leaf(Token::Bulk(&input[start..end]), end + 2)),
            Some(_) => Err(unended()),
            None => self.unfinished(input, start, size as u64, keep as u64),
        }
    }

    /// A bulk string that has not arrived completely.
    #[cold]
    fn unfinished<'a>(
        &mut self,
        input: &'a [u8],
        start: usize,
        size: u64,
        keep: u64,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        if size > LONGEST_BULK {
            return Err(wrong_length('$', size as i64));
        }
        if size <= keep {
            return Ok(None);
        }
        let here = ((input.len() - start) as u64).min(size);
        self.body = Body::Skipping { remaining: size - here, size };
        Ok(Some(self.nothing(start + here as usize)))
    }

    fn chunked_bulk<'a>(&mut self, input: &'a [u8]) -> Result<Option<ReadToken<'a>>, Malformed> {
        match input.get(2..4) {
            None => Ok(None),
            Some(b"\r\n") => {
                self.body = Body::Pieces { remaining: None, size: 0 };
                Ok(Some(self.nothing(4)))
            }
            Some(_) => Err(unended()),
        }
    }

    /// Continue with a skipped bulk string.
    #[cold]
    fn skip_string<'a>(&mut self, input: &'a [u8]) -> Result<Option<ReadToken<'a>>, Malformed> {
        let (remaining, size) = match self.body {
            Body::None => return Ok(None),
            Body::Skipping { remaining, size } => (remaining, size),
            Body::Pieces { remaining: Some(remaining), size } => (remaining, size),
            Body::Pieces { remaining: None, size } => return self.piece(input, size),
        };
        if remaining > 0 {
            let here = (input.len() as u64).min(remaining);
            let remaining = remaining - here;
            self.body = match self.body {
                Body::Pieces { .. } => Body::Pieces { remaining: Some(remaining), size },
                _ => Body::Skipping { remaining, size },
            };
            return Ok((here > 0).then(|| self.nothing(here as usize)));
        }
        match (input.get(..2), self.body) {
            (None, _) => Ok(None),
            (Some(b"\r\n"), Body::Pieces { .. }) => {
                self.body = Body::Pieces { remaining: None, size };
                Ok(Some(self.nothing(2)))
            }
            (Some(b"\r\n"), _) => {
                self.body = Body::None;
                Ok(self.leaf(Token::Skipped(size), 2))
            }
            (Some(_), _) => Err(unended()),
        }
    }

    /// Header of the next piece of a bulk string without declared length.
    fn piece<'a>(&mut self, input: &'a [u8], size: u64) -> Result<Option<ReadToken<'a>>, Malformed> {
        match input.first() {
            None => return Ok(None),
            Some(b';') => {}
            Some(&other) => return Err(unknown(other)),
        }
        let Some((length, start)) = line::number(input, 1)? else { return Ok(None) };
        let remaining = u64::try_from(length).map_err(|_| wrong_length(';', length))?;
        if size + remaining > LONGEST_BULK {
            return Err(wrong_length(';', length));
        }
        if remaining == 0 {
            self.body = Body::None;
            return Ok(self.leaf(Token::Skipped(size), start));
        }
        self.body = Body::Pieces { remaining: Some(remaining), size: size + remaining };
        Ok(Some(self.nothing(start)))
    }

    /// A string with declared length. Returned complete if it has up to `longest` bytes.
    fn counted<'a>(
        &mut self,
        input: &'a [u8],
        longest: u64,
        token: impl FnOnce(&'a [u8]) -> Result<Token<'a>, Malformed>,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        let Some((length, start)) = line::number(input, 1)? else { return Ok(None) };
        let kind = char::from(input[0]);
        let size = u64::try_from(length).map_err(|_| wrong_length(kind, length))?;
        let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        match input.get(end..end.saturating_add(2)) {
            Some(b"\r\n") => {
                let token = token(&input[start..end])?;
                Ok(self.leaf(token, end + 2))
            }
            Some(_) => Err(unended()),
            None if kind == '=' => self.unfinished(input, start, size, longest),
            None if size > longest => Err(wrong_length(kind, length)),
            None => Ok(None),
        }
    }

    #[inline]
    fn line<'a>(
        &mut self,
        input: &'a [u8],
        token: impl FnOnce(&'a [u8]) -> Token<'a>,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        match line::text(input, 1)? {
            Some((text, size)) => Ok(self.leaf(token(text), size)),
            None => Ok(None),
        }
    }

    /// A line with validated text.
    fn line_like<'a>(
        &mut self,
        input: &'a [u8],
        token: impl FnOnce(&'a [u8]) -> Option<Token<'a>>,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        let Some((text, size)) = line::text(input, 1)? else { return Ok(None) };
        match token(text) {
            Some(token) => Ok(self.leaf(token, size)),
            None => {
                let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
                Err(Malformed(format!("{:?} with {text:?} in it", char::from(input[0]))))
            }
        }
    }

    fn list<'a>(
        &mut self,
        input: &'a [u8],
        shape: Shape,
        tokens_per_element: u64,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        if input.get(1) == Some(&b'?') {
            return match input.get(2..4) {
                None => Ok(None),
                Some(b"\r\n") => self.open(Token::Open(shape, None), STREAMED, 4),
                Some(_) => Err(unended()),
            };
        }
        let Some((length, size)) = line::number(input, 1)? else { return Ok(None) };
        if length == -1 && shape == Shape::Array {
            return Ok(self.leaf(Token::Null, size));
        }
        let count = elements(input[0], length, tokens_per_element)?;
        let token = Token::Open(shape, Some(count));
        if count == 0 { Ok(self.leaf(token, size)) } else { self.open(token, count, size) }
    }

    /// Start of a list that is not part of a reply.
    fn open_hidden<'a>(
        &mut self,
        input: &'a [u8],
        tokens_per_element: u64,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        let Some((length, size)) = line::number(input, 1)? else { return Ok(None) };
        let count = elements(input[0], length, tokens_per_element)?;
        if count == 0 {
            return Ok(Some(self.nothing(size)));
        }
        self.open(Token::Nothing, count, size)?;
        self.hidden |= 1 << (self.depth - 1);
        Ok(Some(self.nothing(size)))
    }

    fn open<'a>(
        &mut self,
        token: Token<'a>,
        count: u64,
        size: usize,
    ) -> Result<Option<ReadToken<'a>>, Malformed> {
        if self.depth == DEEPEST {
            return Err(Malformed(format!("lists in lists, more than {DEEPEST} deep")));
        }
        let read = ReadToken { size, token: self.visible(token), depth: self.depth, ends: false };
        self.missing[self.depth] = count;
        self.depth += 1;
        Ok(Some(read))
    }

    /// End of a list without declared length.
    fn close<'a>(&mut self, input: &'a [u8]) -> Result<Option<ReadToken<'a>>, Malformed> {
        let streamed = self.depth > 0 && self.missing[self.depth - 1] == STREAMED;
        match input.get(1..3) {
            _ if !streamed => Err(Malformed("the end of a list that has none".into())),
            None => Ok(None),
            Some(b"\r\n") => {
                self.depth -= 1;
                Ok(self.leaf(Token::Close, 3))
            }
            Some(_) => Err(unended()),
        }
    }

    /// Count one more element, and close the lists that it completes.
    #[inline]
    fn leaf<'a>(&mut self, token: Token<'a>, size: usize) -> Option<ReadToken<'a>> {
        let read = ReadToken { size, token, depth: self.depth, ends: true };
        if self.depth == 0 { Some(read) } else { Some(self.within(read)) }
    }

    fn within<'a>(&mut self, mut read: ReadToken<'a>) -> ReadToken<'a> {
        read.token = self.visible(read.token);
        while self.depth > 0 {
            let missing = &mut self.missing[self.depth - 1];
            if *missing != STREAMED {
                *missing -= 1;
            }
            if *missing > 0 {
                read.ends = false;
                return read;
            }
            self.depth -= 1;
            let bit = 1 << self.depth;
            if self.hidden & bit != 0 {
                self.hidden &= !bit;
                read.ends = false;
                return read;
            }
        }
        read
    }

    /// Hide tokens that are not part of a reply.
    fn visible<'a>(&self, token: Token<'a>) -> Token<'a> {
        if self.hidden == 0 { token } else { Token::Nothing }
    }

    fn nothing<'a>(&self, size: usize) -> ReadToken<'a> {
        ReadToken { size, token: Token::Nothing, depth: self.depth, ends: false }
    }
}

fn elements(kind: u8, length: i64, tokens_per_element: u64) -> Result<u64, Malformed> {
    match u64::try_from(length) {
        Ok(length) if length <= LONGEST_LIST => Ok(length * tokens_per_element),
        _ => Err(wrong_length(char::from(kind), length)),
    }
}

#[cold]
fn wrong_length(kind: char, length: i64) -> Malformed {
    Malformed(format!("a reply of type {kind:?} that claims a length of {length}"))
}

#[cold]
fn unended() -> Malformed {
    Malformed("a string that does not end where it should".into())
}

#[cold]
fn unknown(kind: u8) -> Malformed {
    Malformed(format!("a reply of the unknown type {:?}: this is not RESP", char::from(kind)))
}
