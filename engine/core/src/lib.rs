//! Foundation of all crates of the engine: clock, random numbers, pacing, recording, errors, the
//! specification of a load, and the interface between a session and its transport.

pub mod clock;
pub mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fit;
pub mod observe;
pub mod os;
pub mod pace;
pub mod random;
pub mod record;
pub mod session;
pub mod spec;
pub mod target;
