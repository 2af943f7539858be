//! The concurrent requests of a connection.

use std::collections::VecDeque;

use super::code::Code;
use super::findings::{check_stream_used, no_such_stream};
use super::frame::{self, Frame};
use super::hpack::encode;
use super::settings::{FIRST_WINDOW, Settings};
use super::stream::{Stream, within};
use super::upload::{push, send};
use crate::http::Request;
use crate::{Malformed, digits};

pub struct Streams {
    /// Sorted by stream number. The last `held` of them wait until the server accepts them.
    list: VecDeque<Stream>,
    held: usize,
    next: u32,
    /// Bytes of request bodies that may be sent on the connection.
    allowance: i64,
    /// A request was cancelled: frames of its response are skipped.
    has_cancelled: bool,
}

impl Default for Streams {
    fn default() -> Self {
        Self { list: VecDeque::new(), held: 0, next: 1, allowance: FIRST_WINDOW.into(), has_cancelled: false }
    }
}

impl Streams {
    /// Append a request, or queue it until the server accepts it.
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

    /// True if `requests` more stream numbers are available.
    #[inline]
    pub fn has_capacity(&self, requests: usize) -> bool {
        u64::from(self.next) + 2 * requests as u64 <= frame::LARGEST.into()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub fn at(&mut self, index: usize) -> &mut Stream {
        &mut self.list[index]
    }

    pub fn oldest(&self) -> Option<&Stream> {
        self.list.front()
    }

    pub fn tagged(&self, tag: u32) -> Option<&Stream> {
        self.list.iter().find(|stream| stream.tag == tag)
    }

    /// Index of the request on this stream.
    #[inline]
    pub fn find(&self, id: u32) -> Option<usize> {
        match self.list.front() {
            Some(first) if first.id == id => Some(0),
            Some(_) => self.list.binary_search_by_key(&id, |stream| stream.id).ok(),
            None => None,
        }
    }

    /// Lowest stream number that was not used yet.
    #[inline]
    fn next_stream(&self) -> u32 {
        self.list.get(self.list.len() - self.held).map_or(self.next, |stream| stream.id)
    }

    /// Index of the request to whose response a frame belongs; `None` if it is no longer awaited.
    #[inline]
    pub fn answered_by(&self, frame: Frame) -> Result<Option<usize>, Malformed> {
        let next_stream = self.next_stream();
        match self.find(frame.stream) {
            Some(index) if frame.stream < next_stream => Ok(Some(index)),
            None if self.has_cancelled && check_stream_used(frame, next_stream).is_ok() => Ok(None),
            _ => Err(no_such_stream(frame, next_stream)),
        }
    }

    /// Index of the request that a frame refers to; `None` if the frame arrived too late.
    pub fn meant_by(&self, frame: Frame) -> Result<Option<usize>, Malformed> {
        let next_stream = self.next_stream();
        match self.find(frame.stream) {
            Some(index) if frame.stream < next_stream => Ok(Some(index)),
            _ => check_stream_used(frame, next_stream).map(|()| None),
        }
    }

    /// Remove a finished request and start a queued one in its place.
    #[inline]
    pub fn remove(&mut self, index: usize, settings: &Settings, out: &mut Vec<u8>) {
        let stream = self.list.remove(index);
        if self.held > 0 {
            self.held -= usize::from(stream.is_some_and(|stream| stream.unsent.is_held()));
            self.release(settings, out);
        }
    }

    /// Finish a request whose response is complete. Returns its tag.
    #[inline]
    pub fn finish(&mut self, index: usize, settings: &Settings, out: &mut Vec<u8>) -> u32 {
        let stream = &self.list[index];
        let tag = stream.tag;
        if stream.unsent.is_begun() {
            // The server does not want the remaining request body.
            frame::reset(out, stream.id, Code::CANCEL);
        }
        self.remove(index, settings, out);
        tag
    }

    /// Cancel a request. Returns the number of its stream.
    #[cold]
    pub fn cancel(&mut self, tag: u32, settings: &Settings, out: &mut Vec<u8>) -> Option<u32> {
        let index = self.list.iter().position(|stream| stream.tag == tag)?;
        let stream = &self.list[index];
        let id = stream.id;
        if !stream.unsent.is_held() {
            frame::reset(out, id, Code::CANCEL);
            self.has_cancelled = true;
        }
        self.remove(index, settings, out);
        Some(id)
    }

    /// True if a request newer than `last` exists, which the server will not process.
    pub fn has_after(&self, last: u32) -> bool {
        self.list.back().is_some_and(|stream| stream.id > last)
    }

    /// Remove the newest request. Returns its tag.
    pub fn pop(&mut self) -> Option<u32> {
        let stream = self.list.pop_back()?;
        self.held -= usize::from(stream.unsent.is_held());
        Some(stream.tag)
    }

    /// Start queued requests as far as the server accepts them.
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

    /// Increase the connection's send window.
    #[cold]
    pub fn allow(&mut self, increment: u32) -> Result<(), Malformed> {
        self.allowance += i64::from(increment);
        within(self.allowance)
    }

    /// Change the send window of every request.
    #[cold]
    pub fn allow_each(&mut self, increment: i64) -> Result<(), Malformed> {
        self.list.iter_mut().try_for_each(|stream| stream.allow(increment))
    }

    /// Send as much as the windows allow.
    #[cold]
    pub fn push(&mut self, settings: &Settings, out: &mut Vec<u8>) {
        for stream in self.list.iter_mut().filter(|stream| !stream.unsent.is_held()) {
            push(stream, &mut self.allowance, settings.frame, out);
        }
    }
}
