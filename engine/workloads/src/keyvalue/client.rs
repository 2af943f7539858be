//! One client of a key-value load: what it does next, to which keys, with which values; and whether the answers are right.
//!
//! How a session or a thread uses it:
//!
//! 1. `next` chooses an action. `key`, `key_size`, `value`, `value_size` and `number` speak of its keys, by their place in it,
//!    until the next `next`.
//! 2. Any number of actions may be chosen before the first is answered; answers come in the same order. `complete` takes what
//!    each key of the *oldest* action gave, where it reads; `check_answer_of` what those of a younger one did.
//! 3. `done` or `failed` ends the oldest action; when a connection is lost, that of all there are.
//!
//! Of a read-modify-write the read comes first; when it was answered, `modify` makes `key` and `value` speak of the oldest action
//! again, and its writing follows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::command::{Command, Piece};
use super::distribution::{Chooser, Distribution};
use super::key_allocator::KeyAllocator;
use super::keys::KeyShape;
use super::options::Options;
use super::values::{IntegrityError, LOADED, ValueShape, opened};
use super::versions::{Known, VersionTracker};
use loadcell_core::error::Failure;
use loadcell_core::error::Problem;
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId, Operation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Get,
    Set,
    MultiGet,
    MultiSet,
    Delete,
    /// A `Set` of a key that was not there.
    Insert,
    /// Rows in the order of keys, from a key on.
    Scan,
    ReadModifyWrite,
    /// The one of that number in [`Clients::commands`].
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

    /// Whether it says of a key that it is not there.
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

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvOperation {
    /// What it counts as besides the transaction.
    pub op: OpId,
    pub kind: Kind,
    pub op_kind: OpKind,
    /// How many keys it is about.
    pub keys: usize,
    /// Of a scan: the most rows it asks for.
    pub rows: u64,
}

/// The operations of a load: the transaction, then one for each verb and command that the mix has; last, where keys are
/// read, the outcome that some key was not there (`missed`).
pub fn operations(options: &Options) -> Result<Vec<Operation>, Problem> {
    Ok(Clients::new(options, 0, 1)?.operations)
}

/// What the clients of a load share.
pub struct Clients {
    operations: Vec<Operation>,
    plan: Arc<Plan>,
    seed: u64,
}

struct Plan {
    /// With each the sum of its share and those before it, where all shares sum up to 1.
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
    /// When keys are inserted.
    allocator: Option<KeyAllocator>,
    /// When answers are verified.
    versions: Option<VersionTracker>,
}

impl Clients {
    /// For `clients` clients, whose random numbers come from `seed`.
    pub fn new(options: &Options, seed: u64, clients: u32) -> Result<Self, Problem> {
        options.check_clients(clients)?;
        let commands = options.commands()?;
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let shares = options.mix().shares();
        let op_kinds = OP_KINDS.into_iter().zip(shares);
        let of_commands =
            options.commands.values().enumerate().map(|(at, one)| (OpKind::Command(at), one.share));
        let wanted: Vec<_> = op_kinds.chain(of_commands).filter(|(_, share)| *share > 0.0).collect();
        let whole: f64 = wanted.iter().map(|(_, share)| share).sum();
        let (mut choices, mut upto) = (Vec::new(), 0.0);
        for &(op_kind, share) in &wanted {
            let operation = op_kind.operation(&commands);
            upto += share / whole;
            let keys = match op_kind {
                OpKind::MultiGet | OpKind::MultiSet => options.multi as usize,
                _ => 1,
            };
            let op = OpId(operations.len() as u16);
            choices.push((upto, KvOperation { op, kind: operation.kind, op_kind, keys, rows: 0 }));
            operations.push(operation);
        }
        let missed = wanted.iter().any(|(op_kind, _)| op_kind.misses()).then(|| {
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
            allocator: wanted
                .iter()
                .any(|(op_kind, _)| *op_kind == OpKind::Insert)
                .then(|| KeyAllocator::new(options.keys)),
            versions: options.verify.then(|| VersionTracker::new(there)),
            choices,
        };
        Ok(Self { operations, plan: Arc::new(plan), seed })
    }

    /// The transaction first.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub fn commands(&self) -> &[Command] {
        &self.plan.commands
    }

    /// Whether nothing is written, so that what an action comes to does not bear on any other.
    pub fn only_read(&self) -> bool {
        self.plan
            .choices
            .iter()
            .all(|(_, operation)| matches!(operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::Scan))
    }

    /// Client number `client`, with its own random numbers.
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
    /// Actions that are not over, the oldest first.
    pending: VecDeque<Pending>,
    /// Their keys, one after the other.
    accesses: VecDeque<KeyAccess>,
    /// Where in `accesses` the keys start that are spoken of.
    at: usize,
}

