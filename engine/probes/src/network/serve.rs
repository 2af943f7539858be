//! `loadcell host --serve`: runs a server until it is stopped.

use std::io;
use std::net::{TcpListener, ToSocketAddrs};

use serde_json::json;

use super::server::{Server, ServerTotals};
use loadcell_core::error::Problem;
use loadcell_core::observe::{Directive, Observer, TICK};
use loadcell_load::NoResult;

/// Serve at `HOST:PORT` until the observer stops it.
pub fn serve(address: &str, observer: &mut dyn Observer) -> Result<ServerTotals, NoResult> {
    let refused = |error: io::Error| refused(address, &error);
    let named = address.to_socket_addrs().map_err(refused)?.next();
    let named = named.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    let server = TcpListener::bind(named).and_then(Server::start).map_err(refused)?;
    let mut go = observer.event(&json!({"type": "listening", "address": server.address.to_string()}));
    while go == Directive::Continue {
        std::thread::sleep(TICK);
        go = observer.tick();
    }
    if go == Directive::Abort { Err(NoResult::Aborted) } else { Ok(server.served()) }
}

fn refused(address: &str, error: &io::Error) -> Problem {
    let text = error.to_string();
    let message = text.split(" (os error").next().unwrap_or_default();
    let advice = match error.raw_os_error() {
        Some(libc::EADDRINUSE) => "something listens there already: name another port",
        Some(libc::EADDRNOTAVAIL) => "name an address of this machine: `loadcell host` lists them",
        Some(libc::EACCES) => "ports below 1024 are root's: name a higher one",
        _ => "name an address of this machine and a port, such as 127.0.0.1:7733",
    };
    Problem::new("connection", format!("cannot listen on {address}: {message}"), advice)
}
