//! Tables as created by `pgbench -i`, so that both tools can run on each other's data.

use std::ops::Range;

use super::options::{BIGINT_SCALE, Options};
use crate::dataload::{Data, Table};
use loadcell_protocols::digits::decimal;

/// Rows per unit of scale, by table.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;
/// Approximate size of an account in bytes; branches and tellers are few and small.
const ROW_BYTES: u64 = 100;

pub struct DataSet {
    tables: Vec<Table>,
}

impl DataSet {
    /// Apply the steps of `init_steps` in a fixed order: tables, rows, keys, foreign keys, vacuum.
    pub fn new(options: &Options) -> Self {
        let scale = u64::from(options.scale);
        let aid = if options.scale >= BIGINT_SCALE { "bigint" } else { "int" };
        let filling = format!(" WITH (fillfactor={})", options.fillfactor);
        let mut tables = vec![
            table("branches", "bid int NOT NULL, bbalance int, filler char(88)", &filling, scale),
            table(
                "tellers",
                "tid int NOT NULL, bid int, tbalance int, filler char(84)",
                &filling,
                scale * TELLERS,
            ),
            table(
                "accounts",
                &format!("aid {aid} NOT NULL, bid int, abalance int, filler char(84)"),
                &filling,
                scale * ACCOUNTS,
            ),
            table(
                "history",
                &format!("tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22)"),
                "",
                0,
            ),
        ];
        let has = |step| options.init_steps.contains(step);
        if has('G') {
            generate(&mut tables, scale, options.load_workers.into());
        }
        if has('G') || !has('g') {
            tables.iter_mut().for_each(|table| table.units = 0);
        }
        if !has('g') && !has('G') {
            tables.iter_mut().for_each(|table| table.rows = 0);
        }
        for (table, key) in tables.iter_mut().zip(["bid", "tid", "aid"]) {
            if has('p') {
                table.indexes.push(format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", table.name));
            }
        }
        if has('f') {
            for (table, key, other) in
                [(1, "bid", 0), (2, "bid", 0), (3, "bid", 0), (3, "tid", 1), (3, "aid", 2)]
            {
                let (name, other) = (tables[table].name.clone(), tables[other].name.clone());
                tables[table].references.push(format!(
                    "ALTER TABLE {name} ADD CONSTRAINT {name}_{key}_fkey FOREIGN KEY ({key}) REFERENCES \
                        {other}"
                ));
            }
        }
        if has('v') {
            for table in &mut tables {
                // pgbench's single COPY freezes accounts; concurrent ones cannot, but this can.
                let how = if table.name == "pgbench_accounts" { "FREEZE, ANALYZE" } else { "ANALYZE" };
                table.finish.push(format!("VACUUM ({how}) {}", table.name));
            }
        }
        Self { tables }
    }
}

fn table(name: &str, columns: &str, with: &str, rows: u64) -> Table {
    let name = format!("pgbench_{name}");
    Table {
        create: format!("DROP TABLE IF EXISTS {name} CASCADE; CREATE TABLE {name} ({columns}){with}"),
        copy: format!("COPY {name} FROM STDIN"),
        rows,
        units: rows,
        unit_bytes: ROW_BYTES,
        inserts: Vec::new(),
        indexes: Vec::new(),
        keys: Vec::new(),
        references: Vec::new(),
        finish: Vec::new(),
        name,
    }
}

/// Generate the rows on the server (`G`); accounts with one concurrent statement per worker.
fn generate(tables: &mut [Table], scale: u64, workers: u64) {
    tables[0].inserts.push(format!(
        "INSERT INTO pgbench_branches (bid, bbalance) SELECT bid, 0 FROM generate_series(1, {scale}) AS bid"
    ));
    tables[1].inserts.push(format!(
        "INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT tid, (tid - 1) / {TELLERS} + 1, 0 \
         FROM generate_series(1, {}) AS tid",
        scale * TELLERS
    ));
    let parts = workers.min(scale);
    for part in 0..parts {
        let border = |part: u64| scale * part / parts * ACCOUNTS;
        tables[2].inserts.push(format!(
            "INSERT INTO pgbench_accounts (aid, bid, abalance, filler) SELECT aid, (aid - 1) / {ACCOUNTS} \
            + 1, 0, '' \
             FROM generate_series({}::bigint, {}::bigint) AS aid",
            border(part) + 1,
            border(part + 1)
        ));
    }
}

impl Data for DataSet {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn rows(&self, table: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let count = units.end - units.start;
        for id in units.start + 1..=units.end {
            decimal(out, id);
            let (branch, filler): (u64, &[u8]) = match table {
                0 => (0, b"\t0\t\\N\n"),
                1 => ((id - 1) / TELLERS + 1, b"\t0\t\\N\n"),
                // The filler of accounts is empty; in other tables it is NULL.
                _ => ((id - 1) / ACCOUNTS + 1, b"\t0\t\n"),
            };
            if branch > 0 {
                out.push(b'\t');
                decimal(out, branch);
            }
            out.extend_from_slice(filler);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(section: serde_json::Value) -> DataSet {
        DataSet::new(&Options::of(&section).unwrap())
    }

    fn rows(data: &DataSet, table: usize, units: Range<u64>) -> String {
        let mut out = Vec::new();
        data.rows(table, units, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_match_pgbench() {
        let data = data(json!({"scale": 3}));
        assert_eq!(rows(&data, 0, 0..3), "1\t0\t\\N\n2\t0\t\\N\n3\t0\t\\N\n");
        assert_eq!(rows(&data, 1, 9..11), "10\t1\t0\t\\N\n11\t2\t0\t\\N\n");
        assert_eq!(rows(&data, 2, 99_999..100_001), "100000\t1\t0\t\n100001\t2\t0\t\n");
        let counts: Vec<_> = data.tables().iter().map(|table| table.units).collect();
        assert_eq!(counts, [3, 30, 300_000, 0]);
    }

    #[test]
    fn only_named_steps_are_done() {
        let bare = data(json!({"init_steps": "dt"}));
        let empty = |table: &Table| {
            table.units + table.rows == 0 && table.indexes.is_empty() && table.finish.is_empty()
        };
        assert!(bare.tables().iter().all(empty));
        let keyed = data(json!({"init_steps": "dtgpf"}));
        assert_eq!(keyed.tables()[3].references.len(), 3);
        assert!(keyed.tables().iter().all(|table| table.finish.is_empty()));
    }

    #[test]
    fn server_generates_each_account_once() {
        let data = data(json!({"init_steps": "dtGvp", "scale": 5, "load_workers": 2}));
        let accounts = &data.tables()[2];
        assert_eq!((accounts.units, accounts.rows, accounts.inserts.len()), (0, 500_000, 2));
        assert!(accounts.inserts[0].contains("(1::bigint, 200000::bigint)"));
        assert!(accounts.inserts[1].contains("(200001::bigint, 500000::bigint)"));
    }

    #[test]
    fn large_scales_use_bigint_and_fillfactor_applies() {
        let data = data(json!({"scale": 20_000, "fillfactor": 90}));
        assert!(data.tables()[2].create.contains("aid bigint NOT NULL"));
        assert!(
            data.tables()[3].create.contains("aid bigint") && !data.tables()[3].create.contains("fillfactor")
        );
        assert!(data.tables()[1].create.ends_with("WITH (fillfactor=90)"));
    }
}
