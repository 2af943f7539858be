//! Key names.

use loadcell_protocols::digits;

/// Format of a key: a prefix and a decimal number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    pub prefix: String,
    /// Minimum number of digits, with leading zeros.
    pub digits: usize,
    /// Hash the number first, as YCSB does with `insertorder=hashed`.
    pub hashed: bool,
}

impl KeyShape {
    /// YCSB's format: `user` and the number, hashed or not.
    pub fn ycsb(hashed: bool, digits: usize) -> Self {
        Self { prefix: "user".into(), digits, hashed }
    }

    /// Append the key of `number`.
    #[inline]
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.as_bytes());
        digits::padded_decimal(out, self.named(number), self.digits);
    }

    /// Length of the key in bytes.
    #[inline]
    pub fn size(&self, number: u64) -> usize {
        let named = self.named(number);
        let digits = if digits::fits(named, self.digits) { self.digits.max(1) } else { digits::count(named) };
        self.prefix.len() + digits
    }

    #[inline]
    fn named(&self, number: u64) -> u64 {
        if self.hashed { fnv(number) } else { number }
    }
}

/// FNV-1a of the eight bytes of a number, in little-endian order, as YCSB's `fnvhash64`: the absolute value
/// of the result.
#[inline]
pub fn fnv(number: u64) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    let mixed = number
        .to_le_bytes()
        .iter()
        .fold(OFFSET, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(PRIME));
    (mixed as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(shape: &KeyShape, number: u64) -> String {
        let mut out = Vec::new();
        shape.write(number, &mut out);
        assert_eq!(shape.size(number), out.len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hashed_keys_match_ycsb() {
        let shape = KeyShape::ycsb(true, 1);
        assert_eq!(key(&shape, 0), "user6284781860667377211");
        assert_eq!(key(&shape, 1), "user8517097267634966620");
        assert_eq!(key(&shape, 2), "user1820151046732198393");
        assert_eq!(key(&KeyShape::ycsb(true, 20), 2), "user01820151046732198393");
    }

    #[test]
    fn ordered_keys_are_padded() {
        assert_eq!(key(&KeyShape::ycsb(false, 1), 0), "user0");
        assert_eq!(key(&KeyShape::ycsb(false, 12), 4_711), "user000000004711");
        let redis_benchmarks = KeyShape { prefix: "key:".into(), digits: 12, hashed: false };
        assert_eq!(key(&redis_benchmarks, 7), "key:000000000007");
        assert_eq!(key(&redis_benchmarks, u64::MAX), "key:18446744073709551615");
        let bare = KeyShape { prefix: String::new(), digits: 0, hashed: false };
        assert_eq!(key(&bare, 0), "0");
        assert_eq!(key(&bare, 9_999), "9999");
        assert_eq!(key(&bare, 10_000), "10000");
    }
}
