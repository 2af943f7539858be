//! Parameters of templates, drawn for each request.

use serde_json::json;
use std::sync::Arc;

use serde::Deserialize;

use crate::keyvalue::distribution::{Chooser, Distribution};
use loadcell_core::error::SpecError;
use loadcell_core::random::Random;
use loadcell_protocols::digits;

/// Parameter as written in a plan: numbers `from..=to`, one of `values`, or a number of random letters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    #[serde(default)]
    pub from: Option<u64>,
    #[serde(default)]
    pub to: Option<u64>,
    #[serde(default)]
    pub values: Option<Vec<String>>,
    #[serde(default)]
    pub letters: Option<usize>,
    /// Minimum number of digits, filled up with zeros.
    #[serde(default)]
    pub digits: usize,
    #[serde(default)]
    pub distribution: Name,
    #[serde(default = "theta")]
    pub theta: f64,
    #[serde(default = "hot_data")]
    pub hot_data: f64,
    #[serde(default = "hot_operations")]
    pub hot_operations: f64,
    #[serde(default = "deviation")]
    pub deviation: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    #[default]
    Uniform,
    Zipfian,
    ScrambledZipfian,
    Latest,
    Hotspot,
    Gaussian,
    Sequential,
}

fn theta() -> f64 {
    0.99
}
fn hot_data() -> f64 {
    0.2
}
fn hot_operations() -> f64 {
    0.8
}
fn deviation() -> f64 {
    0.1
}

/// Compiled parameter, shared by all clients.
#[derive(Clone, Debug)]
pub struct Parameter {
    source: Source,
    distribution: Distribution,
}

#[derive(Clone, Debug)]
enum Source {
    Numbers { from: u64, count: u64, digits: usize },
    Values(Arc<[Box<[u8]>]>),
    Letters(usize),
}

/// Limit of random letters, as a body is generated for every request.
const MOST_LETTERS: usize = 64 << 20;
const MOST_DIGITS: usize = 20;

impl Parameter {
    pub fn read(name: &str, options: &Options) -> Result<Self, SpecError> {
        let wrong = |code: &'static str, most: usize| {
            let arguments = json!({"name": name, "most": most});
            Err(SpecError::new(code, format!("workload.http.parameters.{name}"), arguments))
        };
        let settings = (options.from.or(options.to), &options.values, options.letters);
        let source = match settings {
            (Some(_), None, None) => {
                let (from, to) = (options.from.unwrap_or(0), options.to.unwrap_or(u64::MAX));
                if options.to.is_none() || from > to || to - from == u64::MAX {
                    return wrong("engine.spec.parameter-range", 0);
                }
                if options.digits > MOST_DIGITS {
                    return wrong("engine.spec.parameter-digits", MOST_DIGITS);
                }
                Source::Numbers { from, count: to - from + 1, digits: options.digits }
            }
            (None, Some(values), None) if !values.is_empty() => {
                Source::Values(values.iter().map(|value| value.as_bytes().into()).collect())
            }
            (None, None, Some(count)) if count <= MOST_LETTERS => Source::Letters(count),
            (None, None, Some(_)) => return wrong("engine.spec.parameter-letters", MOST_LETTERS),
            _ => return wrong("engine.spec.parameter-source", 0),
        };
        let distribution = match options.distribution {
            Name::Uniform => Distribution::Uniform,
            Name::Zipfian => Distribution::Zipfian { theta: options.theta },
            Name::ScrambledZipfian => Distribution::ScrambledZipfian { theta: options.theta },
            Name::Latest => Distribution::Latest { theta: options.theta },
            Name::Hotspot => {
                Distribution::Hotspot { data: options.hot_data, operations: options.hot_operations }
            }
            Name::Gaussian => Distribution::Gaussian { deviation: options.deviation },
            Name::Sequential => Distribution::Sequential,
        };
        let law = [options.theta, options.deviation, options.hot_data, options.hot_operations];
        let share = 0.0..=1.0;
        if law.iter().any(|value| !(0.0..1e6).contains(value))
            || options.deviation == 0.0
            || options.theta == 1.0
            || !share.contains(&options.hot_data)
            || !share.contains(&options.hot_operations)
        {
            return wrong("engine.spec.parameter-distribution", 0);
        }
        Ok(Self { source, distribution })
    }

    /// State of the parameter for client `client` of `clients`; clients partition a sequence.
    pub fn chooser(&self, client: u32, clients: u32) -> Chooser {
        Chooser::of_client(&self.distribution, self.count(), client, clients)
    }

    fn count(&self) -> u64 {
        match &self.source {
            Source::Numbers { count, .. } => *count,
            Source::Values(values) => values.len() as u64,
            Source::Letters(_) => 1,
        }
    }

    /// Append a value.
    #[inline]
    pub fn draw(&self, chooser: &mut Chooser, random: &mut Random, out: &mut Vec<u8>) {
        match &self.source {
            Source::Numbers { from, count, digits } => {
                let number = from + chooser.draw(random, *count);
                if *digits == 0 {
                    return digits::decimal(out, number);
                }
                let start = out.len();
                digits::decimal(out, number);
                let missing = digits.saturating_sub(out.len() - start);
                out.splice(start..start, std::iter::repeat_n(b'0', missing));
            }
            Source::Values(values) => {
                let index = chooser.draw(random, values.len() as u64) as usize;
                out.extend_from_slice(&values[index]);
            }
            Source::Letters(count) => letters(*count, random, out),
        }
    }
}

