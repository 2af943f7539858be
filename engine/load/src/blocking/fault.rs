//! Failures of calls in this process, by a few codes common to all called libraries.

use std::borrow::Cow;
use std::io;

use loadcell_core::error::{Failure, LoadError, LoadStep};
use loadcell_core::os;

/// Failure of a call to a store, a callable or the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Mostly a constant: a failing call does not allocate for it.
    pub code: Cow<'static, str>,
    pub message: String,
    /// The called library or callable is unusable from now on.
    pub fatal: bool,
}

/// There is no room left where files lie.
pub const NO_SPACE: &str = "no-space";
/// The operating system does not let us.
pub const DENIED: &str = "denied";
/// Files are not what was written, or not all of it.
pub const DAMAGED: &str = "damaged";
/// Somebody else holds it.
pub const BUSY: &str = "busy";
/// Any other trouble of the operating system.
pub const IO: &str = "io";

impl Fault {
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), fatal: false }
    }

    pub fn fatal(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(code, message) }
    }

    pub fn failure(&self) -> Failure {
        Failure { code: self.code.to_string(), message: self.message.clone() }
    }

    /// As the error of a load that was at this step.
    pub fn during(&self, step: LoadStep) -> LoadError {
        self.failure().during(step)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let code = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => NO_SPACE,
            Some(libc::EROFS | libc::EACCES | libc::EPERM) => DENIED,
            Some(libc::EBUSY | libc::EAGAIN) => BUSY,
            _ if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => DAMAGED,
            _ => IO,
        };
        Self::new(code, os::error_text(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_of_the_operating_system_has_a_code_and_its_own_words() {
        let of_os = |number| Fault::from(io::Error::from_raw_os_error(number));
        assert_eq!(of_os(libc::ENOSPC).code, NO_SPACE);
        assert_eq!(of_os(libc::ENOSPC).message, "No space left on device");
        assert_eq!(of_os(libc::EACCES).code, DENIED);
        assert_eq!(of_os(libc::EBUSY).code, BUSY);
        assert_eq!(of_os(libc::EIO).code, IO);
        assert_eq!(of_os(libc::EROFS).message, "Read-only file system");
    }
}
