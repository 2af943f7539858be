//! Chosen operations, compared with YCSB's definitions.

use serde_json::{Value, json};

use super::client::{Act, Client, Clients, Fields};
use super::options::Options;
use crate::keyvalue::keys::fnv;
use crate::keyvalue::zipf::{Gray, zeta};
use loadcell_core::fit::{deviation, fits};
use loadcell_core::random::Random;
use loadcell_core::record::Kind;

fn options(section: &Value) -> Options {
    Options::of(section).unwrap()
}

fn client(section: &Value) -> Client {
    Clients::new(&options(section), 42, 1).client(0)
}

#[test]
fn core_workloads_have_their_mixes() {
    let of = [
        ("A", json!({"read": 0.5, "update": 0.5}), vec![Act::Read, Act::Update]),
        ("B", json!({"read": 0.95, "update": 0.05}), vec![Act::Read, Act::Update]),
        ("C", json!({"read": 1, "update": 0}), vec![Act::Read]),
        ("D", json!({"read": 0.95, "update": 0, "insert": 0.05}), vec![Act::Read, Act::Insert]),
        ("E", json!({"read": 0, "update": 0, "scan": 0.95, "insert": 0.05}), vec![Act::Scan, Act::Insert]),
        (
            "F",
            json!({"read": 0.5, "update": 0, "readmodifywrite": 0.5}),
            vec![Act::Read, Act::ReadModifyWrite],
        ),
    ];
    for (name, proportions, acts) in of {
        let mut client = client(&json!({"proportions": proportions}));
        let mut counts = vec![0usize; acts.len()];
        for _ in 0..100_000 {
            let request = client.next();
            counts[acts.iter().position(|act| *act == request.act).expect(name)] += 1;
            if request.act == Act::Insert {
                client.inserted(request.record);
            }
        }
        let first = if acts.len() == 1 { 1.0 } else { [0.95, 0.5][usize::from("AF".contains(name))] };
        let shares: Vec<f64> = if acts.len() == 1 { vec![1.0] } else { vec![first, 1.0 - first] };
        assert!(deviation(&counts, &shares) < 3.1, "{name}: {counts:?}");
    }
}

#[test]
fn operations_have_ycsb_names() {
    let names = |proportions| -> Vec<(&str, Kind)> {
        let clients = Clients::new(&options(&json!({"proportions": proportions})), 1, 1);
        clients.operations().iter().map(|operation| (operation.name, operation.kind)).collect()
    };
    let (transaction, missed) = (("transaction", Kind::Transaction), ("missed", Kind::Outcome));
    let (read, update) = (("READ", Kind::Read), ("UPDATE", Kind::Write));
    assert_eq!(names(json!({})), [transaction, read, update, missed]);
    assert_eq!(
        names(json!({"read": 1, "update": 0, "readmodifywrite": 1})),
        [transaction, read, update, ("READ-MODIFY-WRITE", Kind::Type), missed]
    );
    assert_eq!(
        names(json!({"read": 0, "update": 0, "scan": 1, "insert": 1})),
        [transaction, ("INSERT", Kind::Write), ("SCAN", Kind::Read)]
    );
    let load = Clients::new(&options(&json!({"phase": "load"})), 1, 1);
    assert_eq!(
        load.operations().iter().map(|operation| operation.name).collect::<Vec<_>>(),
        ["transaction", "INSERT"]
    );
}

fn records(section: &Value, probabilities: &[f64]) {
    let mut client = client(section);
    fits(&section.to_string(), probabilities, |_| client.next().record);
}

#[test]
fn records_are_chosen_as_in_ycsb() {
    records(&json!({"recordcount": 500}), &[1.0 / 500.0; 500]);
    let mut latest = Gray::probabilities(0.99, 500);
    latest.reverse();
    records(&json!({"recordcount": 500, "requestdistribution": "latest"}), &latest);
    let hot: Vec<f64> = (0..500).map(|k| if k < 100 { 0.008 } else { 0.0005 }).collect();
    records(&json!({"recordcount": 500, "requestdistribution": "hotspot"}), &hot);
    let mean = 500.0 * 0.857_142_857_1 / -(0.05f64).ln();
    let tail = |back: f64| (-back / mean).exp();
    let exponential: Vec<f64> =
        (0..500).rev().map(|back| tail(f64::from(back)) - tail(f64::from(back) + 1.0)).collect();
    let inside: f64 = exponential.iter().sum();
    let exponential: Vec<f64> = exponential.into_iter().map(|p| p / inside).collect();
    records(&json!({"recordcount": 500, "requestdistribution": "exponential"}), &exponential);
}

#[test]
fn only_loaded_records_are_chosen() {
    let mut uniform = client(&json!({"recordcount": 100, "insertstart": 40, "insertcount": 20}));
    assert!((0..2_000).all(|_| (40..60).contains(&uniform.next().record)));
    let mut sequential =
        client(&json!({"recordcount": 5, "insertstart": 2, "requestdistribution": "sequential"}));
    assert_eq!((0..5).map(|_| sequential.next().record).collect::<Vec<_>>(), [2, 3, 4, 2, 3]);
}

