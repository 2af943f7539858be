//! Core workload over SQL: one table; one autocommitted statement per operation, two for a read-modify-write.

use std::sync::Arc;

use super::client::{Act, Client as Requests, Clients, Request};
use super::options::Options;
use crate::sql::{Next, SentRequest, Transactions, Workload};
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::target::Dialect;
use loadcell_protocols::{Mode, Part, Statement};

/// All statements, shared by all clients.
pub struct Ycsb {
    clients: Clients,
    statements: Arc<Statements>,
}

/// Statements on all fields, followed by those on single fields.
struct Statements {
    read: Vec<Statement>,
    update: Vec<Statement>,
    scan: Vec<Statement>,
    insert: Statement,
    parse: Vec<u8>,
}

impl Ycsb {
    /// State for `clients` clients, whose random numbers derive from `seed`.
    pub fn new(dialect: Dialect, options: &Options, seed: u64, clients: u32) -> Self {
        let statements = Statements::new(dialect, options);
        Self { clients: Clients::new(options, seed, clients), statements: Arc::new(statements) }
    }
}

impl Statements {
    fn new(dialect: Dialect, options: &Options) -> Self {
        let mut built = Built { dialect, mode: options.protocol, count: 0, parse: Vec::new() };
        let table = &options.table;
        let fields: Vec<String> = options.fields().iter().map(|name| name.to_uppercase()).collect();
        let all = [fields.join(", ")];
        let read_lists: &[String] = if options.readallfields { &all } else { &fields };
        let assignments: Vec<String> = fields.iter().map(|name| format!("{name} = $")).collect();
        let all_assignments = [assignments.join(", ")];
        let updates: &[String] = if options.writeallfields { &all_assignments } else { &assignments };
        let mut build_all = |lists: &[String], sql: &dyn Fn(&str) -> String| -> Vec<Statement> {
            lists.iter().map(|list| built.statement(&sql(list))).collect()
        };
        let read = build_all(read_lists, &|list| format!("SELECT {list} FROM {table} WHERE YCSB_KEY = $"));
        let update = build_all(updates, &|list| format!("UPDATE {table} SET {list} WHERE YCSB_KEY = $"));
        let scan = build_all(read_lists, &|list| {
            format!("SELECT YCSB_KEY, {list} FROM {table} WHERE YCSB_KEY >= $ ORDER BY YCSB_KEY LIMIT ?")
        });
        let holes = vec!["$"; fields.len() + 1].join(", ");
        let insert = built.statement(&format!("INSERT INTO {table} (YCSB_KEY, {}) VALUES ({holes})", all[0]));
        Self { read, update, scan, insert, parse: built.parse }
    }
}

/// Numbers the statements of a connection.
struct Built {
    dialect: Dialect,
    mode: Mode,
    count: u32,
    parse: Vec<u8>,
}

impl Built {
    fn statement(&mut self, sql: &str) -> Statement {
        let statement = Statement::new(self.dialect, self.mode, self.count, &Part::cut(sql));
        self.count += 1;
        self.parse.extend_from_slice(statement.parse());
        statement
    }
}

impl Workload for Ycsb {
    type Client = Client;

    fn operations(&self) -> &[Operation] {
        self.clients.operations()
    }

    fn client(&self, client: u32) -> Client {
        let requests = self.clients.client(client);
        let start = requests.random.clone();
        let idle = Request { act: Act::Read, record: 0, read: None, written: None, rows: 0 };
        let statements = self.statements.clone();
        Client {
            requests,
            statements,
            request: idle,
            start,
            done: 0,
            missed: false,
            inserting: None,
            key: Vec::new(),
            value: Vec::new(),
        }
    }
}

