//! Loads that somebody else's code makes: each client is a thread that calls it, over and over.
//!
//! When something is due, how long it took and what is kept of it is decided here, as for any other load. What the code
//! tells of itself while it is called (its parts, in a [`Log`]) is put into the record afterwards, each of it in the interval
//! in which it happened.

mod client;
mod span_log;

use serde::Deserialize;
use serde_json::Value;

pub use client::Calls;
pub use span_log::Log;

use crate::blocking::Fault;
use loadcell_core::error::Failure;
use loadcell_core::error::Problem;
use loadcell_core::record::{Kind, Operation};

/// What the clients of a load call.
pub trait Callees: Sync {
    type Callee: Callee;

    /// That of client number `client`, which tells `log` of its parts. It is called on the client's own thread, before
    /// anything is measured.
    fn callee(&self, client: u32, log: Log, operations: &[Operation]) -> Result<Self::Callee, Fault>;
}

/// What one client calls.
pub trait Callee {
    /// Once more: one transaction.
    fn call(&mut self) -> Result<(), Failed>;
}

/// A call that did not do what it was to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub why: Failure,
    /// Nothing more can be had of it.
    pub fatal: bool,
}

/// What a part is, by what it does to the target.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Does {
    Read,
    Write,
    Other,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    kind: Does,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    operations: Vec<Part>,
}

/// More parts than anybody tells apart.
const MOST_PARTS: usize = 1000;

/// The operations that a specification names, the transaction first.
pub fn operations(section: &Value) -> Result<Vec<Operation>, Problem> {
    let wrong = |finding: String| Problem::new("spec", finding, "see `loadcell/_engine.pyi`");
    let options =
        Options::deserialize(section).map_err(|error| wrong(format!("`calls` cannot be read: {error}")))?;
    if options.operations.len() > MOST_PARTS {
        return Err(wrong(format!("there are more than {MOST_PARTS} operations")));
    }
    let mut found = vec![Operation { name: "transaction", kind: Kind::Transaction }];
    for part in options.operations {
        if part.name.is_empty() || found.iter().any(|known| known.name == part.name) {
            return Err(wrong(format!("`{}` cannot be the name of one more operation", part.name)));
        }
        let kind = match part.kind {
            Does::Read => Kind::Read,
            Does::Write => Kind::Write,
            Does::Other => Kind::Other,
        };
        found.push(Operation { name: part.name.leak(), kind });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_come_after_the_transaction() {
        let found = operations(&json!({"operations": [{"name": "page", "kind": "read"}]})).unwrap();
        assert_eq!(found[0], Operation { name: "transaction", kind: Kind::Transaction });
        assert_eq!(found[1], Operation { name: "page", kind: Kind::Read });
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let finding = |section: Value| operations(&section).unwrap_err().finding;
        let part = json!({"name": "page", "kind": "read"});
        assert!(finding(json!({"operations": [part, part]})).contains("`page`"));
        assert!(
            finding(json!({"operations": [{"name": "transaction", "kind": "read"}]}))
                .contains("`transaction`")
        );
        assert!(finding(json!({"operations": [{"name": "x", "kind": "type"}]})).contains("unknown variant"));
        assert!(finding(json!({"operations": vec![part; MOST_PARTS + 1]})).contains("more than"));
        assert!(finding(json!({})).contains("operations"));
    }
}
