//! The Python module `loadcell._engine`: JSON in, JSON out, and no call per request.

mod calls;
mod flame;
mod import;
mod proxy;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use loadcell_core::clock::Nanos;
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer};
use loadcell_dispatch as start;
use loadcell_load::merge_results;
use loadcell_probes::network;
use loadcell_protocols::mysql::auth::{Plugin, encrypted};

create_exception!(
    _engine,
    EngineError,
    PyException,
    "Error of a load: one argument, a JSON object with `code` and `reason` (code of the catalogue, `args`)."
);

/// Set by `stop`, from any thread or from a signal handler.
static STOP: AtomicBool = AtomicBool::new(false);

/// Start instant of the armed load, set by `start_at` from any thread; 0 until then.
static START_AT: AtomicU64 = AtomicU64::new(0);

/// A Python callable that receives events, and Python's signals.
struct Listener {
    on_event: Py<PyAny>,
    /// Exception of the callable or of a signal handler.
    raised: Option<PyErr>,
}

impl Listener {
    fn ask(&mut self, call: impl FnOnce(Python<'_>) -> PyResult<()>) -> Directive {
        match Python::attach(call) {
            Ok(()) if STOP.load(Relaxed) => Directive::Finish,
            Ok(()) => Directive::Continue,
            Err(raised) => {
                self.raised = Some(raised);
                Directive::Abort
            }
        }
    }
}

impl Observer for Listener {
    fn event(&mut self, event: &Value) -> Directive {
        let (text, on_event) = (event.to_string(), Python::attach(|py| self.on_event.clone_ref(py)));
        self.ask(|py| on_event.call1(py, (text,)).map(drop))
    }

    fn tick(&mut self) -> Directive {
        self.ask(|py| py.check_signals())
    }

