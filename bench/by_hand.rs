//! Common part of hand-written loops, the limit for a store's gets: threads that draw keys, get them, and
//! count. They time and record nothing. With a fifth word `timed` they read the clock before and after each
//! get and count the difference in one histogram: the least work that gives a percentile.
//!
//! `FILE KEYS SECONDS THREADS [timed]` on the command line; one line at the end: number of gets, CPU seconds
//! of all threads, and duration.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use loadcell_core::clock::{now, thread_cpu};
use loadcell_core::random::Random;
use loadcell_core::record::Histogram;
use loadcell_workloads::keyvalue::keys::KeyShape;

/// The command line.
pub struct Asked {
    pub file: PathBuf,
    keys: u64,
    length: Duration,
    threads: u64,
    timed: bool,
}

impl Asked {
    pub fn read() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (words, timed) = match &arguments[..] {
            [words @ .., last] if last == "timed" => (words, true),
            words => (words, false),
        };
        let [file, keys, seconds, threads] = words else { panic!("FILE KEYS SECONDS THREADS [timed]") };
        let length = Duration::from_secs_f64(seconds.parse().unwrap());
        Self {
            file: file.into(),
            keys: keys.parse().unwrap(),
            length,
            threads: threads.parse().unwrap(),
            timed,
        }
    }
}

/// Has every thread call `get`, which returns the length of a key's value, and prints the totals.
pub fn run(asked: &Asked, get: impl Fn(&[u8]) -> usize + Sync) {
    let (began, get) = (Instant::now(), &get);
    let counts: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || gets(asked, thread, get));
        let workers: Vec<_> = (0..asked.threads).map(start).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let took = began.elapsed().as_secs_f64();
    let (gets, cpu) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    println!("{gets} {} {took}", cpu as f64 / 1e9);
}

/// Number of gets of one thread, and its CPU time.
fn gets(asked: &Asked, thread: u64, get: impl Fn(&[u8]) -> usize) -> (u64, u64) {
    let shape = KeyShape { prefix: "key:".into(), digits: 12, hashed: false };
    let (mut random, mut key, mut bytes, mut count) = (Random::stream(1, thread), Vec::new(), 0, 0);
    let mut times = Histogram::<u32>::new();
    let (end, cpu) = (Instant::now() + asked.length, thread_cpu());
    loop {
        // The clock is looked at now and then only.
        for _ in 0..256 {
            key.clear();
            shape.write(random.below(asked.keys), &mut key);
            if asked.timed {
                let sent = now();
                bytes += get(&key);
                times.record(now() - sent);
            } else {
                bytes += get(&key);
            }
        }
        count += 256;
        if Instant::now() >= end {
            assert!(bytes > 0, "no key was there");
            return (count, thread_cpu() - cpu);
        }
    }
}
