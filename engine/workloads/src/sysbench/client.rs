//! Client of a sysbench script: draws tables, ids and texts, and writes the requests.

use std::sync::Arc;

use super::options::Options;
use super::shape::Shape;
use super::text;
use crate::sql::{Next, SentRequest, Transactions, Workload};
use loadcell_core::random::{Distribution, Random};
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::target::Dialect;
use loadcell_protocols::{Mode, Request, Statement};

/// A compiled script: statements for every table, shared by all clients.
pub struct Sysbench {
    operations: Vec<Operation>,
    plan: Arc<Plan>,
    seed: u64,
}

struct Plan {
    steps: Vec<Step>,
    /// Grouped by shape; within a group one per table.
    statements: Vec<Statement>,
    parse: Vec<u8>,
    tables: u64,
    table_size: u64,
    range_size: u64,
    delta: u64,
    random_points: u32,
    number_of_ranges: u32,
    auto_inc: bool,
    distribution: Distribution,
    clients: u64,
}

/// A statement of the transaction, with its constant parts.
struct Step {
    shape: Shape,
    sent_request: SentRequest,
    draws_table: bool,
    /// Index of its first statement; the table's index is added if it has one per table.
    first: usize,
    by_table: bool,
}

impl Sysbench {
    /// State for `clients` clients, whose random numbers derive from `seed`.
    pub fn new(dialect: Dialect, options: &Options, seed: u64, clients: u32) -> Self {
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let mut built: Vec<(Shape, usize)> = Vec::new();
        let (mut statements, mut prepared) = (Vec::new(), 0);
        let mut steps = Vec::new();
        for step in options.script.steps(options) {
            let shape = step.shape;
            let operation = shape.operation();
            let op = operations.iter().position(|registered| *registered == operation).unwrap_or_else(|| {
                operations.push(operation.clone());
                operations.len() - 1
            });
            let by_table = shape.has_table() && !shape.first_table_only();
            let first = match built.iter().find(|(registered, _)| *registered == shape) {
                Some((_, first)) => *first,
                None => {
                    let first = statements.len();
                    // Preparing BEGIN and COMMIT has no benefit.
                    let mode = if shape.has_table() { options.protocol } else { Mode::Simple };
                    for table in 1..=if by_table { options.tables } else { 1 } {
                        statements.push(Statement::new(
                            dialect,
                            mode,
                            prepared,
                            &shape.parts(table, options),
                        ));
                        prepared += u32::from(mode == Mode::Prepared);
                    }
                    built.push((shape, first));
                    first
                }
            };
            let sent_request = SentRequest::new(OpId(op as u16), operation.kind);
            steps.push(Step { shape, sent_request, draws_table: step.draws_table, first, by_table });
        }
        let plan = Plan {
            steps,
            parse: statements.iter().flat_map(|statement| statement.parse().iter().copied()).collect(),
            statements,
            tables: options.tables.into(),
            table_size: options.table_size,
            range_size: options.range_size,
            delta: options.delta,
            random_points: options.random_points,
            number_of_ranges: options.number_of_ranges,
            auto_inc: options.auto_inc,
            distribution: options.distribution,
            clients: clients.into(),
        };
        Self { operations, plan: Arc::new(plan), seed }
    }
}

impl Workload for Sysbench {
    type Client = Client;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, client: u32) -> Client {
        let state = State {
            random: Random::stream(self.seed, client.into()),
            // Clients use disjoint ids.
            new_id: self.plan.table_size + 1 + u64::from(client),
        };
        Client { plan: self.plan.clone(), state: state.clone(), start: state, at: 0, table: 0, id: 0 }
    }
}

/// State that determines a transaction's choices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    random: Random,
    /// Next client-generated id.
    new_id: u64,
}

/// One client of a script.
pub struct Client {
    plan: Arc<Plan>,
    state: State,
    /// State at the start of the transaction, restored by a retry.
    start: State,
    /// Index of the next step.
    at: usize,
    /// Table of the group, from 0.
    table: usize,
    /// Id of the deleted row, which is reinserted.
    id: u64,
}

impl Transactions for Client {
    fn parse(&self) -> &[u8] {
        &self.plan.parse
    }

    #[inline]
    fn begin(&mut self) -> Option<OpId> {
        self.start.clone_from(&self.state);
        self.at = 0;
        None
    }

    fn again(&mut self) {
        self.state.clone_from(&self.start);
        self.at = 0;
    }

