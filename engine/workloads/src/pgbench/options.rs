//! The `pgbench` section of a specification.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::program::Builder;
use super::{ScriptError, builtin, statement};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Problem;
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
    #[serde(default)]
    pub source: Option<String>,
    #[serde(default = "one_weight")]
    pub weight: u32,
}

fn one_weight() -> u32 {
    1
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

impl Default for Options {
    fn default() -> Self {
        Self {
            scripts: vec![ScriptOption { name: "tpcb-like".into(), source: None, weight: 1 }],
            scale: 1,
            variables: BTreeMap::new(),
            protocol: Mode::Simple,
            max_tries: None,
            latency_limit_ns: None,
            allow_shell: false,
            init_steps: "dtgvp".into(),
            fillfactor: 100,
            load_workers: 4,
        }
    }
}

impl Options {
    /// Parse and validate the `pgbench` section; scripts are compiled by [`Options::builder`].
    pub fn read(section: &Value) -> Result<Self, Problem> {
        let options: Self = serde_json::from_value(section.clone()).map_err(|error| {
            problem(format!("the pgbench workload cannot be read: {error}"), "correct it")
        })?;
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Problem> {
        let within = |name: &str, value: u32, low: u32, high: u32| match value {
            _ if (low..=high).contains(&value) => Ok(()),
            _ => {
                Err(problem(format!("pgbench {name} is {value}"), format!("choose one from {low} to {high}")))
            }
        };
        within("scale", self.scale, 1, MOST_SCALE)?;
        within("fillfactor", self.fillfactor, 10, 100)?;
        within("load_workers", self.load_workers, 1, 1_000)?;
        within("max_tries", self.max_tries.unwrap_or(1), 1, u32::MAX)?;
        if let Some(unknown) = self.init_steps.chars().find(|step| !"dtgGvpf ".contains(*step)) {
            let finding = format!("pgbench init_steps has the step `{unknown}`");
            return Err(problem(finding, "there are d, t, g or G, v, p and f"));
        }
        let has = |step| self.init_steps.contains(step);
        if has('g') && has('G') {
            return Err(problem(
                "pgbench init_steps makes the data twice",
                "keep g (by the client) or G (by the server)",
            ));
        }
        if "dgGvpf".chars().any(has) && !has('t') {
            return Err(problem("pgbench init_steps makes no tables", "add t, or leave all steps out"));
        }
        if has('f') && !has('p') {
            return Err(problem("pgbench init_steps makes foreign keys without primary keys", "add p"));
        }
        Ok(())
    }

    /// Compile the scripts. Reports all mistakes of all scripts at once.
    pub fn builder(&self) -> Result<Builder, Problem> {
        let mut builder = Builder::new(match self.protocol {
            Mode::Simple => statement::Mode::Simple,
            Mode::Extended => statement::Mode::Extended,
            Mode::Prepared => statement::Mode::Prepared,
        });
        for (name, value) in &self.variables {
            builder.define(name, value).map_err(|finding| problem(finding, "correct `variables`"))?;
        }
        let mut mistakes: Vec<ScriptError> = Vec::new();
        for script in &self.scripts {
            let built_in;
            let source = match &script.source {
                Some(source) => source.as_str(),
                None => {
                    built_in = builtin::find(&script.name).map_err(|finding| problem(finding, ""))?;
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
        Err(Problem::new("script", all.join("\n"), ""))
    }
}

pub(super) fn problem(finding: impl Into<String>, advice: impl Into<String>) -> Problem {
    Problem::new("spec", finding, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_match_pgbench() {
        let options = Options::read(&json!({})).unwrap();
        assert_eq!((options.scripts[0].name.as_str(), options.scale), ("tpcb-like", 1));
        assert_eq!((options.protocol, options.max_tries), (Mode::Simple, None));
        assert_eq!((options.init_steps.as_str(), options.fillfactor), ("dtgvp", 100));
    }

    #[test]
    fn invalid_options_are_rejected_with_advice() {
        let cases = [
            (json!({"scale": 0}), "scale is 0"),
            (json!({"sclae": 1}), "unknown field `sclae`"),
            (json!({"fillfactor": 9}), "fillfactor is 9"),
            (json!({"max_tries": 0}), "max_tries is 0"),
            (json!({"init_steps": "dtx"}), "the step `x`"),
            (json!({"init_steps": "dtgG"}), "twice"),
            (json!({"init_steps": "gv"}), "no tables"),
            (json!({"init_steps": "dtgf"}), "without primary keys"),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert_eq!(problem.code, "spec");
            assert!(problem.finding.contains(part), "{section}: {}", problem.finding);
            assert!(!problem.advice.is_empty());
        }
    }

    #[test]
    fn mistakes_of_all_scripts_are_reported() {
        let section = json!({"scripts": [
            {"name": "a.sql", "source": "\\set x 1 +\n"},
            {"name": "b.sql", "source": "select 1;\n\\if 1\n"},
            {"name": "c.sql", "source": "select '\u{0}'"},
        ]});
        let problem = Options::read(&section).unwrap().builder().unwrap_err();
        assert_eq!(problem.code, "script");
        for part in ["a.sql:1:", "b.sql:2:1: \\if without matching \\endif", "c.sql:1:9: a NUL byte"] {
            assert!(problem.finding.contains(part), "{}", problem.finding);
        }
        let unknown = Options::read(&json!({"scripts": [{"name": "tpc"}, {"name": "x"}]})).unwrap();
        assert!(unknown.builder().unwrap_err().finding.contains("no builtin script \"x\""));
    }
}
