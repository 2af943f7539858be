//! Expression parser and code generator, by precedence climbing (Pratt, 1973).
//!
//! Precedences, lowest first: OR; AND; NOT; IS, ISNULL, NOTNULL; comparisons (non-associative); `| # & << >>
//! ~`; `+ -`; `* / %`; unary `+ -`. `~` binds like the other bitwise operators: `~1 + 2` is `~(1 + 2)`.

use super::error::{Span, nearest, text};
use super::expression::{Expression, Machine, Op, Site};
use super::functions::{self, Arity, MAX_ARGUMENTS};
use super::lexer::{Lexer, Mistake, Token, shorten};
use super::random::Random;
use super::value::Value;
use super::variables::{Names, Slot, Variables, is_name};

/// Maximum nesting of operators, parentheses, calls and CASE: far more than in practice, and far less than
/// the stack allows.
const DEPTH_MAX: u32 = 250;
/// Maximum number of operations of an expression, which bounds the compile time of hostile scripts to
/// seconds.
const LENGTH_MAX: usize = 1 << 16;

/// State shared by all expressions of a program.
pub struct Shared<'a> {
    pub names: &'a mut Names,
    pub default_seed: Slot,
    pub sites: &'a mut u32,
}

/// Compile the expression from the lexer's position to the end of its command.
pub fn expression(lexer: &mut Lexer<'_>, shared: &mut Shared<'_>) -> Result<Expression, Mistake> {
    let (token, span) = lexer.token()?;
    let mut parser =
        Parser { lexer, shared, token, span, before: None, depth: 0, out: Expression::default() };
    parser.climb(level::OR)?;
    match parser.token {
        Token::End => Ok(parser.out),
        _ => Err(parser.unexpected("the end of the expression or an operator")),
    }
}

mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const IS: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const BITS: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const UNARY: u8 = 9;
}

struct Parser<'l, 's, 'n, 'a> {
    lexer: &'l mut Lexer<'s>,
    shared: &'n mut Shared<'a>,
    token: Token,
    span: Span,
    /// The previous token, for messages.
    before: Option<Span>,
    depth: u32,
    out: Expression,
}

/// Binary operator of a token: its level, its operation, and whether its right side is evaluated first.
fn infix(token: Token) -> Option<(u8, Op, bool)> {
    Some(match token {
        Token::Less => (level::COMPARISON, Op::Less, false),
        Token::LessOrEqual => (level::COMPARISON, Op::LessOrEqual, false),
        // `a > b` is `b < a`, also in the order of evaluation.
        Token::Greater => (level::COMPARISON, Op::Less, true),
        Token::GreaterOrEqual => (level::COMPARISON, Op::LessOrEqual, true),
        Token::Equal => (level::COMPARISON, Op::Equal, false),
        Token::NotEqual => (level::COMPARISON, Op::NotEqual, false),
        Token::Bar => (level::BITS, Op::Or, false),
        Token::Hash => (level::BITS, Op::Xor, false),
        Token::Ampersand => (level::BITS, Op::And, false),
        Token::ShiftLeft => (level::BITS, Op::ShiftLeft, false),
        Token::ShiftRight => (level::BITS, Op::ShiftRight, false),
        Token::Plus => (level::SUM, Op::Add, false),
        Token::Minus => (level::SUM, Op::Subtract, false),
        Token::Times => (level::PRODUCT, Op::Multiply, false),
        Token::Slash => (level::PRODUCT, Op::Divide, false),
        Token::Percent => (level::PRODUCT, Op::Modulo, false),
        _ => return None,
    })
}

impl Parser<'_, '_, '_, '_> {
    fn next(&mut self) -> Result<(), Mistake> {
        self.before = Some(self.span);
        (self.token, self.span) = self.lexer.token()?;
        Ok(())
    }

    fn shown(&self, span: Span) -> String {
        shorten(&text(span.of(self.lexer.source)))
    }

