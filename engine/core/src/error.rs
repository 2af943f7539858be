//! Errors, of three scopes. Running loads report failures as `record::ErrorEvent`.
//!
//! - A [`SpecError`] is of a specification.
//! - A [`LoadError`] ends a load or a preparation; it has a code of the message catalogue with arguments.
//! - A [`Failure`] is of one request or connection, and the load continues.
//!
//! Crates above extend a failure by what their reaction to it needs. The reactor's `Loss` (`loadcell_load`)
//! adds the number of the operating system's error, which decides on connecting again. The blocking clients'
//! `Fault` adds whether the called library is unusable, which ends the client.

use std::fmt;
use std::io;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Value, json};

use crate::os;

/// Code for an exhausted connection limit, which servers report with the generic `ERR`.
pub const MAX_CLIENTS: &str = "max-clients";

/// Why the engine cannot carry out a specification: a code of the message catalogue with its arguments. The
/// texts are not the engine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    pub code: &'static str,
    /// A JSON object.
    pub arguments: Value,
    /// Dotted path of the setting, such as `load.clients`; empty where it is several.
    pub path: String,
}

impl SpecError {
    pub fn new(code: &'static str, path: impl Into<String>, arguments: Value) -> Self {
        Self { code, arguments, path: path.into() }
    }

    /// A section that is no JSON of the expected shape.
    pub fn unreadable(path: &str, error: &serde_json::Error) -> Self {
        Self::new("engine.spec.unreadable", path, json!({"said": error.to_string()}))
    }

    /// A value that the engine has no meaning for, or that would make it panic.
    pub fn value(path: impl Into<String>, value: impl Serialize) -> Self {
        let text = match json!(value) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self::new("engine.spec.value", path, json!({"value": text}))
    }

    pub fn workload(name: &str) -> Self {
        Self::new("engine.spec.workload", "workload", json!({"workload": name}))
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.code, self.path, self.arguments)
    }
}

/// Checks that a number lies in a range.
pub fn within<T: PartialOrd + Serialize>(
    path: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), SpecError> {
    if range.contains(&value) { Ok(()) } else { Err(SpecError::value(path, value)) }
}

/// Why a load, a preparation or a connection ended: the class of the error, the text of whoever reported it,
/// and the step that the engine was at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The server's own code (a SQLSTATE, `NOAUTH`), or one of `spec`, `connection`, `timeout`, `protocol`,
    /// `tls`, `limit` ...
    pub code: String,
    /// Text of a server, of the operating system or of a library; empty where the step says it all.
    pub message: String,
    pub step: Option<Box<LoadStep>>,
}

/// Step or finding of the engine: a code of the message catalogue with its arguments, a JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStep {
    pub code: &'static str,
    pub arguments: Value,
}

impl LoadStep {
    pub fn new(code: &'static str, arguments: Value) -> Self {
        Self { code, arguments }
    }
}

impl LoadError {
    /// An error that the catalogue describes, without words of others.
    pub fn at(code: impl Into<String>, step: &'static str, arguments: Value) -> Self {
        Self {
            code: code.into(),
            message: String::new(),
            step: Some(Box::new(LoadStep { code: step, arguments })),
        }
    }

    /// The same with the text of the operating system, a library or a server.
    pub fn with_text(
        code: impl Into<String>,
        text: impl ToString,
        step: &'static str,
        arguments: Value,
    ) -> Self {
        Self { message: text.to_string(), ..Self::at(code, step, arguments) }
    }

    /// The observer ended it.
    pub fn stopped(step: &'static str) -> Self {
        Self::at("stopped", step, json!({}))
    }

    /// The caller of the engine ended it at once.
    pub fn aborted() -> Self {
        Self::stopped("engine.aborted")
    }

    /// The same of one client group among several.
    pub fn of_group(mut self, group: &str) -> Self {
        self.some_step().arguments["group"] = group.into();
        self
    }

    /// The same as the last of several attempts.
    pub fn after_attempts(mut self, attempts: u32) -> Self {
        self.some_step().arguments["attempts"] = attempts.into();
        self
    }

    /// The same of a connection that was to repeat a transaction, which the server had rolled back with this
    /// text.
    pub fn after_rollback(mut self, text: &str) -> Self {
        self.some_step().arguments["rolled_back"] = text.into();
        self
    }

    fn some_step(&mut self) -> &mut LoadStep {
        self.step.get_or_insert_with(|| Box::new(LoadStep::new("engine.error", json!({}))))
    }

    /// As the caller of the engine reads it: `{"code", "reason": {"code", "args"}}`; the message
    /// is the argument `said`.
    pub fn document(&self) -> Value {
        let (code, mut arguments) = match &self.step {
            Some(step) => (step.code, step.arguments.clone()),
            None => ("engine.error", json!({})),
        };
        if !self.message.is_empty() {
            arguments["said"] = self.message.as_str().into();
        }
        json!({"code": self.code, "reason": {"code": code, "args": arguments}})
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.document())
    }
}

impl From<SpecError> for LoadError {
    fn from(error: SpecError) -> Self {
        let mut arguments = error.arguments;
        arguments["path"] = error.path.into();
        Self::at("spec", error.code, arguments)
    }
}

/// Why something did not work, classed by the server's own code where it gave one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// SQLSTATE, or a code of the engine: `connection`, `timeout`, `protocol`, `tls` ...
    pub code: String,
    pub message: String,
}

impl Failure {
    /// As the error of a load that was at this step.
    pub fn during(self, step: LoadStep) -> LoadError {
        LoadError { code: self.code, message: self.message, step: Some(Box::new(step)) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::TimedOut => "timeout",
            io::ErrorKind::InvalidData => "tls",
            _ => error.raw_os_error().and_then(os::local_exhaustion).unwrap_or("connection"),
        };
        Self { code: code.into(), message: os::error_text(&error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_exhaustion_has_its_own_codes() {
        let code = |errno| Failure::from(io::Error::from_raw_os_error(errno)).code;
        assert_eq!(
            (code(libc::EADDRNOTAVAIL).as_str(), code(libc::EMFILE).as_str()),
            ("ports", "descriptors")
        );
        assert_eq!(
            (code(libc::ECONNREFUSED).as_str(), code(libc::ETIMEDOUT).as_str()),
            ("connection", "timeout")
        );
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::InvalidData)).code, "tls");
        let refused = Failure::from(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        assert_eq!(refused.message, "Connection refused");
    }
}
