//! One connection that waits for its answers: queries and COPY, on the sans-I/O protocol.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loadcell_core::error::Failure;
use loadcell_core::error::Problem;
use loadcell_core::os;
use loadcell_core::session::Reconnect;
use loadcell_protocols::{Cancel, Columns, Config, Event, Malformed, Message, Progress, SqlProtocol};
use loadcell_transport::{Address, Endpoint, Socket, TlsStream, Transport};

/// How long a wait may last before it is looked whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long it may take to tell a server to stop, where that needs a connection of its own.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);
/// Rows travel in messages of about this many bytes: large enough to be cheap, small enough to stay in the cache.
const CHUNK: usize = 64 << 10;
const READ: usize = 16 << 10;
/// Codes of failures in which nobody has answered: another address may be another server.
const NO_RESPONSE: [&str; 4] = ["connection", "timeout", os::PORTS, os::DESCRIPTORS];

/// Where and as whom to connect, and when to give up.
pub struct ConnectOptions {
    /// A remedy for an error's code.
    pub advice: fn(&str) -> &'static str,
    pub endpoint: Arc<Endpoint>,
    pub config: Arc<Config>,
    pub connect_timeout: Duration,
    /// Set when whatever is going on is to end.
    pub stop: AtomicBool,
}

pub struct SqlConnection<'a, W: SqlProtocol> {
    options: &'a ConnectOptions,
    /// None before it is open, and while TLS is being made.
    transport: Option<Transport>,
    wire: W,
    input: Vec<u8>,
    out: Vec<u8>,
    address: &'a Address,
}

fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// What was heard of an answer.
#[derive(Default)]
struct Reply {
    /// The first value of the first row.
    first: Option<String>,
    /// Rows that the last statement gave or changed.
    rows: u64,
    /// The server waits for rows.
    send: bool,
    ended: bool,
}

impl ConnectOptions {
    /// The same for a connection that is to be made although all others are told to stop, and soon.
    fn for_cancel(&self) -> Self {
        let (endpoint, config) = (self.endpoint.clone(), self.config.clone());
        Self {
            advice: self.advice,
            endpoint,
            config,
            connect_timeout: CANCEL_TIMEOUT,
            stop: AtomicBool::new(false),
        }
    }

    /// A failure as something to act upon; `doing` begins the sentence.
    fn problem(&self, doing: &str, failure: &Failure) -> Problem {
        let advice = (self.advice)(&failure.code);
        Problem::new(failure.code.clone(), format!("{doing}: {}", failure.message), advice)
    }
}

impl<'a, W: SqlProtocol> SqlConnection<'a, W> {
    /// Connects, trying each address of the endpoint in turn, and with or without TLS where `sslmode` leaves it open.
    pub fn connect(options: &'a ConnectOptions) -> Result<Self, Problem> {
        let mut last = failure("connection", "it has no address");
        for address in &options.endpoint.addresses {
            let wire = W::new(options.config.clone());
            let mut client =
                Self { options, transport: None, wire, input: Vec::new(), out: Vec::new(), address };
            while let Err(why) = client.open() {
                let again = client.wire.lost(&why);
                last = why;
                if again == Reconnect::Later {
                    break;
                }
            }
            if client.transport.is_some() {
                return Ok(client);
            }
            if !NO_RESPONSE.contains(&last.code.as_str()) {
                break; // Somebody answered: the other addresses are the same server.
            }
        }
        Err(options.problem(&format!("cannot connect to {}", options.endpoint), &last))
    }

    fn open(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + self.options.connect_timeout;
        let socket = Socket::connect(self.address)?;
        wait(&self.options.stop, &socket, libc::POLLOUT, Some(deadline))?;
        socket.error()?;
        self.transport = Some(Transport::plain(socket));
        self.input.clear();
        self.out.clear();
        self.wire.opened(&mut self.out);
        let opened = self.shake_hands(deadline);
        if opened.is_err() {
            self.transport = None;
        }
        opened
    }

    fn shake_hands(&mut self, deadline: Instant) -> Result<(), Failure> {
        loop {
            self.send(Some(deadline))?;
            let (consumed, progress) = self.wire.open(&self.input, &mut self.out)?;
            self.input.drain(..consumed);
            match progress {
                Progress::Ready => return Ok(()),
                Progress::Secure => self.secure(deadline)?,
                Progress::More if self.out.is_empty() => self.receive(Some(deadline))?,
                Progress::More => {}
            }
        }
    }

