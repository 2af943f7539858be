//! Compiled expressions, and their allocation-free evaluation.
//!
//! An expression is a sequence of operations on a stack. Operands precede their operator in the order in
//! which pgbench evaluates them, as that determines the random numbers. Lazy operators (AND, OR, CASE) are
//! jumps with relative targets, so that code can be moved as a block.

use super::error::{EvaluationError, Span};
use super::functions::Function;
use super::hash;
use super::permute::Schedule;
use super::random::{Exponential, Random, Range, Zipfian};
use super::value::Value;
use super::variables::{Slot, Variables};

/// Index of a call that caches a computation on its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site(pub u32);

/// One operation. In comments, `a` is below `b` on the stack.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Constant(Value),
    Variable(Slot),
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Not,
    Is,
    IsNot,
    /// The left side of AND (`false`) or OR (`true`) is on the stack: if it decides the result or is null,
    /// leave it and jump.
    Decide {
        by: bool,
        over: u32,
    },
    /// The right side of AND or OR: a boolean or null.
    Logical,
    /// Pop a condition; jump unless it holds.
    Unless {
        over: u32,
    },
    Jump {
        over: u32,
    },
    Abs,
    Debug,
    Double,
    Exp,
    Int,
    Ln,
    Power,
    Sqrt,
    Least(u32),
    Greatest(u32),
    HashFnv1a,
    HashMurmur2,
    Permute(Site),
    Random,
    RandomExponential(Site),
    RandomGaussian,
    RandomZipfian(Site),
}

impl Op {
    /// The operation of a function call with `arguments` arguments; `site` allocates a site if the call
    /// caches something.
    pub fn call(function: Function, arguments: usize, mut site: impl FnMut() -> Site) -> Self {
        match function {
            Function::Abs => Self::Abs,
            Function::Debug => Self::Debug,
            Function::Double => Self::Double,
            Function::Exp => Self::Exp,
            Function::Greatest => Self::Greatest(arguments as u32),
            Function::HashFnv1a => Self::HashFnv1a,
            Function::HashMurmur2 => Self::HashMurmur2,
            Function::Int => Self::Int,
            Function::Least => Self::Least(arguments as u32),
            Function::Ln => Self::Ln,
            Function::Mod => Self::Modulo,
            Function::Permute => Self::Permute(site()),
            Function::Pi => Self::Constant(Value::Double(std::f64::consts::PI)),
            Function::Power => Self::Power,
            Function::Random => Self::Random,
            Function::RandomExponential => Self::RandomExponential(site()),
            Function::RandomGaussian => Self::RandomGaussian,
            Function::RandomZipfian => Self::RandomZipfian(site()),
            Function::Sqrt => Self::Sqrt,
        }
    }

    /// True if equal operands give equal results without side effects.
    pub fn is_pure(self) -> bool {
        !matches!(
            self,
            Self::Variable(_)
                | Self::Debug
                | Self::Permute(_)
                | Self::Random
                | Self::RandomExponential(_)
                | Self::RandomGaussian
                | Self::RandomZipfian(_)
        )
    }
}

/// A compiled expression.
#[derive(Clone, Debug, Default)]
pub struct Expression {
    pub(super) code: Vec<Op>,
    /// Source position of each operation.
    pub(super) spans: Vec<Span>,
}

/// Reason why an expression has no value, and its source position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trap {
    pub fault: EvaluationError,
    pub span: Span,
}

/// Cached computation of a call; most calls have the same parameters every time.
#[derive(Clone, Debug)]
enum CachedState {
    Nothing,
    Permute(Box<Schedule>),
    Exponential(Exponential),
    Zipfian(Zipfian),
}

/// Evaluation state of one client.
#[derive(Clone, Debug)]
pub struct Machine {
    stack: Vec<Value>,
    cache: Vec<CachedState>,
    pub random: Random,
    /// Arguments of `debug()` during the last evaluation.
    pub debugged: Vec<Value>,
}

