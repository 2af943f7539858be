//! Terminals: their mix of types, their places, and what they prepare.

use std::collections::HashMap;

use super::*;

#[test]
fn types_follow_their_weights() {
    let mut client = terminal(&json!({"warehouses": 1}), 3);
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let draws = 20_000;
    for _ in 0..draws {
        let of_type = client.begin().unwrap();
        *counts.entry(OPERATIONS[of_type.index()].0).or_default() += 1;
    }
    let expected = [
        ("new_order", 9_000),
        ("payment", 8_600),
        ("order_status", 800),
        ("delivery", 800),
        ("stock_level", 800),
    ];
    for (name, expected) in expected {
        // Five standard deviations of the widest are 350.
        let tolerance = if expected > 1_000 { 350 } else { 140 };
        assert!(counts[name].abs_diff(expected) < tolerance, "{name}: {}", counts[name]);
    }
}

#[test]
fn retry_repeats_the_transaction_and_the_next_differs() {
    let mut client = terminal(&json!({"warehouses": 3}), 2);
    for _ in 0..100 {
        let first = transaction(&mut client);
        client.again();
        let second = run_transaction(&mut client, answer);
        assert_eq!((first.texts, first.end), (second.texts, second.end));
    }
    // A retry that failed early starts from the beginning as well.
    client.begin();
    client.next(&mut Vec::new());
    client.next(&mut Vec::new());
    client.again();
    assert_eq!(outline(&run_transaction(&mut client, answer).texts)[0], "BEGIN");
}

#[test]
fn fixed_terminals_stay_at_home() {
    for (fixed, expected) in [(true, 1), (false, 40)] {
        let section = json!({"warehouses": 4, "terminal_warehouse_fixed": fixed});
        let mut client = only("stock_level", &section);
        let homes: HashSet<_> = (0..2_000)
            .map(|_| {
                client.begin();
                (client.home.warehouse, client.home.district)
            })
            .collect();
        assert_eq!(homes.len(), expected);
    }
}

#[test]
fn terminals_differ_and_are_reproducible() {
    let texts = |number| transaction(&mut terminal(&json!({"warehouses": 2}), number)).texts;
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
}

#[test]
fn keying_terminal_knows_its_next_type() {
    let section = json!({"keying_time": true, "new_order_weight": 0, "payment_weight": 88});
    let mut client = terminal(&section, 0);
    let keying = [3, 2, 2, 2].map(|seconds| seconds * loadcell_core::clock::SECOND);
    for _ in 0..200 {
        let wait = client.think_time(None);
        let of_type = client.begin().unwrap().index();
        assert_eq!(wait, keying[of_type - 2]);
    }
}

#[test]
fn every_statement_is_prepared_at_connect() {
    let prepared = Tpcc::new(Dialect::Postgres, &Options::of(&json!({})).unwrap(), 1, 1).unwrap();
    let parse = prepared.client(0).parse().to_vec();
    let mut wait = &parse[..];
    let mut names = HashSet::new();
    while let Some((b'P', body)) = wait.split_first() {
        let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
        names.insert(body[4..length].split(|&byte| byte == 0).next().unwrap().to_vec());
        wait = &body[length..];
    }
    assert!(wait.is_empty());
    assert_eq!(names.len(), 30);
    assert!(terminal(&json!({}), 0).parse().is_empty());
}

#[test]
fn more_terminals_than_districts_are_rejected() {
    let options = Options::of(&json!({"warehouses": 1})).unwrap();
    assert!(Tpcc::new(Dialect::Postgres, &options, 1, 10).is_ok());
    assert_eq!(
        Tpcc::new(Dialect::Postgres, &options, 1, 11).map(drop).unwrap_err().code,
        "engine.spec.tpcc-terminals"
    );
}

#[test]
fn mysql_uses_read_committed_without_autocommit() {
    let parse =
        |protocol| Tpcc::new(protocol, &Options::of(&json!({"protocol": "simple"})).unwrap(), 1, 1).unwrap();
    let text = String::from_utf8_lossy(&parse(Dialect::Mysql).shared.sql.parse).into_owned();
    assert!(text.contains("READ COMMITTED") && text.ends_with("SET SESSION autocommit = 0"), "{text}");
    assert!(parse(Dialect::Postgres).shared.sql.parse.is_empty());
}
