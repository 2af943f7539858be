//! A connection of the load, carried to the target and back.
//!
//! Bytes take one read and one write. Streams that fill the buffer are spliced instead. Only while an effect
//! lasts, bytes are copied into segments that wait for their release.

use std::io;

use super::effect::{Effects, TO_CLIENT, TO_SERVER};
use super::exchange::{Exchange, Passed};
use super::flow::Flow;
use super::pipe::Pipes;
use super::totals::Totals;
use loadcell_core::clock::Nanos;
use loadcell_core::random::Random;
use loadcell_transport::Socket;
use loadcell_transport::epoll::Readiness;

/// Reads of one direction before other connections have their turn.
const READS_AT_ONCE: usize = 16;
/// Most bytes of a connection and direction that wait for their release, as a window of TCP.
const MAX_WAITING: usize = 4 << 20;
/// A splice of fewer bytes is not worth its two calls.
const LONG: usize = 16 * 1024;

/// State that the connections of a thread share.
pub struct Shared {
    pub effects: Effects,
    pub buffer: Box<[u8]>,
    pub pipes: Pipes,
    pub random: Random,
    pub totals: Totals,
    /// The instant of the events in progress.
    pub now: Nanos,
}

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The proxy connects to the target's address of this number.
    Connecting(usize),
    Open,
    /// The client gets what waits for it, and then the end.
    Ending,
    /// It was made while bytes are swallowed: the target does not know of it.
    Lost,
}

/// Next step of a connection after its bytes were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for events.
    Wait,
    /// Move bytes again, after those of other connections.
    Again,
    /// Both directions have ended.
    Close,
    /// It is broken: both ends are reset.
    Abort,
}

/// A socket with the readiness that epoll has reported and no call has used up.
#[derive(Default)]
pub struct End {
    pub socket: Option<Socket>,
    readable: bool,
    hung_up: bool,
}

impl End {
    pub fn new(socket: Socket) -> Self {
        Self { socket: Some(socket), ..Self::default() }
    }

    pub fn report(&mut self, readiness: Readiness) {
        self.readable |= readiness.readable();
        self.hung_up |= readiness.hung_up();
    }

