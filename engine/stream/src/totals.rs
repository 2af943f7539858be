//! Counts of a load beyond those of transactions.

use std::ops::AddAssign;

use loadcell_core::clock::{MILLISECOND, Nanos};

use super::options::{Answers, Order};

/// Counts of one connection, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    pub sent_records: u64,
    pub sent_bytes: u64,
    pub judged: Judged,
    /// Time in which data were ready and the socket took none.
    pub blocked_ns: Nanos,
    pub unacknowledged: Samples,
    pub outstanding_max: u64,
    /// When the first record of the measurement was offered to the kernel.
    pub first_sent: Option<Nanos>,
}

/// Findings of a judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub lost: u64,
    pub duplicated: u64,
    /// Answers to abandoned records.
    pub late: u64,
    pub reordered: u64,
    pub unknown: u64,
    /// Records with a result.
    pub results: u64,
    /// Records that were acknowledged and not sent.
    pub overacknowledged: u64,
    /// End of the last record that succeeded; 0 without one.
    pub last_success: Nanos,
}

/// Samples of a number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Maximum, and mean of the samples; of several connections the sums of theirs.
    max: u64,
    mean: f64,
    count: u64,
}

impl Samples {
    pub fn add(&mut self, bytes: u64) {
        self.max = self.max.max(bytes);
        self.count += 1;
        self.mean += (bytes as f64 - self.mean) / self.count as f64;
    }
}

impl AddAssign for Judged {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.late += other.late;
        self.reordered += other.reordered;
        self.unknown += other.unknown;
        self.results += other.results;
        self.overacknowledged += other.overacknowledged;
        self.last_success = self.last_success.max(other.last_success);
    }
}

impl Totals {
    /// Adds those of another connection.
    pub fn merge(&mut self, other: &Self) {
        self.sent_records += other.sent_records;
        self.sent_bytes += other.sent_bytes;
        self.judged += other.judged;
        self.blocked_ns += other.blocked_ns;
        self.unacknowledged.max += other.unacknowledged.max;
        self.unacknowledged.mean += other.unacknowledged.mean;
        self.outstanding_max += other.outstanding_max;
        self.first_sent = self.first_sent.into_iter().chain(other.first_sent).min();
    }

    /// Metrics of a measurement of `duration_s` with this number of connections; times in ms.
    pub fn metrics(
        &self,
        answers: Answers,
        order: Order,
        clients: u32,
        duration_s: f64,
    ) -> Vec<(&'static str, f64)> {
        let ms = |nanos: Nanos| nanos as f64 / MILLISECOND as f64;
        let blocked_ms = ms(self.blocked_ns);
        let mut metrics = vec![
            ("stream.sent", self.sent_records as f64),
            ("stream.sent_bytes", self.sent_bytes as f64),
            ("stream.blocked_time", blocked_ms),
            ("stream.unacknowledged.max", self.unacknowledged.max as f64),
            ("stream.unacknowledged.mean", self.unacknowledged.mean),
        ];
        let last_success = self.judged.last_success;
        if let Some(first_sent) = self.first_sent.filter(|first| *first <= last_success) {
            metrics.push(("stream.run_time", ms(last_success - first_sent)));
        }
        if duration_s > 0.0 {
            metrics.push(("stream.blocked_share", blocked_ms / (1e3 * duration_s * f64::from(clients))));
        }
        let judged = &self.judged;
        if answers != Answers::None {
            metrics.push(("stream.outstanding.max", self.outstanding_max as f64));
            metrics.push(("stream.lost", judged.lost as f64));
        }
        match answers {
            Answers::None => {}
            Answers::Count => metrics.push(("stream.overacknowledged", judged.overacknowledged as f64)),
            Answers::Each => metrics.extend([
                ("stream.duplicated", judged.duplicated as f64),
                ("stream.late", judged.late as f64),
                ("stream.unknown", judged.unknown as f64),
                ("stream.results", judged.results as f64),
            ]),
        }
        if order != Order::None {
            metrics.push(("stream.reordered", judged.reordered as f64));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use loadcell_core::clock::SECOND;

    use super::*;

    #[test]
    fn totals_of_connections_add_up() {
        let mut samples = Samples::default();
        [10, 30, 20].into_iter().for_each(|bytes| samples.add(bytes));
        let first = Totals {
            sent_records: 5,
            blocked_ns: SECOND,
            unacknowledged: samples,
            first_sent: Some(3 * SECOND),
            judged: Judged { lost: 2, last_success: 4 * SECOND, ..Judged::default() },
            ..Totals::default()
        };
        let mut all = Totals::default();
        all.merge(&first);
        let judged = Judged { last_success: 3 * SECOND, ..first.judged };
        all.merge(&Totals { first_sent: Some(2 * SECOND), judged, ..first.clone() });
        let metrics = all.metrics(Answers::Each, Order::All, 2, 4.0);
        let of = |name: &str| metrics.iter().find(|(present, _)| *present == name).map(|(_, value)| *value);
        assert_eq!((of("stream.sent"), of("stream.lost")), (Some(10.0), Some(4.0)));
        assert_eq!((of("stream.blocked_time"), of("stream.blocked_share")), (Some(2e3), Some(0.25)));
        assert_eq!(of("stream.run_time"), Some(2e3));
        assert_eq!(of("stream.unacknowledged.max"), Some(60.0));
        assert_eq!(of("stream.unacknowledged.mean"), Some(40.0));
        assert_eq!(of("stream.overacknowledged"), None);
        assert_eq!((of("stream.reordered"), of("stream.duplicated")), (Some(0.0), Some(0.0)));
        let without = |answers, name| {
            let metrics = all.metrics(answers, Order::None, 2, 4.0);
            metrics.iter().all(|(present, _)| *present != name)
        };
        assert!(without(Answers::None, "stream.lost"));
        assert!(without(Answers::Each, "stream.reordered"), "it is not judged, and not 0");
    }
}
