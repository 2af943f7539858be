//! Frame headers (RFC 9113, sections 4.1 and 6), and the frames that a client sends.

use super::code::Code;
use super::findings::{of_the_connection, wrong_size};
use crate::http::ResponseEvent;
use loadcell_core::error::Failure;

/// Length of a frame header in bytes.
pub const HEAD: usize = 9;

pub const DATA: u8 = 0x0;
pub const HEADERS: u8 = 0x1;
pub const PRIORITY: u8 = 0x2;
pub const RST_STREAM: u8 = 0x3;
pub const SETTINGS: u8 = 0x4;
pub const PUSH_PROMISE: u8 = 0x5;
pub const PING: u8 = 0x6;
pub const GOAWAY: u8 = 0x7;
pub const WINDOW_UPDATE: u8 = 0x8;
pub const CONTINUATION: u8 = 0x9;

pub const ACK: u8 = 0x1;
pub const END_STREAM: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;
pub const PADDED: u8 = 0x8;
pub const PRIORITISED: u8 = 0x20;

/// Mask of stream numbers and increments: the highest bit is reserved.
pub const LARGEST: u32 = 0x7fff_ffff;

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl Frame {
    #[inline]
    pub fn read(head: &[u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        Self { length, kind, flags, stream: u32::from_be_bytes(stream) & LARGEST }
    }

    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Name of the frame type, for messages.
    pub fn name(&self) -> &'static str {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        NAMES.get(usize::from(self.kind)).copied().unwrap_or("unknown")
    }
}

/// Append a frame header.
#[inline]
pub fn head(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Set the length of the HEADERS frame that starts at `start` and extends to the end of `out`. A block longer
/// than `longest` is split into CONTINUATION frames.
#[inline]
pub fn set_length(out: &mut Vec<u8>, start: usize, longest: usize) {
    let length = out.len() - start - HEAD;
    if length > longest {
        return cut(out, start, longest);
    }
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out[start..start + 3].copy_from_slice(&[a, b, c]);
}

#[cold]
fn cut(out: &mut Vec<u8>, start: usize, longest: usize) {
    let block = out.split_off(start);
    let Some((first, block)) = block.split_first_chunk::<HEAD>() else { return };
    let Frame { flags, stream, .. } = Frame::read(first);
    let count = block.len().div_ceil(longest);
    for (nth, piece) in block.chunks(longest).enumerate() {
        let kind = if nth == 0 { HEADERS } else { CONTINUATION };
        let begun = if nth == 0 { flags & !END_HEADERS } else { 0 };
        let ended = if nth + 1 == count { END_HEADERS } else { 0 };
        head(out, piece.len(), kind, begun | ended, stream);
        out.extend_from_slice(piece);
    }
}

pub fn settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    head(out, settings.len() * 6, SETTINGS, 0, 0);
    for (name, value) in settings {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub fn settings_received(out: &mut Vec<u8>) {
    head(out, 0, SETTINGS, ACK, 0);
}

/// Answers a PING frame, unless it is an answer itself.
#[cold]
pub fn answer_ping<'i>(
    frame: Frame,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<ResponseEvent<'i>, Failure> {
    of_the_connection(frame)?;
    let opaque = payload.try_into().map_err(|_| wrong_size(frame))?;
    if !frame.has(ACK) {
        pong(out, opaque);
    }
    Ok(ResponseEvent::Nothing)
}

pub fn pong(out: &mut Vec<u8>, opaque: [u8; 8]) {
    head(out, opaque.len(), PING, ACK, 0);
    out.extend_from_slice(&opaque);
}

pub fn window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    head(out, 4, WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

pub fn reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    head(out, 4, RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_headers_round_trip() {
        let mut out = Vec::new();
        window_update(&mut out, 5, 0x1234);
        assert_eq!(out, [0, 0, 4, 8, 0, 0, 0, 0, 5, 0, 0, 0x12, 0x34]);
        let frame = Frame::read(out.first_chunk().unwrap());
        assert_eq!(frame, Frame { length: 4, kind: WINDOW_UPDATE, flags: 0, stream: 5 });
        assert_eq!(frame.name(), "WINDOW_UPDATE");
        out.clear();
        settings(&mut out, &[(2, 0), (4, 0x10000)]);
        assert_eq!(out, [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0]);
        out.clear();
        pong(&mut out, *b"12345678");
        assert_eq!(out, b"\0\0\x08\x06\x01\0\0\0\x0012345678");
        out.clear();
        reset(&mut out, 7, Code::CANCEL);
        assert_eq!(out, [0, 0, 4, 3, 0, 0, 0, 0, 7, 0, 0, 0, 8]);
        assert_eq!(Frame::read(&[1, 2, 3, 0x40, 0xff, 0x80, 0, 0, 1]).stream, 1, "a bit means nothing");
        assert_eq!(Frame::read(&[1, 2, 3, 0x40, 0xff, 0, 0, 0, 1]).name(), "unknown");
    }
}
