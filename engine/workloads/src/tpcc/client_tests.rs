//! Terminals as a specification: the statements sent, for given responses of the database.

mod terminal_tests;

use std::collections::HashSet;

use super::super::sql::{COMMIT, INSERT, OPERATIONS, ROLLBACK, ROLLED_BACK, SKIPPED, UPDATE};
use super::*;
use loadcell_core::target::Dialect;
use serde_json::{Value, json};

fn terminal(section: &Value, number: u32) -> Client {
    let mut section = section.clone();
    section["protocol"] = "simple".into();
    Tpcc::new(Dialect::Postgres, &Options::of(&section).unwrap(), 42, 10).unwrap().client(number)
}

/// A terminal with a single transaction type.
fn only(of_type: &str, section: &Value) -> Client {
    let mut section = section.clone();
    for name in ["new_order", "payment", "order_status", "delivery", "stock_level"] {
        section[format!("{name}_weight")] = if name == of_type { 100 } else { 0 }.into();
    }
    terminal(&section, 0)
}

/// Rows of texts.
type Rows = Vec<Vec<&'static str>>;

/// A database that contains every row, with equal values.
fn answer(statement: &str) -> Rows {
    let stock = || [&["50", "data"][..], &["ABCDEFGHIJKLMNOPQRSTUVWX"; 10]].concat();
    match statement {
        text if text.starts_with("SELECT d_tax") => vec![vec!["0.1000", "3001"]],
        text if text.starts_with("SELECT c_discount") => vec![vec!["0.1", "BARBARBAR", "GC", "0.1"]],
        // Items with larger numbers do not exist.
        text if text.starts_with("SELECT i_price") && number_after(text, "i_id = ") > 100_000 => vec![],
        text if text.starts_with("SELECT i_price") => vec![vec!["12.34", "name", "data"]],
        text if text.starts_with("SELECT s_quantity") => vec![stock()],
        text if text.starts_with("SELECT d_name") => vec![vec!["district", "", "", "", "", ""]],
        text if text.starts_with("SELECT w_name") => vec![vec!["warehouse", "", "", "", "", ""]],
        text if text.starts_with("SELECT c_id") => vec![vec!["7"], vec!["8"], vec!["9"]],
        text if text.starts_with("SELECT c_credit") => vec![vec!["GC", "first"]],
        text if text.starts_with("SELECT c_data") => vec![vec!["what was there"]],
        text if text.starts_with("SELECT c_first") => vec![vec!["first", "OE", "BARBARBAR", "-10.00"]],
        text if text.starts_with("SELECT o_id") => vec![vec!["3000", "date", "1"]],
        text if text.starts_with("SELECT ol_i_id") => vec![vec!["1", "1", "5", "0.00", "date"]],
        text if text.starts_with("SELECT no_o_id") => vec![vec!["2101"], vec!["2102"], vec!["2103"]],
        text if text.starts_with("SELECT o_c_id") => vec![vec!["77"]],
        text if text.starts_with("SELECT sum") => vec![vec!["1234.56"]],
        text if text.starts_with("SELECT count") => vec![vec!["11"]],
        text => panic!("what to answer to {text}?"),
    }
}

