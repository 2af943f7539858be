//! RESP2 and RESP3, the protocol of Redis and compatible servers ("Redis serialization protocol
//! specification").
//!
//! Sans-I/O. `encode` appends commands; `Reader` splits replies into tokens as they arrive, without storing
//! or allocating, whatever a server claims; `error` classifies error replies.

pub mod encode;
mod error;
mod line;
mod reader;
#[cfg(test)]
mod reader_tests;

pub use error::{NO_DATABASE, refusal};
pub use reader::{ReadToken, Reader, Shape, Token};
