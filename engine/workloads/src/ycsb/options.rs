//! The `ycsb` section of a specification: YCSB's properties with all defaults applied. Names are YCSB's,
//! except for `hashed`, `load` and `run`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::keyvalue::distribution::Distribution;
use crate::keyvalue::keys::KeyShape;
use loadcell_core::error::{SpecError, within};
use loadcell_protocols::Mode;

/// Phases of YCSB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No initial records; clients insert them, which is measured.
    Load,
    /// The records exist; clients run the mix.
    #[default]
    Run,
}

/// Relative frequencies of the operation kinds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proportions {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub readmodifywrite: f64,
}

impl Default for Proportions {
    fn default() -> Self {
        Self { read: 0.95, update: 0.05, insert: 0.0, scan: 0.0, readmodifywrite: 0.0 }
    }
}

/// Distribution of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Requests {
    #[default]
    Uniform,
    /// Scrambled, as YCSB has no other for keys.
    Zipfian,
    Latest,
    Hotspot,
    Exponential,
    Sequential,
}

/// Distribution of the lengths of fields and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lengths {
    /// Always the maximum.
    Constant,
    Uniform,
    /// The minimum is the most likely.
    Zipfian,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub phase: Phase,
    pub proportions: Proportions,
    pub requestdistribution: Requests,
    pub recordcount: u64,
    pub insertstart: u64,
    /// `None`: all from `insertstart` on.
    pub insertcount: Option<u64>,
    /// Expected number of inserts: `zipfian` covers them from the start, so that hot records stay hot.
    pub expected_inserts: u64,
    pub fieldcount: u32,
    pub fieldlength: u64,
    pub minfieldlength: u64,
    pub fieldlengthdistribution: Lengths,
    pub readallfields: bool,
    pub writeallfields: bool,
    pub minscanlength: u64,
    pub maxscanlength: u64,
    pub scanlengthdistribution: Lengths,
    pub hashed: bool,
    pub zeropadding: u32,
    pub hotspotdatafraction: f64,
    pub hotspotopnfraction: f64,
    pub exponential_percentile: f64,
    pub exponential_frac: f64,
    pub table: String,
    pub protocol: Mode,
    /// SQLSTATEs after which a transaction is retried.
    pub retry_sqlstates: Vec<String>,
    /// Connections that load the data.
    pub load_workers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            phase: Phase::Run,
            proportions: Proportions::default(),
            requestdistribution: Requests::Uniform,
            recordcount: 1_000,
            insertstart: 0,
            insertcount: None,
            expected_inserts: 0,
            fieldcount: 10,
            fieldlength: 100,
            minfieldlength: 1,
            fieldlengthdistribution: Lengths::Constant,
            readallfields: true,
            writeallfields: false,
            minscanlength: 1,
            maxscanlength: 1_000,
            scanlengthdistribution: Lengths::Uniform,
            hashed: true,
            zeropadding: 1,
            hotspotdatafraction: 0.2,
            hotspotopnfraction: 0.8,
            exponential_percentile: 95.0,
            exponential_frac: 0.857_142_857_1,
            table: "usertable".into(),
            protocol: Mode::Prepared,
            retry_sqlstates: vec!["40001".into(), "40P01".into()],
            load_workers: 4,
        }
    }
}

const MOST_RECORDS: u64 = 1 << 40;
/// Maximum columns of a PostgreSQL table besides its key.
const MOST_FIELDS: u64 = 1_000;
const LONGEST_FIELD: u64 = 64 << 20;
const LONGEST_SCAN: u64 = 1_000_000;
const MOST_PADDING: u64 = 200;
/// The constant of YCSB's `zipfian`.
pub const THETA: f64 = 0.99;

