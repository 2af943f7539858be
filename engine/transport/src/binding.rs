//! Channel binding `tls-server-end-point` (RFC 5929): a hash of the server's certificate.

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

/// Hash of a DER certificate with the algorithm of its signature (SHA-256 instead of MD5 and SHA-1); empty
/// where that defines none (Ed25519), so that binding is impossible.
pub fn server_end_point(certificate: &[u8]) -> Vec<u8> {
    signature_hash(certificate).map(|hash| digest(hash, certificate).as_ref().to_vec()).unwrap_or_default()
}

// Object identifiers in DER encoding.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

fn signature_hash(certificate: &[u8]) -> Option<&'static Algorithm> {
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, parameters }, signature }
    let (_, certificate, _) = element(certificate)?;
    let (_, _, after) = element(certificate)?;
    let (_, algorithm, _) = element(after)?;
    let (_, name, parameters) = element(algorithm)?;
    let (family, last) = name.split_at(name.len().checked_sub(1)?);
    match (family, last[0]) {
        (RSA, 4 | 5 | 11) => Some(&SHA256),
        (RSA, 12) => Some(&SHA384),
        (RSA, 13) => Some(&SHA512),
        (RSA, 10) => pss_hash(parameters),
        (ECDSA_SHA2, 2) => Some(&SHA256),
        (ECDSA_SHA2, 3) => Some(&SHA384),
        (ECDSA_SHA2, 4) => Some(&SHA512),
        _ if name == ECDSA_SHA1 => Some(&SHA256),
        _ => None,
    }
}

/// The parameters of RSASSA-PSS name its hash: SEQUENCE { [0] SEQUENCE { OID } ... }; the default is SHA-1.
fn pss_hash(parameters: &[u8]) -> Option<&'static Algorithm> {
    let (_, fields, _) = element(parameters)?;
    let Some((0xa0, field, _)) = element(fields) else { return Some(&SHA256) };
    let (_, algorithm, _) = element(field)?;
    let (_, name, _) = element(algorithm)?;
    let (family, last) = name.split_at(name.len().checked_sub(1)?);
    match (family, last[0]) {
        (SHA2, 1) => Some(&SHA256),
        (SHA2, 2) => Some(&SHA384),
        (SHA2, 3) => Some(&SHA512),
        _ if name == SHA1 => Some(&SHA256),
        _ => None,
    }
}

/// The first DER element: its tag, its contents, and the bytes after it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, remaining) = der.split_first()?;
    let (&first, remaining) = remaining.split_first()?;
    let (length, remaining) = match usize::from(first) {
        short @ 0..0x80 => (short, remaining),
        long => {
            let count = long - 0x80;
            if count == 0 || count > 4 || count > remaining.len() {
                return None;
            }
            let (bytes, remaining) = remaining.split_at(count);
            (bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), remaining)
        }
    };
    (length <= remaining.len()).then(|| (tag, &remaining[..length], &remaining[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relevant part of a certificate: an empty body, and the signature algorithm.
    fn certificate(oid: &[u8], parameters: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, inner: &[u8]| [&[tag, inner.len() as u8], inner].concat();
        let algorithm = wrap(0x30, &[&wrap(0x06, oid)[..], parameters].concat());
        wrap(0x30, &[&wrap(0x30, &[])[..], &algorithm, &wrap(0x03, &[0])].concat())
    }

    fn length_of_hash(family: &[u8], last: &[u8], parameters: &[u8]) -> usize {
        server_end_point(&certificate(&[family, last].concat(), parameters)).len()
    }

    #[test]
    fn hash_follows_the_signature_algorithm() {
        assert_eq!(length_of_hash(RSA, &[11], &[5, 0]), 32);
        assert_eq!(length_of_hash(RSA, &[12], &[5, 0]), 48);
        assert_eq!(length_of_hash(RSA, &[13], &[5, 0]), 64);
        assert_eq!(length_of_hash(ECDSA_SHA2, &[3], &[]), 48);
    }

    #[test]
    fn weak_hashes_are_replaced_by_sha_256() {
        assert_eq!(length_of_hash(RSA, &[5], &[5, 0]), 32);
        assert_eq!(length_of_hash(ECDSA_SHA1, &[], &[]), 32);
    }

    #[test]
    fn pss_parameters_name_the_hash() {
        let sha512 = [&[0x30, 15, 0xa0, 13, 0x30, 11, 0x06, 9], SHA2, &[3]].concat();
        assert_eq!(length_of_hash(RSA, &[10], &sha512), 64);
    }

    #[test]
    fn undefined_or_truncated_certificates_give_no_binding() {
        assert_eq!(length_of_hash(&[0x2b, 0x65], &[0x70], &[]), 0);
        let complete = certificate(&[RSA, &[11]].concat(), &[5, 0]);
        for length in 0..complete.len() {
            assert!(server_end_point(&complete[..length]).is_empty());
        }
    }
}
