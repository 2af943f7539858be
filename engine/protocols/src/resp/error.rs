//! Error replies: the first word is the code, by Redis' convention.

use loadcell_core::error::{Failure, MAX_CLIENTS};

/// Code for a database index out of range.
pub const NO_DATABASE: &str = "database";
const NO_CONNECTION_LEFT: &[u8] = b"ERR max number of clients reached";

/// Some servers repeat the arguments of an unknown command, which may include a password.
const REPEATED: &str = ", with args beginning with";

/// Failure of an error reply.
#[cold]
pub fn refusal(error: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(error);
    let text = text.split_once(REPEATED).map_or(&*text, |(before, _)| before);
    let first = text.split(' ').next().unwrap_or_default();
    let is_code = !first.is_empty()
        && first.len() <= 32
        && first.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let (code, message) = match text.split_once(' ') {
        _ if error.starts_with(NO_CONNECTION_LEFT) => (MAX_CLIENTS, &text[4..]),
        Some((code, message)) if is_code => (code, message),
        _ if is_code => (first, text),
        _ => ("ERR", text),
    };
    Failure { code: code.into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(error: &str) -> (String, String) {
        let Failure { code, message } = refusal(error.as_bytes());
        (code, message)
    }

    #[test]
    fn first_word_is_the_code() {
        for (error, code, message) in [
            ("WRONGTYPE Operation against a key", "WRONGTYPE", "Operation against a key"),
            ("MOVED 3999 127.0.0.1:6381", "MOVED", "3999 127.0.0.1:6381"),
            ("ERR syntax error", "ERR", "syntax error"),
            ("NOAUTH", "NOAUTH", "NOAUTH"),
            ("something odd", "ERR", "something odd"),
            ("", "ERR", ""),
            ("ERR max number of clients reached", MAX_CLIENTS, "max number of clients reached"),
        ] {
            assert_eq!(read(error), (code.into(), message.into()));
        }
        assert_eq!(refusal(b"OOM \xff\xfe").code, "OOM");
    }

    #[test]
    fn command_arguments_are_never_repeated() {
        let (_, message) =
            read("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'me' 'secret'");
        assert_eq!(message, "unknown command 'HELLO'");
    }
}
