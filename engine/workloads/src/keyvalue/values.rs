//! Values: random bytes, optionally with a verifiable header.
//!
//! A checksummed value starts with the number of its key (8 bytes, little-endian), the version of the write
//! (4) and the CRC-32 of these and all later bytes (4); the remainder is random. A truncated, misplaced or
//! modified value is therefore detected by itself.

use flate2::Crc;

use super::distribution::normal;
use loadcell_core::random::Random;

/// Header size of a checksummed value in bytes, its minimum size.
pub const HEAD: u64 = 16;

/// Version of values loaded before the run.
pub const LOADED: u32 = 1;

/// Distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    Fixed(u64),
    /// All sizes of the range are equally likely.
    Uniform {
        from: u64,
        to: u64,
    },
    /// Normal distribution; draws below 0 or above twice the mean are repeated, which preserves the mean.
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Size {
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Self::Fixed(size) => size,
            Self::Uniform { from, to } => random.uniform(from, to),
            Self::Normal { mean, deviation } => loop {
                let size = mean + deviation * normal(random);
                if (0.0..=2.0 * mean).contains(&size) {
                    break size.round() as u64;
                }
            },
        }
    }

    /// Maximum size.
    pub fn most(&self) -> u64 {
        match *self {
            Self::Fixed(size) => size,
            Self::Uniform { to, .. } => to,
            Self::Normal { mean, .. } => (2.0 * mean).round() as u64,
        }
    }
}

/// Violation detected by a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrityError {
    /// The key is missing, although its write was acknowledged.
    Lost,
    /// A value older than the last acknowledged write.
    Stale,
    /// Bytes that were never written to this key.
    Corrupt,
}

impl IntegrityError {
    /// Code under which it is counted.
    pub fn code(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Stale => "stale",
            Self::Corrupt => "corrupt",
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::Lost => "a key is missing whose writing was acknowledged",
            Self::Stale => "a value is older than the one whose writing was acknowledged last",
            Self::Corrupt => "a value is not one that was written to its key",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueShape {
    pub size: Size,
    pub checksummed: bool,
}

impl ValueShape {
    /// Draw the size of the next value.
    #[inline]
    pub fn draw_size(&self, random: &mut Random) -> u64 {
        let size = self.size.draw(random);
        if self.checksummed { size.max(HEAD) } else { size }
    }

    /// Append a value of `size` bytes (as drawn) for a key.
    #[inline]
    pub fn write_sized(&self, key: u64, version: u32, size: u64, random: &mut Random, out: &mut Vec<u8>) {
        if !self.checksummed {
            fill(size as usize, random, out);
            return;
        }
        let start = out.len();
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        fill((size.max(HEAD) - HEAD) as usize, random, out);
        let sum = checksum(&out[start..]);
        out[start + 12..start + 16].copy_from_slice(&sum.to_le_bytes());
    }

    /// Append a value, drawing its size.
    pub fn write(&self, key: u64, version: u32, random: &mut Random, out: &mut Vec<u8>) {
        let size = self.draw_size(random);
        self.write_sized(key, version, size, random, out);
    }
}

/// Version of a checksummed value of `key`. Fails if it is damaged, or older than `oldest`.
pub fn check(key: u64, oldest: u32, bytes: &[u8]) -> Result<u32, IntegrityError> {
    match parse_header(bytes) {
        Some((stored_key, version)) if stored_key == key => {
            if version < oldest {
                return Err(IntegrityError::Stale);
            }
            Ok(version)
        }
        _ => Err(IntegrityError::Corrupt),
    }
}

/// Key and version of a checksummed value, if it is intact.
pub fn parse_header(bytes: &[u8]) -> Option<(u64, u32)> {
    let (head, _) = bytes.split_first_chunk::<{ HEAD as usize }>()?;
    let key = u64::from_le_bytes(head[..8].try_into().ok()?);
    let version = u32::from_le_bytes(head[8..12].try_into().ok()?);
    let sum = u32::from_le_bytes(head[12..].try_into().ok()?);
    (checksum(bytes) == sum).then_some((key, version))
}

/// Checksum of all bytes but its own.
fn checksum(value: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&value[..12]);
    crc.update(&value[HEAD as usize..]);
    crc.sum()
}

/// Append random bytes, eight at a time.
#[inline]
fn fill(size: usize, random: &mut Random, out: &mut Vec<u8>) {
    out.reserve(size);
    for _ in 0..size / 8 {
        out.extend_from_slice(&random.bits().to_le_bytes());
    }
    let remainder = size % 8;
    if remainder > 0 {
        out.extend_from_slice(&random.bits().to_le_bytes()[..remainder]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::fit;

    fn value(shape: ValueShape, key: u64, version: u32) -> Vec<u8> {
        let mut out = b"before".to_vec();
        shape.write(key, version, &mut Random::stream(7, 7), &mut out);
        out.split_off(6)
    }

    #[test]
    fn sizes_follow_their_description() {
        let mut random = Random::stream(1, 0);
        assert_eq!(Size::Fixed(100).draw(&mut random), 100);
        fit::fits("sizes", &[1.0 / 21.0; 21], |random| Size::Uniform { from: 80, to: 100 }.draw(random) - 80);
        let bell = Size::Normal { mean: 50.0, deviation: 12.0 };
        let edge = |size: f64| fit::normal((size.clamp(0.0, 100.0) - 50.0) / 12.0);
        let inside = edge(100.0) - edge(0.0);
        let probabilities: Vec<f64> =
            (0..=100).map(|k| (edge(f64::from(k) + 0.5) - edge(f64::from(k) - 0.5)) / inside).collect();
        fit::fits("normal sizes", &probabilities, |random| bell.draw(random));
        assert_eq!(
            (Size::Fixed(5).most(), Size::Uniform { from: 1, to: 9 }.most(), bell.most()),
            (5, 9, 100)
        );
    }

    #[test]
    fn plain_value_is_random_and_sized() {
        for size in [0, 1, 7, 8, 9, 100] {
            let shape = ValueShape { size: Size::Fixed(size), checksummed: false };
            assert_eq!(value(shape, 1, 1).len(), size as usize);
        }
        let shape = ValueShape { size: Size::Fixed(100_000), checksummed: false };
        let mut counts = [0usize; 256];
        value(shape, 1, 1).iter().for_each(|octet| counts[usize::from(*octet)] += 1);
        assert!(fit::deviation(&counts, &[1.0 / 256.0; 256]) < 3.1);
    }

    #[test]
    fn checksummed_value_contains_key_and_version() {
        for size in [0, 16, 17, 100, 5_000] {
            let shape = ValueShape { size: Size::Fixed(size), checksummed: true };
            let bytes = value(shape, 4_711, 3);
            assert_eq!(bytes.len() as u64, size.max(HEAD));
            assert_eq!(check(4_711, 3, &bytes), Ok(3));
            assert_eq!(check(4_711, 1, &bytes), Ok(3));
            assert_eq!(check(4_711, 4, &bytes), Err(IntegrityError::Stale));
            assert_eq!(check(4_712, 3, &bytes), Err(IntegrityError::Corrupt));
        }
    }

    #[test]
    fn every_change_is_detected() {
        let bytes = value(ValueShape { size: Size::Fixed(64), checksummed: true }, 9, 2);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(check(9, 0, &changed), Err(IntegrityError::Corrupt), "octet {at}, bit {bit}");
            }
            assert_eq!(check(9, 0, &bytes[..at]), Err(IntegrityError::Corrupt), "cut at {at}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(check(9, 0, &longer), Err(IntegrityError::Corrupt));
    }
}
