//! Parameters of statements: integers of a range, or values of a list, by a distribution.

use serde_json::Value as Json;

use super::options::{DistributionOption, ParameterOption};
use crate::pgbench::random::{Exponential, Random, Range, Zipfian};
use loadcell_core::error::SpecError;
use loadcell_core::target::Dialect;
use loadcell_protocols::{Request, Value};

/// Where the section is, for errors.
const PATH: &str = "workload.sql.parameters";

#[derive(Debug)]
pub struct Parameter {
    range: Range,
    distribution: Distribution,
    /// Values that the numbers of the range stand for; `None`: themselves.
    values: Option<Box<[Value]>>,
}

#[derive(Debug)]
enum Distribution {
    Uniform,
    Gaussian(f64),
    Exponential(Exponential),
    Zipfian(Zipfian),
}

impl Parameter {
    pub fn new(dialect: Dialect, option: &ParameterOption) -> Result<Self, SpecError> {
        let wrong = |value: &dyn std::fmt::Debug| SpecError::value(PATH, format!("{value:?}"));
        let values = match &option.values {
            None => None,
            Some(text) => {
                let values: Vec<Json> =
                    serde_json::from_str(text).map_err(|error| SpecError::unreadable(PATH, &error))?;
                let values: Option<Vec<_>> = values.iter().map(|json| value(dialect, json)).collect();
                Some(values.filter(|values| !values.is_empty()).ok_or_else(|| wrong(text))?)
            }
        };
        let (first, last) = match &values {
            Some(values) => (0, values.len() as i64 - 1),
            None => option.range.ok_or_else(|| wrong(option))?,
        };
        let range = Range::new(first, last).map_err(|_| wrong(&option.range))?;
        let distribution = match option.distribution {
            DistributionOption::Uniform => Distribution::Uniform,
            DistributionOption::Gaussian(parameter) => {
                let tried = Random::seeded(0).gaussian(range, parameter);
                tried.map_err(|_| wrong(&option.distribution))?;
                Distribution::Gaussian(parameter)
            }
            DistributionOption::Exponential(parameter) => Distribution::Exponential(
                Exponential::new(parameter).map_err(|_| wrong(&option.distribution))?,
            ),
            DistributionOption::Zipfian(parameter) => {
                Distribution::Zipfian(Zipfian::new(parameter).map_err(|_| wrong(&option.distribution))?)
            }
        };
        Ok(Self { range, distribution, values: values.map(Vec::into_boxed_slice) })
    }

    /// Draw a number of the range.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> i64 {
        match &self.distribution {
            Distribution::Uniform => random.uniform(self.range),
            Distribution::Zipfian(zipfian) => random.zipfian(self.range, zipfian),
            Distribution::Exponential(exponential) => random.exponential(self.range, exponential),
            Distribution::Gaussian(parameter) => {
                random.gaussian(self.range, *parameter).expect("the parameter was tried")
            }
        }
    }

    /// Write what a drawn number stands for.
    #[inline]
    pub fn write<'a>(&self, drawn: i64, request: Request<'a>) -> Request<'a> {
        match &self.values {
            None => request.value(&Value::Integer(drawn)),
            Some(values) => request.value(&values[drawn as usize]),
        }
    }
}

/// A value of a list; `None` for an array or an object.
fn value(dialect: Dialect, json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) if dialect == Dialect::Mysql => Value::Integer(i64::from(*truth)),
        Json::Bool(truth) => Value::Number(truth.to_string().into_bytes().into()),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Number(number.to_string().into_bytes().into()),
        },
        Json::String(text) => Value::Text(text.as_bytes().into()),
        Json::Array(_) | Json::Object(_) => return None,
    })
}
