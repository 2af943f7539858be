//! Data as a specification: cardinalities, values and distributions of clause 4.3.3.

use std::collections::{HashMap, HashSet};

use super::*;
use serde_json::json;

fn data(warehouses: u32, seed: u64) -> DataSet {
    DataSet::new(Dialect::Postgres, &Options::of(&json!({"warehouses": warehouses})).unwrap(), seed)
}

fn cut(data: &DataSet, of: Of, units: Range<u64>) -> String {
    let table = Of::ALL.iter().position(|kind| *kind == of).unwrap();
    let mut out = Vec::new();
    let rows = data.rows(table, units, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count() as u64, rows);
    text
}

/// Rows of a table, split into columns.
fn rows(data: &DataSet, of: Of, units: Range<u64>) -> Vec<Vec<String>> {
    cut(data, of, units).lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is a number"))
}

fn share_of(count: usize, total: usize) -> f64 {
    count as f64 / total as f64
}

#[test]
fn rows_depend_on_the_seed_and_not_on_partitioning() {
    let (seven, eight) = (data(2, 7), data(2, 8));
    for of in Of::ALL {
        let units = seven.tables()[of as usize].units.min(7_000);
        let unsplit = cut(&seven, of, 0..units);
        let middle = units / 2 + 1;
        assert_eq!(
            cut(&seven, of, 0..middle.min(units)) + &cut(&seven, of, middle.min(units)..units),
            unsplit,
            "{of:?}"
        );
        assert_eq!(cut(&data(2, 7), of, 0..units), unsplit, "{of:?}");
        let fixed = matches!(of, Of::NewOrder | Of::Config);
        assert_eq!(cut(&eight, of, 0..units) == unsplit, fixed, "{of:?}");
    }
}

#[test]
fn orders_and_their_lines_agree() {
    let data = data(1, 1);
    let orders = rows(&data, Of::Order, 0..30_000);
    let lines = rows(&data, Of::OrderLine, 0..30_000);
    assert_eq!(lines.len() as u64, data.tables()[Of::OrderLine as usize].rows);
    let mut counts: HashMap<(String, String), u64> = HashMap::new();
    for line in &lines {
        let count = counts.entry((line[1].clone(), line[2].clone())).or_default();
        *count += 1;
        assert_eq!(number(&line[3]), *count, "lines are numbered from 1");
        assert!((1..=100_000).contains(&number(&line[4])));
        let delivered = number(&line[2]) < 2_101;
        assert_eq!(line[5] == "\\N", !delivered);
        assert_eq!(line[6] == "0.00", delivered);
        assert_eq!((line[7].as_str(), line[8].as_str(), line[9].len()), ("1", "5", 24));
    }
    let mut each_count = [0; 16];
    for order in &orders {
        assert_eq!(counts[&(order[1].clone(), order[2].clone())], number(&order[5]));
        each_count[number(&order[5]) as usize] += 1;
        let delivered = number(&order[2]) < 2_101;
        assert_eq!(order[4] == "\\N", !delivered);
        assert!(!delivered || (1..=10).contains(&number(&order[4])));
        assert_eq!(order[6], "1", "all local");
    }
    // 30,000 in 11 classes: a standard deviation of 50.
    assert!(each_count[5..].iter().all(|count| (2_500..2_960).contains(count)), "{each_count:?}");
}

#[test]
fn each_customer_has_one_order_in_random_order() {
    let data = data(1, 1);
    let orders = rows(&data, Of::Order, 0..6_000);
    let customers = |district: usize| -> Vec<u64> {
        orders[district * 3_000..(district + 1) * 3_000].iter().map(|order| number(&order[3])).collect()
    };
    for district in 0..2 {
        let customers = customers(district);
        assert_eq!(customers.iter().collect::<HashSet<_>>().len(), 3_000);
        assert_eq!((customers.iter().min(), customers.iter().max()), (Some(&1), Some(&3_000)));
        let in_place = customers.iter().zip(1..).filter(|(customer, order)| **customer == *order).count();
        assert!(in_place < 10, "{in_place} customers have the order of their own number");
    }
    assert_ne!(customers(0), customers(1));
}

#[test]
fn orders_from_2101_are_undelivered() {
    let data = data(2, 1);
    let waiting = rows(&data, Of::NewOrder, 0..18_000);
    assert_eq!(waiting[0], ["1", "1", "2101"]);
    assert_eq!(waiting[899], ["1", "1", "3000"]);
    assert_eq!(waiting[900], ["1", "2", "2101"]);
    assert_eq!(waiting[17_999], ["2", "10", "3000"]);
}

