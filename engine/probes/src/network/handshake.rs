//! Handshake between a client and `loadcell host --serve`.
//!
//! A connection starts with a hello of 20 bytes: magic, version, test, request and response length. The
//! server answers with 12 bytes, except where a connection is a single transaction (`crr`): then the request
//! follows the hello directly, and the response is the answer. A test starts with a greeting on a separate
//! connection.

use serde::Deserialize;

/// Start of both messages.
const MAGIC: [u8; 8] = *b"loadcell";
/// To be incremented with any change of the format.
pub const VERSION: u16 = 1;
pub const HELLO_BYTES: usize = 20;
pub const ANSWER_BYTES: usize = 12;
/// Maximum length of requests and responses in bytes. They are processed in pieces, without buffers of that
/// size.
pub const LONGEST: u32 = 16 << 20;

/// Purpose of a connection; tests have netperf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// Check of compatibility.
    #[serde(skip)]
    Greeting = 0,
    /// Repeated requests and responses.
    Rr = 1,
    /// One request and its response.
    Crr = 2,
    /// Bytes in one direction; the server reports the number received.
    Stream = 3,
}

/// The `network` section of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub test: Test,
    pub request_bytes: u32,
    pub response_bytes: u32,
    /// Size of a stream's writes in bytes.
    pub block_bytes: u32,
}

impl Options {
    pub fn hello(&self) -> Hello {
        Hello { test: self.test, request: self.request_bytes, response: self.response_bytes }
    }
}

/// First message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub test: Test,
    pub request: u32,
    pub response: u32,
}

/// Answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Welcome = 0,
    /// It has another version.
    Version = 1,
    /// Its connection limit is reached.
    Full = 2,
    /// Unknown test, or too long requests or responses.
    Unknown = 3,
}

impl Hello {
    pub fn encode(self) -> [u8; HELLO_BYTES] {
        let mut out = [0; HELLO_BYTES];
        out[..8].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&VERSION.to_be_bytes());
        out[10] = self.test as u8;
        out[12..16].copy_from_slice(&self.request.to_be_bytes());
        out[16..].copy_from_slice(&self.response.to_be_bytes());
        out
    }

    /// Decode a hello. `None` from an unrelated client, which gets no answer; `Err` with the answer if the
    /// test cannot run.
    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Option<Result<Self, Answer>> {
        if bytes[..8] != MAGIC {
            return None;
        }
        if bytes[8..10] != VERSION.to_be_bytes() {
            return Some(Err(Answer::Version));
        }
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let test = match bytes[10] {
            0 => Test::Greeting,
            1 => Test::Rr,
            2 => Test::Crr,
            3 => Test::Stream,
            _ => return Some(Err(Answer::Unknown)),
        };
        let hello = Self { test, request: number(12), response: number(16) };
        let sane = |length: u32| (1..=LONGEST).contains(&length);
        Some(if sane(hello.request) && sane(hello.response) { Ok(hello) } else { Err(Answer::Unknown) })
    }
}

impl Answer {
    pub fn encode(self) -> [u8; ANSWER_BYTES] {
        let mut out = [0; ANSWER_BYTES];
        out[..8].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&VERSION.to_be_bytes());
        out[10] = self as u8;
        out
    }

    /// Decode an answer and its version. `None` from an unrelated server.
    pub fn decode(bytes: &[u8; ANSWER_BYTES]) -> Option<(Self, u16)> {
        if bytes[..8] != MAGIC {
            return None;
        }
        let version = u16::from_be_bytes([bytes[8], bytes[9]]);
        let answer = match bytes[10] {
            _ if version != VERSION => Self::Version,
            0 => Self::Welcome,
            1 => Self::Version,
            2 => Self::Full,
            _ => Self::Unknown,
        };
        Some((answer, version))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HELLO: Hello = Hello { test: Test::Crr, request: 4096, response: 1024 };

    #[test]
    fn messages_round_trip() {
        for test in [Test::Greeting, Test::Rr, Test::Crr, Test::Stream] {
            let hello = Hello { test, ..HELLO };
            assert_eq!(Hello::decode(&hello.encode()), Some(Ok(hello)));
        }
        for answer in [Answer::Welcome, Answer::Version, Answer::Full, Answer::Unknown] {
            assert_eq!(Answer::decode(&answer.encode()), Some((answer, VERSION)));
        }
    }

    #[test]
    fn unrelated_and_incompatible_peers_are_distinguished() {
        let changed = |at: usize, to: u8| {
            let mut bytes = HELLO.encode();
            bytes[at] = to;
            Hello::decode(&bytes)
        };
        assert_eq!(changed(0, b'L'), None);
        assert_eq!(changed(9, 2), Some(Err(Answer::Version)));
        assert_eq!(changed(10, 4), Some(Err(Answer::Unknown)));
        assert_eq!(changed(12, 200), Some(Err(Answer::Unknown)), "three gigabytes");
        let none = Hello { response: 0, ..HELLO };
        assert_eq!(Hello::decode(&none.encode()), Some(Err(Answer::Unknown)));
        let mut other = Answer::Welcome.encode();
        other[9] = 7;
        assert_eq!(Answer::decode(&other), Some((Answer::Version, 7)));
        assert_eq!(Answer::decode(b"HTTP/1.1 400"), None);
    }

    proptest! {
        #[test]
        fn decoded_lengths_are_limited(bytes: [u8; HELLO_BYTES], valid: bool) {
            let mut bytes = bytes;
            if valid {
                bytes[..10].copy_from_slice(&HELLO.encode()[..10]);
            }
            if let Some(Ok(hello)) = Hello::decode(&bytes) {
                let lengths = [hello.request, hello.response];
                prop_assert!(lengths.iter().all(|length| (1..=LONGEST).contains(length)));
                prop_assert_eq!(Hello::decode(&hello.encode()), Some(Ok(hello)));
            }
        }

        #[test]
        fn arbitrary_answers_never_panic(bytes: [u8; ANSWER_BYTES]) {
            if let Some((answer, version)) = Answer::decode(&bytes) {
                prop_assert!(version == VERSION || answer == Answer::Version);
            }
        }
    }
}
