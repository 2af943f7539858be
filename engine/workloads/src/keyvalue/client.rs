//! Client of a key-value load: chooses operations, keys and values, and checks the answers.
//!
//! Usage by a session or a thread:
//!
//! 1. `next` chooses an operation. `key`, `key_size`, `value`, `value_size` and `number` refer to its keys by
//!    index, until the next call of `next`.
//! 2. Several operations may be pending; they are answered in order. `check_answer` takes the result for each
//!    key of the *oldest* operation, if it reads; `check_answer_of` those of a younger one.
//! 3. `done` or `failed` ends the oldest operation; when a connection is lost, each pending one in turn.
//!
//! A read-modify-write reads first. Once the read is answered, `modify` makes `key` and `value` refer to the
//! oldest operation again, and its write follows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::command::{Command, Piece, Script};
use super::distribution::{Chooser, Distribution};
use super::key_allocator::KeyAllocator;
use super::keys::KeyShape;
use super::options::Options;
use super::values::{IntegrityError, LOADED, ValueShape, parse_header};
use super::versions::{KeyState, VersionTracker};
use loadcell_core::error::{Failure, SpecError};
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId, Operation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Get,
    Set,
    MultiGet,
    MultiSet,
    Delete,
    /// A `Set` of a new key.
    Insert,
    /// A range read in key order.
    Scan,
    ReadModifyWrite,
    /// The command with this index in [`Clients::commands`].
    Command(usize),
}

/// In the order of [`super::options::Mix::shares`].
pub const OP_KINDS: [OpKind; 8] = [
    OpKind::Get,
    OpKind::Set,
    OpKind::MultiGet,
    OpKind::MultiSet,
    OpKind::Delete,
    OpKind::Insert,
    OpKind::Scan,
    OpKind::ReadModifyWrite,
];

impl OpKind {
    fn operation(self, commands: &[Command]) -> Operation {
        let (name, kind) = match self {
            Self::Get => ("get", Kind::Read),
            Self::Set => ("set", Kind::Write),
            Self::MultiGet => ("mget", Kind::Read),
            Self::MultiSet => ("mset", Kind::Write),
            Self::Delete => ("delete", Kind::Write),
            Self::Insert => ("insert", Kind::Write),
            Self::Scan => ("scan", Kind::Read),
            Self::ReadModifyWrite => ("read_modify_write", Kind::Write),
            Self::Command(at) => (commands[at].name, commands[at].kind),
        };
        Operation { name, kind }
    }

    /// True if it detects missing keys.
    fn misses(self) -> bool {
        matches!(self, Self::Get | Self::MultiGet | Self::ReadModifyWrite)
    }

    fn reads(self) -> bool {
        self.misses() || self == Self::Scan
    }

    fn writes(self) -> bool {
        matches!(self, Self::Set | Self::MultiSet | Self::Delete | Self::Insert | Self::ReadModifyWrite)
    }
}

/// One operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvOperation {
    /// Id of its record besides the transaction.
    pub op: OpId,
    pub kind: Kind,
    pub op_kind: OpKind,
    /// Number of keys.
    pub keys: usize,
    /// Row limit of a scan.
    pub rows: u64,
}

/// Shared state of a load's clients.
pub struct Clients {
    operations: Vec<Operation>,
    plan: Arc<Plan>,
    seed: u64,
}

struct Plan {
    /// Operations with cumulative shares, normalised to 1.
    choices: Vec<(f64, KvOperation)>,
    missed: Option<OpId>,
    commands: Vec<Command>,
    distribution: Distribution,
    keys: KeyShape,
    values: ValueShape,
    multi: usize,
    rows: (u64, u64),
    items: u64,
    clients: u32,
    /// Present if keys are inserted.
    allocator: Option<KeyAllocator>,
    /// Present if answers are verified.
    versions: Option<VersionTracker>,
}

impl Clients {
    /// State for `clients` clients, whose random numbers derive from `seed`.
    pub fn new(options: &Options, seed: u64, clients: u32) -> Result<Self, SpecError> {
        options.check_clients(clients)?;
        let commands = options.commands()?;
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let shares = options.mix.shares();
        let op_kinds = OP_KINDS.into_iter().zip(shares);
        let of_commands =
            options.commands.values().enumerate().map(|(at, option)| (OpKind::Command(at), option.share));
        let active: Vec<_> = op_kinds.chain(of_commands).filter(|(_, share)| *share > 0.0).collect();
        let total: f64 = active.iter().map(|(_, share)| share).sum();
        let (mut choices, mut upto) = (Vec::new(), 0.0);
        for &(op_kind, share) in &active {
            let operation = op_kind.operation(&commands);
            upto += share / total;
            let keys = match op_kind {
                OpKind::MultiGet | OpKind::MultiSet => options.multi as usize,
                _ => 1,
            };
            let op = OpId(operations.len() as u16);
            choices.push((upto, KvOperation { op, kind: operation.kind, op_kind, keys, rows: 0 }));
            operations.push(operation);
        }
        let missed = active.iter().any(|(op_kind, _)| op_kind.misses()).then(|| {
            operations.push(Operation { name: "missed", kind: Kind::Outcome });
            OpId(operations.len() as u16 - 1)
        });
        let there = if options.load { options.keys } else { 0 };
        let plan = Plan {
            missed,
            commands,
            distribution: options.distribution(),
            keys: options.key_shape(),
            values: options.value_shape(),
            multi: options.multi as usize,
            rows: options.rows(),
            items: options.keys,
            clients,
            allocator: active
                .iter()
                .any(|(op_kind, _)| *op_kind == OpKind::Insert)
                .then(|| KeyAllocator::new(options.keys)),
            versions: options.verify.then(|| VersionTracker::new(there)),
            choices,
        };
        Ok(Self { operations, plan: Arc::new(plan), seed })
    }