fn number_after(text: &str, prefix: &str) -> u64 {
    let at = text.find(prefix).unwrap_or_else(|| panic!("{text} has {prefix}")) + prefix.len();
    text[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Statements of one transaction, and how it ended.
struct SentRequest {
    texts: Vec<String>,
    requests: Vec<crate::sql::SentRequest>,
    end: Next,
}

/// Run one transaction, already begun, with `answer` as the database.
fn run_transaction(client: &mut Client, mut answer: impl FnMut(&str) -> Rows) -> SentRequest {
    let (mut texts, mut requests) = (Vec::new(), Vec::new());
    loop {
        let mut out = Vec::new();
        let request = match client.next(&mut out) {
            Next::Ask(request) => request,
            end => {
                assert!(out.is_empty(), "nothing is asked at the end");
                return SentRequest { texts, requests, end };
            }
        };
        assert_eq!(out[0], b'Q');
        assert_eq!(
            u32::from_be_bytes(out[1..5].try_into().unwrap()) as usize,
            out.len() - 1,
            "one whole message"
        );
        let text = String::from_utf8(out[5..out.len() - 1].to_vec()).unwrap();
        assert_eq!(text.split(';').count(), request.statements as usize);
        if request.wants_rows {
            // For a DELETE only the row count matters.
            let rows = if text.starts_with("DELETE") {
                vec![vec![]; answer_count(&mut answer, &text)]
            } else {
                answer(&text)
            };
            for row in rows.iter().filter(|row| !row.is_empty()) {
                client.row(&mut row.iter().map(|text| Some(text.as_bytes())));
            }
            client.completed(rows.len() as u64);
        }
        texts.push(text);
        requests.push(request);
        assert!(texts.len() < 500, "it ends");
    }
}

/// Number of rows removed by a DELETE: one, unless the answer is empty.
fn answer_count(answer: &mut impl FnMut(&str) -> Rows, text: &str) -> usize {
    if answer(&text.replacen("DELETE", "SELECT no_o_id", 1)).is_empty() { 0 } else { 1 }
}

fn transaction(client: &mut Client) -> SentRequest {
    client.begin();
    run_transaction(client, answer)
}

/// Run a transaction that commits: one in a hundred New-Orders does not.
fn good(client: &mut Client) -> SentRequest {
    std::iter::repeat_with(|| transaction(client)).find(|request| request.end == Next::Done(None)).unwrap()
}

/// The first two words of statements without a table, otherwise verb and table.
fn outline(texts: &[String]) -> Vec<String> {
    let short = |text: &String| {
        let text = text.split(';').next().unwrap();
        let verb = text.split(' ').next().unwrap();
        let table = text.split([' ', ',']).find(|word| word.starts_with("bmsql_"));
        match table {
            Some(table) => format!("{verb} {}", table.trim_start_matches("bmsql_")),
            None => verb.to_string(),
        }
    };
    texts.iter().map(short).collect()
}

#[test]
fn new_order_reads_stock_by_stock_and_writes_lines_at_once() {
    let mut client = only("new_order", &json!({}));
    let SentRequest { texts, requests, .. } = good(&mut client);
    let count =
        requests.iter().find(|request| request.op == INSERT.op && request.statements > 1).unwrap().statements;
    assert!((5..=15).contains(&count));
    let mut expected = vec![
        "BEGIN",
        "SELECT district",
        "SELECT customer",
        "UPDATE district",
        "INSERT oorder",
        "INSERT new_order",
    ];
    for _ in 0..count {
        expected.extend(["SELECT item", "SELECT stock"]);
    }
    expected.extend(["UPDATE stock", "INSERT order_line", "COMMIT"]);
    assert_eq!(outline(&texts), expected);
    let lines = &texts[texts.len() - 2];
    assert!(lines.starts_with("INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number"));
    assert!(lines.contains("VALUES (3001, "), "of the order that the district said: {lines}");
    assert!(lines.contains("'ABCDEFGHIJKLMNOPQRSTUVWX')"));
    assert_eq!(requests[requests.len() - 3], UPDATE.times(count));
    let numbers: HashSet<_> =
        lines.split(';').map(|line| line.split(", ").nth(11).unwrap().parse::<u64>().unwrap()).collect();
    assert_eq!(numbers, (1..=u64::from(count)).collect(), "lines keep the numbers they were entered with");
    for line in lines.split(';') {
        let values: Vec<_> = line.split(", ").collect();
        let (quantity, amount) = (values[14].parse::<f64>().unwrap(), values[15].parse::<f64>().unwrap());
        assert!((amount - quantity * 12.34).abs() < 1e-9, "{line}");
    }
}

#[test]
fn stock_is_locked_in_a_global_order() {
    let mut client = only("new_order", &json!({"warehouses": 20}));
    for _ in 0..200 {
        let request = transaction(&mut client);
        let stocks: Vec<_> = request
            .texts
            .iter()
            .filter(|text| text.starts_with("SELECT s_quantity"))
            .map(|text| (number_after(text, "s_w_id = "), number_after(text, "s_i_id = ")))
            .collect();
        assert!(stocks.is_sorted(), "{stocks:?}");
    }
}

#[test]
fn low_stock_is_refilled_and_repeated_items_are_taken_twice() {
    let mut client = only("new_order", &json!({}));
    client.begin();
    let lines = &mut client.new_order;
    lines.draw_for_test(&[(500, 7), (500, 8), (600, 5)]);
    let request = run_transaction(&mut client, |text| {
        let mut rows = answer(text);
        if text.starts_with("SELECT s_quantity") {
            rows[0][0] = if text.contains("s_i_id = 500") { "20" } else { "15" };
        }
        rows
    });
    let taken: Vec<_> = request
        .texts
        .iter()
        .find(|text| text.starts_with("UPDATE bmsql_stock"))
        .unwrap()
        .split(';')
        .collect();
    // 20 - 7 leaves 13; of these 8 would leave fewer than 10: 13 - 8 + 91. And 15 - 5 leaves 10.
    let quantities: Vec<_> = taken.iter().map(|text| number_after(text, "s_quantity = ")).collect();
    assert_eq!(quantities, [13, 96, 10]);
    assert!(taken[1].contains("s_ytd = s_ytd + 8") && taken[1].contains("s_remote_cnt = s_remote_cnt + 0"));
}

#[test]
fn one_percent_of_new_orders_roll_back_at_the_end() {
    let mut client = only("new_order", &json!({}));
    let (mut count, draws) = (0, 5_000);
    for _ in 0..draws {
        let request = transaction(&mut client);
        if request.end == Next::Done(None) {
            continue;
        }
        count += 1;
        assert_eq!(request.end, Next::Done(Some(ROLLED_BACK)));
        assert_eq!(*request.requests.last().unwrap(), ROLLBACK);
        let outline = outline(&request.texts);
        let last = outline.len() - 1;
        assert_eq!(outline[last - 3..], ["SELECT item", "UPDATE stock", "INSERT order_line", "ROLLBACK"]);
        assert!(outline.iter().all(|text| text != "COMMIT"));
    }
    // The standard deviation is 7.
    assert!((22..=78).contains(&count), "{count} of {draws}");
    let name = OPERATIONS[ROLLED_BACK.index()].0;
    assert_eq!(name, "new_order_rolled_back");
}

#[test]
fn missing_item_fails() {
    let mut client = only("new_order", &json!({}));
    good(&mut client);
    client.again();
    let request =
        run_transaction(
            &mut client,
            |text| if text.starts_with("SELECT i_price") { vec![] } else { answer(text) },
        );
    let Next::Fail(why) = request.end else { panic!("{:?}", request.end) };
    assert_eq!((why.code.as_str(), why.message.contains("such item")), ("no-row", true));
    // Also for an order that would have ended at another missing item.
    let of_100 = std::iter::repeat_with(|| transaction(&mut client).end);
    assert!(of_100.take(1_000).any(|end| end == Next::Done(Some(ROLLED_BACK))));
    while transaction(&mut client).end == Next::Done(None) {}
    client.again();
    let request =
        run_transaction(
            &mut client,
            |text| if text.starts_with("SELECT i_price") { vec![] } else { answer(text) },
        );
    assert!(matches!(request.end, Next::Fail(_)), "{:?}", request.end);
}

#[test]
fn missing_rows_fail_every_type() {
    for of_type in ["new_order", "payment", "order_status", "delivery", "stock_level"] {
        let mut client = only(of_type, &json!({}));
        let transaction_run = good(&mut client);
        for lost in transaction_run.texts.iter().filter(|text| text.starts_with("SELECT")) {
            let verb: String = lost.chars().take(16).collect();
            for answered in [vec![], vec![vec!["?", "?", "?"]]] {
                client.again();
                let reply =
                    |text: &str| if text.starts_with(&verb) { answered.clone() } else { answer(text) };
                let end = run_transaction(&mut client, reply).end;
                let code = match &end {
                    Next::Fail(why) => why.code.as_str(),
                    _ => "",
                };
                let unread = ["SELECT c_discoun", "SELECT ol_i_id, ", "SELECT d_name, d", "SELECT w_name, w"];
                let read_as_text =
                    ["SELECT c_first, ", "SELECT c_credit,", "SELECT c_data FR", "SELECT count(*) "];
                let expected = match (answered.is_empty(), verb.as_str()) {
                    (true, "SELECT ol_i_id, " | "SELECT no_o_id F") => "",
                    (true, _) => "no-row",
                    (false, verb) if unread.contains(&verb) || read_as_text.contains(&verb) => "",
                    (false, "SELECT c_id FROM" | "SELECT sum(ol_am") => "no-row",
                    (false, _) => "unexpected-answer",
                };
                assert_eq!(code, expected, "{of_type}: {verb} answered by {answered:?}: {end:?}");
            }
        }
    }
}

#[test]
fn payment_by_number_and_by_name() {
    let mut client = only("payment", &json!({}));
    let common = ["BEGIN", "UPDATE district", "SELECT district", "UPDATE warehouse", "SELECT warehouse"];
    let end = ["SELECT customer", "UPDATE customer", "INSERT history", "COMMIT"];
    let (mut by_name, draws) = (0, 3_000);
    for _ in 0..draws {
        let request = transaction(&mut client);
        let name = request.texts.iter().find(|text| text.starts_with("SELECT c_id"));
        let middle: &[&str] = if name.is_some() { &["SELECT customer"] } else { &[] };
        assert_eq!(outline(&request.texts), [&common[..], middle, &end[..]].concat());
        if name.is_some() {
            by_name += 1;
            let update = &request.texts[request.texts.len() - 3];
            assert!(update.contains("c_id = 8"), "the second of three: {update}");
        }
        let history = &request.texts[request.texts.len() - 2];
        assert!(history.ends_with("'warehouse    district')"), "{history}");
        assert_eq!(request.end, Next::Done(None));
        assert_eq!(*request.requests.last().unwrap(), COMMIT);
    }
    // The standard deviation is 27.
    assert!((1_690..=1_910).contains(&by_name), "{by_name} of {draws} by last name");
}

#[test]
fn bad_credit_customer_gets_a_truncated_note() {
    let mut client = only("payment", &json!({}));
    client.begin();
    let request = run_transaction(&mut client, |text| match text {
        _ if text.starts_with("SELECT c_credit") => vec![vec!["BC"]],
        _ => answer(text),
    });
    let update = request.texts.iter().find(|text| text.starts_with("UPDATE bmsql_customer")).unwrap();
    assert!(update.contains(" | what was there'"), "{update}");
    let note = update.split('\'').nth(1).unwrap();
    let amount = update.split(['=', '-', ',']).nth(2).unwrap().trim();
    assert!(note.contains(&format!(" {amount} | ")), "{note} has {amount}");

    client.begin();
    let long: &'static str = Box::leak("é".repeat(300).into_boxed_str());
    let request = run_transaction(&mut client, |text| match text {
        _ if text.starts_with("SELECT c_credit") => vec![vec!["BC"]],
        _ if text.starts_with("SELECT c_data") => vec![vec![long]],
        _ => answer(text),
    });
    let update = request.texts.iter().find(|text| text.starts_with("UPDATE bmsql_customer")).unwrap();
    let note = update.split('\'').nth(1).unwrap();
    assert!((499..=500).contains(&note.len()), "{} bytes", note.len());
}

#[test]
fn fifteen_percent_of_payments_are_remote() {
    let mut client = only("payment", &json!({"warehouses": 5}));
    let (mut remote, draws) = (0, 4_000);
    for _ in 0..draws {
        let request = transaction(&mut client);
        let update = request.texts.iter().find(|text| text.starts_with("UPDATE bmsql_customer")).unwrap();
        remote += u32::from(number_after(update, "c_w_id = ") != 1);
        let warehouse = request.texts.iter().find(|text| text.starts_with("UPDATE bmsql_warehouse")).unwrap();
        assert_eq!(number_after(warehouse, "w_id = "), 1, "paid at home");
    }
    // The standard deviation is 23.
    assert!((510..=690).contains(&remote), "{remote} of {draws}");
}

#[test]
fn one_percent_of_lines_are_remote() {
    let mut client = only("new_order", &json!({"warehouses": 5}));
    let (mut remote, mut lines) = (0u32, 0u32);
    for _ in 0..3_000 {
        let request = transaction(&mut client);
        let order = request.texts.iter().find(|text| text.starts_with("INSERT INTO bmsql_oorder")).unwrap();
        let mut any = false;
        for text in request.texts.iter().filter(|text| text.starts_with("SELECT s_quantity")) {
            lines += 1;
            let elsewhere = number_after(text, "s_w_id = ") != 1;
            remote += u32::from(elsewhere);
            any |= elsewhere;
        }
        let take = request.texts.iter().find(|text| text.starts_with("UPDATE bmsql_stock"));
        if let (Some(take), Next::Done(None)) = (take, &request.end) {
            assert_eq!(take.contains("s_remote_cnt = s_remote_cnt + 1"), any);
            assert_eq!(order.ends_with(", 0)"), any, "o_all_local: {order}");
        }
    }
    let share = f64::from(remote) / f64::from(lines);
    assert!((0.008..0.012).contains(&share), "{remote} of {lines}");
}

#[test]
fn order_status_reads_customer_last_order_and_lines() {
    let mut client = only("order_status", &json!({}));
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let request = transaction(&mut client);
        let named = request.texts.iter().any(|text| text.starts_with("SELECT c_id"));
        let middle: &[&str] = if named { &["SELECT customer"] } else { &[] };
        let end = ["SELECT customer", "SELECT oorder", "SELECT order_line", "COMMIT"];
        assert_eq!(outline(&request.texts), [&["BEGIN"][..], middle, &end[..]].concat());
        assert_eq!(number_after(&request.texts[request.texts.len() - 2], "ol_o_id = "), 3_000);
        seen.insert(named);
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn delivery_takes_the_oldest_order_of_each_district() {
    let mut client = only("delivery", &json!({}));
    let request = transaction(&mut client);
    let statements = [
        "SELECT new_order",
        "DELETE new_order",
        "UPDATE oorder",
        "SELECT oorder",
        "UPDATE order_line",
        "SELECT order_line",
        "UPDATE customer",
    ];
    assert_eq!(outline(&request.texts), [&["BEGIN"][..], &statements.repeat(10), &["COMMIT"]].concat());
    assert_eq!(request.end, Next::Done(None));
    for (district, texts) in request.texts[1..71].chunks(7).enumerate() {
        assert_eq!(number_after(&texts[0], "no_d_id = "), district as u64 + 1);
        assert_eq!(number_after(&texts[1], "no_o_id = "), 2_101);
        assert!(texts[6].contains("c_balance + 1234.56") && texts[6].ends_with("c_id = 77"), "{}", texts[6]);
    }
}

#[test]
fn empty_districts_are_skipped_and_counted() {
    let mut client = only("delivery", &json!({}));
    client.begin();
    let request = run_transaction(&mut client, |text| {
        if text.starts_with("SELECT no_o_id") && text.contains("no_d_id = 4") { vec![] } else { answer(text) }
    });
    assert_eq!(request.end, Next::Done(Some(SKIPPED)));
    assert_eq!(request.texts.len(), 1 + 9 * 7 + 1 + 1);
    client.begin();
    assert_eq!(run_transaction(&mut client, answer).end, Next::Done(None), "the next one is another");
}

#[test]
fn concurrently_delivered_order_is_skipped() {
    let mut client = only("delivery", &json!({}));
    client.begin();
    let mut taken = false;
    let request = run_transaction(&mut client, |text| {
        // For a DELETE, the answer's length is its row count.
        let delete = text.starts_with("SELECT no_o_id FROM") && text.contains("no_o_id = ");
        if delete && !std::mem::replace(&mut taken, true) { vec![] } else { answer(text) }
    });
    let expected = [
        "BEGIN",
        "SELECT new_order",
        "DELETE new_order",
        "SELECT new_order",
        "DELETE new_order",
        "UPDATE oorder",
    ];
    assert_eq!(outline(&request.texts)[..6], expected);
    assert_eq!(request.end, Next::Done(None));
}

#[test]
fn stock_level_is_one_query_on_the_home_district() {
    let mut client = only("stock_level", &json!({"warehouses": 3}));
    client.home = Home { warehouse: 2, district: 9 };
    let request = transaction(&mut client);
    assert_eq!(outline(&request.texts), ["BEGIN", "SELECT stock", "COMMIT"]);
    let count = &request.texts[1];
    assert_eq!((number_after(count, " s_w_id = "), number_after(count, "d_w_id = ")), (2, 2));
    assert!(count.ends_with("d_id = 9)"), "{count}");
    assert!((10..=20).contains(&number_after(count, "s_quantity < ")));
}
