//! A connection, from the client's side.

use super::code::Code;
use super::fields::Fields;
use super::findings::{
    known, no_http2, no_such_stream, number, of_the_connection, too_much_padding, unpadded, wrong_size,
};
use super::frame::{self, Frame, HEAD};
use super::hpack::{Decoder, encode};
use super::settings::{self, FIRST_WINDOW, FRAME_SIZE, Settings};
use super::stream::Stream;
use super::upload::Upload;
use crate::http::{Http, Limits, Request, Said};
use crate::protocol::{Malformed, digits};
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
    /// The request in progress, and the number of the next.
    stream: Option<Stream>,
    next_stream: u32,
    upload: Upload,
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

/// A DATA frame whose head has come, and what is left of it.
#[derive(Clone, Copy)]
struct Data {
    left: usize,
    padding: usize,
    end: bool,
}

impl Http for Http2 {
    fn new(limits: Limits) -> Self {
        Self {
            settings: Settings::default(),
            greeted: false,
            leaving: None,
            decoder: Decoder::new(limits.header_bytes),
            limits,
            stream: None,
            next_stream: 1,
            upload: Upload::default(),
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
        let Request { method, target, fields, body } = *request;
        let id = self.next_stream;
        self.next_stream += 2;
        self.stream = Some(Stream::new(id, method == "HEAD", self.settings.window));
        let allowed = self.settings.streams > 0;
        let head = if allowed { &mut *out } else { &mut self.upload.held };
        let start = head.len();
        let body = body.unwrap_or_default();
        let flags = frame::END_HEADERS | if body.is_empty() { frame::END_STREAM } else { 0 };
        frame::head(head, 0, frame::HEADERS, flags, id);
        if id == 1 {
            encode::no_table(head);
        }
        encode::field(head, b":method", method.as_bytes());
        encode::field(head, b":path", target);
        head.extend_from_slice(&fields.written);
        if !body.is_empty() {
            encode::field_with(head, b"content-length", |out| digits::decimal(out, body.len() as u64));
        }
        frame::set_length(head, start, self.settings.frame);
        if !body.is_empty() {
            self.upload.body.extend_from_slice(body);
            self.push(out);
        }
    }

    #[inline]
    fn next<'i>(&mut self, input: &'i [u8], out: &mut Vec<u8>) -> Next<'i> {
        if self.stream.as_ref().is_some_and(|stream| stream.ended) {
            return Ok(Some((0, self.finish(out))));
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
            frame::RST_STREAM => self.reset(frame, payload)?,
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
        if let Some(stream) = &self.stream
            && (stream.answered || self.continued.is_some())
        {
            return Err(stream.cut_off());
        }
        let unexplained = || Failure { code: "connection".into(), message: "the server closed the connection".into() };
        Err(self.leaving.as_ref().map_or_else(unexplained, |why| (**why).clone()))
    }
}

impl Http2 {
    /// Whether a frame may come now at all.
    #[inline]
    fn check(&mut self, frame: &Frame, input: &[u8]) -> Result<(), Failure> {
        if !self.greeted {
            if frame.kind != frame::SETTINGS || frame.has(frame::ACK) {
                return Err(no_http2(input));
            }
            self.greeted = true;
        }
        if frame.length > FRAME_SIZE {
            let finding = format!("the server sent a frame of {} bytes: the most is {FRAME_SIZE}", frame.length);
            return Err(Code::FRAME_SIZE_ERROR.because(finding).into());
        }
        match self.continued {
            Some(continued) if frame.kind != frame::CONTINUATION || frame.stream != continued.stream => {
                let finding = format!("the server sent a {} frame in the middle of header fields", frame.name());
                Err(Code::PROTOCOL_ERROR.because(finding).into())
            }
            None if frame.kind == frame::CONTINUATION => {
                let finding = "the server goes on with header fields that it has not begun";
                Err(Code::PROTOCOL_ERROR.because(finding).into())
            }
            _ => Ok(()),
        }
    }

    /// The stream of a frame with a part of a response.
    #[inline]
    fn stream(&mut self, frame: Frame) -> Result<&mut Stream, Malformed> {
        match &mut self.stream {
            Some(stream) if stream.id == frame.stream => Ok(stream),
            _ => Err(no_such_stream(frame, self.next_stream)),
        }
    }

