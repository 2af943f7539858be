//! Makes the sessions of one load from its specification.

use std::sync::Arc;

use super::command::{Writer, check};
use super::handshake::Access;
use super::session::{RedisSession, Rules};
use crate::keyvalue::{Clients, Options};
use loadcell_core::error::Problem;
use loadcell_core::record::Operation;
use loadcell_core::session::SessionFactory;
use loadcell_core::spec::Spec;

/// What the sessions of a load share.
pub struct Sessions {
    access: Arc<Access>,
    rules: Arc<Rules>,
    clients: Clients,
}

/// The sessions of a key-value load; `section` is what stands under `kv` in the specification.
pub fn sessions(spec: &Spec, section: &serde_json::Value) -> Result<Sessions, Problem> {
    let options = Options::read(section)?;
    check(&options)?;
    if options.pipeline > 1 && spec.load.schedule.is_some() {
        let finding = "a pipeline sends several commands at once, and with a rate each has a time of its own";
        return Err(Problem::new("spec", finding, "use `pipeline: 1` with a rate, or leave the rate out"));
    }
    let keep = if options.verify { options.value_shape().size.most().max(LEAST_KEPT) as usize } else { 0 };
    let rules = Rules { writer: Writer::new(options.ttl_ns), pipeline: options.pipeline as usize, keep };
    Ok(Sessions {
        access: Arc::new(Access::of(&spec.target)?),
        rules: Arc::new(rules),
        clients: Clients::new(&options, spec.seed, spec.load.clients)?,
    })
}

/// Finds what is wrong with a key-value load on Redis, without one.
pub fn checked(section: &serde_json::Value) -> Result<serde_json::Value, Problem> {
    check(&Options::read(section)?)?;
    Ok(serde_json::json!({}))
}

/// A checksum and what it is of, at the least.
const LEAST_KEPT: u64 = 64;

impl SessionFactory for Sessions {
    type Session = RedisSession;

    fn operations(&self) -> &[Operation] {
        self.clients.operations()
    }

    fn session(&self, client: u32) -> RedisSession {
        RedisSession::new(self.access.clone(), self.rules.clone(), self.clients.client(client))
    }
}
