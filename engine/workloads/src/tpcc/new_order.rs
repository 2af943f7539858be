//! New-Order (clause 2.4): an order of one customer with 5 to 15 lines.
//!
//! As in BenchmarkSQL, lines are processed in the order of their stock, which avoids deadlocks between
//! orders; all stock updates, and all inserts of lines, are sent as one request each at the end.

use super::amount;
use super::profile::{Profile, missing, unexpected};
use super::sql::{INSERT, ROLLBACK, ROLLED_BACK, SELECT, Sql, UPDATE};
use super::terminal::{Home, Input};
use super::{ITEMS, MOST_LINES};
use crate::sql::Next;
use loadcell_protocols::{Request, Statement};

/// Percentages of remotely supplied lines, and of orders with an unused item (clauses 2.4.1.5 and 2.4.1.4).
const REMOTE_PERCENT: u64 = 1;
const ROLLED_BACK_PERCENT: u64 = 1;

const DIST_LENGTH: usize = 24;

/// The last statement sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    Begin,
    District,
    Customer,
    NextOrder,
    Order,
    Waiting,
    Item,
    Stock,
    Take,
    Lines,
    Commit,
    Rollback,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Position in the input.
    number: u64,
    item: u64,
    supply: u64,
    quantity: u64,
    /// Values from the database: price in hundredths, stock after this order, district text.
    price: u64,
    stock_after: u64,
    dist: [u8; DIST_LENGTH],
}

#[derive(Default)]
pub struct NewOrder {
    at: At,
    home: Home,
    customer: u64,
    lines: [Line; MOST_LINES],
    count: usize,
    /// Current line; those before it are ready to be written.
    line: usize,
    order: Option<u64>,
    has_row: bool,
    understood: bool,
}

impl NewOrder {
    fn ready(&self) -> &[Line] {
        &self.lines[..self.line]
    }

    fn ask_item(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Item;
        (self.has_row, self.understood) = (false, false);
        sql.new_order.item.request(out).int(self.lines[self.line].item).end();
        Next::Ask(SELECT.with_rows())
    }

    fn ask_stock(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Stock;
        (self.has_row, self.understood) = (false, false);
        let line = &self.lines[self.line];
        sql.new_order.stock.request(out).int(line.supply).int(line.item).end();
        Next::Ask(SELECT.with_rows())
    }

    /// Update the stock of all ready lines.
    fn take(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Take;
        let home = self.home.warehouse;
        combine(&sql.new_order.take, self.ready(), out, |request, line| {
            let remote = u64::from(line.supply != home);
            request
                .int(line.stock_after)
                .int(line.quantity)
                .int(remote)
                .int(line.supply)
                .int(line.item)
                .end();
        });
        Next::Ask(UPDATE.times(self.line as u32))
    }

    /// Insert all ready lines.
    fn write(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Lines;
        let (order, home) = (self.order.unwrap_or_default(), self.home);
        combine(&sql.new_order.line, self.ready(), out, |request, line| {
            let line_key = request.int(order).int(home.district).int(home.warehouse).int(line.number);
            let line_values = line_key.int(line.item).int(line.supply).int(line.quantity);
            line_values.hundredths(line.quantity * line.price).text(&line.dist).end();
        });
        Next::Ask(INSERT.times(self.line as u32))
    }

    fn roll_back(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Rollback;
        sql.rollback.request(out).end();
        Next::Ask(ROLLBACK)
    }

    /// True if the order contains an unused item, always as its last.
    fn is_to_fail(&self) -> bool {
        self.lines[self.count - 1].item > ITEMS
    }

    /// True if that item is the current line.
    fn is_failing(&self) -> bool {
        self.lines[self.line].item > ITEMS
    }

    /// Compute the stock after this line; `there` is the current one.
    fn leave(&mut self, there: u64) {
        let (before, this) = self.lines.split_at_mut(self.line);
        let line = &mut this[0];
        // An earlier line may use the same stock, with its update not sent yet.
        let same = before.last().filter(|before| (before.supply, before.item) == (line.supply, line.item));
        let there = same.map_or(there, |before| before.stock_after);
        line.stock_after =
            if there >= line.quantity + 10 { there - line.quantity } else { there + 91 - line.quantity };
    }
}

