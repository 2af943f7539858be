//! Python code that is called by a load's threads, and what it tells of its parts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::exceptions::{PyException, PyKeyError};
use pyo3::prelude::*;

use loadcell_core::error::Failure;
use loadcell_core::record::{OpId, Operation};
use loadcell_load::blocking::Fault;
use loadcell_load::callable::{Callee, Callees, Failed, Log};

/// What gives each client's callable: it is called with the client's number and a [`Recording`].
pub struct Clients(pub Py<PyAny>);

/// One client's callable; none once it is let go.
pub struct Client(Option<Py<PyAny>>);

impl Callees for Clients {
    type Callee = Client;

    fn callee(&self, client: u32, log: Log, operations: &[Operation]) -> Result<Client, Fault> {
        let recording = Recording { log, names: operations.iter().map(|operation| operation.name).collect() };
        Python::attach(|py| match self.0.call1(py, (client, recording)) {
            Ok(callable) => Ok(Client(Some(callable))),
            Err(error) => {
                let Failure { code, message } = failed(error.value(py).as_any()).why;
                Err(Fault::fatal(code.leak(), message))
            }
        })
    }
}

impl Callee for Client {
    fn call(&mut self) -> Result<(), Failed> {
        let Some(callable) = &self.0 else { return Ok(()) };
        Python::attach(|py| match callable.call0(py) {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(error.value(py).as_any())),
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // What it holds (a connection) is closed before whoever made it goes on.
        Python::attach(|_| drop(self.0.take()));
    }
}

/// What an exception says of why a call failed: its `code` or its class, and the first line of its words.
fn failed(raised: &Bound<'_, PyAny>) -> Failed {
    let code = raised.getattr("code").and_then(|code| code.extract::<String>());
    let class = || raised.get_type().name().map_or_else(|_| "error".into(), |name| name.to_string());
    let said = raised.str().map(|text| text.to_string()).unwrap_or_default();
    let message = said.lines().next().unwrap_or_default().to_string();
    // What is no error of the program (an exit, an interrupt) ends it.
    let ends = !raised.is_instance_of::<PyException>();
    let fatal = ends || raised.getattr("fatal").and_then(|fatal| fatal.extract::<bool>()).unwrap_or(false);
    Failed { why: Failure { code: code.unwrap_or_else(|_| class()), message }, fatal }
}

/// What a client's callable tells of its parts.
#[pyclass(frozen, module = "loadcell._engine")]
pub struct Recording {
    log: Log,
    names: Vec<&'static str>,
}

impl Recording {
    fn part(&self, name: &str) -> PyResult<OpId> {
        let parts = self.names.iter().enumerate().skip(1);
        let found = parts.map(|(index, known)| (index as u16, *known)).find(|(_, known)| *known == name);
        found.map(|(index, _)| OpId(index)).ok_or_else(|| PyKeyError::new_err(name.to_string()))
    }
}

#[pymethods]
impl Recording {
    /// A part to be entered and left: it is timed from one to the other, and fails with what is raised within it.
    fn timed(&self, name: &str) -> PyResult<Timed> {
        Ok(Timed { log: self.log.clone(), op: self.part(name)?, sent: AtomicU64::new(0) })
    }

    /// What is in progress of a part failed in a way that may be tried again, and is.
    fn retried(&self, name: &str) -> PyResult<()> {
        self.log.retried(self.part(name)?);
        Ok(())
    }
}

/// One part in progress.
#[pyclass(frozen, module = "loadcell._engine")]
pub struct Timed {
    log: Log,
    op: OpId,
    sent: AtomicU64,
}

#[pymethods]
impl Timed {
    fn __enter__(&self) {
        self.sent.store(self.log.begun(self.op), Relaxed);
    }

    fn __exit__(
        &self,
        _kind: &Bound<'_, PyAny>,
        raised: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> bool {
        let sent = self.sent.load(Relaxed);
        if raised.is_none() {
            self.log.succeeded(self.op, sent);
        } else {
            self.log.failed(self.op, sent, failed(raised).why);
        }
        false
    }
}
