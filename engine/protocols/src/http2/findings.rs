//! Frame validation, and accessors for validated payloads.

use super::code::Code;
use super::frame::{self, Frame};
use crate::Malformed;
use loadcell_core::error::Failure;

/// Payload of a frame without its padding.
pub fn unpadded(frame: Frame, payload: &[u8]) -> Result<&[u8], Failure> {
    if !frame.has(frame::PADDED) {
        return Ok(payload);
    }
    let (&padding, remaining) = payload.split_first().ok_or_else(|| wrong_size(frame))?;
    let length = remaining.len().checked_sub(usize::from(padding)).ok_or_else(|| too_much_padding(frame))?;
    Ok(&remaining[..length])
}

/// Payload of a frame that consists of one 32-bit number.
pub fn number(frame: Frame, payload: &[u8]) -> Result<u32, Failure> {
    payload.try_into().map(u32::from_be_bytes).map_err(|_| wrong_size(frame))
}

pub fn of_the_connection(frame: Frame) -> Result<(), Failure> {
    if frame.stream == 0 {
        return Ok(());
    }
    let finding = format!("the server sent a {} frame on the stream {}", frame.name(), frame.stream);
    Err(Code::PROTOCOL_ERROR.because(finding).into())
}

/// Check that the stream of this frame was used by an earlier request.
pub fn check_stream_used(frame: Frame, next: u32) -> Result<(), Malformed> {
    if frame.stream % 2 == 1 && frame.stream < next { Ok(()) } else { Err(no_such_stream(frame, next)) }
}

#[cold]
pub fn no_such_stream(frame: Frame, next: u32) -> Malformed {
    let over = frame.stream % 2 == 1 && frame.stream < next;
    let (code, violation) = match over {
        true => (Code::STREAM_CLOSED, "which is over"),
        false => (Code::PROTOCOL_ERROR, "on which nothing was asked"),
    };
    code.because(format!(
        "the server sent a {} frame on the stream {}, {violation}",
        frame.name(),
        frame.stream
    ))
}

#[cold]
pub fn too_much_padding(frame: Frame) -> Failure {
    Code::PROTOCOL_ERROR
        .because(format!("the server sent a {} frame with more padding than frame", frame.name()))
        .into()
}

#[cold]
pub fn wrong_size(frame: Frame) -> Failure {
    let finding = format!("the server sent a {} frame of {} bytes", frame.name(), frame.length);
    Code::FRAME_SIZE_ERROR.because(finding).into()
}

/// Failure when the first bytes are not HTTP/2.
#[cold]
pub fn no_http2(input: &[u8]) -> Failure {
    let hint = if input.starts_with(b"HTTP/1") { ": it answers in HTTP/1" } else { "" };
    Code::PROTOCOL_ERROR.because(format!("the server does not speak HTTP/2{hint}; try version 1.1")).into()
}