/// Send one statement per line as one request.
fn combine(statement: &Statement, lines: &[Line], out: &mut Vec<u8>, write: impl Fn(Request<'_>, &Line)) {
    let first = out.len();
    for (index, line) in lines.iter().enumerate() {
        let request = if index == 0 { statement.request(out) } else { statement.joined(out, first) };
        write(request, line);
    }
}

impl Profile for NewOrder {
    fn draw(&mut self, input: &mut Input<'_>) {
        self.home = Home { district: input.district(), ..input.home };
        self.customer = input.customer();
        self.count = input.random.uniform(5, MOST_LINES as u64) as usize;
        for (line, number) in self.lines[..self.count].iter_mut().zip(1..) {
            let item = input.constants.item(input.random);
            let supply =
                if input.chance(REMOTE_PERCENT) { input.other_warehouse() } else { input.home.warehouse };
            *line = Line { number, item, supply, quantity: input.random.uniform(1, 10), ..Line::default() };
        }
        if input.chance(ROLLED_BACK_PERCENT) {
            self.lines[self.count - 1].item += ITEMS;
        }
        self.lines[..self.count]
            .sort_unstable_by_key(|line| (line.item > ITEMS, line.supply, line.item, line.number));
        self.again();
    }

    fn again(&mut self) {
        (self.at, self.line, self.order) = (At::Start, 0, None);
    }

    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        let Home { warehouse, district } = self.home;
        let statements = &sql.new_order;
        match self.at {
            At::Start => {
                self.at = At::Begin;
                sql.begin(out)
            }
            At::Begin => {
                self.at = At::District;
                self.has_row = false;
                statements.district.request(out).int(warehouse).int(district).end();
                Next::Ask(SELECT.with_rows())
            }
            At::District if !self.has_row => missing("such district"),
            At::District if self.order.is_none() => unexpected("the number of the next order"),
            At::District => {
                self.at = At::Customer;
                self.has_row = false;
                statements.customer.request(out).int(warehouse).int(district).int(self.customer).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Customer if !self.has_row => missing("such customer"),
            At::Customer => {
                self.at = At::NextOrder;
                statements.next_order.request(out).int(warehouse).int(district).end();
                Next::Ask(UPDATE)
            }
            At::NextOrder => {
                self.at = At::Order;
                let local = self.lines[..self.count].iter().all(|line| line.supply == warehouse);
                let request = statements.order.request(out).int(self.order.unwrap_or_default());
                let request = request.int(district).int(warehouse).int(self.customer);
                request.int(self.count as u64).int(u64::from(local)).end();
                Next::Ask(INSERT)
            }
            At::Order => {
                self.at = At::Waiting;
                let order = self.order.unwrap_or_default();
                statements.waiting.request(out).int(order).int(district).int(warehouse).end();
                Next::Ask(INSERT)
            }
            At::Waiting => self.ask_item(sql, out),
            // Execute all statements, then roll back (clause 2.4.2.3).
            At::Item if !self.has_row && self.is_failing() => self.take(sql, out),
            At::Item if !self.has_row => missing("such item"),
            At::Item if !self.understood => unexpected("the price of an item"),
            At::Item => self.ask_stock(sql, out),
            At::Stock if !self.has_row => missing("such stock"),
            At::Stock if !self.understood => unexpected("the stock of an item"),
            At::Stock => {
                self.line += 1;
                if self.line < self.count { self.ask_item(sql, out) } else { self.take(sql, out) }
            }
            At::Take => self.write(sql, out),
            At::Lines if self.is_to_fail() => self.roll_back(sql, out),
            At::Lines => {
                self.at = At::Commit;
                sql.commit(out)
            }
            At::Commit => Next::Done(None),
            At::Rollback => Next::Done(Some(ROLLED_BACK)),
        }
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        self.has_row = true;
        match self.at {
            At::District => self.order = columns.nth(1).flatten().and_then(amount::parse),
            At::Item => {
                let price = columns.next().flatten().and_then(amount::parse_hundredths);
                self.understood = price.is_some();
                self.lines[self.line].price = price.unwrap_or_default();
            }
            At::Stock => {
                let there = columns.next().flatten().and_then(amount::parse);
                let dist = columns.nth(self.home.district as usize).flatten();
                if let (Some(there), Some(dist)) = (there, dist.and_then(|dist| dist.try_into().ok())) {
                    self.lines[self.line].dist = dist;
                    self.leave(there);
                    self.understood = true;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
impl NewOrder {
    /// Set an order of these items and quantities, all from the home warehouse.
    pub fn draw_for_test(&mut self, lines: &[(u64, u64)]) {
        self.count = lines.len();
        for (line, (&(item, quantity), number)) in self.lines.iter_mut().zip(lines.iter().zip(1..)) {
            *line = Line { number, item, supply: self.home.warehouse, quantity, ..Line::default() };
        }
        self.again();
    }
}
