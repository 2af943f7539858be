//! Synchronous engine: one block at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::buffer::Buffer;
use super::order::{Act, Order};
use super::{Disk, FLUSHING, doing, fatal};
use loadcell_core::clock::{self, Nanos};
use loadcell_core::random::Random;
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::Fault;

pub struct Psync<'d> {
    disk: &'d Disk,
    file: File,
    buffer: Buffer,
    order: Order,
    written: u64,
    act: Act,
    offset: u64,
    due: Nanos,
    /// End of the block, if a flush follows.
    block_done: Option<Nanos>,
    fault: Option<Fault>,
}

impl<'d> Psync<'d> {
    pub fn new(disk: &'d Disk, file: File, order: Order, random: &mut Random) -> Self {
        let buffer = Buffer::new(disk.options.block_bytes as usize, random);
        Self {
            disk,
            file,
            buffer,
            order,
            written: 0,
            act: Act::Read,
            offset: 0,
            due: 0,
            block_done: None,
            fault: None,
        }
    }

    #[inline]
    pub fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let (act, block) = self.order.next();
        (self.act, self.offset, self.due) = (act, block * self.disk.options.block_bytes, due);
        if act == Act::Write {
            self.written += 1;
            self.buffer.stamp(self.written);
        }
        recorder.start_single(self.disk.ops.of(act), due);
    }

    #[inline]
    pub fn execute(&mut self) -> Result<(), Fault> {
        self.block_done = None;
        let Err(fault) = self.block() else { return Ok(()) };
        self.fault = Some(fault.clone());
        Err(fault)
    }

    #[inline]
    fn block(&mut self) -> Result<(), Fault> {
        let moved = match self.act {
            Act::Read => self.file.read_at(&mut self.buffer, self.offset),
            Act::Write => self.file.write_at(&self.buffer, self.offset),
        };
        let complete = moved.and_then(|count| if count == self.buffer.len() { Ok(()) } else { Err(cut()) });
        complete.map_err(|error| fatal(doing(self.act), error))?;
        if self.disk.options.flushes(self.written) {
            self.block_done = Some(clock::now());
            self.file.sync_data().map_err(|error| fatal(FLUSHING, error))?;
        }
        Ok(())
    }

    #[inline]
    pub fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let (op, due, ops) = (self.disk.ops.of(self.act), self.due, self.disk.ops);
        let last = match self.block_done {
            None => Some((op, due, sent)),
            Some(between) => {
                recorder.succeed(op, due, sent, between);
                ops.flush_after(self.act).map(|flush| {
                    recorder.start(flush, between);
                    (flush, between, between)
                })
            }
        };
        match (&self.fault, last) {
            (None, Some((op, began, sent))) => recorder.succeed(op, began, sent, done),
            (Some(_), Some((op, began, _))) => recorder.fail_without_error(op, began, done),
            (_, None) => {}
        }
        match &self.fault {
            None => recorder.succeed(TRANSACTION, due, sent, done),
            Some(fault) => recorder.fail(TRANSACTION, due, sent, done, &fault.failure()),
        }
    }
}

/// Error of a short read or write: the file has its full size, so the device or file system is faulty.
pub fn cut() -> io::Error {
    io::Error::other("only a part of it was")
}
