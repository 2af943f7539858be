//! Tests of the handshake, byte by byte.

use std::sync::Arc;

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey};

use super::auth::{Plugin, Random};
use super::encode;
use super::handshake::Handshake;
use crate::{Config, Progress};
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::SslMode;

const NONCE: &[u8; 20] = b"12345678abcdefghijkl";
const SSL: u32 = 1 << 11;
const DEPRECATE_EOF: u32 = 1 << 24;
/// Capabilities of a MariaDB 10.11 without TLS.
const THERE: u32 = 0x81ff_f7fe & !SSL;
const OK: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";

fn config(sslmode: SslMode) -> Config {
    Config {
        user: "u".into(),
        password: Some("pw".into()),
        database: "d".into(),
        application_name: "test".into(),
        options: String::new(),
        sslmode,
        local: false,
    }
}

fn greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode::packet(&mut out, 0, |out| {
        out.extend_from_slice(b"\x0a10.11.19-MariaDB\0\x07\0\0\0");
        out.extend_from_slice(&NONCE[..8]);
        out.push(0);
        out.extend_from_slice(&capabilities.to_le_bytes()[..2]);
        out.extend_from_slice(&[45, 2, 0]);
        out.extend_from_slice(&capabilities.to_le_bytes()[2..]);
        out.push(21);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&NONCE[8..]);
        out.push(0);
        encode::zero_ended(out, plugin.as_bytes());
    });
    out
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::packet(&mut out, number, |out| out.extend_from_slice(body));
    out
}

fn opened(config: Config) -> Handshake {
    let mut handshake = Handshake::new(Arc::new(config));
    handshake.opened();
    handshake
}

/// Feed all of `input`. Returns the progress and the response.
fn feed(handshake: &mut Handshake, input: &[u8]) -> Result<(Progress, Vec<u8>), Failure> {
    let mut out = Vec::new();
    let (done, progress) = handshake.received(input, &mut out)?;
    assert_eq!(done, input.len());
    Ok((progress, out))
}

#[test]
fn plain_connection_opens_however_split() {
    let stream = [greeting(THERE, "mysql_native_password"), OK.to_vec()].concat();
    for cut in 0..=stream.len() {
        let mut handshake = opened(config(SslMode::Disable));
        let mut out = Vec::new();
        let (done, progress) = handshake.received(&stream[..cut], &mut out).unwrap();
        assert_eq!(progress == Progress::Ready, cut == stream.len(), "cut at {cut}");
        if progress != Progress::Ready {
            let (consumed, progress) = handshake.received(&stream[done..], &mut out).unwrap();
            assert_eq!((done + consumed, progress), (stream.len(), Progress::Ready), "cut at {cut}");
        }
        let proof = Plugin::Native.prove(b"pw", NONCE);
        let introduction = [&b"u\0\x14"[..], &proof, b"d\0mysql_native_password\0"].concat();
        assert_eq!(&out[3..4], b"\x01", "the second packet of the exchange");
        assert_eq!(&out[36..36 + introduction.len()], introduction);
        assert!(out.ends_with(b"\x0cprogram_name\x04test"));
        assert!(handshake.deprecates_eof());
        assert_eq!(handshake.connection(), 7);
    }
}

#[test]
fn missing_capabilities_are_not_requested() {
    let mut handshake = opened(config(SslMode::Prefer));
    let (_, out) = feed(&mut handshake, &greeting(THERE & !DEPRECATE_EOF & !(1 << 20), "")).unwrap();
    let asked = u32::from_le_bytes(out[4..8].try_into().unwrap());
    assert_eq!(asked & (SSL | DEPRECATE_EOF | 1 << 20), 0);
    assert!(!handshake.deprecates_eof());
    let mut handshake = opened(config(SslMode::Disable));
    let old = feed(&mut handshake, &greeting(1 << 9, "")).unwrap_err();
    assert!(old.message.contains("before MySQL 5.5"), "{old:?}");
}