    #[inline]
    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        let plan = &*self.plan;
        let Some(step) = plan.steps.get(self.at) else { return Next::Done(None) };
        self.at += 1;
        let random = &mut self.state.random;
        if step.draws_table {
            self.table = random.below(plan.tables) as usize;
        }
        let statement = &plan.statements[step.first + if step.by_table { self.table } else { 0 }];
        let request = statement.request(out);
        let row = |random: &mut Random| plan.distribution.draw(random, 1, plan.table_size);
        match step.shape {
            Shape::Begin | Shape::Commit => request.end(),
            Shape::PointSelect | Shape::IndexUpdate => request.int(row(random)).end(),
            Shape::SimpleRange | Shape::SumRange | Shape::OrderRange | Shape::DistinctRange => {
                let id = row(random);
                request.int(id).int(id + plan.range_size - 1).end();
            }
            Shape::NonIndexUpdate => {
                let c = text::c(random);
                request.text(&c).int(row(random)).end();
            }
            Shape::Delete => {
                self.id = row(random);
                request.int(self.id).end();
            }
            Shape::Reinsert => {
                let k = row(random);
                let (c, pad) = (text::c(random), text::pad(random));
                request.int(self.id).int(k).text(&c).text(&pad).end();
            }
            Shape::Insert => {
                let k = row(random);
                let (c, pad) = (text::c(random), text::pad(random));
                let request = if plan.auto_inc { request } else { request.int(self.state.new_id) };
                self.state.new_id += plan.clients;
                request.int(k).text(&c).text(&pad).end();
            }
            Shape::RandomPoints => (0..plan.random_points).fold(request, |r, _| r.int(row(random))).end(),
            Shape::RandomRanges => {
                let range = |request, _| {
                    let k = row(random);
                    Request::int(request, k).int(k + plan.delta)
                };
                (0..plan.number_of_ranges).fold(request, range).end();
            }
        }
        Next::Ask(step.sent_request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn workload(section: &Value) -> Sysbench {
        Sysbench::new(Dialect::Postgres, &Options::of(section).unwrap(), 42, 4)
    }

    /// Texts of the statements of one transaction, in simple mode.
    fn texts(client: &mut Client) -> Vec<String> {
        let mut texts = Vec::new();
        let mut out = Vec::new();
        while client.next(&mut out) != Next::Done(None) {
            let body = out[5..out.len() - 1].to_vec();
            texts.push(String::from_utf8(body).unwrap());
            out.clear();
        }
        texts
    }

    /// Replace numbers and texts by `N` and `S`; digits in names stay.
    fn pattern(text: &str) -> String {
        let mut pattern = String::new();
        let mut quoted = false;
        for byte in text.chars() {
            match byte {
                '\'' => {
                    quoted = !quoted;
                    if quoted {
                        pattern.push('S');
                    }
                }
                _ if quoted => {}
                '0'..='9' => {
                    let before = pattern.chars().last().unwrap_or(' ');
                    match before {
                        'N' => {}
                        letter if letter.is_alphabetic() => pattern.push(byte),
                        _ => pattern.push('N'),
                    }
                }
                other => pattern.push(other),
            }
        }
        pattern
    }

    #[test]
    fn statements_match_sysbench() {
        let mut client = workload(&json!({"protocol": "simple"})).client(0);
        client.begin();
        let patterns: Vec<_> = texts(&mut client).iter().map(|text| pattern(text)).collect();
        let mut expected = vec!["BEGIN"];
        expected.extend(["SELECT c FROM sbtest1 WHERE id=N"; 10]);
        expected.extend([
            "SELECT c FROM sbtest1 WHERE id BETWEEN N AND N",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN N AND N",
            "SELECT c FROM sbtest1 WHERE id BETWEEN N AND N ORDER BY c",
            "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN N AND N ORDER BY c",
            "UPDATE sbtest1 SET k=k+N WHERE id=N",
            "UPDATE sbtest1 SET c=S WHERE id=N",
            "DELETE FROM sbtest1 WHERE id=N",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (N, N, S, S)",
            "COMMIT",
        ]);
        assert_eq!(patterns, expected);
    }

    #[test]
    fn statements_of_other_scripts_match_sysbench() {
        let cases = [
            (json!({"script": "oltp_insert"}), "INSERT INTO sbtest1 (k, c, pad) VALUES (N, S, S)"),
            (
                json!({"script": "oltp_insert", "auto_inc": false}),
                "INSERT INTO sbtest1 (id, k, c, pad) VALUES (N, N, S, S)",
            ),
            (
                json!({"script": "select_random_points", "random_points": 3}),
                "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (N, N, N)",
            ),
            (
                json!({"script": "select_random_ranges", "number_of_ranges": 2}),
                "SELECT count(k) FROM sbtest1 WHERE k BETWEEN N AND N OR k BETWEEN N AND N",
            ),
        ];
        for (mut section, expected) in cases {
            section["protocol"] = json!("simple");
            let mut client = workload(&section).client(0);
            client.begin();
            let patterns: Vec<_> = texts(&mut client).iter().map(|text| pattern(text)).collect();
            assert_eq!(patterns, [expected]);
        }
    }

    fn numbers(text: &str) -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    }

