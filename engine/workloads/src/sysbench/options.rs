//! The `sysbench` section of a specification: sysbench's own option names and defaults.

use serde::Deserialize;
use serde_json::Value;

use super::script::Script;
use loadcell_core::error::Problem;
use loadcell_core::random::Distribution;
use loadcell_protocols::Mode;

/// The largest `id` and `k` that an INTEGER column holds.
const INTEGER_MAX: u64 = i32::MAX as u64;
/// The servers' limit of parameters in one statement is 65535; far fewer make sense.
const MOST_POINTS: u32 = 10_000;

#[derive(Deserialize)]
#[serde(remote = "Distribution", rename_all = "lowercase")]
enum DistributionName {
    Uniform,
    Special,
}

/// All options; those that a script has no use for are ignored by it, as sysbench does.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub script: Script,
    pub tables: u32,
    pub table_size: u64,
    pub range_size: u64,
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    /// False leaves all four kinds of ranges out.
    pub range_selects: bool,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    /// No BEGIN and COMMIT: every statement commits itself.
    pub skip_trx: bool,
    /// Ids come from the server (SERIAL, AUTO_INCREMENT); false: from the client.
    pub auto_inc: bool,
    pub create_secondary: bool,
    #[serde(with = "DistributionName")]
    pub distribution: Distribution,
    /// `select_random_points`: values in the list.
    pub random_points: u32,
    /// `select_random_ranges`: ranges, and the width of each.
    pub number_of_ranges: u32,
    pub delta: u64,
    pub protocol: Mode,
    /// A transaction that fails with one of these is tried again.
    pub retry_sqlstates: Vec<String>,
    /// Connections that load the data.
    pub load_workers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            script: Script::ReadWrite,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_selects: true,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
            auto_inc: true,
            create_secondary: true,
            distribution: Distribution::Uniform,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            protocol: Mode::Prepared,
            // serialization_failure and deadlock_detected: what the SQL standard means to be tried again.
            retry_sqlstates: vec!["40001".into(), "40P01".into()],
            load_workers: 4,
        }
    }
}

impl Options {
    /// Reads and checks what stands under the key `sysbench`.
    pub fn read(section: &Value) -> Result<Self, Problem> {
        let options: Self = serde_json::from_value(section.clone()).map_err(|error| {
            problem(format!("the sysbench workload cannot be read: {error}"), "correct it")
        })?;
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Problem> {
        let within = |name: &str, value: u64, low: u64, high: u64| match value {
            _ if (low..=high).contains(&value) => Ok(()),
            _ => Err(problem(
                format!("sysbench {name} is {value}"),
                format!("choose one from {low} to {high}"),
            )),
        };
        within("tables", self.tables.into(), 1, 1_000_000)?;
        within("table_size", self.table_size, 1, INTEGER_MAX)?;
        // The end of a range, id + range_size - 1, must fit in the column's type too.
        within("range_size", self.range_size, 1, INTEGER_MAX - self.table_size + 1)?;
        within("delta", self.delta, 0, INTEGER_MAX - self.table_size)?;
        within("random_points", self.random_points.into(), 1, MOST_POINTS.into())?;
        within("number_of_ranges", self.number_of_ranges.into(), 1, MOST_POINTS.into())?;
        within("load_workers", self.load_workers.into(), 1, 1_000)?;
        if self.script.steps(self).is_empty() {
            return Err(problem(
                "these sysbench options leave no statement to run",
                "let some counts be above 0",
            ));
        }
        for code in &self.retry_sqlstates {
            if code.len() != 5 || !code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) {
                let finding = format!("`{code}` in sysbench retry_sqlstates is no SQLSTATE");
                return Err(problem(finding, "a SQLSTATE has 5 digits or capital letters, as 40001"));
            }
        }
        Ok(())
    }
}

fn problem(finding: impl Into<String>, advice: impl Into<String>) -> Problem {
    Problem::new("spec", finding, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_has_sysbenchs_default() {
        let options = Options::read(&json!({})).unwrap();
        assert_eq!((options.tables, options.table_size, options.range_size), (1, 10_000, 100));
        assert_eq!(options.distribution, Distribution::Uniform);
        assert_eq!(options.protocol, Mode::Prepared);
        assert_eq!(options.retry_sqlstates, ["40001", "40P01"]);
    }

    #[test]
    fn names_are_written_as_in_a_plan() {
        let section =
            json!({"script": "select_random_points", "distribution": "special", "protocol": "simple"});
        let options = Options::read(&section).unwrap();
        assert_eq!(options.script, Script::RandomPoints);
        assert_eq!(options.distribution, Distribution::Special);
        assert_eq!(options.protocol, Mode::Simple);
    }

    #[test]
    fn what_cannot_work_is_refused_with_advice() {
        let cases = [
            (json!({"script": "oltp_nothing"}), "unknown variant `oltp_nothing`"),
            (json!({"tabels": 1}), "unknown field `tabels`"),
            (json!({"tables": 0}), "tables is 0"),
            (json!({"table_size": 3_000_000_000u64}), "table_size is 3000000000"),
            (json!({"table_size": 2_147_483_647, "range_size": 100}), "range_size is 100"),
            (json!({"random_points": 0}), "random_points is 0"),
            (json!({"retry_sqlstates": ["4001"]}), "`4001`"),
            (
                json!({"script": "oltp_read_only", "point_selects": 0, "range_selects": false, "skip_trx": true}),
                "no statement",
            ),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert_eq!(problem.code, "spec");
            assert!(problem.finding.contains(part), "{section}: {}", problem.finding);
            assert!(!problem.advice.is_empty());
        }
    }
}
