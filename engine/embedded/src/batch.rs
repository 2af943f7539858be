//! Operations of one store transaction, chosen by a client and executed together.
//!
//! All reads of a batch precede its writes: a read does not see a write of the same batch.

use std::ops::Range;

use super::{Changes, Fault, Handle, Key, merge, shard};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_workloads::keyvalue::{Client, IntegrityError, KvOperation, OpKind};

/// An operation with its outcome.
pub struct BatchEntry {
    pub operation: KvOperation,
    /// Intended start.
    pub intended: Nanos,
    pub outcome: Result<(), Failure>,
    /// Range of its keys among those to read.
    keys: Range<usize>,
}

impl BatchEntry {
    fn writes(&self) -> bool {
        !matches!(self.operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::Scan)
    }

    /// Number of keys written.
    pub fn written(&self) -> usize {
        if self.writes() { self.operation.keys } else { 0 }
    }
}

/// Reusable without allocation.
pub struct Batch {
    files: usize,
    pub list: Vec<BatchEntry>,
    keys: Keys,
    changes: Changes,
    /// Values read, retained until the operations are answered one by one.
    values: Values,
}

/// Keys to read.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    ranges: Vec<(usize, Range<usize>)>,
}

impl Keys {
    #[inline]
    fn at(&self, index: usize) -> Key<'_> {
        let (file, range) = &self.ranges[index];
        Key { file: *file, bytes: &self.bytes[range.clone()] }
    }
}

/// Copies of values, one per key.
#[derive(Default)]
struct Values {
    bytes: Vec<u8>,
    ranges: Vec<Option<Range<usize>>>,
}

impl Values {
    fn put(&mut self, value: Option<&[u8]>) {
        let index = value.map(|value| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            start..self.bytes.len()
        });
        self.ranges.push(index);
    }
}

impl Batch {
    /// For a store of `files` files.
    pub fn new(files: usize) -> Self {
        let (keys, values) = (Keys::default(), Values::default());
        Self { files, list: Vec::new(), keys, changes: Changes::default(), values }
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.keys.bytes.clear();
        self.keys.ranges.clear();
        self.changes.clear();
    }

    /// Let the client choose one more operation.
    #[inline]
    pub fn choose(&mut self, client: &mut Client, intended: Nanos) {
        let operation = client.next();
        let first = self.keys.ranges.len();
        let reads = matches!(
            operation.op_kind,
            OpKind::Get | OpKind::MultiGet | OpKind::Scan | OpKind::ReadModifyWrite
        );
        for index in 0..operation.keys {
            if reads {
                let start = self.keys.bytes.len();
                client.key(index, &mut self.keys.bytes);
                let range = start..self.keys.bytes.len();
                self.keys.ranges.push((shard(&self.keys.bytes[range.clone()], self.files), range));
            }
            match operation.op_kind {
                OpKind::Get | OpKind::MultiGet | OpKind::Scan | OpKind::Command(_) => {}
                OpKind::Delete => self.changes.remove(self.files, |out| client.key(index, out)),
                OpKind::Set | OpKind::MultiSet | OpKind::Insert | OpKind::ReadModifyWrite => {
                    self.changes.remove(self.files, |out| client.key(index, out));
                    self.changes.set_value(|out| client.value(index, out));
                }
            }
        }
        let keys = first..self.keys.ranges.len();
        self.list.push(BatchEntry { operation, intended, outcome: Ok(()), keys });
    }

    /// Execute all operations. Fails if the store is unusable from then on.
    #[inline]
    pub fn execute(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        match &self.list[..] {
            [_] => self.execute_single(handle, client),
            _ => self.execute_several(handle, client),
        }
    }

    /// Execute a single operation.
    #[inline]
    fn execute_single(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        let read = self.read(0, 0, handle, client);
        let entry = &mut self.list[0];
        let checked = match read {
            Ok(checked) => checked,
            Err(fault) => return failed(std::slice::from_mut(entry), |_| true, fault),
        };
        if !self.changes.is_empty()
            && let Err(fault) = handle.write(&self.changes)
        {
            return failed(std::slice::from_mut(entry), |_| true, fault);
        }
        if let Err(wrong) = checked {
            entry.outcome = Err(wrong.into());
        }
        Ok(())
    }