    #[test]
    fn ranges_have_their_size_and_the_deleted_row_is_reinserted() {
        let section = json!({"protocol": "simple", "range_size": 37, "table_size": 500, "delete_inserts": 3});
        let mut client = workload(&section).client(1);
        for _ in 0..50 {
            client.begin();
            let texts = texts(&mut client);
            for text in texts.iter().filter(|text| text.contains("BETWEEN")) {
                let parsed = numbers(text);
                let [low, high] = parsed[parsed.len() - 2..] else { panic!("{text}") };
                assert!((1..=500).contains(&low));
                assert_eq!(high, low + 36);
            }
            for pair in texts.windows(2).filter(|pair| pair[0].starts_with("DELETE")) {
                let deleted = *numbers(&pair[0]).last().unwrap();
                let inserted = pair[1].split_once("VALUES (").unwrap().1;
                assert_eq!(numbers(inserted)[0], deleted);
            }
        }
    }

    #[test]
    fn retry_repeats_the_transaction_and_the_next_differs() {
        let mut client = workload(&json!({"protocol": "simple", "tables": 5})).client(2);
        client.begin();
        let first = texts(&mut client);
        client.again();
        let mut out = Vec::new();
        client.next(&mut out); // An early failure of a retry restarts it, too.
        client.again();
        assert_eq!(texts(&mut client), first);
        client.begin();
        assert_ne!(texts(&mut client), first);
    }

    #[test]
    fn clients_differ_and_are_reproducible() {
        let workload = workload(&json!({"protocol": "simple", "tables": 3}));
        let first = |client: u32| {
            let mut client = workload.client(client);
            client.begin();
            texts(&mut client)
        };
        assert_eq!(first(0), first(0));
        assert_ne!(first(0), first(1));
    }

    #[test]
    fn group_uses_one_table_and_tables_are_uniform() {
        let section =
            json!({"script": "oltp_read_only", "protocol": "simple", "tables": 4, "range_selects": false});
        let mut client = workload(&section).client(0);
        let mut seen = [0u32; 5];
        for _ in 0..4000 {
            client.begin();
            let texts = texts(&mut client);
            let table = numbers(&texts[1])[0];
            assert!(texts[1..11].iter().all(|text| numbers(text)[0] == table));
            seen[table as usize] += 1;
        }
        // Chi-square with 3 degrees of freedom: 16.3 is exceeded once in 1000 cases by chance.
        let chi: f64 = seen[1..].iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 16.3, "chi-square {chi}: {seen:?}");
    }

    #[test]
    fn random_points_and_ranges_use_the_first_table() {
        for script in ["select_random_points", "select_random_ranges"] {
            let section = json!({"script": script, "protocol": "simple", "tables": 9});
            let mut client = workload(&section).client(0);
            for _ in 0..50 {
                client.begin();
                assert!(texts(&mut client)[0].contains(" sbtest1 "));
            }
        }
    }

    #[test]
    fn client_generated_ids_never_collide() {
        let section =
            json!({"script": "oltp_insert", "protocol": "simple", "auto_inc": false, "table_size": 100});
        let workload = workload(&section);
        let mut ids = Vec::new();
        for client in 0..4 {
            let mut client = workload.client(client);
            for _ in 0..25 {
                client.begin();
                let text = texts(&mut client).remove(0);
                ids.push(numbers(text.split_once("VALUES (").unwrap().1)[0]);
            }
        }
        ids.sort_unstable();
        assert_eq!(ids, (101..=200).collect::<Vec<_>>());
    }

    #[test]
    fn every_statement_of_every_table_is_prepared_at_connect() {
        let parse = |section| workload(&section).client(0).parse().to_vec();
        let prepared = parse(json!({"tables": 12}));
        let text = String::from_utf8_lossy(&prepared);
        assert_eq!(text.matches("sbtest").count(), 12 * 9);
        assert!(text.contains("INSERT INTO sbtest12 (id, k, c, pad) VALUES ($1, $2, $3, $4)"));
        assert!(!text.contains("BEGIN"));
        assert!(parse(json!({"protocol": "simple"})).is_empty());
        assert!(parse(json!({"protocol": "extended"})).is_empty());
    }

    #[test]
    fn operations_start_with_the_transaction() {
        let names = |section| workload(&section).operations().iter().map(|op| op.name).collect::<Vec<_>>();
        assert_eq!(names(json!({"script": "oltp_point_select"})), ["transaction", "point_select"]);
        let write_only =
            ["transaction", "begin", "index_update", "non_index_update", "delete", "insert", "commit"];
        assert_eq!(names(json!({"script": "oltp_write_only"})), write_only);
    }

    #[test]
    fn ids_follow_the_distribution() {
        let share = |distribution| {
            let section =
                json!({"script": "oltp_point_select", "protocol": "simple", "distribution": distribution});
            let mut client = workload(&section).client(0);
            let draws = 20_000;
            let hot = (0..draws).filter(|_| {
                client.begin();
                (4951..=5050).contains(numbers(&texts(&mut client)[0]).last().unwrap())
            });
            hot.count() as f64 / f64::from(draws)
        };
        assert!((0.005..0.015).contains(&share("uniform")));
        assert!((0.74..0.78).contains(&share("special")));
    }
}
