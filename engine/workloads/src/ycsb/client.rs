//! Operations of one client, independent of the store.

use std::sync::Arc;

use super::options::{Lengths, Options, Phase, Requests};
use crate::keyvalue::distribution::{Chooser, Distribution};
use crate::keyvalue::key_allocator::KeyAllocator;
use crate::keyvalue::keys::KeyShape;
use crate::keyvalue::zipf::Gray;
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId, Operation};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// In the order of [`super::options::Proportions::each`].
const ACTS: [Act; 5] = [Act::Read, Act::Update, Act::Insert, Act::Scan, Act::ReadModifyWrite];

/// A chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub act: Act,
    /// Number of the record; its key is [`Client::key`].
    pub record: u64,
    /// The single field to read; `None`: all.
    pub read: Option<usize>,
    /// The single field to write; `None`: all.
    pub written: Option<usize>,
    /// Row limit of a scan.
    pub rows: u64,
}

/// Shared state of a load's clients.
pub struct Clients {
    shared: Arc<Shared>,
    operations: Vec<Operation>,
    seed: u64,
}

struct Shared {
    /// Operation kinds with cumulative shares, normalised to 1.
    acts: Vec<(f64, Act)>,
    /// Operation of each kind, if it occurs.
    ops: [Option<OpId>; 5],
    missed: Option<OpId>,
    distribution: Distribution,
    /// First record and initial number of records to draw from.
    start: u64,
    items: u64,
    /// Records inserted during the run are drawn, too.
    grows: bool,
    /// Number of records of the `zipfian` distribution, whether they exist yet or not.
    space: u64,
    allocator: KeyAllocator,
    keys: KeyShape,
    fields: u64,
    field_size: Length,
    scan: Length,
    read_all: bool,
    write_all: bool,
    clients: u32,
}

/// Distribution of a length.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Length {
    how: Lengths,
    least: u64,
    most: u64,
}

/// A length distribution with its state.
#[derive(Clone, Debug)]
struct Drawn {
    length: Length,
    law: Option<Gray>,
}

impl Drawn {
    fn new(length: Length) -> Self {
        let law = (length.how == Lengths::Zipfian)
            .then(|| Gray::new(super::options::THETA, length.most - length.least + 1));
        Self { length, law }
    }

    #[inline]
    fn draw(&mut self, random: &mut Random) -> u64 {
        let Length { how, least, most } = self.length;
        match (how, &mut self.law) {
            (Lengths::Constant, _) => most,
            (Lengths::Zipfian, Some(law)) => least + law.draw(random, most - least + 1),
            _ => random.uniform(least, most),
        }
    }
}

/// Generator of field values.
#[derive(Clone, Debug)]
pub struct Fields {
    size: Drawn,
}

impl Fields {
    pub fn new(options: &Options) -> Self {
        Self { size: Drawn::new(field_size(options)) }
    }

    /// Append the value of one field: printable, without characters that SQL or COPY would escape.
    #[inline]
    pub fn write(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        const OF_ONE_DRAW: u64 = 10;
        let mut remaining = self.size.draw(random);
        while remaining > 0 {
            let mut bits = random.bits();
            let count = remaining.min(OF_ONE_DRAW);
            for _ in 0..count {
                out.push(LETTERS[(bits & 63) as usize]);
                bits >>= 6;
            }
            remaining -= count;
        }
    }
}

fn field_size(options: &Options) -> Length {
    Length { how: options.fieldlengthdistribution, least: options.minfieldlength, most: options.fieldlength }
}

