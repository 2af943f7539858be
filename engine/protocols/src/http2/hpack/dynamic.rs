//! Dynamic table of HPACK (RFC 7541, sections 2.3.2 and 4): the newest fields, evicted in order of age.

use std::collections::VecDeque;

/// Size of an entry beyond its name and value, in bytes.
pub const OVERHEAD: usize = 32;

/// Fields, the newest first. Their bytes lie in one buffer, so that insertion and eviction allocate nothing.
pub struct Dynamic {
    fields: VecDeque<Field>,
    octets: Vec<u8>,
    size: usize,
    limit: usize,
}

/// Position of a field's bytes: the name, followed by the value.
#[derive(Clone, Copy)]
struct Field {
    at: usize,
    name: usize,
    value: usize,
}

impl Field {
    fn size(&self) -> usize {
        self.name + self.value + OVERHEAD
    }
}

impl Dynamic {
    pub fn new(limit: usize) -> Self {
        Self { fields: VecDeque::new(), octets: Vec::new(), size: 0, limit }
    }

    /// The field that is `nth` before the newest.
    pub fn get(&self, nth: usize) -> Option<(&[u8], &[u8])> {
        let field = self.fields.get(nth)?;
        let octets = &self.octets[field.at..];
        Some((&octets[..field.name], &octets[field.name..field.name + field.value]))
    }

    /// Set the size limit in bytes.
    pub fn resize(&mut self, limit: usize) {
        self.limit = limit;
        self.make_room(0);
    }

    /// Insert a field. One that exceeds the limit empties the table and is not stored.
    pub fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + OVERHEAD;
        self.make_room(size);
        if size > self.limit {
            return;
        }
        self.tidy();
        self.fields.push_front(Field { at: self.octets.len(), name: name.len(), value: value.len() });
        self.octets.extend_from_slice(name);
        self.octets.extend_from_slice(value);
        self.size += size;
    }

    fn make_room(&mut self, size: usize) {
        while self.size + size > self.limit
            && let Some(field) = self.fields.pop_back()
        {
            self.size -= field.size();
        }
    }

    /// Compact the buffer once evicted bytes reach the size limit.
    fn tidy(&mut self) {
        let dead = self.fields.back().map_or(self.octets.len(), |oldest| oldest.at);
        if dead >= self.limit {
            self.octets.drain(..dead);
            self.fields.iter_mut().for_each(|field| field.at -= dead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entries_are_evicted() {
        let mut table = Dynamic::new(3 * (OVERHEAD + 4));
        for number in 0..100 {
            let value = format!("{number:02}");
            table.insert(b"no", value.as_bytes());
            for back in 0..=number.min(2) {
                let expected = format!("{:02}", number - back);
                assert_eq!(table.get(back), Some((&b"no"[..], expected.as_bytes())));
            }
            assert_eq!(table.get(3), None);
            assert!(table.octets.len() <= 2 * table.limit, "what is forgotten goes");
        }
        table.resize(OVERHEAD + 4);
        assert_eq!((table.get(0), table.get(1)), (Some((&b"no"[..], &b"99"[..])), None));
        table.insert(b"long", b"value");
        assert_eq!(table.get(0), None, "larger than the table");
        table.insert(b"a", b"b");
        assert_eq!(table.get(0), Some((&b"a"[..], &b"b"[..])));
        table.resize(0);
        assert_eq!((table.get(0), table.size), (None, 0));
    }
}
