//! The instants at which the requests of one thread are due.

use std::sync::Arc;

use super::Profile;
use crate::clock::Nanos;
use crate::random::Random;

/// Distribution of the gaps between requests at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// As from very many independent users: each gap is exponentially distributed, whatever was before.
    Poisson,
}

/// Share of a load's requests that belongs to one thread: that of its clients, `thread`, `thread + threads`,
/// ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleShare {
    pub thread: u32,
    pub threads: u32,
    pub clients: u32,
}

impl ScheduleShare {
    /// Number of clients of the thread.
    fn thread_clients(self) -> u32 {
        (self.clients - self.thread).div_ceil(self.threads)
    }
}

/// The streams of random numbers of schedules lie far from those of clients, which are numbered from 0.
const STREAM: u64 = 1 << 48;

/// Position in the schedule. A copy continues with the same instants.
///
/// Requests are placed on the axis of the expected count, where their rate is always 1, and each position is
/// converted to the instant at which the profile reaches it. On that axis constant arrivals are the integers,
/// of which each thread takes those of its clients (request k is client `k % clients`'s, in name only: any
/// client of the thread sends it), and together they are evenly spaced. Poisson arrivals of a thread have
/// exponential gaps whose mean is the inverse of its share; independent Poisson processes together are one of
/// the sum of their rates. (Time rescaling: Cinlar, Introduction to Stochastic Processes, 1975, ch. 4.7.)
#[derive(Clone, Debug)]
pub struct Schedule {
    profile: Arc<Profile>,
    origin: Nanos,
    /// Index of the profile's segment that contains `next`.
    segment: usize,
    positions: Positions,
    next: Nanos,
}

#[derive(Clone, Debug)]
enum Positions {
    Constant { share: ScheduleShare, taken: u64 },
    Poisson { random: Random, mean_gap: f64, position: f64 },
}

impl Positions {
    /// Next position on the axis.
    #[inline]
    fn next(&mut self) -> f64 {
        match self {
            Self::Constant { share, taken } => {
                let clients = u64::from(share.thread_clients());
                let (round, client) = (*taken / clients, *taken % clients);
                *taken += 1;
                let number = client * u64::from(share.threads) + u64::from(share.thread);
                (round * u64::from(share.clients) + number) as f64
            }
            Self::Poisson { random, mean_gap, position } => {
                *position -= (1.0 - random.unit()).ln() * *mean_gap;
                *position
            }
        }
    }
}

impl Schedule {
    /// The schedule of a thread from its first request on; `origin` is when the profile begins.
    pub fn new(
        profile: Arc<Profile>,
        origin: Nanos,
        arrivals: Arrivals,
        share: ScheduleShare,
        seed: u64,
    ) -> Self {
        let positions = match arrivals {
            Arrivals::Constant => Positions::Constant { share, taken: 0 },
            Arrivals::Poisson => Positions::Poisson {
                random: Random::stream(seed, STREAM + u64::from(share.thread)),
                mean_gap: f64::from(share.clients) / f64::from(share.thread_clients()),
                position: 0.0,
            },
        };
        let mut schedule = Self { profile, origin, segment: 0, positions, next: 0 };
        schedule.advance();
        schedule
    }

    /// When the next request is due; `Nanos::MAX` if none will ever be.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Advances to the request after that.
    #[inline]
    pub fn advance(&mut self) {
        let time_ns = self.profile.time_of(self.positions.next(), &mut self.segment) * 1e9;
        // What is infinite, or later than anything, never comes.
        self.next =
            if time_ns < FAR { self.origin.saturating_add(time_ns.round() as Nanos) } else { Nanos::MAX };
    }
}

