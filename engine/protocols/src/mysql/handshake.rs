//! Connection phase: the server's greeting, TLS, authentication.

use std::sync::Arc;

use super::auth::{Plugin, clear, encrypted};
use super::encode;
use super::error::ServerError;
use super::packet::{self, Packet, Reader};
use crate::{Config, Encryption, Malformed, Progress};
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::SslMode;

/// Protocol version of all servers since MySQL 3.21.
const VERSION: u8 = 10;
/// utf8mb4 with the collation that every server supports.
const CHARSET: u8 = 45;
/// Announced maximum packet size in bytes; the workloads stay far below it.
const LARGEST: u32 = 1 << 30;

/// Report the rows that an UPDATE matched rather than changed: writing an existing value still matches its
/// row.
const MATCHED_ROWS: u32 = 1 << 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRS: u32 = 1 << 20;
const LENGTH_ENCODED_PROOF: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;

/// Required server capabilities: any server since MySQL 5.5.
const NEEDED: u32 = PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH;
/// Capabilities used where the server has them. (LOCAL FILES: rows to load are sent on request; no file is
/// read.)
const WELCOME: u32 = NEEDED
    | 1 // CLIENT_LONG_PASSWORD
    | 1 << 2 // CLIENT_LONG_FLAG
    | MATCHED_ROWS
    | LOCAL_FILES
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | CONNECT_ATTRS
    | LENGTH_ENCODED_PROOF
    | DEPRECATE_EOF;

/// Answers to the wrong kind of connection: access denied (without TLS), or TLS is required.
const NO_ENTRY: [&str; 2] = ["28000", "3159"];

/// Request for the server's public key, of `caching_sha2_password`.
const KEY_REQUEST: &[u8] = b"\x02";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not open.
    Closed,
    /// Awaiting the server's greeting.
    Greeting,
    /// TLS was announced; the transport performs its handshake.
    Securing,
    /// Authentication in progress.
    Proving,
    Ready,
}

/// Contents of the server's greeting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Greeting {
    connection: u32,
    capabilities: u32,
    nonce: Vec<u8>,
    plugin: Vec<u8>,
}

impl Greeting {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body.get(1..)?);
        reader.zero_ended(); // server version
        let connection = reader.u32()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.byte()?;
        let low = reader.u16()?;
        reader.bytes(3)?; // character set and status
        let capabilities = u32::from(low) | u32::from(reader.u16()?) << 16;
        let length = usize::from(reader.byte()?);
        reader.bytes(10)?;
        nonce.extend_from_slice(reader.bytes(length.saturating_sub(8).max(13))?);
        nonce.pop(); // terminating zero
        Some(Self { connection, capabilities, nonce, plugin: reader.zero_ended().to_vec() })
    }
}

/// Handshake of one connection; owned by its session and reused for every reconnection.
pub struct Handshake {
    config: Arc<Config>,
    state: State,
    greeting: Greeting,
    plugin: Plugin,
    /// Sequence number of the next packet.
    number: u8,
    encryption: Encryption,
    encrypted: bool,
    joined: Vec<u8>,
}

impl Handshake {
    pub fn new(config: Arc<Config>) -> Self {
        let encryption = Encryption::new(config.sslmode);
        Self {
            config,
            state: State::Closed,
            greeting: Greeting::default(),
            plugin: Plugin::Native,
            number: 0,
            encryption,
            encrypted: false,
            joined: Vec::new(),
        }
    }

    /// The transport is connected.
    pub fn opened(&mut self) {
        self.state = State::Greeting;
        self.encrypted = false;
    }

