//! The `tpcc` section of a specification.

use serde::Deserialize;
use serde_json::Value;

use super::DISTRICTS;
use loadcell_core::error::Problem;
use loadcell_protocols::Mode;

/// Maximum of warehouses, limited by `hist_id`, an INTEGER: 30,000 rows of history per warehouse, and
/// growing.
const MOST_WAREHOUSES: u32 = 50_000;
const MOST_WORKERS: u32 = 1_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub warehouses: u32,
    /// Percentages of the transaction types.
    pub new_order_weight: u32,
    pub payment_weight: u32,
    pub order_status_weight: u32,
    pub delivery_weight: u32,
    pub stock_level_weight: u32,
    /// Each terminal stays with its warehouse and district; false: it draws them for each transaction.
    pub terminal_warehouse_fixed: bool,
    /// Limit of transactions per minute for all terminals in total; 0: none.
    pub limit_txns_per_min: u64,
    /// Simulate keying and think times (clause 5.2.5.7).
    pub keying_time: bool,
    pub think_time: bool,
    pub protocol: Mode,
    /// SQLSTATEs after which a transaction is retried.
    pub retry_sqlstates: Vec<String>,
    /// Connections that load the data.
    pub load_workers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            warehouses: 1,
            new_order_weight: 45,
            payment_weight: 43,
            order_status_weight: 4,
            delivery_weight: 4,
            stock_level_weight: 4,
            terminal_warehouse_fixed: true,
            limit_txns_per_min: 0,
            keying_time: false,
            think_time: false,
            protocol: Mode::Prepared,
            retry_sqlstates: vec!["40001".into(), "40P01".into()],
            load_workers: 4,
        }
    }
}

impl Options {
    /// Parse and validate the `tpcc` section.
    pub fn read(section: &Value) -> Result<Self, Problem> {
        let options: Self = serde_json::from_value(section.clone())
            .map_err(|error| problem(format!("the tpcc workload cannot be read: {error}"), "correct it"))?;
        options.check()?;
        Ok(options)
    }

    /// Weights in the order of clauses 2.4 to 2.8.
    pub fn weights(&self) -> [u32; 5] {
        [
            self.new_order_weight,
            self.payment_weight,
            self.order_status_weight,
            self.delivery_weight,
            self.stock_level_weight,
        ]
    }

    fn check(&self) -> Result<(), Problem> {
        let within = |name: &str, value: u32, high: u32| match value {
            _ if (1..=high).contains(&value) => Ok(()),
            _ => Err(problem(format!("tpcc {name} is {value}"), format!("choose one from 1 to {high}"))),
        };
        within("warehouses", self.warehouses, MOST_WAREHOUSES)?;
        within("load_workers", self.load_workers, MOST_WORKERS)?;
        let sum: u64 = self.weights().into_iter().map(u64::from).sum();
        if sum != 100 {
            let finding = format!("the weights of the tpcc transactions sum to {sum}");
            return Err(problem(finding, "let them sum to 100, such as 45, 43, 4, 4 and 4"));
        }
        if let Some(code) = self.retry_sqlstates.iter().find(|code| code.len() != 5) {
            return Err(problem(
                format!("`{code}` is no SQLSTATE"),
                "use codes of five characters, such as 40001",
            ));
        }
        Ok(())
    }

    /// Check that `terminals` terminals have a district each.
    pub fn check_terminals(&self, terminals: u32) -> Result<(), Problem> {
        let most = u64::from(self.warehouses) * DISTRICTS;
        if u64::from(terminals) <= most {
            return Ok(());
        }
        let finding =
            format!("{terminals} terminals are more than {} warehouses have districts", self.warehouses);
        Err(problem(finding, format!("use up to {most} clients, or more warehouses")))
    }
}

fn problem(finding: String, advice: impl Into<String>) -> Problem {
    Problem::new("spec", finding, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_match_the_specification() {
        let options = Options::read(&json!({})).unwrap();
        assert_eq!(options.weights(), [45, 43, 4, 4, 4]);
        assert_eq!((options.warehouses, options.limit_txns_per_min), (1, 0));
        assert!(options.terminal_warehouse_fixed && !options.keying_time && !options.think_time);
        assert_eq!(options.retry_sqlstates, ["40001", "40P01"]);
    }

    #[test]
    fn invalid_options_are_rejected_with_advice() {
        let cases = [
            (json!({"warehouses": 0}), "warehouses is 0"),
            (json!({"warehouses": 50_001}), "warehouses is 50001"),
            (json!({"load_workers": 0}), "load_workers is 0"),
            (json!({"payment_weight": 42}), "sum to 99"),
            (json!({"payment_weight": u32::MAX, "delivery_weight": u32::MAX}), "sum to 8589934"),
            (json!({"retry_sqlstates": ["4001"]}), "`4001`"),
            (json!({"warehouse": 3}), "unknown field `warehouse`"),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert_eq!(problem.code, "spec");
            assert!(problem.finding.contains(part), "{section}: {}", problem.finding);
            assert!(!problem.advice.is_empty());
        }
    }

    #[test]
    fn warehouse_has_ten_terminals() {
        let options = Options::read(&json!({"warehouses": 2})).unwrap();
        assert!(options.check_terminals(20).is_ok());
        let problem = options.check_terminals(21).unwrap_err();
        assert!(problem.finding.contains("21 terminals") && problem.advice.contains("up to 20"), "{problem}");
    }
}
