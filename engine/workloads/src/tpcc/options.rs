//! The `tpcc` section of a specification.

use serde::Deserialize;
use serde_json::{Value, json};

use super::DISTRICTS;
use loadcell_core::error::{SpecError, within};
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
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = serde_json::from_value(section.clone())
            .map_err(|error| SpecError::unreadable("workload.tpcc", &error))?;
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

    fn check(&self) -> Result<(), SpecError> {
        within("workload.tpcc.warehouses", self.warehouses, 1..=MOST_WAREHOUSES)?;
        within("workload.tpcc.load_workers", self.load_workers, 1..=MOST_WORKERS)?;
        let sum: u64 = self.weights().into_iter().map(u64::from).sum();
        if sum != 100 {
            return Err(SpecError::new("engine.spec.tpcc-weights", "workload.tpcc", json!({"sum": sum})));
        }
        if let Some(code) = self.retry_sqlstates.iter().find(|code| code.len() != 5) {
            return Err(SpecError::value("workload.tpcc.retry_sqlstates", code));
        }
        Ok(())
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
            (json!({"warehouses": 0}), r#"warehouses {"value":"0"}"#),
            (json!({"warehouses": 50_001}), r#"warehouses {"value":"50001"}"#),
            (json!({"load_workers": 0}), r#"load_workers {"value":"0"}"#),
            (json!({"payment_weight": 42}), r#"tpcc-weights workload.tpcc {"sum":99}"#),
            (json!({"payment_weight": u32::MAX, "delivery_weight": u32::MAX}), r#"{"sum":8589934"#),
            (json!({"retry_sqlstates": ["4001"]}), r#"{"value":"4001"}"#),
            (json!({"warehouse": 3}), "unknown field `warehouse`"),
        ];
        for (section, part) in cases {
            let problem = Options::read(&section).unwrap_err();
            assert!(problem.to_string().contains(part), "{section}: {problem}");
        }
    }

    #[test]
    fn warehouse_has_ten_terminals() {
        let options = Options::read(&json!({"warehouses": 2})).unwrap();
        assert!(options.check_terminals(20).is_ok());
        let problem = options.check_terminals(21).unwrap_err();
        assert!(
            problem.to_string().contains("\"terminals\":21") && problem.to_string().contains("\"most\":20"),
            "{problem}"
        );
    }
}
