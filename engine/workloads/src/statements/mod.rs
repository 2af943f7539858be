//! Statements of the plan: weighted transactions, with parameters that are drawn for each transaction.
//!
//! Unlike scripts of pgbench, they run on every SQL database, and have no control flow. A request is a copy
//! of bytes encoded in advance, with the values between them.

mod options;
mod parameter;

pub use options::Options;

use std::sync::Arc;

use crate::pgbench::random::{Random, Seeds};
use crate::sql::{Next, SentRequest, Transactions, Workload};
use loadcell_core::error::SpecError;
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::target::Dialect;
use loadcell_protocols::Statement;

use options::PartOption;
use parameter::Parameter;

/// All transactions, shared by all clients.
pub struct Statements {
    operations: Vec<Operation>,
    streams: Vec<Random>,
    plan: Arc<Plan>,
}

struct Plan {
    transactions: Vec<Transaction>,
    weights: u64,
    parameters: Vec<Parameter>,
    parse: Vec<u8>,
}

struct Transaction {
    weight: u64,
    /// Operation of its type, if there are several transactions.
    of_type: Option<OpId>,
    /// Parameters that it uses, each once.
    drawn: Box<[usize]>,
    statements: Box<[Request]>,
}

struct Request {
    statement: Statement,
    sent: SentRequest,
    /// Parameters in the order of the text.
    parameters: Box<[usize]>,
}

impl Statements {
    /// State for `clients` clients, whose random numbers derive from `seed`.
    pub fn new(dialect: Dialect, options: &Options, seed: u64, clients: u32) -> Result<Self, SpecError> {
        let parameters = options
            .parameters
            .iter()
            .map(|parameter| Parameter::new(dialect, parameter))
            .collect::<Result<Vec<_>, _>>()?;
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        // Names of operations live as long as the process, which runs one load.
        let mut operation = |name: &str, kind| {
            operations.push(Operation { name: Box::leak(name.into()), kind });
            OpId(operations.len() as u16 - 1)
        };
        let several = options.transactions.len() > 1;
        let (mut parse, mut count) = (Vec::new(), 0);
        let mut transactions = Vec::with_capacity(options.transactions.len());
        for transaction in &options.transactions {
            let of_type = several.then(|| operation(&transaction.name, Kind::Type));
            let mut drawn = Vec::new();
            let mut statements = Vec::with_capacity(transaction.statements.len());
            for option in &transaction.statements {
                let used = option.parts.iter().filter_map(|part| match part {
                    PartOption::Parameter(index) => Some(*index),
                    PartOption::Sql(_) => None,
                });
                let used: Box<[usize]> = used.collect();
                if let Some(unknown) = used.iter().find(|&&index| index >= parameters.len()) {
                    return Err(SpecError::value("workload.sql.parameters", unknown));
                }
                used.iter().for_each(|&index| {
                    if !drawn.contains(&index) {
                        drawn.push(index);
                    }
                });
                let parts: Vec<_> = option.parts.iter().map(PartOption::part).collect();
                let statement = Statement::new(dialect, options.protocol, count, &parts);
                count += 1;
                parse.extend_from_slice(statement.parse());
                let sent = SentRequest::new(operation(&option.name, option.kind), option.kind);
                statements.push(Request { statement, sent, parameters: used });
            }
            transactions.push(Transaction {
                weight: transaction.weight.into(),
                of_type,
                drawn: drawn.into(),
                statements: statements.into(),
            });
        }
        let weights = transactions.iter().map(|transaction| transaction.weight).sum();
        if weights == 0 {
            return Err(SpecError::value("workload.sql.statements", weights));
        }
        let plan = Arc::new(Plan { transactions, weights, parameters, parse });
        Ok(Self { operations, streams: Seeds::new(seed, clients, 0).clients, plan })
    }
}

impl Plan {
    /// Draw a transaction by weight. A single one needs no draw.
    #[inline]
    fn choose(&self, random: &mut Random) -> usize {
        if self.transactions.len() == 1 {
            return 0;
        }
        let mut drawn = random.up_to(self.weights - 1);
        for (number, transaction) in self.transactions.iter().enumerate() {
            match drawn.checked_sub(transaction.weight) {
                Some(difference) => drawn = difference,
                None => return number,
            }
        }
        unreachable!("what is drawn is below the sum of the weights")
    }
}

impl Workload for Statements {
    type Client = Client;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, client: u32) -> Client {
        Client {
            plan: self.plan.clone(),
            random: self.streams[client as usize],
            transaction: 0,
            done: 0,
            drawn: vec![0; self.plan.parameters.len()].into(),
        }
    }
}

/// Transactions of one client.
pub struct Client {
    plan: Arc<Plan>,
    random: Random,
    transaction: usize,
    /// Number of its statements that were sent.
    done: usize,
    /// The number drawn for each parameter, for the whole transaction and its retries.
    drawn: Box<[i64]>,
}

impl Transactions for Client {
    fn parse(&self) -> &[u8] {
        &self.plan.parse
    }

    #[inline]
    fn begin(&mut self) -> Option<OpId> {
        let Self { plan, random, drawn, .. } = self;
        self.transaction = plan.choose(random);
        self.done = 0;
        let transaction = &plan.transactions[self.transaction];
        for &index in &*transaction.drawn {
            drawn[index] = plan.parameters[index].draw(random);
        }
        transaction.of_type
    }

    fn again(&mut self) {
        self.done = 0;
    }

