//! HTTP/2 as a client speaks it (RFC 9113): one request at a time on a connection, or several at once.
//!
//! Sans-I/O: `Http2` turns requests into frames and frames into what they say; `hpack` packs and unpacks header fields.
//! Whatever a server does that it must not ends the connection with a message that says what it was: also where the
//! standard would have only the stream ended, as a load has no use for a server that is half right. A server that resets a
//! stream does what it may: its request has failed, and the connection goes on.
//!
//! Server push is refused, priorities are not used, and unknown frames, settings and flags mean nothing, as the standard
//! has it.

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
