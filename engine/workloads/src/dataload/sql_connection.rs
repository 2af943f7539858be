//! Blocking connection to an SQL database: queries and COPY, on the sans-I/O protocol.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;

use loadcell_core::error::{Failure, LoadError, LoadStep};
use loadcell_core::session::Reconnect;
use loadcell_protocols::{Cancel, Columns, Config, Event, Malformed, Message, Progress, SqlProtocol};
use loadcell_transport::{Address, BlockingTransport};

pub type ConnectOptions = loadcell_transport::ConnectOptions<Config>;

/// Time limit of a connection that only cancels the statement of another one.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);
/// Rows are sent in messages of about this many bytes: few system calls, and the message stays in the cache.
const CHUNK: usize = 64 << 10;

pub struct SqlConnection<'a, P: SqlProtocol> {
    options: &'a ConnectOptions,
    /// None before it is open, and during the TLS handshake.
    transport: Option<BlockingTransport<'a>>,
    protocol: P,
    out: Vec<u8>,
    address: &'a Address,
}

/// The part of a response that is used.
#[derive(Default)]
struct Reply {
    /// First value of the first row.
    first: Option<String>,
    /// Rows returned or changed by the last statement.
    rows: u64,
    /// The server waits for rows.
    send: bool,
    ended: bool,
}

fn no_connection() -> Failure {
    Failure { code: "connection".into(), message: "the connection is gone".into() }
}

impl<'a, P: SqlProtocol> SqlConnection<'a, P> {
    /// Connect, with and without TLS where `sslmode` allows both.
    pub fn connect(options: &'a ConnectOptions) -> Result<Self, LoadError> {
        options.connect(|address| {
            let protocol = P::new(options.config.clone());
            let mut connection = Self { options, transport: None, protocol, out: Vec::new(), address };
            while let Err(failure) = connection.open() {
                if connection.protocol.lost(&failure) == Reconnect::Later {
                    return Err(failure);
                }
            }
            Ok(connection)
        })
    }

    /// Close the connection; its response may be incomplete.
    pub fn close(&mut self) {
        if let Some(mut transport) = self.transport.take() {
            transport.send_last(P::GOODBYE);
        }
    }

    fn open(&mut self) -> Result<(), Failure> {
        let deadline = self.options.deadline();
        self.transport = Some(BlockingTransport::connect(self.address, &self.options.stop, deadline)?);
        self.out.clear();
        self.protocol.opened(&mut self.out);
        let opened = self.handshake(deadline);
        if opened.is_err() {
            self.transport = None;
        }
        opened
    }

    fn handshake(&mut self, deadline: Instant) -> Result<(), Failure> {
        loop {
            self.send(Some(deadline))?;
            let transport = self.transport.as_mut().ok_or_else(no_connection)?;
            let (consumed, progress) = self.protocol.open(&transport.input, &mut self.out)?;
            transport.input.drain(..consumed);
            match progress {
                Progress::Ready => return Ok(()),
                Progress::Secure => {
                    self.send(Some(deadline))?; // MySQL's request for TLS, which has no reply.
                    self.secure(deadline)?;
                }
                Progress::More if self.out.is_empty() => self.receive(Some(deadline))?,
                Progress::More => {}
            }
        }
    }

    fn secure(&mut self, deadline: Instant) -> Result<(), Failure> {
        let transport = self.transport.take().ok_or_else(no_connection)?;
        let (transport, server_end_point) = transport.secure(self.options.endpoint.tls.as_ref(), deadline)?;
        self.transport = Some(transport);
        self.protocol.secured(&server_end_point, &mut self.out);
        Ok(())
    }

