//! The limit for redb's gets: a loop written by hand that draws keys, gets them, and counts. It times and records nothing.
//!
//! `redb_loop FILE KEYS SECONDS THREADS` prints one line: how many gets, the CPU seconds of its threads, and how long it took.

use std::path::Path;
use std::time::{Duration, Instant};

use loadcell_engine::clock::thread_cpu;
use loadcell_engine::keyvalue::keys::KeyShape;
use loadcell_engine::random::Random;
use redb::{Database, ReadableDatabase, TableDefinition};

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("kv");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, keys, seconds, threads] = &arguments[..] else { panic!("FILE KEYS SECONDS THREADS") };
    let (keys, threads): (u64, u64) = (keys.parse().unwrap(), threads.parse().unwrap());
    let length = Duration::from_secs_f64(seconds.parse().unwrap());
    let database = Database::builder().set_cache_size(256 << 20).open(Path::new(file)).unwrap();
    let began = Instant::now();
    let each: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let run = |thread| {
            let database = &database;
            scope.spawn(move || gets(database, keys, thread, length))
        };
        let workers: Vec<_> = (0..threads).map(run).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let took = began.elapsed().as_secs_f64();
    let (gets, cpu) = each.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{gets} {} {took}", cpu as f64 / 1e9);
}

/// What one thread got done, and its CPU time.
fn gets(database: &Database, keys: u64, thread: u64, length: Duration) -> (u64, u64) {
    let shape = KeyShape { prefix: "key:".into(), digits: 12, hashed: false };
    let (mut random, mut key, mut bytes, mut count) = (Random::stream(1, thread), Vec::new(), 0, 0);
    let (end, cpu) = (Instant::now() + length, thread_cpu());
    loop {
        // The clock is looked at now and then only.
        for _ in 0..256 {
            key.clear();
            shape.write(random.below(keys), &mut key);
            let transaction = database.begin_read().unwrap();
            let table = transaction.open_table(TABLE).unwrap();
            bytes += table.get(&key[..]).unwrap().map_or(0, |value| value.value().len());
        }
        count += 256;
        if Instant::now() >= end {
            assert!(bytes > 0, "no key was there");
            return (count, thread_cpu() - cpu);
        }
    }
}