    fn start_at(&mut self) -> Option<Nanos> {
        Some(START_AT.load(Relaxed)).filter(|&instant| instant > 0)
    }
}

/// Calls the engine without holding Python up, and raises what was raised meanwhile.
fn listen<T: Send>(
    py: Python<'_>,
    on_event: Py<PyAny>,
    call: impl FnOnce(&mut Listener) -> Result<T, LoadError> + Send,
) -> PyResult<T> {
    let mut listener = Listener { on_event, raised: None };
    let result = py.detach(|| call(&mut listener));
    STOP.store(false, Relaxed);
    START_AT.store(0, Relaxed);
    match (listener.raised, result) {
        (Some(raised), _) => Err(raised),
        (None, Ok(value)) => Ok(value),
        (None, Err(load_error)) => Err(error(&load_error)),
    }
}

pub(crate) fn error(error: &LoadError) -> PyErr {
    EngineError::new_err(error.document().to_string())
}

/// Makes the load that `spec` (JSON) describes; events go to `on_event` as JSON; returns the result as JSON.
#[pyfunction]
fn run(py: Python<'_>, spec: String, on_event: Py<PyAny>) -> PyResult<String> {
    listen(py, on_event, |listener| start::run(&spec, listener)).map(|result| result.to_string())
}

/// Makes the load that `spec` (JSON) describes by calling what `client` gives for each client's number;
/// otherwise as `run`.
#[pyfunction]
fn run_calls(py: Python<'_>, spec: String, on_event: Py<PyAny>, client: Py<PyAny>) -> PyResult<String> {
    let clients = calls::Clients(client);
    listen(py, on_event, |listener| start::run_calls(&spec, clients, listener))
        .map(|result| result.to_string())
}

/// Loads the data that `spec` (JSON) describes; otherwise as `run`.
#[pyfunction]
fn prepare(py: Python<'_>, spec: String, on_event: Py<PyAny>) -> PyResult<String> {
    let prepared = listen(py, on_event, |listener| start::prepare(&spec, listener))?;
    let mut result = json!({"rows": prepared.rows, "duration_s": prepared.duration_ns as f64 / 1e9});
    if let Some(size_bytes) = prepared.size_bytes {
        result["size_bytes"] = size_bytes.into();
    }
    Ok(result.to_string())
}

/// Validates a workload (JSON) without a target; returns its operations.
#[pyfunction]
fn check(workload: &str) -> PyResult<String> {
    start::check(workload).map(|report| report.to_string()).map_err(|problem| error(&problem))
}

/// The first `count` records of connection `connection` of the stream that `spec` (JSON) describes, framed as
/// they are sent.
#[pyfunction]
fn stream_records(py: Python<'_>, spec: &str, connection: u32, count: u64) -> PyResult<Py<PyBytes>> {
    let records = py.detach(|| start::stream_records(spec, connection, count));
    records.map(|bytes| PyBytes::new(py, &bytes).unbind()).map_err(|problem| error(&problem))
}

/// The version of an embedded store's engine, and the library it is in: `{"engine", "library"}`, where the
/// library may be null.
#[pyfunction]
fn store(engine: &str) -> PyResult<String> {
    start::about_store(engine).map(|about| about.to_string()).map_err(|problem| error(&problem))
}

/// Answers network probes at `address` (`HOST:PORT`) until it is stopped; says `{"type": "listening",
/// "address"}` when it listens, and returns what it served.
#[pyfunction]
fn serve(py: Python<'_>, address: String, on_event: Py<PyAny>) -> PyResult<String> {
    listen(py, on_event, |listener| network::serve(&address, listener))
        .map(|served| json!(served).to_string())
}

/// Gives the start instant of the armed load that runs, or would run next. May be called from any thread.
#[pyfunction]
fn start_at(mono_ns: u64) {
    START_AT.store(mono_ns, Relaxed);
}

/// Merges the results of workers that made parts of one load (JSON texts) into one (JSON).
#[pyfunction]
fn merge(py: Python<'_>, results: Vec<String>) -> PyResult<String> {
    py.detach(|| merge_results(&results)).map(|merged| merged.to_string()).map_err(|problem| error(&problem))
}

/// Ends what is running, or would run next, early but properly. May be called from any thread or signal
/// handler.
#[pyfunction]
fn stop() {
    STOP.store(true, Relaxed);
}

/// The stacks in the output of `perf script`, a file, as lines of `process-pid;outer;inner 42`.
#[pyfunction]
fn fold_stacks(py: Python<'_>, script: PathBuf) -> PyResult<String> {
    Ok(py.detach(|| flame::fold(&script))?)
}

/// Folded stacks as an SVG flame graph that stands for itself.
#[pyfunction]
fn flame_graph(py: Python<'_>, folded: String, title: String, subtitle: String) -> PyResult<String> {
    Ok(py.detach(|| flame::draw(&folded, &title, &subtitle))?)
}

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Response of an authentication plugin to a server's nonce.
#[pyfunction]
fn mysql_proof(plugin: &str, password: &[u8], nonce: &[u8]) -> PyResult<Vec<u8>> {
    let plugin = Plugin::named(plugin.as_bytes()).ok_or_else(|| PyValueError::new_err("no such plugin"))?;
    Ok(plugin.prove(password, nonce))
}

/// The password encrypted for a server's public key (PEM), as `caching_sha2_password` wants it without TLS.
#[pyfunction]
fn mysql_encrypted(password: &[u8], nonce: &[u8], key: &[u8]) -> PyResult<Vec<u8>> {
    encrypted(password, nonce, key).map_err(PyValueError::new_err)
}

/// The library that causes faults in processes of a target (ELF); empty where there is none for this system.
#[pyfunction]
fn preload_library() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_class::<calls::Recording>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_calls, module)?)?;
    module.add_function(wrap_pyfunction!(prepare, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(stream_records, module)?)?;
    module.add_function(wrap_pyfunction!(store, module)?)?;
    module.add_function(wrap_pyfunction!(serve, module)?)?;
    module.add_function(wrap_pyfunction!(stop, module)?)?;
    module.add_function(wrap_pyfunction!(start_at, module)?)?;
    module.add_function(wrap_pyfunction!(merge, module)?)?;
    module.add_function(wrap_pyfunction!(fold_stacks, module)?)?;
    module.add_function(wrap_pyfunction!(flame_graph, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_pgbench_log, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_benchmarksql, module)?)?;
    module.add_class::<import::Stretches>()?;
    module.add_class::<proxy::Proxy>()?;
    module.add_function(wrap_pyfunction!(preload_library, module)?)?;
    module.add_function(wrap_pyfunction!(mysql_proof, module)?)?;
    module.add_function(wrap_pyfunction!(mysql_encrypted, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)
}
