//! Effects of faults on the connections that the proxy carries, and their combination.

use std::sync::Arc;

use serde::Deserialize;

use crate::link::Link;
use loadcell_core::clock::Nanos;
use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::target::Target;
use loadcell_transport::{Address, Endpoint};

/// Direction of bytes: index of a flow, and of the end that it begins at.
pub const TO_SERVER: usize = 0;
pub const TO_CLIENT: usize = 1;

/// Directions that an effect is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    ToServer,
    ToClient,
    Both,
}

impl Direction {
    fn flows(self) -> &'static [usize] {
        match self {
            Self::ToServer => &[TO_SERVER],
            Self::ToClient => &[TO_CLIENT],
            Self::Both => &[TO_SERVER, TO_CLIENT],
        }
    }
}

/// Effect of a fault, as long as it lasts.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// Bytes arrive later by `time_ns`, give or take `jitter_ns`, and in their order.
    Delay { time_ns: Nanos, jitter_ns: Nanos, direction: Direction },
    /// All connections together get `bytes_per_s` in a direction.
    Bandwidth { bytes_per_s: u64, direction: Direction },
    /// Connections are reset, new ones too.
    Reset {},
    /// Nothing listens.
    Refuse {},
    /// Bytes are swallowed; connections stay open.
    Blackhole {},
    /// Requests of HTTP/1.1 are answered with `status`, each with the probability `share`.
    #[serde(rename = "http-5xx")]
    HttpError { share: f64, status: u16 },
    /// A connection is closed after `bytes` of a response.
    Truncate { bytes: u64 },
    /// Open connections are reset, and new ones are carried to another target.
    Redirect { target: Box<Target> },
}

/// The longest delay: later bytes would wait for longer than any load lasts.
const MAX_DELAY: Nanos = 3_600_000_000_000;

impl Effect {
    /// Check the values, which would make no sense otherwise.
    pub fn check(&self) -> Result<(), SpecError> {
        match *self {
            Self::Delay { time_ns, jitter_ns, .. } if time_ns > MAX_DELAY || jitter_ns > time_ns => {
                Err(SpecError::value("delay", [time_ns, jitter_ns]))
            }
            Self::Bandwidth { bytes_per_s: 0, .. } => Err(SpecError::value("bandwidth", 0)),
            Self::HttpError { share, status } if !(0.0..=1.0).contains(&share) || status / 100 != 5 => {
                Err(SpecError::value("http-5xx", (share, status)))
            }
            _ => Ok(()),
        }
    }
}

/// A delay of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Delay {
    pub time: Nanos,
    pub jitter: Nanos,
}

/// Responses of the proxy's own in place of the server's.
#[derive(Clone, Copy, Debug)]
pub struct HttpError {
    pub share: f64,
    pub status: u16,
}

/// An effect that lasts, with the links that all threads share.
#[derive(Clone, Debug)]
pub struct Lasting {
    pub number: u64,
    effect: Effect,
    links: [Option<Arc<Link>>; 2],
    upstream: Option<Arc<[Address]>>,
}

impl Lasting {
    /// Resolve what the effect names.
    pub fn new(number: u64, effect: Effect) -> Result<Self, LoadError> {
        let (mut links, mut upstream) = ([None, None], None);
        match &effect {
            &Effect::Bandwidth { bytes_per_s, direction } => {
                for &flow in direction.flows() {
                    links[flow] = Some(Arc::new(Link::new(bytes_per_s)));
                }
            }
            Effect::Redirect { target } => upstream = Some(Endpoint::of(target)?.addresses.into()),
            _ => {}
        }
        Ok(Self { number, effect, links, upstream })
    }
}

/// Addresses that new connections are carried to, by the effect of this number.
#[derive(Clone, Debug)]
pub struct Redirection {
    pub number: u64,
    pub upstream: Arc<[Address]>,
}

