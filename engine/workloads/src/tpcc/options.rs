//! The `tpcc` section of a specification.

use serde::Deserialize;
use serde_json::{Value, json};

use super::DISTRICTS;
use loadcell_core::error::{SpecError, within};
use loadcell_core::spec;
use loadcell_protocols::Mode;

/// Maximum of warehouses, limited by `hist_id`, an INTEGER: 30,000 rows of history per warehouse, and
/// growing.
const MOST_WAREHOUSES: u32 = 50_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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

impl Options {
    /// Parse and validate the `tpcc` section.
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = spec::section("workload.tpcc", section)?;
        within("workload.tpcc.warehouses", options.warehouses, 1..=MOST_WAREHOUSES)?;
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

    /// Check that `terminals` terminals have a district each.
    pub fn check_terminals(&self, terminals: u32) -> Result<(), SpecError> {
        let most = u64::from(self.warehouses) * DISTRICTS;
        if u64::from(terminals) <= most {
            return Ok(());
        }
        let arguments = json!({"terminals": terminals, "warehouses": self.warehouses, "most": most});
        Err(SpecError::new("engine.spec.tpcc-terminals", "load.clients", arguments))
    }
}

#[cfg(test)]
impl Options {
    /// The options of a section that states only what a test is about.
    pub fn of(section: &Value) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("tpcc", section))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_and_impossible_options_are_rejected() {
        let cases = [
            (json!({"warehouses": 0}), r#"warehouses {"value":"0"}"#),
            (json!({"warehouses": 50_001}), r#"warehouses {"value":"50001"}"#),
            (json!({"warehouse": 3}), "unknown field `warehouse`"),
        ];
        for (section, part) in cases {
            let problem = Options::of(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
    }

    #[test]
    fn warehouse_has_ten_terminals() {
        let options = Options::of(&json!({"warehouses": 2})).unwrap();
        assert!(options.check_terminals(20).is_ok());
        let problem = options.check_terminals(21).unwrap_err();
        assert!(
            problem.to_string().contains("\"terminals\":21") && problem.to_string().contains("\"most\":20"),
            "{problem}"
        );
    }
}