impl Machine {
    /// For programs with `sites` sites.
    pub fn new(random: Random, sites: usize) -> Self {
        Self {
            stack: Vec::with_capacity(16),
            cache: vec![CachedState::Nothing; sites],
            random,
            debugged: Vec::new(),
        }
    }

    #[inline]
    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Null)
    }

    /// Replace two operands by the result of `f`; null if either is null.
    #[inline]
    fn binary(
        &mut self,
        f: impl FnOnce(Value, Value) -> Result<Value, EvaluationError>,
    ) -> Result<Value, EvaluationError> {
        let b = self.pop();
        let a = self.pop();
        if a.is_null() || b.is_null() { Ok(Value::Null) } else { f(a, b) }
    }

    #[inline]
    fn unary(
        &mut self,
        f: impl FnOnce(Value) -> Result<Value, EvaluationError>,
    ) -> Result<Value, EvaluationError> {
        let a = self.pop();
        if a.is_null() { Ok(Value::Null) } else { f(a) }
    }

    #[inline]
    fn three(
        &mut self,
        f: impl FnOnce(&mut Self, [Value; 3]) -> Result<Value, EvaluationError>,
    ) -> Result<Value, EvaluationError> {
        let c = self.pop();
        let b = self.pop();
        let a = self.pop();
        if a.is_null() || b.is_null() || c.is_null() { Ok(Value::Null) } else { f(self, [a, b, c]) }
    }
}

#[inline]
fn integers(
    a: Value,
    b: Value,
    f: impl FnOnce(i64, i64) -> Result<i64, EvaluationError>,
) -> Result<Value, EvaluationError> {
    let a = a.integer()?;
    f(a, b.integer()?).map(Value::Integer)
}

/// Integers stay integers with overflow checks; one double makes both doubles.
#[inline]
fn arithmetic(
    a: Value,
    b: Value,
    name: &'static str,
    checked: impl FnOnce(i64, i64) -> Option<i64>,
    real: impl FnOnce(f64, f64) -> f64,
) -> Result<Value, EvaluationError> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => {
            checked(a, b).map(Value::Integer).ok_or(EvaluationError::Overflow(name))
        }
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            let a = a.double()?;
            Ok(Value::Double(real(a, b.double()?)))
        }
        _ => integers(a, b, |a, b| checked(a, b).ok_or(EvaluationError::Overflow(name))),
    }
}

#[inline]
fn comparison(
    a: Value,
    b: Value,
    checked: impl FnOnce(&i64, &i64) -> bool,
    real: impl FnOnce(&f64, &f64) -> bool,
) -> Result<Value, EvaluationError> {
    let holds = match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => checked(&a, &b),
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            let a = a.double()?;
            real(&a, &b.double()?)
        }
        _ => {
            let a = a.integer()?;
            checked(&a, &b.integer()?)
        }
    };
    Ok(Value::Boolean(holds))
}

fn divide(a: Value, b: Value) -> Result<Value, EvaluationError> {
    if matches!((a, b), (Value::Double(_), _) | (_, Value::Double(_))) {
        let a = a.double()?;
        return Ok(Value::Double(a / b.double()?));
    }
    integers(a, b, |a, b| match b {
        0 => Err(EvaluationError::DivisionByZero),
        _ => a.checked_div(b).ok_or(EvaluationError::Overflow("div")),
    })
}

fn modulo(a: i64, b: i64) -> Result<i64, EvaluationError> {
    // The remainder by -1 is 0; the processor would trap on the smallest integer.
    if b == 0 { Err(EvaluationError::DivisionByZero) } else { Ok(a.wrapping_rem(b)) }
}

