//! HTTP/2 client protocol (RFC 9113): sequential or concurrent requests on a connection.
//!
//! Sans-I/O: `Http2` encodes requests into frames and decodes frames into events; `hpack` compresses header
//! fields. Any protocol violation by the server ends the connection with a message, even where the standard
//! would end only the stream: a load test has no use for an incorrect server. A stream reset is legal: its
//! request fails, and the connection remains usable.
//!
//! Server push is refused, priorities are not used, and unknown frames, settings and flags are ignored, as
//! the standard requires.

mod code;
mod connection;
#[cfg(test)]
mod connection_tests;
mod fields;
mod findings;
mod frame;
#[cfg(test)]
mod fuzz_tests;
pub mod hpack;
mod settings;
mod stream;
mod streams;
#[cfg(test)]
mod streams_tests;
mod upload;

pub use code::Code;
pub use connection::Http2;
