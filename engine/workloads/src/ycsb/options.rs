//! The `ycsb` section of a specification: YCSB's properties with all defaults applied. Names are YCSB's,
//! except for `hashed`, `load` and `run`.

use serde::Deserialize;
use serde_json::Value;

use crate::keyvalue::distribution::Distribution;
use crate::keyvalue::keys::KeyShape;
use loadcell_core::error::{SpecError, within};
use loadcell_core::spec;
use loadcell_protocols::Mode;

/// Phases of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No initial records; clients insert them, which is measured.
    Load,
    /// The records exist; clients run the mix.
    Run,
}

/// Relative frequencies of the operation kinds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proportions {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub readmodifywrite: f64,
}

/// Distribution of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Requests {
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
#[serde(deny_unknown_fields)]
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

/// The constant of YCSB's `zipfian`.
pub const THETA: f64 = 0.99;

impl Options {
    /// Parse and validate the `ycsb` section.
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = spec::section("workload.ycsb", section)?;
        within("workload.ycsb.recordcount", options.recordcount, 1..=u64::MAX)?;
        Ok(options)
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
impl Options {
    /// The options of a section that states only what a test is about.
    pub fn of(section: &Value) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("ycsb", section))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_and_impossible_options_are_rejected() {
        let cases = [
            (json!({"recordcount": 0}), r#"recordcount {"value":"0"}"#),
            (json!({"requestdistribution": "zipf"}), "unknown variant `zipf`"),
            (json!({"proportions": {"reed": 1}}), "unknown field `reed`"),
            (json!({"recrodcount": 1}), "unknown field `recrodcount`"),
        ];
        for (section, part) in cases {
            let problem = Options::of(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
    }
}
