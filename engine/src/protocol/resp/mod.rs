//! RESP2 and RESP3, what Redis and its kin speak ("Redis serialization protocol specification").
//!
//! Sans-I/O: bytes in, bytes out. `encode` appends commands; `Reader` cuts replies into tokens as they arrive, keeps nothing
//! of them, and asks for no memory, whatever a server claims; `error` says what a server means by no.

mod advice;
pub mod encode;
mod error;
mod line;
mod reader;
#[cfg(test)]
mod reader_tests;

pub use advice::advice;
pub use error::{MAX_CLIENTS, NO_DATABASE, refusal};
pub use reader::{DEEPEST, Heard, LONGEST_BULK, LONGEST_LIST, Reader, Shape, Token};
