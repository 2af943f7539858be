//! Connection settings of SQL databases that are independent of the protocol.

use loadcell_core::session::Reconnect;
use loadcell_core::target::{SslMode, Target};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub application_name: String,
    pub options: String,
    pub sslmode: SslMode,
    /// True if the connection cannot leave this machine, so that encryption is not needed.
    pub local: bool,
}

impl Config {
    /// Build from the specification.
    pub fn new(target: &Target) -> Self {
        Self {
            user: target.user.clone().unwrap_or_default(),
            password: target.password.clone(),
            database: target.database.clone().unwrap_or_default(),
            application_name: target.application_name.clone().unwrap_or_default(),
            options: target.options.clone().unwrap_or_default(),
            sslmode: target.sslmode,
            local: target.socket_path().is_some(),
        }
    }
}

/// Choice between a connection with TLS and one without. The modes `allow` and `prefer` try the other one
/// once.
pub struct Encryption {
    mode: SslMode,
    pub is_wanted: bool,
    has_changed: bool,
}

impl Encryption {
    pub fn new(mode: SslMode) -> Self {
        Self { mode, is_wanted: !matches!(mode, SslMode::Disable | SslMode::Allow), has_changed: false }
    }

    /// Choose again after a failed handshake: the server may have refused a connection without TLS, or one
    /// with it.
    pub fn reconsider(&mut self, refused_without: bool, refused_with: bool) -> Reconnect {
        let change = match self.mode {
            SslMode::Allow => !self.is_wanted && refused_without,
            SslMode::Prefer => self.is_wanted && refused_with,
            _ => false,
        };
        if !change || self.has_changed {
            return Reconnect::Later;
        }
        (self.is_wanted, self.has_changed) = (!self.is_wanted, true);
        Reconnect::Now
    }
}
