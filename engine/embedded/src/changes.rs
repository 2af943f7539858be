//! What is to be written at once.

use std::ops::Range;

use super::shard::shard;

/// Changes in the order in which they are to be made. Emptied and filled again, it allocates nothing.
#[derive(Default)]
pub struct Changes {
    bytes: Vec<u8>,
    list: Vec<Place>,
}

struct Place {
    file: usize,
    key: Range<usize>,
    /// None: the key is to be removed.
    value: Option<Range<usize>>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'c> {
    pub file: usize,
    pub key: &'c [u8],
    /// None: the key is to be removed.
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

    /// How many bytes the keys and values are.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// A key, which `key` appends, gets the value that `value` appends; in a store of so many files.
    #[inline]
    pub fn put(&mut self, files: usize, key: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        self.remove(files, key);
        self.give(value);
    }

    /// A key, which `key` appends, is to be removed.
    #[inline]
    pub fn remove(&mut self, files: usize, key: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        key(&mut self.bytes);
        let file = shard(&self.bytes[start..], files);
        self.list.push(Place { file, key: start..self.bytes.len(), value: None });
    }

    /// The last key is not removed after all: it gets the value that `value` appends.
    #[inline]
    pub fn give(&mut self, value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        value(&mut self.bytes);
        if let Some(last) = self.list.last_mut() {
            last.value = Some(start..self.bytes.len());
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Change<'_>> + Clone {
        self.list.iter().map(|place| Change {
            file: place.file,
            key: &self.bytes[place.key.clone()],
            value: place.value.clone().map(|range| &self.bytes[range]),
        })
    }

    /// The files that are changed, each once, in order, with what is changed in them.
    pub fn by_file(&self, files: usize) -> impl Iterator<Item = (usize, impl Iterator<Item = Change<'_>>)> {
        let touched = (0..files).filter(|file| self.list.iter().any(|place| place.file == *file));
        touched.map(|file| (file, self.iter().filter(move |change| change.file == file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_their_order_and_know_their_files() {
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
            let found: Vec<_> =
                changes.by_file(4).map(|(file, own)| (file, own.collect::<Vec<_>>())).collect();
            assert_eq!(found.iter().map(|(_, own)| own.len()).sum::<usize>(), 21);
            let home = &found.iter().find(|(file, _)| *file == seventh.file).unwrap().1;
            let of_seven: Vec<_> =
                home.iter().filter(|change| change.key == [7]).map(|change| change.value).collect();
            assert_eq!(of_seven, [Some(&[7, 7, 7][..]), None]);
        }
    }
}
