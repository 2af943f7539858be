//! Address of the target.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Tls;
use loadcell_core::error::LoadError;
use loadcell_core::target::Protocol;
use loadcell_core::target::{SslMode, Target};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// All addresses of the target's host name, in the order to try, and its TLS settings.
pub struct Endpoint {
    pub addresses: Vec<Address>,
    pub name: String,
    pub tls: Option<Tls>,
}

impl Endpoint {
    /// Resolve the host name. It may take long, so it is done once and before any measurement.
    pub fn of(target: &Target) -> Result<Self, LoadError> {
        if let Some(store) = target.store.as_ref().or(target.files.as_ref()) {
            return Ok(Self {
                name: store.get("directory").and_then(Value::as_str).unwrap_or_default().into(),
                addresses: Vec::new(),
                tls: None,
            });
        }
        if target.protocol == Protocol::Host {
            return Ok(Self { name: "this machine".into(), addresses: Vec::new(), tls: None });
        }
        if target.protocol == Protocol::Calls {
            return Ok(Self { name: "what they call".into(), addresses: Vec::new(), tls: None });
        }
        if let Some(path) = target.socket_path() {
            return Ok(Self {
                name: path.display().to_string(),
                addresses: vec![Address::Unix(path)],
                tls: None,
            });
        }
        let host = target.host.as_deref().unwrap_or("localhost");
        let name = format!("{host}:{}", target.port());
        let addresses: Vec<_> = (host, target.port())
            .to_socket_addrs()
            .map_err(|error| {
                LoadError::with_text("connection", error, "engine.host-name", json!({"host": host}))
            })?
            .map(Address::Tcp)
            .collect();
        let tls = match target.sslmode {
            SslMode::Disable => None,
            mode => {
                let name = target.tls_name.as_deref().unwrap_or(host);
                Some(Tls::new(mode, target.sslrootcert.as_deref(), name)?)
            }
        };
        Ok(Self { addresses, name, tls })
    }
}

impl Endpoint {
    /// True if the target is in this process, without connections.
    pub fn is_here(&self) -> bool {
        self.addresses.is_empty()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(change: impl FnOnce(&mut Target)) -> Target {
        let mut target: Target = serde_json::from_str(
            r#"{"protocol":"postgres","host":"127.0.0.1","user":"u","database":"d","sslmode":"disable",
                "connect_timeout_ns":1}"#,
        )
        .unwrap();
        change(&mut target);
        target
    }

    #[test]
    fn name_or_address_with_port() {
        let endpoint = Endpoint::of(&target(|target| target.port = Some(99))).unwrap();
        assert_eq!(endpoint.addresses, [Address::Tcp("127.0.0.1:99".parse().unwrap())]);
        assert_eq!(endpoint.to_string(), "127.0.0.1:99");
        assert!(endpoint.tls.is_none());
        let endpoint = Endpoint::of(&target(|target| target.host = Some("::1".into()))).unwrap();
        assert_eq!(endpoint.addresses, [Address::Tcp("[::1]:5432".parse().unwrap())]);
    }

    #[test]
    fn socket_is_a_file_a_directory_or_a_host_path() {
        let socket = |change: fn(&mut Target)| Endpoint::of(&target(change)).unwrap().name;
        assert_eq!(socket(|target| target.socket = Some("/run/db.sock".into())), "/run/db.sock");
        assert_eq!(socket(|target| target.socket = Some("/tmp".into())), "/tmp/.s.PGSQL.5432");
        assert_eq!(socket(|target| target.host = Some("/tmp".into())), "/tmp/.s.PGSQL.5432");
    }

    #[test]
    fn tls_is_set_up_unless_disabled() {
        assert!(Endpoint::of(&target(|target| target.sslmode = SslMode::Prefer)).unwrap().tls.is_some());
    }
}