#[test]
fn hottest_zipfian_record_has_ycsb_share() {
    for recordcount in [1_000u64, 1_000_000] {
        let mut client = client(&json!({"recordcount": recordcount, "requestdistribution": "zipfian"}));
        let hottest = fnv(0) % recordcount;
        let share = (0..200_000).filter(|_| client.next().record == hottest).count() as f64 / 200_000.0;
        let expected = 1.0 / 26.469_028_201_783_02 + 0.96 / recordcount as f64;
        assert!((share - expected).abs() < 0.002, "{share} of {recordcount}");
    }
}

#[test]
fn hot_records_stay_hot_during_inserts() {
    let section = json!({"recordcount": 1_000, "expected_inserts": 500, "requestdistribution": "zipfian",
        "proportions": {"read": 0.9, "update": 0, "insert": 0.1}});
    let mut client = client(&section);
    let mut newest = 999;
    let mut beyond = 0;
    for _ in 0..20_000 {
        let request = client.next();
        if request.act == Act::Insert {
            newest += 1;
            assert_eq!(request.record, newest);
            client.inserted(request.record);
        } else {
            assert!(request.record <= newest.min(1_499), "{} is not there", request.record);
            beyond += u32::from(request.record > 999);
        }
    }
    assert!(beyond > 1_000, "inserted records are asked for");
}

#[test]
fn records_are_not_read_before_they_exist() {
    let section = json!({"recordcount": 10, "requestdistribution": "latest",
        "proportions": {"read": 0.5, "update": 0, "insert": 0.5}});
    let mut client = client(&section);
    for _ in 0..1_000 {
        let request = client.next();
        assert!(request.act == Act::Insert || request.record < 10);
    }
}

#[test]
fn load_phase_inserts_in_sequence() {
    let mut client = client(&json!({"phase": "load", "recordcount": 50, "insertstart": 7}));
    for record in 7..50 {
        let request = client.next();
        assert_eq!((request.act, request.record), (Act::Insert, record));
        client.inserted(record);
    }
}

#[test]
fn lengths_follow_their_description() {
    let scans = |how: &str| {
        json!({"proportions": {"read": 0, "update": 0, "scan": 1}, "maxscanlength": 100,
        "scanlengthdistribution": how})
    };
    let mut uniform = client(&scans("uniform"));
    fits("uniform scans", &[0.01; 100], |_| uniform.next().rows - 1);
    let mut zipfian = client(&scans("zipfian"));
    fits("zipfian scans", &Gray::probabilities(0.99, 100), |_| zipfian.next().rows - 1);
    let field = |section: Value| {
        let mut fields = Fields::new(&options(&section));
        move |random: &mut Random| {
            let mut value = Vec::new();
            fields.write(random, &mut value);
            value.len() as u64
        }
    };
    let mut constant = field(json!({"fieldlength": 42}));
    assert_eq!(constant(&mut Random::stream(1, 1)), 42);
    let mut uniform =
        field(json!({"fieldlength": 30, "minfieldlength": 11, "fieldlengthdistribution": "uniform"}));
    fits("uniform fields", &[0.05; 20], |random| uniform(random) - 11);
    let mut zipfian = field(json!({"fieldlength": 50, "fieldlengthdistribution": "zipfian"}));
    fits("zipfian fields", &Gray::probabilities(0.99, 50), |random| zipfian(random) - 1);
    assert!(zeta(50, 0.99) > 1.0);
}

#[test]
fn values_are_printable_without_escapes() {
    let mut fields = Fields::new(&options(&json!({"fieldlength": 10_000})));
    let mut value = Vec::new();
    fields.write(&mut Random::stream(3, 3), &mut value);
    assert_eq!(value.len(), 10_000);
    assert!(value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)));
    let mut counts = [0usize; 128];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let used: Vec<usize> = counts.into_iter().filter(|count| *count > 0).collect();
    assert!(used.len() == 64 && deviation(&used, &[1.0 / 64.0; 64]) < 3.1);
}

#[test]
fn one_field_or_all_are_read_and_written() {
    let mut client =
        client(&json!({"fieldcount": 4, "readallfields": false, "proportions": {"read": 1, "update": 1}}));
    let (mut read, mut written) = ([0usize; 4], [0usize; 4]);
    for _ in 0..20_000 {
        let request = client.next();
        match request.act {
            Act::Read => read[request.read.unwrap()] += 1,
            _ => written[request.written.unwrap()] += 1,
        }
        assert!(request.act == Act::Read || request.read.is_none());
    }
    assert!(deviation(&read, &[0.25; 4]) < 3.1 && deviation(&written, &[0.25; 4]) < 3.1);
}
