//! The requests that are in progress on a connection at once.

use std::collections::VecDeque;

use super::code::Code;
use super::findings::{known, no_such_stream};
use super::frame::{self, Frame};
use super::hpack::encode;
use super::settings::{FIRST_WINDOW, Settings};
use super::stream::{Stream, within};
use super::upload::{push, send};
use crate::http::Request;
use crate::protocol::{Malformed, digits};

pub struct Streams {
    /// By their numbers, which rise. The last `held` of them wait until the server takes them.
    list: VecDeque<Stream>,
    held: usize,
    next: u32,
    /// How much of bodies may be sent on the connection.
    allowance: i64,
    /// A request was given up: what the server still says of it is passed over.
    given_up: bool,
}

impl Default for Streams {
    fn default() -> Self {
        Self { list: VecDeque::new(), held: 0, next: 1, allowance: FIRST_WINDOW.into(), given_up: false }
    }
}

impl Streams {
    /// Appends a request, or keeps it until the server takes it.
    #[inline]
    pub fn ask(&mut self, request: &Request<'_>, tag: u32, settings: &Settings, out: &mut Vec<u8>) {
        let Request { method, target, fields, body, .. } = *request;
        let id = self.next;
        self.next += 2;
        let mut stream = Stream::new(id, tag, method == "HEAD", settings.window);
        let taken = self.list.len() < settings.streams as usize;
        let head = if taken { &mut *out } else { &mut stream.unsent.head };
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
        frame::set_length(head, start, settings.frame);
        if !taken {
            self.held += 1;
            stream.unsent.keep(body);
        } else if !body.is_empty() {
            let sent = send(body, &mut stream, &mut self.allowance, settings.frame, out);
            stream.unsent.keep(&body[sent..]);
        }
        self.list.push_back(stream);
    }

    /// Whether so many more have numbers left.
    #[inline]
    pub fn has_room_for(&self, requests: usize) -> bool {
        u64::from(self.next) + 2 * requests as u64 <= frame::LARGEST.into()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub fn at(&mut self, place: usize) -> &mut Stream {
        &mut self.list[place]
    }

    pub fn oldest(&self) -> Option<&Stream> {
        self.list.front()
    }

    pub fn tagged(&self, tag: u32) -> Option<&Stream> {
        self.list.iter().find(|stream| stream.tag == tag)
    }

    /// The place of the request on this stream.
    #[inline]
    pub fn find(&self, id: u32) -> Option<usize> {
        match self.list.front() {
            Some(first) if first.id == id => Some(0),
            Some(_) => self.list.binary_search_by_key(&id, |stream| stream.id).ok(),
            None => None,
        }
    }

    /// The lowest number of a stream that the server cannot know of.
    #[inline]
    fn unasked(&self) -> u32 {
        self.list.get(self.list.len() - self.held).map_or(self.next, |stream| stream.id)
    }

    /// The place of the request to whose response a frame belongs; none where nobody waits for it any more.
    #[inline]
    pub fn answered_by(&self, frame: Frame) -> Result<Option<usize>, Malformed> {
        let unasked = self.unasked();
        match self.find(frame.stream) {
            Some(place) if frame.stream < unasked => Ok(Some(place)),
            None if self.given_up && known(frame, unasked).is_ok() => Ok(None),
            _ => Err(no_such_stream(frame, unasked)),
        }
    }

    /// The place of the request of which a frame tells something that may come too late; none where it does.
    pub fn meant_by(&self, frame: Frame) -> Result<Option<usize>, Malformed> {
        let unasked = self.unasked();
        match self.find(frame.stream) {
            Some(place) if frame.stream < unasked => Ok(Some(place)),
            _ => known(frame, unasked).map(|()| None),
        }
    }

    /// A request is over, and another may be begun in its place.
    #[inline]
    pub fn remove(&mut self, place: usize, settings: &Settings, out: &mut Vec<u8>) {
        let stream = self.list.remove(place);
        if self.held > 0 {
            self.held -= usize::from(stream.is_some_and(|stream| stream.unsent.is_held()));
            self.release(settings, out);
        }
    }

    /// The response to a request is complete; its tag.
    #[inline]
    pub fn finish(&mut self, place: usize, settings: &Settings, out: &mut Vec<u8>) -> u32 {
        let stream = &self.list[place];
        let tag = stream.tag;
        if stream.unsent.is_begun() {
            // The server does not want the rest of the request.
            frame::reset(out, stream.id, Code::CANCEL);
        }
        self.remove(place, settings, out);
        tag
    }

    /// Nobody waits for the response to a request any longer; the number of its stream.
    #[cold]
    pub fn give_up(&mut self, tag: u32, settings: &Settings, out: &mut Vec<u8>) -> Option<u32> {
        let place = self.list.iter().position(|stream| stream.tag == tag)?;
        let stream = &self.list[place];
        let id = stream.id;
        if !stream.unsent.is_held() {
            frame::reset(out, id, Code::CANCEL);
            self.given_up = true;
        }
        self.remove(place, settings, out);
        Some(id)
    }

    /// Whether the server will not begin a request that was made after `last`.
    pub fn has_after(&self, last: u32) -> bool {
        self.list.back().is_some_and(|stream| stream.id > last)
    }

    /// Forgets the request that was made last; its tag.
    pub fn pop(&mut self) -> Option<u32> {
        let stream = self.list.pop_back()?;
        self.held -= usize::from(stream.unsent.is_held());
        Some(stream.tag)
    }

    /// Begins requests that were held back, as far as the server takes them now.
    #[cold]
    pub fn release(&mut self, settings: &Settings, out: &mut Vec<u8>) {
        while self.held > 0 && self.list.len() - self.held < settings.streams as usize {
            let first = self.list.len() - self.held;
            let stream = &mut self.list[first];
            out.append(&mut stream.unsent.head);
            push(stream, &mut self.allowance, settings.frame, out);
            self.held -= 1;
        }
    }

    /// The connection's window has grown.
    #[cold]
    pub fn allow(&mut self, increment: u32) -> Result<(), Malformed> {
        self.allowance += i64::from(increment);
        within(self.allowance)
    }

    /// The window of every request has changed.
    #[cold]
    pub fn allow_each(&mut self, increment: i64) -> Result<(), Malformed> {
        self.list.iter_mut().try_for_each(|stream| stream.allow(increment))
    }

    /// Sends on what the windows let through.
    #[cold]
    pub fn push(&mut self, settings: &Settings, out: &mut Vec<u8>) {
        for stream in self.list.iter_mut().filter(|stream| !stream.unsent.is_held()) {
            push(stream, &mut self.allowance, settings.frame, out);
        }
    }
}
