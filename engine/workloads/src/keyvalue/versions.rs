//! Write history by key: the last acknowledged version, and whether the key may be missing.
//!
//! Each key has a single writing client, so its versions are ordered and its word is modified by one thread.
//! All clients read it, when a read is sent and when it is answered.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::values::{IntegrityError, LOADED, check};

/// Keys are stored in blocks, allocated on first write, as the number of inserted keys is not known in
/// advance.
const BLOCK: u64 = 1 << 16;
const BLOCKS: u64 = 1 << 16;
/// Maximum number of tracked keys.
pub const MOST_KEYS: u64 = BLOCK * BLOCKS;

/// Shared by all clients of a load.
pub struct VersionTracker {
    blocks: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// Keys below this number were loaded before the run.
    loaded: u64,
}

/// State of a key at one instant.
///
/// Bit 0: it may be missing. Bits 1 to 31: the last acknowledged version. Bits 32 and up: the last sent
/// version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyState(u64);

impl KeyState {
    const NOTHING: Self = Self::of(0, 0, true);
    const LOADED: Self = Self::of(LOADED, LOADED, false);
    /// Maximum version, limited by 31 bits.
    const LAST: u32 = (1 << 31) - 1;

    const fn of(sent: u32, acknowledged: u32, may_miss: bool) -> Self {
        Self((sent as u64) << 32 | (acknowledged as u64) << 1 | may_miss as u64)
    }

    fn may_miss(self) -> bool {
        self.0 & 1 == 1
    }

    fn acknowledged(self) -> u32 {
        (self.0 as u32) >> 1
    }

