//! Python callables as clients of a load, and the spans that they report.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::exceptions::{PyException, PyKeyError};
use pyo3::prelude::*;

use loadcell_core::record::{OpId, Operation};
use loadcell_load::blocking::Fault;
use loadcell_load::callable::{Callable, CallableFactory, SpanLog};

/// Python function that creates each client's callable from the client's number and a [`Recording`].
pub struct Clients(pub Py<PyAny>);

/// One client's callable; none once it is released.
pub struct Client(Option<Py<PyAny>>);

impl CallableFactory for Clients {
    type Callable = Client;

    fn callable(&self, number: u32, log: SpanLog, operations: &[Operation]) -> Result<Client, Fault> {
        let recording = Recording { log, names: operations.iter().map(|operation| operation.name).collect() };
        Python::attach(|py| match self.0.call1(py, (number, recording)) {
            Ok(callable) => Ok(Client(Some(callable))),
            Err(error) => Err(Fault { fatal: true, ..call_error(error.value(py).as_any()) }),
        })
    }
}

impl Callable for Client {
    fn call(&mut self) -> Result<(), Fault> {
        let Some(callable) = &self.0 else { return Ok(()) };
        Python::attach(|py| match callable.call0(py) {
            Ok(_) => Ok(()),
            Err(error) => Err(call_error(error.value(py).as_any())),
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Closes what the callable holds (a connection) before the load returns.
        Python::attach(|_| drop(self.0.take()));
    }
}

/// Turns an exception into an error: its `code` or its class, and the first line of its text.
fn call_error(exception: &Bound<'_, PyAny>) -> Fault {
    let code = exception.getattr("code").and_then(|code| code.extract::<String>());
    let class = || exception.get_type().name().map_or_else(|_| "error".into(), |name| name.to_string());
    let text = exception.str().map(|text| text.to_string()).unwrap_or_default();
    let message = text.lines().next().unwrap_or_default().to_string();
    // An exit or an interrupt is no error of the callable, and ends it.
    let ends = !exception.is_instance_of::<PyException>();
    let fatal = ends || exception.getattr("fatal").and_then(|fatal| fatal.extract::<bool>()).unwrap_or(false);
    Fault { fatal, ..Fault::new(code.unwrap_or_else(|_| class()), message) }
}

/// Recorder of a client's spans, given to its callable.
#[pyclass(frozen, module = "loadcell._engine")]
pub struct Recording {
    log: SpanLog,
    names: Vec<&'static str>,
}

impl Recording {
    fn operation(&self, name: &str) -> PyResult<OpId> {
        let index = self.names.iter().skip(1).position(|span| *span == name);
        index.map(|index| OpId(index as u16 + 1)).ok_or_else(|| PyKeyError::new_err(name.to_string()))
    }
}

#[pymethods]
impl Recording {
    /// A context manager that times a span, which fails with what is raised within it.
    fn timed(&self, name: &str) -> PyResult<Timed> {
        Ok(Timed { log: self.log.clone(), op: self.operation(name)?, sent: AtomicU64::new(0) })
    }

    /// Counts a failed attempt within the span in progress that is being repeated.
    fn retried(&self, name: &str) -> PyResult<()> {
        self.log.retry(self.operation(name)?);
        Ok(())
    }
}

/// A span in progress.
#[pyclass(frozen, module = "loadcell._engine")]
pub struct Timed {
    log: SpanLog,
    op: OpId,
    sent: AtomicU64,
}

#[pymethods]
impl Timed {
    fn __enter__(&self) {
        self.sent.store(self.log.start(self.op), Relaxed);
    }

    fn __exit__(
        &self,
        _kind: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> bool {
        let sent = self.sent.load(Relaxed);
        if exception.is_none() {
            self.log.succeed(self.op, sent);
        } else {
            self.log.fail(self.op, sent, call_error(exception).failure());
        }
        false
    }
}
