//! Redis and compatible servers: key-value clients over RESP, and data loading.

mod command;
mod connection;
mod handshake;
mod loader;
mod session;
#[cfg(test)]
mod session_tests;
mod ycsb;
#[cfg(test)]
mod ycsb_tests;

pub use loader::prepare;
pub use session::RedisSession;
pub use ycsb::ycsb;

use std::sync::Arc;

use self::command::{Writer, check};
use self::handshake::{Access, Handshake};
use self::session::Settings;
use crate::keyvalue::command::Script;
use crate::keyvalue::{Clients, Options};
use loadcell_core::error::{Failure, SpecError};
use loadcell_core::record::Operation;
use loadcell_core::session::SessionFactory;
use loadcell_core::spec::Spec;
use loadcell_protocols::Malformed;
use loadcell_protocols::resp::{Token, refusal};

/// Shared state of a load's sessions.
pub struct Sessions {
    access: Arc<Access>,
    settings: Arc<Settings>,
    scripts: Arc<[Arc<Script>]>,
    clients: Clients,
}

/// Sessions of a key-value load; `section`: the `kv` section of the specification.
pub fn sessions(spec: &Spec, section: &serde_json::Value) -> Result<Sessions, SpecError> {
    let options = Options::read(section)?;
    check(&options)?;
    if options.pipeline > 1 && spec.load.schedule.is_some() {
        return Err(SpecError::value("workload.kv.pipeline", options.pipeline)); // A batch has no instant.
    }
    let keep =
        if options.verify { options.value_shape().size.most().max(LEAST_RETAINED) as usize } else { 0 };
    let settings =
        Settings { writer: Writer::new(options.ttl_ns), pipeline: options.pipeline as usize, keep };
    let clients = Clients::new(&options, spec.seed, spec.load.clients)?;
    Ok(Sessions {
        access: Arc::new(Access::of(&spec.target)?),
        settings: Arc::new(settings),
        scripts: clients.scripts().into(),
        clients,
    })
}

/// Validate a key-value load on Redis without a server.
pub fn checked(section: &serde_json::Value) -> Result<serde_json::Value, SpecError> {
    check(&Options::read(section)?)?;
    Ok(serde_json::json!({}))
}

/// Minimum of retained bytes of a value: its checksum and header.
const LEAST_RETAINED: u64 = 64;

impl SessionFactory for Sessions {
    type Session = RedisSession;

    fn operations(&self) -> &[Operation] {
        self.clients.operations()
    }

    fn session(&self, client: u32) -> RedisSession {
        let handshake = Handshake::with_scripts(self.access.clone(), self.scripts.clone());
        RedisSession::new(handshake, self.settings.clone(), self.clients.client(client))
    }
}

/// Failure of a reply without a command.
#[cold]
fn stray(token: Token<'_>) -> Failure {
    match token {
        Token::Error(error) => refusal(error),
        _ => Malformed("an answer that nobody waits for".into()).into(),
    }
}
