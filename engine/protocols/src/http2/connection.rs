//! Client side of a connection: concurrent requests, each on its own stream.

use super::code::Code;
use super::fields::Fields;
use super::findings::{no_http2, number, of_the_connection, too_much_padding, unpadded, wrong_size};
use super::frame::{self, Frame, HEAD};
use super::hpack::Decoder;
use super::settings::{self, FIRST_WINDOW, FRAME_SIZE, Settings};
use super::stream::Stream;
use super::streams::Streams;
use crate::Malformed;
use crate::http::{Http, Limits, Request, ResponseEvent, WatchedFields};
use loadcell_core::error::Failure;

/// Connection preface of the client (section 3.4), sent before its settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Receive window of the connection and of each stream in bytes. Received data is not stored, so the window
/// covers the bandwidth-delay product of fast networks and never stalls the server.
const WINDOW: u32 = 16 << 20;

/// Bytes of the debug data of GOAWAY that are shown in messages.
const SHOWN: usize = 200;

/// The next event and the bytes consumed; `None` when more input is needed.
type Next<'i> = Result<Option<(usize, ResponseEvent<'i>)>, Failure>;

/// Protocol state of one connection.
pub struct Http2 {
    /// Settings of the server, and whether it has sent them.
    settings: Settings,
    greeted: bool,
    /// Reason why the server accepts no new requests, or why it refused the current one.
    leaving: Option<Box<Failure>>,
    decoder: Decoder,
    os: Limits,
    streams: Streams,
    /// Tag of the request that the last event concerns.
    about: u32,
    /// Pending event, returned before more input is read.
    pending: PendingEvent,
    /// Bytes received on the connection for which no WINDOW_UPDATE was sent yet.
    unacknowledged: u32,
    /// Fragments of an unfinished header block.
    block: Vec<u8>,
    continued: Option<HeaderBlock>,
    data: Option<PartialData>,
    watched: WatchedFields,
}

/// A header block whose CONTINUATION frames are still arriving.
#[derive(Clone, Copy)]
struct HeaderBlock {
    stream: u32,
    end: bool,
    /// Size including frame headers, so that empty frames count towards the limit as well.
    size: usize,
}

/// An event that is determined but not yet returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingEvent {
    Nothing,
    /// The response on this stream is complete.
    End(u32),
    /// Requests on streams above this one are refused.
    Refusals(u32),
}

/// A DATA frame whose header has arrived, and the remaining length of its payload.
#[derive(Clone, Copy)]
struct PartialData {
    stream: u32,
    /// Its request was cancelled.
    unwanted: bool,
    remaining: usize,
    padding: usize,
    end: bool,
}

impl Http for Http2 {
    fn new(os: Limits) -> Self {
        Self {
            // Until the server announces its limit, one request at a time.
            settings: Settings { streams: 1, ..Settings::default() },
            greeted: false,
            leaving: None,
            decoder: Decoder::new(os.header_bytes),
            os,
            streams: Streams::default(),
            about: 0,
            pending: PendingEvent::Nothing,
            unacknowledged: 0,
            block: Vec::new(),
            continued: None,
            data: None,
            watched: WatchedFields::default(),
        }
    }

    fn watch(&mut self, fields: WatchedFields) {
        self.watched = fields;
    }

    fn watched(&self) -> &WatchedFields {
        &self.watched
    }

    fn opened(&mut self, out: &mut Vec<u8>) {
        let watched = std::mem::take(&mut self.watched);
        *self = Self { watched, ..Self::new(self.os) };
        out.extend_from_slice(PREFACE);
        let longest = u32::try_from(self.os.header_bytes).unwrap_or(u32::MAX);
        let mine = [
            (settings::ENABLE_PUSH, 0),
            (settings::INITIAL_WINDOW_SIZE, WINDOW),
            (settings::MAX_HEADER_LIST_SIZE, longest),
        ];
        frame::settings(out, &mine);
        frame::window_update(out, 0, WINDOW - FIRST_WINDOW);
    }

