//! Order of answers within each key.

/// Keys of a set of the table: the oldest of them gives way to a further one.
const WAYS: usize = 4;
/// Most sets of one table (16 MiB), and fewest (64 KiB).
const MOST_SETS: u32 = 1 << 18;
const FEWEST_SETS: u32 = 1 << 10;
/// Most sets of all tables of a load (256 MiB), unless each has the fewest.
const ALL_SETS: u32 = 1 << 22;

/// The highest answered record of each key, in a table of fixed size.
///
/// A key that is pushed out of the table is forgotten: a reordering of it that spans its absence is not
/// reported. In a table of 16 MiB, one of up to 16 connections, one in 300,000 of 100,000 keys is pushed out;
/// a reordering is never reported wrongly, as long as no two keys have the same 64-bit hash.
pub struct KeyOrder {
    sets: Box<[[Entry; WAYS]]>,
    /// Bits of a hash that do not select a set.
    shift: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    /// Index of the record after the highest one; 0 of an empty entry.
    after: u64,
}

impl KeyOrder {
    /// The table of one of `connections` connections.
    pub fn new(connections: u32) -> Self {
        let sets = (ALL_SETS / connections.max(1)).clamp(FEWEST_SETS, MOST_SETS);
        let bits = sets.ilog2();
        Self { sets: vec![[Entry::default(); WAYS]; 1 << bits].into_boxed_slice(), shift: 64 - bits }
    }

    /// Notes the answer for the record `index` with this key. Returns false if a later record of the key was
    /// answered before.
    #[inline]
    pub fn answer(&mut self, key: u64, index: u64) -> bool {
        // The low bits of the hash of a short key vary less than the high ones of this product (Knuth).
        let set = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        let set = &mut self.sets[set];
        if let Some(entry) = set.iter_mut().find(|entry| entry.key == key && entry.after > 0) {
            let in_order = entry.after <= index;
            entry.after = entry.after.max(index + 1);
            return in_order;
        }
        if let Some(oldest) = set.iter_mut().min_by_key(|entry| entry.after) {
            *oldest = Entry { key, after: index + 1 };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::random::Random;

    #[test]
    fn an_answer_after_that_of_a_later_record_is_out_of_order() {
        let mut order = KeyOrder::new(1);
        assert!(order.answer(7, 0) && order.answer(8, 5) && order.answer(7, 3));
        assert!(!order.answer(7, 2));
        assert!(!order.answer(7, 1) && order.answer(7, 4), "each overtaken record counts once");
        assert!(order.answer(0, 0), "a key may be hashed to 0");
        assert!(!order.answer(8, 4));
    }

    #[test]
    fn nearly_all_of_many_keys_are_kept() {
        let (mut order, mut random) = (KeyOrder::new(16), Random::stream(1, 0));
        let keys: Vec<u64> = (0..100_000).map(|_| random.bits()).collect();
        for (index, &key) in keys.iter().enumerate() {
            assert!(order.answer(key, 1 + index as u64));
        }
        let reordered =
            keys.iter().enumerate().filter(|(index, key)| !order.answer(**key, *index as u64)).count();
        assert!(reordered > 99_900, "{reordered}");
    }

    #[test]
    fn tables_of_many_connections_are_smaller() {
        let bytes = |connections| size_of_val(&*KeyOrder::new(connections).sets);
        assert_eq!((bytes(1), bytes(16), bytes(17), bytes(100)), (16 << 20, 16 << 20, 8 << 20, 2 << 20));
        assert_eq!(bytes(1_000_000), 64 << 10);
        let mut order = KeyOrder::new(1_000_000);
        assert!((0..1000).all(|key| order.answer(key, key)) && !order.answer(999, 0));
    }
}
