//! Records of the load phase: each is a function of the seed and its number.

use std::ops::Range;

use super::client::Fields;
use super::options::{Options, Phase};
use crate::dataload::{Data, Table};
use crate::keyvalue::keys::KeyShape;
use loadcell_core::random::Random;
use loadcell_core::target::Dialect;

/// Separates the random streams of records from those of clients with the same seed.
const RECORDS: u64 = 0x7265_636f_7264_7379; // "recordsy"

/// Initial records, independent of the store.
pub struct Records {
    keys: KeyShape,
    fields: Fields,
    pub field_count: usize,
    /// Number of the first record, and of all.
    start: u64,
    pub count: u64,
    seed: u64,
}

impl Records {
    pub fn new(options: &Options, seed: u64) -> Self {
        Self {
            keys: options.key_shape(),
            fields: Fields::new(options),
            field_count: options.fieldcount as usize,
            start: options.insertstart,
            count: if options.phase == Phase::Run { options.insertcount() } else { 0 },
            seed: seed ^ RECORDS,
        }
    }

    /// Append the key of the record at index `index` (from 0).
    pub fn key(&self, index: u64, out: &mut Vec<u8>) {
        self.keys.write(self.start + index, out);
    }

    /// Pass the values of all its fields in order to `show`.
    pub fn fields(&self, index: u64, mut show: impl FnMut(&[u8])) {
        let mut random = Random::stream(self.seed, self.start + index);
        let (mut fields, mut value) = (self.fields.clone(), Vec::new());
        for _ in 0..self.field_count {
            value.clear();
            fields.write(&mut random, &mut value);
            show(&value);
        }
    }
}

/// The table of a database.
pub struct DataSet {
    tables: Vec<Table>,
    records: Records,
}

impl DataSet {
    pub fn new(dialect: Dialect, options: &Options, seed: u64) -> Self {
        let records = Records::new(options, seed);
        let name = options.table.clone();
        let columns: Vec<String> = options.fields().iter().map(|field| field.to_uppercase()).collect();
        let typed =
            |kind: &str| columns.iter().map(|column| format!(", {column} {kind}")).collect::<String>();
        let list = columns.join(", ");
        let length = (options.fieldlength + 4) * u64::from(options.fieldcount) + 40;
        let table =
            Table { rows: records.count, units: records.count, unit_bytes: length, ..Table::default() };
        let table = match dialect {
            Dialect::Postgres => Table {
                create: format!("CREATE TABLE {name} (YCSB_KEY VARCHAR(255) NOT NULL{})", typed("TEXT")),
                copy: format!("COPY {name} (YCSB_KEY, {list}) FROM STDIN"),
                indexes: vec![format!("CREATE UNIQUE INDEX {name}_pkey ON {name} (YCSB_KEY)")],
                keys: vec![format!("ALTER TABLE {name} ADD PRIMARY KEY USING INDEX {name}_pkey")],
                finish: vec![format!("VACUUM (ANALYZE) {name}")],
                name,
                ..table
            },
            Dialect::Mysql => Table {
                // Keys are compared bytewise, as in other stores.
                create: format!(
                    "CREATE TABLE {name} (YCSB_KEY VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT \
                    NULL{}, \
                     PRIMARY KEY (YCSB_KEY)) ENGINE = InnoDB",
                    typed(if options.fieldlength > MOST_OF_TEXT { "LONGTEXT" } else { "TEXT" })
                ),
                copy: format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name} (YCSB_KEY, {list})"),
                finish: vec![format!("ANALYZE TABLE {name}")],
                name,
                ..table
            },
        };
        Self { tables: vec![table], records }
    }
}

/// Capacity of MySQL's TEXT in bytes.
const MOST_OF_TEXT: u64 = 65_535;

impl Data for DataSet {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn rows(&self, _table: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let count = units.end - units.start;
        for index in units {
            self.records.key(index, out);
            self.records.fields(index, |value| {
                out.push(b'\t');
                out.extend_from_slice(value);
            });
            out.push(b'\n');
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rows(section: &Value, units: Range<u64>) -> String {
        let data = DataSet::new(Dialect::Postgres, &Options::of(section).unwrap(), 1);
        let mut out = Vec::new();
        assert_eq!(data.rows(0, units.clone(), &mut out), units.end - units.start);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn row_has_key_and_fields() {
        let text = rows(&json!({"fieldcount": 3, "fieldlength": 7}), 0..3);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        let keys: Vec<_> = lines.iter().map(|line| line[0]).collect();
        assert_eq!(keys, ["user6284781860667377211", "user8517097267634966620", "user1820151046732198393"]);
        assert!(lines.iter().all(|line| line.len() == 4 && line[1..].iter().all(|field| field.len() == 7)));
        assert_ne!(lines[0][1..], lines[1][1..]);
    }

    #[test]
    fn rows_do_not_depend_on_partitioning() {
        let section = json!({"fieldlengthdistribution": "uniform", "insertstart": 100, "hashed": false,
            "zeropadding": 6});
        let unsplit = rows(&section, 0..100);
        assert_eq!(rows(&section, 0..33) + &rows(&section, 33..100), unsplit);
        assert!(unsplit.starts_with("user000100\t"));
    }

    #[test]
    fn load_phase_starts_without_records() {
        let options = Options::of(&json!({"phase": "load"})).unwrap();
        let data = DataSet::new(Dialect::Postgres, &options, 1);
        assert_eq!((data.tables()[0].rows, data.records.count), (0, 0));
        assert!(
            data.tables()[0]
                .create
                .starts_with("CREATE TABLE usertable (YCSB_KEY VARCHAR(255) NOT NULL, FIELD0 TEXT")
        );
    }
}
