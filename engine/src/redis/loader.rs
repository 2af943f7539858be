//! Fills the keys of a key-value workload: several connections, each with many keys a command and commands on their way while
//! the next are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::command::check;
use super::connection::{Connection, Way};
use super::opening::Access;
use crate::clock::Nanos;
use crate::keyvalue::{Data, Options};
use crate::observe::Observer;
use crate::prepare::{Prepared, Progress, share_out};
use crate::protocol::resp::encode;
use crate::session::Failure;
use crate::spec::{Problem, Spec};
use crate::transport::Endpoint;

/// More connections than this keep no server busier that does one thing at a time.
const MOST_CONNECTIONS: u64 = 4;
/// Keys that one connection fills at a stretch; fewer are not worth one of their own.
const SHARE: u64 = 10_000;
/// Keys of one command.
const KEYS: u64 = 32;
/// Commands are sent in pieces of about this many bytes.
const CHUNK: usize = 64 << 10;

/// Loads what the workload of `spec` needs.
pub fn prepare(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, Problem> {
    let options = match spec.workload() {
        ("kv", section) => Options::read(section)?,
        (name, _) => {
            let finding = format!("the engine cannot load data for the workload `{name}` into a Redis");
            return Err(Problem::new("spec", finding, "use `kv`"));
        }
    };
    check(&options)?;
    let started = Instant::now();
    let way = Way {
        endpoint: Endpoint::of(&spec.target)?,
        access: Arc::new(Access::of(&spec.target)?),
        connect_timeout: Duration::from_nanos(spec.target.connect_timeout_ns),
        stop: AtomicBool::new(false),
    };
    let data = Data::new(&options, spec.seed);
    let shares = data.count.div_ceil(SHARE);
    let connections = shares.clamp(1, MOST_CONNECTIONS);
    let mut connections = (0..connections).map(|_| Connection::connect(&way)).collect::<Result<Vec<_>, _>>()?;
    let mut progress = Progress { observer, done_rows: AtomicU64::new(0), total_rows: data.count };
    share_out(&way.stop, &mut connections, "keys", shares as usize, &mut progress, |connection, share, done| {
        let from = share as u64 * SHARE;
        let filled = fill(connection, &data, from, data.count.min(from + SHARE), done);
        filled.map_err(|why| way.problem("cannot fill the keys", &why))
    })?;
    Ok(Prepared { rows: data.count, size_bytes: None, duration_ns: started.elapsed().as_nanos() as Nanos })
}

/// Fills the keys `from..to`.
fn fill(connection: &mut Connection<'_>, data: &Data, from: u64, to: u64, done: &AtomicU64) -> Result<(), Failure> {
    let (mut out, mut value) = (Vec::with_capacity(2 * CHUNK), Vec::new());
    let mut next = from;
    while next < to {
        out.clear();
        let (begun, mut commands) = (next, 0);
        while next < to && out.len() < CHUNK {
            let end = to.min(next + keys_of_a_command(&value));
            encode::begin(&mut out, 1 + 2 * (end - next) as usize);
            encode::word(&mut out, b"MSET");
            for number in next..end {
                value.clear();
                data.key(number, &mut value);
                encode::word(&mut out, &value);
                value.clear();
                data.value(number, &mut value);
                encode::word(&mut out, &value);
            }
            (next, commands) = (end, commands + 1);
        }
        // What was sent before is done by the time that this is made.
        connection.ask(&out, commands)?;
        connection.settle(commands)?;
        done.fetch_add(next - begun, Ordering::Relaxed);
    }
    connection.settle(0)
}

/// Of large values a few make a command: the last one written says how large they are.
fn keys_of_a_command(last_value: &[u8]) -> u64 {
    (CHUNK / last_value.len().max(1)).clamp(1, KEYS as usize) as u64
}
