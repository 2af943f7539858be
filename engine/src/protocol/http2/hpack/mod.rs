//! HPACK: how HTTP/2 packs header fields (RFC 7541).
//!
//! Our own, as a client that makes load needs little of it: it decodes what any server may send, within limits, without
//! an allocation for each field; and it encodes a request's head once.

mod dynamic;
pub mod encode;
mod fixed;
mod huffman;
mod integer;
#[cfg(test)]
mod tests;

use crate::protocol::Malformed;

use dynamic::{Dynamic, OVERHEAD};

/// What a peer may keep in the dynamic table unless it is told otherwise; it is not.
const TABLE_SIZE: usize = 4096;

/// Decodes the header blocks of one connection, in their order.
pub struct Decoder {
    table: Dynamic,
    /// Names and values of one block may count for this much, each field with 32 octets more (RFC 9113, section 6.5.2).
    longest: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    pub fn new(longest: usize) -> Self {
        Self { table: Dynamic::new(TABLE_SIZE), longest, name: Vec::new(), value: Vec::new() }
    }

    /// Hands each field of a whole block to `take`.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let mut rest = Rest(block);
        let (mut total, mut first) = (0, true);
        while let Some(&octet) = rest.0.first() {
            if octet & 0xe0 == 0x20 {
                let size = rest.integer(5)?;
                if !first || size > TABLE_SIZE {
                    return Err(broken("its table's size is changed where or to what it must not be"));
                }
                self.table.resize(size);
                continue;
            }
            first = false;
            let indexed = octet & 0x80 != 0;
            let kept = octet & 0xc0 == 0x40;
            if indexed {
                let index = rest.integer(7)?;
                let (name, value) = self.entry(index)?;
                total += name.len() + value.len() + OVERHEAD;
                if total > self.longest {
                    return Err(too_long(self.longest));
                }
                take(name, value)?;
                continue;
            }
            let index = rest.integer(if kept { 6 } else { 4 })?;
            let mut name = std::mem::take(&mut self.name);
            name.clear();
            if index == 0 {
                rest.text(&mut name)?;
            } else {
                name.extend_from_slice(self.entry(index)?.0);
            }
            self.name = name;
            self.value.clear();
            rest.text(&mut self.value)?;
            total += self.name.len() + self.value.len() + OVERHEAD;
            if total > self.longest {
                return Err(too_long(self.longest));
            }
            if kept {
                self.table.insert(&self.name, &self.value);
            }
            take(&self.name, &self.value)?;
        }
        Ok(())
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), Malformed> {
        let place = index.checked_sub(1).ok_or_else(|| broken("a field has the index 0"))?;
        let found = match fixed::FIELDS.get(place) {
            Some(&field) => Some(field),
            None => self.table.get(place - fixed::FIELDS.len()),
        };
        found.ok_or_else(|| broken(&format!("there is no field with the index {index}")))
    }
}

/// What is left of a block.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    #[inline]
    fn integer(&mut self, prefix: u32) -> Result<usize, Malformed> {
        let (value, size) = integer::decode(self.0, prefix)
            .ok_or_else(|| broken("a number does not end, or is too large"))?;
        self.0 = &self.0[size..];
        Ok(value)
    }

    /// Appends a text to `out`.
    #[inline]
    fn text(&mut self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let coded = self.0.first().is_some_and(|octet| octet & 0x80 != 0);
        let length = self.integer(7)?;
        let (text, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| broken("a text is longer than the block that it is in"))?;
        self.0 = rest;
        if !coded {
            out.extend_from_slice(text);
        } else if !huffman::decode(text, out) {
            return Err(broken("a text is not in the Huffman code"));
        }
        Ok(())
    }
}

#[cold]
fn broken(finding: &str) -> Malformed {
    Malformed(format!("the server's header fields cannot be unpacked: {finding} (COMPRESSION_ERROR)"))
}

#[cold]
fn too_long(limit: usize) -> Malformed {
    Malformed(format!("the server sent more than {} KiB of header fields in one answer", limit >> 10))
}
