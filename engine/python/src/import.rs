//! Finished outputs of other tools, read by the engine because they have gigabytes.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use super::{Listener, listen};
use loadcell_core::error::LoadError;
use loadcell_logs::{self as logs, Unfinished};

/// Reads pgbench's logs of every transaction; returns what they hold as JSON.
#[pyfunction]
pub fn import_pgbench_log(py: Python<'_>, files: Vec<PathBuf>, on_event: Py<PyAny>) -> PyResult<String> {
    reading(py, on_event, |listener| logs::pgbench_log(&files, listener))
}

/// Reads BenchmarkSQL's result.csv; returns what it holds as JSON.
#[pyfunction]
pub fn import_benchmarksql(py: Python<'_>, files: Vec<PathBuf>, on_event: Py<PyAny>) -> PyResult<String> {
    reading(py, on_event, |listener| logs::benchmarksql(&files, listener))
}

fn reading(
    py: Python<'_>,
    on_event: Py<PyAny>,
    read: impl FnOnce(&mut Listener) -> Result<Value, Unfinished> + Send,
) -> PyResult<String> {
    let document = listen(py, on_event, |listener| match read(listener) {
        Ok(document) => Ok(Ok(document.to_string())),
        Err(Unfinished::Io(error)) => Ok(Err(error)),
        Err(Unfinished::Aborted) => Err(LoadError::aborted()),
    })?;
    Ok(document?)
}

/// The parts of a text in its order: `(text, columns)`, where a table of lines alike has its first line as
/// text.
#[pyclass]
pub struct Stretches(Mutex<logs::Stretches>);

type Part<'py> = (Bound<'py, PyBytes>, usize);

#[pymethods]
impl Stretches {
    #[new]
    fn new(files: Vec<PathBuf>, begin: Vec<u8>) -> PyResult<Self> {
        Ok(Self(Mutex::new(logs::Stretches::new(files, begin)?)))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Part<'py>>> {
        if !py.detach(|| self.lock().advance())? {
            return Ok(None);
        }
        let sections = self.lock();
        let (text, columns) = (sections.text(), sections.columns().len());
        let end = if columns > 0 {
            memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
        } else {
            text.len()
        };
        Ok(Some((PyBytes::new(py, &text[..end]), columns)))
    }

    /// Column `index` of the last table, as doubles.
    fn column<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let sections = self.lock();
        let column =
            sections.columns().get(index).ok_or_else(|| PyIndexError::new_err("there is no such column"))?;
        PyBytes::new_with(py, size_of_val(&column[..]), |bytes| {
            for (cell, number) in bytes.chunks_exact_mut(size_of::<f64>()).zip(column) {
                cell.copy_from_slice(&number.to_ne_bytes());
            }
            Ok(())
        })
    }

    /// Text of the last part, unchanged.
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().text())
    }

    /// Bytes of the text up to the end of the last part.
    #[getter]
    fn read_bytes(&self) -> u64 {
        self.lock().read_bytes
    }
}

impl Stretches {
    fn lock(&self) -> MutexGuard<'_, logs::Stretches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
