//! YCSB client on an embedded store, like YCSB's binding for RocksDB: a record is a single value that
//! contains all fields.
//!
//! An update reads the record, replaces the fields to write, and writes the whole record. Operations are
//! executed one at a time.

use super::{Changes, Fault, Handle, Key, merge, shard};
use loadcell_core::clock::{self, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::record::{OpId, Recorder, TRANSACTION};
use loadcell_load::blocking::BlockingClient;
use loadcell_workloads::ycsb::{self, Act, Client, Request};

/// Operations of one client.
pub struct YcsbClient<H> {
    handle: H,
    client: Client,
    files: usize,
    /// The chosen operation.
    request: Option<Request>,
    due: Nanos,
    key: Vec<u8>,
    /// Encoded fields to write.
    fields: Vec<u8>,
    /// Record as read.
    old: Vec<u8>,
    changes: Changes,
    /// Start of the update of a read-modify-write, if it was reached.
    middle: Option<Nanos>,
    missed: bool,
    outcome: Result<(), Failure>,
}

impl<H: Handle> YcsbClient<H> {
    pub fn new(handle: H, client: Client, files: usize) -> Self {
        Self {
            handle,
            client,
            files,
            request: None,
            due: 0,
            key: Vec::new(),
            fields: Vec::new(),
            old: Vec::new(),
            changes: Changes::default(),
            middle: None,
            missed: false,
            outcome: Ok(()),
        }
    }

    /// Operation of the first or only part.
    fn first(&self, request: &Request) -> OpId {
        self.client.op(if request.act == Act::ReadModifyWrite { Act::Read } else { request.act })
    }

    fn combined(&self, request: &Request) -> Option<OpId> {
        (request.act == Act::ReadModifyWrite).then(|| self.client.op(Act::ReadModifyWrite))
    }

    /// Encode the fields that the request writes.
    fn prepare(&mut self, request: &Request) {
        self.fields.clear();
        let fields = match (request.act, request.written) {
            (Act::Read | Act::Scan, _) => return,
            (Act::Insert, _) | (_, None) => 0..self.client.fields(),
            (_, Some(field)) => field..field + 1,
        };
        for field in fields {
            let client = &mut self.client;
            append(field, &mut self.fields, |out| client.value(out));
        }
    }

    fn run(&mut self, request: &Request) -> Result<(), Fault> {
        match request.act {
            Act::Read => self.read(request),
            Act::Update => self.update(request),
            Act::Insert => {
                let Self { handle, changes, key, fields, .. } = self;
                changes.put(
                    self.files,
                    |out| out.extend_from_slice(key),
                    |out| out.extend_from_slice(fields),
                );
                handle.write(changes)
            }
            Act::Scan => {
                let limit = usize::try_from(request.rows).unwrap_or(usize::MAX);
                let field = request.read;
                merge(&mut self.handle, self.files, &self.key, limit, |_, value| {
                    std::hint::black_box(field.map(|field| field_range(value, field)));
                })
                .map(drop)
            }
            Act::ReadModifyWrite => {
                self.read(request)?;
                self.middle = Some(clock::now());
                self.update(request)
            }
        }
    }

    fn read(&mut self, request: &Request) -> Result<(), Fault> {
        let key = Key { file: shard(&self.key, self.files), bytes: &self.key };
        let exists = self.handle.get(key, |value| match request.read {
            Some(field) => value.is_some_and(|value| field_range(value, field).is_some()),
            None => value.is_some(),
        })?;
        self.missed |= !exists;
        Ok(())
    }

    fn update(&mut self, request: &Request) -> Result<(), Fault> {
        let Self { handle, changes, key, fields, old, .. } = self;
        let exists = handle.get(Key { file: shard(key, self.files), bytes: key }, |value| {
            old.clear();
            value.map(|value| old.extend_from_slice(value)).is_some()
        })?;
        if !exists {
            self.missed = true;
            return Ok(());
        }
        let all_fields = request.written.is_none();
        let range = request.written.and_then(|field| field_range(old, field)).unwrap_or(old.len()..old.len());
        changes.put(
            self.files,
            |out| out.extend_from_slice(key),
            |out| {
                if !all_fields {
                    out.extend_from_slice(&old[..range.start]);
                }
                out.extend_from_slice(fields);
                if !all_fields {
                    out.extend_from_slice(&old[range.end..]);
                }
            },
        );
        handle.write(changes)
    }
}

impl<H: Handle> BlockingClient for YcsbClient<H> {
    fn clear(&mut self) {
        self.request = None;
    }

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let request = self.client.next();
        (self.due, self.middle, self.missed, self.outcome) = (due, None, false, Ok(()));
        self.changes.clear();
        self.key.clear();
        self.client.key(request.record, &mut self.key);
        self.prepare(&request);
        recorder.start_single(self.first(&request), due);
        if let Some(op) = self.combined(&request) {
            recorder.start(op, due);
        }
        self.request = Some(request);
    }

    fn selected(&self) -> usize {
        usize::from(self.request.is_some())
    }

    #[inline]
    fn execute(&mut self) -> Result<(), Fault> {
        let Some(request) = self.request else { return Ok(()) };
        match self.run(&request) {
            Ok(()) => Ok(()),
            Err(fault) => {
                self.outcome = Err(fault.failure());
                if fault.fatal { Err(fault) } else { Ok(()) }
            }
        }
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Some(request) = self.request else { return };
        let (first, combined, due) = (self.first(&request), self.combined(&request), self.due);
        // The last part and its start.
        let (last, from, begun) = match self.middle {
            Some(middle) => {
                recorder.succeed(first, due, sent, middle);
                let update = self.client.op(Act::Update);
                recorder.start(update, middle);
                (update, middle, middle)
            }
            None => (first, due, sent),
        };
        match &self.outcome {
            Ok(()) => {
                recorder.succeed(last, from, begun, done);
                recorder.succeed(TRANSACTION, due, sent, done);
                if let Some(op) = combined {
                    recorder.succeed(op, due, sent, done);
                }
                if let (true, Some(op)) = (self.missed, self.client.missed()) {
                    recorder.start(op, due);
                    recorder.succeed(op, due, sent, done);
                }
                let written = self.changes.len() as u64;
                let reads = u64::from(!matches!(request.act, Act::Update | Act::Insert));
                recorder.queries(done, reads, u64::from(!matches!(request.act, Act::Read | Act::Scan)), 0);
                recorder.rows_changed(written);
            }
            Err(why) => {
                recorder.fail(last, from, begun, done, why);
                recorder.fail(TRANSACTION, due, sent, done, why);
                if let Some(op) = combined {
                    recorder.fail_without_error(op, due, done);
                }
            }
        }
        if request.act == Act::Insert {
            self.client.inserted(request.record);
        }
    }
}

