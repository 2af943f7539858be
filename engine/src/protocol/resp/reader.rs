//! Cuts received bytes into the tokens of replies.
//!
//! A reply is one token, or a list (array, map, set) of replies. The reader gives its tokens one after the other and only
//! counts how many are still missing at each depth: it allocates nothing, never recurses, and takes each token's bytes once,
//! however large the reply. What comes besides replies, pushes and attributes of RESP3, is passed over.

use super::line;
use crate::protocol::Malformed;

/// Lists in lists in lists. Redis' own replies are at most 10 deep; some clients stop at 9.
pub const DEEPEST: usize = 32;
/// The longest bulk string that Redis itself allows (its default proto-max-bulk-len).
pub const LONGEST_BULK: u64 = 512 << 20;
/// More elements than any server has keys.
pub const LONGEST_LIST: u64 = 1 << 32;
/// An error that comes as a bulk string is a sentence, too.
const LONGEST_ERROR: u64 = line::LONGEST as u64;

/// A list whose length is not told: its end is.
const UNTOLD: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Array,
    /// Keys and values in turn.
    Map,
    Set,
}

/// One thing in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A part of something that is passed over, or of which more must come.
    Nothing,
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    /// A bulk string of so many bytes, none of which were kept.
    Passed(u64),
    /// A bulk string with its format (`txt`, `mkd`).
    Verbatim(&'a [u8], &'a [u8]),
    Null,
    Boolean(bool),
    /// As it was written: a number, `inf`, `-inf` or `nan`.
    Double(&'a [u8]),
    BigNumber(&'a [u8]),
    /// A list of so many tokens and lists (a map's keys and values count each); none: until `Close`.
    Open(Shape, Option<u64>),
    /// The end of a list whose length was not told.
    Close,
}

/// A token, how many bytes of the input it took, in how many lists it is, and whether a reply ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard<'a> {
    pub size: usize,
    pub token: Token<'a>,
    pub depth: usize,
    pub ends: bool,
}

/// What is left of a bulk string that is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    None,
    /// `left` bytes, and the end of the line; of a string that had `size`.
    Passing {
        left: u64,
        size: u64,
    },
    /// The next piece of a string whose length is not told, of which `size` bytes have come; `left` of its current piece.
    Pieces {
        left: Option<u64>,
        size: u64,
    },
}

/// The replies of one connection.
#[derive(Clone, Debug)]
pub struct Reader {
    /// How many elements are missing of each open list, the outermost first.
    missing: [u64; DEEPEST],
    depth: usize,
    /// Which of the open lists are no part of a reply, a bit each.
    aside: u32,
    body: Body,
}

impl Default for Reader {
    fn default() -> Self {
        Self { missing: [0; DEEPEST], depth: 0, aside: 0, body: Body::None }
    }
}