    /// The transaction, then one for each kind and command of the mix; last, if keys are read, the outcome
    /// that a key was missing (`missed`).
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// True if nothing is written, so that operations do not affect each other.
    pub fn only_read(&self) -> bool {
        self.plan
            .choices
            .iter()
            .all(|(_, operation)| matches!(operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::Scan))
    }

    /// Scripts that commands of the mix call.
    pub fn scripts(&self) -> Vec<Arc<Script>> {
        let of = |operation: &KvOperation| match operation.op_kind {
            OpKind::Command(at) => self.plan.commands[at].script.clone(),
            _ => None,
        };
        self.plan.choices.iter().filter_map(|(_, operation)| of(operation)).collect()
    }

    /// Client number `client`, with its own random stream.
    pub fn client(&self, client: u32) -> Client {
        let plan = self.plan.clone();
        Client {
            random: Random::stream(self.seed, client.into()),
            chooser: Chooser::of_client(&plan.distribution, plan.items, client, plan.clients),
            number: client,
            pending: VecDeque::new(),
            accesses: VecDeque::with_capacity(plan.multi),
            at: 0,
            plan,
        }
    }
}

/// One client.
pub struct Client {
    plan: Arc<Plan>,
    random: Random,
    chooser: Chooser,
    number: u32,
    /// Operations not yet answered, the oldest first.
    pending: VecDeque<Pending>,
    /// Their keys, in sequence.
    accesses: VecDeque<KeyAccess>,
    /// Index in `accesses` of the current operation's first key.
    at: usize,
}

struct Pending {
    operation: KvOperation,
    missed: bool,
}

/// A key of an operation.
struct KeyAccess {
    number: u64,
    size: u64,
    version: u32,
    /// State of the key when the operation was chosen; only if answers are verified.
    state: Option<KeyState>,
}

impl Client {
    /// Choose the next operation. Never ends.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is not to be looped over")]
    #[inline]
    pub fn next(&mut self) -> KvOperation {
        let mut operation = self.choose();
        if operation.op_kind == OpKind::Scan {
            let (fewest, most) = self.plan.rows;
            operation.rows = self.random.uniform(fewest, most);
        }
        self.at = self.accesses.len();
        for _ in 0..operation.keys {
            let accesses = self.access(operation.op_kind);
            self.accesses.push_back(accesses);
        }
        self.pending.push_back(Pending { operation, missed: false });
        operation
    }

    #[inline]
    fn choose(&mut self) -> KvOperation {
        self.random.choose(&self.plan.choices)
    }

    #[inline]
    fn access(&mut self, op_kind: OpKind) -> KeyAccess {
        let plan = &*self.plan;
        let items = plan.allocator.as_ref().map_or(plan.items, KeyAllocator::items);
        let number = match (op_kind, &plan.allocator) {
            (OpKind::Insert, Some(allocator)) => allocator.allocate(),
            _ => self.chooser.draw(&mut self.random, items),
        };
        let valued = match op_kind {
            OpKind::Command(at) => plan.commands[at].has(&Piece::Value),
            OpKind::Delete => false,
            _ => op_kind.writes(),
        };
        let size = if valued { plan.values.draw_size(&mut self.random) } else { 0 };
        match &plan.versions {
            None => KeyAccess { number, size, version: LOADED, state: None },
            Some(versions) => {
                let number = if op_kind.writes() && op_kind != OpKind::Insert {
                    self.writable_key(number, items)
                } else {
                    number
                };
                let state = Some(versions.state(number));
                let version = match op_kind {
                    OpKind::Delete => versions.begin_delete(number),
                    _ if op_kind.writes() => versions.begin_write(number),
                    _ => 0,
                };
                KeyAccess { number, size, version, state }
            }
        }
    }

