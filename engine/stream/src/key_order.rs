//! Order of answers within each key.

/// Keys of a set of the table: the oldest of them gives way to a further one.
const WAYS: usize = 4;
/// Number of sets.
const SETS: usize = 1 << 18;

/// The highest answered record of each key, in a table of fixed size (16 MiB).
///
/// A key that is pushed out of the table is forgotten: a reordering of it that spans its absence is not
/// reordered. With up to 100,000 keys one in 300,000 is pushed out at all; a reordering is never reported
/// wrongly, as long as no two keys have the same 64-bit hash.
pub struct KeyOrder {
    sets: Box<[[Entry; WAYS]]>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    /// Index of the record after the highest one; 0 of an empty entry.
    after: u64,
}

impl Default for KeyOrder {
    fn default() -> Self {
        Self { sets: vec![[Entry::default(); WAYS]; SETS].into_boxed_slice() }
    }
}

impl KeyOrder {
    /// Notes the answer for the record `index` with this key. Returns false if a later record of the key was
    /// answered before.
    #[inline]
    pub fn answer(&mut self, key: u64, index: u64) -> bool {
        // The low bits of the hash of a short key vary less than the high ones of this product (Knuth).
        let set = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46) as usize;
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
        let mut order = KeyOrder::default();
        assert!(order.answer(7, 0) && order.answer(8, 5) && order.answer(7, 3));
        assert!(!order.answer(7, 2));
        assert!(!order.answer(7, 1) && order.answer(7, 4), "each overtaken record counts once");
        assert!(order.answer(0, 0), "a key may be hashed to 0");
        assert!(!order.answer(8, 4));
    }

    #[test]
    fn nearly_all_of_many_keys_are_kept() {
        let (mut order, mut random) = (KeyOrder::default(), Random::stream(1, 0));
        let keys: Vec<u64> = (0..100_000).map(|_| random.bits()).collect();
        for (index, &key) in keys.iter().enumerate() {
            assert!(order.answer(key, 1 + index as u64));
        }
        let reordered =
            keys.iter().enumerate().filter(|(index, key)| !order.answer(**key, *index as u64)).count();
        assert!(reordered > 99_900, "{reordered}");
    }
}
