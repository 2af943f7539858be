//! Whoever asked for a load or a preparation: is told what happens while it happens, and may end it.

use serde_json::Value;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    Continue,
    /// End early, but properly: what is in progress is finished, and there is a result.
    Finish,
    /// End now. There is nobody left to hear the result.
    Abort,
}

/// Called on the thread that called the engine, never on a thread that makes load.
pub trait Observer {
    /// Something happened: an object with a `type`.
    fn event(&mut self, event: &Value) -> Directive;

    /// Nothing happened for a while. Called about every `TICK`, also between events.
    fn tick(&mut self) -> Directive;
}

/// How often an observer is asked whether to go on; what a person who presses Ctrl-C does not notice.
pub const TICK: std::time::Duration = std::time::Duration::from_millis(50);
