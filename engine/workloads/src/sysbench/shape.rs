//! The statements that the scripts are made of: their text, their holes, and what they count as.

use super::options::Options;
use loadcell_core::record::{Kind, Operation};
use loadcell_protocols::Part;

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Begin,
    Commit,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    /// The row that was just deleted, again.
    Reinsert,
    /// A new row; its id from the sequence, or of the client's own making.
    Insert,
    RandomPoints,
    RandomRanges,
}

impl Shape {
    /// What it is counted as.
    pub fn operation(self) -> Operation {
        let (name, kind) = match self {
            Self::Begin => ("begin", Kind::Other),
            Self::Commit => ("commit", Kind::Other),
            Self::PointSelect => ("point_select", Kind::Read),
            Self::SimpleRange => ("simple_range", Kind::Read),
            Self::SumRange => ("sum_range", Kind::Read),
            Self::OrderRange => ("order_range", Kind::Read),
            Self::DistinctRange => ("distinct_range", Kind::Read),
            Self::IndexUpdate => ("index_update", Kind::Write),
            Self::NonIndexUpdate => ("non_index_update", Kind::Write),
            Self::Delete => ("delete", Kind::Write),
            Self::Reinsert | Self::Insert => ("insert", Kind::Write),
            Self::RandomPoints => ("random_points", Kind::Read),
            Self::RandomRanges => ("random_ranges", Kind::Read),
        };
        Operation { name, kind }
    }

    /// Whether it names a table.
    pub fn has_table(self) -> bool {
        !matches!(self, Self::Begin | Self::Commit)
    }

    /// Whether it names table 1 only, however many there are.
    pub fn first_table_only(self) -> bool {
        matches!(self, Self::RandomPoints | Self::RandomRanges)
    }

    /// Its text for a table, cut at its parameters.
    pub fn parts(self, table: u32, options: &Options) -> Vec<Part> {
        let text = match self {
            Self::Begin => "BEGIN".into(),
            Self::Commit => "COMMIT".into(),
            Self::PointSelect => "SELECT c FROM {} WHERE id=?".into(),
            Self::SimpleRange => "SELECT c FROM {} WHERE id BETWEEN ? AND ?".into(),
            Self::SumRange => "SELECT SUM(k) FROM {} WHERE id BETWEEN ? AND ?".into(),
            Self::OrderRange => "SELECT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c".into(),
            Self::DistinctRange => "SELECT DISTINCT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c".into(),
            Self::IndexUpdate => "UPDATE {} SET k=k+1 WHERE id=?".into(),
            Self::NonIndexUpdate => "UPDATE {} SET c=$ WHERE id=?".into(),
            Self::Delete => "DELETE FROM {} WHERE id=?".into(),
            Self::Insert if options.auto_inc => "INSERT INTO {} (k, c, pad) VALUES (?, $, $)".into(),
            Self::Insert | Self::Reinsert => "INSERT INTO {} (id, k, c, pad) VALUES (?, ?, $, $)".into(),
            Self::RandomPoints => {
                let points = vec!["?"; options.random_points as usize].join(", ");
                format!("SELECT id, k, c, pad FROM {{}} WHERE k IN ({points})")
            }
            Self::RandomRanges => {
                let ranges = vec!["k BETWEEN ? AND ?"; options.number_of_ranges as usize].join(" OR ");
                format!("SELECT count(k) FROM {{}} WHERE {ranges}")
            }
        };
        Part::cut(&text.replace("{}", &format!("sbtest{table}")))
    }
}
