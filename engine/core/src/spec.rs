//! Specification of one load or one preparation (JSON), and its validation.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::clock::{Nanos, SECOND};
use crate::error::{SpecError, within};
use crate::pace::{Arrivals, RateSegment};
use crate::target::{Protocol, SslMode, Target};

impl Load {
    /// True if the measurement ends after a number of transactions.
    pub fn is_bounded(&self) -> bool {
        self.requests.or(self.requests_per_client).is_some()
    }

    /// Number of transactions of a bounded load, of all clients together.
    pub fn bound(&self) -> Option<u64> {
        self.requests.or(self.requests_per_client.map(|count| count * u64::from(self.clients)))
    }
}

/// Reads the section of a specification at `path`. Python has validated the values.
pub fn section<O: DeserializeOwned>(path: &str, section: &Value) -> Result<O, SpecError> {
    O::deserialize(section).map_err(|error| SpecError::unreadable(path, &error))
}

/// Intensity and duration of a load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub clients: u32,
    pub threads: u32,
    pub warmup_ns: Nanos,
    /// Duration of the measurement; of a bounded load, its time limit.
    pub duration_ns: Nanos,
    /// Bounds of the measurement in transactions, failed ones included: of all clients together, or of each.
    pub requests: Option<u64>,
    pub requests_per_client: Option<u64>,
    pub interval_ns: Nanos,
    /// Time limit for transactions in progress at the end.
    pub drain_ns: Nanos,
    /// Time limit of a transaction from its start; after it the transaction fails, and its client reconnects.
    pub timeout_ns: Option<Nanos>,
    /// Time without any connection after which the load is aborted.
    pub lost_ns: Nanos,
    pub max_retries: u32,
    /// An armed load connects, reports `ready`, and begins at an instant that is given then, this long after
    /// `ready` at the latest. None: the load begins once all clients are connected.
    pub armed_ns: Option<Nanos>,
    /// Records a timeline of completions and the slow requests.
    #[serde(default)]
    pub timeline: bool,
    /// An open loop: when requests are due. None makes a closed loop.
    pub schedule: Option<Schedule>,
}

/// When requests are due, whether or not a client is free.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    pub arrivals: Arrivals,
    /// Rate from the start of the measurement on, in consecutive segments. The final rate of the last one
    /// continues; the warm-up has the initial rate of the first one.
    pub rate: Vec<Stretch>,
    /// The load is aborted when a request is overdue for longer than this and the backlog still grows.
    pub most_overdue_ns: Nanos,
    /// Seed of the specification, for random instants.
    #[serde(skip)]
    pub seed: u64,
}

/// Span of `for_ns` in which the rate changes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub for_ns: Nanos,
}

impl Schedule {
    pub fn segments(&self) -> Vec<RateSegment> {
        let piece = |stretch: &Stretch| RateSegment {
            from_per_s: stretch.from_per_s,
            to_per_s: stretch.to_per_s,
            length_s: stretch.for_ns as f64 / SECOND as f64,
        };
        self.rate.iter().map(piece).collect()
    }
}

/// One load, or one preparation of data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub version: u32,
    pub seed: u64,
    pub target: Target,
    /// `{"sysbench": {...}}`: the one key names the workload, which reads the rest itself.
    pub workload: Value,
    pub load: Load,
}

impl Spec {
    /// Reads and validates a specification.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let mut spec: Self = serde_json::from_str(text).map_err(|error| SpecError::unreadable("", &error))?;
        spec.check()?;
        if let Some(schedule) = &mut spec.load.schedule {
            schedule.seed = spec.seed;
        }
        if matches!(spec.target.protocol, Protocol::Host | Protocol::Stream) {
            spec.load.lost_ns = 0; // A lost probe does not come back, nor does a stream.
        }
        if spec.target.socket_path().is_some() {
            spec.target.sslmode = SslMode::Disable; // As with libpq: a Unix socket needs none.
        }
        Ok(spec)
    }

    /// Name of the workload, and its section.
    pub fn workload(&self) -> (&str, &Value) {
        let only = self.workload.as_object().and_then(|object| object.iter().next());
        only.map_or(("", &Value::Null), |(name, section)| (name, section))
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.version != VERSION {
            let versions = json!({"found": self.version, "expected": VERSION});
            return Err(SpecError::new("engine.spec.version", "version", versions));
        }
        // The engine divides by these.
        within("load.clients", self.load.clients, 1..=u32::MAX)?;
        within("load.threads", self.load.threads, 1..=u32::MAX)?;
        within("load.interval_ns", self.load.interval_ns, 1..=Nanos::MAX)
    }
}

const VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"version":1,"seed":5,
        "target":{"protocol":"postgres","host":"db","user":"u","database":"d","sslmode":"verify-full"},
        "workload":{"sysbench":{"script":"oltp_read_only"}},
        "load":{"clients":16,"threads":2,"duration_ns":5000000000}}"#;

    fn read(text: &str) -> Result<Spec, SpecError> {
        Spec::read(&loadcell_testing::text(text))
    }

    fn finding(from: &str, to: &str) -> String {
        assert!(EXAMPLE.contains(from));
        let error = read(&EXAMPLE.replacen(from, to, 1)).unwrap_err();
        format!("{} {}: {}", error.code, error.path, error.arguments)
    }

    #[test]
    fn a_specification_has_one_workload_and_the_port_of_its_protocol() {
        let spec = read(EXAMPLE).unwrap();
        assert_eq!((spec.target.port(), spec.target.sslmode), (5432, SslMode::VerifyFull));
        assert_eq!(spec.workload().0, "sysbench");
        assert_eq!(spec.load.schedule, None);
    }

    #[test]
    fn a_schedule_has_the_seed_of_its_specification() {
        let schedule = r#""threads":2,"schedule":{"arrivals":"poisson","rate":[
            {"from_per_s":100,"to_per_s":100,"for_ns":1000000000},
            {"from_per_s":100,"to_per_s":900.5,"for_ns":500}]}"#;
        let schedule = read(&EXAMPLE.replace("\"threads\":2", schedule)).unwrap().load.schedule.unwrap();
        assert_eq!(
            (schedule.arrivals, schedule.seed, schedule.most_overdue_ns),
            (Arrivals::Poisson, 5, 5 * SECOND)
        );
        let last = RateSegment { from_per_s: 100.0, to_per_s: 900.5, length_s: 5e-7 };
        assert_eq!(schedule.segments(), [RateSegment::constant(100.0, 1.0), last]);
    }

    #[test]
    fn invalid_values_are_named() {
        assert!(finding("\"version\":1", "\"version\":2").contains(r#"{"expected":1,"found":2}"#));
        assert!(finding("postgres", "oracle").contains("unknown variant `oracle`"));
        assert!(finding("\"clients\":16", "\"clients\":0").contains("value load.clients"));
        assert!(finding("\"clients\":16,", "").contains("missing field `clients`"));
        assert!(Spec::read(EXAMPLE).unwrap_err().to_string().contains("missing field"));
        assert!(finding("\"threads\":2", "\"thread\":2").contains("unknown field `thread`"));
        assert!(finding("\"threads\":2", "\"interval_ns\":0").contains("load.interval_ns"));
        assert!(finding("verify-full", "always").contains("unknown variant `always`"));
        let schedule = |rate: &str| finding("\"threads\":2", &format!("\"schedule\":{{\"rate\":[{rate}]}}"));
        assert!(schedule("{\"from_per_s\":5}").contains("missing field `to_per_s`"));
        assert!(finding("{\"version\"", "[\"version\"").contains("unreadable"));
    }

    #[test]
    fn a_unix_socket_is_never_secured() {
        let spec = read(&EXAMPLE.replacen("\"host\":\"db\"", "\"socket\":\"/run/x\"", 1)).unwrap();
        assert_eq!(spec.target.sslmode, SslMode::Disable);
    }
}
