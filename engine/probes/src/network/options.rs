//! The `network` section of a probe.

use serde::Deserialize;
use serde_json::{Value, json};

use super::handshake::{Hello, LONGEST, Test};
use loadcell_core::error::SpecError;

/// Tests by netperf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Rr,
    Crr,
    Stream,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub test: Kind,
    #[serde(default = "one_byte")]
    pub request_bytes: u32,
    #[serde(default = "one_byte")]
    pub response_bytes: u32,
    /// Size of a stream's writes in bytes.
    #[serde(default = "block")]
    pub block_bytes: u32,
}

impl Options {
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = match serde_json::from_value(section.clone()) {
            Ok(options) => options,
            Err(error) => {
                return Err(SpecError::unreadable("workload.probe.network", &error));
            }
        };
        let lengths = [options.request_bytes, options.response_bytes, options.block_bytes];
        if lengths.iter().any(|length| !(1..=LONGEST).contains(length)) {
            return Err(SpecError::value("workload.probe.network", json!(lengths)));
        }
        Ok(options)
    }

    pub fn hello(&self) -> Hello {
        let test = match self.test {
            Kind::Rr => Test::Rr,
            Kind::Crr => Test::Crr,
            Kind::Stream => Test::Stream,
        };
        Hello { test, request: self.request_bytes, response: self.response_bytes }
    }
}

fn one_byte() -> u32 {
    1
}
/// As in iperf3.
fn block() -> u32 {
    128 << 10
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_match_netperf() {
        let options = Options::read(&json!({"test": "rr"})).unwrap();
        assert_eq!((options.request_bytes, options.response_bytes), (1, 1));
        assert_eq!(options.hello(), Hello { test: Test::Rr, request: 1, response: 1 });
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        let finding = |section: Value| Options::read(&section).unwrap_err().to_string();
        assert!(finding(json!({"test": "udp"})).contains("unknown variant `udp`"));
        assert!(finding(json!({"test": "rr", "request_bytes": 0})).contains("value workload.probe.network"));
        assert!(
            finding(json!({"test": "rr", "response_bytes": 1 << 30}))
                .contains("value workload.probe.network")
        );
    }
}