#[test]
fn tls_is_requested_before_the_user_is_sent() {
    for mode in [SslMode::Prefer, SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
        let mut handshake = opened(config(mode));
        let (progress, out) = feed(&mut handshake, &greeting(THERE | SSL, "mysql_native_password")).unwrap();
        assert_eq!((progress, out.len(), out[3]), (Progress::Secure, 36, 1));
        assert_ne!(u32::from_le_bytes(out[4..8].try_into().unwrap()) & SSL, 0);
        let mut out = Vec::new();
        handshake.secured(&mut out);
        assert_eq!((out[3], &out[36..38]), (2, &b"u\0"[..]));
    }
}

#[test]
fn strict_modes_require_tls() {
    for mode in [SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
        let mut handshake = opened(config(mode));
        let failure = feed(&mut handshake, &greeting(THERE, "")).unwrap_err();
        assert_eq!((failure.code.as_str(), handshake.lost(&failure)), ("tls", Reconnect::Later));
    }
}

#[test]
fn injected_plaintext_after_the_greeting_is_rejected() {
    let mut handshake = opened(config(SslMode::Require));
    let stream = [greeting(THERE | SSL, ""), OK.to_vec()].concat();
    assert_eq!(handshake.received(&stream, &mut Vec::new()).unwrap_err().code, "tls");
}

#[test]
fn plugin_can_be_switched() {
    let mut handshake = opened(config(SslMode::Disable));
    feed(&mut handshake, &greeting(THERE, "client_ed25519")).unwrap();
    let switch = packet(2, b"\xfecaching_sha2_password\0lkjihgfedcba87654321\0");
    let (progress, out) = feed(&mut handshake, &switch).unwrap();
    assert_eq!(progress, Progress::More);
    assert_eq!(out, packet(3, &Plugin::CachingSha2.prove(b"pw", b"lkjihgfedcba87654321")));
    assert_eq!(
        feed(&mut handshake, &packet(4, b"\x01\x03")).unwrap(),
        (Progress::More, vec![]),
        "known from before"
    );
    assert_eq!(feed(&mut handshake, OK).unwrap().0, Progress::Ready);
}

#[test]
fn clear_password_needs_a_secure_channel() {
    let want = [packet(2, b"\x01\x04"), packet(2, b"\xfemysql_clear_password\0")];
    let mut handshake = opened(config(SslMode::Disable));
    feed(&mut handshake, &greeting(THERE, "caching_sha2_password")).unwrap();
    let failure = feed(&mut handshake, &want[1]).unwrap_err();
    assert_eq!(failure.code, "auth");
    assert!(failure.message.contains("use TLS"), "{failure:?}");
    for (want, shown) in want.iter().zip([b"pw\0", b"pw\0"]) {
        let mut handshake = opened(config(SslMode::Require));
        feed(&mut handshake, &greeting(THERE | SSL, "caching_sha2_password")).unwrap();
        handshake.secured(&mut Vec::new());
        assert_eq!(feed(&mut handshake, want).unwrap().1, packet(3, shown));

        let mut handshake = opened(Config { local: true, ..config(SslMode::Disable) });
        feed(&mut handshake, &greeting(THERE, "caching_sha2_password")).unwrap();
        assert_eq!(feed(&mut handshake, want).unwrap().1, packet(3, shown));
    }
}

