//! Request/response tests, over one connection or over a new one per request.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::fault;
use super::handshake::Options;
use super::handshake::{HELLO_BYTES, Hello, Test};
use super::peer::{TIMEOUT, open};
use super::socket_io::{PIECE, pass, write};
use loadcell_core::clock::Nanos;
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::Fault;
use loadcell_transport::dial;

/// Pause when no local port is available. Ports become free in batches, a minute after their use, and
/// constant retries would slow down other clients.
const PORTS_PAUSE: Duration = Duration::from_millis(5);

pub struct Exchange {
    hello: Hello,
    address: SocketAddr,
    /// None if each transaction has its own connection.
    stream: Option<TcpStream>,
    /// Bytes to send; if a connection has a single request, they start with the hello.
    out: Vec<u8>,
    piece: Vec<u8>,
    pub due: Nanos,
    fault: Option<Fault>,
}

impl Exchange {
    pub fn new(options: &Options, address: SocketAddr) -> Result<Self, Fault> {
        let hello = options.hello();
        let alone = hello.test == Test::Crr;
        let stream = (!alone).then(|| open(address, hello)).transpose()?;
        let (mut out, head) = (vec![0; HELLO_BYTES + hello.request as usize], hello.encode());
        out[..HELLO_BYTES].copy_from_slice(&head);
        if !alone {
            out.drain(..HELLO_BYTES);
        }
        Ok(Self { hello, address, stream, out, piece: vec![0; PIECE], due: 0, fault: None })
    }

    #[inline]
    pub fn execute(&mut self) -> Result<(), Fault> {
        let done = match &self.stream {
            Some(stream) => exchange(stream, &self.out, self.hello.response, &mut self.piece),
            None => dial(self.address, TIMEOUT)
                .and_then(|stream| exchange(&stream, &self.out, self.hello.response, &mut self.piece)),
        };
        self.fault = done.as_ref().err().map(fault);
        match &self.fault {
            Some(fault) if fault.fatal => Err(fault.clone()),
            Some(_) => {
                std::thread::sleep(PORTS_PAUSE);
                Ok(())
            }
            None => Ok(()),
        }
    }

    #[inline]
    pub fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        match &self.fault {
            None => recorder.succeed(TRANSACTION, self.due, sent, done),
            Some(fault) => recorder.fail(TRANSACTION, self.due, sent, done, &fault.failure()),
        }
    }
}

#[inline]
fn exchange(stream: &TcpStream, out: &[u8], response: u32, piece: &mut [u8]) -> io::Result<()> {
    write(stream, out.len() as u32, out)?;
    pass(stream, response, piece)
}