    fn unexpected(&self, expected: &str) -> Mistake {
        let token_text = match self.token {
            Token::End => "the end of the line".into(),
            _ => self.shown(self.span),
        };
        let after_text =
            self.before.map_or(String::new(), |before| format!(" behind {}", self.shown(before)));
        let mistake = Mistake::new(
            self.span,
            format!("syntax error: found {token_text}{after_text}, expected {expected}"),
        );
        match self.token {
            Token::Less
            | Token::LessOrEqual
            | Token::Greater
            | Token::GreaterOrEqual
            | Token::Equal
            | Token::NotEqual => mistake.advise("comparisons do not chain: use parentheses, or AND"),
            _ => mistake,
        }
    }

    fn expect(&mut self, is: impl FnOnce(Token) -> bool, expected: &str) -> Result<(), Mistake> {
        if is(self.token) { self.next() } else { Err(self.unexpected(expected)) }
    }

    fn here(&self) -> usize {
        self.out.code.len()
    }

    fn emit(&mut self, op: Op, span: Span) {
        self.out.code.push(op);
        self.out.spans.push(span);
    }

    /// Resolve the pending jump at `from` to the current position.
    fn land(&mut self, from: usize) {
        let distance = (self.here() - from - 1) as u32;
        match &mut self.out.code[from] {
            Op::Jump { over } | Op::Unless { over } | Op::Decide { over, .. } => *over = distance,
            _ => unreachable!("only jumps are left open"),
        }
    }

    /// Constant folding: replace the operations from `start` on by their result if they are a pure operation
    /// on constants. Failing computations remain, as they may never be executed.
    fn fold(&mut self, start: usize) {
        let Some((last, operands)) = self.out.code[start..].split_last() else { return };
        if operands.is_empty() || !last.is_pure() || !operands.iter().all(|op| matches!(op, Op::Constant(_)))
        {
            return;
        }
        let piece = Expression {
            code: self.out.code[start..].to_vec(),
            spans: vec![Span::default(); operands.len() + 1],
        };
        let mut machine = Machine::new(Random::seeded(0), 0);
        if let Ok(value) = piece.evaluate(&mut Variables::default(), &mut machine) {
            let span = self.out.spans[start];
            self.out.code.truncate(start);
            self.out.spans.truncate(start);
            self.emit(Op::Constant(value), span);
        }
    }

    /// Compile operators that bind at least as tightly as `least`.
    fn climb(&mut self, least: u8) -> Result<(), Mistake> {
        if self.depth == DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.operators(least)?;
        self.depth -= 1;
        Ok(())
    }

    #[cold]
    fn too_deep(&self) -> Mistake {
        Mistake::new(self.span, format!("nested more than {DEPTH_MAX} levels deep"))
            .advise("compute parts of it in a \\set of their own")
    }

    fn operators(&mut self, least: u8) -> Result<(), Mistake> {
        let start = self.here();
        self.operand()?;
        // Comparisons are non-associative.
        let mut compared = false;
        loop {
            let span = self.span;
            match self.token {
                Token::Or if least <= level::OR => self.lazy(level::OR, true)?,
                Token::And if least <= level::AND => self.lazy(level::AND, false)?,
                Token::Is | Token::IsNull | Token::NotNull if least <= level::IS => {
                    self.is(start)?;
                    // `a IS NULL` is complete, so it may be compared.
                    compared = false;
                    continue;
                }
                token => {
                    let Some((level, op, swapped)) = infix(token).filter(|&(level, ..)| least <= level)
                    else {
                        return Ok(());
                    };
                    if level == level::COMPARISON && std::mem::replace(&mut compared, true) {
                        return Err(self.unexpected("the end of the comparison"));
                    }
                    self.next()?;
                    let middle = self.here();
                    self.climb(level + 1)?;
                    if swapped {
                        let left_length = middle - start;
                        self.out.code[start..].rotate_left(left_length);
                        self.out.spans[start..].rotate_left(left_length);
                    }
                    self.emit(op, span);
                    self.fold(start);
                    self.limit()?;
                }
            }
        }
    }

