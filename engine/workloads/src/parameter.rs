//! Parameters of templates and fields of records, drawn for each request.

use std::sync::Arc;

use serde::Deserialize;

use crate::keyvalue::distribution::{Chooser, Distribution};
use loadcell_core::random::Random;
use loadcell_protocols::digits;

/// Parameter as written in a plan: numbers `from..=to`, one of `values`, or a number of random letters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub from: Option<u64>,
    pub to: Option<u64>,
    pub values: Option<Vec<String>>,
    pub letters: Option<usize>,
    /// Minimum number of digits, filled up with zeros.
    pub digits: usize,
    pub distribution: Name,
    pub theta: f64,
    pub hot_data: f64,
    pub hot_operations: f64,
    pub deviation: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    Uniform,
    Zipfian,
    ScrambledZipfian,
    Latest,
    Hotspot,
    Gaussian,
    Sequential,
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

impl Parameter {
    pub fn new(options: &Options) -> Self {
        let source = match (options.to, &options.values) {
            (Some(to), _) => {
                let from = options.from.unwrap_or(0);
                Source::Numbers { from, count: to - from + 1, digits: options.digits }
            }
            (None, Some(values)) => {
                Source::Values(values.iter().map(|value| value.as_bytes().into()).collect())
            }
            (None, None) => Source::Letters(options.letters.unwrap_or(0)),
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
        Self { source, distribution }
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

    /// True if every value is a decimal number without leading zeros.
    pub fn is_number(&self) -> bool {
        matches!(self.source, Source::Numbers { digits: 0, .. })
    }

    /// Bytes of the longest value.
    pub fn longest(&self) -> usize {
        match &self.source {
            Source::Numbers { from, count, digits } => digits::count(from + (count - 1)).max(*digits),
            Source::Values(values) => values.iter().map(|value| value.len()).max().unwrap_or(0),
            Source::Letters(count) => *count,
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
pub fn letters(count: usize, random: &mut Random, out: &mut Vec<u8>) {
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

    fn parameter(text: &str) -> Parameter {
        Parameter::new(&loadcell_testing::read("http.parameters.*", text).unwrap())
    }

    fn drawn(text: &str, times: usize) -> Vec<String> {
        let parameter = parameter(text);
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
        let parameter = parameter(r#"{"from":0,"to":99,"distribution":"sequential"}"#);
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
    fn the_longest_value_is_known_beforehand() {
        let longest = |text: &str| (parameter(text).longest(), parameter(text).is_number());
        assert_eq!(longest(r#"{"from":3,"to":1000}"#), (4, true));
        assert_eq!(longest(r#"{"from":3,"to":5,"digits":6}"#), (6, false));
        assert_eq!(longest(r#"{"values":["a","bcd",""]}"#), (3, false));
        assert_eq!(longest(r#"{"letters":12}"#), (12, false));
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
}
