//! Errors of stores, classified into codes that are common to all engines.

pub use loadcell_load::blocking::fault::{BUSY, DAMAGED, DENIED, Fault, IO, NO_SPACE};

/// A key or value exceeds the limits of the engine.
pub const TOO_LARGE: &str = "too-large";
/// The engine rejects operations after an earlier error.
pub const CLOSED: &str = "closed";
/// The engine's library is not available.
pub const LIBRARY: &str = "library";
/// Any other error of the engine.
pub const ENGINE: &str = "engine";

/// Classify an engine's error message.
pub fn classify(message: &str) -> Fault {
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
    Fault::new(code, message)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn equal_errors_have_equal_codes() {
        let of_os = |number| Fault::from(io::Error::from_raw_os_error(number));
        assert_eq!(of_os(libc::ENOSPC).code, NO_SPACE);
        assert_eq!(of_os(libc::ENOSPC).message, "No space left on device");
        assert_eq!(classify("IO error: No space left on deviceWhile appending").code, NO_SPACE);
        assert_eq!(of_os(libc::EACCES).code, DENIED);
        assert_eq!(classify("IO error: While open a file: /x/LOCK: Permission denied").code, DENIED);
        assert_eq!(classify("Corruption: block checksum mismatch").code, DAMAGED);
        assert_eq!(classify("IO error: lock hold by current process").code, BUSY);
        assert_eq!(classify("Invalid argument: Column family not found").code, ENGINE);
    }
}