    fn secure(&mut self, deadline: Instant) -> Result<(), Failure> {
        let tls = self.options.endpoint.tls.as_ref().ok_or_else(|| failure("tls", "TLS is not set up"))?;
        let Some(Transport::Plain(plain)) = self.transport.take() else {
            return Err(failure("tls", "TLS was asked for twice"));
        };
        let mut stream = TlsStream::new(plain.into_socket(), tls)?;
        while !stream.handshake()? {
            // What a client says in a handshake fits into any socket's buffer: only the server is waited for.
            wait(&self.options.stop, stream.socket(), libc::POLLIN, Some(deadline))?;
        }
        let end_point = stream.server_end_point();
        self.transport = Some(Transport::Tls(Box::new(stream)));
        self.wire.secured(&end_point, &mut self.out);
        Ok(())
    }

    fn transport(&mut self) -> Result<&mut Transport, Failure> {
        self.transport.as_mut().ok_or_else(|| failure("connection", "the connection is gone"))
    }

    fn wait(&mut self, events: i16, deadline: Option<Instant>) -> Result<i16, Failure> {
        let options = self.options;
        wait(&options.stop, self.transport()?.socket(), events, deadline)
    }

    /// Sends all that is to be sent.
    fn send(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let mut sent = self.transport()?.send(&out).map_err(io_error)?;
        self.out = out; // Its memory is used again.
        self.out.clear();
        while !sent {
            // Read as well: a server that reports an error may wait for us to read before it reads on.
            let events = self.wait(libc::POLLOUT | libc::POLLIN, deadline)?;
            if events & libc::POLLIN != 0 {
                self.take()?;
            }
            sent = self.transport()?.flush().map_err(io_error)?;
        }
        Ok(())
    }

    /// Waits until more bytes have arrived.
    fn receive(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        while !self.take()? {
            self.wait(libc::POLLIN, deadline)?;
        }
        Ok(())
    }

