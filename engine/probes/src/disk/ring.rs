//! io_uring engine: several blocks at a time.

use serde_json::json;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::squeue::Entry;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, opcode};

use super::buffer::Buffer;
use super::order::{Act, Order};
use super::psync::cut;
use super::{Disk, FLUSHING, doing, fatal};
use loadcell_core::clock::Nanos;
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_core::random::Random;
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::Fault;

pub struct Ring<'d> {
    disk: &'d Disk,
    order: Order,
    written: u64,
    fault: Option<Fault>,
    queue: Queue,
}

/// Memory used by the kernel, which must have released all of it before it is freed.
struct Queue {
    ring: IoUring,
    file: File,
    slots: ManuallyDrop<Vec<Slot>>,
    /// Indexes of idle slots.
    free: Vec<usize>,
    /// Slots whose block or flush was submitted since the last record.
    submitted: Vec<usize>,
    /// Slots completed since the last record, with their results.
    completed: Vec<(usize, i32)>,
}

/// A block in progress.
struct Slot {
    buffer: Buffer,
    act: Act,
    /// A flush follows or is in progress.
    flush: bool,
    flushing: bool,
    due: Nanos,
    sent: Nanos,
    /// Submission of the flush, and end of the block.
    block_done: Nanos,
}

/// Check that the kernel permits io_uring.
pub fn available() -> Result<(), LoadError> {
    IoUring::new(2).map(drop).map_err(|error| refused(&error))
}

fn refused(error: &io::Error) -> LoadError {
    let step = match error.raw_os_error() {
        Some(libc::ENOSYS) => "engine.io-uring-missing",
        Some(libc::ENOMEM) => "engine.io-uring-memory",
        _ => "engine.io-uring-forbidden",
    };
    LoadError::with_text("io-uring", os::error_text(error), step, json!({}))
}

impl<'d> Ring<'d> {
    pub fn new(disk: &'d Disk, file: File, order: Order, random: &mut Random) -> Result<Self, Fault> {
        let depth = disk.options.depth;
        let ring = IoUring::new(depth.next_power_of_two())
            .map_err(|error| Fault::new("io-uring", refused(&error).message))?;
        let slot = |_| Slot {
            buffer: Buffer::new(disk.options.block_bytes as usize, random),
            act: Act::Read,
            flush: false,
            flushing: false,
            due: 0,
            sent: 0,
            block_done: 0,
        };
        let slots: Vec<Slot> = (0..depth).map(slot).collect();
        let free = (0..slots.len()).rev().collect();
        let slots = ManuallyDrop::new(slots);
        let queue = Queue { ring, file, slots, free, submitted: Vec::new(), completed: Vec::new() };
        Ok(Self { disk, order, written: 0, fault: None, queue })
    }

    /// Fill the queue.
    #[inline]
    pub fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let wanted = recorder.reserve(self.queue.free.len() as u64);
        for _ in 0..wanted {
            let Some(number) = self.queue.free.pop() else { return };
            let (act, block) = self.order.next();
            recorder.start_single(self.disk.ops.of(act), due);
            let slot = &mut self.queue.slots[number];
            (slot.act, slot.due, slot.flushing) = (act, due, false);
            if act == Act::Write {
                self.written += 1;
                slot.buffer.stamp(self.written);
            }
            slot.flush = self.disk.options.flushes(self.written);
            self.queue.hand_over_block(number, block * self.disk.options.block_bytes);
        }
    }

    /// Wait for a completion.
    #[inline]
    pub fn execute(&mut self) -> Result<(), Fault> {
        let waited = self.queue.wait().map_err(|error| fatal("the queue broke", error));
        let outcome = waited.and_then(|()| self.queue.check());
        self.fault = outcome.as_ref().err().cloned();
        outcome
    }

    #[inline]
    pub fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Self { disk, queue, fault, .. } = self;
        for number in queue.submitted.drain(..) {
            let slot = &mut queue.slots[number];
            *(if slot.flushing { &mut slot.block_done } else { &mut slot.sent }) = sent;
        }
        let mut completed = std::mem::take(&mut queue.completed);
        for (number, answer) in completed.drain(..) {
            let slot = &mut queue.slots[number];
            let (op, began, sent) = match slot.flushing {
                true => (disk.ops.flush_after(slot.act), slot.block_done, slot.block_done),
                false => (Some(disk.ops.of(slot.act)), slot.due, slot.sent),
            };
            if let Some(why) = fault.as_ref().filter(|_| slot.outcome(answer).is_err()) {
                if let Some(op) = op {
                    recorder.fail_without_error(op, began, done);
                }
                recorder.fail(TRANSACTION, slot.due, slot.sent, done, &why.failure());
                queue.free.push(number);
                continue;
            }
            if let Some(op) = op {
                recorder.succeed(op, began, sent, done);
            }
            if slot.flush && !slot.flushing {
                if let Some(flush) = disk.ops.flush_after(slot.act) {
                    recorder.start(flush, done);
                }
                queue.hand_over_flush(number, done);
            } else {
                recorder.succeed(TRANSACTION, slot.due, slot.sent, done);
                queue.free.push(number);
            }
        }
        queue.completed = completed; // Reuse the buffer.
    }

    /// True if anything is in progress.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        self.queue.free.len() < self.queue.slots.len()
    }
}

