//! What a thread does in one of the store's transactions: the actions that its client chose, ready to be carried out.
//!
//! Of several actions all that is read is read first, and then all that is written is written at once: a read does not see what is
//! written beside it.

use std::ops::Range;

use super::{Changes, Fault, Handle, Key, merge, shard};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_workloads::keyvalue::{Client, IntegrityError, KvOperation, OpKind};

/// An action, and how it went.
pub struct BatchEntry {
    pub operation: KvOperation,
    /// When it should have been started.
    pub intended: Nanos,
    pub outcome: Result<(), Failure>,
    /// Its keys among those that are read.
    keys: Range<usize>,
}

impl BatchEntry {
    fn writes(&self) -> bool {
        !matches!(self.operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::Scan)
    }

    /// Keys that it writes.
    pub fn written(&self) -> usize {
        if self.writes() { self.operation.keys } else { 0 }
    }
}

/// Filled and emptied again it allocates nothing.
pub struct Batch {
    files: usize,
    pub list: Vec<BatchEntry>,
    keys: Keys,
    changes: Changes,
    /// What was read of several actions, as those are answered one after the other.
    shown: Shown,
}

/// Keys to be read.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    places: Vec<(usize, Range<usize>)>,
}

impl Keys {
    #[inline]
    fn at(&self, place: usize) -> Key<'_> {
        let (file, range) = &self.places[place];
        Key { file: *file, bytes: &self.bytes[range.clone()] }
    }
}

/// Copies of values, one for each key.
#[derive(Default)]
struct Shown {
    bytes: Vec<u8>,
    places: Vec<Option<Range<usize>>>,
}

impl Shown {
    fn put(&mut self, value: Option<&[u8]>) {
        let place = value.map(|value| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            start..self.bytes.len()
        });
        self.places.push(place);
    }
}

impl Batch {
    /// In a store of so many files.
    pub fn new(files: usize) -> Self {
        let (keys, shown) = (Keys::default(), Shown::default());
        Self { files, list: Vec::new(), keys, changes: Changes::default(), shown }
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.keys.bytes.clear();
        self.keys.places.clear();
        self.changes.clear();
    }

    /// Has the client choose one more action.
    #[inline]
    pub fn choose(&mut self, client: &mut Client, intended: Nanos) {
        let operation = client.next();
        let first = self.keys.places.len();
        let reads = matches!(
            operation.op_kind,
            OpKind::Get | OpKind::MultiGet | OpKind::Scan | OpKind::ReadModifyWrite
        );
        for place in 0..operation.keys {
            if reads {
                let start = self.keys.bytes.len();
                client.key(place, &mut self.keys.bytes);
                let range = start..self.keys.bytes.len();
                self.keys.places.push((shard(&self.keys.bytes[range.clone()], self.files), range));
            }
            match operation.op_kind {
                OpKind::Get | OpKind::MultiGet | OpKind::Scan | OpKind::Command(_) => {}
                OpKind::Delete => self.changes.remove(self.files, |out| client.key(place, out)),
                OpKind::Set | OpKind::MultiSet | OpKind::Insert | OpKind::ReadModifyWrite => {
                    self.changes.remove(self.files, |out| client.key(place, out));
                    self.changes.give(|out| client.value(place, out));
                }
            }
        }
        let keys = first..self.keys.places.len();
        self.list.push(BatchEntry { operation, intended, outcome: Ok(()), keys });
    }

    /// Carries all of it out; whether the store can be used any longer.
    #[inline]
    pub fn execute(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        match &self.list[..] {
            [_] => self.carry_out_one(handle, client),
            _ => self.carry_out_several(handle, client),
        }
    }

    /// One by itself.
    #[inline]
    fn carry_out_one(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        let read = self.read(0, 0, handle, client);
        let entry = &mut self.list[0];
        let judged = match read {
            Ok(judged) => judged,
            Err(fault) => return failed(std::slice::from_mut(entry), |_| true, fault),
        };
        if !self.changes.is_empty()
            && let Err(fault) = handle.write(&self.changes)
        {
            return failed(std::slice::from_mut(entry), |_| true, fault);
        }
        if let Err(wrong) = judged {
            entry.outcome = Err(wrong.into());
        }
        Ok(())
    }

    /// One of several that only read, of which those from `oldest` on are in progress, by itself.
    #[inline]
    pub fn carry_out_read(
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

    /// What an action reads is looked at where it lies; those from `oldest` on are in progress.
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
                let (mut place, mut judged) = (first - others, Ok(()));
                let read = handle.multi_get(entry.keys.clone().map(|place| keys.at(place)), |value| {
                    judged = judged.and(client.check_answer_of(older, place, value));
                    place += 1;
                });
                read.map(|()| judged)
            }
            OpKind::Scan => scan(handle, self.files, keys.at(first).bytes, entry.operation.rows, client),
            _ => Ok(Ok(())),
        }
    }

    fn carry_out_several(&mut self, handle: &mut impl Handle, client: &mut Client) -> Result<(), Fault> {
        let Self { files, list, keys, changes, shown } = self;
        shown.bytes.clear();
        shown.places.clear();
        let mut usable = Ok(());
        for entry in list.iter_mut().filter(|entry| entry.operation.op_kind == OpKind::Scan) {
            match scan(handle, *files, keys.at(entry.keys.start).bytes, entry.operation.rows, client) {
                Ok(judged) => entry.outcome = judged.map_err(Failure::from),
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
            .map(|place| keys.at(place));
        if wanted.clone().next().is_some()
            && let Err(fault) = handle.multi_get(wanted, |value| shown.put(value))
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

    /// Tells the client what the oldest action came to, and takes it off: with what it should count as, if it went well.
    #[inline]
    pub fn judge(&mut self, at: usize, next: &mut usize, client: &mut Client) {
        if self.list.len() == 1 {
            return; // It has been told already.
        }
        let entry = &mut self.list[at];
        if !matches!(entry.operation.op_kind, OpKind::Get | OpKind::MultiGet | OpKind::ReadModifyWrite) {
            return;
        }
        for place in 0..entry.keys.len() {
            if let (Ok(()), Some(found)) = (&entry.outcome, self.shown.places.get(*next)) {
                let value = found.clone().map(|range| &self.shown.bytes[range]);
                if let Err(wrong) = client.check_answer(place, value) {
                    entry.outcome = Err(wrong.into());
                }
            }
            *next += 1;
        }
    }
}

/// A scan, and whether what it came upon is right.
fn scan(
    handle: &mut impl Handle,
    files: usize,
    from: &[u8],
    rows: u64,
    client: &Client,
) -> Result<Result<(), IntegrityError>, Fault> {
    let mut judged = Ok(());
    let limit = usize::try_from(rows).unwrap_or(usize::MAX);
    merge(handle, files, from, limit, |_, value| judged = judged.and(client.scanned(value)))?;
    Ok(judged)
}

/// Some actions failed, together.
#[cold]
fn failed(batch: &mut [BatchEntry], which: impl Fn(&BatchEntry) -> bool, fault: Fault) -> Result<(), Fault> {
    for entry in batch.iter_mut().filter(|entry| which(entry)) {
        entry.outcome = Err(fault.failure());
    }
    if fault.fatal { Err(fault) } else { Ok(()) }
}
