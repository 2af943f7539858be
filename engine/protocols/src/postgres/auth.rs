//! Authentication: trust, cleartext, md5, SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677; channel
//! binding RFC 5929).

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

use super::encode;
use super::frame::Reader;
use crate::Malformed;
use loadcell_core::error::Failure;

const OK: i32 = 0;
const CLEARTEXT: i32 = 3;
const MD5: i32 = 5;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// SQLSTATE invalid_password.
const WRONG_PASSWORD: &str = "28P01";
/// SQLSTATE invalid_authorization_specification.
const NOT_AUTHORISED: &str = "28000";

/// State of the encryption below, for channel binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel<'a> {
    Plain,
    /// TLS, with the hash of the server's certificate; empty where its signature algorithm defines none.
    Tls(&'a [u8]),
}

/// One authentication exchange.
#[derive(Default)]
pub struct Authentication {
    scram: Option<ScramSha256>,
    finished: bool,
}

impl Authentication {
    /// Answer one Authentication message (`body` without its header). True once the server accepts.
    pub fn answer(
        &mut self,
        body: &[u8],
        user: &str,
        password: Option<&str>,
        channel: Channel<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let mut reader = Reader(body);
        match reader.i32() {
            // A server that skips its proof may be an impostor.
            Some(OK) if self.scram.is_some() && !self.finished => {
                Err(protocol_failure("the server left SCRAM unfinished"))
            }
            Some(OK) => Ok(true),
            Some(CLEARTEXT) => {
                encode::password(out, needed(password)?.as_bytes());
                Ok(false)
            }
            Some(MD5) => {
                let salt = reader.bytes(4).and_then(|salt| salt.try_into().ok());
                let salt: [u8; 4] =
                    salt.ok_or_else(|| protocol_failure("an md5 salt that is not 4 bytes"))?;
                let hash = md5_hash(user.as_bytes(), needed(password)?.as_bytes(), salt);
                encode::password(out, hash.as_bytes());
                Ok(false)
            }
            Some(SASL) => self.begin(reader, needed(password)?, channel, out).map(|()| false),
            Some(SASL_CONTINUE) => {
                let scram = self.scram.as_mut().filter(|_| !self.finished);
                let scram = scram.ok_or_else(|| protocol_failure("a SCRAM message out of order"))?;
                // On failure the library consumes its state together with the message.
                if let Err(error) = scram.update(reader.0) {
                    self.scram = None;
                    return Err(refused(&error));
                }
                encode::sasl(out, scram.message());
                Ok(false)
            }
            Some(SASL_FINAL) => {
                let scram =
                    self.scram.as_mut().ok_or_else(|| protocol_failure("a SCRAM message out of order"))?;
                scram.finish(reader.0).map_err(|error| refused(&error))?;
                self.finished = true;
                Ok(false)
            }
            Some(method) => Err(Failure {
                code: NOT_AUTHORISED.into(),
                message: format!(
                    "the server asks for {}, which loadcell does not speak: allow scram-sha-256 in \
                     pg_hba.conf",
                    match method {
                        2 => "Kerberos V5".to_owned(),
                        7 | 8 => "GSSAPI".to_owned(),
                        9 => "SSPI".to_owned(),
                        other => format!("authentication method {other}"),
                    }
                ),
            }),
            None => Err(protocol_failure("an authentication message without its kind")),
        }
    }

    fn begin(
        &mut self,
        mut mechanisms: Reader<'_>,
        password: &str,
        channel: Channel<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let (mut scram, mut plus) = (false, false);
        while let Some(mechanism) = mechanisms.text().filter(|name| !name.is_empty()) {
            scram |= mechanism == SCRAM.as_bytes();
            plus |= mechanism == SCRAM_PLUS.as_bytes();
        }
        let (mechanism, binding) = match channel {
            Channel::Tls(hash) if plus && !hash.is_empty() => {
                (SCRAM_PLUS, ChannelBinding::tls_server_end_point(hash.to_vec()))
            }
            // The client supports channel binding and the server seems not to: announcing it exposes a
            // downgrade attack.
            Channel::Tls(hash) if !hash.is_empty() => (SCRAM, ChannelBinding::unrequested()),
            _ => (SCRAM, ChannelBinding::unsupported()),
        };
        if mechanism == SCRAM && !scram {
            return Err(Failure {
                code: NOT_AUTHORISED.into(),
                message: "the server offers no SASL mechanism that can be used here (SCRAM-SHA-256 is)"
                    .into(),
            });
        }
        let exchange = ScramSha256::new(password.as_bytes(), binding);
        encode::sasl_initial(out, mechanism, exchange.message());
        self.scram = Some(exchange);
        self.finished = false;
        Ok(())
    }
}

fn needed(password: Option<&str>) -> Result<&str, Failure> {
    password.ok_or_else(|| Failure {
        code: WRONG_PASSWORD.into(),
        message: "the server asks for a password, and none was given".into(),
    })
}

fn protocol_failure(message: &str) -> Failure {
    Malformed(message.to_owned()).into()
}