    /// TLS is established.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        self.encrypted = true;
        self.introduce(out);
    }

    /// True if rows end with OK instead of EOF.
    pub fn deprecates_eof(&self) -> bool {
        self.greeting.capabilities & DEPRECATE_EOF != 0
    }

    /// Connection id on the server, for KILL.
    pub fn connection(&self) -> u32 {
        self.greeting.connection
    }

    fn capabilities(&self) -> u32 {
        let database = if self.config.database.is_empty() { 0 } else { CONNECT_WITH_DB };
        let ssl = if self.encrypted || self.state == State::Securing { SSL } else { 0 };
        WELCOME & self.greeting.capabilities | database | ssl
    }

    /// The first part of the response; alone it requests TLS.
    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities().to_le_bytes());
        out.extend_from_slice(&LARGEST.to_le_bytes());
        out.push(CHARSET);
        out.extend_from_slice(&[0; 23]);
    }

    fn send(&mut self, out: &mut Vec<u8>, body: &[u8]) {
        encode::packet(out, self.number, |out| out.extend_from_slice(body));
        self.number = self.number.wrapping_add(1);
    }

    fn introduce(&mut self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        self.head(&mut body);
        let config = self.config.clone();
        encode::zero_ended(&mut body, config.user.as_bytes());
        // If the server's plugin is unknown, or unsafe to answer unasked, the server will switch to the
        // user's.
        let plugin = Plugin::named(&self.greeting.plugin)
            .filter(|plugin| matches!(plugin, Plugin::Native | Plugin::CachingSha2));
        self.plugin = plugin.unwrap_or(Plugin::Native);
        let proof = self.plugin.prove(password(&config), &self.greeting.nonce);
        if self.greeting.capabilities & LENGTH_ENCODED_PROOF != 0 {
            encode::text(&mut body, &proof);
        } else {
            body.push(proof.len() as u8);
            body.extend_from_slice(&proof);
        }
        if !config.database.is_empty() {
            encode::zero_ended(&mut body, config.database.as_bytes());
        }
        encode::zero_ended(&mut body, self.plugin.name().as_bytes());
        if self.greeting.capabilities & CONNECT_ATTRS != 0 {
            let mut attributes = Vec::new();
            for (name, value) in [("_client_name", "loadcell"), ("program_name", &config.application_name)] {
                encode::text(&mut attributes, name.as_bytes());
                encode::text(&mut attributes, value.as_bytes());
            }
            encode::text(&mut body, &attributes);
        }
        self.send(out, &body);
        self.state = State::Proving;
    }

    /// Process received bytes. Returns the bytes consumed and the next step; unconsumed bytes are offered
    /// again.
    pub fn received(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure> {
        let mut done = 0;
        while self.state != State::Ready {
            let mut joined = std::mem::take(&mut self.joined);
            let Some(Packet { number, body, size, .. }) = packet::next(&input[done..], &mut joined)? else {
                break;
            };
            done += size;
            self.number = number.wrapping_add(1);
            self.body(body, out)?;
            self.joined = joined;
            if self.state == State::Securing {
                // Plaintext after the greeting would later be mistaken for encrypted data.
                return match input.len() - done {
                    0 => Ok((done, Progress::Secure)),
                    _ => Err(failure("tls", "the server sent unencrypted bytes before TLS was made")),
                };
            }
        }
        Ok((done, if self.state == State::Ready { Progress::Ready } else { Progress::More }))
    }

    fn body(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        match (body.first(), self.state) {
            (Some(0xff), State::Greeting | State::Proving) => Err(ServerError::parse(body).into()),
            (Some(&VERSION), State::Greeting) => self.greeted(body, out),
            (Some(0x00), State::Proving) => {
                self.state = State::Ready;
                Ok(())
            }
            (Some(0xfe), State::Proving) => self.switched(&body[1..], out),
            (Some(0x01), State::Proving) => self.more(&body[1..], out),
            (first, State::Greeting) => Err(Malformed(format!(
                "a greeting that begins with {first:?}: this is not the protocol of MySQL or MariaDB"
            ))
            .into()),
            (first, _) => Err(Malformed(format!("an answer to the login that begins with {first:?}")).into()),
        }
    }

    fn greeted(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        self.greeting =
            Greeting::parse(body).ok_or_else(|| Malformed("a greeting that is cut off".into()))?;
        let there = self.greeting.capabilities;
        if there & NEEDED != NEEDED {
            return Err(Malformed(
                "a server from before MySQL 5.5, whose protocol is not spoken here".into(),
            )
            .into());
        }
        if !self.encryption.is_wanted || there & SSL == 0 && self.config.sslmode == SslMode::Prefer {
            self.introduce(out);
            return Ok(());
        }
        if there & SSL == 0 {
            return Err(failure("tls", "the server does not offer TLS"));
        }
        self.state = State::Securing;
        let mut head = Vec::new();
        self.head(&mut head);
        self.send(out, &head);
        Ok(())
    }

    /// The server requests another authentication method.
    fn switched(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut reader = Reader(payload);
        let name = reader.zero_ended();
        let Some(plugin) = Plugin::named(name) else {
            let name = String::from_utf8_lossy(name);
            let name = if name.is_empty() { "mysql_old_password" } else { &name };
            let message =
                format!("the server wants the authentication plugin {name}, which is not spoken here");
            return Err(failure("auth", &message));
        };
        if plugin == Plugin::Clear && !self.is_private() {
            return Err(failure(
                "auth",
                "the server wants the password as it is, and anybody could listen: use TLS",
            ));
        }
        self.plugin = plugin;
        let nonce = reader.0;
        self.greeting.nonce = nonce.strip_suffix(b"\0").unwrap_or(nonce).to_vec();
        let proof = plugin.prove(password(&self.config), &self.greeting.nonce);
        self.send(out, &proof);
        Ok(())
    }

    /// caching_sha2_password: either the server has the password in its cache, or it needs the password
    /// itself: over a private channel as it is, over another one encrypted for the server's public key. That
    /// key comes by the same channel, so it protects from listeners only.
    fn more(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        match (payload, self.plugin) {
            ([0x03], Plugin::CachingSha2) => Ok(()),
            ([0x04], Plugin::CachingSha2) if self.is_private() => {
                let proof = clear(password(&self.config));
                self.send(out, &proof);
                Ok(())
            }
            ([0x04], Plugin::CachingSha2)
                if self.config.sslmode == SslMode::Allow && self.greeting.capabilities & SSL != 0 =>
            {
                Err(failure("auth", "caching_sha2_password wants to see the password: TLS is there for it"))
            }
            ([0x04], Plugin::CachingSha2) => {
                self.send(out, KEY_REQUEST);
                Ok(())
            }
            ([b'-', ..], Plugin::CachingSha2) if !self.is_private() => {
                let proof =
                    encrypted(password(&self.config), &self.greeting.nonce, payload).map_err(|why| {
                        failure("auth", &format!("the server's public key is of no use: {why}"))
                    })?;
                self.send(out, &proof);
                Ok(())
            }
            _ => Err(Malformed("an answer to the proof that is neither yes nor no".into()).into()),
        }
    }

    /// True if the channel cannot be read by others.
    fn is_private(&self) -> bool {
        self.encrypted || self.config.local
    }

    /// The connection failed.
    pub fn lost(&mut self, why: &Failure) -> Reconnect {
        if matches!(std::mem::replace(&mut self.state, State::Closed), State::Ready | State::Closed) {
            return Reconnect::Later;
        }
        let no_entry = NO_ENTRY.contains(&why.code.as_str()) || why.code == "auth";
        self.encryption.reconsider(no_entry, why.code == "tls")
    }
}

fn password(config: &Config) -> &[u8] {
    config.password.as_deref().unwrap_or_default().as_bytes()
}

fn failure(code: &str, message: &str) -> Failure {
    Failure { code: code.into(), message: message.into() }
}
