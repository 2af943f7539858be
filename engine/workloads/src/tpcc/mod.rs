//! TPC-C as run by BenchmarkSQL 5: its schema, the statements of its five transactions, its terminals.
//! Clauses in comments refer to the TPC-C specification, revision 5.11.

mod amount;
mod client;
mod customer;
mod data;
mod delivery;
mod new_order;
mod nurand;
mod options;
mod order_status;
mod pace;
mod payment;
mod profile;
mod schema;
mod sql;
mod stock_level;
mod terminal;
mod text;

pub use client::Tpcc;
pub use data::DataSet;
pub use options::Options;

/// Districts per warehouse (clause 1.2.1 and 4.3.3.1).
const DISTRICTS: u64 = 10;
/// Customers per district.
const CUSTOMERS: u64 = 3_000;
/// Orders per district after loading; those from `FIRST_UNDELIVERED` on are undelivered.
const ORDERS: u64 = 3_000;
const FIRST_UNDELIVERED: u64 = 2_101;
/// Number of items, and of stock rows per warehouse.
const ITEMS: u64 = 100_000;
/// Maximum lines of an order.
const MOST_LINES: usize = 15;