    fn sent(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl VersionTracker {
    /// Keys below `loaded` exist.
    pub fn new(loaded: u64) -> Self {
        Self { blocks: (0..BLOCKS).map(|_| OnceLock::new()).collect(), loaded }
    }

    fn word(&self, key: u64) -> &AtomicU64 {
        let number = (key / BLOCK) % BLOCKS;
        let block = self.blocks[number as usize].get_or_init(|| {
            let first = number * BLOCK;
            let state = |at| if first + at < self.loaded { KeyState::LOADED } else { KeyState::NOTHING };
            (0..BLOCK).map(|at| AtomicU64::new(state(at).0)).collect()
        });
        &block[(key % BLOCK) as usize]
    }

    /// Current state; to be stored until the read about to be sent is answered.
    pub fn state(&self, key: u64) -> KeyState {
        KeyState(self.word(key).load(Ordering::Acquire))
    }

    fn change(&self, key: u64, to: KeyState) {
        self.word(key).store(to.0, Ordering::Release);
    }

    /// Announce a write. Returns its version.
    pub fn begin_write(&self, key: u64) -> u32 {
        let state = self.state(key);
        let version = if state.sent() < KeyState::LAST { state.sent() + 1 } else { state.sent() };
        self.change(key, KeyState::of(version, state.acknowledged(), state.may_miss()));
        version
    }

    /// Announce a deletion, from which on the key may be missing. Returns its version.
    pub fn begin_delete(&self, key: u64) -> u32 {
        let version = self.begin_write(key);
        let state = self.state(key);
        self.change(key, KeyState::of(state.sent(), state.acknowledged(), true));
        version
    }

    /// The write of this version (`gone`: the deletion) was acknowledged. The last one sent decides whether
    /// the key exists.
    pub fn acknowledged(&self, key: u64, version: u32, gone: bool) {
        let state = self.state(key);
        let may_miss = if version == state.sent() { gone } else { state.may_miss() };
        self.change(key, KeyState::of(state.sent(), state.acknowledged().max(version), may_miss));
    }

    /// Check the answer to a read: a value, or `None`; `then` is the state when it was sent. Concurrent
    /// writes may or may not be visible.
    pub fn check_read(&self, key: u64, then: KeyState, value: Option<&[u8]>) -> Result<(), IntegrityError> {
        match value {
            Some(bytes) => check(key, then.acknowledged(), bytes).map(|_| ()),
            None => {
                let now = self.state(key);
                // It may have been deleted and rewritten meanwhile.
                let touched = now.sent() != then.sent();
                if then.may_miss() || now.may_miss() || touched { Ok(()) } else { Err(IntegrityError::Lost) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::{Size, ValueShape};
    use super::*;
    use loadcell_core::random::Random;

    fn value(key: u64, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let shape = ValueShape { size: Size::Fixed(32), checksummed: true };
        shape.write(key, version, &mut Random::stream(1, 0), &mut out);
        out
    }

    /// Check a read that starts and ends now.
    fn read(versions: &VersionTracker, key: u64, value: Option<&[u8]>) -> Result<(), IntegrityError> {
        versions.check_read(key, versions.state(key), value)
    }

    #[test]
    fn loaded_keys_exist() {
        let versions = VersionTracker::new(10);
        assert_eq!(read(&versions, 9, Some(&value(9, LOADED))), Ok(()));
        assert_eq!(read(&versions, 9, None), Err(IntegrityError::Lost));
        assert_eq!(read(&versions, 10, None), Ok(()));
        assert_eq!(read(&versions, MOST_KEYS - 1, None), Ok(()));
    }

    #[test]
    fn acknowledged_write_must_be_visible() {
        let versions = VersionTracker::new(10);
        let version = versions.begin_write(3);
        assert_eq!(version, 2);
        for seen in [LOADED, 2] {
            // Sent: it may or may not be visible.
            assert_eq!(read(&versions, 3, Some(&value(3, seen))), Ok(()));
        }
        versions.acknowledged(3, version, false);
        assert_eq!(read(&versions, 3, Some(&value(3, 2))), Ok(()));
        assert_eq!(read(&versions, 3, Some(&value(3, LOADED))), Err(IntegrityError::Stale));
        assert_eq!(read(&versions, 3, Some(&value(4, 2))), Err(IntegrityError::Corrupt));
        assert_eq!(read(&versions, 3, None), Err(IntegrityError::Lost));
    }

    #[test]
    fn read_is_checked_against_the_state_at_send() {
        let versions = VersionTracker::new(10);
        let then = versions.state(5);
        let version = versions.begin_write(5);
        versions.acknowledged(5, version, false);
        assert_eq!(versions.check_read(5, then, Some(&value(5, LOADED))), Ok(()));
    }

    #[test]
    fn deleted_key_may_be_missing_until_rewritten() {
        let versions = VersionTracker::new(10);
        let before = versions.state(7);
        let gone = versions.begin_delete(7);
        assert_eq!(read(&versions, 7, None), Ok(()));
        versions.acknowledged(7, gone, true);
        assert_eq!(read(&versions, 7, None), Ok(()));
        // An old value reappeared.
        assert_eq!(read(&versions, 7, Some(&value(7, LOADED))), Err(IntegrityError::Stale));
        let version = versions.begin_write(7);
        assert_eq!(read(&versions, 7, None), Ok(()));
        versions.acknowledged(7, version, false);
        assert_eq!(read(&versions, 7, None), Err(IntegrityError::Lost));
        // The key may have been missing at some time during this read.
        assert_eq!(versions.check_read(7, before, None), Ok(()));
    }

    #[test]
    fn last_concurrent_write_decides() {
        let versions = VersionTracker::new(10);
        let (write, delete) = (versions.begin_write(1), versions.begin_delete(1));
        versions.acknowledged(1, write, false);
        assert_eq!(read(&versions, 1, None), Ok(()));
        let again = versions.begin_write(1);
        versions.acknowledged(1, delete, true);
        assert_eq!(read(&versions, 1, None), Ok(()));
        versions.acknowledged(1, again, false);
        assert_eq!(read(&versions, 1, None), Err(IntegrityError::Lost));
    }
}
