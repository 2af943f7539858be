//! One direction of a connection: bytes that have been read at its source and not been written to its sink.

use std::collections::VecDeque;
use std::io;

use super::pipe::{Pipe, Pipes};
use loadcell_core::clock::Nanos;
use loadcell_transport::Socket;

/// Bytes that may be written from an instant on.
struct Segment {
    release_at: Nanos,
    bytes: Vec<u8>,
    /// Number of bytes that have been written.
    sent: usize,
}

#[derive(Default)]
pub struct Flow {
    segments: VecDeque<Segment>,
    /// Number of bytes in the segments.
    pub queued: usize,
    /// Bytes in a pipe, which were read before those of the segments.
    pub pipe: Option<Pipe>,
    /// The source has ended.
    pub ended: bool,
    /// The end has been passed on.
    pub shut: bool,
    /// Bytes were swallowed, so that what follows makes no sense.
    pub has_gap: bool,
    /// The last read filled the buffer: a long stream.
    pub is_long: bool,
    /// Instant of the timer that is set, 0 without one.
    pub timer: Nanos,
    /// Release of the last segment: later ones do not overtake it.
    last_release: Nanos,
}

impl Flow {
    pub fn is_empty(&self) -> bool {
        self.pipe.is_none() && self.segments.is_empty()
    }

    /// Queue bytes, or the end of the stream (no bytes), to be written from `release_at` on.
    pub fn push(&mut self, bytes: Vec<u8>, release_at: Nanos) {
        self.queued += bytes.len();
        self.last_release = self.last_release.max(release_at);
        self.segments.push_back(Segment { release_at: self.last_release, bytes, sent: 0 });
    }

    /// Release everything at once.
    pub fn release(&mut self) {
        self.last_release = 0;
        for segment in &mut self.segments {
            segment.release_at = 0;
        }
    }

    /// Instant at which the next bytes are released.
    pub fn release_at(&self) -> Option<Nanos> {
        self.segments.front().map(|segment| segment.release_at)
    }

    /// Drop what waits.
    pub fn clear(&mut self, pipes: &mut Pipes) {
        self.segments.clear();
        self.queued = 0;
        if let Some(pipe) = self.pipe.take() {
            pipes.put(pipe);
        }
    }

    /// Write what is released, as far as the sink takes it.
    pub fn write(&mut self, sink: &Socket, now: Nanos) -> io::Result<()> {
        if let Some(pipe) = &mut self.pipe
            && let Err(error) = pipe.empty(sink.fd())
        {
            return blocked(error);
        }
        while let Some(segment) = self.segments.front_mut() {
            if segment.release_at > now {
                return Ok(());
            }
            while segment.sent < segment.bytes.len() {
                match sink.write(&segment.bytes[segment.sent..]) {
                    Ok(count) => segment.sent += count,
                    Err(error) => return blocked(error),
                }
            }
            self.queued -= segment.bytes.len();
            self.segments.pop_front();
        }
        Ok(())
    }
}

/// A sink that takes no more is no error: epoll reports when it does.
fn blocked(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::WouldBlock { Ok(()) } else { Err(error) }
}
