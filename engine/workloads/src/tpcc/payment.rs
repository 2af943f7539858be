//! Payment (clause 2.5): a payment by a customer, at the home warehouse or a remote one.

use std::io::Write;

use super::customer::Customer;
use super::profile::{Profile, missing};
use super::sql::{INSERT, SELECT, Sql, UPDATE};
use super::terminal::{Home, Input};
use crate::sql::Next;

/// Percentage of customers of another warehouse (clause 2.5.1.2).
const REMOTE_PERCENT: u64 = 15;
/// Capacity of `c_data`.
const LONGEST_DATA: usize = 500;

/// The last statement sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    Begin,
    PayDistrict,
    District,
    PayWarehouse,
    Warehouse,
    Named,
    Customer,
    Data,
    PayCustomer,
    History,
    Commit,
}

#[derive(Default)]
pub struct Payment {
    at: At,
    home: Home,
    customer: Customer,
    /// In hundredths.
    amount: u64,
    has_row: bool,
    warehouse_name: Vec<u8>,
    district_name: Vec<u8>,
    bad_credit: bool,
    data: Vec<u8>,
}

impl Payment {
    fn ask_customer(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Customer;
        (self.has_row, self.bad_credit) = (false, false);
        let request = sql.payment.customer.request(out);
        request.int(self.customer.warehouse).int(self.customer.district).int(self.customer.id).end();
        Next::Ask(SELECT.with_rows())
    }

    fn pay_customer(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::PayCustomer;
        let Customer { warehouse, district, id, .. } = self.customer;
        let request = if self.bad_credit {
            let request = sql.payment.pay_customer_with_data.request(out);
            request.hundredths(self.amount).hundredths(self.amount).text(&self.data)
        } else {
            sql.payment.pay_customer.request(out).hundredths(self.amount).hundredths(self.amount)
        };
        request.int(warehouse).int(district).int(id).end();
        Next::Ask(UPDATE)
    }

    /// Prepend this payment to the customer's data (clause 2.5.2.2).
    fn note(&mut self, noted: &[u8]) {
        let Customer { warehouse, district, id, .. } = self.customer;
        let Home { warehouse: at_warehouse, district: at_district } = self.home;
        let (units, hundredths) = (self.amount / 100, self.amount % 100);
        self.data.clear();
        let written = write!(
            self.data,
            "{id} {district} {warehouse} {at_district} {at_warehouse} {units}.{hundredths:02} | "
        );
        debug_assert!(written.is_ok(), "memory takes everything");
        self.data.extend_from_slice(noted);
        // Truncate at a character boundary: other programs may have written any text to c_data.
        let mut end = self.data.len().min(LONGEST_DATA);
        while end < self.data.len() && self.data[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        self.data.truncate(end);
    }
}

impl Profile for Payment {
    fn draw(&mut self, input: &mut Input<'_>) {
        self.home = Home { district: input.district(), ..input.home };
        let (warehouse, district) = if input.chance(REMOTE_PERCENT) {
            (input.other_warehouse(), input.district())
        } else {
            (self.home.warehouse, self.home.district)
        };
        self.customer.draw(input, warehouse, district);
        self.amount = input.random.uniform(100, 500_000);
        self.again();
    }

    fn again(&mut self) {
        self.at = At::Start;
        self.customer.again();
    }

    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        let Home { warehouse, district } = self.home;
        let statements = &sql.payment;
        match self.at {
            At::Start => {
                self.at = At::Begin;
                sql.begin(out)
            }
            At::Begin => {
                self.at = At::PayDistrict;
                statements
                    .pay_district
                    .request(out)
                    .hundredths(self.amount)
                    .int(warehouse)
                    .int(district)
                    .end();
                Next::Ask(UPDATE)
            }
            At::PayDistrict => {
                self.at = At::District;
                self.has_row = false;
                statements.district.request(out).int(warehouse).int(district).end();
                Next::Ask(SELECT.with_rows())
            }
            At::District if !self.has_row => missing("such district"),
            At::District => {
                self.at = At::PayWarehouse;
                statements.pay_warehouse.request(out).hundredths(self.amount).int(warehouse).end();
                Next::Ask(UPDATE)
            }
            At::PayWarehouse => {
                self.at = At::Warehouse;
                self.has_row = false;
                statements.warehouse.request(out).int(warehouse).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Warehouse if !self.has_row => missing("such warehouse"),
            At::Warehouse if self.customer.is_named() => {
                self.at = At::Named;
                self.customer.ask(sql, out)
            }
            At::Warehouse => self.ask_customer(sql, out),
            At::Named => match self.customer.settle() {
                Some(()) => self.ask_customer(sql, out),
                None => missing("customer of that name"),
            },
            At::Customer if !self.has_row => missing("such customer"),
            At::Customer if self.bad_credit => {
                self.at = At::Data;
                self.has_row = false;
                let Customer { warehouse, district, id, .. } = self.customer;
                statements.data.request(out).int(warehouse).int(district).int(id).end();
                Next::Ask(SELECT.with_rows())
            }
            At::Data if !self.has_row => missing("such customer"),
            At::Customer | At::Data => self.pay_customer(sql, out),
            At::PayCustomer => {
                self.at = At::History;
                let mut names = std::mem::take(&mut self.warehouse_name);
                names.extend_from_slice(b"    ");
                names.extend_from_slice(&self.district_name);
                let request = statements.history.request(out).int(self.customer.id);
                let request = request.int(self.customer.district).int(self.customer.warehouse);
                request.int(district).int(warehouse).hundredths(self.amount).text(&names).end();
                self.warehouse_name = names; // Reuse the buffer.
                Next::Ask(INSERT)
            }
            At::History => {
                self.at = At::Commit;
                sql.commit(out)
            }
            At::Commit => Next::Done(None),
        }
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        self.has_row = true;
        let first = columns.next().flatten();
        let keep = |into: &mut Vec<u8>| {
            into.clear();
            into.extend_from_slice(first.unwrap_or_default());
        };
        match self.at {
            At::District => keep(&mut self.district_name),
            At::Warehouse => keep(&mut self.warehouse_name),
            At::Named => self.customer.named(first),
            At::Customer => self.bad_credit = first == Some(b"BC"),
            At::Data => self.note(first.unwrap_or_default()),
            _ => {}
        }
    }
}
