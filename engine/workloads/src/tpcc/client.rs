//! Terminal: chooses transaction types and runs their statements.

use std::sync::Arc;

use super::delivery::Delivery;
use super::new_order::NewOrder;
use super::nurand::Constants;
use super::options::Options;
use super::order_status::OrderStatus;
use super::pace::Pace;
use super::payment::Payment;
use super::profile::Profile;
use super::sql::{Sql, operations};
use super::stock_level::StockLevel;
use super::terminal::{Home, Input};
use crate::sql::{Next, Transactions, Workload};
use loadcell_core::clock::Nanos;
use loadcell_core::error::SpecError;
use loadcell_core::random::Random;
use loadcell_core::record::{OpId, Operation};
use loadcell_core::target::Dialect;

/// Shared state of all terminals.
pub struct Tpcc {
    operations: Vec<Operation>,
    shared: Arc<Shared>,
    seed: u64,
}

struct Shared {
    sql: Sql,
    constants: Constants,
    warehouses: u64,
    fixed_home: bool,
    weights: [u32; 5],
    pace: Pace,
}

impl Tpcc {
    /// State for `terminals` terminals, whose random numbers derive from `seed`.
    pub fn new(dialect: Dialect, options: &Options, seed: u64, terminals: u32) -> Result<Self, SpecError> {
        options.check_terminals(terminals)?;
        let shared = Shared {
            sql: Sql::new(dialect, options.protocol),
            constants: Constants::of_run(seed),
            warehouses: options.warehouses.into(),
            fixed_home: options.terminal_warehouse_fixed,
            weights: options.weights(),
            pace: Pace::new(options.keying_time, options.think_time, options.limit_txns_per_min, terminals),
        };
        Ok(Self { operations: operations(), shared: Arc::new(shared), seed })
    }
}

impl Workload for Tpcc {
    type Client = Client;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, client: u32) -> Client {
        Client {
            shared: self.shared.clone(),
            random: Random::stream(self.seed, client.into()),
            home: Home::of(client, self.shared.warehouses),
            now: Type::NewOrder,
            last: None,
            chosen: None,
            new_order: NewOrder::default(),
            payment: Payment::default(),
            order_status: OrderStatus::default(),
            delivery: Delivery::default(),
            stock_level: StockLevel::default(),
        }
    }
}

/// Transaction types, in the order of their clauses, weights and operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Type {
    const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Its operation follows that of the transaction.
    fn operation(self) -> OpId {
        OpId(self as u16 + 1)
    }
}

/// One terminal.
pub struct Client {
    shared: Arc<Shared>,
    random: Random,
    home: Home,
    now: Type,
    last: Option<Type>,
    /// Next type, if it was chosen in advance.
    chosen: Option<Type>,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
}

impl Client {
    fn choose(&mut self) -> Type {
        let mut drawn = self.random.below(100) as u32;
        for (of_type, weight) in Type::ALL.into_iter().zip(self.shared.weights) {
            if drawn < weight {
                return of_type;
            }
            drawn -= weight;
        }
        unreachable!("weights sum to 100")
    }
}

/// Call a method of the current transaction's profile.
macro_rules! of_now {
    ($client:ident . $method:ident ( $($argument:expr),* )) => {
        match $client.now {
            Type::NewOrder => $client.new_order.$method($($argument),*),
            Type::Payment => $client.payment.$method($($argument),*),
            Type::OrderStatus => $client.order_status.$method($($argument),*),
            Type::Delivery => $client.delivery.$method($($argument),*),
            Type::StockLevel => $client.stock_level.$method($($argument),*),
        }
    };
}

impl Transactions for Client {
    fn parse(&self) -> &[u8] {
        &self.shared.sql.parse
    }

    fn think_time(&mut self, elapsed: Option<Nanos>) -> Nanos {
        let next = self.choose();
        self.chosen = Some(next);
        let last = self.last.map(|last| last as usize);
        self.shared.pace.think_time(&mut self.random, last, next as usize, elapsed)
    }

    fn begin(&mut self) -> Option<OpId> {
        self.now = match self.chosen.take() {
            Some(chosen) => chosen,
            None => self.choose(),
        };
        self.last = Some(self.now);
        let warehouses = self.shared.warehouses;
        if !self.shared.fixed_home {
            self.home = Home::drawn(&mut self.random, warehouses);
        }
        let constants = &self.shared.constants;
        let mut input = Input { random: &mut self.random, constants, home: self.home, warehouses };
        of_now!(self.draw(&mut input));
        Some(self.now.operation())
    }

    fn again(&mut self) {
        of_now!(self.again());
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        of_now!(self.next(&self.shared.sql, out))
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        of_now!(self.row(columns));
    }

    fn completed(&mut self, rows: u64) {
        of_now!(self.completed(rows));
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
