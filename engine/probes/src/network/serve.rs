//! `loadcell host --serve`: runs a server until it is stopped.

use std::io;
use std::net::{TcpListener, ToSocketAddrs};

use serde_json::json;

use super::server::{Server, ServerTotals};
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer, TICK};

/// Serve at `HOST:PORT` until the observer stops it.
pub fn serve(address: &str, observer: &mut dyn Observer) -> Result<ServerTotals, LoadError> {
    let refused = |error: io::Error| refused(address, &error);
    let named = address.to_socket_addrs().map_err(refused)?.next();
    let named = named.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    let server = TcpListener::bind(named).and_then(Server::start).map_err(refused)?;
    let mut go = observer.event(&json!({"type": "listening", "address": server.address.to_string()}));
    while go == Directive::Continue {
        std::thread::sleep(TICK);
        go = observer.tick();
    }
    if go == Directive::Abort { Err(LoadError::aborted()) } else { Ok(server.served()) }
}

fn refused(address: &str, error: &io::Error) -> LoadError {
    let text = error.to_string();
    let message = text.split(" (os error").next().unwrap_or_default();
    let step = match error.raw_os_error() {
        Some(libc::EADDRINUSE) => "engine.listen-in-use",
        Some(libc::EADDRNOTAVAIL) => "engine.listen-elsewhere",
        Some(libc::EACCES) => "engine.listen-denied",
        _ => "engine.listen",
    };
    LoadError::with_text("connection", message, step, json!({"address": address}))
}