/// Transactions of one client.
pub struct Client {
    requests: Requests,
    statements: Arc<Statements>,
    request: Request,
    /// Random state at the start of the transaction, for retries.
    start: loadcell_core::random::Random,
    /// Number of statements sent in the transaction.
    done: u32,
    missed: bool,
    /// Record whose insert is not complete.
    inserting: Option<u64>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Client {
    /// Append the statement of kind `act`.
    fn ask(&mut self, act: Act, out: &mut Vec<u8>) -> Next {
        let Self { requests, statements, request, key, value, .. } = self;
        let sent_request = |kind| SentRequest::new(requests.op(act), kind);
        key.clear();
        requests.key(request.record, key);
        match act {
            Act::Read | Act::ReadModifyWrite => {
                statements.read[request.read.unwrap_or(0)].request(out).text(key).end();
                Next::Ask(sent_request(Kind::Read).with_rows())
            }
            Act::Scan => {
                statements.scan[request.read.unwrap_or(0)].request(out).text(key).int(request.rows).end();
                Next::Ask(sent_request(Kind::Read))
            }
            Act::Update => {
                let sent_request = sent_request(Kind::Write).with_rows();
                let count = if request.written.is_some() { 1 } else { requests.fields() };
                let mut writing = statements.update[request.written.unwrap_or(0)].request(out);
                for _ in 0..count {
                    value.clear();
                    requests.value(value);
                    writing = writing.text(value);
                }
                writing.text(key).end();
                Next::Ask(sent_request)
            }
            Act::Insert => {
                let sent_request = sent_request(Kind::Write);
                let mut writing = statements.insert.request(out).text(key);
                for _ in 0..requests.fields() {
                    value.clear();
                    requests.value(value);
                    writing = writing.text(value);
                }
                writing.end();
                Next::Ask(sent_request)
            }
        }
    }

    fn over(&mut self) {
        if let Some(record) = self.inserting.take() {
            self.requests.inserted(record);
        }
    }
}

impl Transactions for Client {
    fn parse(&self) -> &[u8] {
        &self.statements.parse
    }

    #[inline]
    fn begin(&mut self) -> Option<OpId> {
        self.over(); // A failed insert is complete, too.
        self.request = self.requests.next();
        self.start.clone_from(&self.requests.random);
        (self.done, self.missed) = (0, false);
        let Request { act, record, .. } = self.request;
        self.inserting = (act == Act::Insert).then_some(record);
        (act == Act::ReadModifyWrite).then(|| self.requests.op(act))
    }

    fn again(&mut self) {
        self.requests.random.clone_from(&self.start);
        (self.done, self.missed) = (0, false);
    }

    #[inline]
    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        self.done += 1;
        let act = match (self.request.act, self.done) {
            (Act::ReadModifyWrite, 1) => Act::Read,
            (Act::ReadModifyWrite, 2) => Act::Update,
            (act, 1) if act != Act::ReadModifyWrite => act,
            _ => {
                self.over();
                return Next::Done(if self.missed { self.requests.missed() } else { None });
            }
        };
        self.ask(act, out)
    }

