//! The proxy of network faults: JSON in, JSON out.

use std::sync::Mutex;

use pyo3::prelude::*;
use serde_json::json;

use loadcell_core::error::{LoadError, SpecError};
use loadcell_proxy::{Effect, Proxy as Threads, Spec};

use crate::error;

/// A proxy that listens until it is stopped.
#[pyclass(frozen, module = "loadcell._engine")]
pub struct Proxy {
    port: u16,
    threads: Mutex<Option<Threads>>,
}

fn unreadable(path: &str) -> impl Fn(serde_json::Error) -> PyErr {
    move |problem| error(&LoadError::from(SpecError::unreadable(path, &problem)))
}

impl Proxy {
    /// Calls it without holding Python up; after `stop` nothing happens.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Threads) -> Result<T, LoadError> + Send,
    ) -> PyResult<Option<T>> {
        py.detach(|| self.threads.lock().ok().and_then(|threads| threads.as_ref().map(call)).transpose())
            .map_err(|problem| error(&problem))
    }
}

#[pymethods]
impl Proxy {
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: Spec = serde_json::from_str(spec).map_err(unreadable("proxy"))?;
        let threads = py.detach(|| Threads::start(&spec)).map_err(|problem| error(&problem))?;
        Ok(Self { port: threads.address().port(), threads: Mutex::new(Some(threads)) })
    }

    /// Port of 127.0.0.1 that it listens on.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// Begins an effect (JSON); returns its number once it is in effect.
    fn begin(&self, py: Python<'_>, effect: &str) -> PyResult<u64> {
        let effect: Effect = serde_json::from_str(effect).map_err(unreadable("proxy"))?;
        self.with(py, |threads| threads.begin(effect)).map(Option::unwrap_or_default)
    }

    /// Ends an effect; returns once it is not in effect any more.
    fn end(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.with(py, |threads| threads.end(number)).map(drop)
    }

    /// Closes all connections; returns the counts (JSON).
    fn stop(&self, py: Python<'_>) -> String {
        let threads = self.threads.lock().ok().and_then(|mut threads| threads.take());
        json!(py.detach(|| threads.map(Threads::stop).unwrap_or_default())).to_string()
    }
}
