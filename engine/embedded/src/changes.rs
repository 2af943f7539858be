//! Write batches.

use std::ops::Range;

use super::shard::shard;

/// Changes in order. Reusable without allocation.
#[derive(Default)]
pub struct Changes {
    bytes: Vec<u8>,
    list: Vec<Entry>,
}

struct Entry {
    file: usize,
    key: Range<usize>,
    /// None: remove the key.
    value: Option<Range<usize>>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'c> {
    pub file: usize,
    pub key: &'c [u8],
    /// None: remove the key.
    pub value: Option<&'c [u8]>,
}

impl Changes {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Total size of the keys and values in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Set the key written by `key` to the value written by `value`, in a store of `files` files.
    #[inline]
    pub fn put(&mut self, files: usize, key: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        self.remove(files, key);
        self.set_value(value);
    }

    /// Remove the key written by `key`.
    #[inline]
    pub fn remove(&mut self, files: usize, key: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        key(&mut self.bytes);
        let file = shard(&self.bytes[start..], files);
        self.list.push(Entry { file, key: start..self.bytes.len(), value: None });
    }

    /// Turn the last removal into a write of the value written by `value`.
    #[inline]
    pub fn set_value(&mut self, value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        value(&mut self.bytes);
        if let Some(last) = self.list.last_mut() {
            last.value = Some(start..self.bytes.len());
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Change<'_>> + Clone {
        self.list.iter().map(|entry| Change {
            file: entry.file,
            key: &self.bytes[entry.key.clone()],
            value: entry.value.clone().map(|range| &self.bytes[range]),
        })
    }

    /// Changes grouped by file, in order of the files.
    pub fn by_file(&self, files: usize) -> impl Iterator<Item = (usize, impl Iterator<Item = Change<'_>>)> {
        let touched = (0..files).filter(|file| self.list.iter().any(|entry| entry.file == *file));
        touched.map(|file| (file, self.iter().filter(move |change| change.file == file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_their_order_and_file() {
        let mut changes = Changes::default();
        for round in 0..2 {
            changes.clear();
            for number in 0..20u8 {
                changes.put(4, |out| out.push(number), |out| out.extend([number; 3]));
            }
            changes.remove(4, |out| out.push(7));
            assert_eq!((changes.len(), changes.size()), (21, 20 * 4 + 1), "round {round}");
            let seventh = changes.iter().nth(7).unwrap();
            assert_eq!((seventh.key, seventh.value), (&[7][..], Some(&[7, 7, 7][..])));
            let groups: Vec<_> = changes
                .by_file(4)
                .map(|(file, changes_of_file)| (file, changes_of_file.collect::<Vec<_>>()))
                .collect();
            assert_eq!(groups.iter().map(|(_, changes_of_file)| changes_of_file.len()).sum::<usize>(), 21);
            let home = &groups.iter().find(|(file, _)| *file == seventh.file).unwrap().1;
            let of_seven: Vec<_> =
                home.iter().filter(|change| change.key == [7]).map(|change| change.value).collect();
            assert_eq!(of_seven, [Some(&[7, 7, 7][..]), None]);
        }
    }
}
