//! Cost of the engine's histogram next to the crate `hdrhistogram`: recording, merging and memory.
//!
//!     cargo run --release -p loadcell-dispatch --example histogram
//!
//! Both have 3 significant digits from 1 ns to an hour. Values are lognormal, like response times (median
//! 100 µs). Costs are medians of the rounds, in which both take turns.

use std::hint::black_box;
use std::time::Instant;

use loadcell_core::random::Random;
use loadcell_core::record::histogram::{CELLS, Histogram};

const ROUNDS: usize = 51;
const VALUES: usize = 1 << 18;
const HOUR_NS: u64 = 3_600_000_000_000;
const MEDIAN_NS: f64 = 100e3;
/// Standard deviation of the logarithm: 99.9% of the values lie below 2.2 ms.
const SIGMA: f64 = 1.0;
/// Values of an interval.
const MERGED: usize = 10_000;

type Hdr<C> = hdrhistogram::Histogram<C>;

fn hdr<C: hdrhistogram::Counter>() -> Hdr<C> {
    Hdr::new_with_bounds(1, HOUR_NS, 3).expect("bounds that the crate takes")
}

fn main() {
    let values = values();
    let (mut ours, mut theirs) = (Histogram::<u32>::new(), hdr::<u32>());
    report("record, ns per value", VALUES, |is_ours| {
        if is_ours {
            values.iter().for_each(|&value| black_box(&mut ours).record(value));
        } else {
            values.iter().for_each(|&value| black_box(&mut theirs).saturating_record(value));
        }
    });

    let (mut ours, mut theirs) = (Histogram::<u32>::new(), hdr::<u32>());
    for &value in &values[..MERGED] {
        ours.record(value);
        theirs.saturating_record(value);
    }
    let (mut our_total, mut their_total) = (Histogram::<u64>::new(), hdr::<u64>());
    let mut same_type = hdr::<u32>();
    report("merge an interval into totals of u64, ns", 1, |is_ours| {
        if is_ours {
            our_total.merge(black_box(&ours));
        } else {
            // Its `add` takes the same counters only.
            for cell in black_box(&theirs).iter_recorded() {
                let count = u64::from(cell.count_at_value());
                their_total.record_n(cell.value_iterated_to(), count).expect("a value within the bounds");
            }
        }
    });
    report("the same, its totals of u32 too, ns", 1, |is_ours| {
        if is_ours {
            our_total.merge(black_box(&ours));
        } else {
            same_type.add(black_box(&theirs)).expect("the same bounds");
        }
    });

    let (our_bytes, their_bytes) = (4 * CELLS, 4 * theirs.distinct_values());
    println!("\nmemory of u32 counters, bytes: loadcell {our_bytes}, hdrhistogram {their_bytes}");
    let exact = &values[..MERGED];
    let mean = exact.iter().sum::<u64>() as f64 / exact.len() as f64;
    println!("after a merge    {:>14} {:>14} {:>14}", "exact", "loadcell", "hdrhistogram");
    let (mut merged, mut their_merged) = (Histogram::<u64>::new(), hdr::<u32>());
    for part in exact.chunks(exact.len() / 4) {
        let (mut ours, mut theirs) = (Histogram::<u32>::new(), hdr::<u32>());
        for &value in part {
            ours.record(value);
            theirs.saturating_record(value);
        }
        merged.merge(&ours);
        their_merged.add(&theirs).expect("the same bounds");
    }
    let rows = [
        ("count", exact.len() as f64, merged.count() as f64, their_merged.len() as f64),
        (
            "minimum, ns",
            *exact.iter().min().unwrap_or(&0) as f64,
            merged.min() as f64,
            their_merged.min() as f64,
        ),
        (
            "maximum, ns",
            *exact.iter().max().unwrap_or(&0) as f64,
            merged.max() as f64,
            their_merged.max() as f64,
        ),
        ("mean, ns", mean, merged.mean(), their_merged.mean()),
    ];
    for (name, exact, ours, theirs) in rows {
        println!("{name:16} {exact:>14.1} {ours:>14.1} {theirs:>14.1}");
    }
    for quantile in [0.5, 0.99, 0.999] {
        let (ours, theirs) = (merged.quantile(quantile), their_merged.value_at_quantile(quantile));
        println!("p{:<15} {:>14} {ours:>14} {theirs:>14}", 100.0 * quantile, "");
    }
}

/// Lognormal times by the method of Box and Muller (1958).
fn values() -> Vec<u64> {
    let mut random = Random::stream(1, 0);
    let mut normal = || {
        let (radius, angle) = (random.unit(), random.unit());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    };
    (0..VALUES).map(|_| (MEDIAN_NS * (SIGMA * normal()).exp()) as u64).collect()
}

/// Print the median cost of `run(true)`, loadcell's, and `run(false)` per unit, and their ratio.
fn report(name: &str, units: usize, mut run: impl FnMut(bool)) {
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..2 * ROUNDS {
        let is_ours = (round + round / 2) % 2 == 0;
        let started = Instant::now();
        run(is_ours);
        costs[usize::from(!is_ours)].push(started.elapsed().as_nanos() as f64 / units as f64);
    }
    let [ours, theirs] = costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    });
    println!("{name:42} loadcell {ours:>10.2}  hdrhistogram {theirs:>10.2}  ratio {:.2}", ours / theirs);
}