impl Clients {
    /// State for `clients` clients, whose random numbers derive from `seed`.
    pub fn new(options: &Options, seed: u64, clients: u32) -> Self {
        let proportions = match options.phase {
            Phase::Run => options.proportions.shares(),
            Phase::Load => {
                [("READ", 0.0), ("UPDATE", 0.0), ("INSERT", 1.0), ("SCAN", 0.0), ("READ-MODIFY-WRITE", 0.0)]
            }
        };
        let total: f64 = proportions.iter().map(|(_, share)| share).sum();
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let (mut acts, mut ops, mut upto) = (Vec::new(), [None; 5], 0.0);
        let mixed = proportions[4].1 > 0.0;
        for ((at, (name, share)), act) in proportions.into_iter().enumerate().zip(ACTS) {
            // A read-modify-write is also recorded as a read and an update.
            if share == 0.0 && !(mixed && matches!(act, Act::Read | Act::Update)) {
                continue;
            }
            if share > 0.0 {
                upto += share / total;
                acts.push((upto, act));
            }
            let kind = match act {
                Act::Read | Act::Scan => Kind::Read,
                Act::Update | Act::Insert => Kind::Write,
                Act::ReadModifyWrite => Kind::Type,
            };
            ops[at] = Some(OpId(operations.len() as u16));
            operations.push(Operation { name, kind });
        }
        let missed = (ops[0].is_some() || ops[1].is_some()).then(|| {
            operations.push(Operation { name: "missed", kind: Kind::Outcome });
            OpId(operations.len() as u16 - 1)
        });
        let items = options.insertcount();
        let distribution = options.distribution();
        let space = match options.requestdistribution {
            Requests::Zipfian => items + options.expected_inserts,
            Requests::Exponential => options.recordcount,
            _ => items,
        };
        let next = match options.phase {
            Phase::Run => options.recordcount,
            Phase::Load => options.insertstart,
        };
        let shared = Shared {
            acts,
            ops,
            missed,
            distribution,
            start: options.insertstart,
            items,
            grows: matches!(options.requestdistribution, Requests::Latest | Requests::Exponential),
            space,
            allocator: KeyAllocator::new(next),
            keys: options.key_shape(),
            fields: options.fieldcount.into(),
            field_size: field_size(options),
            scan: Length {
                how: options.scanlengthdistribution,
                least: options.minscanlength,
                most: options.maxscanlength,
            },
            read_all: options.readallfields,
            write_all: options.writeallfields,
            clients,
        };
        Self { shared: Arc::new(shared), operations, seed }
    }

    /// The transaction; then the operations that occur, under YCSB's names; last the outcome that a record
    /// was missing.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Client number `client`, with its own random stream.
    pub fn client(&self, client: u32) -> Client {
        let shared = self.shared.clone();
        Client {
            random: Random::stream(self.seed, client.into()),
            keys: Chooser::of_client(&shared.distribution, shared.space, client, shared.clients),
            scan: Drawn::new(shared.scan),
            fields: Fields { size: Drawn::new(shared.field_size) },
            shared,
        }
    }
}

/// One client.
pub struct Client {
    shared: Arc<Shared>,
    pub random: Random,
    keys: Chooser,
    scan: Drawn,
    fields: Fields,
}

impl Client {
    /// Choose the next operation. Never ends. Announce the end of each insert with `inserted`.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is not to be looped over")]
    #[inline]
    pub fn next(&mut self) -> Request {
        let act = self.act();
        let record = if act == Act::Insert { self.shared.allocator.allocate() } else { self.record() };
        let all_read = self.shared.read_all || matches!(act, Act::Update | Act::Insert);
        let read = if all_read { None } else { Some(self.field()) };
        let single_field = !self.shared.write_all && matches!(act, Act::Update | Act::ReadModifyWrite);
        let written = if single_field { Some(self.field()) } else { None };
        let rows = if act == Act::Scan { self.scan.draw(&mut self.random) } else { 0 };
        Request { act, record, read, written, rows }
    }

    #[inline]
    fn act(&mut self) -> Act {
        self.random.choose(&self.shared.acts)
    }

    /// An existing record: records being inserted are not drawn.
    #[inline]
    fn record(&mut self) -> u64 {
        let shared = &*self.shared;
        let there = shared.allocator.items();
        if shared.grows {
            return self.keys.draw(&mut self.random, there.max(1));
        }
        loop {
            let drawn = shared.start + self.keys.draw(&mut self.random, shared.space);
            if drawn < there || shared.space <= shared.items {
                return drawn;
            }
        }
    }

    #[inline]
    fn field(&mut self) -> usize {
        self.random.below(self.shared.fields) as usize
    }

    /// Append the key of a record.
    #[inline]
    pub fn key(&self, record: u64, out: &mut Vec<u8>) {
        self.shared.keys.write(record, out);
    }

    /// Append the value of one field.
    #[inline]
    pub fn value(&mut self, out: &mut Vec<u8>) {
        self.fields.write(&mut self.random, out);
    }

    /// Number of fields of a record.
    pub fn fields(&self) -> usize {
        self.shared.fields as usize
    }

    /// The insert of this record is complete, successful or not: from now on it is drawn.
    pub fn inserted(&self, record: u64) {
        self.shared.allocator.complete(record);
    }

    /// Operation of a kind.
    #[inline]
    pub fn op(&self, act: Act) -> OpId {
        self.shared.ops[act as usize].unwrap_or(loadcell_core::record::TRANSACTION)
    }

    /// Outcome that a record was missing.
    pub fn missed(&self) -> Option<OpId> {
        self.shared.missed
    }
}
