//! Records that are sent together.

use std::ops::Range;

/// Most bytes of a batch, unless a single record is longer: one call of the kernel takes all of them where
/// the socket has room.
pub const BATCH_BYTES: usize = 64 << 10;

/// Records in their frames, and the place up to which the kernel has taken them.
///
/// A source either clears the batch and appends records, or replays a range of records that stay in it.
#[derive(Debug, Default)]
pub struct Batch {
    pub bytes: Vec<u8>,
    /// End of each record in `bytes`.
    ends: Vec<usize>,
    /// Hash of each record's key, where keys are compared.
    pub keys: Vec<u64>,
    /// Records that the kernel has not taken completely.
    open: Range<usize>,
    /// First byte that the kernel has not taken.
    sent: usize,
}

impl Batch {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.keys.clear();
        (self.open, self.sent) = (0..0, 0);
    }

    /// Ends the record whose bytes have been appended.
    #[inline]
    pub fn end_record(&mut self) {
        self.ends.push(self.bytes.len());
        self.open.end += 1;
    }

    /// Appends a copy of a record.
    pub fn repeat(&mut self, record: usize) {
        self.bytes.extend_from_within(self.start_of(record)..self.ends[record]);
        self.end_record();
    }

    /// Bytes of a record.
    pub fn length(&self, record: usize) -> usize {
        self.ends[record] - self.start_of(record)
    }

    /// Number of records in memory, whether they are to be sent or not.
    pub fn records(&self) -> usize {
        self.ends.len()
    }

    /// Selects records for sending: from number `first` on at most `most`, and at most [`BATCH_BYTES`] unless
    /// the first is longer. Returns their number.
    pub fn select(&mut self, first: usize, most: u64) -> u64 {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.ends.len() - first);
        let start = self.start_of(first);
        let within = self.ends[first..first + most].partition_point(|end| end - start <= BATCH_BYTES);
        let count = within.max(1).min(most);
        (self.open, self.sent) = (first..first + count, start);
        count as u64
    }

    fn start_of(&self, record: usize) -> usize {
        if record == 0 { 0 } else { self.ends[record - 1] }
    }

    /// Number of records that the kernel has not taken completely.
    pub fn open_records(&self) -> u64 {
        self.open.len() as u64
    }

    /// True if there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Bytes to send.
    #[inline]
    pub fn unsent(&self) -> &[u8] {
        match self.open.is_empty() {
            true => &[],
            false => &self.bytes[self.sent..self.ends[self.open.end - 1]],
        }
    }

    /// Notes that the kernel has taken `bytes` more. Returns the number of records that it has completely by
    /// now and had not before.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> u64 {
        self.sent += bytes;
        let open = &self.ends[self.open.clone()];
        let taken = match open.last() {
            Some(&end) if end == self.sent => open.len(),
            _ => open.partition_point(|&end| end <= self.sent),
        };
        self.open.start += taken;
        taken as u64
    }

    /// Gives the unsent records up.
    pub fn abandon(&mut self) {
        self.open = self.open.end..self.open.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(lengths: &[usize]) -> Batch {
        let mut batch = Batch::default();
        for &length in lengths {
            batch.bytes.extend(std::iter::repeat_n(b'x', length));
            batch.end_record();
        }
        batch
    }

    #[test]
    fn a_record_is_taken_with_its_last_byte() {
        let mut batch = batch(&[3, 2, 4]);
        assert_eq!(batch.unsent().len(), 9);
        assert_eq!((batch.take(2), batch.take(1), batch.unsent().len()), (0, 1, 6));
        assert_eq!((batch.take(5), batch.is_empty()), (1, false));
        assert_eq!((batch.take(1), batch.is_empty(), batch.unsent().len()), (1, true, 0));
    }

    #[test]
    fn ranges_of_records_are_replayed() {
        let mut batch = batch(&[10, 20, 30]);
        batch.abandon();
        assert!(batch.is_empty());
        assert_eq!((batch.select(1, 5), batch.unsent().len()), (2, 50));
        assert_eq!((batch.take(20), batch.take(30)), (1, 1));
        assert_eq!((batch.select(0, 1), batch.unsent().len()), (1, 10));
    }

    #[test]
    fn a_batch_has_its_size_unless_one_record_is_longer() {
        let mut batch = batch(&[BATCH_BYTES / 2, BATCH_BYTES / 2, 1, BATCH_BYTES * 2]);
        assert_eq!((batch.select(0, 9), batch.select(1, 9), batch.select(3, 9)), (2, 2, 1));
        assert_eq!(batch.select(0, 1), 1);
    }
}