    #[inline]
    fn headers<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<Said<'i>, Failure> {
        self.stream(frame)?;
        let mut block = unpadded(frame, payload)?;
        if frame.has(frame::PRIORITISED) {
            block = block.get(5..).ok_or_else(|| wrong_size(frame))?;
        }
        let end = frame.has(frame::END_STREAM);
        if frame.has(frame::END_HEADERS) {
            return self.unpack(block, end);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.continued = Some(Continued { stream: frame.stream, end, size: HEAD + block.len() });
        Ok(Said::Part)
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
            return Ok(Said::Part);
        }
        let end = continued.end;
        self.continued = None;
        let block = std::mem::take(&mut self.block);
        let said = self.unpack(&block, end);
        self.block = block;
        said
    }

    /// A header block is whole.
    #[inline]
    fn unpack<'i>(&mut self, block: &[u8], end: bool) -> Result<Said<'i>, Failure> {
        let Some(stream) = &mut self.stream else { return Ok(Said::Nothing) };
        let mut fields = Fields::default();
        if stream.answered {
            fields = Fields::trailing();
            if !end {
                let finding = "the server sent a second header, and does not end the response with it";
                return Err(Code::PROTOCOL_ERROR.because(finding).into());
            }
        }
        self.decoder.decode(block, |name, value| fields.take(name, value))?;
        Ok(stream.headed(&fields, end)?.map_or(Said::Part, Said::Status))
    }

    /// The head of a DATA frame, with the length of its padding.
    #[inline]
    fn data<'i>(&mut self, frame: Frame, rest: &[u8], out: &mut Vec<u8>) -> Next<'i> {
        let stream = self.stream(frame)?;
        if !stream.answered {
            return Err(Code::PROTOCOL_ERROR.because("the server sent a body before its header").into());
        }
        let (mut size, mut left, mut padding) = (HEAD, frame.length, 0);
        if frame.has(frame::PADDED) {
            let Some(&count) = rest.first() else { return if left == 0 { Err(wrong_size(frame)) } else { Ok(None) } };
            (size, padding) = (size + 1, usize::from(count));
            left = left.checked_sub(1 + padding).ok_or_else(|| too_much_padding(frame))?;
        }
        stream.received(left)?;
        let end = frame.has(frame::END_STREAM);
        // All that is in the frame counts, padding too. Where the stream ends nobody waits for more of it.
        stream.owed += frame.length as u32;
        if stream.owed >= WINDOW / 2 && !end {
            frame::window_update(out, stream.id, std::mem::take(&mut stream.owed));
        }
        self.owed += frame.length as u32;
        if self.owed >= WINDOW / 2 {
            frame::window_update(out, 0, std::mem::take(&mut self.owed));
        }
        self.data = Some(Data { left, padding, end });
        Ok(Some((size, Said::Nothing)))
    }

    /// What is in a DATA frame, as far as it has come.
    #[inline]
    fn body<'i>(&mut self, input: &'i [u8]) -> Next<'i> {
        let (Some(data), Some(stream)) = (&mut self.data, &mut self.stream) else { return Ok(None) };
        if data.left > 0 {
            let piece = &input[..input.len().min(data.left)];
            data.left -= piece.len();
            return Ok((!piece.is_empty()).then_some((piece.len(), Said::Body(piece))));
        }
        let passed = input.len().min(data.padding);
        data.padding -= passed;
        if data.padding > 0 {
            return Ok((passed > 0).then_some((passed, Said::Nothing)));
        }
        let end = data.end;
        self.data = None;
        if end {
            stream.end()?;
        }
        Ok(Some((passed, Said::Nothing)))
    }

    /// The response is complete.
    #[inline]
    fn finish<'i>(&mut self, out: &mut Vec<u8>) -> Said<'i> {
        if let Some(stream) = self.stream.take()
            && self.upload.drop_rest()
        {
            // The server does not want the rest of the request.
            frame::reset(out, stream.id, Code::CANCEL);
        }
        Said::End { again: self.leaving.is_none() && self.next_stream < frame::LARGEST }
    }

    #[cold]
    fn settings<'i>(&mut self, frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Result<Said<'i>, Failure> {
        of_the_connection(frame)?;
        if frame.has(frame::ACK) {
            return if payload.is_empty() { Ok(Said::Nothing) } else { Err(wrong_size(frame)) };
        }
        let window = self.settings.window;
        self.settings.read(payload)?;
        if let Some(stream) = &mut self.stream {
            stream.allow(i64::from(self.settings.window) - i64::from(window))?;
        }
        frame::settings_received(out);
        if self.settings.streams > 0 {
            out.append(&mut self.upload.held);
        }
        self.push(out);
        Ok(Said::Nothing)
    }

    #[cold]
    fn window_update<'i>(&mut self, frame: Frame, payload: &[u8], out: &mut Vec<u8>) -> Result<Said<'i>, Failure> {
        let increment = number(frame, payload)? & frame::LARGEST;
        if increment == 0 {
            return Err(Code::PROTOCOL_ERROR.because("the server let a window grow by nothing").into());
        }
        if frame.stream == 0 {
            self.upload.allow(increment)?;
        } else if let Some(stream) = self.stream.as_mut().filter(|stream| stream.id == frame.stream) {
            stream.allow(increment.into())?;
        } else {
            known(frame, self.next_stream)?;
        }
        self.push(out);
        Ok(Said::Nothing)
    }

    #[cold]
    fn reset<'i>(&mut self, frame: Frame, payload: &[u8]) -> Result<Said<'i>, Failure> {
        let code = Code(number(frame, payload)?);
        if self.stream.as_ref().is_some_and(|stream| stream.id == frame.stream) {
            let message = format!("the server reset the request's stream ({})", code.name());
            let why = Failure { code: code.name().into(), message };
            if code != Code::REFUSED_STREAM {
                return Err(why);
            }
            self.leaving = Some(Box::new(why));
            return Ok(Said::Refused);
        }
        known(frame, self.next_stream)?;
        Ok(Said::Nothing)
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
        Ok(match &self.stream {
            Some(stream) if stream.id > last => Said::Refused,
            Some(_) => Said::Nothing,
            None => Said::Leaving,
        })
    }

    #[inline]
    fn push(&mut self, out: &mut Vec<u8>) {
        if let Some(stream) = &mut self.stream {
            self.upload.push(stream, self.settings.frame, out);
        }
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