impl Options {
    /// Parse and validate the `ycsb` section.
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = serde_json::from_value(section.clone())
            .map_err(|error| SpecError::unreadable("workload.ycsb", &error))?;
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), SpecError> {
        within("workload.ycsb.recordcount", self.recordcount, 1..=MOST_RECORDS)?;
        within("workload.ycsb.insertstart", self.insertstart, 0..=self.recordcount - 1)?;
        within("workload.ycsb.insertcount", self.insertcount(), 1..=self.recordcount - self.insertstart)?;
        within("workload.ycsb.expected_inserts", self.expected_inserts, 0..=MOST_RECORDS)?;
        within("workload.ycsb.fieldcount", self.fieldcount, 1..=MOST_FIELDS as u32)?;
        within("workload.ycsb.fieldlength", self.fieldlength, 1..=LONGEST_FIELD)?;
        within("workload.ycsb.minfieldlength", self.minfieldlength, 1..=self.fieldlength)?;
        within("workload.ycsb.maxscanlength", self.maxscanlength, 1..=LONGEST_SCAN)?;
        within("workload.ycsb.minscanlength", self.minscanlength, 1..=self.maxscanlength)?;
        within("workload.ycsb.zeropadding", self.zeropadding, 0..=MOST_PADDING as u32)?;
        within("workload.ycsb.load_workers", self.load_workers, 1..=1_000)?;
        if self.scanlengthdistribution == Lengths::Constant {
            return Err(SpecError::value("workload.ycsb.scanlengthdistribution", "constant"));
        }
        within("workload.ycsb.hotspotdatafraction", self.hotspotdatafraction, 0.0..=1.0)?;
        within("workload.ycsb.hotspotopnfraction", self.hotspotopnfraction, 0.0..=1.0)?;
        within("workload.ycsb.exponential_percentile", self.exponential_percentile, 0.001..=99.999)?;
        within("workload.ycsb.exponential_frac", self.exponential_frac, 1e-9..=1e9)?;
        for (name, proportion) in self.proportions.shares() {
            within(&format!("workload.ycsb.{name}proportion"), proportion, 0.0..=1e9)?;
        }
        if self.phase == Phase::Run
            && self.proportions.shares().iter().all(|(_, proportion)| *proportion == 0.0)
        {
            return Err(SpecError::new("engine.spec.no-operation", "workload.ycsb", json!({})));
        }
        let mut name = self.table.bytes();
        let first = name.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !first || self.table.len() > 63 || !name.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(SpecError::value("workload.ycsb.table", &self.table));
        }
        if let Some(code) = self.retry_sqlstates.iter().find(|code| code.len() != 5) {
            return Err(SpecError::value("workload.ycsb.retry_sqlstates", code));
        }
        Ok(())
    }

    /// Number of records of the load phase.
    pub fn insertcount(&self) -> u64 {
        self.insertcount.unwrap_or(self.recordcount - self.insertstart)
    }

    pub fn key_shape(&self) -> KeyShape {
        KeyShape::ycsb(self.hashed, self.zeropadding as usize)
    }

    /// Distribution of keys; numbers start at `insertstart`.
    pub fn distribution(&self) -> Distribution {
        match self.requestdistribution {
            Requests::Uniform => Distribution::Uniform,
            Requests::Zipfian => Distribution::ScrambledZipfian { theta: THETA },
            Requests::Latest => Distribution::Latest { theta: THETA },
            Requests::Hotspot => {
                Distribution::Hotspot { data: self.hotspotdatafraction, operations: self.hotspotopnfraction }
            }
            Requests::Exponential => Distribution::Exponential {
                percentile: self.exponential_percentile,
                fraction: self.exponential_frac,
            },
            Requests::Sequential => Distribution::Sequential,
        }
    }

    /// Field names in lower case.
    pub fn fields(&self) -> Vec<String> {
        (0..self.fieldcount).map(|number| format!("field{number}")).collect()
    }
}

impl Proportions {
    /// Shares with YCSB's operation names.
    pub fn shares(&self) -> [(&'static str, f64); 5] {
        [
            ("READ", self.read),
            ("UPDATE", self.update),
            ("INSERT", self.insert),
            ("SCAN", self.scan),
            ("READ-MODIFY-WRITE", self.readmodifywrite),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_match_ycsb() {
        let options = Options::read(&json!({})).unwrap();
        assert_eq!((options.fieldcount, options.fieldlength, options.maxscanlength), (10, 100, 1_000));
        assert_eq!((options.readallfields, options.writeallfields, options.hashed), (true, false, true));
        assert_eq!((options.proportions.read, options.proportions.update), (0.95, 0.05));
        assert_eq!((options.distribution(), options.phase), (Distribution::Uniform, Phase::Run));
        assert_eq!((options.insertcount(), options.table.as_str()), (1_000, "usertable"));
        assert_eq!(options.fields()[9], "field9");
    }

    #[test]
    fn invalid_options_are_rejected_with_advice() {
        let cases = [
            (json!({"recordcount": 0}), r#"recordcount {"value":"0"}"#),
            (json!({"recordcount": 10, "insertstart": 10}), r#"insertstart {"value":"10"}"#),
            (json!({"recordcount": 10, "insertstart": 5, "insertcount": 6}), r#"insertcount {"value":"6"}"#),
            (json!({"fieldcount": 0}), r#"fieldcount {"value":"0"}"#),
            (json!({"fieldlength": 0}), r#"fieldlength {"value":"0"}"#),
            (json!({"fieldlength": 9, "minfieldlength": 10}), r#"minfieldlength {"value":"10"}"#),
            (json!({"maxscanlength": 0}), r#"maxscanlength {"value":"0"}"#),
            (json!({"scanlengthdistribution": "constant"}), r#"scanlengthdistribution {"value":"constant"}"#),
            (json!({"requestdistribution": "zipf"}), "unknown variant `zipf`"),
            (json!({"proportions": {"read": 0, "update": 0}}), "no-operation"),
            (json!({"proportions": {"read": -1}}), r#"proportion {"value":"-1.0"}"#),
            (json!({"proportions": {"reed": 1}}), "unknown field `reed`"),
            (json!({"hotspotdatafraction": 2}), r#"hotspotdatafraction {"value":"2.0"}"#),
            (json!({"exponential_percentile": 100}), r#"exponential_percentile {"value":"100.0"}"#),
            (json!({"table": "user table"}), r#"table {"value":"user table"}"#),
            (json!({"table": ""}), r#"table {"value":""}"#),
            (json!({"retry_sqlstates": ["4"]}), r#"{"value":"4"}"#),
            (json!({"recrodcount": 1}), "unknown field `recrodcount`"),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
    }
}
