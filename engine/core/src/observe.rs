//! The observer of a load or a preparation: receives its events, and may end it.

use serde_json::Value;

use crate::clock::Nanos;

/// Verdict of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    Continue,
    /// End early, but in order: transactions in progress finish, and there is a result.
    Finish,
    /// End at once, without a result.
    Abort,
}

/// Called on the thread that called the engine, never on a load thread.
pub trait Observer {
    /// Receives an event: an object with a `type`.
    fn event(&mut self, event: &Value) -> Directive;

    /// Called about every `TICK`, also without events.
    fn tick(&mut self) -> Directive;

    /// Start instant of an armed load (monotonic clock), once it is known. Asked at least every `TICK`.
    fn start_at(&mut self) -> Option<Nanos> {
        None
    }
}

/// Period in which an observer is asked; too short to be noticed by a person who presses Ctrl-C.
pub const TICK: std::time::Duration = std::time::Duration::from_millis(50);
