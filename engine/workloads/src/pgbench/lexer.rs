//! Splits a meta command into words, or into the tokens of an expression. A command ends with its line,
//! unless the line ends with a backslash.

use super::error::Span;
use super::value::Value;
use super::variables::{begins_name, continues_name};

/// An error at a position of a script; the caller adds the script's name and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub span: Span,
    pub finding: String,
    pub advice: Option<String>,
}

impl Mistake {
    pub fn new(span: Span, finding: impl Into<String>) -> Self {
        Self { span, finding: finding.into(), advice: None }
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Token {
    /// End of the command.
    End,
    Constant(Value),
    /// 9223372036854775808, which is an integer only after a minus.
    MinimumMagnitude,
    /// The span is that of the name without its colon.
    Variable(Span),
    /// Name of a function.
    Name,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    Times,
    Slash,
    Percent,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Bar,
    Hash,
    Ampersand,
    ShiftLeft,
    ShiftRight,
    Tilde,
    And,
    Or,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    EndCase,
}

const KEYWORDS: &[(&str, Token)] = &[
    ("and", Token::And),
    ("or", Token::Or),
    ("not", Token::Not),
    ("is", Token::Is),
    ("isnull", Token::IsNull),
    ("notnull", Token::NotNull),
    ("case", Token::Case),
    ("when", Token::When),
    ("then", Token::Then),
    ("else", Token::Else),
    ("end", Token::EndCase),
    ("null", Token::Constant(Value::Null)),
    ("true", Token::Constant(Value::Boolean(true))),
    ("false", Token::Constant(Value::Boolean(false))),
];

/// White space within a line.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0c | 0x0b)
}

/// Lexer of one meta command, starting after its backslash.
pub struct Lexer<'a> {
    pub source: &'a [u8],
    pub at: usize,
}

impl Lexer<'_> {
    fn peek(&self, offset: usize) -> Option<u8> {
        self.source.get(self.at + offset).copied()
    }

    /// Length of a line continuation (a backslash and the line end) at this position.
    fn continuation(&self, offset: usize) -> Option<usize> {
        match (self.peek(offset)?, self.peek(offset + 1)?) {
            (b'\\', b'\n') => Some(2),
            (b'\\', b'\r') if self.peek(offset + 2) == Some(b'\n') => Some(3),
            _ => None,
        }
    }

    fn skip_space(&mut self) {
        loop {
            if self.peek(0).is_some_and(is_space) {
                self.at += 1;
            } else if let Some(length) = self.continuation(0) {
                self.at += length;
            } else {
                return;
            }
        }
    }

    /// Next word, separated by white space; `None` at the end of the command.
    pub fn word(&mut self) -> Option<Span> {
        self.skip_space();
        let start = self.at;
        while let Some(byte) = self.peek(0) {
            if is_space(byte) || byte == b'\n' || self.continuation(0).is_some() {
                break;
            }
            self.at += 1;
        }
        (self.at > start).then(|| Span::new(start, self.at))
    }

    /// Skip to the end of the command.
    pub fn finish(&mut self) {
        while let Some(byte) = self.peek(0) {
            if let Some(length) = self.continuation(0) {
                self.at += length;
                continue;
            }
            self.at += 1;
            if byte == b'\n' {
                return;
            }
        }
    }

    /// Next token of an expression. At the end of the command it is `End`, repeatedly.
    pub fn token(&mut self) -> Result<(Token, Span), Mistake> {
        self.skip_space();
        let start = self.at;
        let Some(byte) = self.peek(0).filter(|&b| b != b'\n') else {
            return Ok((Token::End, Span::new(start, start)));
        };
        let simple = |token, length| (token, length);
        let (token, length) = match (byte, self.peek(1)) {
            (b'(', _) => simple(Token::Open, 1),
            (b')', _) => simple(Token::Close, 1),
            (b',', _) => simple(Token::Comma, 1),
            (b'+', _) => simple(Token::Plus, 1),
            (b'-', _) => simple(Token::Minus, 1),
            (b'*', _) => simple(Token::Times, 1),
            (b'/', _) => simple(Token::Slash, 1),
            (b'%', _) => simple(Token::Percent, 1),
            (b'=', _) => simple(Token::Equal, 1),
            (b'<', Some(b'>')) | (b'!', Some(b'=')) => simple(Token::NotEqual, 2),
            (b'<', Some(b'=')) => simple(Token::LessOrEqual, 2),
            (b'<', Some(b'<')) => simple(Token::ShiftLeft, 2),
            (b'<', _) => simple(Token::Less, 1),
            (b'>', Some(b'=')) => simple(Token::GreaterOrEqual, 2),
            (b'>', Some(b'>')) => simple(Token::ShiftRight, 2),
            (b'>', _) => simple(Token::Greater, 1),
            (b'|', _) => simple(Token::Bar, 1),
            (b'#', _) => simple(Token::Hash, 1),
            (b'&', _) => simple(Token::Ampersand, 1),
            (b'~', _) => simple(Token::Tilde, 1),
            (b'0'..=b'9', _) => self.number()?,
            (b'.', Some(b'0'..=b'9')) => self.number()?,
            (b':', Some(next)) if continues_name(next) => {
                let length = 1 + self.count(1, continues_name);
                (Token::Variable(Span::new(start + 1, start + length)), length)
            }
            _ if begins_name(byte) => {
                let length = self.count(0, continues_name);
                let word = &self.source[start..start + length];
                let keyword =
                    KEYWORDS.iter().find(|(keyword, _)| word.eq_ignore_ascii_case(keyword.as_bytes()));
                (keyword.map_or(Token::Name, |&(_, token)| token), length)
            }
            _ => {
                let span = Span::new(start, start + 1);
                let advice = match byte {
                    b';' => "a meta command ends with its line, not with a semicolon",
                    b'\\' => "one meta command stands on one line",
                    b':' => "a colon stands right before the name of a variable",
                    b'\'' | b'"' => "expressions know no strings",
                    _ => "expressions are made of numbers, :variables, functions and operators",
                };
                let shown = if byte.is_ascii_graphic() {
                    char::from(byte).to_string()
                } else {
                    format!("0x{byte:02x}")
                };
                let finding = format!("unexpected character ({shown})");
                return Err(Mistake::new(span, finding).advise(advice));
            }
        };
        self.at += length;
        Ok((token, Span::new(start, self.at)))
    }

    /// Number of bytes from `offset` on that satisfy `kind`.
    fn count(&self, offset: usize, kind: impl Fn(u8) -> bool) -> usize {
        self.source[self.at + offset..].iter().take_while(|&&b| kind(b)).count()
    }

    fn digits(&self, offset: usize) -> usize {
        self.count(offset, |b| b.is_ascii_digit())
    }

    /// A constant and its length. The longest match counts: `1` is an integer; `1.`, `.1` and `1e0` are
    /// doubles.
    fn number(&self) -> Result<(Token, usize), Mistake> {
        let integer_digits = self.digits(0);
        let mut length = integer_digits;
        if self.peek(length) == Some(b'.') {
            length += 1 + self.digits(length + 1);
        }
        if matches!(self.peek(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(length + 1), Some(b'+' | b'-')));
            let exponent = self.digits(length + 1 + sign);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        let span = Span::new(self.at, self.at + length);
        let digits = std::str::from_utf8(&self.source[self.at..self.at + length]).unwrap_or_default();
        if length == integer_digits {
            if digits == "9223372036854775808" {
                return Ok((Token::MinimumMagnitude, length));
            }
            return match digits.parse() {
                Ok(integer) => Ok((Token::Constant(Value::Integer(integer)), length)),
                Err(_) => Err(Mistake::new(span, format!("bigint constant overflow ({})", shorten(digits)))
                    .advise("integers have 64 bits; written with a point, as 1e20 or 100.0, it is a double")),
            };
        }
        let double: f64 = digits.parse().unwrap_or(f64::INFINITY);
        let significant = digits.split(['e', 'E']).next().unwrap_or_default();
        let vanished = double == 0.0 && significant.bytes().any(|b| matches!(b, b'1'..=b'9'));
        if double.is_infinite() || vanished {
            return Err(Mistake::new(span, format!("double constant overflow ({})", shorten(digits)))
                .advise("doubles reach from 1e-307 to 1.7e308"));
        }
        Ok((Token::Constant(Value::Double(double)), length))
    }
}

