//! HTTP services under load: requests made of templates, over any version of the protocol, and what becomes of them.

mod check;
mod client;
mod factory;
mod options;
mod parameter;
mod session;
#[cfg(test)]
mod session_tests;
mod template;
mod wire;

pub use factory::{Sessions, check};
pub use wire::{Fields, Http, Limits, Request, Said};

/// What a person can do about a failure of this code; empty where nothing general helps.
pub fn advice(code: &str) -> &'static str {
    match code {
        "refused" => "nothing listens there: start the service, or correct the target's url",
        "reset" => {
            "the service broke off: see its own log; many at once may be a full queue of connections (net.core.somaxconn)"
        }
        "connection" => "see the service's own log; check the target's url, and what is between it and here",
        "timeout" => "the service does not answer in time: see its own log; load.timeout says how long it may take",
        "protocol" => "is this a service of HTTP/1.1? Check scheme and port of the target's url",
        "tls" => {
            "check the scheme of the target's url and the server's certificate; `tls: {ca: FILE}` trusts another authority, \
             `tls: {name: NAME}` expects another name, `tls: {verify: false}` trusts anybody"
        }
        "ports" => {
            "this machine has no port left for another connection: use keep_alive: true, more than one address of the target, \
             or a wider range (sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\")"
        }
        "descriptors" => "raise the limit of open files (ulimit -n), or use fewer clients",
        _ => "",
    }
}
