//! Authentication methods.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ring::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};
use ring::rand::{SecureRandom, SystemRandom};
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::{self, CryptoRng, RngCore};
use rsa::{Oaep, RsaPublicKey};

/// Supported authentication plugins, by the server's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password` (SHA-1), the default of MariaDB.
    Native,
    /// `caching_sha2_password` (SHA-256), the default of MySQL since version 8.
    CachingSha2,
    /// `client_ed25519` (Ed25519 with the password as secret), of MariaDB.
    Ed25519,
    /// `mysql_clear_password`: the plain password, for secure channels only.
    Clear,
}

impl Plugin {
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"mysql_native_password" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"client_ed25519" => Self::Ed25519,
            b"mysql_clear_password" => Self::Clear,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// Response to the server's `nonce`.
    pub fn prove(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::Clear => clear(password),
            Self::Ed25519 => ed25519(password, nonce).to_vec(),
            _ if password.is_empty() => Vec::new(),
            Self::Native => native(password, nonce),
            Self::CachingSha2 => caching_sha2(password, nonce),
        }
    }
}

/// The password, terminated by a zero byte.
pub fn clear(password: &[u8]) -> Vec<u8> {
    [password, b"\0"].concat()
}

/// SHA1(password) XOR SHA1(nonce SHA1(SHA1(password))).
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let sha1 = |parts: &[&[u8]]| digest(Context::new(&SHA1_FOR_LEGACY_USE_ONLY), parts);
    let once = sha1(&[password]);
    let twice = sha1(&[once.as_ref()]);
    xor(&once, &sha1(&[nonce, twice.as_ref()]))
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) nonce).
fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let sha256 = |parts: &[&[u8]]| digest(Context::new(&SHA256), parts);
    let once = sha256(&[password]);
    let twice = sha256(&[once.as_ref()]);
    xor(&once, &sha256(&[twice.as_ref(), nonce]))
}

/// Signature of the nonce by Ed25519 (RFC 8032, section 5.1.6), with a password of any length in place of the
/// secret key of 32 bytes. Libraries of signatures take such a key alone, so this works on the curve.
fn ed25519(password: &[u8], nonce: &[u8]) -> [u8; 64] {
    let sha512 = |parts: &[&[u8]]| -> [u8; 64] {
        digest(Context::new(&SHA512), parts).as_ref().try_into().expect("SHA-512 has 64 bytes")
    };
    let scalar = |parts: &[&[u8]]| Scalar::from_bytes_mod_order_wide(&sha512(parts));
    let expanded = sha512(&[password]);
    let (half, prefix) = expanded.split_at(32);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(half.try_into().expect("half of 64 bytes")));
    let public = EdwardsPoint::mul_base(&secret).compress();
    let ephemeral = scalar(&[prefix, nonce]);
    let point = EdwardsPoint::mul_base(&ephemeral).compress();
    let challenge = scalar(&[point.as_bytes(), public.as_bytes(), nonce]);
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(point.as_bytes());
    signature[32..].copy_from_slice((challenge * secret + ephemeral).as_bytes());
    signature
}

/// The password for the owner of a public key (PEM) alone, bound to the nonce: RSA-OAEP with SHA-1 (RFC 8017,
/// section 7.1), as `caching_sha2_password` wants it without TLS.
pub fn encrypted(password: &[u8], nonce: &[u8], key: &[u8]) -> Result<Vec<u8>, String> {
    let pem = std::str::from_utf8(key).map_err(|error| error.to_string())?;
    let key =
        RsaPublicKey::from_public_key_pem(pem.trim_end_matches('\0')).map_err(|error| error.to_string())?;
    if nonce.is_empty() {
        return Err("the server sent no nonce".into());
    }
    let masked: Vec<u8> =
        clear(password).iter().zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(&mut Random::default(), Oaep::new::<sha1::Sha1>(), &masked).map_err(|error| error.to_string())
}

/// The system's random numbers, as the RSA library asks for them.
#[derive(Debug)]
pub(super) struct Random(SystemRandom);

impl Default for Random {
    fn default() -> Self {
        Self(SystemRandom::new())
    }
}

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes).expect("the system has random numbers");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Random {}

fn digest(mut context: Context, parts: &[&[u8]]) -> Digest {
    parts.iter().for_each(|part| context.update(part));
    context.finish()
}

fn xor(first: &Digest, second: &Digest) -> Vec<u8> {
    first.as_ref().iter().zip(second.as_ref()).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Values computed with an independent implementation (PyMySQL 1.2.4).
    #[test]
    fn responses_match_an_independent_implementation() {
        let nonce: Vec<u8> = (1..=20).collect();
        assert_eq!(hex(&Plugin::Native.prove(b"secret", &nonce)), NATIVE);
        assert_eq!(hex(&Plugin::CachingSha2.prove(b"secret", &nonce)), CACHING_SHA2);
        assert_eq!(Plugin::Clear.prove(b"secret", &nonce), b"secret\0");
        assert!(Plugin::Native.prove(b"", &nonce).is_empty());
        assert!(Plugin::CachingSha2.prove(b"", &nonce).is_empty());
    }

    const NATIVE: &str = "b32bb3a583e1340c0a1108d58b1be49781ad8c2f";
    const CACHING_SHA2: &str = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// RFC 8032, section 7.1, tests 1 and 2: there the secret has 32 bytes.
    #[test]
    fn signatures_match_published_ones() {
        for (secret, message, signature) in ED25519 {
            assert_eq!(hex(&Plugin::Ed25519.prove(&bytes(secret), &bytes(message))), signature);
        }
    }

    const ED25519: [(&str, &str, &str); 2] = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b\
             d25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c\
             387b2eaeb4302aeeb00d291612bb0c00",
        ),
    ];

    #[test]
    fn plugins_have_server_names() {
        for plugin in [Plugin::Native, Plugin::CachingSha2, Plugin::Ed25519, Plugin::Clear] {
            assert_eq!(Plugin::named(plugin.name().as_bytes()), Some(plugin));
        }
        assert_eq!(Plugin::named(b"sha256_password"), None);
    }
}
