//! Loads the keys of a key-value workload over several connections, with many keys per command, sending one
//! batch while the next is generated.

use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::command::check;
use super::connection::{ConnectOptions, Connection};
use super::handshake::Access;
use super::ycsb::{index, record};
use crate::dataload::{Prepared, Progress, parallel_for};
use crate::keyvalue::{Data, Options};
use crate::ycsb::{self, Records};
use loadcell_core::clock::Nanos;
use loadcell_core::error::{Failure, LoadError, LoadStep, SpecError};
use loadcell_core::observe::Observer;
use loadcell_core::spec::Spec;
use loadcell_protocols::resp::encode;

/// Maximum of connections: more do not load a single-threaded server faster.
const MOST_CONNECTIONS: u64 = 4;
/// Keys per share of the work; fewer are not worth a connection.
const SHARE: u64 = 10_000;
/// Keys per command.
const KEYS: u64 = 32;
/// Commands are sent in messages of about this many bytes.
const CHUNK: usize = 64 << 10;

/// Load the data of the workload of `spec`.
pub fn prepare(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, LoadError> {
    let data = match spec.workload() {
        ("kv", section) => {
            let options = Options::read(section)?;
            check(&options)?;
            Rows::Keys(Data::new(&options, spec.seed))
        }
        ("ycsb", section) => Rows::Records(Records::new(&ycsb::Options::read(section)?, spec.seed)),
        (name, _) => return Err(SpecError::workload(name).into()),
    };
    let started = Instant::now();
    let options = ConnectOptions::new(&spec.target, Access::of(&spec.target)?)?;
    let shares = data.count().div_ceil(SHARE);
    let connections = shares.clamp(1, MOST_CONNECTIONS);
    let mut connections =
        (0..connections).map(|_| Connection::connect(&options)).collect::<Result<Vec<_>, _>>()?;
    let mut progress = Progress { observer, done_rows: AtomicU64::new(0), total_rows: data.count() };
    parallel_for(
        &options.stop,
        &mut connections,
        "keys",
        shares as usize,
        &mut progress,
        |connection, share, done| {
            let from = share as u64 * SHARE;
            let filled = fill(connection, &data, from, data.count().min(from + SHARE), done);
            filled.map_err(|why| why.during(LoadStep::new("engine.fill-keys", json!({}))))
        },
    )?;
    Ok(Prepared { rows: data.count(), size_bytes: None, duration_ns: started.elapsed().as_nanos() as Nanos })
}

/// The data to load.
enum Rows {
    Keys(Data),
    Records(Records),
}

impl Rows {
    fn count(&self) -> u64 {
        match self {
            Self::Keys(data) => data.count,
            Self::Records(records) => records.count,
        }
    }

    /// Append the commands that write keys `from..to`. Returns the number of commands.
    fn write(&self, from: u64, to: u64, word: &mut Vec<u8>, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Keys(data) => {
                encode::begin(out, 1 + 2 * (to - from) as usize);
                encode::word(out, b"MSET");
                for number in from..to {
                    word.clear();
                    data.key(number, word);
                    encode::word(out, word);
                    word.clear();
                    data.value(number, word);
                    encode::word(out, word);
                }
                1
            }
            Self::Records(records) => {
                (from..to).for_each(|index| record(records, index, word, out));
                index(records, from, to, word, out);
                1 + (to - from) as usize
            }
        }
    }
}

/// Write keys `from..to`.
fn fill(
    connection: &mut Connection<'_>,
    data: &Rows,
    from: u64,
    to: u64,
    done: &AtomicU64,
) -> Result<(), Failure> {
    let (mut out, mut value) = (Vec::with_capacity(2 * CHUNK), Vec::new());
    let mut next = from;
    while next < to {
        out.clear();
        let (begun, mut commands) = (next, 0);
        while next < to && out.len() < CHUNK {
            let end = to.min(next + keys_of_a_command(&value));
            commands += data.write(next, end, &mut value, &mut out);
            next = end;
        }
        // The previous batch is processed while the next one is generated.
        connection.send(&out, commands)?;
        connection.settle(commands)?;
        done.fetch_add(next - begun, Ordering::Relaxed);
    }
    connection.settle(0)
}

/// Keys per command, fewer for large values; the size is estimated from the last value written.
fn keys_of_a_command(last_value: &[u8]) -> u64 {
    (CHUNK / last_value.len().max(1)).clamp(1, KEYS as usize) as u64
}