/// Minimum or maximum of several values, as doubles if one of them is a double.
fn extreme(values: &[Value], greatest: bool) -> Result<Value, EvaluationError> {
    if values.iter().any(|v| v.is_null()) {
        return Ok(Value::Null);
    }
    if values.iter().any(|v| matches!(v, Value::Double(_))) {
        let mut best = values[0].double()?;
        for value in &values[1..] {
            let next = value.double()?;
            // Written so that NaN loses against later values, as in pgbench.
            let keep = if greatest { best > next } else { best < next };
            best = if keep { best } else { next };
        }
        return Ok(Value::Double(best));
    }
    let mut best = values[0].integer()?;
    for value in &values[1..] {
        let next = value.integer()?;
        best = if greatest { best.max(next) } else { best.min(next) };
    }
    Ok(Value::Integer(best))
}

/// Maximum of retained `debug()` values per evaluation.
const DEBUGGED_MAX: usize = 64;

impl Expression {
    /// Value of the expression. Random numbers come from the machine, in pgbench's order.
    pub fn evaluate(&self, variables: &mut Variables, machine: &mut Machine) -> Result<Value, Trap> {
        machine.stack.clear();
        machine.debugged.clear();
        let mut at = 0;
        while let Some(&op) = self.code.get(at) {
            match step(op, variables, machine) {
                Ok(over) => at += 1 + over as usize,
                Err(fault) => return Err(Trap { fault, span: self.spans[at] }),
            }
        }
        Ok(machine.pop())
    }
}

