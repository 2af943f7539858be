//! The `pgbench` section of a specification.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::program::Builder;
use super::{ScriptError, builtin, statement};
use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, SpecError, within};
use loadcell_core::spec;
use loadcell_protocols::Mode;

/// SQLSTATEs retried by pgbench: serialization_failure and deadlock_detected.
pub const RETRIED: [&str; 2] = ["40001", "40P01"];

/// Scale from which pgbench declares account numbers as BIGINT.
pub(super) const BIGINT_SCALE: u32 = 20_000;
/// Maximum scale. Account numbers are up to 100,000 times as large, in 64-bit arithmetic.
const MOST_SCALE: u32 = i32::MAX as u32;

/// A script: a built-in one, or one with text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptOption {
    /// Name of a built-in script, or the name of the text in errors and results.
    pub name: String,
    pub source: Option<String>,
    pub weight: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub scripts: Vec<ScriptOption>,
    pub scale: u32,
    /// `-D name=value`
    pub variables: BTreeMap<String, String>,
    pub protocol: Mode,
    /// Attempts per transaction, the first included; `None`: the default of the load.
    pub max_tries: Option<u32>,
    pub latency_limit_ns: Option<Nanos>,
    pub allow_shell: bool,
    /// Steps among pgbench's `dtgGvpf`.
    pub init_steps: String,
    pub fillfactor: u32,
    /// Connections that load the data.
    pub load_workers: u32,
}

impl Options {
    /// Parse and validate the `pgbench` section; scripts are compiled by [`Options::builder`].
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = spec::section("workload.pgbench", section)?;
        within("workload.pgbench.scale", options.scale, 1..=MOST_SCALE)?;
        Ok(options)
    }

    /// Compile the scripts. Reports all mistakes of all scripts at once.
    pub fn builder(&self) -> Result<Builder, LoadError> {
        let mut builder = Builder::new(match self.protocol {
            Mode::Simple => statement::Mode::Simple,
            Mode::Extended => statement::Mode::Extended,
            Mode::Prepared => statement::Mode::Prepared,
        });
        for (name, value) in &self.variables {
            builder.define(name, value).map_err(|finding| {
                SpecError::new("engine.spec.script", "workload.pgbench.variables", json!({"said": finding}))
            })?;
        }
        let mut mistakes: Vec<ScriptError> = Vec::new();
        for script in &self.scripts {
            let built_in;
            let source = match &script.source {
                Some(source) => source.as_str(),
                None => {
                    built_in = builtin::find(&script.name).map_err(|finding| {
                        SpecError::new(
                            "engine.spec.script",
                            "workload.pgbench.scripts",
                            json!({"said": finding}),
                        )
                    })?;
                    built_in.source
                }
            };
            if let Err(some) = builder.script(&script.name, source.as_bytes(), script.weight) {
                mistakes.extend(some);
            }
        }
        if mistakes.is_empty() {
            return Ok(builder);
        }
        let all: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
        Err(LoadError::with_text("script", all.join("\n"), "engine.script", json!({})))
    }
}

#[cfg(test)]
impl Options {
    /// The options of a section that states only what a test is about.
    pub fn of(section: &Value) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("pgbench", section))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_and_impossible_options_are_rejected() {
        let cases =
            [(json!({"scale": 0}), r#"scale {"value":"0"}"#), (json!({"sclae": 1}), "unknown field `sclae`")];
        for (section, part) in cases {
            let problem = Options::of(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
    }

    #[test]
    fn mistakes_of_all_scripts_are_reported() {
        let section = json!({"scripts": [
            {"name": "a.sql", "source": "\\set x 1 +\n"},
            {"name": "b.sql", "source": "select 1;\n\\if 1\n"},
            {"name": "c.sql", "source": "select '\u{0}'"},
        ]});
        let problem = Options::of(&section).unwrap().builder().unwrap_err();
        assert_eq!(problem.code, "script");
        for part in ["a.sql:1:", "b.sql:2:1: \\if without matching \\endif", "c.sql:1:9: a NUL byte"] {
            assert!(problem.message.contains(part), "{problem}");
        }
        let unknown = Options::of(&json!({"scripts": [{"name": "tpc"}, {"name": "x"}]})).unwrap();
        assert!(unknown.builder().unwrap_err().to_string().contains("no builtin script"));
    }
}
