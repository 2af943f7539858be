//! pgbench's script language: people's scripts, unchanged.
//!
//! [`Builder`] takes definitions (`-D`) and scripts and makes a [`Program`]; the program makes a [`Client`]
//! for each connection; a client says what is [`Next`] and does all by itself that needs no server. Nothing
//! here touches a socket, a clock or a file.
//!
//! ```
//! use loadcell_workloads::pgbench::{Builder, Mode, Next, Run};
//!
//! let mut builder = Builder::new(Mode::Simple);
//! builder.script("ro.sql", b"\\set aid random(1, 100000 * :scale)\nSELECT :aid;", 1).unwrap();
//! let program = builder.build(Run { seed: 42, clients: 1, threads: 1, scale: 1 }).unwrap();
//! let mut client = program.client(0);
//! client.begin(0);
//! let Next::Sql { statement, .. } = client.next(&program).unwrap() else { panic!() };
//! let mut out = Vec::new();
//! statement.write(&client.variables, &mut out);
//! assert_eq!(out, b"SELECT 83532;");
//! ```

mod answer;
mod branches;
pub mod builtin;
mod client;
mod compiler;
mod data;
mod error;
mod expression;
mod functions;
mod hash;
mod lexer;
mod options;
mod parser;
mod permute;
mod program;
pub(crate) mod random;
mod request;
mod script;
mod shell;
mod splitter;
mod statement;
mod value;
mod variables;
mod workload;

#[cfg(test)]
mod tests;

pub use client::{Client, Next};
pub use data::DataSet;
pub use error::ScriptError;
pub use options::{Options, RETRIED};
pub use program::{Builder, Program, Run};
pub use statement::Mode;
pub use workload::{Pgbench, check};
