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

use loadcell_core::os;

/// Failure code of an operating system error that has a specific one.
fn error_code(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ECONNREFUSED => Some("refused"),
        libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Some("reset"),
        _ => None,
    }
}

/// Remedy for a failure code; empty where no general advice exists.
pub fn advice(code: &str) -> &'static str {
    match code {
        "refused" => "nothing listens there: start the service, or correct the target's url",
        "reset" => {
            "the service broke off: see its own log; many at once may be a full queue of connections (net.core.somaxconn)"
        }
        "connection" => "see the service's own log; check the target's url, and what is between it and here",
        "timeout" => {
            "the service does not answer in time: see its own log; load.timeout says how long it may take"
        }
        "protocol" => {
            "is this a service of HTTP, in the version that `workload.http.version` says? Check scheme and port of the target's url, too"
        }
        "tls" => {
            "check the scheme of the target's url, `workload.http.version` and the server's certificate; `tls.ca` names a file with another \
             authority to trust, `tls.name` another name to expect, `tls.verify: false` trusts anybody"
        }
        os::PORTS => {
            "this machine has no port left for another connection: use keep_alive: true, more than one address of the target, \
             or a wider range (sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\")"
        }
        "REFUSED_STREAM" | "ENHANCE_YOUR_CALM" | "NO_ERROR" => {
            "the service takes no more: see what it limits (requests a connection, streams, rates), and its own log"
        }
        "INTERNAL_ERROR" | "CANCEL" => "the service gave the request up: see its own log",
        _ => os::advice(code),
    }
}
