//! User-defined commands as templates: `LPUSH list:${key} ${value}`.

use loadcell_core::error::SpecError;
use loadcell_core::record::Kind;
use serde_json::json;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    pub kind: Kind,
    /// Arguments with their segments; the first one is the command name.
    pub arguments: Vec<Vec<Piece>>,
}

impl Command {
    /// Parse a template. Arguments are separated by blanks, or quoted with single or double quotes. `${key}`,
    /// `${number}` and `${value}` are placeholders everywhere.
    pub fn read(name: &str, kind: Kind, template: &str) -> Result<Self, SpecError> {
        let wrong = |code: &'static str, placeholder: &str| {
            let arguments = json!({"name": name, "placeholder": placeholder});
            SpecError::new(code, format!("workload.kv.commands.{name}"), arguments)
        };
        let mut arguments = Vec::new();
        let mut remaining = template.trim_start();
        while let Some(first) = remaining.chars().next() {
            let (argument, behind) = match first {
                '"' | '\'' => {
                    remaining[1..].split_once(first).ok_or_else(|| wrong("engine.spec.command-quote", ""))?
                }
                _ => remaining.split_at(remaining.find(char::is_whitespace).unwrap_or(remaining.len())),
            };
            arguments.push(
                pieces(argument).map_err(|unknown| wrong("engine.spec.command-placeholder", &unknown))?,
            );
            remaining = behind.trim_start();
        }
        if arguments.is_empty() {
            return Err(wrong("engine.spec.command-empty", ""));
        }
        Ok(Self { name: Box::leak(name.to_owned().into_boxed_str()), kind, arguments })
    }

    pub fn has(&self, piece: &Piece) -> bool {
        self.arguments.iter().flatten().any(|candidate| candidate == piece)
    }
}

/// Segments of an argument, or its unknown placeholder.
fn pieces(argument: &str) -> Result<Vec<Piece>, String> {
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
            "  LPUSH l:${key}:x   ${value} '' \"a b\" 'say \"${number}\"'",
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
        assert_eq!((command.name, command.kind, command.arguments.clone()), ("push", Kind::Write, expected));
        assert!(command.has(&Piece::Key) && command.has(&Piece::Value));
        assert!(!Command::read("ping", Kind::Other, "PING").unwrap().has(&Piece::Key));
    }

    #[test]
    fn invalid_templates_are_reported() {
        for (template, part) in [
            ("", "command-empty"),
            ("GET ${kee}", "${kee}"),
            ("GET ${key", "${key"),
            ("GET \"a", "command-quote"),
        ] {
            let problem = Command::read("mine", Kind::Read, template).unwrap_err();
            assert!(
                problem.to_string().contains(part) && problem.to_string().contains("commands.mine"),
                "{problem}"
            );
        }
    }
}
