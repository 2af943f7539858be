//! Packet encoding: three bytes of length, a sequence number, a payload.

pub const HEAD: usize = 4;

pub const QUERY: u8 = 0x03;
pub const PREPARE: u8 = 0x16;
pub const EXECUTE: u8 = 0x17;
/// Complete `COM_QUIT` packet.
pub const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// Append a packet with sequence number `number` and the payload written by `fill`. Payloads here stay below
/// the 16 MiB from which splitting is required.
pub fn packet(out: &mut Vec<u8>, number: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    fill(out);
    put_length(out, start);
}

/// Set the length of the packet that spans from `start` to the end of `out`.
#[inline]
pub fn put_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start - HEAD) as u32;
    out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

/// Append the first packet of a command: the command byte and a text.
pub fn command(out: &mut Vec<u8>, command: u8, text: &[u8]) {
    packet(out, 0, |out| {
        out.push(command);
        out.extend_from_slice(text);
    });
}

/// Append a length-encoded integer.
#[inline]
pub fn integer(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..0xfb => out.push(bytes[0]),
        0xfb..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..0x100_0000 => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Append a length-encoded string.
#[inline]
pub fn text(out: &mut Vec<u8>, text: &[u8]) {
    integer(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Append text with a terminating zero.
pub fn zero_ended(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::super::packet::Reader;
    use super::*;

    #[test]
    fn packet_has_length_number_and_body() {
        let mut out = b"before".to_vec();
        command(&mut out, QUERY, b"SELECT 1");
        assert_eq!(&out[6..], b"\x09\0\0\0\x03SELECT 1");
        out.clear();
        packet(&mut out, 3, |out| out.resize(HEAD + 0x12345, 7));
        assert_eq!(&out[..5], b"\x45\x23\x01\x03\x07");
    }

    #[test]
    fn integers_round_trip() {
        for (value, length) in [
            (0, 1),
            (250, 1),
            (251, 3),
            (65_535, 3),
            (65_536, 4),
            (16_777_215, 4),
            (16_777_216, 9),
            (u64::MAX, 9),
        ] {
            let mut out = Vec::new();
            integer(&mut out, value);
            assert_eq!((out.len(), Reader(&out).integer()), (length, Some(value)));
        }
    }
}
