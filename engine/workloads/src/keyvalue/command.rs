//! User-defined commands as templates: `LPUSH list:${key} ${value}`, lists of them, and calls of scripts.

use std::sync::Arc;

use loadcell_core::error::SpecError;
use loadcell_core::record::Kind;
use serde_json::json;
use sha1::{Digest, Sha1};

/// Segment of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(Vec<u8>),
    /// A key, drawn for each command; the same everywhere in one command.
    Key,
    /// The number of the key.
    Number,
    /// A value.
    Value,
}

/// An argument with its segments.
pub type Argument = Vec<Piece>;

/// A script of the server (Lua), which commands call by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name in messages.
    pub name: String,
    pub text: Vec<u8>,
}

impl Script {
    /// The name under which the server caches it: SHA-1 of the text, in hexadecimal digits.
    pub fn digest(&self) -> String {
        Sha1::digest(&self.text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A command, several that are sent together, or the call of a script: one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    pub kind: Kind,
    /// The commands with their arguments, of which the first one is the command's name. At least one.
    pub requests: Vec<Vec<Argument>>,
    /// The script that the only request calls.
    pub script: Option<Arc<Script>>,
}

impl Command {
    /// Parse templates. Arguments are separated by blanks, or quoted with single or double quotes. `${key}`,
    /// `${number}` and `${value}` are placeholders everywhere.
    pub fn read(name: &str, kind: Kind, templates: &[String]) -> Result<Self, SpecError> {
        let requests: Vec<_> =
            templates.iter().map(|template| arguments(name, template)).collect::<Result<_, _>>()?;
        if requests.is_empty() {
            return Err(wrong(name, "engine.spec.command-empty", ""));
        }
        Ok(Self { name: Box::leak(name.to_owned().into_boxed_str()), kind, requests, script: None })
    }

    /// The call of a script. Each of `keys` and `arguments` is one word with placeholders.
    pub fn of_script(
        name: &str,
        kind: Kind,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Self, SpecError> {
        let mut words: Vec<Argument> = ["EVALSHA".into(), script.digest(), keys.len().to_string()]
            .map(|word: String| vec![Piece::Text(word.into())])
            .into();
        for word in keys.iter().chain(arguments) {
            words.push(placeholders(name, word)?);
        }
        let name = Box::leak(name.to_owned().into_boxed_str());
        Ok(Self { name, kind, requests: vec![words], script: Some(Arc::new(script)) })
    }

    pub fn has(&self, piece: &Piece) -> bool {
        self.requests.iter().flatten().flatten().any(|candidate| candidate == piece)
    }
}

fn wrong(name: &str, code: &'static str, placeholder: &str) -> SpecError {
    let arguments = json!({"name": name, "placeholder": placeholder});
    SpecError::new(code, format!("workload.kv.commands.{name}"), arguments)
}

/// The arguments of a template.
fn arguments(name: &str, template: &str) -> Result<Vec<Argument>, SpecError> {
    let mut arguments = Vec::new();
    let mut remaining = template.trim_start();
    while let Some(first) = remaining.chars().next() {
        let (argument, behind) = match first {
            '"' | '\'' => remaining[1..]
                .split_once(first)
                .ok_or_else(|| wrong(name, "engine.spec.command-quote", ""))?,
            _ => remaining.split_at(remaining.find(char::is_whitespace).unwrap_or(remaining.len())),
        };
        arguments.push(placeholders(name, argument)?);
        remaining = behind.trim_start();
    }
    if arguments.is_empty() {
        return Err(wrong(name, "engine.spec.command-empty", ""));
    }
    Ok(arguments)
}

fn placeholders(name: &str, argument: &str) -> Result<Argument, SpecError> {
    pieces(argument).map_err(|unknown| wrong(name, "engine.spec.command-placeholder", &unknown))
}

/// Segments of an argument, or its unknown placeholder.
fn pieces(argument: &str) -> Result<Argument, String> {
    let mut segments = Vec::new();
    let mut remaining = argument;
    while let Some((before, after)) = remaining.split_once("${") {
        if !before.is_empty() {
            segments.push(Piece::Text(before.into()));
        }
        let Some((name, after)) = after.split_once('}') else { return Err(format!("${{{after}")) };
        segments.push(match name {
            "key" => Piece::Key,
            "number" => Piece::Number,
            "value" => Piece::Value,
            _ => return Err(format!("${{{name}}}")),
        });
        remaining = after;
    }
    if !remaining.is_empty() || segments.is_empty() {
        segments.push(Piece::Text(remaining.into()));
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    #[test]
    fn template_becomes_arguments() {
        let command = Command::read(
            "push",
            Kind::Write,
            &["  LPUSH l:${key}:x   ${value} '' \"a b\" 'say \"${number}\"'".into()],
        )
        .unwrap();
        let expected = vec![
            vec![text("LPUSH")],
            vec![text("l:"), Piece::Key, text(":x")],
            vec![Piece::Value],
            vec![text("")],
            vec![text("a b")],
            vec![text("say \""), Piece::Number, text("\"")],
        ];
        let requests = command.requests.clone();
        assert_eq!((command.name, command.kind, requests), ("push", Kind::Write, vec![expected]));
        assert!(command.has(&Piece::Key) && command.has(&Piece::Value));
        assert!(!Command::read("ping", Kind::Other, &["PING".into()]).unwrap().has(&Piece::Key));
    }

    #[test]
    fn script_is_called_by_its_digest() {
        let script = Script { name: "limit".into(), text: b"return 1".into() };
        assert_eq!(script.digest(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "as SCRIPT LOAD replies");
        let call = |word: &str| {
            let keys = ["k:${key}".into(), "all".into()];
            Command::of_script("limit", Kind::Write, script.clone(), &keys, &[word.into()])
        };
        let [request] = <[_; 1]>::try_from(call("${value} and more").unwrap().requests).unwrap();
        let expected = vec![
            vec![text("EVALSHA")],
            vec![text("e0e1f9fabfc9d4800c877a703b823ac0578ff8db")],
            vec![text("2")],
            vec![text("k:"), Piece::Key],
            vec![text("all")],
            vec![Piece::Value, text(" and more")],
        ];
        assert_eq!(request, expected, "keys and arguments are one word each");
        assert!(call("${kee}").unwrap_err().to_string().contains("${kee}"));
    }

    #[test]
    fn invalid_templates_are_reported() {
        for (template, part) in [
            ("", "command-empty"),
            ("GET ${kee}", "${kee}"),
            ("GET ${key", "${key"),
            ("GET \"a", "command-quote"),
        ] {
            let problem = Command::read("mine", Kind::Read, &["PING".into(), template.into()]).unwrap_err();
            assert!(
                problem.to_string().contains(part) && problem.to_string().contains("commands.mine"),
                "{problem}"
            );
        }
    }
}
