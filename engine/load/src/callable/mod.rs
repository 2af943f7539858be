//! Loads whose transactions are calls of foreign code: each client is a thread that calls its callable
//! repeatedly.
//!
//! Pacing, timing and recording are the engine's, as for any other load. The spans that a callable reports
//! while it runs (in a [`SpanLog`]) are recorded after the call, each in the interval in which it happened.

mod client;
mod span_log;

use serde::Deserialize;
use serde_json::Value;

pub use client::CallableClients;
pub use span_log::SpanLog;

use crate::blocking::Fault;
use loadcell_core::error::SpecError;
use loadcell_core::record::{Kind, Operation};
use loadcell_core::spec;

/// Creates the callables of a load.
pub trait CallableFactory: Sync {
    type Callable: Callable;

    /// Creates the callable of client `number`, which logs its spans in `log`. Called on the client's own
    /// thread before the load begins.
    fn callable(&self, number: u32, log: SpanLog, operations: &[Operation]) -> Result<Self::Callable, Fault>;
}

/// Foreign code that one client calls.
pub trait Callable {
    /// Executes one transaction.
    fn call(&mut self) -> Result<(), Fault>;
}

/// Kind of a span, by its effect on the target.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SpanKind {
    Read,
    Write,
    Other,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanOptions {
    name: String,
    kind: SpanKind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    operations: Vec<SpanOptions>,
}

/// More operations than a report can show.
const MAX_OPERATIONS: usize = 1000;

/// Reads the operations of a `calls` section, and puts the transaction first.
pub fn operations(section: &Value) -> Result<Vec<Operation>, SpecError> {
    let options: Options = spec::section("workload.calls", section)?;
    if options.operations.len() > MAX_OPERATIONS {
        return Err(SpecError::value("workload.calls.operations", options.operations.len()));
    }
    let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
    for SpanOptions { name, kind } in options.operations {
        if name.is_empty() || operations.iter().any(|operation| operation.name == name) {
            return Err(SpecError::value("workload.calls.operations", name));
        }
        let kind = match kind {
            SpanKind::Read => Kind::Read,
            SpanKind::Write => Kind::Write,
            SpanKind::Other => Kind::Other,
        };
        operations.push(Operation { name: name.leak(), kind });
    }
    Ok(operations)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spans_come_after_the_transaction() {
        let operations = operations(&json!({"operations": [{"name": "page", "kind": "read"}]})).unwrap();
        assert_eq!(operations[0], Operation { name: "transaction", kind: Kind::Transaction });
        assert_eq!(operations[1], Operation { name: "page", kind: Kind::Read });
    }

    #[test]
    fn duplicate_and_unknown_operations_are_rejected() {
        let finding = |section: Value| operations(&section).unwrap_err().to_string();
        let span = json!({"name": "page", "kind": "read"});
        assert!(finding(json!({"operations": [span, span]})).contains("page"));
        assert!(
            finding(json!({"operations": [{"name": "transaction", "kind": "read"}]}))
                .contains(r#""value":"transaction""#)
        );
        assert!(finding(json!({"operations": [{"name": "x", "kind": "type"}]})).contains("unknown variant"));
        assert!(
            finding(json!({"operations": vec![span; MAX_OPERATIONS + 1]}))
                .contains(&format!("{}", MAX_OPERATIONS + 1))
        );
        assert!(finding(json!({})).contains("operations"));
    }
}