    #[inline]
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.ask(request, 0, out);
    }

    #[inline]
    fn next<'i>(&mut self, input: &'i [u8], out: &mut Vec<u8>) -> Next<'i> {
        if self.pending != PendingEvent::Nothing {
            return Ok(Some((0, self.tell(out))));
        }
        if self.data.is_some() {
            return self.body(input);
        }
        let Some((head, remaining)) = input.split_first_chunk::<HEAD>() else { return Ok(None) };
        let frame = Frame::read(head);
        self.check(&frame, input)?;
        if frame.kind == frame::DATA {
            return self.data(frame, remaining, out);
        }
        let Some(payload) = remaining.get(..frame.length) else { return Ok(None) };
        let event = match frame.kind {
            frame::HEADERS => self.headers(frame, payload)?,
            frame::CONTINUATION => self.continuation(frame, payload)?,
            frame::SETTINGS => self.settings(frame, payload, out)?,
            frame::PING => frame::answer_ping(frame, payload, out)?,
            frame::WINDOW_UPDATE => self.window_update(frame, payload, out)?,
            frame::RST_STREAM => self.reset(frame, payload, out)?,
            frame::GOAWAY => self.go_away(frame, payload)?,
            frame::PUSH_PROMISE => {
                let finding = "the server pushes what nobody asked for, although it was told not to";
                return Err(Code::PROTOCOL_ERROR.because(finding).into());
            }
            frame::PRIORITY if payload.len() != 5 => return Err(wrong_size(frame)),
            _ => ResponseEvent::Nothing,
        };
        Ok(Some((HEAD + frame.length, event)))
    }

    /// In HTTP/2 no response ends with its connection.
    fn closed(&mut self) -> Result<(), Failure> {
        Err(self.streams.oldest().map_or_else(|| self.why_closed(), |stream| self.cut_off(stream)))
    }
}

/// Concurrent requests. The caller gives each a tag that is unique among those in progress.
impl Http2 {
    /// Append a request, or queue it until the server accepts it.
    #[inline]
    pub fn ask(&mut self, request: &Request<'_>, tag: u32, out: &mut Vec<u8>) {
        self.streams.ask(request, tag, &self.settings, out);
    }

    /// Tag of the request that the last event concerns.
    #[inline]
    pub fn about(&self) -> u32 {
        self.about
    }

    /// Number of concurrent requests that the server accepts; `None` until it has announced it.
    #[inline]
    pub fn taken_at_once(&self) -> Option<usize> {
        self.greeted.then_some(self.settings.streams as usize)
    }

    /// True if `requests` more requests can be made on this connection.
    #[inline]
    pub fn takes(&self, requests: usize) -> bool {
        self.leaving.is_none() && self.streams.has_capacity(requests)
    }

    /// Cancel a request: its response is no longer awaited.
    #[cold]
    pub fn cancel(&mut self, tag: u32, out: &mut Vec<u8>) {
        let Some(id) = self.streams.cancel(tag, &self.settings, out) else { return };
        if let Some(data) = self.data.as_mut().filter(|data| data.stream == id) {
            data.unwanted = true;
        }
    }

    /// Failure of a request that was lost with its connection.
    #[cold]
    pub fn unanswered(&self, tag: u32) -> Failure {
        self.streams.tagged(tag).map_or_else(|| self.why_closed(), |stream| self.cut_off(stream))
    }

    /// Reason why the connection accepts no more requests.
    #[cold]
    pub fn why_closed(&self) -> Failure {
        let unexplained =
            || Failure { code: "connection".into(), message: "the server closed the connection".into() };
        self.leaving.as_ref().map_or_else(unexplained, |why| (**why).clone())
    }
}

impl Http2 {
    fn cut_off(&self, stream: &Stream) -> Failure {
        let begun = stream.answered || self.continued.is_some_and(|continued| continued.stream == stream.id);
        if begun { stream.cut_off() } else { self.why_closed() }
    }

