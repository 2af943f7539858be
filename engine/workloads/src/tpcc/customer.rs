//! Selection of a customer by number or by last name (clauses 2.5.1.2 and 2.6.1.2).

use super::amount;
use super::sql::{SELECT, Sql};
use super::terminal::Input;
use super::text;
use crate::sql::Next;

/// Percentage of customers selected by last name.
const BY_LAST_NAME_PERCENT: u64 = 60;

/// The selected customer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Customer {
    pub warehouse: u64,
    pub district: u64,
    /// 0 until known, for a selection by last name.
    pub id: u64,
    last_name: Vec<u8>,
    /// Ids of all customers with that name, sorted by first name.
    named: Vec<u64>,
}

impl Customer {
    /// Draw a customer of a district.
    pub fn draw(&mut self, input: &mut Input<'_>, warehouse: u64, district: u64) {
        (self.warehouse, self.district) = (warehouse, district);
        self.last_name.clear();
        self.id = 0;
        if input.chance(BY_LAST_NAME_PERCENT) {
            text::last_name(input.constants.last_name(input.random), &mut self.last_name);
        } else {
            self.id = input.customer();
        }
        self.again();
    }

    pub fn again(&mut self) {
        self.named.clear();
        if self.is_named() {
            self.id = 0;
        }
    }

    pub fn is_named(&self) -> bool {
        !self.last_name.is_empty()
    }

    /// Query the ids of all customers with the name.
    pub fn ask(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next {
        self.named.clear();
        sql.by_last_name.request(out).int(self.warehouse).int(self.district).text(&self.last_name).end();
        Next::Ask(SELECT.with_rows())
    }

    pub fn named(&mut self, id: Option<&[u8]>) {
        self.named.extend(id.and_then(amount::parse));
    }

    /// Select the middle one of these customers, rounded up; `None` if there are none.
    pub fn settle(&mut self) -> Option<()> {
        self.id = *self.named.get(self.named.len().div_ceil(2).checked_sub(1)?)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_customer_is_selected() {
        for (named, expected) in [(1, 10), (2, 10), (3, 20), (4, 20), (5, 30)] {
            let mut customer = Customer { last_name: b"BARBARBAR".to_vec(), ..Customer::default() };
            for id in 1..=named {
                customer.named(Some(format!("{id}0").as_bytes()));
            }
            assert_eq!(customer.settle(), Some(()));
            assert_eq!(customer.id, expected, "of {named}");
        }
        assert_eq!(Customer::default().settle(), None);
    }
}
