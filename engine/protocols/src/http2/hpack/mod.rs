//! HPACK header compression (RFC 7541).
//!
//! A dedicated implementation, as a load generator needs little of it: decoding within limits without an
//! allocation per field, and encoding each request's header once.

mod dynamic;
pub mod encode;
mod fixed;
mod huffman;
mod integer;
#[cfg(test)]
mod tests;

use crate::Malformed;

use dynamic::{Dynamic, OVERHEAD};

/// Default size of the peer's dynamic table in bytes; this client does not change it.
const TABLE_SIZE: usize = 4096;

/// Decoder of the header blocks of one connection, in order.
pub struct Decoder {
    table: Dynamic,
    /// Limit of a decoded block in bytes, with 32 bytes of overhead per field (RFC 9113, section 6.5.2).
    longest: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    pub fn new(longest: usize) -> Self {
        Self { table: Dynamic::new(TABLE_SIZE), longest, name: Vec::new(), value: Vec::new() }
    }

    /// Decode a complete block and pass each field to `take`.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let mut input = Input(block);
        let (mut total, mut first) = (0, true);
        while let Some(&octet) = input.0.first() {
            if octet & 0xe0 == 0x20 {
                let size = input.integer(5)?;
                if !first || size > TABLE_SIZE {
                    return Err(malformed("its table's size is changed where or to what it must not be"));
                }
                self.table.resize(size);
                continue;
            }
            first = false;
            let indexed = octet & 0x80 != 0;
            let stored = octet & 0xc0 == 0x40;
            if indexed {
                let index = input.integer(7)?;
                let (name, value) = self.entry(index)?;
                total += name.len() + value.len() + OVERHEAD;
                if total > self.longest {
                    return Err(too_long(self.longest));
                }
                take(name, value)?;
                continue;
            }
            let index = input.integer(if stored { 6 } else { 4 })?;
            let mut name = std::mem::take(&mut self.name);
            name.clear();
            if index == 0 {
                input.text(&mut name)?;
            } else {
                name.extend_from_slice(self.entry(index)?.0);
            }
            self.name = name;
            self.value.clear();
            input.text(&mut self.value)?;
            total += self.name.len() + self.value.len() + OVERHEAD;
            if total > self.longest {
                return Err(too_long(self.longest));
            }
            if stored {
                self.table.insert(&self.name, &self.value);
            }
            take(&self.name, &self.value)?;
        }
        Ok(())
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), Malformed> {
        let position = index.checked_sub(1).ok_or_else(|| malformed("a field has the index 0"))?;
        let entry = match fixed::FIELDS.get(position) {
            Some(&field) => Some(field),
            None => self.table.get(position - fixed::FIELDS.len()),
        };
        entry.ok_or_else(|| malformed(&format!("there is no field with the index {index}")))
    }
}

/// Undecoded part of a block.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    #[inline]
    fn integer(&mut self, prefix: u32) -> Result<usize, Malformed> {
        let (value, size) = integer::decode(self.0, prefix)
            .ok_or_else(|| malformed("a number does not end, or is too large"))?;
        self.0 = &self.0[size..];
        Ok(value)
    }

    /// Append a string literal to `out`.
    #[inline]
    fn text(&mut self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let coded = self.0.first().is_some_and(|octet| octet & 0x80 != 0);
        let length = self.integer(7)?;
        let (text, input) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| malformed("a text is longer than the block that it is in"))?;
        self.0 = input;
        if !coded {
            out.extend_from_slice(text);
        } else if !huffman::decode(text, out) {
            return Err(malformed("a text is not in the Huffman code"));
        }
        Ok(())
    }
}

#[cold]
fn malformed(finding: &str) -> Malformed {
    Malformed(format!("the server's header fields cannot be unpacked: {finding} (COMPRESSION_ERROR)"))
}

#[cold]
fn too_long(limit: usize) -> Malformed {
    Malformed(format!("the server sent more than {} KiB of header fields in one answer", limit >> 10))
}
