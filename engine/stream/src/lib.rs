//! Records sent over a byte stream (TCP or a Unix socket), and their answers.
//!
//! A record is a transaction. Each client is a thread with its own connection: it sends records in
//! batches, as fast as the socket takes them or by a schedule, and reads answers whenever they arrive. Record
//! `i` of connection `k` of `c` has the number `k + i * c`, and its contents follow from the seed and this
//! number, whatever the pace: lost, repeated and reordered records are found by their numbers.
//!
//! - A source ([`source`]) makes records: by seed, once before the load, or from the lines of a file.
//! - A judge ([`judge`]) compares answers with what was sent, and records successes and failures.
//! - The loop ([`stream_loop`]) sends, waits and reads.

mod batch;
mod connection;
mod judge;
mod key_order;
mod layout;
mod lines;
mod options;
mod run;
mod runs;
mod source;
mod stream_loop;
#[cfg(test)]
mod tests;
mod totals;
mod window;

pub use run::{check, records, sessions};
