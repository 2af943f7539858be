//! Values of responses that variables get.

use regex_automata::meta;
use regex_automata::util::syntax;
use serde_json::json;

use super::super::json_path::{JsonPath, write_text};
use super::super::options::refused;
use super::condition::{failure, no_json};
use super::options::ExtractOptions;
use loadcell_core::error::{Failure, SpecError};
use loadcell_protocols::http::WatchedFields;

/// Limit of a pattern's automata in bytes.
const LARGEST: usize = 4 << 20;

/// Compiled extraction.
#[derive(Debug)]
pub struct Extract {
    /// The variable's slot.
    pub slot: usize,
    source: Source,
    pattern: Option<Capture>,
    default: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Source {
    Json(JsonPath),
    /// The field's name, and its number among the watched ones.
    Header(String, usize),
    Body,
}

/// A pattern that gives its first group, or all that it matches.
#[derive(Debug)]
struct Capture {
    text: String,
    pattern: meta::Regex,
}

impl Capture {
    /// Compile a pattern. It matches bytes, as patterns of checks do.
    fn read(text: &str) -> Result<Self, SpecError> {
        let config = meta::Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(LARGEST))
            .onepass_size_limit(Some(LARGEST))
            .hybrid_cache_capacity(LARGEST);
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let pattern = meta::Builder::new().configure(config).syntax(syntax).build(text);
        let wrong = |error: meta::BuildError| {
            if error.size_limit().is_some() {
                return refused("engine.spec.pattern-size", json!({"pattern": text}));
            }
            let message = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
            let message = message.lines().last().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            refused("engine.spec.pattern", json!({"pattern": text, "said": message}))
        };
        Ok(Self { text: text.into(), pattern: pattern.map_err(wrong)? })
    }

    fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        if self.pattern.captures_len() < 2 {
            return self.pattern.find(text).map(|matched| &text[matched.range()]);
        }
        let mut captures = self.pattern.create_captures();
        self.pattern.captures(text, &mut captures);
        captures.get_group(1).map(|matched| &text[matched.range()])
    }
}

impl Extract {
    /// Compile an extraction into `slot`; `watch` gives a header field its number.
    pub fn read(
        options: &ExtractOptions,
        slot: usize,
        mut watch: impl FnMut(&str) -> usize,
    ) -> Result<Self, SpecError> {
        let source = match (&options.json, &options.header) {
            (Some(path), _) => Source::Json(JsonPath::read(path)?),
            (None, Some(name)) => Source::Header(name.clone(), watch(name)),
            (None, None) => Source::Body,
        };
        Ok(Self {
            slot,
            source,
            pattern: options.pattern.as_deref().map(Capture::read).transpose()?,
            default: options.default.as_ref().map(|text| text.clone().into_bytes()),
        })
    }

    /// True if the value is in the body, which must be stored; otherwise it is in the header.
    pub fn reads_body(&self) -> bool {
        !matches!(self.source, Source::Header(..))
    }

    /// Write the value into `out`. `null` of JSON is no value.
    pub fn apply(
        &self,
        fields: Option<&WatchedFields>,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        out.clear();
        let value = match &self.source {
            Source::Json(path) => {
                let value = path.find(body).map_err(|error| no_json(error.0, body))?;
                let value = value.filter(|value| *value != b"null");
                if let Some(value) = value {
                    write_text(value, out).map_err(|error| no_json(error.0, body))?;
                }
                match (&self.pattern, value) {
                    (Some(pattern), Some(_)) => {
                        let Some(matched) = pattern.find(out).map(<[u8]>::to_vec) else {
                            return self.nothing(body, out);
                        };
                        *out = matched;
                        return Ok(());
                    }
                    (_, Some(_)) => return Ok(()),
                    (_, None) => None,
                }
            }
            Source::Header(_, number) => {
                let mut values = fields.into_iter().flat_map(|fields| fields.values(*number));
                match &self.pattern {
                    Some(pattern) => values.find_map(|value| pattern.find(value)),
                    None => values.next(),
                }
            }
            Source::Body => self.pattern.as_ref().and_then(|pattern| pattern.find(body)),
        };
        match value {
            Some(value) => {
                out.extend_from_slice(value);
                Ok(())
            }
            None => self.nothing(body, out),
        }
    }

    /// There is no value: the default, or a failure.
    #[cold]
    fn nothing(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        if let Some(default) = &self.default {
            out.clone_from(default);
            return Ok(());
        }
        let pattern = self.pattern.as_ref().map(|pattern| pattern.text.as_str());
        let in_body = format!("body of {} bytes: {}", body.len(), super::condition::shown(body));
        Err(match (&self.source, pattern) {
            (Source::Json(path), None) => failure("extract-json", format!("{}; {in_body}", path.text())),
            (Source::Header(name, _), None) => failure("extract-header", format!("header field {name}")),
            (Source::Header(name, _), Some(pattern)) => {
                failure("extract-pattern", format!("pattern {pattern}; header field {name}"))
            }
            (_, pattern) => {
                failure("extract-pattern", format!("pattern {}; {in_body}", pattern.unwrap_or_default()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn extracted(options: Value, body: &str) -> Result<String, String> {
        let options = loadcell_testing::section("http.scenario.steps.*.extract.*", &options);
        let extract = Extract::read(&serde_json::from_value(options).unwrap(), 0, |_| 0);
        let (extract, mut out) = (extract.map_err(|error| error.to_string())?, Vec::new());
        let applied = extract.apply(None, body.as_bytes(), &mut out);
        applied.map_err(|why| format!("{}: {}", why.code, why.message))?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_come_from_json_or_by_pattern() {
        assert_eq!(extracted(json!({"json": "$.a"}), r#"{"a": "x\ny"}"#).unwrap(), "x\ny");
        let pattern = json!({"pattern": r#"name="csrf" value="([^"]*)""#});
        assert_eq!(extracted(pattern, r#"<input name="csrf" value="t0k">"#).unwrap(), "t0k");
        assert_eq!(extracted(json!({"pattern": r"\d+"}), "order 42, 43").unwrap(), "42");
        assert_eq!(extracted(json!({"json": "$.a", "pattern": "^.(.)"}), r#"{"a": "xyz"}"#).unwrap(), "y");
        assert_eq!(extracted(json!({"pattern": "价(.+)元"}), "价42元").unwrap(), "42");
    }

    #[test]
    fn missing_values_have_classes_and_defaults() {
        let missing = |options| extracted(options, r#"{"a": null}"#).unwrap_err();
        assert_eq!(missing(json!({"json": "$.a"})), r#"extract-json: $.a; body of 11 bytes: '{"a": null}'"#);
        assert!(missing(json!({"pattern": "x"})).starts_with("extract-pattern: pattern x; body of"));
        assert_eq!(missing(json!({"header": "X"})), "extract-header: header field X");
        assert_eq!(extracted(json!({"json": "$.b", "default": "d"}), "{}").unwrap(), "d");
        assert!(
            extracted(json!({"json": "$.b", "default": "d"}), "{").unwrap_err().starts_with("not-json: ")
        );
    }

    #[test]
    fn mistakes_in_patterns_are_reported() {
        assert!(extracted(json!({"pattern": "(a"}), "").unwrap_err().contains("unclosed group"));
        assert!(extracted(json!({"pattern": "(a{1000}){1000}"}), "").unwrap_err().contains("pattern-size"));
    }
}