/// Append the value of an initial record.
pub fn loaded(records: &ycsb::Records, field_range: u64, out: &mut Vec<u8>) {
    let mut field = 0;
    records.fields(field_range, |value| {
        append(field, out, |out| out.extend_from_slice(value));
        field += 1;
    });
}

/// Append a field to a value: the length of its name, its name, the length of its data, its data. Lengths
/// have four bytes, big-endian.
fn append(field: usize, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    sized(out, |out| {
        out.extend_from_slice(b"field");
        loadcell_protocols::digits::decimal(out, field as u64);
    });
    sized(out, value);
}

fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Range of a field in a value, including name and lengths; `None` if it is missing.
fn field_range(value: &[u8], field: usize) -> Option<std::ops::Range<usize>> {
    let text = |at: usize| {
        let head = value.get(at..at + 4)?;
        let end = at + 4 + u32::from_be_bytes(head.try_into().ok()?) as usize;
        Some((value.get(at + 4..end)?, end))
    };
    let mut at = 0;
    loop {
        let (name, after) = text(at)?;
        let (_, end) = text(after)?;
        let number =
            name.strip_prefix(b"field").and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if number == Some(field) {
            return Some(at..end);
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_contains_its_fields() {
        let mut value = Vec::new();
        for (field, text) in [(0, &b"zero"[..]), (11, b""), (1, b"one")] {
            append(field, &mut value, |out| out.extend_from_slice(text));
        }
        assert!(value.starts_with(b"\0\0\0\x06field0\0\0\0\x04zero"));
        assert_eq!(field_range(&value, 0), Some(0..18));
        let range = field_range(&value, 1).unwrap();
        assert!(value[range].ends_with(b"one"));
        assert!(field_range(&value, 11).is_some());
        assert_eq!(field_range(&value, 2), None);
        assert_eq!(field_range(&value[..20], 1), None, "cut");
        assert_eq!(field_range(b"", 0), None);
        assert_eq!(field_range(b"\xff\xff\xff\xff", 0), None);
    }
}
