//! Conditions on values of responses: header fields, and values of a JSON body.

use memchr::memmem;

use super::super::check::{Check, Statuses};
use super::super::json_path::{JsonPath, write_text};
use super::super::pattern::Pattern;
use super::options::{CheckOptions, ConditionOptions};
use loadcell_core::error::{Failure, SpecError};
use loadcell_protocols::http::WatchedFields;

/// Bytes of a value that messages show.
const SHOWN: usize = 80;

/// Compiled condition on one value.
#[derive(Clone, Debug)]
pub struct Condition {
    equals: Option<Vec<u8>>,
    contains: Option<memmem::Finder<'static>>,
    pattern: Option<Pattern>,
    exists: bool,
}

impl Condition {
    pub fn read(options: &ConditionOptions) -> Result<Self, SpecError> {
        Ok(Self {
            equals: options.equals.as_ref().map(|text| text.clone().into_bytes()),
            contains: options.contains.as_ref().map(|text| memmem::Finder::new(text).into_owned()),
            pattern: options.pattern.as_deref().map(Pattern::read).transpose()?,
            exists: options.exists,
        })
    }

    /// Judge a value. The error says what was expected.
    pub fn judge(&self, value: Option<&[u8]>) -> Result<(), String> {
        let Some(value) = value else {
            return if self.exists { Err("is missing".into()) } else { Ok(()) };
        };
        let wrong = |expected: String| Err(format!("is {}, and was to {expected}", shown(value)));
        if !self.exists {
            return wrong("be absent".into());
        }
        if let Some(wanted) = self.equals.as_ref().filter(|wanted| *wanted != value) {
            return wrong(format!("be {}", shown(wanted)));
        }
        if let Some(finder) = self.contains.as_ref().filter(|finder| finder.find(value).is_none()) {
            return wrong(format!("contain {}", shown(finder.needle())));
        }
        let matches = |pattern: &&Pattern| pattern.matches(pattern.follow(pattern.start(), value));
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !matches(pattern)) {
            return wrong(format!("match '{}'", pattern.text()));
        }
        Ok(())
    }
}

/// The start of a value in single quotes, for messages: its own quotes remain readable.
pub fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(SHOWN)]);
    let mut quoted = String::from("'");
    for character in text.trim_end_matches('\u{fffd}').chars() {
        match character {
            '"' | '\'' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    quoted + if value.len() > SHOWN { "'..." } else { "'" }
}

/// A failure of one response.
#[cold]
pub fn failure(code: &str, message: String) -> Failure {
    Failure { code: code.into(), message }
}

/// A value that would end a header field or a request line too early.
#[cold]
pub fn unsafe_value(name: &str, position: &str) -> Failure {
    failure("unsafe-value", format!("the value of the variable {name} cannot be part of {position}"))
}

/// The body is no JSON.
#[cold]
pub fn no_json(offset: usize, body: &[u8]) -> Failure {
    let message =
        format!("the body (of {} bytes) is no JSON at byte {}: {}", body.len(), offset + 1, shown(body));
    failure("not-json", message)
}

/// Compiled check of a response.
#[derive(Clone, Debug)]
pub struct StepCheck {
    status: Option<Statuses>,
    /// Name, number among the watched fields, and condition.
    headers: Vec<(String, usize, Condition)>,
    pub body: Option<Check>,
    json: Vec<(JsonPath, Condition)>,
}

impl StepCheck {
    /// Compile a check; `watch` gives a header field its number.
    pub fn read(options: &CheckOptions, mut watch: impl FnMut(&str) -> usize) -> Result<Self, SpecError> {
        let header = |(name, condition)| Ok((String::clone(name), watch(name), Condition::read(condition)?));
        let json = |(path, condition): (&String, _)| Ok((JsonPath::read(path)?, Condition::read(condition)?));
        Ok(Self {
            status: options.status.as_deref().map(Statuses::read).transpose()?,
            headers: options.headers.iter().map(header).collect::<Result<_, SpecError>>()?,
            body: options.body.as_ref().map(Check::read).transpose()?,
            json: options.json.iter().map(json).collect::<Result<_, SpecError>>()?,
        })
    }

    /// True if the body must be stored for the check.
    pub fn reads_body(&self) -> bool {
        !self.json.is_empty()
    }

    /// True if it has conditions on header fields.
    pub fn reads_fields(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Judge the status; `general` are the statuses of successes where the step names none.
    #[inline]
    pub fn judge_status(&self, status: u16, general: &Statuses) -> Result<(), Failure> {
        self.status.as_ref().unwrap_or(general).judge(status)
    }

    /// Judge the header fields. Of several fields of a name one must meet the condition.
    #[inline]
    pub fn judge_headers(&self, fields: &WatchedFields) -> Result<(), Failure> {
        self.headers.iter().try_for_each(|(name, number, condition)| {
            let first = condition.judge(fields.values(*number).next());
            if fields.values(*number).skip(1).any(|value| condition.judge(Some(value)).is_ok()) {
                return Ok(());
            }
            first.map_err(|why| failure("check-header", format!("the header field {name} {why}")))
        })
    }

    /// Judge values of a JSON body.
    #[inline]
    pub fn judge_json(&self, body: &[u8]) -> Result<(), Failure> {
        self.json.iter().try_for_each(|(path, condition)| {
            let value = path.find(body).map_err(|error| no_json(error.0, body))?;
            let mut text = Vec::new();
            if let Some(value) = value {
                write_text(value, &mut text).map_err(|error| no_json(error.0, body))?;
            }
            let judged = condition.judge(value.map(|_| text.as_slice()));
            judged.map_err(|why| failure("check-json", format!("{} {why}", path.text())))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judge(options: Value, value: Option<&str>) -> Result<(), String> {
        let options = loadcell_testing::section("http.scenario.steps.*.check.json.*", &options);
        let condition = Condition::read(&serde_json::from_value(options).unwrap()).unwrap();
        condition.judge(value.map(str::as_bytes))
    }

    #[test]
    fn values_are_judged() {
        assert_eq!(judge(json!({"equals": "7"}), Some("7")), Ok(()));
        assert_eq!(judge(json!({"equals": "7"}), Some("8")).unwrap_err(), "is '8', and was to be '7'");
        assert_eq!(judge(json!({}), None).unwrap_err(), "is missing");
        assert_eq!(judge(json!({"exists": false}), None), Ok(()));
        assert!(judge(json!({"exists": false}), Some("")).unwrap_err().contains("be absent"));
        assert_eq!(judge(json!({"contains": "b", "pattern": "^a"}), Some("abc")), Ok(()));
        assert!(judge(json!({"contains": "x"}), Some("abc")).unwrap_err().contains("contain 'x'"));
        let long = judge(json!({"pattern": "^b"}), Some(&"\u{e9}".repeat(100))).unwrap_err();
        assert!(long.contains("\u{e9}'..., and was to match '^b'") && long.len() < 150, "{long}");
    }
}