/// All effects that last at a time. Of two of one kind, the later one counts.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Number of changes before this one.
    pub epoch: u64,
    pub delay: [Option<Delay>; 2],
    pub link: [Option<Arc<Link>>; 2],
    pub reset: bool,
    pub refuse: bool,
    pub blackhole: bool,
    pub http_error: Option<HttpError>,
    pub truncate: Option<u64>,
    pub redirection: Option<Redirection>,
}

impl Effects {
    pub fn of(lasting: &[Lasting], epoch: u64) -> Self {
        let mut effects = Self { epoch, ..Self::default() };
        for Lasting { number, effect, links, upstream } in lasting {
            match *effect {
                Effect::Delay { time_ns, jitter_ns, direction } => {
                    for &flow in direction.flows() {
                        effects.delay[flow] = Some(Delay { time: time_ns, jitter: jitter_ns });
                    }
                }
                Effect::Bandwidth { direction, .. } => {
                    for &flow in direction.flows() {
                        effects.link[flow].clone_from(&links[flow]);
                    }
                }
                Effect::Reset {} => effects.reset = true,
                Effect::Refuse {} => effects.refuse = true,
                Effect::Blackhole {} => effects.blackhole = true,
                Effect::HttpError { share, status } => effects.http_error = Some(HttpError { share, status }),
                Effect::Truncate { bytes } => effects.truncate = Some(bytes),
                Effect::Redirect { .. } => {
                    let redirection = |upstream| Redirection { number: *number, upstream };
                    effects.redirection = upstream.clone().map(redirection);
                }
            }
        }
        effects
    }

    /// True if connections that were made under `before` lead elsewhere than those that are made now.
    pub fn leads_elsewhere(&self, before: &Self) -> bool {
        let number = |effects: &Self| effects.redirection.as_ref().map(|redirection| redirection.number);
        number(self) != number(before)
    }

    /// True if bytes of a direction are held back.
    pub fn holds(&self, flow: usize) -> bool {
        self.delay[flow].is_some() || self.link[flow].is_some()
    }

    /// True if bytes of a direction are passed on as they are.
    pub fn is_plain(&self, flow: usize) -> bool {
        !self.holds(flow) && !self.blackhole && self.http_error.is_none() && self.truncate.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(text: &str) -> Result<Effect, String> {
        let effect: Effect = serde_json::from_str(text).map_err(|error| error.to_string())?;
        effect.check().map(|()| effect).map_err(|error| error.to_string())
    }

    #[test]
    fn an_effect_is_read_with_its_values() {
        let delay = r#"{"delay": {"time_ns": 5, "jitter_ns": 1, "direction": "to-client"}}"#;
        assert!(matches!(
            effect(delay),
            Ok(Effect::Delay { time_ns: 5, jitter_ns: 1, direction: Direction::ToClient })
        ));
        assert!(matches!(effect(r#"{"reset": {}}"#), Ok(Effect::Reset {})));
        for wrong in [
            r#"{"delay": {"time_ns": 1, "jitter_ns": 2, "direction": "both"}}"#,
            r#"{"bandwidth": {"bytes_per_s": 0, "direction": "both"}}"#,
            r#"{"http-5xx": {"share": 1.5, "status": 503}}"#,
            r#"{"http-5xx": {"share": 0.5, "status": 404}}"#,
            r#"{"flood": {}}"#,
        ] {
            assert!(effect(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_later_of_two_effects_counts_and_the_earlier_one_after_it() {
        let delay = |time_ns, direction| Effect::Delay { time_ns, jitter_ns: 0, direction };
        let first = Lasting::new(1, delay(10, Direction::Both)).unwrap();
        let second = Lasting::new(2, delay(20, Direction::ToClient)).unwrap();
        let times = |lasting: &[Lasting]| {
            let effects = Effects::of(lasting, 0);
            [TO_SERVER, TO_CLIENT].map(|flow| effects.delay[flow].map_or(0, |delay| delay.time))
        };
        assert_eq!(times(&[first.clone(), second]), [10, 20]);
        assert_eq!(times(&[first]), [10, 10]);
        assert_eq!(times(&[]), [0, 0]);
        assert!(Effects::of(&[], 0).is_plain(TO_CLIENT));
    }
}