    /// Check that a frame is allowed in the current state.
    #[inline]
    fn check(&mut self, frame: &Frame, input: &[u8]) -> Result<(), Failure> {
        if !self.greeted && (frame.kind != frame::SETTINGS || frame.has(frame::ACK)) {
            return Err(no_http2(input));
        }
        if frame.length > FRAME_SIZE {
            let finding =
                format!("the server sent a frame of {} bytes: the most is {FRAME_SIZE}", frame.length);
            return Err(Code::FRAME_SIZE_ERROR.because(finding).into());
        }
        match self.continued {
            Some(continued) if frame.kind != frame::CONTINUATION || frame.stream != continued.stream => {
                let finding =
                    format!("the server sent a {} frame in the middle of header fields", frame.name());
                Err(Code::PROTOCOL_ERROR.because(finding).into())
            }
            None if frame.kind == frame::CONTINUATION => {
                let finding = "the server continues header fields that it has not begun";
                Err(Code::PROTOCOL_ERROR.because(finding).into())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn headers<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<ResponseEvent<'i>, Failure> {
        self.streams.answered_by(frame)?;
        let mut block = unpadded(frame, payload)?;
        if frame.has(frame::PRIORITISED) {
            block = block.get(5..).ok_or_else(|| wrong_size(frame))?;
        }
        let end = frame.has(frame::END_STREAM);
        if frame.has(frame::END_HEADERS) {
            return self.unpack(frame.stream, block, end);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.continued = Some(HeaderBlock { stream: frame.stream, end, size: HEAD + block.len() });
        Ok(self.part(frame.stream))
    }

    /// An event that marks progress of the response on this stream without content.
    fn part<'i>(&mut self, id: u32) -> ResponseEvent<'i> {
        let Some(index) = self.streams.find(id) else { return ResponseEvent::Nothing };
        self.about = self.streams.at(index).tag;
        ResponseEvent::Part
    }

    #[cold]
    fn continuation<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<ResponseEvent<'i>, Failure> {
        let Some(continued) = &mut self.continued else { return Ok(ResponseEvent::Nothing) };
        continued.size += HEAD + payload.len();
        if continued.size > self.os.header_bytes {
            let finding = format!(
                "the server sent more than {} KiB of header fields in one answer",
                self.os.header_bytes >> 10
            );
            return Err(Malformed(finding).into());
        }
        self.block.extend_from_slice(payload);
        if !frame.has(frame::END_HEADERS) {
            return Ok(self.part(frame.stream));
        }
        let end = continued.end;
        self.continued = None;
        let block = std::mem::take(&mut self.block);
        let event = self.unpack(frame.stream, &block, end);
        self.block = block;
        event
    }

    /// Decode a complete header block.
    #[inline]
    fn unpack<'i>(&mut self, id: u32, block: &[u8], end: bool) -> Result<ResponseEvent<'i>, Failure> {
        let Some(index) = self.streams.find(id) else {
            // The fields are not needed, but they update the table that later blocks refer to.
            self.decoder.decode(block, |_, _| Ok(()))?;
            return Ok(ResponseEvent::Nothing);
        };
        let stream = self.streams.at(index);
        let (mut fields, watched) = (Fields::default(), &mut self.watched);
        if stream.answered {
            fields = Fields::trailing();
            if !end {
                let finding = "the server sent a second header, and does not end the response with it";
                return Err(Code::PROTOCOL_ERROR.because(finding).into());
            }
        }
        if !stream.answered {
            watched.begin();
        }
        self.decoder.decode(block, |name, value| {
            watched.take(name, value);
            fields.take(name, value)
        })?;
        let status = stream.headed(&fields, end)?;
        self.about = stream.tag;
        if stream.ended {
            self.pending = PendingEvent::End(id);
        }
        Ok(status.map_or(ResponseEvent::Part, ResponseEvent::Status))
    }

    /// The header of a DATA frame, with the length of its padding.
    #[inline]
    fn data<'i>(&mut self, frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Next<'i> {
        let index = self.streams.answered_by(frame)?;
        if index.is_some_and(|index| !self.streams.at(index).answered) {
            return Err(Code::PROTOCOL_ERROR.because("the server sent a body before its header").into());
        }
        let (mut size, mut remaining, mut padding) = (HEAD, frame.length, 0);
        if frame.has(frame::PADDED) {
            let Some(&count) = payload.first() else {
                return if remaining == 0 { Err(wrong_size(frame)) } else { Ok(None) };
            };
            (size, padding) = (size + 1, usize::from(count));
            remaining = remaining.checked_sub(1 + padding).ok_or_else(|| too_much_padding(frame))?;
        }
        let end = frame.has(frame::END_STREAM);
        // Flow control counts the whole payload with padding. A stream that ends needs no update.
        if let Some(index) = index {
            let stream = self.streams.at(index);
            stream.received(remaining)?;
            stream.unacknowledged += frame.length as u32;
            if stream.unacknowledged >= WINDOW / 2 && !end {
                frame::window_update(out, stream.id, std::mem::take(&mut stream.unacknowledged));
            }
            self.about = stream.tag;
        }
        self.unacknowledged += frame.length as u32;
        if self.unacknowledged >= WINDOW / 2 {
            frame::window_update(out, 0, std::mem::take(&mut self.unacknowledged));
        }
        self.data =
            Some(PartialData { stream: frame.stream, unwanted: index.is_none(), remaining, padding, end });
        Ok(Some((size, ResponseEvent::Nothing)))
    }

    /// The part of a DATA frame's payload that has arrived.
    #[inline]
    fn body<'i>(&mut self, input: &'i [u8]) -> Next<'i> {
        let Some(data) = &mut self.data else { return Ok(None) };
        if data.remaining > 0 {
            let piece = &input[..input.len().min(data.remaining)];
            data.remaining -= piece.len();
            let event = if data.unwanted { ResponseEvent::Nothing } else { ResponseEvent::Body(piece) };
            return Ok((!piece.is_empty()).then_some((piece.len(), event)));
        }
        let passed = input.len().min(data.padding);
        data.padding -= passed;
        if data.padding > 0 {
            return Ok((passed > 0).then_some((passed, ResponseEvent::Nothing)));
        }
        let PartialData { stream: id, end, unwanted, .. } = *data;
        self.data = None;
        if end
            && !unwanted
            && let Some(index) = self.streams.find(id)
        {
            self.streams.at(index).end()?;
            self.pending = PendingEvent::End(id);
        }
        Ok(Some((passed, ResponseEvent::Nothing)))
    }

