//! A connection, from the client's side: requests that are in progress at once, each on a stream of its own.

use super::code::Code;
use super::fields::Fields;
use super::findings::{no_http2, number, of_the_connection, too_much_padding, unpadded, wrong_size};
use super::frame::{self, Frame, HEAD};
use super::hpack::Decoder;
use super::settings::{self, FIRST_WINDOW, FRAME_SIZE, Settings};
use super::stream::Stream;
use super::streams::Streams;
use crate::http::{Http, Limits, Request, Said};
use crate::protocol::Malformed;
use crate::session::Failure;

/// What a client says first (section 3.4), before its settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How much the server may send before it is told that more may come. Nothing is kept of what comes, so it is as much as
/// is on its way on fast networks: no server should have to wait.
const WINDOW: u32 = 16 << 20;

/// How much of what a server says when it goes away is shown.
const SHOWN: usize = 200;

/// The next thing that the server says, and how many bytes of the input it took; none when it is not whole yet.
type Next<'i> = Result<Option<(usize, Said<'i>)>, Failure>;

/// One connection.
pub struct Http2 {
    /// What the server lets this side do, and whether it has said so.
    settings: Settings,
    greeted: bool,
    /// The server takes no new requests, and why; or it has refused the one in progress.
    leaving: Option<Box<Failure>>,
    decoder: Decoder,
    limits: Limits,
    streams: Streams,
    /// Whose request it is that was spoken of last.
    about: u32,
    /// What is to be said next, before more is heard.
    due: Due,
    /// How much was received on the connection that was not asked to be replaced by more.
    owed: u32,
    /// A header block that has come in part.
    block: Vec<u8>,
    continued: Option<Continued>,
    data: Option<Data>,
}

/// What the frames of a header block that goes on have said.
#[derive(Clone, Copy)]
struct Continued {
    stream: u32,
    end: bool,
    /// All of it with its frames' heads, so that empty frames are not for nothing.
    size: usize,
}

/// What is known and not said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    /// The response on this stream is complete.
    End(u32),
    /// Requests on streams above this one are refused.
    Refusals(u32),
}

/// A DATA frame whose head has come, and what is left of it.
#[derive(Clone, Copy)]
struct Data {
    stream: u32,
    /// Nobody waits for it any more.
    unwanted: bool,
    left: usize,
    padding: usize,
    end: bool,
}

impl Http for Http2 {
    fn new(limits: Limits) -> Self {
        Self {
            // Until the server says how many requests it takes at once, one: that it does.
            settings: Settings { streams: 1, ..Settings::default() },
            greeted: false,
            leaving: None,
            decoder: Decoder::new(limits.header_bytes),
            limits,
            streams: Streams::default(),
            about: 0,
            due: Due::Nothing,
            owed: 0,
            block: Vec::new(),
            continued: None,
            data: None,
        }
    }

    fn opened(&mut self, out: &mut Vec<u8>) {
        *self = Self::new(self.limits);
        out.extend_from_slice(PREFACE);
        let longest = u32::try_from(self.limits.header_bytes).unwrap_or(u32::MAX);
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
        if self.due != Due::Nothing {
            return Ok(Some((0, self.tell(out))));
        }
        if self.data.is_some() {
            return self.body(input);
        }
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else { return Ok(None) };
        let frame = Frame::read(head);
        self.check(&frame, input)?;
        if frame.kind == frame::DATA {
            return self.data(frame, rest, out);
        }
        let Some(payload) = rest.get(..frame.length) else { return Ok(None) };
        let said = match frame.kind {
            frame::HEADERS => self.headers(frame, payload)?,
            frame::CONTINUATION => self.continuation(frame, payload)?,
            frame::SETTINGS => self.settings(frame, payload, out)?,
            frame::PING => ping(frame, payload, out)?,
            frame::WINDOW_UPDATE => self.window_update(frame, payload, out)?,
            frame::RST_STREAM => self.reset(frame, payload, out)?,
            frame::GOAWAY => self.go_away(frame, payload)?,
            frame::PUSH_PROMISE => {
                let finding = "the server pushes what nobody asked for, although it was told not to";
                return Err(Code::PROTOCOL_ERROR.because(finding).into());
            }
            frame::PRIORITY if payload.len() != 5 => return Err(wrong_size(frame)),
            _ => Said::Nothing,
        };
        Ok(Some((HEAD + frame.length, said)))
    }

    /// No response ends with its connection.
    fn closed(&mut self) -> Result<(), Failure> {
        Err(self.streams.oldest().map_or_else(|| self.why_closed(), |stream| self.cut_off(stream)))
    }
}

