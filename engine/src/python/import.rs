//! Finished outputs of other tools, read by the engine because they have gigabytes.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use super::{Listener, listen};
use crate::import::{self, Unfinished};
use crate::load::NoResult;

/// Reads pgbench's logs of every transaction; returns what they hold as JSON.
#[pyfunction]
pub fn import_pgbench_log(py: Python<'_>, files: Vec<PathBuf>, on_event: Py<PyAny>) -> PyResult<String> {
    reading(py, on_event, |listener| import::pgbench_log(&files, listener))
}

/// Reads BenchmarkSQL's result.csv; returns what it holds as JSON.
#[pyfunction]
pub fn import_benchmarksql(py: Python<'_>, files: Vec<PathBuf>, on_event: Py<PyAny>) -> PyResult<String> {
    reading(py, on_event, |listener| import::benchmarksql(&files, listener))
}

fn reading(
    py: Python<'_>,
    on_event: Py<PyAny>,
    read: impl FnOnce(&mut Listener) -> Result<Value, Unfinished> + Send,
) -> PyResult<String> {
    let found = listen(py, on_event, |listener| match read(listener) {
        Ok(found) => Ok(Ok(found.to_string())),
        Err(Unfinished::Io(error)) => Ok(Err(error)),
        Err(Unfinished::Aborted) => Err(NoResult::Aborted),
    })?;
    Ok(found?)
}

/// The lines of `text` from `begin` on that are the same but for their numbers: where they end, how many numbers each has, and
/// these as doubles.
#[pyfunction]
pub fn alike<'py>(py: Python<'py>, text: &[u8], begin: usize) -> (usize, usize, Bound<'py, PyBytes>) {
    let (found, numbers) = py.detach(|| {
        let found = import::alike(text, begin);
        let numbers: Vec<u8> = found.numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        (found, numbers)
    });
    (found.end, found.columns, PyBytes::new(py, &numbers))
}
