//! Connection phase: TLS request, authentication, server settings.

use super::auth::{Authentication, Channel};
use super::encode;
use super::error::ServerError;
use super::frame::{self, Frame, Reader};
use crate::{Config, Encryption, Malformed, Progress};
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::SslMode;

/// SQLSTATE invalid_authorization_specification: the answer of pg_hba.conf to the wrong kind of connection.
const NO_ENTRY: &str = "28000";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not open.
    Closed,
    /// SSLRequest was sent; awaiting one byte.
    TlsAsked,
    /// The server agreed; the transport performs the TLS handshake.
    TlsAgreed,
    /// The startup message was sent; authentication in progress.
    Proving,
    /// Authenticated; awaiting settings and ReadyForQuery.
    Settling,
    Ready,
}

/// Handshake of one connection; owned by its session and reused for every reconnection.
pub struct Handshake {
    config: std::sync::Arc<Config>,
    state: State,
    authentication: Authentication,
    encryption: Encryption,
    encrypted: bool,
    server_end_point: Vec<u8>,
    /// Process id and secret key of the backend, for `encode::cancel`.
    process: i32,
    key: Vec<u8>,
}

impl Handshake {
    pub fn new(config: std::sync::Arc<Config>) -> Self {
        let encryption = Encryption::new(config.sslmode);
        Self {
            config,
            state: State::Closed,
            authentication: Authentication::default(),
            encryption,
            encrypted: false,
            server_end_point: Vec::new(),
            process: 0,
            key: Vec::new(),
        }
    }

    /// The transport is connected.
    pub fn opened(&mut self, out: &mut Vec<u8>) {
        self.authentication = Authentication::default();
        self.encrypted = false;
        self.server_end_point.clear();
        if self.encryption.is_wanted {
            out.extend_from_slice(encode::SSL_REQUEST);
            self.state = State::TlsAsked;
        } else {
            self.introduce(out);
        }
    }

    /// TLS is established.
    pub fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>) {
        self.encrypted = true;
        self.server_end_point = server_end_point.to_vec();
        self.introduce(out);
    }

    fn introduce(&mut self, out: &mut Vec<u8>) {
        let config = &self.config;
        encode::startup(
            out,
            &[
                ("user", &config.user),
                ("database", &config.database),
                ("application_name", &config.application_name),
                ("client_encoding", "UTF8"),
                ("options", &config.options),
            ],
        );
        self.state = State::Proving;
    }

    /// Process received bytes. Returns the bytes consumed and the next step; unconsumed bytes are offered
    /// again.
    pub fn received(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure> {
        let mut done = 0;
        while done < input.len() && self.state != State::Ready {
            if self.state == State::TlsAsked && input[done] != b'E' {
                let progress = self.tls_answer(&input[done..], out)?;
                done += 1;
                if progress == Progress::Secure {
                    return Ok((done, progress));
                }
                continue;
            }
            let Some(frame) = frame::next(&input[done..])? else { break };
            done += frame.size();
            self.frame(frame, out)?;
        }
        Ok((done, if self.state == State::Ready { Progress::Ready } else { Progress::More }))
    }

    fn tls_answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Progress, Failure> {
        match input {
            [b'S'] => {
                self.state = State::TlsAgreed;
                Ok(Progress::Secure)
            }
            // Plaintext after the answer would later be mistaken for encrypted data (CVE-2021-23222).
            [b'S', ..] => Err(tls("the server sent unencrypted bytes after it agreed to TLS")),
            [b'N', ..] if self.config.sslmode == SslMode::Prefer => {
                self.introduce(out);
                Ok(Progress::More)
            }
            [b'N', ..] => Err(tls("the server does not offer TLS (its `ssl` setting is off)")),
            _ => Err(Malformed("an answer to the request for TLS that is neither yes nor no".into()).into()),
        }
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        match (frame.tag, self.state) {
            (b'E', _) => Err(ServerError::parse(frame.body).into()),
            // Notices, and the negotiation of protocol features that were not requested.
            (b'N' | b'v', _) => Ok(()),
            (b'R', State::Proving) => {
                let channel =
                    if self.encrypted { Channel::Tls(&self.server_end_point) } else { Channel::Plain };
                let config = &self.config;
                let password = config.password.as_deref();
                if self.authentication.answer(frame.body, &config.user, password, channel, out)? {
                    self.state = State::Settling;
                }
                Ok(())
            }
            (b'S', State::Settling) => Ok(()),
            (b'K', State::Settling) => {
                let mut reader = Reader(frame.body);
                self.process = reader.i32().unwrap_or_default();
                self.key = reader.0.to_vec();
                Ok(())
            }
            (b'Z', State::Settling) => {
                self.state = State::Ready;
                Ok(())
            }
            (tag, state) => {
                let tag = char::from(tag).escape_default();
                Err(Malformed(format!("a message of type '{tag}' while the connection was {state:?}")).into())
            }
        }
    }

    /// The connection failed.
    pub fn lost(&mut self, why: &Failure) -> Reconnect {
        if matches!(std::mem::replace(&mut self.state, State::Closed), State::Ready | State::Closed) {
            return Reconnect::Later;
        }
        let no_entry = why.code == NO_ENTRY;
        self.encryption.reconsider(no_entry, why.code == "tls" || self.encrypted && no_entry)
    }

    /// Arguments of `encode::cancel`.
    pub fn cancel_key(&self) -> (i32, &[u8]) {
        (self.process, &self.key)
    }
}

