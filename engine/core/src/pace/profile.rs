//! Rate over time, and its integral: the number of requests offered until an instant.

/// Span of time in which the rate changes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSegment {
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub length_s: f64,
}

impl RateSegment {
    pub fn constant(rate_per_s: f64, length_s: f64) -> Self {
        Self { from_per_s: rate_per_s, to_per_s: rate_per_s, length_s }
    }

    /// Number of requests in the segment.
    fn count(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_s
    }

    /// Time in seconds until `count` requests are due: the root of `from x + (to - from) / (2 length) x^2 =
    /// count`, in the form that loses no digits where the rate hardly changes.
    fn time_of(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let growth = (self.to_per_s - self.from_per_s) / self.length_s;
        let root = (self.from_per_s * self.from_per_s + 2.0 * growth * count).max(0.0).sqrt();
        2.0 * count / (self.from_per_s + root)
    }
}

/// Consecutive segments. The final rate of the last one continues for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    segments: Vec<PlacedSegment>,
}

/// Segment with its start time, and the number of requests due before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PlacedSegment {
    segment: RateSegment,
    at_s: f64,
    count: f64,
}

impl Profile {
    pub fn new(segments: impl IntoIterator<Item = RateSegment>) -> Self {
        let (mut at_s, mut count, mut last) = (0.0, 0.0, 0.0);
        let mut begun = Vec::new();
        for segment in segments {
            begun.push(PlacedSegment { segment, at_s, count });
            at_s += segment.length_s;
            count += segment.count();
            last = segment.to_per_s;
        }
        begun.push(PlacedSegment { segment: RateSegment::constant(last, f64::INFINITY), at_s, count });
        Self { segments: begun }
    }

    /// Time in seconds at which `count` requests are due; infinite if that many never are. `from` is the
    /// index of the segment of an earlier, lower count, and becomes that of this count.
    pub fn time_of(&self, count: f64, from: &mut usize) -> f64 {
        while let Some(next) = self.segments.get(*from + 1).filter(|next| count >= next.count) {
            debug_assert!(next.at_s >= self.segments[*from].at_s);
            *from += 1;
        }
        let PlacedSegment { segment, at_s, count: before } = self.segments[*from];
        if segment.length_s.is_infinite() {
            return at_s + (count - before) / segment.from_per_s; // 0/0 is no instant, either.
        }
        at_s + segment.time_of(count - before).min(segment.length_s)
    }

    /// Number of requests due before `time_s`.
    #[cfg(test)]
    pub fn count_at(&self, time_s: f64) -> f64 {
        let PlacedSegment { segment, at_s, count } =
            *self.segments.iter().rev().find(|segment| segment.at_s <= time_s).unwrap();
        let x = time_s - at_s;
        let growth = if segment.length_s.is_finite() { segment.to_per_s - segment.from_per_s } else { 0.0 };
        count + segment.from_per_s * x + growth * x * x / (2.0 * segment.length_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(profile: &Profile, counts: &[f64]) -> Vec<f64> {
        let mut segment = 0;
        counts.iter().map(|&count| profile.time_of(count, &mut segment)).collect()
    }

    #[test]
    fn a_constant_rate_comes_evenly() {
        let profile = Profile::new([RateSegment::constant(4.0, 10.0)]);
        assert_eq!(times(&profile, &[0.0, 1.0, 2.0, 40.0, 400.0]), [0.0, 0.25, 0.5, 10.0, 100.0]);
    }

    #[test]
    fn steps_follow_on_each_other_and_the_last_one_stays() {
        let profile = Profile::new([RateSegment::constant(10.0, 2.0), RateSegment::constant(100.0, 1.0)]);
        assert_eq!(times(&profile, &[19.0, 20.0, 30.0, 120.0, 220.0]), [1.9, 2.0, 2.1, 3.0, 4.0]);
    }

    #[test]
    fn a_step_without_requests_is_a_pause() {
        let pause = Profile::new([
            RateSegment::constant(10.0, 1.0),
            RateSegment::constant(0.0, 5.0),
            RateSegment::constant(10.0, 1.0),
        ]);
        assert_eq!(times(&pause, &[9.0, 10.0, 11.0]), [0.9, 6.0, 6.1]);
        let end = Profile::new([RateSegment::constant(10.0, 1.0), RateSegment::constant(0.0, 1.0)]);
        let after = times(&end, &[9.0, 10.0, 11.0]);
        assert!(after[0] == 0.9 && !after[1].is_finite() && !after[2].is_finite(), "{after:?}");
    }

    #[test]
    fn a_ramp_is_undone_exactly_up_down_and_from_nothing() {
        for (from, to) in
            [(100.0, 5000.0), (5000.0, 100.0), (0.0, 1000.0), (1000.0, 0.0), (500.0, 500.000_001)]
        {
            let profile = Profile::new([
                RateSegment::constant(from, 3.0),
                RateSegment { from_per_s: from, to_per_s: to, length_s: 60.0 },
            ]);
            let mut segment = 0;
            for step in 1..6_000 {
                let time_s = 3.0 + f64::from(step) / 100.0;
                let back_s = profile.time_of(profile.count_at(time_s), &mut segment);
                assert!((back_s - time_s).abs() < 1e-9, "{from} to {to}: {time_s} s became {back_s} s");
            }
        }
    }
}
