//! The `kv` section of a specification.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{Command, Script};
use super::distribution::Distribution;
use super::keys::KeyShape;
use super::values::{Size, ValueShape};
use super::versions::MOST_KEYS;
use loadcell_core::error::{SpecError, within};
use loadcell_core::record::Kind;
use loadcell_core::spec;

/// Relative frequencies of the operation kinds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    pub get: f64,
    pub set: f64,
    pub mget: f64,
    pub mset: f64,
    pub delete: f64,
    pub insert: f64,
    pub scan: f64,
    pub read_modify_write: f64,
}

/// Names of the key distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    Uniform,
    Zipfian,
    ScrambledZipfian,
    Latest,
    Hotspot,
    Gaussian,
    Exponential,
    Sequential,
}

/// A size or a distribution of sizes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Sizes {
    One(u64),
    Range(Range),
    Bell(Bell),
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bell {
    pub mean: u64,
    pub deviation: u64,
}

/// A number, or a range with uniform distribution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    One(u64),
    Range(Range),
}

impl Numbers {
    /// Minimum and maximum.
    pub fn bounds(self) -> (u64, u64) {
        match self {
            Self::One(number) => (number, number),
            Self::Range(Range { from, to }) => (from, to),
        }
    }
}

/// A user-defined operation and its relative frequency: commands, or the call of a script.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandOption {
    /// Sent together; empty if there is a script.
    pub commands: Vec<String>,
    pub script: Option<ScriptOption>,
    pub share: f64,
    /// Counted as a read or a write.
    pub kind: CommandKind,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptOption {
    /// Its name in messages.
    pub name: String,
    pub text: String,
    pub keys: Vec<String>,
    pub arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    Read,
    Write,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub mix: Mix,
    pub keys: u64,
    pub key_prefix: String,
    /// Length of a key in bytes, prefix included; its number is padded with zeros.
    pub key_size: u64,
    pub distribution: Name,
    pub theta: f64,
    pub hot_data: f64,
    pub hot_operations: f64,
    pub deviation: f64,
    pub percentile: f64,
    pub fraction: f64,
    pub value_size: Sizes,
    /// Keys per `mget` or `mset`.
    pub multi: u32,
    /// Expiry of written keys.
    pub ttl_ns: Option<Numbers>,
    /// Commands sent per batch on a connection.
    pub pipeline: u32,
    /// Operations per transaction of an embedded store.
    pub batch: u32,
    pub scan_length: Numbers,
    /// The keys are loaded before the run.
    pub load: bool,
    pub verify: bool,
    pub commands: BTreeMap<String, CommandOption>,
}

impl Options {
    /// Parse and validate the `kv` section.
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = spec::section("workload.kv", section)?;
        within("workload.kv.keys", options.keys, 1..=MOST_KEYS)?;
        Ok(options)
    }

    /// Check that each of `clients` clients has keys to write exclusively.
    pub fn check_clients(&self, clients: u32) -> Result<(), SpecError> {
        if !self.verify || self.keys >= clients.into() {
            return Ok(());
        }
        let arguments = json!({"clients": clients, "keys": self.keys});
        Err(SpecError::new("engine.spec.keys-per-client", "workload.kv.keys", arguments))
    }

    pub fn commands(&self) -> Result<Vec<Command>, SpecError> {
        let kind = |option: &CommandOption| match option.kind {
            CommandKind::Read => Kind::Read,
            CommandKind::Write => Kind::Write,
        };
        self.commands
            .iter()
            .map(|(name, option)| match &option.script {
                None => Command::read(name, kind(option), &option.commands),
                Some(ScriptOption { name: label, text, keys, arguments }) => {
                    let script = Script { name: label.clone(), text: text.clone().into() };
                    Command::of_script(name, kind(option), script, keys, arguments)
                }
            })
            .collect()
    }

    pub fn distribution(&self) -> Distribution {
        let theta = self.theta;
        match self.distribution {
            Name::Uniform => Distribution::Uniform,
            Name::Zipfian => Distribution::Zipfian { theta },
            Name::ScrambledZipfian => Distribution::ScrambledZipfian { theta },
            Name::Latest => Distribution::Latest { theta },
            Name::Hotspot => Distribution::Hotspot { data: self.hot_data, operations: self.hot_operations },
            Name::Gaussian => Distribution::Gaussian { deviation: self.deviation },
            Name::Exponential => {
                Distribution::Exponential { percentile: self.percentile, fraction: self.fraction }
            }
            Name::Sequential => Distribution::Sequential,
        }
    }

    pub fn key_shape(&self) -> KeyShape {
        let digits = self.key_size as usize - self.key_prefix.len().min(self.key_size as usize);
        KeyShape { prefix: self.key_prefix.clone(), digits, hashed: false }
    }

    pub fn value_shape(&self) -> ValueShape {
        let size = match self.value_size {
            Sizes::One(size) => Size::Fixed(size),
            Sizes::Range(Range { from, to }) => Size::Uniform { from: from.min(to), to },
            Sizes::Bell(Bell { mean, deviation }) => {
                Size::Normal { mean: mean as f64, deviation: deviation as f64 }
            }
        };
        ValueShape { size, checksummed: self.verify }
    }

    /// Minimum and maximum of a scan's rows.
    pub fn rows(&self) -> (u64, u64) {
        self.scan_length.bounds()
    }
}

impl Mix {
    /// In the order of [`super::client::OP_KINDS`].
    pub fn shares(&self) -> [f64; 8] {
        [
            self.get,
            self.set,
            self.mget,
            self.mset,
            self.delete,
            self.insert,
            self.scan,
            self.read_modify_write,
        ]
    }
}

#[cfg(test)]
impl Options {
    /// The options of a section that states only what a test is about.
    pub fn of(section: &Value) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("kv", section))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_are_applied() {
        let options = Options::of(&json!({
            "mix": {"mget": 3, "scan": 1}, "distribution": "scrambled_zipfian", "theta": 0.8,
                "ttl_ns": 5_000_000,
            "value_size": {"mean": 100, "deviation": 20}, "scan_length": {"from": 1, "to": 9},
        }))
        .unwrap();
        assert_eq!(options.mix.shares(), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(options.distribution(), Distribution::ScrambledZipfian { theta: 0.8 });
        assert_eq!(options.value_shape().size, Size::Normal { mean: 100.0, deviation: 20.0 });
        assert_eq!(options.rows(), (1, 9));
        let ranged = Options::of(&json!({"value_size": {"from": 1, "to": 9}})).unwrap();
        assert_eq!(ranged.value_shape().size, Size::Uniform { from: 1, to: 9 });
        let only =
            Options::of(&json!({"commands": {"ping": {"commands": ["PING"], "kind": "read"}}})).unwrap();
        assert_eq!(only.commands().unwrap()[0].kind, Kind::Read);
    }

    #[test]
    fn unknown_options_and_no_keys_are_rejected() {
        let cases = [
            (json!({"keys": 0}), r#"keys {"value":"0"}"#),
            (json!({"kees": 1}), "unknown field `kees`"),
            (json!({"mix": {"gett": 1}}), "unknown field `gett`"),
        ];
        for (section, part) in cases {
            let problem = Options::of(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
        assert!(Options::of(&json!({"theta": 1.0, "distribution": "zipfian"})).is_ok());
        let few = Options::of(&json!({"keys": 3, "verify": true})).unwrap();
        assert!(few.check_clients(3).is_ok() && few.check_clients(4).is_err());
    }
}
