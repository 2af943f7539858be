//! Connection settings that are independent of the protocol.

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