    /// Call the transport. If that fails, an error that the server sent before is the better reason.
    fn with_transport<T>(
        &mut self,
        call: impl FnOnce(&mut BlockingTransport<'a>, &[u8]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let transport = self.transport.as_mut().ok_or_else(no_connection)?;
        call(transport, &self.out).map_err(|failure| self.pending_error().unwrap_or(failure))
    }

    /// Send `out`.
    fn send(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        self.with_transport(|transport, out| transport.send(out, deadline))?;
        self.out.clear();
        Ok(())
    }

    /// Wait until more bytes have arrived.
    fn receive(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        self.with_transport(|transport, _| transport.receive(deadline))
    }

    /// An error message among the received bytes that were not processed yet, which are discarded.
    fn pending_error(&mut self) -> Option<Failure> {
        let input = &mut self.transport.as_mut()?.input;
        let (mut at, mut error) = (0, None);
        while let Ok(Some((size, message))) = self.protocol.next(&input[at..]) {
            at += size;
            if let Message::Event(Event::Refused { why, .. }) = message {
                error = error.or(Some(why));
            }
        }
        input.drain(..at);
        error
    }

    /// Read the response to its end, or to where the server waits for rows.
    fn read_reply(&mut self) -> Result<Reply, Failure> {
        let mut reply = Reply::default();
        let mut error = None;
        loop {
            let input = &mut self.transport.as_mut().ok_or_else(no_connection)?.input;
            let mut at = 0;
            while let Some((size, message)) = self.protocol.next(&input[at..])? {
                at += size;
                match message {
                    Message::Nothing | Message::Names(_) => {}
                    Message::Row(mut columns) => {
                        if reply.first.is_none() {
                            let first = columns.next().flatten();
                            reply.first = first.map(|value| String::from_utf8_lossy(value).into_owned());
                        }
                        columns.end()?;
                    }
                    Message::Event(Event::Completed { rows, .. }) => reply.rows = rows,
                    Message::Event(Event::Refused { why, fatal: true }) => return Err(why),
                    Message::Event(Event::Refused { why, .. }) => error = error.or(Some(why)),
                    Message::Event(Event::Send) => reply.send = true,
                    Message::Event(Event::Ready { .. }) => reply.ended = true,
                }
                if reply.send || reply.ended {
                    break;
                }
            }
            input.drain(..at);
            match error {
                Some(failure) if reply.ended => return Err(failure),
                _ if reply.ended || reply.send => return Ok(reply),
                _ => self.receive(None)?,
            }
        }
    }

    /// Send a statement and read its response.
    fn execute(&mut self, sql: &str) -> Result<Reply, Failure> {
        let start = self.out.len();
        P::query(&mut self.out, sql);
        self.protocol.announce(&mut self.out[start..], true);
        self.send(None)?;
        self.read_reply()
    }

    /// Run one statement. Returns the first value of its first row. `step` is that of its error.
    pub fn query(&mut self, sql: &str, step: &LoadStep) -> Result<Option<String>, LoadError> {
        let result = self.execute(sql).and_then(|reply| match reply.ended {
            true => Ok(reply.first),
            false => Err(Malformed("it waits for rows that no statement loads".into()).into()),
        });
        result.map_err(|failure| self.fail(step, failure))
    }

    /// Run one statement. Returns the number of rows that it changed. `step` is that of its error.
    pub fn change(&mut self, sql: &str, step: &LoadStep) -> Result<u64, LoadError> {
        self.execute(sql).map(|reply| reply.rows).map_err(|failure| self.fail(step, failure))
    }

    /// Run `COPY ... FROM STDIN` or its equivalent. Returns the number of rows that the server accepted.
    /// `fill` appends rows, up to about `CHUNK` bytes, and returns true if there are more.
    pub fn copy(
        &mut self,
        sql: &str,
        step: &LoadStep,
        mut fill: impl FnMut(&mut Vec<u8>, usize) -> bool,
    ) -> Result<u64, LoadError> {
        self.copy_in(sql, &mut fill).map_err(|failure| self.fail(step, failure))
    }

    fn copy_in(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>, usize) -> bool,
    ) -> Result<u64, Failure> {
        if !self.execute(sql)?.send {
            return Err(Malformed("an answer to a load of rows that is none".into()).into());
        }
        let mut more = true;
        while more {
            self.protocol.rows(&mut self.out, |out| more = fill(out, CHUNK));
            self.send(None)?;
            let has_input = self.with_transport(|transport, _| {
                Ok(!transport.input.is_empty() || transport.read_available()?)
            })?;
            if has_input && let Some(error) = self.pending_error() {
                return Err(error); // The server discards all further rows.
            }
        }
        self.protocol.rows_end(&mut self.out);
        self.send(None)?;
        self.read_reply().map(|reply| reply.rows)
    }

    /// Give up the connection. If the load is being stopped, the server's statement is cancelled.
    fn fail(&self, step: &LoadStep, failure: Failure) -> LoadError {
        if self.options.stop.load(Ordering::Relaxed) {
            self.cancel();
        }
        failure.during(step.clone())
    }

    /// Cancel the current statement. Best effort: the effect is not awaited.
    fn cancel(&self) {
        let options = self.options.for_cancel(CANCEL_TIMEOUT);
        match self.protocol.cancel() {
            Cancel::Message(request) => {
                let transport = BlockingTransport::connect(self.address, &options.stop, options.deadline());
                if let Ok(mut transport) = transport {
                    transport.send_last(&request);
                }
            }
            Cancel::Query(sql) => {
                if let Ok(mut other) = SqlConnection::<P>::connect(&options) {
                    let _ = other.query(&sql, &LoadStep::new("engine.error", json!({})));
                }
            }
        }
    }
}

impl<P: SqlProtocol> Drop for SqlConnection<'_, P> {
    fn drop(&mut self) {
        self.close();
    }
}
