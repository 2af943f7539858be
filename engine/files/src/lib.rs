//! Files in a directory: each client is a thread that calls the operating system.
//!
//! Every file has one owner among the clients, by its number. A client therefore knows the name, the size and
//! the version of each of its files, and compares what it reads with them. At its end it writes this
//! knowledge to a list (see [`ownership`]), with which all files are compared after the load.

mod client;
mod directory;
mod loader;
mod options;
mod ownership;
mod run;
#[cfg(test)]
mod tests;

pub use loader::load;
pub use run::sessions;