/// Several requests at once: whoever makes them gives each a tag, which no other in progress has.
impl Http2 {
    /// Appends a request, or keeps it until the server takes it.
    #[inline]
    pub fn ask(&mut self, request: &Request<'_>, tag: u32, out: &mut Vec<u8>) {
        self.streams.ask(request, tag, &self.settings, out);
    }

    /// The tag of the request that what was said last concerns.
    #[inline]
    pub fn about(&self) -> u32 {
        self.about
    }

    /// How many requests the server takes at once; none until it has said so.
    #[inline]
    pub fn taken_at_once(&self) -> Option<usize> {
        self.greeted.then_some(self.settings.streams as usize)
    }

    /// Whether so many requests more can be made on this connection.
    #[inline]
    pub fn takes(&self, requests: usize) -> bool {
        self.leaving.is_none() && self.streams.has_room_for(requests)
    }

    /// The client does not wait for a response any longer.
    #[cold]
    pub fn give_up(&mut self, tag: u32, out: &mut Vec<u8>) {
        let Some(id) = self.streams.give_up(tag, &self.settings, out) else { return };
        if let Some(data) = self.data.as_mut().filter(|data| data.stream == id) {
            data.unwanted = true;
        }
    }

    /// Why a request has failed with its connection.
    #[cold]
    pub fn unanswered(&self, tag: u32) -> Failure {
        self.streams.tagged(tag).map_or_else(|| self.why_closed(), |stream| self.cut_off(stream))
    }

    /// Why the connection takes no more requests.
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