    fn limit(&self) -> Result<(), Mistake> {
        if self.here() <= LENGTH_MAX {
            return Ok(());
        }
        Err(Mistake::new(self.span, format!("the expression has more than {LENGTH_MAX} operations"))
            .advise("compute parts of it in a \\set of their own"))
    }

    /// Compile the right side of AND (decided by false) or OR (decided by true).
    fn lazy(&mut self, level: u8, by: bool) -> Result<(), Mistake> {
        let span = self.span;
        self.next()?;
        let decide = self.here();
        self.emit(Op::Decide { by, over: 0 }, span);
        self.climb(level + 1)?;
        self.emit(Op::Logical, span);
        self.land(decide);
        self.limit()
    }

    /// `IS [NOT] NULL | TRUE | FALSE`, `ISNULL`, `NOTNULL`.
    fn is(&mut self, start: usize) -> Result<(), Mistake> {
        let span = self.span;
        let mut op = Op::Is;
        let mut other = Value::Null;
        match self.token {
            Token::IsNull => {}
            Token::NotNull => op = Op::IsNot,
            _ => {
                self.next()?;
                if let Token::Not = self.token {
                    op = Op::IsNot;
                    self.next()?;
                }
                match self.token {
                    Token::Constant(value @ (Value::Null | Value::Boolean(_))) => other = value,
                    _ => return Err(self.unexpected("NULL, TRUE or FALSE")),
                }
            }
        }
        let span = span.to(self.span);
        self.next()?;
        self.emit(Op::Constant(other), span);
        self.emit(op, span);
        self.fold(start);
        Ok(())
    }

    fn operand(&mut self) -> Result<(), Mistake> {
        match self.token {
            Token::Constant(value) => self.constant(value),
            Token::Variable(name) => self.variable(name),
            Token::Open => self.parentheses(),
            Token::Plus => {
                self.next()?;
                self.climb(level::UNARY)
            }
            Token::Minus => self.minus(),
            Token::Tilde => self.prefix(Some(Value::Integer(!0)), level::BITS + 1, Op::Xor),
            Token::Not => self.prefix(None, level::NOT, Op::Not),
            Token::Name => self.call(),
            Token::Case => self.case(),
            _ => Err(self.no_operand()),
        }
    }

    #[cold]
    fn no_operand(&self) -> Mistake {
        let mistake = self.unexpected("a value");
        match self.token {
            Token::MinimumMagnitude => mistake
                .advise("the largest integer is 9223372036854775807; this one needs a minus right before it"),
            _ => mistake,
        }
    }

    fn constant(&mut self, value: Value) -> Result<(), Mistake> {
        self.emit(Op::Constant(value), self.span);
        self.next()
    }

    fn variable(&mut self, name: Span) -> Result<(), Mistake> {
        let written = name.of(self.lexer.source);
        if !is_name(written) {
            let finding = format!("invalid variable name: {:?}", self.shown(name));
            return Err(Mistake::new(name, finding).advise("names do not begin with a digit"));
        }
        let slot = self.shared.names.intern(written);
        self.emit(Op::Variable(slot), self.span);
        self.next()
    }

    fn parentheses(&mut self) -> Result<(), Mistake> {
        self.next()?;
        self.climb(level::OR)?;
        self.expect(|t| matches!(t, Token::Close), ") or an operator")
    }

    /// A unary minus is a subtraction from 0, as in pgbench; the smallest integer is parsed as a constant.
    fn minus(&mut self) -> Result<(), Mistake> {
        let span = self.span;
        self.next()?;
        if let Token::MinimumMagnitude = self.token {
            self.emit(Op::Constant(Value::Integer(i64::MIN)), span.to(self.span));
            return self.next();
        }
        self.operation(Some(Value::Integer(0)), level::UNARY, Op::Subtract, span)
    }

    fn prefix(&mut self, left_length: Option<Value>, level: u8, op: Op) -> Result<(), Mistake> {
        let span = self.span;
        self.next()?;
        self.operation(left_length, level, op, span)
    }

