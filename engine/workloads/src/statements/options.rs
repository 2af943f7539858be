//! The `sql` section of a specification.

use serde::Deserialize;
use serde_json::Value;

use loadcell_core::error::SpecError;
use loadcell_core::record::Kind;
use loadcell_core::spec;
use loadcell_protocols::{Mode, Part};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub transactions: Vec<TransactionOption>,
    pub parameters: Vec<ParameterOption>,
    pub protocol: Mode,
    /// SQLSTATEs after which a transaction is retried.
    pub retry_sqlstates: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionOption {
    pub name: String,
    /// Relative frequency.
    pub weight: u32,
    pub statements: Vec<StatementOption>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementOption {
    /// Name of its operation in results.
    pub name: String,
    pub kind: Kind,
    pub parts: Vec<PartOption>,
}

/// A piece of a statement: text, or the index of a parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartOption {
    Sql(String),
    Parameter(usize),
}

impl PartOption {
    pub fn part(&self) -> Part {
        match self {
            Self::Sql(text) => Part::Sql(text.clone()),
            Self::Parameter(_) => Part::Value,
        }
    }
}

/// A parameter: integers of a range, or values of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterOption {
    /// First and last integer.
    pub range: Option<(i64, i64)>,
    /// A JSON array as text, which nothing on the way takes for settings.
    pub values: Option<String>,
    pub distribution: DistributionOption,
}

/// Distribution of the numbers of a range, or of the indexes of a list; with the parameter of pgbench's
/// function.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DistributionOption {
    Uniform,
    Zipfian(f64),
    Gaussian(f64),
    Exponential(f64),
}

impl Options {
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        spec::section("workload.sql", section)
    }
}

#[cfg(test)]
impl Options {
    /// The options of a section that states only what a test is about.
    pub fn of(section: &Value) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("sql", section))
    }
}