/// The start of a text that may be very long.
pub fn shorten(long_text: &str) -> String {
    const SHOWN: usize = 40;
    match long_text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &long_text[..at]),
        None => long_text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        let mut lexer = Lexer { source: source.as_bytes(), at: 0 };
        std::iter::from_fn(|| lexer.word())
            .map(|span| &source[span.start as usize..span.end as usize])
            .collect()
    }

    #[test]
    fn words_end_at_white_space_and_commands_at_line_ends() {
        assert_eq!(words("set x 1\nselect"), ["set", "x", "1"]);
        assert_eq!(words(" set\tx\r\n"), ["set", "x"]);
        assert_eq!(words("setshell a\\\n  echo \\\n    :b\nno"), ["setshell", "a", "echo", ":b"]);
        assert_eq!(words("a \\\r\n b\\c \\ d"), ["a", "b\\c", "\\", "d"]);
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words("end\\"), ["end\\"]);
    }

    fn tokens(source: &str) -> String {
        let mut lexer = Lexer { source: source.as_bytes(), at: 0 };
        let mut shown = String::new();
        loop {
            match lexer.token() {
                Ok((Token::End, _)) => return shown,
                Ok((token, _)) => shown += &format!("{token:?} "),
                Err(mistake) => return shown + &mistake.finding,
            }
        }
    }

    #[test]
    fn longest_token_is_read() {
        for (source, expected) in [
            (
                "1 .5 2. 1e2",
                "Constant(Integer(1)) Constant(Double(0.5)) Constant(Double(2.0)) Constant(Double(100.0)) ",
            ),
            ("1.e3 1E-1", "Constant(Double(1000.0)) Constant(Double(0.1)) "),
            ("1.2.3", "Constant(Double(1.2)) Constant(Double(0.3)) "),
            ("0x10", "Constant(Integer(0)) Name "),
            ("1e", "Constant(Integer(1)) Name "),
            (
                "<=<><<< >=>>>!==",
                "LessOrEqual NotEqual ShiftLeft Less GreaterOrEqual ShiftRight Greater NotEqual Equal ",
            ),
            ("aNd ANDy isnull", "And Name IsNull "),
            ("-9223372036854775808", "Minus MinimumMagnitude "),
            ("1 \\\n + \\\r\n 2\n3", "Constant(Integer(1)) Plus Constant(Integer(2)) "),
            ("100000000000000000000", "bigint constant overflow (100000000000000000000)"),
            ("1.0E309", "double constant overflow (1.0E309)"),
            (".1E310", "double constant overflow (.1E310)"),
            ("1e-400", "double constant overflow (1e-400)"),
            ("0e-400", "Constant(Double(0.0)) "),
            ("1 ;", "Constant(Integer(1)) unexpected character (;)"),
            ("!", "unexpected character (!)"),
            (":", "unexpected character (:)"),
            ("\0", "unexpected character (0x00)"),
            ("'", "unexpected character (')"),
        ] {
            assert_eq!(tokens(source), expected, "{source:?}");
        }
    }
}
