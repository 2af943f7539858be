//! The sockets of one client: that of its records, and another one where answers come from elsewhere.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::judge::{GARBAGE, failure};
use super::lines::FILE;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::os;
use loadcell_transport::epoll::{Epoll, Readiness, Token};
use loadcell_transport::{Endpoint, Socket, connect};

/// Bytes read by one call.
const PART: usize = 64 << 10;
/// Bytes that are read and discarded when a connection is closed: a peer may send without end.
const CLOSING_BYTES: usize = 16 << 20;
/// Longest answer in bytes: more is garbage.
const LONGEST_ANSWER: usize = 64 << 10;

const RECORDS: Token = Token { index: 0, generation: 0 };
const ANSWERS: Token = Token { index: 1, generation: 0 };

/// Input of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    Nothing,
    Bytes(usize),
    /// The peer has closed the connection that answers come from, or that of the records too early.
    End,
}

/// A socket, and whether something can be read from it.
struct Input {
    socket: Socket,
    readable: bool,
    /// The peer has closed, which no further event reports.
    hung_up: bool,
}

pub struct Connection {
    records: Input,
    /// Where answers come from, if it is another connection.
    answers: Option<Input>,
    /// The sending half is shut down.
    ended: bool,
    /// Incomplete answer, and bytes that have just been read.
    input: Vec<u8>,
    keep: Option<StoredAnswers>,
}

/// File of the answers as they are received.
struct StoredAnswers {
    path: PathBuf,
    file: File,
}

/// Settings of a new connection.
pub struct Dial<'d> {
    pub endpoint: &'d Endpoint,
    pub results: Option<&'d Endpoint>,
    pub send_buffer: Option<u32>,
    pub keep_answers: Option<PathBuf>,
    pub timeout_ns: Nanos,
}

impl Connection {
    /// Connect, as long as it is wanted.
    pub fn open(dial: Dial<'_>, is_wanted: &dyn Fn() -> bool) -> Result<Self, Failure> {
        let deadline = Instant::now() + Duration::from_nanos(dial.timeout_ns);
        let open = |endpoint: &Endpoint| {
            let socket = connect(&endpoint.addresses, deadline, is_wanted)?;
            Ok::<_, Failure>(Input { socket, readable: false, hung_up: false })
        };
        let answers = dial.results.map(open).transpose()?;
        let records = open(dial.endpoint)?;
        if let Some(bytes) = dial.send_buffer {
            records.socket.limit_send_buffer(bytes)?;
        }
        let keep = dial.keep_answers.map(StoredAnswers::create).transpose()?;
        Ok(Self { records, answers, ended: false, input: Vec::new(), keep })
    }

    /// Registers the sockets for input and for room in that of the records.
    pub fn register(&self, epoll: &Epoll) -> io::Result<()> {
        epoll.add(self.records.socket.fd(), RECORDS, true)?;
        self.answers.iter().try_for_each(|input| epoll.add(input.socket.fd(), ANSWERS, false))
    }

    /// Notes an event. Returns true if something can be read.
    #[inline]
    pub fn note(&mut self, token: Token, readiness: Readiness) -> bool {
        let input = match (token, &mut self.answers) {
            (ANSWERS, Some(answers)) => answers,
            _ => &mut self.records,
        };
        input.readable |= readiness.readable();
        input.hung_up |= readiness.hung_up();
        input.readable
    }