#[test]
fn customers_are_as_specified() {
    let data = data(1, 1);
    let customers = rows(&data, Of::Customer, 0..30_000);
    let bad = customers.iter().filter(|customer| customer[4] == "BC").count();
    assert!((0.092..0.108).contains(&share_of(bad, 30_000)), "{bad} of bad credit");
    let mut names: HashMap<&str, u32> = HashMap::new();
    for customer in &customers {
        assert_eq!(customer.len(), 21);
        assert_eq!(
            (customer[7].as_str(), customer[8].as_str(), customer[9].as_str()),
            ("50000.00", "-10.00", "10.00")
        );
        assert_eq!((customer[10].as_str(), customer[11].as_str()), ("1", "0"));
        assert!(customer[3].parse::<f64>().unwrap() <= 0.5);
        assert!((8..=16).contains(&customer[6].len()));
        assert!(customer[16].len() == 9 && customer[16].ends_with("11111"));
        assert_eq!((customer[17].len(), customer[19].as_str()), (16, "OE"));
        assert!((300..=500).contains(&customer[20].len()));
        *names.entry(&customer[5]).or_default() += 1;
    }
    assert_eq!(customers[0][5], "BARBARBAR");
    assert_eq!(customers[999][5], "EINGEINGEING");
    assert_eq!(names.len(), 1_000, "each name is there in each district");
    assert!(names.values().all(|&count| count >= 10));
    let mut counts: Vec<_> = names.values().copied().collect();
    counts.sort_unstable();
    assert!(counts[999] > 3 * counts[500], "names are not uniform: {} and {}", counts[999], counts[500]);
}

#[test]
fn items_and_stock_are_as_specified() {
    let data = data(2, 1);
    let items = rows(&data, Of::Item, 0..100_000);
    assert_eq!((items[0][0].as_str(), items[99_999][0].as_str()), ("1", "100000"));
    let original = items.iter().filter(|item| item[3].contains("ORIGINAL")).count();
    assert!((0.095..0.105).contains(&share_of(original, 100_000)), "{original} are original");
    for item in &items {
        assert!((14..=24).contains(&item[1].len()) && (26..=50).contains(&item[3].len()));
        assert!((1.0..=100.0).contains(&item[2].parse::<f64>().unwrap()));
        assert!((1..=10_000).contains(&number(&item[4])));
    }
    let stock = rows(&data, Of::Stock, 99_990..100_010);
    assert_eq!((stock[9][0].as_str(), stock[9][1].as_str()), ("1", "100000"));
    assert_eq!((stock[10][0].as_str(), stock[10][1].as_str()), ("2", "1"));
    for row in &stock {
        assert!((10..=100).contains(&number(&row[2])));
        assert_eq!((row[3].as_str(), row[4].as_str(), row[5].as_str()), ("0.00", "0", "0"));
        assert!((26..=50).contains(&row[6].len()) && row[7..].iter().all(|text| text.len() == 24));
        assert_eq!(row.len(), 17);
    }
}

#[test]
fn warehouses_districts_history_and_settings_are_as_specified() {
    let data = data(2, 1);
    let warehouses = rows(&data, Of::Warehouse, 0..2);
    let districts = rows(&data, Of::District, 0..20);
    assert_eq!((warehouses[1][0].as_str(), warehouses[1][1].as_str()), ("2", "300000.00"));
    assert_eq!(districts[19][..3], ["2", "10", "30000.00"]);
    for (row, tax) in
        warehouses.iter().map(|row| (row, &row[2])).chain(districts.iter().map(|row| (row, &row[3])))
    {
        assert!(tax.parse::<f64>().unwrap() <= 0.2, "{row:?}");
    }
    assert!(districts.iter().all(|district| district[4] == "3001"));
    let history = rows(&data, Of::History, 29_999..30_001);
    assert_eq!(history[0][..6], ["30000", "3000", "10", "1", "10", "1"]);
    assert_eq!(history[1][..6], ["30001", "1", "1", "2", "1", "2"]);
    assert_eq!(history[0][7], "10.00");
    assert!((12..=24).contains(&history[0][8].len()));
    assert_eq!(rows(&data, Of::Config, 0..2), [["warehouses", "2"], ["nURandCLast", "157"]]);
}
