//! Handshake of a connection: protocol version, authentication, client name, database.
//!
//! Sans-I/O. `HELLO 3` covers all but the database; for a server that does not know it, or not this version,
//! RESP2 commands are used. The final PING detects a server that is still loading its data, which answers
//! HELLO but no other command. Scripts of the load are loaded after it.

use std::sync::Arc;

use super::command::load_script;
use crate::keyvalue::command::Script;
use loadcell_core::error::{Failure, SpecError};
use loadcell_core::session::NextAction;
use loadcell_core::target::{SslMode, Target};
use loadcell_protocols::resp::{NO_DATABASE, Token, encode, refusal};

/// Code for a script that the server refuses, because of its syntax or of the user's rights.
pub const SCRIPT: &str = "script";

/// Credentials and connection settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    user: String,
    password: Option<String>,
    /// Client name, as shown by CLIENT LIST.
    name: String,
    database: u32,
    /// Use RESP2 without trying RESP3.
    resp2: bool,
    /// Start with TLS: servers use a separate port for it.
    pub tls: bool,
}

impl Access {
    pub fn of(target: &Target) -> Result<Self, SpecError> {
        let database = match target.database.as_deref() {
            None | Some("") => 0,
            Some(number) => number.parse().map_err(|_| SpecError::value("target.database", number))?,
        };
        Ok(Self {
            user: target.user.clone().unwrap_or_default(),
            password: target.password.clone(),
            name: target.application_name.clone().unwrap_or_default().replace(char::is_whitespace, "-"),
            database,
            resp2: target.resp == Some(2),
            tls: matches!(target.sslmode, SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull),
        })
    }

    fn user(&self) -> &[u8] {
        if self.user.is_empty() { b"default" } else { self.user.as_bytes() }
    }
}

/// The command whose reply is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hello,
    Auth,
    Name,
    Select,
    Ping,
    /// Loading of the script with this index.
    Script(usize),
}

pub struct Handshake {
    access: Arc<Access>,
    scripts: Arc<[Arc<Script>]>,
    step: Step,
    /// The server does not support HELLO; separate commands replace it.
    legacy: bool,
    /// First error in the reply.
    error: Option<Failure>,
}

impl Handshake {
    pub fn new(access: Arc<Access>) -> Self {
        Self::with_scripts(access, Arc::new([]))
    }

    /// A handshake that ends with the loading of scripts: a server forgets them when it is started again.
    pub fn with_scripts(access: Arc<Access>, scripts: Arc<[Arc<Script>]>) -> Self {
        Self { access, scripts, step: Step::Hello, legacy: false, error: None }
    }

    /// The transport is connected.
    pub fn opened(&mut self, out: &mut Vec<u8>) -> NextAction {
        if self.access.tls { NextAction::StartTls } else { self.secured(out) }
    }

    /// TLS is established, where it is used.
    pub fn secured(&mut self, out: &mut Vec<u8>) -> NextAction {
        self.begin(out);
        NextAction::Reply
    }

