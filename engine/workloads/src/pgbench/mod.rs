//! pgbench's script language: people's scripts, unchanged.
//!
//! [`Builder`] takes definitions (`-D`) and scripts and makes a [`Program`]; the program makes a [`Client`]
//! for each connection; a client says what is [`Next`] and does all by itself that needs no server. Nothing
//! here touches a socket, a clock or a file.
//!
//! ``` use loadcell_workloads::pgbench::{Builder, Mode, Next, Run};
//!
//! let mut builder = Builder::new(Mode::Simple); builder.script("ro.sql", b"\\set aid random(1, 100000 *
//! :scale)\nSELECT :aid;", 1).unwrap(); let program = builder.build(Run { seed: 42, clients: 1, threads: 1,
//! scale: 1 }).unwrap(); let mut client = program.client(0); client.begin(0); let Next::Sql { statement, .. }
//! = client.next(&program).unwrap() else { panic!() }; let mut out = Vec::new();
//! statement.write(&client.variables, &mut out); assert_eq!(out, b"SELECT 83532;");
//! ```

mod answer;
mod branches;
pub mod builtin;
pub mod client;
pub mod compiler;
mod data;
pub mod error;
pub mod expression;
pub mod functions;
pub mod hash;
pub mod lexer;
mod options;
pub mod parser;
pub mod permute;
pub mod program;
pub mod random;
mod request;
pub mod script;
mod shell;
pub mod splitter;
pub mod statement;
pub mod value;
pub mod variables;
mod workload;

#[cfg(test)]
mod tests;

pub use client::{Client, Debugged, Next};
pub use data::DataSet;
pub use error::ScriptError;
pub use options::{Options, RETRIED};
pub use program::{Builder, Program, Run};
pub use random::{Random, Seeds};
pub use script::{Action, Script};
pub use statement::{Mode, Statement, Store};
pub use value::Value;
pub use variables::{Slot, Variables};
pub use workload::{Pgbench, check};