/// A century: no load lasts longer, and no sum of instants overflows.
const FAR: f64 = 100.0 * 366.0 * 86_400.0 * 1e9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::pace::RateSegment;

    const ORIGIN: Nanos = 77 * SECOND;

    fn profile(segments: &[RateSegment]) -> Arc<Profile> {
        Arc::new(Profile::new(segments.iter().copied()))
    }

    /// The instants of all threads together before `end_s`, in order, relative to the origin.
    fn all_instants(
        profile: &Arc<Profile>,
        arrivals: Arrivals,
        threads: u32,
        clients: u32,
        end_s: f64,
    ) -> Vec<Nanos> {
        let end = ORIGIN + (end_s * 1e9) as Nanos;
        let mut instants = Vec::new();
        for thread in 0..threads {
            let share = ScheduleShare { thread, threads, clients };
            let mut schedule = Schedule::new(profile.clone(), ORIGIN, arrivals, share, 12);
            while schedule.next() < end {
                instants.push(schedule.next() - ORIGIN);
                schedule.advance();
            }
        }
        instants.sort_unstable();
        instants
    }

    /// Kolmogorov's statistic, `sqrt(n) D`, of values that should be uniform in 0..1. 1.95 is passed by
    /// chance once in 1000 (Kolmogorov 1933).
    fn kolmogorov(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let distance = values
            .iter()
            .enumerate()
            .map(|(rank, value)| (value - rank as f64 / n).abs().max((value - (rank + 1) as f64 / n).abs()))
            .fold(0.0, f64::max);
        distance * n.sqrt()
    }

    fn gaps(instants: &[Nanos]) -> Vec<f64> {
        instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect()
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced_over_all_threads() {
        let rate = 2_000.0;
        for (threads, clients) in [(1, 1), (1, 8), (2, 16), (3, 7), (4, 5)] {
            let all = all_instants(
                &profile(&[RateSegment::constant(rate, 9.0)]),
                Arrivals::Constant,
                threads,
                clients,
                10.0,
            );
            assert_eq!(all.len(), 20_000, "{threads} threads, {clients} clients");
            for (number, &instant) in all.iter().enumerate() {
                assert_eq!(instant, number as Nanos * 500_000);
            }
        }
    }

    #[test]
    fn a_threads_share_is_its_share_of_the_clients() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let counts: Vec<usize> = (0..3)
                .map(|thread| {
                    let share = ScheduleShare { thread, threads: 3, clients: 7 };
                    let profile = profile(&[RateSegment::constant(7_000.0, 1.0)]);
                    let mut schedule = Schedule::new(profile, 0, arrivals, share, 3);
                    let mut count = 0;
                    while schedule.next() < 10 * SECOND {
                        count += 1;
                        schedule.advance();
                    }
                    count
                })
                .collect();
            for (count, expected) in counts.iter().zip([30_000.0, 20_000.0, 20_000.0f64]) {
                // Of a Poisson process the count's deviation is its root; 4 of it are passed once in 16,000.
                let allowed = if arrivals == Arrivals::Constant { 0.0 } else { 4.0 * expected.sqrt() };
                assert!((*count as f64 - expected).abs() <= allowed, "{arrivals:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn poisson_gaps_are_exponential_over_all_threads_and_in_each() {
        let rate = 1_000.0;
        for (threads, clients) in [(1, 4), (2, 16), (3, 7)] {
            let all = all_instants(
                &profile(&[RateSegment::constant(rate, 1.0)]),
                Arrivals::Poisson,
                threads,
                clients,
                100.0,
            );
            let uniform = gaps(&all).iter().map(|gap| 1.0 - (-gap * rate).exp()).collect();
            let distance = kolmogorov(uniform);
            assert!(distance < 1.95, "{threads} threads, {clients} clients: {distance}");
            // The count of a second is Poisson: as many on average as its variance.
            let mut counts = vec![0.0; 100];
            all.iter().for_each(|&instant| counts[(instant / SECOND) as usize] += 1.0);
            let mean = counts.iter().sum::<f64>() / 100.0;
            let dispersion = counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / mean;
            // Chi-square with 99 degrees of freedom: 54.9 to 158 holds 998 of 1000.
            assert!((54.9..158.0).contains(&dispersion), "{threads} threads: dispersion {dispersion}");
            assert!((mean - rate).abs() < 4.0 * (rate / 100.0).sqrt(), "{mean} a second");
        }
    }

    #[test]
    fn poisson_gaps_do_not_depend_on_the_gap_before() {
        let all =
            all_instants(&profile(&[RateSegment::constant(1_000.0, 1.0)]), Arrivals::Poisson, 2, 2, 100.0);
        let gaps = gaps(&all);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let following = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        // An autocorrelation of independent values has deviation 1 / sqrt(n).
        assert!((following / variance).abs() < 4.0 / (gaps.len() as f64).sqrt());
    }

    #[test]
    fn a_poisson_ramp_is_a_poisson_process_on_the_axis_of_the_expected_count() {
        let ramp = profile(&[RateSegment { from_per_s: 100.0, to_per_s: 3_000.0, length_s: 60.0 }]);
        let all = all_instants(&ramp, Arrivals::Poisson, 2, 6, 60.0);
        let positions: Vec<f64> = all.iter().map(|&instant| ramp.count_at(instant as f64 / 1e9)).collect();
        let uniform = positions.windows(2).map(|pair| 1.0 - (pair[0] - pair[1]).exp()).collect();
        let distance = kolmogorov(uniform);
        assert!(distance < 1.95, "{distance}");
        assert!((all.len() as f64 - 93_000.0).abs() < 4.0 * 93_000f64.sqrt());
    }

    #[test]
    fn a_constant_ramp_gives_every_second_its_number_of_requests() {
        let ramp = profile(&[RateSegment { from_per_s: 100.0, to_per_s: 1_100.0, length_s: 10.0 }]);
        let all = all_instants(&ramp, Arrivals::Constant, 2, 4, 12.0);
        let count =
            |from: u64, to: u64| all.iter().filter(|&&t| (from * SECOND..to * SECOND).contains(&t)).count();
        for second in 0..10 {
            assert!(count(second, second + 1).abs_diff(150 + 100 * second as usize) <= 1, "second {second}");
        }
        assert!(count(10, 12).abs_diff(2_200) <= 1);
    }

    #[test]
    fn a_copy_goes_the_same_way_and_another_seed_another() {
        let share = ScheduleShare { thread: 1, threads: 2, clients: 4 };
        let make = |seed| {
            Schedule::new(profile(&[RateSegment::constant(50.0, 1.0)]), 0, Arrivals::Poisson, share, seed)
        };
        let take = |mut schedule: Schedule| {
            let mut instants = Vec::new();
            for _ in 0..50 {
                instants.push(schedule.next());
                schedule.advance();
            }
            instants
        };
        let mut schedule = make(5);
        schedule.advance();
        assert_eq!(take(schedule.clone()), take(schedule));
        assert_eq!(take(make(5)), take(make(5)));
        assert_ne!(take(make(5)), take(make(6)));
    }

    #[test]
    fn instants_stay_exact_for_months() {
        let share = ScheduleShare { thread: 0, threads: 1, clients: 1 };
        let mut schedule =
            Schedule::new(profile(&[RateSegment::constant(1_000.0, 1.0)]), 0, Arrivals::Constant, share, 0);
        let Positions::Constant { taken, .. } = &mut schedule.positions else { unreachable!("constant") };
        *taken = 100 * 86_400 * 1_000 + 7;
        schedule.advance();
        assert!(schedule.next().abs_diff(100 * 86_400 * SECOND + 7 * SECOND / 1_000) <= 2);
    }

    #[test]
    fn after_the_last_request_none_is_due() {
        let share = ScheduleShare { thread: 0, threads: 1, clients: 1 };
        let ending = profile(&[RateSegment::constant(2.0, 1.0), RateSegment::constant(0.0, 1.0)]);
        let mut schedule = Schedule::new(ending, 0, Arrivals::Constant, share, 0);
        schedule.advance();
        assert_eq!(schedule.next(), SECOND / 2);
        schedule.advance();
        assert_eq!(schedule.next(), Nanos::MAX);
    }
}
