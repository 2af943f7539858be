//! Stages of a data load: tables, rows, indexes, statistics, foreign keys.

use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::loading_connection::LoadingConnection;
use super::parallel::{Progress, parallel_for};
use super::sql_connection::ConnectOptions;
use super::{Data, Table, inserts};
use crate::sql::dialect;
use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, LoadStep};

use loadcell_core::observe::Observer;
use loadcell_core::spec::Spec;
use loadcell_core::target::Dialect;
use loadcell_core::target::Target;
use loadcell_protocols::mysql::Mysql;
use loadcell_protocols::postgres::Postgres;
use loadcell_protocols::{Config, SqlProtocol};

/// Minimum share of a connection in bytes. Several connections that fill one small table would also leave
/// empty pages in it.
const LEAST_BYTES: u64 = 2_000_000;

/// Result of a data load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prepared {
    pub rows: u64,
    /// Size of the tables with their indexes, as reported by the server.
    pub size_bytes: Option<u64>,
    pub duration_ns: Nanos,
}

/// Consecutive units of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) table: usize,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Partition the rows of all tables, in order, into at most `count` shares of about equal size.
fn shares(tables: &[Table], count: u64) -> Vec<Vec<Piece>> {
    let total: u64 = tables.iter().map(|table| table.units * table.unit_bytes).sum();
    let count = count.min(total.div_ceil(LEAST_BYTES)).max(1);
    let border = |share: u64| (u128::from(total) * u128::from(share) / u128::from(count)) as u64;
    let share = |number| {
        let (from, to) = (border(number), border(number + 1));
        let mut pieces = Vec::new();
        let mut start = 0;
        for (table, Table { units, unit_bytes, .. }) in tables.iter().enumerate() {
            let unit_at = |at: u64| at.saturating_sub(start).div_ceil(*unit_bytes).min(*units);
            let (from, to) = (unit_at(from), unit_at(to));
            if from < to {
                pieces.push(Piece { table, from, to });
            }
            start += units * unit_bytes;
        }
        pieces
    };
    // Where a unit is larger than a share, some shares are empty.
    (0..count).map(share).filter(|pieces| count == 1 || !pieces.is_empty()).collect()
}

/// Load `data` with up to `workers` connections.
pub fn load(
    spec: &Spec,
    data: &impl Data,
    workers: u32,
    observer: &mut dyn Observer,
) -> Result<Prepared, LoadError> {
    match dialect(spec)? {
        Dialect::Postgres => load_by::<Postgres>(&spec.target, data, workers, observer),
        Dialect::Mysql => load_by::<Mysql>(&spec.target, data, workers, observer),
    }
}

