//! What an error of a socket is counted as, and how it reads.

use std::io;

use crate::os;
use crate::session::Failure;

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::TimedOut => "timeout",
            io::ErrorKind::InvalidData => "tls",
            _ => error.raw_os_error().and_then(os::local_exhaustion).unwrap_or("connection"),
        };
        // "Connection refused (os error 111)": the number is of no use to people.
        let text = error.to_string();
        let message = text.split(" (os error").next().unwrap_or_default().into();
        Self { code: code.into(), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_lacks_is_not_counted_against_who_was_to_be_connected_to() {
        let code = |errno| Failure::from(io::Error::from_raw_os_error(errno)).code;
        assert_eq!(
            (code(libc::EADDRNOTAVAIL).as_str(), code(libc::EMFILE).as_str()),
            ("ports", "descriptors")
        );
        assert_eq!(
            (code(libc::ECONNREFUSED).as_str(), code(libc::ETIMEDOUT).as_str()),
            ("connection", "timeout")
        );
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::InvalidData)).code, "tls");
        let refused = Failure::from(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        assert_eq!(refused.message, "Connection refused");
    }
}