impl Queue {
    #[inline]
    fn hand_over_block(&mut self, number: usize, offset: u64) {
        let slot = &mut self.slots[number];
        let (file, length) = (Fd(self.file.as_raw_fd()), slot.buffer.len() as u32);
        let entry = match slot.act {
            Act::Read => opcode::Read::new(file, slot.buffer.as_mut_ptr(), length).offset(offset).build(),
            Act::Write => opcode::Write::new(file, slot.buffer.as_ptr(), length).offset(offset).build(),
        };
        self.push(number, entry);
    }

    fn hand_over_flush(&mut self, number: usize, at: Nanos) {
        let slot = &mut self.slots[number];
        (slot.flushing, slot.block_done) = (true, at);
        let entry = opcode::Fsync::new(Fd(self.file.as_raw_fd())).flags(FsyncFlags::DATASYNC).build();
        self.push(number, entry);
    }

    #[inline]
    fn push(&mut self, number: usize, entry: Entry) {
        // SAFETY: file and buffer stay in place until the completion: see `drop`.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(number as u64)) };
        pushed.expect("each slot has one entry, and the ring as many as slots");
        self.submitted.push(number);
    }

    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        while let Err(error) = self.ring.submit_and_wait(1) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.completed
            .extend(self.ring.completion().map(|entry| (entry.user_data() as usize, entry.result())));
        Ok(())
    }

    /// First error among the completions.
    #[inline]
    fn check(&self) -> Result<(), Fault> {
        for &(number, answer) in &self.completed {
            let slot = &self.slots[number];
            slot.outcome(answer)
                .map_err(|error| fatal(if slot.flushing { FLUSHING } else { doing(slot.act) }, error))?;
        }
        Ok(())
    }
}

impl Slot {
    #[inline]
    fn outcome(&self, answer: i32) -> io::Result<()> {
        match answer {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            count if !self.flushing && count as usize != self.buffer.len() => Err(cut()),
            _ => Ok(()),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut in_progress = self.slots.len() - self.free.len() - self.completed.len();
        while in_progress > 0 {
            self.completed.clear();
            if self.wait().is_err() {
                return; // The kernel may still use the memory: leak it.
            }
            in_progress -= self.completed.len().min(in_progress);
        }
        // SAFETY: dropped only here, with nothing in progress.
        unsafe { ManuallyDrop::drop(&mut self.slots) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_has_advice() {
        let of = |number| refused(&io::Error::from_raw_os_error(number)).to_string();
        assert!(of(libc::EPERM).contains("Operation not permitted"));
        assert!(of(libc::EPERM).contains("engine.io-uring-forbidden"));
        assert!(of(libc::ENOSYS).contains("engine.io-uring-missing"));
        assert!(of(libc::ENOMEM).contains("engine.io-uring-memory"));
    }
}
