//! Rows by INSERT statements, for servers of MySQL's family that take no local data.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Data;
use super::loader::{Piece, complete, table_step};
use super::loading_connection::LoadingConnection;
use loadcell_core::error::LoadError;
use loadcell_protocols::SqlProtocol;

/// Size of a statement in bytes, from which on the next row begins another one: below the smallest default of
/// `max_allowed_packet` (1 MB).
const STATEMENT: usize = 256 << 10;
/// Beginning of a table's statement for loading; the table and its columns follow.
const LOAD_DATA: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE ";

/// Insert the rows of a piece in one transaction.
pub(super) fn insert<W: SqlProtocol>(
    client: &mut LoadingConnection<'_, W>,
    data: &impl Data,
    piece: &Piece,
    done: &AtomicU64,
) -> Result<(), LoadError> {
    let table = &data.tables()[piece.table];
    let step = table_step("engine.load-table", table);
    let into = table.copy.strip_prefix(LOAD_DATA).unwrap_or(&table.name);
    let batch = (STATEMENT as u64 / table.unit_bytes.max(1)).max(1);
    let (taken, sent) = client.transaction(|connection| {
        let (mut next, mut sent, mut taken) = (piece.from, 0, 0);
        let mut text = Vec::new();
        connection.query("START TRANSACTION", &step)?;
        while next < piece.to {
            let end = piece.to.min(next + batch);
            text.clear();
            let rows = data.rows(piece.table, next..end, &mut text);
            next = end;
            for statement in statements(into, &text) {
                taken += connection.change(&statement, &step).inspect_err(|_| {
                    done.fetch_sub(sent, Ordering::Relaxed); // No row of a failed transaction remains.
                })?;
            }
            sent += rows;
            done.fetch_add(rows, Ordering::Relaxed);
        }
        connection.query("COMMIT", &step)?;
        Ok((taken, sent))
    })?;
    complete(table, sent, taken)
}

/// Statements that insert rows in COPY's text format, whose escapes are those of string literals.
fn statements(into: &str, rows: &[u8]) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let rows = String::from_utf8_lossy(rows);
    for row in rows.split_terminator('\n') {
        if statements.last().is_none_or(|statement| statement.len() + row.len() > STATEMENT) {
            statements.push(format!("INSERT INTO {into} VALUES "));
        } else if let Some(statement) = statements.last_mut() {
            statement.push(',');
        }
        let values: Vec<String> = row
            .split('\t')
            .map(|value| match value {
                "\\N" => "NULL".into(),
                value => format!("'{}'", value.replace('\'', "''")),
            })
            .collect();
        if let Some(statement) = statements.last_mut() {
            statement.push('(');
            statement.push_str(&values.join(","));
            statement.push(')');
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_and_nulls_are_not() {
        let rows = "1\tit's\t\\N\n2\ta\\tb\\\\\t\n".as_bytes();
        let expected = "INSERT INTO t (a, b, c) VALUES ('1','it''s',NULL),('2','a\\tb\\\\','')";
        assert_eq!(statements("t (a, b, c)", rows), [expected]);
        assert!(statements("t", b"").is_empty());
    }

    #[test]
    fn long_rows_begin_further_statements() {
        let row = format!("1\t{}\n", "x".repeat(100 << 10));
        let statements = statements("t", row.repeat(5).as_bytes());
        assert_eq!(statements.len(), 3);
        assert!(statements.iter().all(|statement| statement.len() <= STATEMENT + 100));
        let rows: usize = statements.iter().map(|statement| statement.matches("('1'").count()).sum();
        assert_eq!(rows, 5);
    }
}
