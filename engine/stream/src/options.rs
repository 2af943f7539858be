//! The `stream` section of a specification.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use loadcell_core::error::SpecError;
use loadcell_core::spec;
use loadcell_workloads::parameter;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub source: SourceOptions,
    /// Number of records that are generated before the load, for all connections together, and replayed.
    pub prepared: Option<u64>,
    pub format: Format,
    pub framing: Framing,
    /// Bytes of each record in its frame.
    pub size: Option<usize>,
    /// Most bytes of a record without its frame.
    pub frame_limit: usize,
    pub answers: Answers,
    /// Other address that answers are read from.
    pub results: Option<ResultsAddress>,
    pub order: Order,
    /// Name of the field within whose values the order is judged.
    pub key: Option<String>,
    /// Bytes that the kernel keeps until the peer has taken them; its own choice if it is not given.
    pub send_buffer: Option<u32>,
    /// File for the answers as they are received; the number of the connection is appended.
    pub keep_answers: Option<PathBuf>,
}

/// Source of records: `fields` or `file`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceOptions {
    pub fields: Option<Vec<FieldOptions>>,
    pub file: Option<PathBuf>,
    /// Begin the file again at its end; otherwise the load ends there.
    #[serde(default = "repeated")]
    pub repeat: bool,
}

fn repeated() -> bool {
    true
}

/// A field of generated records: `number` or `draw`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldOptions {
    pub name: String,
    pub number: Option<NumberOptions>,
    pub draw: Option<parameter::Options>,
}

/// `start + step * number` of the record.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberOptions {
    pub start: u64,
    pub step: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Values with a comma between them, without quotes.
    Csv,
    /// One object.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// A record ends with a newline.
    Line,
    /// A record begins with its length in four bytes, the most significant first.
    Length,
}

impl Framing {
    /// Bytes that a frame adds to a record.
    pub fn overhead(self) -> usize {
        match self {
            Self::Line => 1,
            Self::Length => 4,
        }
    }
}

/// Content of the answers of the service, which are lines of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    None,
    /// The cumulative number of records of the connection that are processed.
    Count,
    /// The number of each processed record, and its result after a space if it has one.
    Each,
}

impl Answers {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Count => "count",
            Self::Each => "each",
        }
    }
}

/// Order in which records are to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    None,
    /// In the order in which they were sent, among records with the same key on the same connection.
    Key,
    /// In the order in which they were sent on the connection.
    All,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultsAddress {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
}

pub fn refused(code: &'static str, arguments: Value) -> SpecError {
    SpecError::new(code, "workload.stream", arguments)
}

impl Options {
    pub fn read(section: &Value) -> Result<Self, SpecError> {
        let options: Self = spec::section("workload.stream", section)?;
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), SpecError> {
        let source = &self.source;
        let is_file = source.file.is_some();
        let one_source = is_file != source.fields.as_ref().is_some_and(|fields| !fields.is_empty());
        if !one_source || is_file && (self.prepared.is_some() || self.size.is_some()) {
            return Err(refused("engine.spec.stream-source", json!({})));
        }
        if self.prepared == Some(0) {
            return Err(SpecError::value("workload.stream.prepared", 0));
        }
        let by_number = self.answers == Answers::Each;
        let needs = |needs: &str| {
            Err(refused(
                "engine.spec.stream-answers",
                json!({"answers": self.answers.name(), "needs": needs}),
            ))
        };
        if by_number && self.prepared.is_some() {
            return needs("prepared");
        }
        if by_number && is_file && source.repeat {
            return needs("repeat");
        }
        if !by_number && self.results.is_some() {
            return needs("results");
        }
        if !by_number && self.order != Order::None {
            return needs("order");
        }
        if self.answers == Answers::None && self.keep_answers.is_some() {
            return needs("keep_answers");
        }
        let is_field = |name: &str| source.fields.iter().flatten().any(|field| field.name == name);
        match (&self.key, self.order) {
            (Some(key), _) if !is_field(key) => Err(refused("engine.spec.stream-key", json!({"key": key}))),
            (None, Order::Key) => Err(refused("engine.spec.stream-key", json!({"key": ""}))),
            _ => Ok(()),
        }
    }

    /// Name of the field whose values are compared, if the order by key is judged.
    pub fn judged_key(&self) -> Option<&str> {
        self.key.as_deref().filter(|_| self.order == Order::Key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: Value) -> Result<Options, SpecError> {
        let mut section = json!({"source": {"fields": [{"name": "id", "number": {"start": 0, "step": 1}},
            {"name": "key", "draw": {"to": 9}}]}});
        section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Options::read(&loadcell_testing::section("stream", &section))
    }

    fn finding(more: Value) -> String {
        read(more).unwrap_err().to_string()
    }

    #[test]
    fn a_section_has_one_source() {
        let fields = json!([{"name": "a", "draw": {"to": 9}}]);
        for source in [json!({"fields": fields}), json!({"file": "/f"}), json!({"fields": [], "file": "/f"})]
        {
            assert!(read(json!({"source": source})).is_ok(), "{source}");
        }
        for section in [
            json!({"source": {}}),
            json!({"source": {"fields": []}}),
            json!({"source": {"fields": fields, "file": "/f"}}),
            json!({"source": {"file": "/f"}, "prepared": 3}),
            json!({"source": {"file": "/f"}, "size": 30}),
        ] {
            let message = finding(section.clone());
            assert_eq!(message, "engine.spec.stream-source workload.stream {}", "{section}");
        }
    }

    #[test]
    fn settings_that_do_not_go_with_the_answers_are_named() {
        let needs = |more: Value, setting: &str| {
            let message = finding(more);
            assert!(
                message.contains("stream-answers") && message.contains(&format!("\"needs\":\"{setting}\""))
            );
        };
        needs(json!({"answers": "each", "prepared": 5}), "prepared");
        needs(json!({"answers": "each", "source": {"file": "/f", "repeat": true}}), "repeat");
        needs(json!({"answers": "count", "results": {"host": "h", "port": 1}}), "results");
        needs(json!({"order": "all"}), "order");
        needs(json!({"keep_answers": "/a"}), "keep_answers");
        assert!(read(json!({"answers": "each", "order": "key", "key": "key"})).is_ok());
        assert!(finding(json!({"answers": "each", "order": "key"})).contains("stream-key"));
        assert!(
            finding(json!({"answers": "each", "key": "no"}))
                .contains(r#"stream-key workload.stream {"key":"no"}"#)
        );
    }

    #[test]
    fn an_unknown_distribution_is_named() {
        let field = json!({"name": "k", "draw": {"to": 9, "distribution": "pareto"}});
        let message = finding(json!({"source": {"fields": [field]}}));
        assert!(message.contains("unknown variant `pareto`"), "{message}");
        assert!(finding(json!({"depth": 1})).contains("unknown field `depth`"));
        assert!(finding(json!({"prepared": 0})).contains("stream.prepared"));
    }
}