/// Execute one operation. Returns the number of following operations to skip.
#[inline]
fn step(op: Op, variables: &mut Variables, m: &mut Machine) -> Result<u32, EvaluationError> {
    let value = match op {
        Op::Constant(value) => value,
        Op::Variable(slot) => variables.value(slot)?,
        Op::Add => m.binary(|a, b| arithmetic(a, b, "add", i64::checked_add, |a, b| a + b))?,
        Op::Subtract => m.binary(|a, b| arithmetic(a, b, "sub", i64::checked_sub, |a, b| a - b))?,
        Op::Multiply => m.binary(|a, b| arithmetic(a, b, "mul", i64::checked_mul, |a, b| a * b))?,
        Op::Divide => m.binary(divide)?,
        Op::Modulo => m.binary(|a, b| integers(a, b, modulo))?,
        Op::And => m.binary(|a, b| integers(a, b, |a, b| Ok(a & b)))?,
        Op::Or => m.binary(|a, b| integers(a, b, |a, b| Ok(a | b)))?,
        Op::Xor => m.binary(|a, b| integers(a, b, |a, b| Ok(a ^ b)))?,
        // The count is taken modulo 64, as by the processor in pgbench.
        Op::ShiftLeft => m.binary(|a, b| integers(a, b, |a, b| Ok(a.wrapping_shl(b as u32))))?,
        Op::ShiftRight => m.binary(|a, b| integers(a, b, |a, b| Ok(a.wrapping_shr(b as u32))))?,
        Op::Equal => m.binary(|a, b| comparison(a, b, i64::eq, f64::eq))?,
        Op::NotEqual => m.binary(|a, b| comparison(a, b, i64::ne, f64::ne))?,
        Op::Less => m.binary(|a, b| comparison(a, b, i64::lt, f64::lt))?,
        Op::LessOrEqual => m.binary(|a, b| comparison(a, b, i64::le, f64::le))?,
        Op::Not => m.unary(|a| Ok(Value::Boolean(!a.boolean()?)))?,
        Op::Is | Op::IsNot => {
            let b = m.pop();
            let a = m.pop();
            Value::Boolean(a.is(b) == matches!(op, Op::Is))
        }
        Op::Decide { by, over } => {
            let a = m.pop();
            if a.is_null() || a.boolean()? == by {
                m.stack.push(a);
                return Ok(over);
            }
            return Ok(0);
        }
        Op::Logical => m.unary(|a| a.boolean().map(Value::Boolean))?,
        Op::Unless { over } => return Ok(if m.pop().truth() { 0 } else { over }),
        Op::Jump { over } => return Ok(over),
        Op::Abs => m.unary(|a| match a {
            Value::Double(d) => Ok(Value::Double(d.abs())),
            other => Ok(Value::Integer(other.integer()?.wrapping_abs())),
        })?,
        Op::Debug => {
            let a = m.pop();
            if m.debugged.len() < DEBUGGED_MAX {
                m.debugged.push(a);
            }
            a
        }
        Op::Double => m.unary(|a| a.double().map(Value::Double))?,
        Op::Exp => m.unary(|a| Ok(Value::Double(a.double()?.exp())))?,
        Op::Int => m.unary(|a| a.integer().map(Value::Integer))?,
        Op::Ln => m.unary(|a| Ok(Value::Double(a.double()?.ln())))?,
        Op::Power => m.binary(|a, b| {
            let a = a.double()?;
            Ok(Value::Double(a.powf(b.double()?)))
        })?,
        Op::Sqrt => m.unary(|a| Ok(Value::Double(a.double()?.sqrt())))?,
        Op::Least(count) | Op::Greatest(count) => {
            let first = m.stack.len().saturating_sub(count as usize);
            let value = extreme(&m.stack[first..], matches!(op, Op::Greatest(_)))?;
            m.stack.truncate(first);
            value
        }
        Op::HashFnv1a => m.binary(|a, b| integers(a, b, |a, b| Ok(hash::fnv1a(a, b))))?,
        Op::HashMurmur2 => m.binary(|a, b| integers(a, b, |a, b| Ok(hash::murmur2(a, b))))?,
        Op::Permute(site) => m.three(|m, [value, size, seed]| {
            let (value, size, seed) = (value.integer()?, size.integer()?, seed.integer()?);
            if size <= 0 {
                return Err(EvaluationError::PermuteSize(size));
            }
            let cache = &mut m.cache[site.0 as usize];
            if let CachedState::Permute(schedule) = cache {
                if !schedule.is_for(size, seed) {
                    **schedule = Schedule::new(size, seed);
                }
                return Ok(Value::Integer(schedule.position(value)));
            }
            let schedule = Box::new(Schedule::new(size, seed));
            let span = schedule.position(value);
            *cache = CachedState::Permute(schedule);
            Ok(Value::Integer(span))
        })?,
        Op::Random => {
            let b = m.pop();
            let a = m.pop();
            if a.is_null() || b.is_null() {
                Value::Null
            } else {
                let min = a.integer()?;
                Value::Integer(m.random.uniform(Range::new(min, b.integer()?)?))
            }
        }
        Op::RandomGaussian => m.three(|m, [min, max, parameter]| {
            let range = Range::new(min.integer()?, max.integer()?)?;
            m.random.gaussian(range, parameter.double()?).map(Value::Integer)
        })?,
        Op::RandomExponential(site) => m.three(|m, [min, max, parameter]| {
            let range = Range::new(min.integer()?, max.integer()?)?;
            let parameter = parameter.double()?;
            let bend = match m.cache[site.0 as usize] {
                CachedState::Exponential(cache) if cache.is_for(parameter) => cache,
                _ => {
                    let new = Exponential::new(parameter)?;
                    m.cache[site.0 as usize] = CachedState::Exponential(new);
                    new
                }
            };
            Ok(Value::Integer(m.random.exponential(range, &bend)))
        })?,
        Op::RandomZipfian(site) => m.three(|m, [min, max, parameter]| {
            let range = Range::new(min.integer()?, max.integer()?)?;
            let parameter = parameter.double()?;
            let zipf = match m.cache[site.0 as usize] {
                CachedState::Zipfian(cache) if cache.is_for(parameter) => cache,
                _ => {
                    let new = Zipfian::new(parameter)?;
                    m.cache[site.0 as usize] = CachedState::Zipfian(new);
                    new
                }
            };
            Ok(Value::Integer(m.random.zipfian(range, &zipf)))
        })?,
    };
    m.stack.push(value);
    Ok(0)
}
