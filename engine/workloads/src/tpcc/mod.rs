//! TPC-C as BenchmarkSQL 5 runs it: its schema, its five transactions statement by statement, its terminals. Clauses that
//! comments name are those of the TPC-C specification, revision 5.11.

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

pub use client::{Client, Tpcc};
pub use data::DataSet;
pub use options::Options;

/// What each warehouse has (clause 1.2.1 and 4.3.3.1).
const DISTRICTS: u64 = 10;
/// Of each district.
const CUSTOMERS: u64 = 3_000;
/// Orders of each district when it is loaded; those from `FIRST_UNDELIVERED` on wait for delivery.
const ORDERS: u64 = 3_000;
const FIRST_UNDELIVERED: u64 = 2_101;
/// In all, and stock rows of each warehouse.
const ITEMS: u64 = 100_000;
/// Lines that an order has at most.
const MOST_LINES: usize = 15;