#[test]
fn password_is_encrypted_for_the_servers_key_without_tls() {
    // As short as OAEP allows for, so that it is made quickly.
    let key = RsaPrivateKey::new(&mut Random::default(), 1024).unwrap();
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
    let mut handshake = opened(config(SslMode::Disable));
    feed(&mut handshake, &greeting(THERE, "caching_sha2_password")).unwrap();
    assert_eq!(feed(&mut handshake, &packet(2, b"\x01\x04")).unwrap().1, packet(3, b"\x02"));
    let (progress, out) = feed(&mut handshake, &packet(4, &[b"\x01", pem.as_bytes()].concat())).unwrap();
    assert_eq!((progress, out.len(), out[3]), (Progress::More, 4 + 128, 5));
    let masked = key.decrypt(Oaep::new::<sha1::Sha1>(), &out[4..]).unwrap();
    let proof: Vec<u8> = masked.iter().zip(NONCE.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    assert_eq!(proof, b"pw\0");
    assert_eq!(feed(&mut handshake, OK).unwrap().0, Progress::Ready);
}

#[test]
fn public_key_must_be_one() {
    for key in [&b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"[..], b"-", b"-\xff"] {
        let mut handshake = opened(config(SslMode::Disable));
        feed(&mut handshake, &greeting(THERE, "caching_sha2_password")).unwrap();
        feed(&mut handshake, &packet(2, b"\x01\x04")).unwrap();
        let failure = feed(&mut handshake, &packet(4, &[b"\x01", key].concat())).unwrap_err();
        assert_eq!(failure.code, "auth");
        assert!(failure.message.contains("public key is of no use"), "{failure:?}");
    }
}

#[test]
fn mode_allow_turns_to_tls_for_the_password() {
    let mut handshake = opened(config(SslMode::Allow));
    feed(&mut handshake, &greeting(THERE | SSL, "caching_sha2_password")).unwrap();
    let failure = feed(&mut handshake, &packet(2, b"\x01\x04")).unwrap_err();
    assert_eq!((failure.code.as_str(), handshake.lost(&failure)), ("auth", Reconnect::Now));
}

#[test]
fn unsupported_plugin_is_reported() {
    for (name, shown) in [(&b"sha256_password\0"[..], "sha256_password"), (b"", "mysql_old_password")] {
        let mut handshake = opened(config(SslMode::Disable));
        feed(&mut handshake, &greeting(THERE, "mysql_native_password")).unwrap();
        let failure = feed(&mut handshake, &packet(2, &[b"\xfe", name].concat())).unwrap_err();
        assert_eq!(failure.code, "auth");
        assert!(failure.message.contains(shown), "{failure:?}");
    }
}

#[test]
fn rejection_has_the_servers_code() {
    let mut handshake = opened(config(SslMode::Disable));
    let full = feed(&mut handshake, &packet(0, b"\xff\x10\x04Too many connections")).unwrap_err();
    assert_eq!((full.code.as_str(), full.message.as_str()), ("08004", "Too many connections (error 1040)"));
    let mut handshake = opened(config(SslMode::Disable));
    feed(&mut handshake, &greeting(THERE, "mysql_native_password")).unwrap();
    let denied = feed(&mut handshake, &packet(2, b"\xff\x15\x04#28000Access denied")).unwrap_err();
    assert_eq!(denied.code, "28000");
}

#[test]
fn allow_and_prefer_switch_once() {
    let denied = Failure { code: "28000".into(), message: String::new() };
    let mut handshake = opened(config(SslMode::Allow));
    let (progress, _) = feed(&mut handshake, &greeting(THERE | SSL, "")).unwrap();
    assert_eq!(progress, Progress::More, "plain first");
    assert_eq!(handshake.lost(&denied), Reconnect::Now);
    handshake.opened();
    assert_eq!(feed(&mut handshake, &greeting(THERE | SSL, "")).unwrap().0, Progress::Secure);
    assert_eq!(handshake.lost(&denied), Reconnect::Later);

    let failure = Failure { code: "tls".into(), message: String::new() };
    let mut handshake = opened(config(SslMode::Prefer));
    feed(&mut handshake, &greeting(THERE | SSL, "")).unwrap();
    assert_eq!(handshake.lost(&failure), Reconnect::Now);
    handshake.opened();
    assert_eq!(feed(&mut handshake, &greeting(THERE | SSL, "")).unwrap().0, Progress::More);
}

#[test]
fn other_protocols_and_truncated_greetings_are_errors() {
    let unsplit = greeting(THERE, "mysql_native_password");
    for cut in 5..unsplit.len() - 23 {
        let mut handshake = opened(config(SslMode::Disable));
        let torn = packet(0, &unsplit[4..cut]);
        assert_eq!(feed(&mut handshake, &torn).unwrap_err().code, "protocol", "cut at {cut}");
    }
    for stray in [&packet(0, b"SSH-2.0-x")[..], &packet(0, b""), &packet(0, b"\x09old")] {
        let mut handshake = opened(config(SslMode::Disable));
        assert_eq!(feed(&mut handshake, stray).unwrap_err().code, "protocol", "{stray:?}");
    }
}
