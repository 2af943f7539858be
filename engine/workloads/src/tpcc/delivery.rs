//! Delivery (clause 2.7): delivers the oldest undelivered order of each district of a warehouse.
//!
//! The specification queues deliveries for deferred execution. As in BenchmarkSQL 5, the terminal executes
//! them at once, all ten districts in one transaction; its response time is theirs.

use super::DISTRICTS;
use super::amount;
use super::profile::{Profile, missing, unexpected};
use super::sql::{DELETE, SELECT, SKIPPED, Sql, UPDATE};
use super::terminal::Input;
use crate::sql::Next;

/// The last statement sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    Begin,
    Oldest,
    Take,
    Carrier,
    Customer,
    Lines,
    Sum,
    Pay,
    Commit,
}

#[derive(Default)]
pub struct Delivery {
    at: At,
    warehouse: u64,
    carrier: u64,
    /// Current district.
    district: u64,
    has_row: bool,
    /// Value in the last response, and number of changed rows.
    value: Option<u64>,
    taken: bool,
    order: u64,
    customer: u64,
    skipped: bool,
}

impl Delivery {
    fn ask_oldest(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Oldest;
        (self.has_row, self.value) = (false, None);
        sql.delivery.oldest.request(out).int(self.warehouse).int(self.district).end();
        Next::Ask(SELECT.with_rows())
    }

    fn next_district(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.district += 1;
        if self.district <= DISTRICTS {
            return self.ask_oldest(sql, out);
        }
        self.at = At::Commit;
        sql.commit(out)
    }
}

impl Profile for Delivery {
    fn draw(&mut self, input: &mut Input<'_>) {
        self.warehouse = input.home.warehouse;
        self.carrier = input.random.uniform(1, 10);
        self.again();
    }

    fn again(&mut self) {
        (self.at, self.district, self.skipped) = (At::Start, 0, false);
    }

    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        let Self { warehouse, district, order, .. } = *self;
        let statements = &sql.delivery;
        match self.at {
            At::Start => {
                self.at = At::Begin;
                sql.begin(out)
            }
            At::Begin | At::Pay => self.next_district(sql, out),
            At::Oldest if !self.has_row => {
                self.skipped = true;
                self.next_district(sql, out)
            }
            At::Oldest => match self.value {
                Some(order) => {
                    (self.at, self.order, self.taken) = (At::Take, order, false);
                    statements.take.request(out).int(warehouse).int(district).int(order).end();
                    Next::Ask(DELETE.with_rows())
                }
                None => unexpected("the number of a waiting order"),
            },
            // A concurrent delivery has taken this order; look for the next oldest.
            At::Take if !self.taken => self.ask_oldest(sql, out),
            At::Take => {
                self.at = At::Carrier;
                statements
                    .carrier
                    .request(out)
                    .int(self.carrier)
                    .int(warehouse)
                    .int(district)
                    .int(order)
                    .end();
                Next::Ask(UPDATE)
            }
            At::Carrier => {
                self.at = At::Customer;
                (self.has_row, self.value) = (false, None);
                statements.customer.request(out).int(warehouse).int(district).int(order).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Customer if !self.has_row => missing("order for one that waits"),
            At::Customer => match self.value {
                Some(customer) => {
                    (self.at, self.customer) = (At::Lines, customer);
                    statements.lines.request(out).int(warehouse).int(district).int(order).end();
                    Next::Ask(UPDATE)
                }
                None => unexpected("the customer of an order"),
            },
            At::Lines => {
                self.at = At::Sum;
                (self.has_row, self.value) = (false, None);
                statements.sum.request(out).int(warehouse).int(district).int(order).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Sum => match self.value {
                Some(sum) => {
                    self.at = At::Pay;
                    let request = statements.pay.request(out).hundredths(sum);
                    request.int(warehouse).int(district).int(self.customer).end();
                    Next::Ask(UPDATE)
                }
                None => missing("line of an order"),
            },
            At::Commit => Next::Done(self.skipped.then_some(SKIPPED)),
        }
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        if self.has_row {
            return; // Only the oldest matters, which is first.
        }
        self.has_row = true;
        let value = columns.next().flatten();
        self.value = match self.at {
            At::Sum => value.and_then(amount::parse_hundredths),
            _ => value.and_then(amount::parse),
        };
    }

    fn completed(&mut self, rows: u64) {
        self.taken = rows > 0;
    }
}
