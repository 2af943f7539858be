//! Network probe in the style of netperf: request/response over persistent connections (`rr`) or one per
//! request (`crr`), and one-way streams (`stream`).
//!
//! Each client is a thread with a connection to a loadcell on the other side, [`Server`]; setup before the
//! first transaction is not measured.

mod exchange;
mod handshake;
mod peer;
mod server;
mod socket_io;
mod stream;
#[cfg(test)]
mod tests;

use std::io;

use self::exchange::Exchange;
use self::handshake::{Options, Test};
use self::peer::Peer;
use self::stream::Stream;
use loadcell_core::clock::Nanos;
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_core::record::{Operation, Recorder, TRANSACTION};
use loadcell_core::spec::Spec;
use loadcell_load::Measurement;
use loadcell_load::blocking::{BlockingClient, BlockingClientFactory, Fault};

pub use server::{Server, serve};

/// Shared state of a network probe's clients.
pub struct Network {
    options: Options,
    peer: Peer,
}

impl Network {
    /// Connect to the peer, or start one.
    pub fn new(options: Options, spec: &Spec) -> Result<Self, LoadError> {
        let peer = match &spec.target.peer {
            Some(name) => Peer::connect_to(name)?,
            None => Peer::start_child()?,
        };
        Ok(Self { options, peer })
    }
}

impl BlockingClientFactory for Network {
    type Client<'t> = Client;

    fn operations(&self) -> &[Operation] {
        &super::PASS
    }

    fn client(&self, _: u32, _: &dyn Fn() -> bool) -> Result<Client, Fault> {
        let address = self.peer.address();
        Ok(match self.options.test {
            Test::Stream => Client::Stream(Stream::new(&self.options, address)?),
            _ => Client::Exchange(Exchange::new(&self.options, address)?),
        })
    }

    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        let megabits = f64::from(self.options.block_bytes) * 8.0 / 1e6;
        let figure = |rate: f64| match self.options.test {
            Test::Stream => ("mbit_per_s", rate * megabits),
            _ => ("transactions_per_s", rate),
        };
        measured.rate_per_s(TRANSACTION).map(figure).into_iter().collect()
    }
}

/// Client of a test.
pub enum Client {
    Exchange(Exchange),
    Stream(Stream),
}

impl BlockingClient for Client {
    fn clear(&mut self) {}

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        match self {
            Self::Exchange(exchange) => exchange.due = due,
            Self::Stream(stream) => stream.select(due),
        }
    }

    #[inline]
    fn selected(&self) -> usize {
        1
    }

    #[inline]
    fn execute(&mut self) -> Result<(), Fault> {
        match self {
            Self::Exchange(exchange) => exchange.execute(),
            Self::Stream(stream) => stream.execute(),
        }
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        match self {
            Self::Exchange(exchange) => exchange.record(recorder, sent, done),
            Self::Stream(stream) => stream.record(recorder, sent, done),
        }
    }

    #[inline]
    fn is_unfinished(&self) -> bool {
        match self {
            Self::Exchange(_) => false,
            Self::Stream(stream) => stream.is_unfinished(),
        }
    }
}

/// Classify an error between this machine and its peer. Only exhausted ports are transient.
fn fault(error: &io::Error) -> Fault {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, TimedOut, UnexpectedEof,
        WouldBlock,
    };
    if let Some(code) = error.raw_os_error().and_then(os::local_exhaustion) {
        return Fault { fatal: code != os::PORTS, ..Fault::new(code, os::error_text(error)) };
    }
    match error.kind() {
        WouldBlock | TimedOut => Fault::fatal("timeout", "the peer did not answer in time"),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
            Fault::fatal("reset", "the peer broke the connection off")
        }
        ConnectionRefused => Fault::fatal("refused", "the peer takes no connection any more"),
        _ => Fault::fatal("connection", os::error_text(error)),
    }
}
