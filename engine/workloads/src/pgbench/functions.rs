//! Functions of expressions: names and arities.

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// Number of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    Exactly(usize),
    OneOrMore,
    /// This number, and an optional seed, which defaults to `:default_seed`.
    Seeded(usize),
}

/// Maximum number of arguments, as in pgbench.
pub const MAX_ARGUMENTS: usize = 16;

const TABLE: &[(&str, Arity, Function)] = &[
    ("abs", Arity::Exactly(1), Function::Abs),
    ("debug", Arity::Exactly(1), Function::Debug),
    ("double", Arity::Exactly(1), Function::Double),
    ("exp", Arity::Exactly(1), Function::Exp),
    ("greatest", Arity::OneOrMore, Function::Greatest),
    ("hash", Arity::Seeded(1), Function::HashMurmur2),
    ("hash_fnv1a", Arity::Seeded(1), Function::HashFnv1a),
    ("hash_murmur2", Arity::Seeded(1), Function::HashMurmur2),
    ("int", Arity::Exactly(1), Function::Int),
    ("least", Arity::OneOrMore, Function::Least),
    ("ln", Arity::Exactly(1), Function::Ln),
    ("mod", Arity::Exactly(2), Function::Mod),
    ("permute", Arity::Seeded(2), Function::Permute),
    ("pi", Arity::Exactly(0), Function::Pi),
    ("pow", Arity::Exactly(2), Function::Power),
    ("power", Arity::Exactly(2), Function::Power),
    ("random", Arity::Exactly(2), Function::Random),
    ("random_exponential", Arity::Exactly(3), Function::RandomExponential),
    ("random_gaussian", Arity::Exactly(3), Function::RandomGaussian),
    ("random_zipfian", Arity::Exactly(3), Function::RandomZipfian),
    ("sqrt", Arity::Exactly(1), Function::Sqrt),
];

/// Find a function by its name, ignoring case.
pub fn find(name: &[u8]) -> Option<(&'static str, Arity, Function)> {
    TABLE.iter().find(|(candidate, ..)| name.eq_ignore_ascii_case(candidate.as_bytes())).copied()
}

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, ..)| *name)
}