    /// Execute one of several read operations; those from `oldest` on are pending.
    #[inline]
    pub fn execute_read(
        &mut self,
        at: usize,
        oldest: usize,
        handle: &mut impl Handle,
        client: &mut Client,
    ) -> Result<(), Fault> {
        match self.read(at, oldest, handle, client) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(wrong)) => {
                self.list[at].outcome = Err(wrong.into());
                Ok(())
            }
            Err(fault) => failed(std::slice::from_mut(&mut self.list[at]), |_| true, fault),
        }
    }

    /// Check the values read by an operation in place, without copies; those from `oldest` on are pending.
    #[inline]
    fn read(
        &self,
        at: usize,
        oldest: usize,
        handle: &mut impl Handle,
        client: &mut Client,
    ) -> Result<Result<(), IntegrityError>, Fault> {
        let (keys, entry, older) = (&self.keys, &self.list[at], at - oldest);
        let (first, others) = (entry.keys.start, self.list[oldest].keys.start);
        match entry.operation.op_kind {
            OpKind::Get | OpKind::ReadModifyWrite => {
                handle.get(keys.at(first), |value| client.check_answer_of(older, first - others, value))
            }
            OpKind::MultiGet => {
                let (mut index, mut checked) = (first - others, Ok(()));
                let read = handle.multi_get(entry.keys.clone().map(|index| keys.at(index)), |value| {
                    checked = checked.and(client.check_answer_of(older, index, value));
                    index += 1;
                });
                read.map(|()| checked)
            }
            OpKind::Scan => scan(handle, self.files, keys.at(first).bytes, entry.operation.rows, client),
            _ => Ok(Ok(())),
        }
    }

    fn execute_several(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        let Self { files, list, keys, changes, values } = self;
        values.bytes.clear();
        values.ranges.clear();
        let mut usable = Ok(());
        for entry in list.iter_mut().filter(|entry| entry.operation.op_kind == OpKind::Scan) {
            match scan(handle, *files, keys.at(entry.keys.start).bytes, entry.operation.rows, client) {
                Ok(checked) => entry.outcome = checked.map_err(Failure::from),
                Err(fault) => usable = usable.and(failed(std::slice::from_mut(entry), |_| true, fault)),
            }
        }
        let gets = |entry: &BatchEntry| {
            matches!(entry.operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::ReadModifyWrite)
        };
        let wanted = list
            .iter()
            .filter(|entry| gets(entry))
            .flat_map(|entry| entry.keys.clone())
            .map(|index| keys.at(index));
        if wanted.clone().next().is_some()
            && let Err(fault) = handle.multi_get(wanted, |value| values.put(value))
        {
            usable = usable.and(failed(list, gets, fault));
        }
        if !changes.is_empty()
            && let Err(fault) = handle.write(changes)
        {
            usable = usable.and(failed(list, BatchEntry::writes, fault));
        }
        usable
    }

    /// Pass the values of the oldest operation to the client, and set its outcome.
    #[inline]
    pub fn check(&mut self, at: usize, next: &mut usize, client: &mut Client) {
        if self.list.len() == 1 {
            return; // Already checked.
        }
        let entry = &mut self.list[at];
        if !matches!(entry.operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::ReadModifyWrite) {
            return;
        }
        for index in 0..entry.keys.len() {
            if let (Ok(()), Some(range)) = (&entry.outcome, self.values.ranges.get(*next)) {
                let value = range.clone().map(|range| &self.values.bytes[range]);
                if let Err(wrong) = client.check_answer(index, value) {
                    entry.outcome = Err(wrong.into());
                }
            }
            *next += 1;
        }
    }
}

/// Run a scan and check its values.
fn scan(
    handle: &mut impl Handle,
    files: usize,
    from: &[u8],
    rows: u64,
    client: &Client,
) -> Result<Result<(), IntegrityError>, Fault> {
    let mut checked = Ok(());
    let limit = usize::try_from(rows).unwrap_or(usize::MAX);
    merge(handle, files, from, limit, |_, value| checked = checked.and(client.scanned(value)))?;
    Ok(checked)
}

/// Set the outcome of the operations for which `which` holds.
#[cold]
fn failed(batch: &mut [BatchEntry], which: impl Fn(&BatchEntry) -> bool, fault: Fault) -> Result<(), Fault> {
    for entry in batch.iter_mut().filter(|entry| which(entry)) {
        entry.outcome = Err(fault.failure());
    }
    if fault.fatal { Err(fault) } else { Ok(()) }
}
