//! HTTP workloads: requests generated from templates, sent over any HTTP version, with checked responses.

mod check;
mod client;
mod exchange;
mod factory;
mod options;
mod parameter;
mod pattern;
mod session;
#[cfg(test)]
mod session_http2_tests;
#[cfg(test)]
mod session_tests;
mod streams;
#[cfg(test)]
mod streams_tests;
mod template;

pub use factory::{Sessions, StreamSessions, check};
pub use options::version;

/// Failure code of an operating system error that has a specific one.
fn error_code(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ECONNREFUSED => Some("refused"),
        libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Some("reset"),
        _ => None,
    }
}
