//! Stock-Level (clause 2.8): number of items with low stock in the last 20 orders of the terminal's district.

use super::profile::{Profile, missing};
use super::sql::{SELECT, Sql};
use super::terminal::{Home, Input};
use crate::sql::Next;

/// The last statement sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    Begin,
    Count,
    Commit,
}

#[derive(Default)]
pub struct StockLevel {
    at: At,
    home: Home,
    threshold: u64,
    has_row: bool,
}

impl Profile for StockLevel {
    fn draw(&mut self, input: &mut Input<'_>) {
        self.home = input.home;
        self.threshold = input.random.uniform(10, 20);
        self.again();
    }

    fn again(&mut self) {
        self.at = At::Start;
    }

    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        match self.at {
            At::Start => {
                self.at = At::Begin;
                sql.begin(out)
            }
            At::Begin => {
                self.at = At::Count;
                self.has_row = false;
                let Home { warehouse, district } = self.home;
                let request = sql.stock_level.request(out).int(warehouse).int(self.threshold);
                request.int(warehouse).int(district).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Count if !self.has_row => missing("answer to a count"),
            At::Count => {
                self.at = At::Commit;
                sql.commit(out)
            }
            At::Commit => Next::Done(None),
        }
    }

    fn row<'r>(&mut self, _: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        self.has_row = true;
    }
}
