//! Encoding of messages to the server. Repeated requests are encoded by `Statement` instead.

/// `Sync`: ends a series of extended-protocol messages.
pub const SYNC: &[u8] = b"S\0\0\0\x04";
/// `Execute` of the unnamed portal, all rows.
pub const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";
pub const TERMINATE: &[u8] = b"X\0\0\0\x04";
/// `SSLRequest`: answered by one byte, `S` or `N`.
pub const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

const PROTOCOL_3_0: i32 = 3 << 16;
const CANCEL_CODE: i32 = 80_877_102;

/// Append a message with `tag` (0: none, as at startup) and the body written by `fill`.
pub fn message(out: &mut Vec<u8>, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    if tag != 0 {
        out.push(tag);
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    put_length(out, start);
}

/// Set the length of the message whose length field is at `start` and which ends at the end of `out`.
#[inline]
pub fn put_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Append text with a terminating zero.
pub fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Append the startup message; empty values are omitted.
pub fn startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    message(out, 0, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            text(out, name.as_bytes());
            text(out, value.as_bytes());
        }
        out.push(0);
    });
}

/// Append `CancelRequest`: cancels, on a separate connection, the query of the backend `process`.
pub fn cancel(out: &mut Vec<u8>, process: i32, key: &[u8]) {
    message(out, 0, |out| {
        out.extend_from_slice(&CANCEL_CODE.to_be_bytes());
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(key);
    });
}

/// `PasswordMessage`: cleartext or md5.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, b'p', |out| text(out, password));
}

/// `SASLInitialResponse`.
pub fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, response: &[u8]) {
    message(out, b'p', |out| {
        text(out, mechanism.as_bytes());
        out.extend_from_slice(&(response.len() as i32).to_be_bytes());
        out.extend_from_slice(response);
    });
}

/// `SASLResponse`.
pub fn sasl(out: &mut Vec<u8>, response: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(response));
}

/// A simple query.
pub fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| text(out, sql.as_bytes()));
}

/// `Parse`, with parameter types left to the server. `name` may be empty.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: &str) {
    message(out, b'P', |out| {
        text(out, name.as_bytes());
        text(out, sql.as_bytes());
        out.extend_from_slice(&0i16.to_be_bytes());
    });
}

/// `CopyData` with the bytes written by `fill`; rows may be split anywhere.
pub fn copy_data(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'd', fill);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::message::frontend;

    fn ours(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out);
        out
    }

    fn theirs(encode: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
        let mut out = BytesMut::new();
        encode(&mut out);
        out.to_vec()
    }

    #[test]
    fn messages_match_an_independent_implementation() {
        let cases = [
            (SYNC.to_vec(), theirs(frontend::sync)),
            (EXECUTE.to_vec(), theirs(|b| frontend::execute("", 0, b).unwrap())),
            (COPY_DONE.to_vec(), theirs(frontend::copy_done)),
            (TERMINATE.to_vec(), theirs(frontend::terminate)),
            (SSL_REQUEST.to_vec(), theirs(frontend::ssl_request)),
            (
                ours(|o| startup(o, &[("user", "u"), ("database", "d"), ("options", "")])),
                theirs(|b| frontend::startup_message([("user", "u"), ("database", "d")], b).unwrap()),
            ),
            (ours(|o| cancel(o, 7, &8i32.to_be_bytes())), theirs(|b| frontend::cancel_request(7, 8, b))),
            (ours(|o| password(o, b"pw")), theirs(|b| frontend::password_message(b"pw", b).unwrap())),
            (
                ours(|o| sasl_initial(o, "SCRAM-SHA-256", b"n,,")),
                theirs(|b| frontend::sasl_initial_response("SCRAM-SHA-256", b"n,,", b).unwrap()),
            ),
            (ours(|o| sasl(o, b"c=biws")), theirs(|b| frontend::sasl_response(b"c=biws", b).unwrap())),
            (ours(|o| query(o, "SELECT 1")), theirs(|b| frontend::query("SELECT 1", b).unwrap())),
            (
                ours(|o| parse(o, "s1", "SELECT $1")),
                theirs(|b| frontend::parse("s1", "SELECT $1", [], b).unwrap()),
            ),
            (
                ours(|o| copy_data(o, |o| o.extend_from_slice(b"1\t2\n"))),
                theirs(|b| frontend::CopyData::new(&b"1\t2\n"[..]).unwrap().write(b)),
            ),
        ];
        for (ours, theirs) in cases {
            assert_eq!(ours, theirs);
        }
    }
}
