//! Authentication methods.

use ring::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// Supported authentication plugins, by the server's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password` (SHA-1), the default of MariaDB.
    Native,
    /// `caching_sha2_password` (SHA-256), the default of MySQL since version 8.
    CachingSha2,
    /// `mysql_clear_password`: the plain password, for secure channels only.
    Clear,
}

impl Plugin {
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"mysql_native_password" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"mysql_clear_password" => Self::Clear,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// Response to the server's `nonce`.
    pub fn prove(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::Clear => clear(password),
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

    #[test]
    fn plugins_have_server_names() {
        for plugin in [Plugin::Native, Plugin::CachingSha2, Plugin::Clear] {
            assert_eq!(Plugin::named(plugin.name().as_bytes()), Some(plugin));
        }
        assert_eq!(Plugin::named(b"client_ed25519"), None);
    }
}
