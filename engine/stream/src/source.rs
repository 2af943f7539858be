//! Sources of records, one for each connection.

use std::sync::Arc;

use loadcell_core::error::Failure;

use super::batch::{BATCH_BYTES, Batch};
use super::layout::{Draws, Layout};
use super::lines::Lines;

/// Code of a record that exceeds the limit.
pub const FRAME: &str = "stream.frame";

/// Place of a connection among all connections of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub connection: u32,
    pub connections: u32,
}

impl Place {
    /// Number of the connection's record `index`.
    #[inline]
    pub fn number(self, index: u64) -> u64 {
        u64::from(self.connection) + index * u64::from(self.connections)
    }

    /// Index of the record `number` among those of the connection; none if it belongs to another one.
    #[inline]
    pub fn index(self, number: u64) -> Option<u64> {
        let offset = number.checked_sub(self.connection.into())?;
        let connections = u64::from(self.connections);
        if connections == 1 {
            return Some(offset);
        }
        offset.is_multiple_of(connections).then_some(offset / connections)
    }
}

/// Why a batch has fewer records than asked for, apart from its size.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next record cannot be sent, and counts as failed.
    Rejected(Failure),
    /// There are no more records.
    Ended,
    /// The source cannot continue.
    Broken(Failure),
}

/// Content of a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    pub records: u64,
    pub stop: Option<Stop>,
}

/// Source of one connection's records.
pub enum Source {
    Generated(Generator),
    Prepared(Prepared),
    File(Box<Lines>),
}

impl Source {
    /// Fills an empty batch with at most `most` records, `most` being at least 1. Without a stop there is at
    /// least one, unless a line of a file is longer than what is read at once.
    #[inline]
    pub fn fill(&mut self, most: u64, batch: &mut Batch) -> Filled {
        match self {
            Self::Generated(generator) => {
                batch.clear();
                Filled { records: generator.fill(most, batch), stop: None }
            }
            Self::Prepared(prepared) => Filled { records: prepared.fill(most, batch), stop: None },
            Self::File(lines) => lines.fill(most, batch),
        }
    }

    /// Number of records until the end of the source, as soon as that is near.
    #[inline]
    pub fn remaining(&mut self) -> Option<u64> {
        match self {
            Self::File(lines) => lines.remaining(),
            Self::Generated(_) | Self::Prepared(_) => None,
        }
    }

    /// Number of records that a batch has room for, as far as it is known.
    pub fn batch_records(&self) -> u64 {
        match self {
            Self::Generated(generator) => (BATCH_BYTES / generator.layout.longest()).max(1) as u64,
            Self::Prepared(prepared) => prepared.most,
            Self::File(_) => LINES_OF_BATCH,
        }
    }
}

/// Lines of a file that are read for one batch: as many as fit if they have 64 bytes each.
const LINES_OF_BATCH: u64 = 1024;

/// Generates records by seed.
pub struct Generator {
    layout: Arc<Layout>,
    draws: Draws,
    position: Place,
    /// Index of the next record.
    next: u64,
}

impl Generator {
    pub fn new(layout: Arc<Layout>, seed: u64, position: Place) -> Self {
        let draws = layout.draws(seed, position.connection, position.connections);
        Self { layout, draws, position, next: 0 }
    }

    /// Appends records. Returns their number.
    #[inline]
    fn fill(&mut self, most: u64, batch: &mut Batch) -> u64 {
        let longest = self.layout.longest();
        let mut count = 0;
        while count < most && (count == 0 || batch.bytes.len() + longest <= BATCH_BYTES) {
            self.append(batch);
            count += 1;
        }
        count
    }

    /// Appends the next record.
    #[inline]
    fn append(&mut self, batch: &mut Batch) {
        let number = self.position.number(self.next);
        let key = self.layout.write(number, &mut self.draws, &mut batch.bytes);
        batch.end_record();
        if self.layout.has_key() {
            batch.keys.push(key);
        }
        self.next += 1;
    }
}

/// Replays records that are generated before the load.
pub struct Prepared {
    /// Index of the next record in the batch.
    next: usize,
    /// Most records of one batch.
    most: u64,
}

impl Prepared {
    /// Generates `count` records into `batch`, repeated until whole batches can be selected.
    pub fn new(mut generator: Generator, count: u64, batch: &mut Batch) -> Self {
        batch.clear();
        (0..count.max(1)).for_each(|_| generator.append(batch));
        let set = batch.records();
        let shortest = (0..set).map(|record| batch.length(record)).min().unwrap_or(1);
        while batch.bytes.len() < 2 * BATCH_BYTES {
            (0..set).for_each(|record| batch.repeat(record));
        }
        batch.abandon();
        Self { next: 0, most: (BATCH_BYTES / shortest.max(1)) as u64 + 1 }
    }

    #[inline]
    fn fill(&mut self, most: u64, batch: &mut Batch) -> u64 {
        if self.next >= batch.records() {
            self.next = 0;
        }
        let count = batch.select(self.next, most.min(self.most));
        self.next += count as usize;
        count
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::Options;

    const PLACE: Place = Place { connection: 1, connections: 3 };

    fn generator() -> Generator {
        let section = json!({"source": {"fields": [{"name": "id", "number": {"start": 0, "step": 1}}]}});
        let options = Options::read(&loadcell_testing::section("stream", &section)).unwrap();
        Generator::new(Arc::new(Layout::new(&options, None, 1).unwrap()), 1, PLACE)
    }

    #[test]
    fn numbers_of_a_connection_are_its_own() {
        assert_eq!((0..4).map(|index| PLACE.number(index)).collect::<Vec<_>>(), [1, 4, 7, 10]);
        assert_eq!((PLACE.index(7), PLACE.index(0), PLACE.index(8)), (Some(2), None, None));
    }

    #[test]
    fn a_record_does_not_depend_on_the_batches() {
        let taken = |mosts: &[u64]| {
            let (mut source, mut batch, mut bytes) =
                (Source::Generated(generator()), Batch::default(), Vec::new());
            for &most in mosts {
                assert_eq!(source.fill(most, &mut batch), Filled { records: most, stop: None });
                bytes.extend_from_slice(batch.unsent());
            }
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(taken(&[1, 1, 3]), "1\n4\n7\n10\n13\n");
        assert_eq!(taken(&[5]), taken(&[2, 3]));
    }

    #[test]
    fn prepared_records_are_replayed_in_their_order() {
        let mut batch = Batch::default();
        let mut source = Source::Prepared(Prepared::new(generator(), 3, &mut batch));
        let mut bytes = Vec::new();
        for _ in 0..5 {
            assert_eq!(source.fill(2, &mut batch).records, 2);
            bytes.extend_from_slice(batch.unsent());
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), "1\n4\n7\n".repeat(4)[..20]);
        // A whole batch is filled, however few records there are, and the end of the memory is no gap.
        let most = source.fill(u64::MAX, &mut batch).records;
        assert!(batch.unsent().len() > BATCH_BYTES - 8 && most > 20_000, "{most}");
        let all: u64 = (0..1_000).map(|_| source.fill(1_000, &mut batch).records).sum();
        assert!(all > 990_000, "{all}");
    }
}
