//! Data of sysbench: tables `sbtest1..N`; each row is a function of seed, table and id.

use std::ops::Range;

use super::options::Options;
use super::text;
use crate::dataload::{Data, Table};
use loadcell_core::random::{Distribution, Random};
use loadcell_core::target::Dialect;
use loadcell_protocols::digits::decimal;

/// Separates the random streams of rows from those of clients with the same seed.
const ROWS: u64 = 0x726f_7773_5f73_6274; // "rows_sbt"

/// Approximate size of a row in bytes: two numbers and two texts.
const ROW_BYTES: u64 = 200;

/// All tables of a sysbench workload.
pub struct DataSet {
    tables: Vec<Table>,
    table_size: u64,
    distribution: Distribution,
    seed: u64,
}

impl DataSet {
    pub fn new(dialect: Dialect, options: &Options, seed: u64) -> Self {
        Self {
            tables: (1..=options.tables).map(|number| table(dialect, number, options)).collect(),
            table_size: options.table_size,
            distribution: options.distribution,
            seed: seed ^ ROWS,
        }
    }
}

fn table(dialect: Dialect, number: u32, options: &Options) -> Table {
    let name = format!("sbtest{number}");
    let columns =
        "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL";
    let table = Table {
        rows: options.table_size,
        units: options.table_size,
        unit_bytes: ROW_BYTES,
        ..Table::default()
    };
    let second = options.create_secondary.then(|| format!("CREATE INDEX k_{number} ON {name}(k)"));
    match dialect {
        Dialect::Postgres => {
            let id = if options.auto_inc { "SERIAL" } else { "INTEGER" };
            let sequence =
                format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {})", options.table_size);
            // Creating the primary key after loading is faster; its name is the default one.
            let key = format!("CREATE UNIQUE INDEX {name}_pkey ON {name} (id)");
            Table {
                create: format!("CREATE TABLE {name} (id {id} NOT NULL, {columns})"),
                copy: format!("COPY {name} (id, k, c, pad) FROM STDIN"),
                indexes: [key].into_iter().chain(second).collect(),
                keys: [format!("ALTER TABLE {name} ADD PRIMARY KEY USING INDEX {name}_pkey")]
                    .into_iter()
                    .chain(options.auto_inc.then_some(sequence))
                    .collect(),
                finish: vec![format!("VACUUM (ANALYZE) {name}")],
                name,
                ..table
            }
        }
        Dialect::Mysql => {
            let id = if options.auto_inc { "INTEGER NOT NULL AUTO_INCREMENT" } else { "INTEGER NOT NULL" };
            Table {
                // The table is clustered by its primary key: rows are best loaded in its order.
                create: format!("CREATE TABLE {name} (id {id}, {columns}, PRIMARY KEY (id)) ENGINE = InnoDB"),
                copy: format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name} (id, k, c, pad)"),
                indexes: second.into_iter().collect(),
                finish: vec![format!("ANALYZE TABLE {name}")],
                name,
                ..table
            }
        }
    }
}

impl Data for DataSet {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn rows(&self, table: usize, rows: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let count = rows.end - rows.start;
        for id in rows.start + 1..=rows.end {
            // One stream per row, for results independent of partitioning.
            let mut random = Random::stream(self.seed, ((table as u64) << 32) | id);
            decimal(out, id);
            out.push(b'\t');
            decimal(out, self.distribution.draw(&mut random, 1, self.table_size));
            out.push(b'\t');
            out.extend_from_slice(&text::c(&mut random));
            out.push(b'\t');
            out.extend_from_slice(&text::pad(&mut random));
            out.push(b'\n');
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(section: serde_json::Value, seed: u64) -> DataSet {
        DataSet::new(Dialect::Postgres, &Options::of(&section).unwrap(), seed)
    }

    fn rows(data: &DataSet, table: usize, rows: Range<u64>) -> String {
        let mut out = Vec::new();
        data.rows(table, rows, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_do_not_depend_on_partitioning() {
        let data = data(json!({"table_size": 300}), 7);
        let unsplit = rows(&data, 0, 0..300);
        for cut in [1, 99, 150, 299] {
            assert_eq!(rows(&data, 0, 0..cut) + &rows(&data, 0, cut..300), unsplit);
        }
    }

    #[test]
    fn rows_differ_by_seed_table_and_id() {
        let section = json!({"tables": 2, "table_size": 100});
        let (seven, eight) = (data(section.clone(), 7), data(section, 8));
        assert_ne!(rows(&seven, 0, 0..10), rows(&eight, 0, 0..10));
        assert_ne!(rows(&seven, 0, 0..10), rows(&seven, 1, 0..10));
        let text = rows(&seven, 0, 0..100);
        let pads: std::collections::HashSet<_> = text.lines().map(|line| line.rsplit('\t').next()).collect();
        assert_eq!(pads.len(), 100);
    }

    #[test]
    fn row_has_id_k_c_and_pad() {
        let data = data(json!({"table_size": 1000}), 1);
        for (index, line) in rows(&data, 0, 0..1000).lines().enumerate() {
            let fields: Vec<_> = line.split('\t').collect();
            let [id, k, c, pad] = fields[..] else { panic!("{line}") };
            assert_eq!(id, (index + 1).to_string());
            assert!((1..=1000).contains(&k.parse::<u64>().unwrap()));
            assert_eq!((c.len(), pad.len()), (119, 59));
        }
    }

    #[test]
    fn tables_match_sysbench() {
        let data = data(json!({"tables": 2}), 1);
        let second = &data.tables()[1];
        assert!(second.create.starts_with("CREATE TABLE sbtest2 (id SERIAL NOT NULL, k INTEGER"));
        assert_eq!(second.indexes[1], "CREATE INDEX k_2 ON sbtest2(k)");
        assert_eq!(second.finish, ["VACUUM (ANALYZE) sbtest2"]);
    }

    #[test]
    fn options_omit_sequence_and_index() {
        let data = data(json!({"auto_inc": false, "create_secondary": false}), 1);
        let table = &data.tables()[0];
        assert!(table.create.contains("(id INTEGER NOT NULL"));
        assert_eq!((table.indexes.len(), table.keys.len()), (1, 1));
    }

    #[test]
    fn mysql_tables_are_clustered_by_primary_key() {
        let data = DataSet::new(Dialect::Mysql, &Options::of(&json!({})).unwrap(), 1);
        let table = &data.tables()[0];
        assert_eq!(
            table.create,
            "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, \
             PRIMARY KEY (id)) ENGINE = InnoDB"
        );
        assert_eq!(table.indexes, ["CREATE INDEX k_1 ON sbtest1(k)"]);
        assert!(table.keys.is_empty());
    }
}