/// Append lower-case letters, ten per 64 random bits; the probabilities are equal up to the resolution of 64
/// bits.
fn letters(count: usize, random: &mut Random, out: &mut Vec<u8>) {
    const OF_ONE_DRAW: usize = 10;
    out.reserve(count);
    for start in (0..count).step_by(OF_ONE_DRAW) {
        let mut bits = random.bits();
        for _ in start..count.min(start + OF_ONE_DRAW) {
            let product = u128::from(bits) * 26;
            out.push(b'a' + (product >> 64) as u8);
            bits = product as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(text: &str) -> Result<Parameter, SpecError> {
        Parameter::read("p", &serde_json::from_str(text).unwrap())
    }

    fn drawn(text: &str, times: usize) -> Vec<String> {
        let parameter = parameter(text).unwrap();
        let (mut chooser, mut random) = (parameter.chooser(0, 1), Random::stream(1, 0));
        let mut draw = || {
            let mut out = Vec::new();
            parameter.draw(&mut chooser, &mut random, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..times).map(|_| draw()).collect()
    }

    #[test]
    fn numbers_cover_their_range() {
        let mut seen = drawn(r#"{"from":3,"to":5}"#, 200);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, ["3", "4", "5"]);
        assert_eq!(
            drawn(r#"{"from":8,"to":10,"distribution":"sequential","digits":3}"#, 4),
            ["008", "009", "010", "008"]
        );
        assert_eq!(drawn(r#"{"from":7,"to":7}"#, 1), ["7"]);
        assert_eq!(drawn(r#"{"to":0}"#, 1), ["0"]);
    }

    #[test]
    fn clients_share_a_sequence() {
        let parameter = parameter(r#"{"from":0,"to":99,"distribution":"sequential"}"#).unwrap();
        let (mut chooser, mut random) = (parameter.chooser(1, 3), Random::stream(1, 0));
        let mut out = Vec::new();
        (0..3).for_each(|_| parameter.draw(&mut chooser, &mut random, &mut out));
        assert_eq!(out, b"147");
    }

    #[test]
    fn values_come_from_the_list() {
        assert_eq!(drawn(r#"{"values":["a","b"],"distribution":"sequential"}"#, 3), ["a", "b", "a"]);
        let hot = drawn(r#"{"values":["a","b","c"],"distribution":"zipfian","theta":2.0}"#, 300);
        assert!(hot.iter().filter(|value| *value == "a").count() > 150);
    }

    #[test]
    fn letters_have_the_requested_count() {
        for count in [0usize, 1, 9, 10, 11, 5000] {
            let text = drawn(&format!("{{\"letters\":{count}}}"), 1).remove(0);
            assert_eq!(text.len(), count);
            assert!(text.bytes().all(|byte| byte.is_ascii_lowercase()));
        }
        let long = drawn(r#"{"letters":26000}"#, 1).remove(0);
        for letter in b'a'..=b'z' {
            let count = long.bytes().filter(|byte| *byte == letter).count();
            assert!((800..1200).contains(&count), "{count} of {letter}");
        }
    }

    #[test]
    fn invalid_parameters_are_reported() {
        let finding = |text: &str| parameter(text).unwrap_err().to_string();
        assert!(finding(r#"{"from":5,"to":3}"#).contains("parameter-range workload.http.parameters.p"));
        assert!(finding(r#"{"from":5}"#).contains("parameter-range"));
        assert!(finding(r#"{"from":0,"to":18446744073709551615}"#).contains("parameter-range"));
        assert!(finding("{}").contains("parameter-source"));
        assert!(finding(r#"{"to":5,"letters":3}"#).contains("parameter-source"));
        assert!(finding(r#"{"values":[]}"#).contains("parameter-source"));
        assert!(finding(r#"{"letters":99999999999}"#).contains("parameter-letters"));
        assert!(
            finding(r#"{"to":5,"distribution":"zipfian","theta":1.0}"#).contains("parameter-distribution")
        );
        assert!(
            finding(r#"{"to":5,"distribution":"gaussian","deviation":0}"#).contains("parameter-distribution")
        );
        assert!(
            finding(r#"{"to":5,"distribution":"hotspot","hot_data":2}"#).contains("parameter-distribution")
        );
    }
}
