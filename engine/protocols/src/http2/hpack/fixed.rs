//! Static table of HPACK (RFC 7541, appendix A).

/// Names and values; the first has index 1.
#[rustfmt::skip]
pub const FIELDS: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Index of a field, and whether its value matches too.
pub fn find(name: &[u8], value: &[u8]) -> Option<(usize, bool)> {
    let of_name = |entry: &(&[u8], &[u8])| entry.0 == name;
    let exact = FIELDS.iter().position(|entry| of_name(entry) && entry.1 == value).map(|at| (at + 1, true));
    exact.or_else(|| FIELDS.iter().position(of_name).map(|at| (at + 1, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_match_exactly_or_by_name() {
        assert_eq!(find(b":method", b"GET"), Some((2, true)));
        assert_eq!(find(b":method", b"POST"), Some((3, true)));
        assert_eq!(find(b":method", b"PUT"), Some((2, false)));
        assert_eq!(find(b":authority", b"example.com"), Some((1, false)));
        assert_eq!(find(b"www-authenticate", b"Basic"), Some((61, false)));
        assert_eq!(find(b"x-none", b""), None);
    }
}
