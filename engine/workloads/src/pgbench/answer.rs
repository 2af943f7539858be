//! The rows of an answer, on their way into variables (`\gset`, `\aset`).

use super::client::{Client, RunResult};
use super::error::ScriptError;
use super::program::Program;
use super::statement::Store;
use super::variables::Slot;

/// The answer to one request. A request may have several statements (`\;`), each with a result of its own.
#[derive(Default)]
pub struct Answer {
    /// Variables of the columns of the result that is coming in; none where no script reads it.
    slots: Vec<Option<Slot>>,
    /// Whether the columns were told: a statement without rows tells none.
    described: bool,
    rows: usize,
    /// The first row's columns, end to end, and where each ends: only when all is complete is it known to be the last
    /// result's, which is what `\gset` wants.
    texts: Vec<u8>,
    ends: Vec<usize>,
    /// Rows of the statement that was completed last.
    last: usize,
    failure: Option<Box<ScriptError>>,
}

impl Answer {
    /// A new request was sent.
    pub fn clear(&mut self) {
        self.failure = None;
        self.described = false;
        (self.rows, self.last) = (0, 0);
    }

    pub fn columns<'r>(
        &mut self,
        client: &Client,
        program: &Program,
        store: &Store,
        names: impl Iterator<Item = &'r [u8]>,
    ) {
        self.described = true;
        self.slots.clear();
        for name in names {
            match client.column(program, store, name) {
                Ok(slot) => self.slots.push(slot),
                Err(error) => {
                    self.slots.push(None);
                    self.failure.get_or_insert(error);
                }
            }
        }
    }

    pub fn row<'r>(
        &mut self,
        client: &mut Client,
        store: &Store,
        columns: impl Iterator<Item = Option<&'r [u8]>>,
    ) {
        self.rows += 1;
        if store.all {
            for (slot, text) in self.slots.iter().zip(columns) {
                if let Some(slot) = slot {
                    client.variables.set_text(*slot, text.unwrap_or_default());
                }
            }
        } else if self.rows == 1 {
            self.texts.clear();
            self.ends.clear();
            for text in columns {
                self.texts.extend_from_slice(text.unwrap_or_default());
                self.ends.push(self.texts.len());
            }
        }
    }

    /// A statement of the request is complete.
    pub fn complete(&mut self) {
        self.last = if self.described { self.rows } else { 0 };
        self.described = false;
        self.rows = 0;
    }

    /// The whole answer is there, and no error.
    pub fn settle(&mut self, client: &mut Client, program: &Program, store: &Store) -> RunResult<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if store.all {
            return Ok(());
        }
        if self.last != 1 {
            return Err(client.row_count_failure(program, store, self.last));
        }
        let mut start = 0;
        for (slot, &end) in self.slots.iter().zip(&self.ends) {
            if let Some(slot) = slot {
                client.variables.set_text(*slot, &self.texts[start..end]);
            }
            start = end;
        }
        Ok(())
    }
}