impl Reader {
    /// The next token at the start of `input`; none when it is not whole yet. Bulk strings of up to `keep` bytes are waited
    /// for until they are whole; longer ones are passed over, unless they are there as a whole already.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], keep: usize) -> Result<Option<Heard<'a>>, Malformed> {
        if self.body != Body::None {
            return self.go_on(input);
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

    fn rare<'a>(&mut self, kind: u8, input: &'a [u8], keep: usize) -> Result<Option<Heard<'a>>, Malformed> {
        match kind {
            b'-' => self.line(input, Token::Error),
            b'*' => self.list(input, Shape::Array, 1),
            b'%' => self.list(input, Shape::Map, 2),
            b'~' => self.list(input, Shape::Set, 1),
            b'>' if self.depth > 0 => Err(Malformed("a push within a reply".into())),
            b'>' => self.open_aside(input, 1),
            b'|' => self.open_aside(input, 2),
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
    fn bulk<'a>(&mut self, input: &'a [u8], keep: usize) -> Result<Option<Heard<'a>>, Malformed> {
        if input.get(1) == Some(&b'?') {
            return self.untold_bulk(input);
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

    /// A bulk string of which more is to come.
    #[cold]
    fn unfinished<'a>(
        &mut self,
        input: &'a [u8],
        start: usize,
        size: u64,
        keep: u64,
    ) -> Result<Option<Heard<'a>>, Malformed> {
        if size > LONGEST_BULK {
            return Err(wrong_length('$', size as i64));
        }
        if size <= keep {
            return Ok(None);
        }
        let here = ((input.len() - start) as u64).min(size);
        self.body = Body::Passing { left: size - here, size };
        Ok(Some(self.nothing(start + here as usize)))
    }

    fn untold_bulk<'a>(&mut self, input: &'a [u8]) -> Result<Option<Heard<'a>>, Malformed> {
        match input.get(2..4) {
            None => Ok(None),
            Some(b"\r\n") => {
                self.body = Body::Pieces { left: None, size: 0 };
                Ok(Some(self.nothing(4)))
            }
            Some(_) => Err(unended()),
        }
    }

    /// Goes on with a bulk string that is passed over.
    #[cold]
    fn go_on<'a>(&mut self, input: &'a [u8]) -> Result<Option<Heard<'a>>, Malformed> {
        let (left, size) = match self.body {
            Body::None => return Ok(None),
            Body::Passing { left, size } => (left, size),
            Body::Pieces { left: Some(left), size } => (left, size),
            Body::Pieces { left: None, size } => return self.piece(input, size),
        };
        if left > 0 {
            let here = (input.len() as u64).min(left);
            let left = left - here;
            self.body = match self.body {
                Body::Pieces { .. } => Body::Pieces { left: Some(left), size },
                _ => Body::Passing { left, size },
            };
            return Ok((here > 0).then(|| self.nothing(here as usize)));
        }
        match (input.get(..2), self.body) {
            (None, _) => Ok(None),
            (Some(b"\r\n"), Body::Pieces { .. }) => {
                self.body = Body::Pieces { left: None, size };
                Ok(Some(self.nothing(2)))
            }
            (Some(b"\r\n"), _) => {
                self.body = Body::None;
                Ok(self.leaf(Token::Passed(size), 2))
            }
            (Some(_), _) => Err(unended()),
        }
    }

    /// The head of the next piece of a bulk string whose length is not told.
    fn piece<'a>(&mut self, input: &'a [u8], size: u64) -> Result<Option<Heard<'a>>, Malformed> {
        match input.first() {
            None => return Ok(None),
            Some(b';') => {}
            Some(&other) => return Err(unknown(other)),
        }
        let Some((length, start)) = line::number(input, 1)? else { return Ok(None) };
        let left = u64::try_from(length).map_err(|_| wrong_length(';', length))?;
        if size + left > LONGEST_BULK {
            return Err(wrong_length(';', length));
        }
        if left == 0 {
            self.body = Body::None;
            return Ok(self.leaf(Token::Passed(size), start));
        }
        self.body = Body::Pieces { left: Some(left), size: size + left };
        Ok(Some(self.nothing(start)))
    }

    /// A string with its length before it, which is whole or waited for, if it is of up to `longest` bytes.
    fn counted<'a>(
        &mut self,
        input: &'a [u8],
        longest: u64,
        token: impl FnOnce(&'a [u8]) -> Result<Token<'a>, Malformed>,
    ) -> Result<Option<Heard<'a>>, Malformed> {
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
    ) -> Result<Option<Heard<'a>>, Malformed> {
        match line::text(input, 1)? {
            Some((text, size)) => Ok(self.leaf(token(text), size)),
            None => Ok(None),
        }
    }

    /// A line whose text must be right.
    fn line_like<'a>(
        &mut self,
        input: &'a [u8],
        token: impl FnOnce(&'a [u8]) -> Option<Token<'a>>,
    ) -> Result<Option<Heard<'a>>, Malformed> {
        let Some((text, size)) = line::text(input, 1)? else { return Ok(None) };
        match token(text) {
            Some(token) => Ok(self.leaf(token, size)),
            None => {
                let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
                Err(Malformed(format!("{:?} with {text:?} in it", char::from(input[0]))))
            }
        }
    }

    fn list<'a>(&mut self, input: &'a [u8], shape: Shape, each: u64) -> Result<Option<Heard<'a>>, Malformed> {
        if input.get(1) == Some(&b'?') {
            return match input.get(2..4) {
                None => Ok(None),
                Some(b"\r\n") => self.open(Token::Open(shape, None), UNTOLD, 4),
                Some(_) => Err(unended()),
            };
        }
        let Some((length, size)) = line::number(input, 1)? else { return Ok(None) };
        if length == -1 && shape == Shape::Array {
            return Ok(self.leaf(Token::Null, size));
        }
        let count = elements(input[0], length, each)?;
        let token = Token::Open(shape, Some(count));
        if count == 0 { Ok(self.leaf(token, size)) } else { self.open(token, count, size) }
    }

    /// A list that is no part of a reply.
    fn open_aside<'a>(&mut self, input: &'a [u8], each: u64) -> Result<Option<Heard<'a>>, Malformed> {
        let Some((length, size)) = line::number(input, 1)? else { return Ok(None) };
        let count = elements(input[0], length, each)?;
        if count == 0 {
            return Ok(Some(self.nothing(size)));
        }
        self.open(Token::Nothing, count, size)?;
        self.aside |= 1 << (self.depth - 1);
        Ok(Some(self.nothing(size)))
    }

    fn open<'a>(
        &mut self,
        token: Token<'a>,
        count: u64,
        size: usize,
    ) -> Result<Option<Heard<'a>>, Malformed> {
        if self.depth == DEEPEST {
            return Err(Malformed(format!("lists in lists, more than {DEEPEST} deep")));
        }
        let heard = Heard { size, token: self.said(token), depth: self.depth, ends: false };
        self.missing[self.depth] = count;
        self.depth += 1;
        Ok(Some(heard))
    }

    /// The end of a list whose length was not told.
    fn close<'a>(&mut self, input: &'a [u8]) -> Result<Option<Heard<'a>>, Malformed> {
        let untold = self.depth > 0 && self.missing[self.depth - 1] == UNTOLD;
        match input.get(1..3) {
            _ if !untold => Err(Malformed("the end of a list that has none".into())),
            None => Ok(None),
            Some(b"\r\n") => {
                self.depth -= 1;
                Ok(self.leaf(Token::Close, 3))
            }
            Some(_) => Err(unended()),
        }
    }

    /// One more element is there, and with it perhaps the lists it is in.
    #[inline]
    fn leaf<'a>(&mut self, token: Token<'a>, size: usize) -> Option<Heard<'a>> {
        let heard = Heard { size, token, depth: self.depth, ends: true };
        if self.depth == 0 { Some(heard) } else { Some(self.within(heard)) }
    }

    fn within<'a>(&mut self, mut heard: Heard<'a>) -> Heard<'a> {
        heard.token = self.said(heard.token);
        while self.depth > 0 {
            let missing = &mut self.missing[self.depth - 1];
            if *missing != UNTOLD {
                *missing -= 1;
            }
            if *missing > 0 {
                heard.ends = false;
                return heard;
            }
            self.depth -= 1;
            let bit = 1 << self.depth;
            if self.aside & bit != 0 {
                self.aside &= !bit;
                heard.ends = false;
                return heard;
            }
        }
        heard
    }

    /// Nobody hears what is no part of a reply.
    fn said<'a>(&self, token: Token<'a>) -> Token<'a> {
        if self.aside == 0 { token } else { Token::Nothing }
    }

    fn nothing<'a>(&self, size: usize) -> Heard<'a> {
        Heard { size, token: Token::Nothing, depth: self.depth, ends: false }
    }
}

fn elements(kind: u8, length: i64, each: u64) -> Result<u64, Malformed> {
    match u64::try_from(length) {
        Ok(length) if length <= LONGEST_LIST => Ok(length * each),
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