    /// Whether a frame may come now at all.
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
                let finding = "the server goes on with header fields that it has not begun";
                Err(Code::PROTOCOL_ERROR.because(finding).into())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn headers<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<Said<'i>, Failure> {
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
        self.continued = Some(Continued { stream: frame.stream, end, size: HEAD + block.len() });
        Ok(self.part(frame.stream))
    }

    /// Something came of the response on this stream that says nothing by itself.
    fn part<'i>(&mut self, id: u32) -> Said<'i> {
        let Some(place) = self.streams.find(id) else { return Said::Nothing };
        self.about = self.streams.at(place).tag;
        Said::Part
    }

    #[cold]
    fn continuation<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<Said<'i>, Failure> {
        let Some(continued) = &mut self.continued else { return Ok(Said::Nothing) };
        continued.size += HEAD + payload.len();
        if continued.size > self.limits.header_bytes {
            let finding = format!(
                "the server sent more than {} KiB of header fields in one answer",
                self.limits.header_bytes >> 10
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
        let said = self.unpack(frame.stream, &block, end);
        self.block = block;
        said
    }

    /// A header block is whole.
    #[inline]
    fn unpack<'i>(&mut self, id: u32, block: &[u8], end: bool) -> Result<Said<'i>, Failure> {
        let Some(place) = self.streams.find(id) else {
            // What it says is of no use, but it may fill the table that others speak of.
            self.decoder.decode(block, |_, _| Ok(()))?;
            return Ok(Said::Nothing);
        };
        let stream = self.streams.at(place);
        let mut fields = Fields::default();
        if stream.answered {
            fields = Fields::trailing();
            if !end {
                let finding = "the server sent a second header, and does not end the response with it";
                return Err(Code::PROTOCOL_ERROR.because(finding).into());
            }
        }
        self.decoder.decode(block, |name, value| fields.take(name, value))?;
        let status = stream.headed(&fields, end)?;
        self.about = stream.tag;
        if stream.ended {
            self.due = Due::End(id);
        }
        Ok(status.map_or(Said::Part, Said::Status))
    }

    /// The head of a DATA frame, with the length of its padding.
    #[inline]
    fn data<'i>(&mut self, frame: Frame, rest: &[u8], out: &mut Vec<u8>) -> Next<'i> {
        let place = self.streams.answered_by(frame)?;
        if place.is_some_and(|place| !self.streams.at(place).answered) {
            return Err(Code::PROTOCOL_ERROR.because("the server sent a body before its header").into());
        }
        let (mut size, mut left, mut padding) = (HEAD, frame.length, 0);
        if frame.has(frame::PADDED) {
            let Some(&count) = rest.first() else {
                return if left == 0 { Err(wrong_size(frame)) } else { Ok(None) };
            };
            (size, padding) = (size + 1, usize::from(count));
            left = left.checked_sub(1 + padding).ok_or_else(|| too_much_padding(frame))?;
        }
        let end = frame.has(frame::END_STREAM);
        // All that is in the frame counts, padding too. Where the stream ends nobody waits for more of it.
        if let Some(place) = place {
            let stream = self.streams.at(place);
            stream.received(left)?;
            stream.owed += frame.length as u32;
            if stream.owed >= WINDOW / 2 && !end {
                frame::window_update(out, stream.id, std::mem::take(&mut stream.owed));
            }
            self.about = stream.tag;
        }
        self.owed += frame.length as u32;
        if self.owed >= WINDOW / 2 {
            frame::window_update(out, 0, std::mem::take(&mut self.owed));
        }
        self.data = Some(Data { stream: frame.stream, unwanted: place.is_none(), left, padding, end });
        Ok(Some((size, Said::Nothing)))
    }

    /// What is in a DATA frame, as far as it has come.
    #[inline]
    fn body<'i>(&mut self, input: &'i [u8]) -> Next<'i> {
        let Some(data) = &mut self.data else { return Ok(None) };
        if data.left > 0 {
            let piece = &input[..input.len().min(data.left)];
            data.left -= piece.len();
            let said = if data.unwanted { Said::Nothing } else { Said::Body(piece) };
            return Ok((!piece.is_empty()).then_some((piece.len(), said)));
        }
        let passed = input.len().min(data.padding);
        data.padding -= passed;
        if data.padding > 0 {
            return Ok((passed > 0).then_some((passed, Said::Nothing)));
        }
        let Data { stream: id, end, unwanted, .. } = *data;
        self.data = None;
        if end
            && !unwanted
            && let Some(place) = self.streams.find(id)
        {
            self.streams.at(place).end()?;
            self.due = Due::End(id);
        }
        Ok(Some((passed, Said::Nothing)))
    }

    /// What is due.
    #[inline]
    fn tell<'i>(&mut self, out: &mut Vec<u8>) -> Said<'i> {
        match std::mem::replace(&mut self.due, Due::Nothing) {
            Due::Nothing => Said::Nothing,
            Due::Refusals(last) => self.refuse(last),
            Due::End(id) => {
                let Some(place) = self.streams.find(id) else { return Said::Nothing }; // It was given up.
                self.about = self.streams.finish(place, &self.settings, out);
                Said::End { again: self.takes(1) }
            }
        }
    }

    /// The request that was made last is refused; so are others that were made after `last`.
    #[cold]
    fn refuse<'i>(&mut self, last: u32) -> Said<'i> {
        let Some(tag) = self.streams.pop() else { return Said::Nothing };
        self.about = tag;
        if self.streams.has_after(last) {
            self.due = Due::Refusals(last);
        }
        Said::Refused
    }

    #[cold]
    fn settings<'i>(&mut self, frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Result<Said<'i>, Failure> {
        of_the_connection(frame)?;
        if frame.has(frame::ACK) {
            return if payload.is_empty() { Ok(Said::Nothing) } else { Err(wrong_size(frame)) };
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
        Ok(Said::Nothing)
    }

    #[cold]
    fn window_update<'i>(
        &mut self,
        frame: Frame,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Said<'i>, Failure> {
        let increment = number(frame, payload)? & frame::LARGEST;
        if increment == 0 {
            return Err(Code::PROTOCOL_ERROR.because("the server let a window grow by nothing").into());
        }
        if frame.stream == 0 {
            self.streams.allow(increment)?;
        } else if let Some(place) = self.streams.meant_by(frame)? {
            self.streams.at(place).allow(increment.into())?;
        }
        self.streams.push(&self.settings, out);
        Ok(Said::Nothing)
    }

    #[cold]
    fn reset<'i>(&mut self, frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Result<Said<'i>, Failure> {
        let code = Code(number(frame, payload)?);
        let Some(place) = self.streams.meant_by(frame)? else { return Ok(Said::Nothing) };
        self.about = self.streams.at(place).tag;
        self.streams.remove(place, &self.settings, out);
        if code != Code::REFUSED_STREAM {
            return Ok(Said::Reset(code));
        }
        self.leaving = Some(Box::new(code.reset()));
        Ok(Said::Refused)
    }

    #[cold]
    fn go_away<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<Said<'i>, Failure> {
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
            self.due = Due::Refusals(last);
        }
        Ok(if self.streams.is_empty() { Said::Leaving } else { Said::Nothing })
    }
}

#[cold]
fn ping<'i>(frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Result<Said<'i>, Failure> {
    of_the_connection(frame)?;
    let opaque = payload.try_into().map_err(|_| wrong_size(frame))?;
    if !frame.has(frame::ACK) {
        frame::pong(out, opaque);
    }
    Ok(Said::Nothing)
}
