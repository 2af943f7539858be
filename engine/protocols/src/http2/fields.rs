//! Header fields of a response and their validation (RFC 9113, sections 8.1.1, 8.2 and 8.3.2).

use super::code::Code;
use crate::Malformed;

/// Connection-specific fields of HTTP/1.1, which are forbidden in HTTP/2.
const OF_A_CONNECTION: [&[u8]; 5] =
    [b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"];

/// State of the validation of one header block.
#[derive(Debug, Default)]
pub struct Fields {
    pub status: Option<u16>,
    /// Declared length of the body.
    pub length: Option<u64>,
    /// A regular field has come: no pseudo-header field may follow.
    ordinary: bool,
}

impl Fields {
    /// For trailers, which have no pseudo-header fields.
    pub fn trailing() -> Self {
        Self { ordinary: true, ..Self::default() }
    }

    pub fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.ordinary = true;
        if !is_name(name) || OF_A_CONNECTION.contains(&name) {
            return Err(wrong(name, "is none that a response may have"));
        }
        if value.iter().any(|octet| matches!(octet, b'\0' | b'\r' | b'\n')) {
            return Err(wrong(name, "has a value that goes over its line"));
        }
        if name == b"content-length" {
            let length = number(value).filter(|length| self.length.is_none_or(|before| before == *length));
            self.length =
                Some(length.ok_or_else(|| wrong(name, "is no length, or another one than before"))?);
        }
        Ok(())
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name != b":status" {
            return Err(wrong(name, "is none that a response may have"));
        }
        if self.ordinary || self.status.is_some() {
            return Err(wrong(name, "stands where it must not"));
        }
        // 101 belongs to HTTP/1.1.
        let status = number(value).filter(|&status| value.len() == 3 && status >= 100 && status != 101);
        self.status = Some(status.ok_or_else(|| wrong(name, "is no status"))? as u16);
        Ok(())
    }
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.iter().all(|octet| matches!(octet, 0x21..=0x7e) && !matches!(octet, b'A'..=b'Z' | b':'))
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

#[cold]
fn wrong(name: &[u8], finding: &str) -> Malformed {
    /// Bytes of an invalid name that are shown in messages.
    const SHOWN: usize = 40;
    let shown = name[..name.len().min(SHOWN)].escape_ascii();
    Code::PROTOCOL_ERROR.because(format!("the header field \"{shown}\" of the response {finding}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(mut fields: Fields, list: &[(&str, &str)]) -> Result<(Option<u16>, Option<u64>), Malformed> {
        for (name, value) in list {
            fields.take(name.as_bytes(), value.as_bytes())?;
        }
        Ok((fields.status, fields.length))
    }

    #[test]
    fn status_and_length_are_extracted() {
        let response =
            [(":status", "404"), ("server", "x"), ("content-length", "12"), ("content-length", "12")];
        assert_eq!(take(Fields::default(), &response), Ok((Some(404), Some(12))));
        assert_eq!(take(Fields::trailing(), &[("x-sum", "1")]), Ok((None, None)));
    }

    #[test]
    fn invalid_fields_are_rejected() {
        for list in [
            &[(":status", "20")][..],
            &[(":status", "2000")],
            &[(":status", "2x0")],
            &[(":status", "099")],
            &[(":status", "101")],
            &[(":status", "200"), (":status", "200")],
            &[("server", "x"), (":status", "200")],
            &[(":path", "/")],
            &[(":", "")],
            &[("", "")],
            &[("Server", "x")],
            &[("a b", "x")],
            &[("a:b", "x")],
            &[("caf\u{e9}", "x")],
            &[("x", "a\r\nb")],
            &[("x", "a\0")],
            &[("connection", "close")],
            &[("transfer-encoding", "chunked")],
            &[("content-length", "-1")],
            &[("content-length", "")],
            &[("content-length", "99999999999999999999")],
            &[("content-length", "1"), ("content-length", "2")],
        ] {
            let Malformed(finding) = take(Fields::default(), list).unwrap_err();
            assert!(
                finding.starts_with("the header field \"") && finding.ends_with("(PROTOCOL_ERROR)"),
                "{finding}"
            );
        }
        assert!(take(Fields::trailing(), &[(":status", "200")]).is_err());
        let Malformed(finding) = take(Fields::default(), &[(&"\n".repeat(99), "")]).unwrap_err();
        assert!(finding.contains("\\n") && finding.len() < 200, "{finding}");
    }
}