    fn completed(&mut self, rows: u64) {
        self.missed |= rows == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ycsb(section: Value) -> Ycsb {
        let mut section = section;
        section["protocol"] = json!("simple");
        Ycsb::new(Dialect::Postgres, &Options::of(&section).unwrap(), 42, 1)
    }

    /// Text and operation of each statement of one transaction.
    fn transaction(client: &mut Client, names: &[Operation]) -> Vec<(String, &'static str)> {
        let mut texts = Vec::new();
        let mut out = Vec::new();
        while let Next::Ask(sent_request) = client.next(&mut out) {
            texts.push((
                String::from_utf8(out[5..out.len() - 1].to_vec()).unwrap(),
                names[sent_request.op.index()].name,
            ));
            client.completed(1);
            out.clear();
        }
        texts
    }

    #[test]
    fn each_operation_is_a_statement() {
        let section = |act: &str| {
            json!({"proportions": {"read": 0, "update": 0, act: 1}, "fieldcount": 2,
            "fieldlength": 3})
        };
        let text = |section: Value| {
            let ycsb = ycsb(section);
            let mut client = ycsb.client(0);
            client.begin();
            let texts = transaction(&mut client, ycsb.operations());
            texts.into_iter().map(|(text, name)| (masked(&text), name)).collect::<Vec<_>>()
        };
        let single = |text: &str, name| vec![(text.to_string(), name)];
        assert_eq!(
            text(section("read")),
            single("SELECT FIELD0, FIELD1 FROM usertable WHERE YCSB_KEY = 'K'", "READ")
        );
        assert_eq!(
            text(section("insert")),
            single("INSERT INTO usertable (YCSB_KEY, FIELD0, FIELD1) VALUES ('K', 'VVV', 'VVV')", "INSERT")
        );
        let [(scan, "SCAN")] = &text(section("scan"))[..] else { panic!() };
        assert!(scan.starts_with(
            "SELECT YCSB_KEY, FIELD0, FIELD1 FROM usertable WHERE YCSB_KEY >= 'K' ORDER BY YCSB_KEY LIMIT "
        ));
        let [(update, "UPDATE")] = &text(section("update"))[..] else { panic!() };
        assert!(
            ["0", "1"]
                .iter()
                .any(|n| *update == format!("UPDATE usertable SET FIELD{n} = 'VVV' WHERE YCSB_KEY = 'K'"))
        );
        let mut all = section("update");
        all["writeallfields"] = json!(true);
        assert_eq!(
            text(all),
            single("UPDATE usertable SET FIELD0 = 'VVV', FIELD1 = 'VVV' WHERE YCSB_KEY = 'K'", "UPDATE")
        );
        let mut single_field = section("read");
        single_field["readallfields"] = json!(false);
        let [(read, "READ")] = &text(single_field)[..] else { panic!() };
        assert!(
            ["0", "1"]
                .iter()
                .any(|n| *read == format!("SELECT FIELD{n} FROM usertable WHERE YCSB_KEY = 'K'"))
        );
        let both: Vec<_> = text(section("readmodifywrite")).into_iter().map(|(_, name)| name).collect();
        assert_eq!(both, ["READ", "UPDATE"]);
    }

    /// Replace keys by `K`, and values by one `V` per letter.
    fn masked(text: &str) -> String {
        let mut parts = text.split('\'');
        let mut masked = parts.next().unwrap().to_string();
        while let (Some(quoted), Some(plain)) = (parts.next(), parts.next()) {
            let shown = if quoted.starts_with("user") { "K".into() } else { "V".repeat(quoted.len()) };
            masked += &format!("'{shown}'{plain}");
        }
        masked
    }

    #[test]
    fn read_modify_write_uses_one_record() {
        let ycsb = ycsb(json!({"proportions": {"read": 0, "update": 0, "readmodifywrite": 1}}));
        let mut client = ycsb.client(0);
        for _ in 0..50 {
            let of_type = client.begin().unwrap();
            assert_eq!(ycsb.operations()[of_type.index()].name, "READ-MODIFY-WRITE");
            let texts = transaction(&mut client, ycsb.operations());
            let key = |text: &str| text.split("YCSB_KEY = ").nth(1).unwrap().to_string();
            assert_eq!(key(&texts[0].0), key(&texts[1].0));
        }
    }

    #[test]
    fn retry_repeats_the_transaction() {
        let ycsb = ycsb(json!({"proportions": {"read": 0, "update": 1}}));
        let mut client = ycsb.client(0);
        client.begin();
        let first = transaction(&mut client, ycsb.operations());
        client.again();
        assert_eq!(transaction(&mut client, ycsb.operations()), first);
        client.begin();
        assert_ne!(transaction(&mut client, ycsb.operations()), first);
    }

    #[test]
    fn missing_records_are_counted_separately() {
        let ycsb = ycsb(json!({}));
        let missed = ycsb.operations().iter().position(|single| single.name == "missed").unwrap();
        let mut client = ycsb.client(0);
        let mut out = Vec::new();
        client.begin();
        client.next(&mut out);
        client.completed(0);
        assert_eq!(client.next(&mut out), Next::Done(Some(OpId(missed as u16))));
        client.begin();
        client.next(&mut out);
        client.completed(1);
        assert_eq!(client.next(&mut out), Next::Done(None));
    }

    #[test]
    fn failed_insert_does_not_block_later_ones() {
        let ycsb = ycsb(json!({"proportions": {"read": 1, "update": 0, "insert": 1}, "recordcount": 5,
                "requestdistribution": "latest"}));
        let mut client = ycsb.client(0);
        let mut out = Vec::new();
        let mut inserted = 0;
        for _ in 0..200 {
            client.begin();
            inserted += u64::from(client.request.act == Act::Insert);
            client.next(&mut out); // Neither is ever answered.
        }
        client.begin();
        assert!(client.requests.next().record <= 5 + inserted);
        let newest = (0..2_000).map(|_| client.requests.next()).filter(|single| single.act == Act::Read);
        assert!(newest.map(|single| single.record).max() > Some(5 + inserted / 2));
    }

    #[test]
    fn every_statement_is_prepared_once() {
        let options = Options::of(&json!({"fieldcount": 3})).unwrap();
        let client = Ycsb::new(Dialect::Postgres, &options, 1, 1).client(0);
        let parse = String::from_utf8_lossy(client.parse()).into_owned();
        assert_eq!(parse.matches("SELECT").count(), 2);
        assert_eq!(parse.matches("UPDATE").count(), 3);
        assert_eq!(parse.matches("INSERT").count(), 1);
    }
}
