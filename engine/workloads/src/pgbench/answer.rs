//! Assigns result rows to variables (`\gset`, `\aset`).

use super::client::{Client, RunResult};
use super::error::ScriptError;
use super::program::Program;
use super::statement::Store;
use super::variables::Slot;

/// Response to one request, which may consist of several statements (`\;`), each with its own result.
#[derive(Default)]
pub struct Answer {
    /// Variables for the columns of the current result; `None` where no script reads them.
    slots: Vec<Option<Slot>>,
    /// The column names were received; statements without rows have none.
    described: bool,
    rows: usize,
    /// Columns of the first row, concatenated, with the end of each. Only after completion is it known
    /// whether they belong to the last result, which `\gset` requires.
    texts: Vec<u8>,
    ends: Vec<usize>,
    /// Number of rows of the last completed statement.
    last: usize,
    failure: Option<Box<ScriptError>>,
}

impl Answer {
    /// Reset for a new request.
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

    /// The response is complete without an error.
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
