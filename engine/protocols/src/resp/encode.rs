//! Command encoding: an array of bulk strings in every protocol version.

use crate::digits::decimal;

/// Start a command of `words` words, its name included.
#[inline]
pub fn begin(out: &mut Vec<u8>, words: usize) {
    out.push(b'*');
    decimal(out, words as u64);
    out.extend_from_slice(b"\r\n");
}

/// Append the next word.
#[inline]
pub fn word(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'$');
    decimal(out, bytes.len() as u64);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Append a complete command.
pub fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    begin(out, words.len());
    words.iter().for_each(|bytes| word(out, bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_an_array_of_bulk_strings() {
        let mut out = b"before".to_vec();
        command(&mut out, &[b"SET", b"k", b"\r\n\0", b""]);
        assert_eq!(out, b"before*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\r\n\0\r\n$0\r\n\r\n");
    }
}
