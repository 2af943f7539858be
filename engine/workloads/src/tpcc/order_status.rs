//! Order-Status (clause 2.6): status of a customer's last order.

use super::amount;
use super::customer::Customer;
use super::profile::{Profile, missing, unexpected};
use super::sql::{SELECT, Sql};
use super::terminal::Input;
use crate::sql::Next;

/// The last statement sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    Begin,
    Named,
    Customer,
    LastOrder,
    Lines,
    Commit,
}

#[derive(Default)]
pub struct OrderStatus {
    at: At,
    customer: Customer,
    has_row: bool,
    order: Option<u64>,
}

impl OrderStatus {
    fn ask_customer(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.at = At::Customer;
        self.has_row = false;
        let Customer { warehouse, district, id, .. } = self.customer;
        sql.order_status.customer.request(out).int(warehouse).int(district).int(id).end();
        Next::Ask(SELECT.with_rows())
    }
}

impl Profile for OrderStatus {
    fn draw(&mut self, input: &mut Input<'_>) {
        let district = input.district();
        self.customer.draw(input, input.home.warehouse, district);
        self.again();
    }

    fn again(&mut self) {
        self.at = At::Start;
        self.customer.again();
    }

    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        let Customer { warehouse, district, id, .. } = self.customer;
        let statements = &sql.order_status;
        match self.at {
            At::Start => {
                self.at = At::Begin;
                sql.begin(out)
            }
            At::Begin if self.customer.is_named() => {
                self.at = At::Named;
                self.customer.ask(sql, out)
            }
            At::Begin => self.ask_customer(sql, out),
            At::Named => match self.customer.settle() {
                Some(()) => self.ask_customer(sql, out),
                None => missing("customer of that name"),
            },
            At::Customer if !self.has_row => missing("such customer"),
            At::Customer => {
                self.at = At::LastOrder;
                (self.has_row, self.order) = (false, None);
                let request = statements.last_order.request(out).int(warehouse).int(district).int(id);
                request.int(warehouse).int(district).int(id).end();
                Next::Ask(SELECT.with_rows())
            }
            At::LastOrder if !self.has_row => missing("order of that customer"),
            At::LastOrder => match self.order {
                Some(order) => {
                    self.at = At::Lines;
                    statements.lines.request(out).int(warehouse).int(district).int(order).end();
                    Next::Ask(SELECT)
                }
                None => unexpected("the number of an order"),
            },
            At::Lines => {
                self.at = At::Commit;
                sql.commit(out)
            }
            At::Commit => Next::Done(None),
        }
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        self.has_row = true;
        match self.at {
            At::Named => self.customer.named(columns.next().flatten()),
            At::LastOrder => self.order = columns.next().flatten().and_then(amount::parse),
            _ => {}
        }
    }
}
