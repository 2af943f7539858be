//! Assignment of keys to files, and ordered scans over all files.

use super::{Fault, Handle, Key};

/// File of a key in a store of `files` files; stable across openings. FNV-1a, whose high bits depend little
/// on the last characters, followed by the finalizer of MurmurHash3 (Appleby, 2011).
#[inline]
pub fn shard(key: &[u8], files: usize) -> usize {
    if files == 1 {
        return 0;
    }
    let hash = key.iter().fold(OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((u128::from(hash ^ hash >> 33) * files as u128) >> 64) as usize
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Pass up to `limit` keys from `from` on, of all files, in order, to `show`. Returns the number of keys.
pub fn merge(
    handle: &mut impl Handle,
    files: usize,
    from: &[u8],
    limit: usize,
    mut show: impl FnMut(&[u8], &[u8]),
) -> Result<usize, Fault> {
    let mut count = 0;
    if files == 1 {
        handle.scan(Key { file: 0, bytes: from }, |key, value| {
            if count < limit {
                show(key, value);
                count += 1;
            }
            count < limit
        })?;
        return Ok(count);
    }
    // A file with `limit` keys may contain all of the results.
    let mut merged: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for file in 0..files {
        let mut remaining = limit;
        handle.scan(Key { file, bytes: from }, |key, value| {
            if remaining > 0 {
                merged.push((key.to_vec(), value.to_vec()));
                remaining -= 1;
            }
            remaining > 0
        })?;
    }
    merged.sort_unstable();
    merged.truncate(limit);
    merged.iter().for_each(|(key, value)| show(key, value));
    Ok(merged.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spread_evenly_and_reproducibly() {
        let mut counts = [0u32; 7];
        for number in 0..70_000 {
            counts[shard(format!("key{number:010}").as_bytes(), 7)] += 1;
        }
        assert!(counts.iter().all(|count| (9_000..11_000).contains(count)), "{counts:?}");
        // The assignment must stay stable for existing files.
        assert_eq!(shard(b"key0000000042", 7), 3);
        assert_eq!(shard(b"anything", 1), 0);
    }
}