    /// Compile an operator at `span` on the next operand, and on a constant to its left.
    fn operation(
        &mut self,
        left_length: Option<Value>,
        level: u8,
        op: Op,
        span: Span,
    ) -> Result<(), Mistake> {
        let start = self.here();
        if let Some(value) = left_length {
            self.emit(Op::Constant(value), span);
        }
        self.climb(level)?;
        self.emit(op, span);
        self.fold(start);
        Ok(())
    }

    fn call(&mut self) -> Result<(), Mistake> {
        let name_span = self.span;
        let name = self.shown(name_span);
        let Some((canonical, arity, function)) = functions::find(name_span.of(self.lexer.source)) else {
            let mistake = Mistake::new(name_span, format!("unexpected function name ({name})"));
            return Err(match nearest(&name, functions::names()) {
                Some(near) => mistake.advise(format!("did you mean {near}?")),
                None => mistake.advise(format!("a variable is written with a colon: :{name}")),
            });
        };
        self.next()?;
        self.expect(|t| matches!(t, Token::Open), "( behind the function's name")?;
        let start = self.here();
        let mut count = 0;
        // pgbench allows an empty first argument, as in `least(,1)`.
        if !matches!(self.token, Token::Comma | Token::Close) {
            self.climb(level::OR)?;
            count = 1;
        }
        while let Token::Comma = self.token {
            self.limit()?;
            self.next()?;
            self.climb(level::OR)?;
            count += 1;
        }
        let close = self.span;
        if !matches!(self.token, Token::Close) {
            return Err(self.unexpected(") or another argument"));
        }
        let span = name_span.to(close);
        let expected = match arity {
            Arity::Exactly(expected) if count != expected => Some(format!("it takes {expected}")),
            Arity::Seeded(least) if count < least || count > least + 1 => {
                Some(format!("it takes {least}, and a seed if you like"))
            }
            Arity::OneOrMore if count == 0 => {
                return Err(Mistake::new(span, format!("at least one argument expected ({canonical})")));
            }
            _ => None,
        };
        if let Some(expected) = expected {
            return Err(Mistake::new(
                span,
                format!("unexpected number of arguments ({canonical}): found {count}"),
            )
            .advise(expected));
        }
        if count > MAX_ARGUMENTS {
            return Err(Mistake::new(
                span,
                format!("too many function arguments ({canonical}): found {count}"),
            )
            .advise(format!("a call takes at most {MAX_ARGUMENTS}; nest calls for more")));
        }
        if arity == Arity::Seeded(count) {
            self.emit(Op::Variable(self.shared.default_seed), span);
        }
        self.next()?;
        let sites = &mut *self.shared.sites;
        let op = Op::call(function, count, || {
            *sites += 1;
            Site(*sites - 1)
        });
        self.emit(op, span);
        self.fold(start);
        Ok(())
    }

    /// `CASE WHEN condition THEN value ... [ELSE value] END`
    fn case(&mut self) -> Result<(), Mistake> {
        let span = self.span;
        self.next()?;
        let mut to_end = Vec::new();
        if !matches!(self.token, Token::When) {
            return Err(self
                .unexpected("WHEN")
                .advise("write CASE WHEN condition THEN value ELSE value END"));
        }
        while let Token::When = self.token {
            self.limit()?;
            let when = self.span;
            self.next()?;
            self.climb(level::OR)?;
            self.expect(|t| matches!(t, Token::Then), "THEN or an operator")?;
            let unless = self.here();
            self.emit(Op::Unless { over: 0 }, when);
            self.climb(level::OR)?;
            to_end.push(self.here());
            self.emit(Op::Jump { over: 0 }, when);
            self.land(unless);
        }
        if let Token::Else = self.token {
            self.next()?;
            self.climb(level::OR)?;
        } else {
            self.emit(Op::Constant(Value::Null), span);
        }
        self.expect(|t| matches!(t, Token::EndCase), "WHEN, ELSE, END or an operator")?;
        for from in to_end {
            self.land(from);
        }
        Ok(())
    }
}