fn load_by<W: SqlProtocol>(
    target: &Target,
    data: &impl Data,
    workers: u32,
    observer: &mut dyn Observer,
) -> Result<Prepared, LoadError> {
    let started = Instant::now();
    let options = ConnectOptions::new(target, Config::new(target))?;
    let tables = data.tables();
    let shares = shares(tables, u64::from(workers) * data.cuts());
    let total_rows = tables.iter().map(|table| table.rows).sum();
    let mut progress = Progress { observer, done_rows: AtomicU64::new(0), total_rows };
    // Building indexes of many small tables keeps several connections busy, too.
    let most = shares.len().max(tables.len()).min(workers as usize);
    let mut clients =
        (0..most).map(|_| LoadingConnection::<W>::connect(&options)).collect::<Result<Vec<_>, _>>()?;

    let way = way(&mut clients[0])?;

    let (first, _) = clients.split_at_mut(1);
    parallel_for(&options.stop, first, "tables", tables.len(), &mut progress, |client, job, _| {
        let table = &tables[job];
        client.query(&table.create, &table_step("engine.create-table", table)).map(drop)
    })?;
    parallel_for(&options.stop, &mut clients, "rows", shares.len(), &mut progress, |client, job, done| {
        shares[job].iter().try_for_each(|piece| match way {
            Way::Stream => copy(client, data, piece, done),
            Way::Insert => inserts::insert(client, data, piece, done),
        })
    })?;
    let inserts = statements_of(tables, |table| &table.inserts);
    parallel_for(&options.stop, &mut clients, "rows", inserts.len(), &mut progress, |client, job, _| {
        let (table, sql) = inserts[job];
        client.query(sql, &table_step("engine.fill-table", table)).map(drop)
    })?;
    let indexes = statements_of(tables, |table| &table.indexes);
    parallel_for(&options.stop, &mut clients, "indexes", indexes.len(), &mut progress, |client, job, _| {
        let (table, sql) = indexes[job];
        client.query(sql, &table_step("engine.build-index", table)).map(drop)
    })?;
    parallel_for(&options.stop, &mut clients, "indexes", tables.len(), &mut progress, |client, job, _| {
        let table = &tables[job];
        let doing = table_step("engine.make-keys", table);
        table.keys.iter().try_for_each(|sql| client.query(sql, &doing).map(drop))
    })?;
    let last = if W::DIALECT == Dialect::Mysql { "statistics" } else { "vacuum" };
    parallel_for(&options.stop, &mut clients, last, tables.len(), &mut progress, |client, job, _| {
        let table = &tables[job];
        let doing = table_step("engine.finish-table", table);
        table.finish.iter().try_for_each(|sql| client.query(sql, &doing).map(drop))
    })?;
    let references = statements_of(tables, |table| &table.references);
    if !references.is_empty() {
        // In MySQL each foreign key locks both tables; concurrent ones would deadlock.
        let most = if W::DIALECT == Dialect::Mysql { 1 } else { clients.len() };
        parallel_for(
            &options.stop,
            &mut clients[..most],
            "foreign keys",
            references.len(),
            &mut progress,
            |client, job, _| {
                let (table, sql) = references[job];
                client.query(sql, &table_step("engine.make-foreign-key", table)).map(drop)
            },
        )?;
    }
    Ok(Prepared {
        rows: total_rows,
        size_bytes: clients.first_mut().and_then(|client| size(client, tables)),
        duration_ns: started.elapsed().as_nanos() as Nanos,
    })
}

/// All tables paired with each of their statements of one sort.
fn statements_of(tables: &[Table], sort: impl Fn(&Table) -> &[String]) -> Vec<(&Table, &String)> {
    tables.iter().flat_map(|table| sort(table).iter().map(move |sql| (table, sql))).collect()
}

/// A step of the loading of one table.
pub(super) fn table_step(code: &'static str, table: &Table) -> LoadStep {
    LoadStep::new(code, json!({"name": table.name}))
}

fn copy<W: SqlProtocol>(
    client: &mut LoadingConnection<'_, W>,
    data: &impl Data,
    piece: &Piece,
    done: &AtomicU64,
) -> Result<(), LoadError> {
    /// Units generated between checks whether a message is full.
    const BATCH: u64 = 64;
    let table = &data.tables()[piece.table];
    let doing = table_step("engine.load-table", table);
    let (taken, sent) = client.transaction(|connection| {
        let (mut next, mut sent) = (piece.from, 0);
        let copied = connection.copy(&table.copy, &doing, |out, chunk| {
            let (mut rows, full) = (0, out.len() + chunk);
            while next < piece.to && out.len() < full {
                let end = piece.to.min(next + BATCH);
                rows += data.rows(piece.table, next..end, out);
                next = end;
            }
            sent += rows;
            done.fetch_add(rows, Ordering::Relaxed);
            next < piece.to
        });
        if copied.is_err() {
            done.fetch_sub(sent, Ordering::Relaxed); // No row of a failed transaction remains.
        }
        copied.map(|taken| (taken, sent))
    })?;
    complete(table, sent, taken)
}

/// Check that the server has taken all rows: LOAD DATA LOCAL makes warnings of errors.
pub(super) fn complete(table: &Table, sent: u64, taken: u64) -> Result<(), LoadError> {
    if taken == sent {
        return Ok(());
    }
    let arguments = json!({"name": table.name, "sent": sent, "taken": taken});
    Err(LoadError::at("rows", "engine.rows-missing", arguments))
}

/// Method of filling a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// COPY, or LOAD DATA LOCAL.
    Stream,
    /// INSERT with many rows, where the server takes no local data (`local_infile` is off, as in MySQL 8).
    Insert,
}