    /// Return the pending event.
    #[inline]
    fn tell<'i>(&mut self, out: &mut Vec<u8>) -> ResponseEvent<'i> {
        match std::mem::replace(&mut self.pending, PendingEvent::Nothing) {
            PendingEvent::Nothing => ResponseEvent::Nothing,
            PendingEvent::Refusals(last) => self.refuse(last),
            PendingEvent::End(id) => {
                // It was cancelled.
                let Some(index) = self.streams.find(id) else { return ResponseEvent::Nothing };
                self.about = self.streams.finish(index, &self.settings, out);
                ResponseEvent::End { again: self.takes(1) }
            }
        }
    }

    /// Refuse the newest request, and mark those after `last` to be refused as well.
    #[cold]
    fn refuse<'i>(&mut self, last: u32) -> ResponseEvent<'i> {
        let Some(tag) = self.streams.pop() else { return ResponseEvent::Nothing };
        self.about = tag;
        if self.streams.has_after(last) {
            self.pending = PendingEvent::Refusals(last);
        }
        ResponseEvent::Refused
    }

    #[cold]
    fn settings<'i>(
        &mut self,
        frame: Frame,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ResponseEvent<'i>, Failure> {
        of_the_connection(frame)?;
        if frame.has(frame::ACK) {
            return if payload.is_empty() { Ok(ResponseEvent::Nothing) } else { Err(wrong_size(frame)) };
        }
        if !std::mem::replace(&mut self.greeted, true) {
            self.settings = Settings::default();
        }
        let window = self.settings.window;
        self.settings.read(payload)?;
        self.streams.allow_each(i64::from(self.settings.window) - i64::from(window))?;
        frame::settings_received(out);
        self.streams.push(&self.settings, out);
        self.streams.release(&self.settings, out);
        Ok(ResponseEvent::Nothing)
    }

    #[cold]
    fn window_update<'i>(
        &mut self,
        frame: Frame,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ResponseEvent<'i>, Failure> {
        let increment = number(frame, payload)? & frame::LARGEST;
        if increment == 0 {
            return Err(Code::PROTOCOL_ERROR.because("the server let a window grow by nothing").into());
        }
        if frame.stream == 0 {
            self.streams.allow(increment)?;
        } else if let Some(index) = self.streams.meant_by(frame)? {
            self.streams.at(index).allow(increment.into())?;
        }
        self.streams.push(&self.settings, out);
        Ok(ResponseEvent::Nothing)
    }

    #[cold]
    fn reset<'i>(
        &mut self,
        frame: Frame,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ResponseEvent<'i>, Failure> {
        let code = Code(number(frame, payload)?);
        let Some(index) = self.streams.meant_by(frame)? else { return Ok(ResponseEvent::Nothing) };
        self.about = self.streams.at(index).tag;
        self.streams.remove(index, &self.settings, out);
        if code != Code::REFUSED_STREAM {
            return Ok(ResponseEvent::Reset(code));
        }
        self.leaving = Some(Box::new(code.reset()));
        Ok(ResponseEvent::Refused)
    }

    #[cold]
    fn go_away<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<ResponseEvent<'i>, Failure> {
        of_the_connection(frame)?;
        let Some((&[a, b, c, d, code @ ..], text)) = payload.split_first_chunk::<8>() else {
            return Err(wrong_size(frame));
        };
        let last = u32::from_be_bytes([a, b, c, d]) & frame::LARGEST;
        let code = Code(u32::from_be_bytes(code));
        let mut message = format!("the server goes away ({})", code.name());
        if !text.is_empty() {
            message += &format!(": {}", text[..text.len().min(SHOWN)].escape_ascii());
        }
        let why = Failure { code: code.name().into(), message };
        self.leaving = Some(Box::new(why));
        if self.streams.has_after(last) {
            self.pending = PendingEvent::Refusals(last);
        }
        Ok(if self.streams.is_empty() { ResponseEvent::Leaving } else { ResponseEvent::Nothing })
    }
}