    /// Read; `None` when nothing is there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match socket.read(buffer) {
            Ok(count) => {
                // A read that does not fill the buffer has taken everything. The end is still to be read.
                self.readable = count == buffer.len() || self.hung_up;
                Ok(Some(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

pub struct Connection {
    pub generation: u32,
    pub phase: Phase,
    /// By direction: the end that its bytes come from.
    pub ends: [End; 2],
    pub flows: [Flow; 2],
    /// Direction of the last bytes.
    last: usize,
    /// Bytes of the response so far; unknown of one that began before they were counted.
    response: Option<u64>,
    exchange: Option<Box<Exchange>>,
}

impl Connection {
    pub fn new(generation: u32, phase: Phase, client: Socket) -> Self {
        Self {
            generation,
            phase,
            ends: [End::new(client), End::default()],
            flows: [Flow::default(), Flow::default()],
            last: TO_CLIENT,
            response: None,
            exchange: None,
        }
    }

    /// Move bytes in both directions.
    pub fn advance(&mut self, shared: &mut Shared) -> Next {
        match self.phase {
            Phase::Connecting(_) => Next::Wait,
            Phase::Lost => self.swallow(TO_SERVER, shared),
            Phase::Ending => self.end(shared),
            Phase::Open => {
                let both = [TO_SERVER, TO_CLIENT].map(|flow| self.advance_flow(flow, shared));
                if both.contains(&Next::Abort) {
                    return Next::Abort;
                }
                if self.phase == Phase::Ending {
                    return self.end(shared);
                }
                // A request that was answered at once waits in the other direction.
                let late = !self.flows[TO_CLIENT].is_empty() && both[TO_CLIENT] == Next::Wait;
                if late && self.write(TO_CLIENT, shared).is_err() {
                    return Next::Abort;
                }
                if self.flows.iter().all(|flow| flow.shut) {
                    return Next::Close;
                }
                if both.contains(&Next::Again) { Next::Again } else { Next::Wait }
            }
        }
    }

    /// Move bytes in one direction.
    #[inline]
    pub fn advance_flow(&mut self, flow: usize, shared: &mut Shared) -> Next {
        let plain = self.exchange.is_none() && shared.effects.is_plain(flow);
        let moved = if plain { self.pass(flow, shared) } else { self.shape(flow, shared) };
        moved.unwrap_or(Next::Abort)
    }

    /// Pass bytes on as they are.
    #[inline]
    fn pass(&mut self, flow: usize, shared: &mut Shared) -> io::Result<Next> {
        if !self.flows[flow].is_empty() {
            self.write(flow, shared)?;
        }
        for _ in 0..READS_AT_ONCE {
            if !self.has_more(flow) || !self.flows[flow].is_empty() {
                break;
            }
            self.last = flow;
            if self.flows[flow].is_long {
                self.splice(flow, shared)?;
                continue;
            }
            let Some(count) = self.ends[flow].read(&mut shared.buffer)? else { break };
            if count == 0 {
                self.flows[flow].ended = true;
                break;
            }
            shared.totals.bytes[flow] += count as u64;
            self.flows[flow].is_long = count == shared.buffer.len();
            let Some(sink) = &self.ends[1 - flow].socket else { continue };
            let sent = match sink.write(&shared.buffer[..count]) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            if sent < count {
                self.flows[flow].push(shared.buffer[sent..count].to_vec(), 0);
                self.write(flow, shared)?;
            }
        }
        self.pass_end(flow);
        let more = self.flows[flow].is_empty() && self.has_more(flow);
        Ok(if more { Next::Again } else { Next::Wait })
    }

    /// Pass a long stream on through a pipe.
    fn splice(&mut self, flow: usize, shared: &mut Shared) -> io::Result<()> {
        let (source, sink) = (&self.ends[flow].socket, &self.ends[1 - flow].socket);
        let (Some(source), Some(sink)) = (source, sink) else { return Ok(()) };
        let Some(mut pipe) = shared.pipes.take() else {
            self.flows[flow].is_long = false;
            return Ok(());
        };
        let filled = pipe.fill(source.fd());
        let emptied = if filled.is_ok() { pipe.empty(sink.fd()) } else { Ok(()) };
        if pipe.bytes > 0 {
            self.flows[flow].pipe = Some(pipe);
        } else {
            shared.pipes.put(pipe);
        }
        match filled {
            Ok(0) => self.flows[flow].ended = true,
            Ok(count) => {
                shared.totals.bytes[flow] += count as u64;
                self.flows[flow].is_long = count >= LONG;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.ends[flow].readable = false,
            Err(error) => return Err(error),
        }
        match emptied {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Move bytes under effects.
    #[cold]
    fn shape(&mut self, flow: usize, shared: &mut Shared) -> io::Result<Next> {
        for _ in 0..READS_AT_ONCE {
            self.write(flow, shared)?;
            let (limit, size) = self.limits(flow, shared);
            let has_room = self.flows[flow].is_empty() || shared.effects.holds(flow);
            if !has_room || self.flows[flow].queued >= limit || !self.has_more(flow) {
                break;
            }
            let Some(count) = self.ends[flow].read(&mut shared.buffer[..size])? else { break };
            if count == 0 {
                self.flows[flow].ended = true;
                if shared.effects.holds(flow) && !shared.effects.blackhole {
                    self.queue(flow, Vec::new(), shared);
                }
                break;
            }
            shared.totals.bytes[flow] += count as u64;
            if shared.effects.blackhole {
                self.flows[flow].has_gap = true;
                shared.totals.swallowed_bytes += count as u64;
                continue;
            }
            self.take(flow, shared.buffer[..count].to_vec(), shared);
            if self.phase == Phase::Ending {
                break;
            }
        }
        self.write(flow, shared)?;
        if !shared.effects.blackhole {
            self.pass_end(flow);
        }
        let has_room = self.flows[flow].is_empty() || shared.effects.holds(flow);
        let more = has_room && self.flows[flow].queued < self.limits(flow, shared).0 && self.has_more(flow);
        Ok(if more { Next::Again } else { Next::Wait })
    }

    /// Most bytes of a direction that wait, and those of one read: the next piece is under way while the last
    /// one leaves a link.
    fn limits(&self, flow: usize, shared: &Shared) -> (usize, usize) {
        match shared.effects.link[flow].as_deref() {
            None => (MAX_WAITING, shared.buffer.len()),
            Some(link) => (2 * link.piece(), link.piece().min(shared.buffer.len())),
        }
    }

    /// Take bytes of a direction, which an effect may change.
    fn take(&mut self, flow: usize, bytes: Vec<u8>, shared: &mut Shared) {
        self.follow(shared);
        self.last = flow;
        let Some(mut exchange) = self.exchange.take() else {
            return self.hand_on(flow, bytes, shared);
        };
        let Passed { to_server, to_client, answered, ends } = if flow == TO_SERVER {
            let (chosen, random) = (shared.effects.http_error, &mut shared.random);
            exchange.client_sent(&bytes, || {
                chosen.filter(|error| random.unit() < error.share).map(|error| error.status)
            })
        } else {
            exchange.server_sent(&bytes)
        };
        if shared.effects.http_error.is_some() || !exchange.is_idle() {
            self.exchange = Some(exchange);
        }
        shared.totals.answered += answered;
        if !to_server.is_empty() {
            self.hand_on(TO_SERVER, to_server, shared);
        }
        if !to_client.is_empty() {
            self.hand_on(TO_CLIENT, to_client, shared);
        }
        if ends {
            self.begin_end(shared);
        }
    }

    /// Look at requests from now on, if an effect asks for it.
    fn follow(&mut self, shared: &Shared) {
        if shared.effects.http_error.is_some() && self.exchange.is_none() {
            self.exchange = Some(Box::new(Exchange::new(self.last == TO_SERVER)));
        }
    }

    /// Queue bytes to be passed on, of a response no more than may arrive.
    fn hand_on(&mut self, flow: usize, mut bytes: Vec<u8>, shared: &mut Shared) {
        match (flow, shared.effects.truncate, &mut self.response) {
            (TO_SERVER, _, response) => *response = Some(0),
            (_, Some(limit), Some(count)) => {
                *count += bytes.len() as u64;
                if *count > limit {
                    bytes.truncate(bytes.len() - (*count - limit) as usize);
                    shared.totals.truncated += 1;
                    self.begin_end(shared);
                }
            }
            _ => {}
        }
        if !bytes.is_empty() {
            self.queue(flow, bytes, shared);
        }
    }

    /// Queue bytes until their release.
    fn queue(&mut self, flow: usize, bytes: Vec<u8>, shared: &mut Shared) {
        let mut release_at = shared.now;
        if let Some(link) = &shared.effects.link[flow] {
            release_at = link.reserve(shared.now, bytes.len());
        }
        if let Some(delay) = shared.effects.delay[flow] {
            let spread = shared.random.uniform(0, 2 * delay.jitter);
            release_at += delay.time + spread - delay.jitter;
        }
        if !shared.effects.holds(flow) {
            release_at = 0;
        }
        self.flows[flow].push(bytes, release_at);
    }

    /// Write what may be written in a direction.
    fn write(&mut self, flow: usize, shared: &mut Shared) -> io::Result<()> {
        if self.flows[flow].is_empty() {
            return Ok(());
        }
        let Some(sink) = &self.ends[1 - flow].socket else { return Ok(()) };
        let state = &mut self.flows[flow];
        state.write(sink, shared.now)?;
        if state.pipe.as_ref().is_some_and(|pipe| pipe.bytes == 0)
            && let Some(pipe) = state.pipe.take()
        {
            shared.pipes.put(pipe);
        }
        Ok(())
    }

    /// Pass the end of a direction on, once everything before it is.
    fn pass_end(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if state.ended && !state.shut && state.is_empty() {
            if let Some(sink) = &self.ends[1 - flow].socket {
                sink.end_writing();
            }
            state.shut = true;
        }
    }

    /// True if the source of a direction may have more bytes.
    fn has_more(&self, flow: usize) -> bool {
        self.ends[flow].readable && !self.flows[flow].ended
    }

    /// Close the connection towards the server; the client gets what waits for it.
    fn begin_end(&mut self, shared: &mut Shared) {
        self.phase = Phase::Ending;
        if let Some(server) = self.ends[TO_CLIENT].socket.take() {
            server.abort();
        }
        self.flows[TO_SERVER].clear(&mut shared.pipes);
        self.flows[TO_CLIENT].ended = true;
    }

    /// Pass on what the client is still to get, then the end; what it sends makes no difference.
    fn end(&mut self, shared: &mut Shared) -> Next {
        if self.write(TO_CLIENT, shared).is_err() {
            return Next::Abort;
        }
        self.pass_end(TO_CLIENT);
        self.swallow(TO_SERVER, shared)
    }

    /// Swallow what comes in a direction.
    fn swallow(&mut self, flow: usize, shared: &mut Shared) -> Next {
        while self.ends[flow].readable {
            match self.ends[flow].read(&mut shared.buffer) {
                Ok(Some(0)) => return Next::Close,
                Ok(Some(count)) => shared.totals.swallowed_bytes += count as u64,
                Ok(None) => break,
                Err(_) => return Next::Abort,
            }
        }
        Next::Wait
    }

    /// Take note of other effects. Returns false if the connection cannot be carried on.
    pub fn change(&mut self, before: &Effects, shared: &mut Shared) -> bool {
        if shared.effects.blackhole {
            for flow in self.flows.iter_mut().filter(|flow| !flow.is_empty()) {
                flow.clear(&mut shared.pipes);
                flow.has_gap = true;
            }
        }
        let now = &shared.effects;
        if now.reset || now.leads_elsewhere(before) || before.blackhole && !now.blackhole && self.is_broken()
        {
            return false;
        }
        for flow in [TO_SERVER, TO_CLIENT] {
            if before.holds(flow) && !now.holds(flow) {
                self.flows[flow].release();
            }
        }
        if before.truncate.is_none() && now.truncate.is_some() {
            self.response = (self.last == TO_SERVER).then_some(0);
        }
        if now.http_error.is_some() {
            self.follow(shared);
        } else if self.exchange.as_ref().is_some_and(|exchange| exchange.is_idle()) {
            self.exchange = None;
        }
        true
    }

    /// True if bytes of it were swallowed.
    fn is_broken(&self) -> bool {
        self.phase == Phase::Lost || self.flows.iter().any(|flow| flow.has_gap)
    }
}