fn tls(message: &str) -> Failure {
    Failure { code: "tls".into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const AUTH_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const SETTINGS: &[u8] =
        b"S\0\0\0\x11a\0bcdefghijk\0N\0\0\0\x05\0K\0\0\0\x0c\0\0\0\x07\0\0\0\x08Z\0\0\0\x05I";
    const REFUSED: &[u8] = b"E\0\0\0\x29SFATAL\0C28000\0Mno pg_hba.conf entry\0\0";

    fn config(sslmode: SslMode) -> Arc<Config> {
        Arc::new(Config {
            user: "u".into(),
            password: Some("pw".into()),
            database: "d".into(),
            application_name: "loadcell".into(),
            options: String::new(),
            sslmode,
            local: false,
        })
    }

    fn opened(sslmode: SslMode) -> (Handshake, Vec<u8>) {
        let mut handshake = Handshake::new(config(sslmode));
        let mut out = Vec::new();
        handshake.opened(&mut out);
        (handshake, out)
    }

    fn startup() -> Vec<u8> {
        let mut out = Vec::new();
        let parameters =
            [("user", "u"), ("database", "d"), ("application_name", "loadcell"), ("client_encoding", "UTF8")];
        encode::startup(&mut out, &parameters);
        out
    }

    #[test]
    fn plain_connection_opens_however_split() {
        let stream = [AUTH_OK, SETTINGS].concat();
        for cut in 0..=stream.len() {
            let (mut handshake, sent) = opened(SslMode::Disable);
            assert_eq!(sent, startup());
            let mut out = Vec::new();
            let (done, progress) = handshake.received(&stream[..cut], &mut out).unwrap();
            assert_eq!(progress == Progress::Ready, cut == stream.len(), "cut at {cut}");
            if progress != Progress::Ready {
                let (consumed, progress) = handshake.received(&stream[done..], &mut out).unwrap();
                assert_eq!((done + consumed, progress), (stream.len(), Progress::Ready), "cut at {cut}");
            }
            assert!(out.is_empty());
            assert_eq!(handshake.cancel_key(), (7, &[0, 0, 0, 8][..]));
        }
    }

    #[test]
    fn bytes_after_ready_are_left_to_the_session() {
        let (mut handshake, _) = opened(SslMode::Disable);
        let stream = [AUTH_OK, SETTINGS, b"N\0\0\0\x05\0"].concat();
        let (done, progress) = handshake.received(&stream, &mut Vec::new()).unwrap();
        assert_eq!((done, progress), (stream.len() - 6, Progress::Ready));
    }

    #[test]
    fn startup_follows_the_tls_handshake() {
        for mode in [SslMode::Prefer, SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
            let (mut handshake, mut out) = opened(mode);
            assert_eq!(out, encode::SSL_REQUEST);
            out.clear();
            assert_eq!(handshake.received(b"S", &mut out).unwrap(), (1, Progress::Secure));
            assert!(out.is_empty());
            handshake.secured(b"hash", &mut out);
            assert_eq!(out, startup());
        }
    }

    #[test]
    fn prefer_continues_without_tls_and_strict_modes_stop() {
        let (mut handshake, mut out) = opened(SslMode::Prefer);
        out.clear();
        assert_eq!(handshake.received(b"N", &mut out).unwrap(), (1, Progress::More));
        assert_eq!(out, startup());
        for mode in [SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
            let (mut handshake, mut out) = opened(mode);
            let failure = handshake.received(b"N", &mut out).unwrap_err();
            assert_eq!(failure.code, "tls");
            assert_eq!(handshake.lost(&failure), Reconnect::Later);
        }
    }

    #[test]
    fn injected_plaintext_after_the_answer_is_rejected() {
        let (mut handshake, mut out) = opened(SslMode::Require);
        assert_eq!(handshake.received(b"SR\0\0\0\x08\0\0\0\0", &mut out).unwrap_err().code, "tls");
    }

    #[test]
    fn allow_switches_to_tls_once() {
        let (mut handshake, sent) = opened(SslMode::Allow);
        assert_eq!(sent, startup());
        let failure = handshake.received(REFUSED, &mut Vec::new()).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), ("28000", "no pg_hba.conf entry"));
        assert_eq!(handshake.lost(&failure), Reconnect::Now);
        let mut out = Vec::new();
        handshake.opened(&mut out);
        assert_eq!(out, encode::SSL_REQUEST);
        assert_eq!(handshake.lost(&failure), Reconnect::Later);
    }

    #[test]
    fn prefer_switches_to_plain_once() {
        let (mut handshake, mut out) = opened(SslMode::Prefer);
        handshake.received(b"S", &mut out).unwrap();
        assert_eq!(handshake.lost(&tls("handshake failed")), Reconnect::Now);
        out.clear();
        handshake.opened(&mut out);
        assert_eq!(out, startup());
        assert_eq!(handshake.lost(&tls("handshake failed")), Reconnect::Later);
    }

    #[test]
    fn rejection_has_the_servers_code() {
        for (mode, body) in
            [(SslMode::Disable, &b"C28P01\0Mwrong\0\0"[..]), (SslMode::Require, b"C53300\0Mfull\0\0")]
        {
            let (mut handshake, mut out) = opened(mode);
            let mut message = b"E\0\0\0".to_vec();
            message.push(body.len() as u8 + 4);
            message.extend_from_slice(body);
            let failure = handshake.received(&message, &mut out).unwrap_err();
            assert_eq!(failure.code.as_bytes(), &body[1..6]);
            assert_eq!(handshake.lost(&failure), Reconnect::Later);
        }
    }

    #[test]
    fn later_loss_does_not_switch_tls() {
        let (mut handshake, mut out) = opened(SslMode::Prefer);
        handshake.received(b"N", &mut out).unwrap();
        handshake.received(&[AUTH_OK, SETTINGS].concat(), &mut out).unwrap();
        assert_eq!(handshake.lost(&tls("broken")), Reconnect::Later);
    }

    #[test]
    fn messages_out_of_order_are_rejected() {
        for stream in [
            &b"Z\0\0\0\x05I"[..],
            b"T\0\0\0\x06\0\0",
            b"K\0\0\0\x0c\0\0\0\x07\0\0\0\x08",
            b"HTTP/1.1 400 Bad",
        ] {
            let (mut handshake, mut out) = opened(SslMode::Disable);
            assert_eq!(handshake.received(stream, &mut out).unwrap_err().code, "protocol", "{stream:?}");
        }
        let (mut handshake, mut out) = opened(SslMode::Require);
        assert_eq!(handshake.received(b"H", &mut out).unwrap_err().code, "protocol");
    }

    /// Valid messages in any order, and invalid ones.
    fn piece() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
        use proptest::prelude::*;
        let message = |tag: u8, body: Vec<u8>| {
            let mut out = Vec::new();
            encode::message(&mut out, tag, |out| out.extend_from_slice(&body));
            out
        };
        prop_oneof![
            Just(AUTH_OK.to_vec()),
            Just(SETTINGS.to_vec()),
            Just(b"S".to_vec()),
            Just(b"N".to_vec()),
            Just(message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0".to_vec())),
            (0u8..14, prop::collection::vec(any::<u8>(), 0..24)).prop_map(move |(kind, consumed)| {
                message(b'R', [&[0, 0, 0, kind][..], &consumed].concat())
            }),
            Just(message(b'R', b"\0\0\0\x0br=x,s=AAAA,i=1".to_vec())),
            Just(message(b'R', b"\0\0\0\x0cv=AAAA".to_vec())),
            prop::collection::vec(any::<u8>(), 0..12),
        ]
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: 2000, failure_persistence: None, ..Default::default()
        })]

        /// No input, split in any way, panics, and never more is consumed than was offered.
        #[test]
        fn arbitrary_messages_never_panic(
            mode in proptest::sample::select(vec![SslMode::Disable, SslMode::Prefer, SslMode::Require]),
            pieces in proptest::collection::vec(piece(), 0..12),
        ) {
            let (mut handshake, mut out) = opened(mode);
            let mut pending = Vec::new();
            for piece in pieces {
                pending.extend(piece);
                match handshake.received(&pending, &mut out) {
                    Ok((done, progress)) => {
                        proptest::prop_assert!(done <= pending.len());
                        pending.drain(..done);
                        if progress == Progress::Secure {
                            handshake.secured(b"hash", &mut out);
                        }
                    }
                    Err(failure) => {
                        proptest::prop_assert!(!failure.code.is_empty() && !failure.message.is_empty());
                        handshake.lost(&failure);
                        handshake.opened(&mut out);
                        pending.clear();
                    }
                }
            }
        }
    }
}