fn refused(error: &std::io::Error) -> Failure {
    Failure { code: NOT_AUTHORISED.into(), message: format!("SCRAM failed: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &[u8], password: Option<&str>, channel: Channel<'_>) -> Result<(bool, Vec<u8>), Failure> {
        let mut out = Vec::new();
        let done = Authentication::default().answer(body, "user", password, channel, &mut out)?;
        Ok((done, out))
    }

    const MECHANISMS: &[u8] = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";

    #[test]
    fn trust_needs_no_response() {
        assert_eq!(answer(b"\0\0\0\0", None, Channel::Plain).unwrap(), (true, vec![]));
    }

    #[test]
    fn cleartext_and_md5_responses() {
        let (done, out) = answer(b"\0\0\0\x03", Some("secret"), Channel::Plain).unwrap();
        assert_eq!((done, &out[..]), (false, &b"p\0\0\0\x0bsecret\0"[..]));
        // md5(md5("passworduser") + salt), computed with md5sum.
        let (_, out) = answer(b"\0\0\0\x05\x01\x02\x03\x04", Some("password"), Channel::Plain).unwrap();
        assert_eq!(&out[..], &b"p\0\0\0\x28md5a3576f1ae039b8996bc4fc2720f9c71a\0"[..]);
    }

    #[test]
    fn strongest_common_binding_is_chosen() {
        let cases: [(&[u8], Channel<'_>, &str, &str); 4] = [
            (MECHANISMS, Channel::Tls(b"hash"), SCRAM_PLUS, "p=tls-server-end-point,,"),
            (MECHANISMS, Channel::Tls(b""), SCRAM, "n,,"),
            (b"\0\0\0\x0aSCRAM-SHA-256\0\0", Channel::Tls(b"hash"), SCRAM, "y,,"),
            (b"\0\0\0\x0aSCRAM-SHA-256\0\0", Channel::Plain, SCRAM, "n,,"),
        ];
        for (body, channel, mechanism, header) in cases {
            let (done, out) = answer(body, Some("pw"), channel).unwrap();
            assert!(!done);
            let response = Reader(&out[5..]).text().unwrap();
            assert_eq!(response, mechanism.as_bytes());
            let response = &out[5 + mechanism.len() + 1 + 4..];
            assert!(response.starts_with(format!("{header}n=,r=").as_bytes()), "{response:?}");
        }
    }

    #[test]
    fn unanswerable_requests_fail_with_a_reason() {
        let cases: [(&[u8], Option<&str>, &str, &str); 10] = [
            (b"\0\0\0\x03", None, WRONG_PASSWORD, "none was given"),
            (b"\0\0\0\x05\x01\x02\x03\x04", None, WRONG_PASSWORD, "none was given"),
            (MECHANISMS, None, WRONG_PASSWORD, "none was given"),
            (b"\0\0\0\x05\x01", Some("x"), "protocol", "salt"),
            (b"\0\0\0\x07", Some("x"), NOT_AUTHORISED, "GSSAPI"),
            (b"\0\0\0\x63", Some("x"), NOT_AUTHORISED, "method 99"),
            (b"\0\0\0\x0aMAGIC\0\0", Some("x"), NOT_AUTHORISED, "no SASL mechanism"),
            (b"\0\0\0\x0bv=x", Some("x"), "protocol", "out of order"),
            (b"\0\0\0\x0cv=x", Some("x"), "protocol", "out of order"),
            (b"\0\0", Some("x"), "protocol", "without its kind"),
        ];
        for (body, password, code, part) in cases {
            let failure = answer(body, password, Channel::Plain).unwrap_err();
            assert_eq!(failure.code, code, "{body:?}");
            assert!(failure.message.contains(part), "{failure:?}");
        }
    }

    #[test]
    fn server_without_proof_is_rejected() {
        let mut exchange = Authentication::default();
        let mut out = Vec::new();
        let mut say = |body: &[u8]| exchange.answer(body, "user", Some("pencil"), Channel::Plain, &mut out);
        assert!(!say(MECHANISMS).unwrap());
        assert!(say(b"\0\0\0\0").unwrap_err().message.contains("unfinished"));
        assert!(say(b"\0\0\0\x0br=notours,s=AAAA,i=1").unwrap_err().message.contains("nonce"));
        assert_eq!(say(b"\0\0\0\x0br=notours,s=AAAA,i=1").unwrap_err().code, "protocol");
    }

    #[test]
    fn wrong_server_signature_is_rejected() {
        let mut exchange = Authentication::default();
        let mut out = Vec::new();
        exchange.answer(MECHANISMS, "user", Some("pencil"), Channel::Plain, &mut out).unwrap();
        // A nonce may contain `=`: it is everything after `r=`.
        let at = out.windows(3).position(|w| w == b",r=").unwrap() + 3;
        let nonce = out[at..].to_vec();
        let mut first = b"\0\0\0\x0br=".to_vec();
        first.extend_from_slice(&nonce);
        first.extend_from_slice(b"server,s=QSXCR+Q6sek8bf92,i=4096");
        out.clear();
        assert!(!exchange.answer(&first, "user", Some("pencil"), Channel::Plain, &mut out).unwrap());
        assert!(out.windows(3).any(|w| w == b",p="));
        let last = b"\0\0\0\x0cv=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        let failure = exchange.answer(last, "user", Some("pencil"), Channel::Plain, &mut out).unwrap_err();
        assert!(failure.message.contains("verification"), "{failure:?}");
        assert!(exchange.answer(b"\0\0\0\0", "user", Some("pencil"), Channel::Plain, &mut out).is_err());
    }
}
