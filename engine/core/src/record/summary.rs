//! Summary of a histogram: count, mean, extremes and percentiles.

use serde::{Deserialize, Serialize};

use super::histogram::{Count, Histogram};
use crate::clock::Nanos;

/// Summary for an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub count: u64,
    pub mean_ns: f64,
    pub min_ns: Nanos,
    pub max_ns: Nanos,
    pub p50_ns: Nanos,
    pub p90_ns: Nanos,
    pub p95_ns: Nanos,
    pub p99_ns: Nanos,
    pub p999_ns: Nanos,
}

impl Quantiles {
    /// Summary of `histogram`; none if it is empty.
    pub fn of<C: Count>(histogram: &Histogram<C>) -> Option<Self> {
        (histogram.count() > 0).then(|| Self {
            count: histogram.count(),
            mean_ns: histogram.mean(),
            min_ns: histogram.min(),
            max_ns: histogram.max(),
            p50_ns: histogram.quantile(0.5),
            p90_ns: histogram.quantile(0.9),
            p95_ns: histogram.quantile(0.95),
            p99_ns: histogram.quantile(0.99),
            p999_ns: histogram.quantile(0.999),
        })
    }
}

/// Summary for the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    #[serde(flatten)]
    pub quantiles: Quantiles,
    pub stdev_ns: f64,
    pub p9999_ns: Nanos,
}

impl LatencySummary {
    /// Summary of `histogram`; none if it is empty.
    pub fn of<C: Count>(histogram: &Histogram<C>) -> Option<Self> {
        Some(Self {
            quantiles: Quantiles::of(histogram)?,
            stdev_ns: histogram.stdev(),
            p9999_ns: histogram.quantile(0.9999),
        })
    }
}
