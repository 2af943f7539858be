//! The `kv` section of a specification.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::Command;
use super::distribution::Distribution;
use super::keys::KeyShape;
use super::values::{HEAD, Size, ValueShape};
use super::versions::MOST_KEYS;
use loadcell_core::clock::{MILLISECOND, Nanos};
use loadcell_core::error::{SpecError, within};
use loadcell_core::record::Kind;
use loadcell_protocols::digits;

/// Relative frequencies of the operation kinds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

/// A user-defined command and its relative frequency.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandOption {
    pub command: String,
    #[serde(default = "one_share")]
    pub share: f64,
    /// Counted as a read or a write.
    #[serde(default)]
    pub kind: CommandKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    Read,
    #[default]
    Write,
}

fn one_share() -> f64 {
    1.0
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// `None`: according to `reads`, unless there are only commands.
    pub mix: Option<Mix>,
    /// Share of `get` among `get` and `set`.
    pub reads: Option<f64>,
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

impl Default for Options {
    fn default() -> Self {
        Self {
            mix: None,
            reads: None,
            keys: 100_000,
            key_prefix: "key:".into(),
            key_size: 16,
            distribution: Name::Uniform,
            theta: 0.99,
            hot_data: 0.2,
            hot_operations: 0.8,
            deviation: 0.1,
            percentile: 95.0,
            fraction: 0.857_142_857_1,
            value_size: Sizes::One(100),
            multi: 10,
            ttl_ns: None,
            pipeline: 1,
            batch: 1,
            scan_length: Numbers::One(100),
            load: true,
            verify: false,
            commands: BTreeMap::new(),
        }
    }
}

/// Share of `get` by default.
const USUAL_READS: f64 = 0.8;
const MOST_KEY_SIZE: u64 = 1_024;
/// Maximum size of a value in bytes, as limited by Redis.
const MOST_VALUE_SIZE: u64 = 512 << 20;
const MOST_AT_ONCE: u32 = 10_000;
const MOST_ROWS: u64 = 1_000_000;

impl Options {
    /// Parse and validate the `kv` section.
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = serde_json::from_value(section.clone())
            .map_err(|error| SpecError::unreadable("workload.kv", &error))?;
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), SpecError> {
        within("workload.kv.keys", self.keys, 1..=MOST_KEYS)?;
        within("workload.kv.key_size", self.key_size, 1..=MOST_KEY_SIZE)?;
        within("workload.kv.multi", self.multi, 1..=MOST_AT_ONCE)?;
        within("workload.kv.pipeline", self.pipeline, 1..=MOST_AT_ONCE)?;
        within("workload.kv.batch", self.batch.into(), 1..=MOST_ROWS)?;
        within("workload.kv.value_size", self.value_shape().size.most(), 0..=MOST_VALUE_SIZE)?;
        let (fewest, most) = self.rows();
        within("workload.kv.scan_length", fewest, 1..=MOST_ROWS)?;
        within("workload.kv.scan_length", most, fewest..=MOST_ROWS)?;
        if let Sizes::Range(Range { from, to }) = self.value_size {
            within("workload.kv.value_size", to, from..=MOST_VALUE_SIZE)?;
        }
        let digits = digits::count(self.keys - 1) as u64;
        let needed = self.key_prefix.len() as u64 + digits;
        if self.key_size < needed {
            return Err(SpecError::value("workload.kv.key_size", self.key_size));
        }
        if let Sizes::Bell(Bell { mean, deviation }) = self.value_size {
            within("workload.kv.value_size.mean", mean, 1..=MOST_VALUE_SIZE)?;
            within("workload.kv.value_size.deviation", deviation, 0..=mean)?;
        }
        if let Some((shortest, longest)) = self.ttl_ns.map(Numbers::bounds) {
            if shortest < MILLISECOND {
                return Err(SpecError::value("workload.kv.ttl_ns", shortest));
            }
            within("workload.kv.ttl_ns", longest, shortest..=Nanos::MAX)?;
        }
        self.check_distribution()?;
        self.check_mix()?;
        self.check_verify()
    }

    fn check_distribution(&self) -> Result<(), SpecError> {
        within("workload.kv.hot_data", self.hot_data, 0.0..=1.0)?;
        within("workload.kv.hot_operations", self.hot_operations, 0.0..=1.0)?;
        let most = match self.distribution {
            Name::Zipfian => 10.0,
            _ => 0.9999, // The other method has no solution at 1.
        };
        within("workload.kv.theta", self.theta, f64::MIN_POSITIVE..=most)?;
        within("workload.kv.deviation", self.deviation, f64::MIN_POSITIVE..=10.0)?;
        within("workload.kv.percentile", self.percentile, f64::MIN_POSITIVE..=100.0_f64.next_down())?;
        within("workload.kv.fraction", self.fraction, f64::MIN_POSITIVE..=1.0)
    }

    fn check_mix(&self) -> Result<(), SpecError> {
        if self.mix.is_some() && self.reads.is_some() {
            return Err(SpecError::conflict("workload.kv.reads", "mix"));
        }
        within("workload.kv.reads", self.reads.unwrap_or(0.0), 0.0..=1.0)?;
        let commands = self.commands.values().map(|command| command.share);
        let shares: Vec<f64> = self.mix().shares().into_iter().chain(commands).collect();
        shares.iter().try_for_each(|share| within("workload.kv.mix", *share, 0.0..=f64::MAX))?;
        if shares.iter().sum::<f64>() <= 0.0 {
            return Err(SpecError::new("engine.spec.no-operation", "workload.kv.mix", json!({})));
        }
        self.commands().map(|_| ())
    }

    fn check_verify(&self) -> Result<(), SpecError> {
        if !self.verify {
            return Ok(());
        }
        if self.ttl_ns.is_some() {
            return Err(SpecError::conflict("workload.kv.verify", "ttl"));
        }
        if !self.commands.is_empty() {
            return Err(SpecError::conflict("workload.kv.verify", "commands"));
        }
        let smallest = match self.value_size {
            Sizes::One(size) => size,
            Sizes::Range(Range { from, .. }) => from,
            Sizes::Bell(Bell { mean, .. }) => mean,
        };
        if smallest < HEAD {
            return Err(SpecError::value("workload.kv.value_size", smallest));
        }
        Ok(())
    }

    /// Check that each of `clients` clients has keys to write exclusively.
    pub fn check_clients(&self, clients: u32) -> Result<(), SpecError> {
        if !self.verify || self.keys >= clients.into() {
            return Ok(());
        }
        let arguments = json!({"clients": clients, "keys": self.keys});
        Err(SpecError::new("engine.spec.keys-per-client", "workload.kv.keys", arguments))
    }

    /// Mix with `reads` and defaults applied.
    pub fn mix(&self) -> Mix {
        match &self.mix {
            Some(mix) => mix.clone(),
            None if self.reads.is_none() && !self.commands.is_empty() => Mix::default(),
            None => {
                let reads = self.reads.unwrap_or(USUAL_READS);
                Mix { get: reads, set: 1.0 - reads, ..Mix::default() }
            }
        }
    }

    pub fn commands(&self) -> Result<Vec<Command>, SpecError> {
        let kind = |option: &CommandOption| match option.kind {
            CommandKind::Read => Kind::Read,
            CommandKind::Write => Kind::Write,
        };
        self.commands
            .iter()
            .map(|(name, option)| Command::read(name, kind(option), &option.command))
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_have_defaults() {
        let options = Options::read(&json!({})).unwrap();
        assert_eq!((options.keys, options.pipeline, options.batch, options.multi), (100_000, 1, 1, 10));
        assert_eq!(options.mix(), Mix { get: 0.8, set: 1.0 - 0.8, ..Mix::default() });
        assert_eq!(options.distribution(), Distribution::Uniform);
        assert_eq!(options.value_shape(), ValueShape { size: Size::Fixed(100), checksummed: false });
        assert_eq!(options.key_shape(), KeyShape { prefix: "key:".into(), digits: 12, hashed: false });
    }

    #[test]
    fn options_are_applied() {
        let options = Options::read(&json!({
            "mix": {"mget": 3, "scan": 1}, "distribution": "scrambled_zipfian", "theta": 0.8,
                "ttl_ns": 5_000_000,
            "value_size": {"mean": 100, "deviation": 20}, "scan_length": {"from": 1, "to": 9},
        }))
        .unwrap();
        assert_eq!(options.mix().shares(), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(options.distribution(), Distribution::ScrambledZipfian { theta: 0.8 });
        assert_eq!(options.value_shape().size, Size::Normal { mean: 100.0, deviation: 20.0 });
        assert_eq!(options.rows(), (1, 9));
        let ranged = Options::read(&json!({"value_size": {"from": 1, "to": 9}, "reads": 0.2})).unwrap();
        assert_eq!((ranged.value_shape().size, ranged.mix().set), (Size::Uniform { from: 1, to: 9 }, 0.8));
        let only =
            Options::read(&json!({"commands": {"ping": {"command": "PING", "kind": "read"}}})).unwrap();
        assert_eq!(only.mix(), Mix::default());
        assert_eq!(only.commands().unwrap()[0].kind, Kind::Read);
    }

    #[test]
    fn invalid_options_are_rejected_with_advice() {
        let cases = [
            (json!({"keys": 0}), r#"keys {"value":"0"}"#),
            (json!({"kees": 1}), "unknown field `kees`"),
            (json!({"mix": {"gett": 1}}), "unknown field `gett`"),
            (json!({"mix": {}}), "no-operation workload.kv.mix"),
            (json!({"mix": {"get": -1, "set": 2}}), "kv.mix {\"value\":\"-1.0\"}"),
            (json!({"mix": {"get": 1}, "reads": 0.5}), "conflict workload.kv.reads"),
            (json!({"reads": 1.5}), "value workload.kv.reads"),
            (json!({"key_size": 8}), "value workload.kv.key_size"),
            (json!({"key_size": 2_000}), r#"key_size {"value":"2000"}"#),
            (json!({"value_size": {"from": 9, "to": 1}}), r#"value_size {"value":"1"}"#),
            (json!({"value_size": 1u64 << 40}), r#"value_size {"value":"1099511627776"}"#),
            (json!({"value_size": {"mean": 0, "deviation": 0}}), r#"value_size.mean {"value":"0"}"#),
            (json!({"value_size": {"mean": 10, "deviation": 11}}), r#"value_size.deviation {"value":"11"}"#),
            (json!({"scan_length": 0}), r#"scan_length {"value":"0"}"#),
            (json!({"scan_length": {"from": 5, "to": 4}}), r#"scan_length {"value":"4"}"#),
            (json!({"multi": 0}), r#"multi {"value":"0"}"#),
            (json!({"pipeline": 0}), r#"pipeline {"value":"0"}"#),
            (json!({"ttl_ns": 5}), "value workload.kv.ttl_ns"),
            (json!({"ttl_ns": {"from": 5, "to": 5_000_000}}), "value workload.kv.ttl_ns"),
            (json!({"ttl_ns": {"from": 6_000_000, "to": 5_000_000}}), r#"ttl_ns {"value":"5000000"}"#),
            (json!({"theta": 0}), r#"theta {"value":"0.0"}"#),
            (json!({"theta": 1.0, "distribution": "latest"}), r#"theta {"value":"1.0"}"#),
            (json!({"hot_data": 1.1}), r#"hot_data {"value":"1.1"}"#),
            (json!({"deviation": 0}), r#"deviation {"value":"0.0"}"#),
            (json!({"percentile": 100}), r#"percentile {"value":"100.0"}"#),
            (json!({"fraction": 0}), r#"fraction {"value":"0.0"}"#),
            (
                json!({"verify": true, "ttl_ns": 5_000_000_000u64}),
                "conflict workload.kv.verify {\"other\":\"ttl\"}",
            ),
            (json!({"verify": true, "value_size": 15}), r#"value_size {"value":"15"}"#),
            (
                json!({"verify": true, "commands": {"a": {"command": "PING"}}}),
                "conflict workload.kv.verify {\"other\":\"commands\"}",
            ),
            (json!({"commands": {"a": {"command": "GET ${k}"}}}), "${k}"),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
        assert!(Options::read(&json!({"theta": 1.0, "distribution": "zipfian"})).is_ok());
        let few = Options::read(&json!({"keys": 3, "verify": true})).unwrap();
        assert!(few.check_clients(3).is_ok() && few.check_clients(4).is_err());
    }
}
