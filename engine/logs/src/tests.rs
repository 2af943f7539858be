//! Any bytes at all: nothing panics, every line is counted once, and blocks of any size give the same.

use std::io;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::benchmarksql::Table;
use super::lines::{Reader, Unfinished, blocks, read};
use super::pgbench_log::Log;
use loadcell_core::observe::{Directive, Observer};

const ONE_BLOCK: usize = 1 << 16;

fn through<R: Reader>(mut reader: R, text: &[u8], size: usize) -> R {
    blocks(&mut { text }, size, &mut reader, &mut |_| io::Result::Ok(())).unwrap();
    reader
}

fn log(text: &[u8], size: usize) -> Value {
    through(Log::default(), text, size).summary()
}

fn table(text: &[u8], size: usize) -> Value {
    through(Table::default(), text, size).summary()
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

/// Lines of a log that are counted in one way or another.
fn counted(log: &Value) -> u64 {
    log["count"].as_u64().unwrap() + sum(&log["words"]) + log["unread"].as_u64().unwrap()
}

fn filled_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

#[test]
fn a_log_has_its_transactions_its_clients_and_those_that_failed() {
    let text = b"3 1 1500 0 100 500000\n0 1 2500 0 101 0 17 1\r\n1 1 serialization 0 101 5\n\
        1 2 failed 0 101 6 0 2\n\
        1 3 failed 0 101 7\n\n  \n1 3 -5 0 1 1\n0 12 55";
    let summary = log(text, ONE_BLOCK);
    assert_eq!((&summary["count"], &summary["clients"]), (&json!(2), &json!(2)));
    assert_eq!(summary["words"], json!({"failed": 2, "serialization": 1}));
    assert_eq!((&summary["unread"], &summary["examples"]), (&json!(2), &json!(["1 3 -5 0 1 1", "0 12 55"])));
    assert_eq!((&summary["began_s"], &summary["length_s"]), (&json!(100.4985), &json!(101.0 - 100.4985)));
}

#[test]
fn a_field_that_counts_for_nothing_may_be_anything_and_every_other_may_not() {
    for line in ["0 x 55 0 1 1", "0  55  1 1", "0 1 55 0 1 1 rest", "0 1 55 0 1 1 "] {
        assert_eq!(log(line.as_bytes(), ONE_BLOCK)["count"], 1, "{line}");
    }
    for line in [
        "0 1 55 0 1",
        " 0 1 55 0 1 1",
        "0\t1 55 0 1 1",
        "1048576 1 55 0 1 1",
        "0 1 5.5 0 1 1",
        "0 1 99999999999999999999 0 1 1",
        "0 1 55 0 99999999999999 1",
        "0 1 55 0 1 1x",
        "\u{feff}0 1 55 0 1 1",
        "0 1 \"55\" 0 1 1",
        "+0 1 55 0 1 1",
        "0 1 Failed 0 1 1",
        "0 1 1,234 0 1 1",
        "0 1 55 0 1 1\r0 1 55 0 1 1",
    ] {
        assert_eq!(
            (&log(line.as_bytes(), ONE_BLOCK)["count"], &log(line.as_bytes(), ONE_BLOCK)["unread"]),
            (&json!(0), &json!(1)),
            "{line}"
        );
    }
}

#[test]
fn no_log_has_ever_more_words() {
    let text: String = ('a'..='z').map(|word| format!("0 1 {word} 0 1 1\n")).collect();
    let summary = log(text.as_bytes(), ONE_BLOCK);
    assert_eq!((sum(&summary["words"]), &summary["unread"]), (16, &json!(10)));
}

const HEAD: &str = "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n";

#[test]
fn a_table_has_runs_types_and_what_was_rolled_back() {
    let rows = "7,1000,10,10,NEW_ORDER,0,0,0\n7,2000,20,20,NEW_ORDER,1,0,0\r\n7,3000,30,30,NEW_ORDER,0,0,1\n\
        8,5,1,1,PAYMENT,0,0,0\n\
        7,30000,90,90,DELIVERY_BG,0,2,0\n7,29000,6,6,DELIVERY,0,0,0,more\n";
    let summary = table(format!("\u{feff}{HEAD}{rows}{HEAD}").as_bytes(), ONE_BLOCK);
    let (first, second) = (&summary["runs"][0], &summary["runs"][1]);
    assert_eq!(
        (&first["run"], &first["count"], &first["failed"], &first["ended_s"]),
        (&json!(7), &json!(3), &json!(1), &json!(30.0))
    );
    assert_eq!(
        (&first["types"]["NEW_ORDER"]["count"], &first["rolled_back"]["count"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        (&first["response"]["max_ms"], &first["types"]["DELIVERY"]["response"]["mean_ms"]),
        (&json!(20.0), &json!(6.0))
    );
    assert_eq!((&second["run"], &second["count"], &summary["unread"]), (&json!(8), &json!(1), &json!(0)));
}

#[test]
fn a_row_that_is_no_whole_one_is_unread() {
    for row in [
        "7,1000,10,10,NEW_ORDER,0,0",
        "7,1000,10,10,NEWORDER,0,0,0",
        "7,-1,10,10,PAYMENT,0,0,0",
        "7,1,-10,10,PAYMENT,0,0,0",
        "\"7\",1,10,10,PAYMENT,0,0,0",
        "7,1,10,10,\"PAYMENT\",0,0,0",
        "7,1.5,10,10,PAYMENT,0,0,0",
        "7;1;10;10;PAYMENT;0;0;0",
        "7,1,10,10,PAYMENT,,0,0",
        "7,1,10,10,DELIVERY_,0,0,0",
        "7,9999999999999999,10,10,PAYMENT,0,0,0",
        "\0\u{ff}",
    ] {
        let summary = table(format!("{HEAD}{row}\n").as_bytes(), ONE_BLOCK);
        assert_eq!((&summary["unread"], &summary["runs"]), (&json!(1), &json!([])), "{row}");
    }
}

#[test]
fn no_table_has_ever_more_runs() {
    let rows: String = (0..1_200).map(|run| format!("{run},10,5,5,PAYMENT,0,0,0\n")).collect();
    let summary = table(rows.as_bytes(), ONE_BLOCK);
    assert_eq!((summary["runs"].as_array().unwrap().len(), &summary["unread"]), (1_000, &json!(200)));
}

/// Aborts after a number of events.
struct Impatient {
    events: Vec<Value>,
    most: usize,
}

impl Observer for Impatient {
    fn event(&mut self, event: &Value) -> Directive {
        self.events.push(event.clone());
        if self.events.len() < self.most { Directive::Continue } else { Directive::Abort }
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

#[test]
fn files_are_read_one_after_the_other_with_word_of_how_far_it_is() {
    let home = std::env::temp_dir().join(format!("loadcell-import-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let files = [home.join("one"), home.join("two")];
    let line = format!("0 1 55 0 1 {}", "1".repeat(15));
    // The last line of the first file has no end.
    std::fs::write(&files[0], [line.as_str()].repeat(700_000).join("\n")).unwrap();
    std::fs::write(&files[1], "0 1 55 0 1 1\n").unwrap();
    let mut patient = Impatient { events: Vec::new(), most: 99 };
    let mut log = Log::default();
    read(&files, &mut log, &mut patient).unwrap();
    let mut impatient = Impatient { events: Vec::new(), most: 1 };
    let ended = read(&files, &mut Log::default(), &mut impatient);
    let gone = read(&[home.join("none")], &mut Log::default(), &mut impatient);
    std::fs::remove_dir_all(&home).unwrap();
    assert_eq!(log.summary()["count"], 700_001);
    let progress = &patient.events[0];
    assert_eq!((&progress["type"], patient.events.len()), (&json!("progress"), 1));
    assert!(
        progress["read_bytes"].as_u64() >= Some(16 << 20)
            && progress["total_bytes"].as_u64() >= progress["read_bytes"].as_u64(),
        "{progress}"
    );
    assert!(matches!(ended, Err(Unfinished::Aborted)));
    assert!(matches!(gone, Err(Unfinished::Io(_))));
}

/// Lines of a log and of a table, whole and damaged, and bytes without a meaning.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let transaction = (0..99u32, 0..9_999u32, 0..3_000_000u32, 0..400u32, 0..1_000_000u32).prop_map(
        |(client, number, ticks, second, micro)| format!("{client} {number} {ticks} 0 {second} {micro}"),
    );
    let row = (0..3i64, 0..90_000u32, 0..900u32, 0..7usize, 0..2u32, 0..2u32).prop_map(
        |(run, elapsed, latency, kind, back, error)| {
            let names =
                ["NEW_ORDER", "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY", "DELIVERY_BG", "OTHER"];
            format!("{run},{elapsed},{latency},{latency},{},{back},0,{error}", names[kind])
        },
    );
    let word = prop_oneof![Just("failed"), Just("skipped"), Just("deadlock")]
        .prop_map(|word| format!("0 1 {word} 0 1 1"));
    let valid = prop_oneof![8 => transaction, 8 => row, 1 => word, 1 => Just(HEAD.trim_end().to_string())]
        .prop_map(String::into_bytes);
    let damaged =
        (valid.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
            let at = at.index(line.len());
            line[at] = byte;
            line
        });
    let line = prop_oneof![4 => valid, 2 => damaged, 1 => prop::collection::vec(any::<u8>(), 0..40)];
    (prop::collection::vec(line, 0..60), prop_oneof![Just(&b"\n"[..]), Just(&b"\r\n"[..])])
        .prop_map(|(lines, end)| lines.join(end))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_a_log_is_counted_once(text in text()) {
        let summary = log(&text, ONE_BLOCK);
        prop_assert_eq!(counted(&summary), filled_lines(&text).count() as u64);
    }

    #[test]
    fn every_row_of_a_table_is_counted_once(text in text()) {
        let summary = table(&text, ONE_BLOCK);
        let runs = summary["runs"].as_array().unwrap();
        let count = |run: &Value| run["count"].as_u64().unwrap() + run["failed"].as_u64().unwrap();
        let counted: u64 = runs.iter().map(count).sum();
        for run in runs {
            let types = run["types"].as_object().unwrap().values();
            prop_assert_eq!(
                &run["count"], &json!(types.map(|counts| counts["count"].as_u64().unwrap()).sum::<u64>())
            );
        }
        // Heads and what is deferred count for nothing, where they are not damaged.
        let nothing = filled_lines(&text).filter(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
            line.starts_with(HEAD.trim_end().as_bytes()) || fields.get(4) == Some(&&b"DELIVERY_BG"[..])
        });
        let ignored = filled_lines(&text).count() as u64 - counted - summary["unread"].as_u64().unwrap();
        prop_assert!(ignored <= nothing.count() as u64);
    }

    #[test]
    fn blocks_of_any_size_give_the_same(text in text(), size in 64usize..600) {
        prop_assume!(filled_lines(&text).all(|line| line.len() < 60));
        prop_assert_eq!(log(&text, size), log(&text, ONE_BLOCK));
        prop_assert_eq!(table(&text, size), table(&text, ONE_BLOCK));
    }

    #[test]
    fn bytes_without_a_meaning_are_unread(
        text in prop::collection::vec(any::<u8>(), 0..4_000), size in 2usize..99
    ) {
        log(&text, size);
        table(&text, size);
        let summary = log(&text, ONE_BLOCK);
        prop_assert_eq!(
            counted(&summary), filled_lines(&text).count() as u64
        );
    }
}
