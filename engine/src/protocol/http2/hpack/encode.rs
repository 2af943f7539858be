//! Writes fields for a peer to decode.
//!
//! Nothing is put into the peer's dynamic table, and nothing is Huffman coded: so a request's head is the same octets on
//! every connection, can be made once, and costs a copy.

use super::{fixed, integer};

const INDEXED: u8 = 0x80;
const WITHOUT_INDEXING: u8 = 0x00;
/// Not to be kept in any table on the way: secrets.
const NEVER_INDEXED: u8 = 0x10;
const TABLE_SIZE: u8 = 0x20;

const LENGTH_BITS: u32 = 7;

/// Tells the peer that its table stays empty, as is to be told at the start of a connection's first block: then nothing
/// has to be said when the peer makes its table smaller.
pub fn no_table(out: &mut Vec<u8>) {
    integer::encode(out, TABLE_SIZE, 5, 0);
}

/// Appends a field. The name must be in lower case.
pub fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if let Some((index, true)) = fixed::find(name, value) {
        return integer::encode(out, INDEXED, 7, index);
    }
    field_with(out, name, |out| out.extend_from_slice(value));
}

/// Appends a field whose value `write` appends.
#[inline]
pub fn field_with(out: &mut Vec<u8>, name: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    self::name(out, name);
    value(out, write);
}

/// The start of a field whose value follows: see `value`.
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

/// The value that `write` appends, with its length before it.
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

/// The length takes more than one octet: what follows it makes room.
#[cold]
fn long(out: &mut Vec<u8>, start: usize, length: usize) {
    let mut octets = Vec::new();
    integer::encode(&mut octets, 0, LENGTH_BITS, length);
    out.splice(start..=start, octets);
}