    /// True if input waits that no event reports any more.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.records.readable || self.answers.as_ref().is_some_and(|input| input.readable)
    }

    /// Lets the next reads ask the kernel, whatever the events have reported.
    pub fn expect_input(&mut self) {
        self.records.readable = true;
        self.answers.iter_mut().for_each(|input| input.readable = true);
    }

    #[inline]
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.records.socket.write(bytes)
    }

    pub fn unacknowledged(&self) -> io::Result<u64> {
        self.records.socket.unacknowledged()
    }

    /// Sends the end of the stream.
    pub fn end_writing(&mut self) {
        self.ended = true;
        self.records.socket.end_writing();
    }

    /// Reads answers that have arrived, and discards other input.
    pub fn read(&mut self) -> Result<Arrived, Failure> {
        let Self { records, answers, ended, input, keep } = self;
        if let Some(answers) = answers {
            match records.read(&mut Vec::new())? {
                Arrived::End if !*ended => return Ok(Arrived::End),
                _ => {}
            }
            return Self::received(answers.read(input)?, input, keep);
        }
        Self::received(records.read(input)?, input, keep)
    }

    fn received(
        arrived: Arrived,
        input: &[u8],
        keep: &mut Option<StoredAnswers>,
    ) -> Result<Arrived, Failure> {
        if let (Arrived::Bytes(count), Some(keep)) = (arrived, keep) {
            keep.write(&input[input.len() - count..])?;
        }
        Ok(arrived)
    }

    /// Discards what was read: no answers are expected.
    pub fn discard(&mut self) {
        self.input.clear();
    }

    /// Passes on the complete lines of the input, without their ends, until one is refused.
    #[inline]
    pub fn lines(&mut self, mut handle: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.input[start..]) {
            let line = &self.input[start..start + length];
            start += length + 1;
            handle(line.strip_suffix(b"\r").unwrap_or(line))?;
        }
        self.input.drain(..start);
        if self.input.len() > LONGEST_ANSWER {
            return Err(failure(GARBAGE, format!("an answer is longer than {LONGEST_ANSWER} bytes")));
        }
        Ok(())
    }

    /// Reads and discards what has arrived, up to a limit: closing a socket with unread bytes would reset the
    /// connection, and discard what the peer has not read.
    pub fn close(&mut self) {
        let mut discarded = Vec::new();
        for input in [Some(&mut self.records), self.answers.as_mut()].into_iter().flatten() {
            input.readable = true;
            let mut count = 0;
            while count < CLOSING_BYTES
                && let Ok(Arrived::Bytes(bytes)) = input.read(&mut discarded)
            {
                count += bytes;
                discarded.clear();
            }
            input.readable = false;
        }
    }
}

impl Input {
    /// Appends what has arrived.
    #[inline]
    fn read(&mut self, input: &mut Vec<u8>) -> io::Result<Arrived> {
        while self.readable {
            let end = input.len();
            input.resize(end + PART, 0);
            let result = self.socket.read(&mut input[end..]);
            input.truncate(end + result.as_ref().map_or(0, |&count| count));
            match result {
                Ok(0) => {
                    self.readable = false;
                    return Ok(Arrived::End);
                }
                Ok(count) => {
                    // Less than asked for is all there is: the next bytes are reported by an event.
                    self.readable = count == PART || self.hung_up;
                    return Ok(Arrived::Bytes(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Arrived::Nothing)
    }
}

impl StoredAnswers {
    fn create(path: PathBuf) -> Result<Self, Failure> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(Self::failure(&path, &error)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| Self::failure(&self.path, &error))
    }

    fn failure(path: &std::path::Path, error: &io::Error) -> Failure {
        failure(FILE, format!("{}: {}", path.display(), os::error_text(error)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;
    use loadcell_core::target::Target;

    #[test]
    fn a_peer_that_sends_without_end_does_not_keep_a_connection_from_closing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let part = vec![b'x'; 1 << 20];
            (0..).find(|_| stream.write_all(&part).is_err()).unwrap()
        });
        let target = json!({"protocol": "stream", "host": "127.0.0.1", "port": port, "sslmode": "disable"});
        let target: Target = serde_json::from_value(loadcell_testing::section("target", &target)).unwrap();
        let dial = Dial {
            endpoint: &Endpoint::of(&target).unwrap(),
            results: None,
            send_buffer: None,
            keep_answers: None,
            timeout_ns: 10_000_000_000,
        };
        let mut connection = Connection::open(dial, &|| true).unwrap();
        connection.close();
        drop(connection);
        let written_mib: usize = peer.join().unwrap();
        assert!(written_mib < 64, "{written_mib} MiB were read");
    }
}