    /// Append the first command. The transport is connected, including TLS.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.error = None;
        self.legacy = self.access.resp2;
        if self.legacy {
            self.ask(Step::Auth, out);
        } else {
            self.ask(Step::Hello, out);
        }
    }

    /// Send the command of `step`, or of the first later step that is needed.
    fn ask(&mut self, step: Step, out: &mut Vec<u8>) {
        let access = &*self.access;
        let password = access.password.as_deref().map(str::as_bytes);
        self.step = step;
        match (step, password) {
            (Step::Hello, password) => {
                let mut words: Vec<&[u8]> = vec![b"HELLO", b"3"];
                if let Some(password) = password {
                    words.extend([b"AUTH", access.user(), password]);
                }
                if !access.name.is_empty() {
                    words.extend([&b"SETNAME"[..], access.name.as_bytes()]);
                }
                encode::command(out, &words);
            }
            (Step::Auth, Some(password)) if access.user.is_empty() => {
                encode::command(out, &[b"AUTH", password])
            }
            (Step::Auth, Some(password)) => encode::command(out, &[b"AUTH", access.user(), password]),
            (Step::Auth, None) => self.ask(Step::Name, out),
            (Step::Name, _) if access.name.is_empty() => self.ask(Step::Select, out),
            (Step::Name, _) => encode::command(out, &[b"CLIENT", b"SETNAME", access.name.as_bytes()]),
            (Step::Select, _) if access.database == 0 => self.ask(Step::Ping, out),
            (Step::Select, _) => encode::command(out, &[b"SELECT", access.database.to_string().as_bytes()]),
            (Step::Ping, _) => encode::command(out, &[b"PING"]),
            (Step::Script(at), _) => load_script(&self.scripts[at], out),
        }
    }

    /// Process a token of the reply. True once the server accepts commands.
    pub fn on_token(&mut self, token: Token<'_>, ends: bool, out: &mut Vec<u8>) -> Result<bool, Failure> {
        if let Token::Error(error) = token {
            self.error.get_or_insert_with(|| refusal(error));
        }
        if !ends {
            return Ok(false);
        }
        let error = self.error.take();
        let next = match (self.step, error) {
            (Step::Hello, Some(why)) if is_unknown(&why) => {
                self.legacy = true;
                Step::Auth
            }
            (Step::Hello, None) => Step::Select,
            (Step::Auth, None) => Step::Name,
            (Step::Name, _) => Step::Select, // The name is optional.
            (Step::Select, None) => Step::Ping,
            // The user may lack the permission; later commands will show whether it matters.
            (Step::Ping, Some(why)) if why.code == "LOADING" || why.code == "NOAUTH" => return Err(why),
            (Step::Ping, _) => Step::Script(0),
            (Step::Script(at), None) => Step::Script(at + 1),
            (Step::Script(at), Some(why)) => return Err(refused(&self.scripts[at], &why)),
            (Step::Select, Some(why)) if why.code == "ERR" => {
                return Err(Failure { code: NO_DATABASE.into(), ..why });
            }
            (_, Some(why)) => return Err(why),
        };
        if next == Step::Script(self.scripts.len()) {
            return Ok(true);
        }
        self.ask(next, out);
        Ok(false)
    }
}

/// Failure of a script that the server does not accept.
#[cold]
fn refused(script: &Script, why: &Failure) -> Failure {
    Failure { code: SCRIPT.into(), message: format!("{}: {} [{}]", script.name, why.message, why.code) }
}