    #[inline]
    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        let plan = &*self.plan;
        let Some(request) = plan.transactions[self.transaction].statements.get(self.done) else {
            return Next::Done(None);
        };
        self.done += 1;
        let mut writing = request.statement.request(out);
        for &index in &*request.parameters {
            writing = plan.parameters[index].write(self.drawn[index], writing);
        }
        writing.end();
        Next::Ask(request.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn statements(dialect: Dialect, section: &Value) -> Result<Statements, SpecError> {
        Statements::new(dialect, &Options::of(section)?, 42, 2)
    }

    /// Texts of the next transaction of a client in simple mode.
    fn transaction(client: &mut Client) -> Vec<String> {
        let (mut texts, mut out) = (Vec::new(), Vec::new());
        while let Next::Ask(_) = client.next(&mut out) {
            texts.push(String::from_utf8(out[5..].to_vec()).unwrap().trim_end_matches('\0').into());
            out.clear();
        }
        texts
    }

    fn section() -> Value {
        json!({
            "protocol": "simple",
            "parameters": [
                {"range": [1, 3]},
                {"values": "[\"new\", \"it's\", null, 2.50, 7, true]"},
            ],
            "transactions": [
                {"name": "read", "weight": 3, "statements": [
                    {"name": "read.1", "kind": "read",
                     "parts": [{"sql": "SELECT "}, {"parameter": 0}, {"sql": ", "}, {"parameter": 1}]}]},
                {"name": "write", "weight": 1, "statements": [
                    {"name": "write.1", "kind": "other", "parts": [{"sql": "BEGIN"}]},
                    {"name": "write.2", "kind": "write",
                     "parts": [{"sql": "UPDATE t SET a="}, {"parameter": 0}, {"sql": "-"}, {"parameter": 0}]},
                    {"name": "write.3", "kind": "other", "parts": [{"sql": "COMMIT"}]}]},
            ],
        })
    }

    #[test]
    fn transactions_are_chosen_by_weight_and_their_parameters_drawn_once() {
        let workload = statements(Dialect::Postgres, &section()).unwrap();
        let names: Vec<_> = workload.operations().iter().map(|operation| operation.name).collect();
        let expected = ["transaction", "read", "read.1", "write", "write.1", "write.2", "write.3"];
        assert_eq!(names, expected);
        let mut client = workload.client(0);
        let (mut reads, mut values) = (0, std::collections::BTreeSet::new());
        for _ in 0..4000 {
            let of_type = client.begin().unwrap();
            let texts = transaction(&mut client);
            client.again();
            assert_eq!(texts, transaction(&mut client), "a retry has the same values");
            if names[of_type.index()] == "read" {
                reads += 1;
                values.insert(texts[0].clone());
            } else {
                assert_eq!([&*texts[0], &*texts[2]], ["BEGIN", "COMMIT"]);
                let (first, second) = texts[1].rsplit_once('=').unwrap().1.split_once('-').unwrap();
                assert_eq!(first, second, "one value in a transaction");
            }
        }
        assert!((2850..3150).contains(&reads), "{reads} of 4000 at a weight of 3 to 1");
        assert_eq!(values.len(), 3 * 6, "{values:?}");
        for part in ["'new'", "'it''s'", "NULL", "2.5", "7", "true"] {
            assert!(values.contains(&format!("SELECT 2, {part}")), "{part}: {values:?}");
        }
    }

    #[test]
    fn clients_draw_their_own_numbers_and_repeat_them_with_a_seed() {
        let drawn = |client: u32| {
            let workload = statements(Dialect::Mysql, &section()).unwrap();
            let mut client = workload.client(client);
            (0..50)
                .flat_map(|_| {
                    client.begin();
                    transaction(&mut client)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(drawn(0), drawn(0));
        assert_ne!(drawn(0), drawn(1));
    }

    #[test]
    fn prepared_statements_are_parsed_once() {
        let mut prepared = section();
        prepared["protocol"] = json!("prepared");
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let workload = statements(dialect, &prepared).unwrap();
            let mut client = workload.client(0);
            let parse = String::from_utf8_lossy(client.parse()).into_owned();
            assert_eq!(parse.matches("UPDATE t SET a=").count(), 1, "{parse:?}");
            client.begin();
            let mut out = Vec::new();
            assert!(matches!(client.next(&mut out), Next::Ask(_)));
            assert!(!String::from_utf8_lossy(&out).contains("SELECT"));
        }
    }

    #[test]
    fn impossible_sections_are_rejected() {
        for (pointer, value, part) in [
            ("/transactions/0/statements/0/parts/1", json!({"parameter": 9}), "workload.sql.parameters"),
            ("/parameters/0/range", json!([3, 1]), "workload.sql.parameters"),
            ("/parameters/1/values", json!("[]"), "workload.sql.parameters"),
            ("/parameters/1/values", json!("{"), "workload.sql.parameters"),
            ("/parameters/0/distribution", json!({"zipfian": 0.5}), "workload.sql.parameters"),
            ("/transactions", json!([]), "workload.sql.statements"),
        ] {
            let mut wrong = section();
            match wrong.pointer_mut(pointer) {
                Some(entry) => *entry = value,
                None => wrong["parameters"][0]["distribution"] = value,
            }
            let error = statements(Dialect::Postgres, &wrong).err().expect(pointer).to_string();
            assert!(error.contains(part), "{pointer}: {error}");
        }
    }
}
