//! One-way stream, counted at the receiver.
//!
//! The server reports the received bytes about every megabyte. A block is a transaction, from its handover to
//! the kernel until its last byte is known to have arrived: as many of them are in flight as buffers hold.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::fault;
use super::handshake::Options;
use super::peer::open;
use super::socket_io::{readable, receive_now, write};
use loadcell_core::clock::Nanos;
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::Fault;

/// Time limit of waiting for a report, between checks of the time limit.
const REPORT_WAIT: Duration = Duration::from_millis(20);

pub struct Stream {
    stream: TcpStream,
    block: Vec<u8>,
    /// The next block was selected.
    chosen: Option<Nanos>,
    /// Blocks in flight: intended start and handover.
    in_flight: VecDeque<(Nanos, Nanos)>,
    /// Blocks that arrived since the last record.
    arrived: u64,
    reports: ReportDecoder,
    fault: Option<Fault>,
}

/// Decoder of reports: numbers of 8 bytes, the total of bytes received.
#[derive(Default)]
struct ReportDecoder {
    part: [u8; 8],
    have: usize,
    total: u64,
}

impl Stream {
    pub fn new(options: &Options, address: SocketAddr) -> Result<Self, Fault> {
        Ok(Self {
            stream: open(address, options.hello())?,
            block: vec![0; options.block_bytes as usize],
            chosen: None,
            in_flight: VecDeque::new(),
            arrived: 0,
            reports: ReportDecoder::default(),
            fault: None,
        })
    }

    #[inline]
    pub fn select(&mut self, due: Nanos) {
        self.chosen = Some(due);
    }

    #[inline]
    pub fn execute(&mut self) -> Result<(), Fault> {
        let done = self.hand_over().and_then(|()| self.read_reports());
        self.fault = done.as_ref().err().map(fault);
        self.fault.clone().map_or(Ok(()), Err)
    }

    #[inline]
    fn hand_over(&mut self) -> io::Result<()> {
        match self.chosen {
            Some(_) => write(&self.stream, self.block.len() as u32, &self.block),
            None => readable(&self.stream, REPORT_WAIT).map(drop),
        }
    }

    /// Process the available reports.
    #[inline]
    fn read_reports(&mut self) -> io::Result<()> {
        let mut buffer = [0; 512];
        loop {
            match receive_now(&self.stream, &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.reports.take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    #[inline]
    pub fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        if let Some(due) = self.chosen.take() {
            self.in_flight.push_back((due, sent));
        }
        while self.arrived < self.reports.total / self.block.len() as u64 {
            let Some((due, sent)) = self.in_flight.pop_front() else { break };
            self.arrived += 1;
            recorder.succeed(TRANSACTION, due, sent, done);
        }
        if let Some(fault) = &self.fault {
            for (due, sent) in self.in_flight.drain(..) {
                recorder.fail(TRANSACTION, due, sent, done, &fault.failure());
            }
        }
    }

    /// True if blocks are in flight.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        !self.in_flight.is_empty()
    }
}

impl ReportDecoder {
    fn take(&mut self, buffer: &[u8]) {
        for &octet in buffer {
            self.part[self.have] = octet;
            self.have += 1;
            if self.have == self.part.len() {
                (self.total, self.have) = (u64::from_be_bytes(self.part), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_may_be_split() {
        let mut reports = ReportDecoder::default();
        let buffer: Vec<u8> = [5u64, 1 << 40].iter().flat_map(|total| total.to_be_bytes()).collect();
        for (at, octet) in buffer.iter().enumerate() {
            reports.take(&[*octet]);
            assert_eq!(
                reports.total,
                if at < 7 {
                    0
                } else if at < 15 {
                    5
                } else {
                    1 << 40
                }
            );
        }
    }
}
