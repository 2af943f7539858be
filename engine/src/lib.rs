//! Makes load and records it. It has no idea of plans, factors or reports: it is given one specification, and gives back
//! a snapshot each interval and one result at the end.

pub mod blocking;
pub mod callable;
pub mod clock;
pub mod dataload;
pub mod embedded;
#[cfg(test)]
mod fit;
pub mod flame;
pub mod groups;
pub mod http;
pub mod import;
pub mod keyvalue;
pub mod load;
pub mod observe;
pub mod os;
pub mod pace;
pub mod probe;
pub mod protocol;
#[cfg(feature = "python")]
mod python;
pub mod random;
pub mod reactor;
pub mod record;
pub mod redis;
pub mod session;
pub mod spec;
pub mod sql;
pub mod start;
pub mod transport;
pub mod workload;