fn way<W: SqlProtocol>(client: &mut LoadingConnection<'_, W>) -> Result<Way, LoadError> {
    if W::DIALECT == Dialect::Postgres {
        return Ok(Way::Stream);
    }
    let step = LoadStep::new("engine.prepare-connection", json!({}));
    let takes = client.query("SELECT @@global.local_infile", &step)?;
    Ok(if takes.as_deref() == Some("0") { Way::Insert } else { Way::Stream })
}

/// Size of the tables on the server in bytes; `None` if the server does not report it.
fn size<W: SqlProtocol>(client: &mut LoadingConnection<'_, W>, tables: &[Table]) -> Option<u64> {
    let mut total = 0;
    for some in tables.chunks(1_000) {
        let names: Vec<_> = some.iter().map(|table| format!("'{}'", table.name)).collect();
        let names = names.join(",");
        let sql = match W::DIALECT {
            Dialect::Postgres => {
                format!(
                    "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(ARRAY[{names}]) AS t \
                        (name)"
                )
            }
            Dialect::Mysql => format!(
                "SELECT CAST(sum(data_length + index_length) AS CHAR) FROM information_schema.tables \
                 WHERE table_schema = database() AND table_name IN ({names})"
            ),
        };
        total += client.query(&sql, &LoadStep::new("engine.error", json!({}))).ok()??.parse::<u64>().ok()?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sizes: &[u64]) -> Vec<Table> {
        let table = |(index, &rows): (usize, &u64)| Table {
            name: format!("t{index}"),
            create: String::new(),
            copy: String::new(),
            rows,
            units: rows,
            unit_bytes: 200,
            inserts: Vec::new(),
            indexes: Vec::new(),
            keys: Vec::new(),
            references: Vec::new(),
            finish: Vec::new(),
        };
        sizes.iter().enumerate().map(table).collect()
    }

    fn piece(table: usize, from: u64, to: u64) -> Piece {
        Piece { table, from, to }
    }

    #[test]
    fn big_table_is_split_among_all() {
        let expected = [
            vec![piece(0, 0, 25_000)],
            vec![piece(0, 25_000, 50_000)],
            vec![piece(0, 50_000, 75_000)],
            vec![piece(0, 75_000, 100_000)],
        ];
        assert_eq!(shares(&tables(&[100_000]), 4), expected);
    }

    #[test]
    fn tables_stay_complete_where_shares_are_even() {
        let expected =
            [vec![piece(0, 0, 5_000), piece(1, 0, 5_000)], vec![piece(2, 0, 5_000), piece(3, 0, 5_000)]];
        assert_eq!(shares(&tables(&[5_000; 4]), 2), expected);
    }

    #[test]
    fn each_row_is_in_exactly_one_share() {
        for workers in 1..9 {
            let sizes = [70_001, 1, 0, 12_345, 9_999];
            let mut seen = sizes.map(|rows: u64| vec![false; rows as usize]);
            let shares = shares(&tables(&sizes), workers);
            assert_eq!(shares.len() as u64, workers);
            for Piece { table, from, to } in shares.into_iter().flatten() {
                for row in from..to {
                    assert!(!std::mem::replace(&mut seen[table][row as usize], true));
                }
            }
            assert!(seen.iter().flatten().all(|&row| row));
        }
    }

    #[test]
    fn shares_are_even_in_bytes_not_in_units() {
        let mut two = tables(&[20_000, 10_000]);
        (two[0].unit_bytes, two[1].unit_bytes) = (100, 700);
        // 2 MB and 7 MB: a share is 3 MB.
        let expected = [
            vec![piece(0, 0, 20_000), piece(1, 0, 1_429)],
            vec![piece(1, 1_429, 5_715)],
            vec![piece(1, 5_715, 10_000)],
        ];
        assert_eq!(shares(&two, 3), expected);
    }

    #[test]
    fn large_units_leave_no_empty_shares() {
        let mut large = tables(&[3]);
        large[0].unit_bytes = 5_000_000;
        let shares = shares(&large, 8);
        assert_eq!(shares, [vec![piece(0, 0, 1)], vec![piece(0, 1, 2)], vec![piece(0, 2, 3)]]);
    }

    #[test]
    fn few_rows_use_few_workers() {
        assert_eq!(shares(&tables(&[15_000]), 16).len(), 2);
        assert_eq!(shares(&tables(&[1]), 16).len(), 1);
        assert_eq!(shares(&tables(&[]), 16).len(), 1);
    }
}