/// True if the server does not support HELLO or RESP3.
fn is_unknown(why: &Failure) -> bool {
    why.code == "NOPROTO" || why.code == "ERR" && why.message.to_ascii_lowercase().contains("unknown command")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_protocols::resp::Reader;

    fn access(change: &str) -> Result<Access, SpecError> {
        let text =
            format!("{{\"protocol\":\"resp\",\"host\":\"h\",\"application_name\":\"load cell\"{change}}}");
        Access::of(&loadcell_testing::read("target", &text).unwrap())
    }

    /// The commands sent, with `answers` as the server's replies, and the result.
    fn converse(change: &str, answers: &[&str]) -> (Vec<String>, Result<bool, Failure>) {
        converse_with(Handshake::new(Arc::new(access(change).unwrap())), answers)
    }

    fn converse_with(mut handshake: Handshake, answers: &[&str]) -> (Vec<String>, Result<bool, Failure>) {
        let (mut commands, mut out) = (Vec::new(), Vec::new());
        handshake.begin(&mut out);
        let mut result = Ok(false);
        for answer in answers {
            commands.push(words(&std::mem::take(&mut out)));
            let (mut reader, mut at) = (Reader::default(), 0);
            while let Some(read) = reader.next(&answer.as_bytes()[at..], 0).unwrap() {
                at += read.size;
                result = handshake.on_token(read.token, read.ends, &mut out);
            }
        }
        assert!(out.is_empty(), "{}", words(&out));
        (commands, result)
    }

    fn words(command: &[u8]) -> String {
        let text = String::from_utf8_lossy(command).into_owned();
        let lines: Vec<_> =
            text.split("\r\n").filter(|line| !line.starts_with(['*', '$']) && !line.is_empty()).collect();
        lines.join(" ")
    }

    const HELLO: &str = "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nmodules\r\n*0\r\n";
    const PONG: &str = "+PONG\r\n";

    #[test]
    fn hello_does_everything() {
        let (commands, ready) = converse("", &[HELLO, PONG]);
        assert_eq!((commands, ready), (vec!["HELLO 3 SETNAME load-cell".into(), "PING".into()], Ok(true)));
        let (commands, ready) = converse(",\"password\":\"s\",\"database\":\"4\"", &[HELLO, "+OK\r\n", PONG]);
        assert_eq!(commands, ["HELLO 3 AUTH default s SETNAME load-cell", "SELECT 4", "PING"]);
        assert_eq!(ready, Ok(true));
        let (commands, _) = converse(",\"user\":\"u\",\"password\":\"s\"", &[HELLO, PONG]);
        assert_eq!(commands[0], "HELLO 3 AUTH u s SETNAME load-cell");
    }

    #[test]
    fn older_servers_use_resp2() {
        let ok = "+OK\r\n";
        for no in ["-ERR unknown command `HELLO`, with args beginning with: `3`\r\n", "-NOPROTO sorry\r\n"] {
            let (commands, ready) =
                converse(",\"password\":\"s\",\"database\":\"1\"", &[no, ok, "-ERR no\r\n", ok, PONG]);
            assert_eq!(commands[1..], ["AUTH s", "CLIENT SETNAME load-cell", "SELECT 1", "PING"]);
            assert_eq!(ready, Ok(true));
        }
        let (commands, _) = converse(",\"resp\":2,\"user\":\"u\",\"password\":\"s\"", &[ok, ok, PONG]);
        assert_eq!(commands, ["AUTH u s", "CLIENT SETNAME load-cell", "PING"]);
        let (commands, _) = converse(",\"resp\":2", &[ok, PONG]);
        assert_eq!(commands, ["CLIENT SETNAME load-cell", "PING"]);
    }

    #[test]
    fn error_ends_the_handshake_with_the_servers_code() {
        for (answers, code) in [
            (&["-WRONGPASS invalid username-password pair\r\n"][..], "WRONGPASS"),
            (&["-NOAUTH HELLO must be called with the client already authenticated\r\n"], "NOAUTH"),
            (&["-ERR max number of clients reached\r\n"], "max-clients"),
            (&[HELLO, "-LOADING Redis is loading the dataset in memory\r\n"], "LOADING"),
            (
                &["-ERR unknown command 'HELLO'\r\n", "+OK\r\n", "-NOAUTH Authentication required.\r\n"],
                "NOAUTH",
            ),
        ] {
            assert_eq!(converse("", answers).1.unwrap_err().code, code);
        }
        let (_, no) = converse(",\"database\":\"99\"", &[HELLO, "-ERR DB index is out of range\r\n"]);
        let why = no.unwrap_err();
        assert_eq!((why.code.as_str(), why.message.as_str()), ("database", "DB index is out of range"));
        assert_eq!(converse("", &[HELLO, "-NOPERM no permissions to run 'ping'\r\n"]).1, Ok(true));
    }

    #[test]
    fn scripts_are_loaded_last() {
        let script = |name: &str, text: &str| Arc::new(Script { name: name.into(), text: text.into() });
        let scripts: Arc<[_]> = Arc::new([script("one", "return 1"), script("two (two.lua)", "retrn")]);
        let handshake = || Handshake::with_scripts(Arc::new(access("").unwrap()), scripts.clone());
        let digest = "$5\r\ne0e1f\r\n";
        let (commands, ready) = converse_with(handshake(), &[HELLO, PONG, digest, digest]);
        assert_eq!(
            commands[1..],
            ["PING", "SCRIPT LOAD return 1", "SCRIPT LOAD retrn"],
            "one after the other"
        );
        assert_eq!(ready, Ok(true));
        let answers = [HELLO, PONG, digest, "-ERR Error compiling script user_script:1: '=' expected\r\n"];
        let why = converse_with(handshake(), &answers).1.unwrap_err();
        assert_eq!(why.code, SCRIPT);
        assert_eq!(why.message, "two (two.lua): Error compiling script user_script:1: '=' expected [ERR]");
    }

    #[test]
    fn invalid_targets_are_rejected() {
        let refused = access(",\"database\":\"shop\"").unwrap_err().to_string();
        assert_eq!(refused, "engine.spec.value target.database {\"value\":\"shop\"}");
    }
}
