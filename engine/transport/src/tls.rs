//! TLS with the modes of libpq's `sslmode`.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    RootCertStore, SignatureScheme,
};

use serde_json::json;

use super::Socket;
use super::binding::server_end_point;
use loadcell_core::error::LoadError;
use loadcell_core::target::SslMode;

/// Root certificate files of common systems.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Protocol assumed without ALPN (RFC 7301).
const BEFORE_ALPN: &str = "http/1.1";

/// TLS settings for one host.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    protocol: Option<&'static str>,
}

impl Tls {
    /// `roots` is a PEM file; without it, modes that verify use the system's root certificates.
    pub fn new(mode: SslMode, roots: Option<&Path>, host: &str) -> Result<Self, LoadError> {
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| LoadError::at("tls", "engine.tls-name", json!({"name": host})))?;
        let provider = Arc::new(ring::default_provider());
        let trust = match (mode, roots) {
            // As in libpq, a given root certificate is verified against.
            (SslMode::Require, Some(path)) => Trust::of(path, &provider, false)?,
            (SslMode::VerifyCa | SslMode::VerifyFull, path) => {
                let system = || SYSTEM_ROOTS.map(Path::new).into_iter().find(|path| path.exists());
                let path =
                    path.or_else(system).ok_or_else(|| LoadError::at("tls", "engine.tls-root", json!({})))?;
                Trust::of(path, &provider, mode == SslMode::VerifyFull)?
            }
            _ => Trust { provider: provider.clone(), verify: None },
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| LoadError::with_text("tls", error, "engine.error", json!({})))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trust))
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config), name, protocol: None })
    }

    /// Offer only this protocol (ALPN, RFC 7301).
    pub fn speaking(mut self, protocol: &'static str) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols = vec![protocol.into()];
        Self { protocol: Some(protocol), ..self }
    }
}

/// Verification of the server's identity.
struct Trust {
    provider: Arc<CryptoProvider>,
    verify: Option<Verify>,
}

struct Verify {
    chain: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    name: bool,
}

impl Trust {
    fn of(path: &Path, provider: &Arc<CryptoProvider>, name: bool) -> Result<Self, LoadError> {
        let unreadable = |why: String| {
            LoadError::with_text("tls", why, "engine.tls-file", json!({"path": path.display().to_string()}))
        };
        let roots: Vec<_> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(error.to_string()))?;
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
            .build()
            .map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { provider: provider.clone(), verify: Some(Verify { chain, roots, name }) })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("verify", &self.verify.is_some()).finish()
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(verify) = &self.verify else {
            return Ok(ServerCertVerified::assertion());
        };
        let result =
            verify.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match result {
            // The chain is verified before the name, so it is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !verify.name => Ok(ServerCertVerified::assertion()),
            // A self-signed server certificate may be its own root.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if verify.roots.contains(end_entity) =>
            {
                if verify.name {
                    let parsed = rustls::server::ParsedCertificate::try_from(end_entity)?;
                    rustls::client::verify_server_name(&parsed, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A socket with TLS.
pub struct TlsStream {
    socket: Socket,
    session: ClientConnection,
    protocol: Option<&'static str>,
    /// Bytes sent since the socket last took all of them.
    unsent: usize,
}

impl TlsStream {
    pub fn new(socket: Socket, tls: &Tls) -> io::Result<Self> {
        let mut session =
            ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
        session.set_buffer_limit(None); // The session bounds what is sent.
        Ok(Self { socket, session, protocol: tls.protocol, unsent: 0 })
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Continue the handshake. True once it is complete. An error of kind `InvalidData` comes from TLS,
    /// others from below.
    pub fn handshake(&mut self) -> io::Result<bool> {
        loop {
            if !self.flush()? {
                return Ok(false);
            }
            if !self.session.is_handshaking() {
                return self.agreed().map(|()| true);
            }
            match self.pull() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let _ = self.flush(); // The alert tells the server the reason.
                    return Err(error);
                }
                other => other.map(drop)?,
            }
        }
    }

    /// Check that the server agreed to the requested protocol. A server without ALPN speaks the one from
    /// before ALPN.
    fn agreed(&self) -> io::Result<()> {
        match (self.protocol, self.session.alpn_protocol()) {
            (Some(protocol), None) if protocol != BEFORE_ALPN => Err(no_agreement(protocol)),
            _ => Ok(()),
        }
    }

    /// Read from the socket and decrypt.
    fn pull(&mut self) -> io::Result<usize> {
        let count = self.session.read_tls(&mut &self.socket)?;
        match (self.session.process_new_packets(), self.protocol) {
            (Ok(_), _) => Ok(count),
            (Err(Error::AlertReceived(AlertDescription::NoApplicationProtocol)), Some(protocol)) => {
                Err(no_agreement(protocol))
            }
            (Err(error), _) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Most servers close without notice; the protocol decides what that means.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            if self.pull()? == 0 {
                return Ok(0);
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.session.writer().write_all(bytes)?;
        self.unsent += bytes.len();
        self.flush()
    }

    pub fn unsent(&self) -> usize {
        self.unsent
    }

    pub fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.unsent = 0;
        Ok(true)
    }

    /// Channel binding hash, once the handshake is complete.
    pub fn server_end_point(&self) -> Vec<u8> {
        let certificate = self.session.peer_certificates().and_then(<[_]>::first);
        certificate.map(|certificate| server_end_point(certificate)).unwrap_or_default()
    }
}

fn no_agreement(protocol: &str) -> io::Error {
    let finding = format!("the server does not offer the protocol {protocol} over TLS (ALPN)");
    io::Error::new(io::ErrorKind::InvalidData, finding)
}
