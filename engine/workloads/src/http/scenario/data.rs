//! Rows of data, which clients take in order, at random, or one each.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::options::{AtEnd, DataOptions, Order};
use loadcell_core::random::Random;

/// A table, shared by all clients.
#[derive(Debug)]
pub struct Data {
    columns: usize,
    rows: u64,
    text: Vec<u8>,
    /// Ends of the cells in `text`, row by row.
    ends: Vec<usize>,
    order: Order,
    at_end: AtEnd,
    /// Rows taken so far. Taken once per scenario, so that threads do not contend.
    taken: AtomicU64,
}

impl Data {
    /// A table of at least one row, all as long as `columns`.
    pub fn new(options: &DataOptions) -> Self {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for cell in options.rows.iter().flatten() {
            text.extend_from_slice(cell.as_bytes());
            ends.push(text.len());
        }
        let &DataOptions { order, at_end, .. } = options;
        let (columns, rows) = (options.columns.len(), options.rows.len() as u64);
        Self { columns, rows, text, ends, order, at_end, taken: AtomicU64::new(0) }
    }

    /// True if the load ends with the last row.
    pub fn stops(&self) -> bool {
        self.at_end == AtEnd::Stop
    }

    /// The row of a client's next scenario; none after the last one.
    #[inline]
    pub fn next(&self, client: u32, random: &mut Random) -> Option<u64> {
        let number = match self.order {
            Order::Sequential => self.taken.fetch_add(1, Relaxed),
            Order::Random => return Some(random.below(self.rows)),
            Order::Client => client.into(),
        };
        match self.at_end {
            AtEnd::Restart => Some(number % self.rows),
            AtEnd::Stop => (number < self.rows).then_some(number),
        }
    }

    /// A cell; the row is one that `next` has given.
    #[inline]
    pub fn cell(&self, row: u64, column: usize) -> &[u8] {
        let number = row as usize * self.columns + column;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(order: Order, at_end: AtEnd) -> Data {
        let row = |number: u64| vec![format!("u{number}"), format!("{}", number * number)];
        let rows = (0..3).map(row).collect();
        Data::new(&DataOptions {
            name: "d".into(),
            columns: vec!["u".into(), "n".into()],
            rows,
            order,
            at_end,
        })
    }

    fn taken(data: &Data, client: u32, times: usize) -> Vec<Option<u64>> {
        let mut random = Random::stream(1, 0);
        (0..times).map(|_| data.next(client, &mut random)).collect()
    }

    #[test]
    fn rows_are_taken_in_order_until_the_end_or_again() {
        let restarting = data(Order::Sequential, AtEnd::Restart);
        assert_eq!(taken(&restarting, 0, 4), [Some(0), Some(1), Some(2), Some(0)]);
        let stopping = data(Order::Sequential, AtEnd::Stop);
        assert_eq!(taken(&stopping, 0, 2), [Some(0), Some(1)]);
        assert_eq!(taken(&stopping, 1, 2), [Some(2), None], "clients share the rows");
        assert!(stopping.stops() && !restarting.stops());
        assert_eq!((restarting.cell(0, 0), restarting.cell(2, 1)), (&b"u0"[..], &b"4"[..]));
    }

    #[test]
    fn each_client_has_its_row() {
        let data = data(Order::Client, AtEnd::Restart);
        assert_eq!((taken(&data, 1, 2), taken(&data, 4, 1)), (vec![Some(1), Some(1)], vec![Some(1)]));
    }

    #[test]
    fn random_rows_are_all_rows() {
        let mut seen = taken(&data(Order::Random, AtEnd::Restart), 0, 200);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [Some(0), Some(1), Some(2)]);
    }
}