struct Pending {
    operation: KvOperation,
    missed: bool,
}

/// A key of an action.
struct KeyAccess {
    number: u64,
    size: u64,
    version: u32,
    /// When the action was chosen. Only if answers are verified.
    known: Option<Known>,
}

impl Client {
    /// Chooses the next action. There is always one.
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
        let choices = &self.plan.choices;
        let (last, others) = choices.split_last().expect("a mix has something to do: it was checked");
        if others.is_empty() {
            return last.1;
        }
        let drawn = self.random.unit();
        others.iter().find(|(upto, _)| drawn < *upto).unwrap_or(last).1
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
            None => KeyAccess { number, size, version: LOADED, known: None },
            Some(versions) => {
                let number = if op_kind.writes() && op_kind != OpKind::Insert {
                    self.own(number, items)
                } else {
                    number
                };
                let known = Some(versions.known(number));
                let version = match op_kind {
                    OpKind::Delete => versions.deleting(number),
                    _ if op_kind.writes() => versions.writing(number),
                    _ => 0,
                };
                KeyAccess { number, size, version, known }
            }
        }
    }

    /// The key of its own that is next to `number`: with verification, each key has one writer.
    fn own(&self, number: u64, items: u64) -> u64 {
        let clients = u64::from(self.plan.clients);
        let own = number - number % clients + u64::from(self.number);
        if own < items { own } else { own - clients }
    }

    /// The number of a key of the action spoken of.
    #[inline]
    pub fn number(&self, place: usize) -> u64 {
        self.accesses[self.at + place].number
    }

    /// Appends the name of a key.
    #[inline]
    pub fn key(&self, place: usize, out: &mut Vec<u8>) {
        self.plan.keys.write(self.number(place), out);
    }

    #[inline]
    pub fn key_size(&self, place: usize) -> usize {
        self.plan.keys.size(self.number(place))
    }

    /// Appends the value that a key gets.
    #[inline]
    pub fn value(&mut self, place: usize, out: &mut Vec<u8>) {
        let KeyAccess { number, version, size, .. } = self.accesses[self.at + place];
        self.plan.values.write_sized(number, version, size, &mut self.random, out);
    }

    #[inline]
    pub fn value_size(&self, place: usize) -> usize {
        self.accesses[self.at + place].size as usize
    }

    /// A number of this client's own choice, each equally likely.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.random.uniform(low, high)
    }

    /// The command of that number.
    pub fn command(&self, at: usize) -> &Command {
        &self.plan.commands[at]
    }

    /// The oldest action was told what it reads, and goes on to write: it is spoken of again.
    pub fn modify(&mut self) {
        self.at = 0;
    }

    /// What a key of the oldest action gave: its value, or none where there is none.
    #[inline]
    pub fn check_answer(&mut self, place: usize, value: Option<&[u8]>) -> Result<(), IntegrityError> {
        self.check_answer_of(0, place, value)
    }

    /// The same of an action that has so many `older` ones before it; `key` counts the keys of those, too.
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
            KeyAccess { number, known: Some(known), .. } if operation.op_kind.reads() => {
                versions.judge(*number, *known, value)
            }
            _ => Ok(()),
        }
    }

    /// A value that the oldest action, a scan, came upon. What is missing, or old, is not found out in this way.
    #[inline]
    pub fn scanned(&self, value: &[u8]) -> Result<(), IntegrityError> {
        match self.plan.versions.is_some() && opened(value).is_none() {
            true => Err(IntegrityError::Corrupt),
            false => Ok(()),
        }
    }

    /// The oldest action is over, with success; the operation of its outcome, where that is counted apart.
    #[inline]
    pub fn done(&mut self) -> Option<OpId> {
        self.end(true)
    }

    /// The oldest action is over, and has failed: whether it did anything is not known.
    pub fn failed(&mut self) {
        self.end(false);
    }

    /// The oldest action that is not over.
    #[inline]
    pub fn oldest(&self) -> Option<KvOperation> {
        self.pending.front().map(|pending| pending.operation)
    }

    /// Actions that are not over.
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

/// The records that are there before a load: the same in every run.
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

    /// Appends the key of record `number`.
    pub fn key(&self, number: u64, out: &mut Vec<u8>) {
        self.keys.write(number, out);
    }

    pub fn key_size(&self, number: u64) -> usize {
        self.keys.size(number)
    }

    /// Appends its value.
    pub fn value(&self, number: u64, out: &mut Vec<u8>) {
        self.values.write(number, LOADED, &mut Random::stream(self.seed, number), out);
    }
}
