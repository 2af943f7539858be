//! Encoder of header fields.
//!
//! Neither the dynamic table nor Huffman coding is used. A request's header block is therefore identical on
//! every connection: it is encoded once and copied.

use super::{fixed, integer};

const INDEXED: u8 = 0x80;
const WITHOUT_INDEXING: u8 = 0x00;
/// Representation of a literal that must never be indexed: secrets.
const NEVER_INDEXED: u8 = 0x10;
const TABLE_SIZE: u8 = 0x20;

const LENGTH_BITS: u32 = 7;

/// Announce a table size of zero, at the start of a connection's first block. No update is then needed when
/// the peer reduces its table.
pub fn no_table(out: &mut Vec<u8>) {
    integer::encode(out, TABLE_SIZE, 5, 0);
}

/// Append a field. The name must be in lower case.
pub fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if let Some((index, true)) = fixed::find(name, value) {
        return integer::encode(out, INDEXED, 7, index);
    }
    field_with(out, name, |out| out.extend_from_slice(value));
}

/// Append a field whose value is written by `write`.
#[inline]
pub fn field_with(out: &mut Vec<u8>, name: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    self::name(out, name);
    value(out, write);
}

/// Append the start of a field whose value follows: see `value`.
pub fn name(out: &mut Vec<u8>, name: &[u8]) {
    let secret = matches!(name, b"authorization" | b"proxy-authorization" | b"cookie");
    let kind = if secret { NEVER_INDEXED } else { WITHOUT_INDEXING };
    match fixed::find(name, b"\0") {
        Some((index, _)) => integer::encode(out, kind, 4, index),
        None => {
            out.push(kind);
            integer::encode(out, 0, LENGTH_BITS, name.len());
            out.extend_from_slice(name);
        }
    }
}

/// Append the value that `write` produces, preceded by its length.
#[inline]
pub fn value(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    let length = out.len() - start - 1;
    if length < 0x7f {
        out[start] = length as u8;
    } else {
        long(out, start, length);
    }
}

/// Insert a length that needs more than one byte, and shift the value.
#[cold]
fn long(out: &mut Vec<u8>, start: usize, length: usize) {
    let mut octets = Vec::new();
    integer::encode(&mut octets, 0, LENGTH_BITS, length);
    out.splice(start..=start, octets);
}
