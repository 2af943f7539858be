//! What goes wrong in a store, in a few codes that are the same for all engines.

use std::io;

use crate::session::Failure;
use crate::spec::Problem;

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: &'static str,
    pub message: String,
    /// Nothing more can be had of the store, or of this handle, until it is opened anew.
    pub fatal: bool,
}

/// There is no room left where the store lies.
pub const NO_SPACE: &str = "no-space";
/// The operating system does not let us.
pub const DENIED: &str = "denied";
/// Its files are not what the engine wrote, or not all of it.
pub const DAMAGED: &str = "damaged";
/// Somebody else holds it.
pub const BUSY: &str = "busy";
/// A key or value is larger than the engine takes.
pub const TOO_LARGE: &str = "too-large";
/// The engine refuses work after an earlier failure.
pub const CLOSED: &str = "closed";
/// The engine's library cannot be had.
pub const LIBRARY: &str = "library";
/// Any other trouble of the operating system, and of the engine.
pub const IO: &str = "io";
pub const ENGINE: &str = "engine";

impl Fault {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), fatal: false }
    }

    pub fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), fatal: true }
    }

    /// From what an engine says where it gives no more than text.
    pub fn said(message: &str) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let code = if has(&["No space left", "Disk quota", "database or disk is full"]) {
            NO_SPACE
        } else if has(&["Read-only file system", "Permission denied", "readonly database"]) {
            DENIED
        } else if has(&["Corruption", "orrupt", "malformed", "not a database", "hecksum"]) {
            DAMAGED
        } else if has(&["lock hold by", "locked", "While lock file"]) {
            BUSY
        } else if has(&["IO error"]) {
            IO
        } else {
            ENGINE
        };
        Self::new(code, message)
    }

    pub fn failure(&self) -> Failure {
        Failure { code: self.code.into(), message: self.message.clone() }
    }

    /// As something to act upon; `doing` begins the sentence.
    pub fn problem(&self, doing: &str) -> Problem {
        Problem::new(self.code, format!("{doing}: {}", self.message), advice(self.code))
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
        // "No space left on device (os error 28)": the number is of no use to people.
        let text = error.to_string();
        Self::new(code, text.split(" (os error").next().unwrap_or_default())
    }
}

/// What a person can do about a fault.
pub fn advice(code: &str) -> &'static str {
    match code {
        NO_SPACE => {
            "make room, name a directory on another device in `target.store.data`, or use fewer or smaller values"
        }
        DENIED => "name a directory in `target.store.data` that loadcell may write to",
        DAMAGED => {
            "the files are not what the engine wrote: look at the device; without `keep_data` the next run makes them anew"
        }
        BUSY => "another process holds these files: end it, or name another directory in `target.store.data`",
        TOO_LARGE => "use shorter keys or smaller values, or another engine",
        CLOSED => "the first error of this load says what made the store stop",
        LIBRARY => "install Debian's librocksdb-dev (or librocksdb7.8), or name the library in `target.store.library`",
        "lost" | "stale" | "corrupt" => "the store gave back other than what was written: do not trust it with data",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_trouble_has_the_same_code_whoever_tells_of_it() {
        let of_os = |number| Fault::from(io::Error::from_raw_os_error(number));
        assert_eq!(of_os(libc::ENOSPC).code, NO_SPACE);
        assert_eq!(of_os(libc::ENOSPC).message, "No space left on device");
        assert_eq!(Fault::said("IO error: No space left on deviceWhile appending").code, NO_SPACE);
        assert_eq!(of_os(libc::EACCES).code, DENIED);
        assert_eq!(Fault::said("IO error: While open a file: /x/LOCK: Permission denied").code, DENIED);
        assert_eq!(Fault::said("Corruption: block checksum mismatch").code, DAMAGED);
        assert_eq!(Fault::said("IO error: lock hold by current process").code, BUSY);
        assert_eq!(Fault::said("Invalid argument: Column family not found").code, ENGINE);
        assert!(Fault::new(NO_SPACE, "full").problem("cannot load").to_string().contains("make room"));
    }
}