    /// This client's key nearest to `number`: with verification, each key has a single writer.
    fn writable_key(&self, number: u64, items: u64) -> u64 {
        let clients = u64::from(self.plan.clients);
        let writable_key = number - number % clients + u64::from(self.number);
        if writable_key < items { writable_key } else { writable_key - clients }
    }

    /// Number of a key of the current operation.
    #[inline]
    pub fn number(&self, index: usize) -> u64 {
        self.accesses[self.at + index].number
    }

    /// Append a key.
    #[inline]
    pub fn key(&self, index: usize, out: &mut Vec<u8>) {
        self.plan.keys.write(self.number(index), out);
    }

    #[inline]
    pub fn key_size(&self, index: usize) -> usize {
        self.plan.keys.size(self.number(index))
    }

    /// Append the value to write to a key.
    #[inline]
    pub fn value(&mut self, index: usize, out: &mut Vec<u8>) {
        let KeyAccess { number, version, size, .. } = self.accesses[self.at + index];
        self.plan.values.write_sized(number, version, size, &mut self.random, out);
    }

    #[inline]
    pub fn value_size(&self, index: usize) -> usize {
        self.accesses[self.at + index].size as usize
    }

    /// A uniformly distributed number.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.random.uniform(low, high)
    }

    /// The command with this index.
    pub fn command(&self, at: usize) -> &Command {
        &self.plan.commands[at]
    }

    /// Return to the oldest operation, whose read is answered, for its write.
    pub fn modify(&mut self) {
        self.at = 0;
    }

    /// Check the value of a key of the oldest operation; `None` if the key is missing.
    #[inline]
    pub fn check_answer(&mut self, index: usize, value: Option<&[u8]>) -> Result<(), IntegrityError> {
        self.check_answer_of(0, index, value)
    }

    /// The same for the operation after `older` pending ones; `key` is the index over all pending keys.
    #[inline]
    pub fn check_answer_of(
        &mut self,
        older: usize,
        key: usize,
        value: Option<&[u8]>,
    ) -> Result<(), IntegrityError> {
        let Some(Pending { operation, missed }) = self.pending.get_mut(older) else { return Ok(()) };
        *missed |= value.is_none();
        let Some(versions) = &self.plan.versions else { return Ok(()) };
        match &self.accesses[key] {
            KeyAccess { number, state: Some(state), .. } if operation.op_kind.reads() => {
                versions.check_read(*number, *state, value)
            }
            _ => Ok(()),
        }
    }

    /// Check a value returned by the oldest operation, a scan. Missing or stale rows are not detected.
    #[inline]
    pub fn scanned(&self, value: &[u8]) -> Result<(), IntegrityError> {
        match self.plan.versions.is_some() && parse_header(value).is_none() {
            true => Err(IntegrityError::Corrupt),
            false => Ok(()),
        }
    }

    /// The oldest operation succeeded. Returns the operation of its outcome, if it has one.
    #[inline]
    pub fn done(&mut self) -> Option<OpId> {
        self.end(true)
    }

    /// The oldest operation failed; its effect is unknown.
    pub fn failed(&mut self) {
        self.end(false);
    }

    /// The oldest pending operation.
    #[inline]
    pub fn oldest(&self) -> Option<KvOperation> {
        self.pending.front().map(|pending| pending.operation)
    }

    /// Number of pending operations.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    #[inline]
    fn end(&mut self, well: bool) -> Option<OpId> {
        let Pending { operation: KvOperation { op_kind, keys, .. }, missed } = self.pending.pop_front()?;
        for _ in 0..keys {
            let Some(KeyAccess { number, version, .. }) = self.accesses.pop_front() else { break };
            if let (OpKind::Insert, Some(allocator)) = (op_kind, &self.plan.allocator) {
                allocator.complete(number);
            }
            if let (true, true, Some(versions)) = (well, op_kind.writes(), &self.plan.versions) {
                versions.acknowledged(number, version, op_kind == OpKind::Delete);
            }
        }
        self.at = self.at.saturating_sub(keys);
        if missed && op_kind.misses() { self.plan.missed } else { None }
    }
}

impl From<IntegrityError> for Failure {
    fn from(wrong: IntegrityError) -> Self {
        Self { code: wrong.code().into(), message: wrong.message().into() }
    }
}

/// The records loaded before a run; deterministic.
pub struct Data {
    pub count: u64,
    keys: KeyShape,
    values: ValueShape,
    seed: u64,
}

impl Data {
    pub fn new(options: &Options, seed: u64) -> Self {
        let count = if options.load { options.keys } else { 0 };
        Self { count, keys: options.key_shape(), values: options.value_shape(), seed }
    }

    /// Append the key of record `number`.
    pub fn key(&self, number: u64, out: &mut Vec<u8>) {
        self.keys.write(number, out);
    }

    /// Append its value.
    pub fn value(&self, number: u64, out: &mut Vec<u8>) {
        self.values.write(number, LOADED, &mut Random::stream(self.seed, number), out);
    }
}
