//! What a connection is opened with, whatever the protocol.

use crate::spec::{SslMode, Target};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub application_name: String,
    pub options: String,
    pub sslmode: SslMode,
    /// Whether it never leaves this machine: then nobody listens, and no encryption is needed.
    pub local: bool,
}

impl Config {
    /// From the specification.
    pub fn new(target: &Target) -> Self {
        Self {
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
            application_name: target.application_name.clone().unwrap_or_default(),
            options: target.options.clone().unwrap_or_default(),
            sslmode: target.sslmode,
            local: target.socket_path().is_some(),
        }
    }
}