    /// Takes what has arrived; whether that was anything.
    fn take(&mut self) -> Result<bool, Failure> {
        let start = self.input.len();
        self.input.resize(start + READ, 0);
        let result = match &mut self.transport {
            Some(transport) => transport.read(&mut self.input[start..]),
            None => Ok(0),
        };
        self.input.truncate(start + result.as_ref().map_or(0, |&count| count));
        match result {
            // A server that goes says why first, if it can.
            Ok(0) => Err(self
                .last_words()
                .unwrap_or_else(|| failure("connection", "the server closed the connection"))),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.last_words().unwrap_or_else(|| io_error(error))),
        }
    }

    /// An error among what has arrived and was not looked at yet.
    fn last_words(&mut self) -> Option<Failure> {
        let (mut at, mut error) = (0, None);
        while let Ok(Some((size, said))) = self.wire.next(&self.input[at..]) {
            at += size;
            if let Message::Event(Event::Refused { why, .. }) = said {
                error = error.or(Some(why));
            }
        }
        self.input.drain(..at);
        error
    }

    /// Reads on in the answer to what was asked: to its end, or to where the server wants rows.
    fn listen(&mut self) -> Result<Reply, Failure> {
        let mut heard = Reply::default();
        let mut error = None;
        loop {
            let mut at = 0;
            while let Some((size, said)) = self.wire.next(&self.input[at..])? {
                at += size;
                match said {
                    Message::Nothing | Message::Names(_) => {}
                    Message::Row(mut columns) => {
                        if heard.first.is_none() {
                            let first = columns.next().flatten();
                            heard.first = first.map(|value| String::from_utf8_lossy(value).into_owned());
                        }
                        columns.end()?;
                    }
                    Message::Event(Event::Completed { rows, .. }) => heard.rows = rows,
                    Message::Event(Event::Refused { why, fatal: true }) => return Err(why),
                    Message::Event(Event::Refused { why, .. }) => error = error.or(Some(why)),
                    Message::Event(Event::Send) => heard.send = true,
                    Message::Event(Event::Ready { .. }) => heard.ended = true,
                }
                if heard.send || heard.ended {
                    break;
                }
            }
            self.input.drain(..at);
            match error {
                Some(why) if heard.ended => return Err(why),
                _ if heard.ended || heard.send => return Ok(heard),
                _ => self.receive(None)?,
            }
        }
    }

    /// Sends a statement and reads on in its answer.
    fn ask(&mut self, sql: &str) -> Result<Reply, Failure> {
        let start = self.out.len();
        W::query(&mut self.out, sql);
        self.wire.announce(&mut self.out[start..], true);
        self.send(None)?;
        self.listen()
    }

    /// Runs one statement; the first value of its first row. `doing` says in an error what was attempted.
    pub fn query(&mut self, sql: &str, doing: &str) -> Result<Option<String>, Problem> {
        let answer = self.ask(sql).and_then(|heard| match heard.ended {
            true => Ok(heard.first),
            false => Err(Malformed("it waits for rows that no statement loads".into()).into()),
        });
        answer.map_err(|why| self.give_up(doing, why))
    }

    /// Runs `COPY ... FROM STDIN` or what takes its place, and answers how many rows the server took. `fill` appends some
    /// rows, up to about `CHUNK` bytes, and answers whether there are more.
    pub fn copy(
        &mut self,
        sql: &str,
        doing: &str,
        mut fill: impl FnMut(&mut Vec<u8>, usize) -> bool,
    ) -> Result<u64, Problem> {
        self.copy_in(sql, &mut fill).map_err(|why| self.give_up(doing, why))
    }

    fn copy_in(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>, usize) -> bool,
    ) -> Result<u64, Failure> {
        if !self.ask(sql)?.send {
            return Err(Malformed("an answer to a load of rows that is none".into()).into());
        }
        let mut more = true;
        while more {
            self.wire.rows(&mut self.out, |out| more = fill(out, CHUNK));
            self.send(None)?;
            if (!self.input.is_empty() || self.take()?)
                && let Some(error) = self.last_words()
            {
                return Err(error); // Before all rows are sent to a server that throws them away.
            }
        }
        self.wire.rows_end(&mut self.out);
        self.send(None)?;
        self.listen().map(|heard| heard.rows)
    }

    /// The connection is of no more use to its worker. When it was told to stop, the server is told too.
    fn give_up(&self, doing: &str, why: Failure) -> Problem {
        if self.options.stop.load(Ordering::Relaxed) {
            self.cancel();
        }
        self.options.problem(doing, &why)
    }

    /// Asks the server to end what this connection does. Best effort: whether it does so is not waited for.
    fn cancel(&self) {
        match self.wire.cancel() {
            Cancel::Message(request) => self.cancel_by(&request),
            Cancel::Query(sql) => {
                let options = self.options.for_cancel();
                if let Ok(mut other) = SqlConnection::<W>::connect(&options) {
                    let _ = other.query(&sql, "cannot stop the server");
                }
            }
        }
    }

    fn cancel_by(&self, request: &[u8]) {
        let Ok(socket) = Socket::connect(self.address) else { return };
        let mut waiting = libc::pollfd { fd: socket.fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&mut waiting, 1, POLL_INTERVAL.as_millis() as i32) };
        let _ = socket.write(request);
    }
}

impl<W: SqlProtocol> Drop for SqlConnection<'_, W> {
    fn drop(&mut self) {
        if let Some(transport) = &mut self.transport {
            let _ = transport.send(W::GOODBYE);
        }
    }
}

/// Why a connection that was there is of no more use.
pub fn io_error(error: io::Error) -> Failure {
    let Failure { code, message } = error.into();
    Failure { code, message: format!("the connection broke ({message})") }
}

/// Waits for events on a socket: which have come. Fails at the deadline, or when told to stop.
pub fn wait(
    stop: &AtomicBool,
    socket: &Socket,
    events: i16,
    deadline: Option<Instant>,
) -> Result<i16, Failure> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(failure("stopped", "it was stopped"));
        }
        let patience = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Err(failure("timeout", "no answer within the time allowed")),
            Some(left) => left.min(POLL_INTERVAL),
            None => POLL_INTERVAL,
        };
        let mut waiting = libc::pollfd { fd: socket.fd(), events, revents: 0 };
        // SAFETY: one valid pollfd, alive during the call.
        let count = unsafe { libc::poll(&mut waiting, 1, patience.as_millis().max(1) as i32) };
        match count {
            0 => continue,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            -1 => return Err(io_error(io::Error::last_os_error())),
            _ => return Ok(waiting.revents),
        }
    }
}
