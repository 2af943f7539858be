//! The `http` section of a specification, and its compiled form.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{self, Check, Statuses};
use super::head::{Channel, FieldValue, Head, HeadOptions};
use super::scenario;
use super::template::{Encoding, Template};
use crate::parameter::{self, Parameter};
use loadcell_core::error::SpecError;
use loadcell_core::spec;
use loadcell_core::target::{SslMode, Target};
use loadcell_protocols::http::{Fields, Limits, Version};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub version: Version,
    pub requests: Vec<RequestOptions>,
    pub parameters: BTreeMap<String, parameter::Options>,
    /// Reuse connections for subsequent requests; otherwise each request connects.
    pub keep_alive: bool,
    /// Concurrent requests per connection.
    pub streams: u32,
    pub success: Vec<String>,
    pub header_bytes: usize,
    /// Steps of a scenario, instead of `requests`.
    pub scenario: Option<scenario::Options>,
}

/// Requests of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestOptions {
    #[serde(flatten)]
    pub head: HeadOptions,
    pub body: Option<BodyOptions>,
    pub share: f64,
    pub check: Option<check::Options>,
}

/// A body: a text template, or literal bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum BodyOptions {
    Text(String),
    Bytes { base64: String },
}

/// Compiled section, shared by all sessions of a load.
#[derive(Debug)]
pub struct Plan {
    pub requests: Vec<Kind>,
    /// Upper bound of each request kind in the range of a random 64-bit number.
    pub bounds: Vec<u64>,
    pub parameters: Vec<Parameter>,
    pub keep_alive: bool,
    pub streams: u32,
    pub tls: bool,
    pub success: Statuses,
    pub os: Limits,
}

/// Compiled requests of one kind.
#[derive(Debug)]
pub struct Kind {
    pub name: String,
    pub method: String,
    pub target: Template,
    pub fields: Fields,
    /// Header fields that vary: their index in `fields`, and their templates.
    pub changing: Vec<(usize, FieldValue)>,
    pub body: Option<Template>,
    /// The parameters in its templates, each once.
    pub parameters: Vec<usize>,
    pub check: Option<Check>,
    /// The encoded request, if it never varies.
    pub written: Option<Vec<u8>>,
}

pub fn refused(code: &'static str, arguments: Value) -> SpecError {
    SpecError::new(code, "workload.http", arguments)
}

/// Shape of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One after the other on a connection.
    Sequential,
    /// Several at once on a connection.
    Streams,
    /// As steps of a scenario.
    Scenario,
}

/// HTTP version of `section`, and the shape of its load.
pub fn shape(section: &Value) -> Result<(Version, Shape), SpecError> {
    // Only what is asked for is read: data of scenarios may be large.
    let missing = || SpecError::value("workload.http.version", section.get("version"));
    let version = section.get("version").and_then(|version| Version::deserialize(version).ok());
    let shape = match (section.get("scenario"), section.get("streams").and_then(Value::as_u64)) {
        (Some(Value::Object(_)), _) => Shape::Scenario,
        (_, Some(2..)) => Shape::Streams,
        _ => Shape::Sequential,
    };
    Ok((version.ok_or_else(missing)?, shape))
}

/// Check the number of concurrent requests per connection.
fn check_streams(options: &Options) -> Result<(), SpecError> {
    let streams = options.streams;
    if streams > 1 && options.version == Version::One {
        return Err(refused("engine.spec.streams-version", json!({"streams": streams})));
    }
    if streams > 1 && !options.keep_alive {
        return Err(refused("engine.spec.streams-keep-alive", json!({"streams": streams})));
    }
    Ok(())
}

impl Plan {
    pub fn read(section: &Value, target: &Target) -> Result<Self, SpecError> {
        let options: Options = spec::section("workload.http", section)?;
        check_streams(&options)?;
        let names: Vec<&str> = options.parameters.keys().map(String::as_str).collect();
        let requests: Result<Vec<_>, _> = options
            .requests
            .iter()
            .map(|parameter| Kind::read(parameter, &names, target, &options))
            .collect();
        let plan = Self {
            requests: requests?,
            bounds: bounds(options.requests.iter().map(|request| request.share))?,
            parameters: options.parameters.values().map(Parameter::new).collect(),
            keep_alive: options.keep_alive,
            streams: options.streams,
            tls: target.sslmode != SslMode::Disable,
            success: Statuses::read(&options.success)?,
            os: Limits { header_bytes: options.header_bytes },
        };
        Ok(plan)
    }

    /// True if requests are counted by kind, too.
    pub fn is_mixed(&self) -> bool {
        self.requests.len() > 1
    }
}

/// Cumulative shares, scaled to the range of 64-bit numbers.
fn bounds(shares: impl Iterator<Item = f64> + Clone) -> Result<Vec<u64>, SpecError> {
    let total: f64 = shares.clone().sum();
    if !(total > 0.0 && total.is_finite()) || shares.clone().any(|share| share < 0.0) {
        return Err(refused("engine.spec.shares", json!({})));
    }
    let mut sum = 0.0;
    let bounds: Vec<u64> = shares
        .map(|share| {
            sum += share;
            (sum / total * 2f64.powi(64)) as u64 // Saturates at the largest number.
        })
        .collect();
    Ok(bounds)
}

impl Kind {
    fn read(
        options: &RequestOptions,
        names: &[&str],
        target: &Target,
        all: &Options,
    ) -> Result<Self, SpecError> {
        let RequestOptions { head, body, check, .. } = options;
        let template = |text: &str| {
            Template::read(text, |wanted| names.iter().position(|name| *name == wanted))
                .map_err(|missing| refused("engine.spec.no-parameter", json!({"parameter": missing})))
        };
        let channel = Channel { version: all.version, keep_alive: all.keep_alive, target };
        let head = Head::read(head, None, channel, Encoding::Raw, |text, _| template(text))?;
        let body = body.as_ref().map(|body| match body {
            BodyOptions::Text(text) => template(text),
            BodyOptions::Bytes { base64 } => decoded(base64).map(Template::fixed),
        });
        let body = body.transpose()?;
        let mut parameters: Vec<usize> = head.templates().flat_map(Template::parameters).collect();
        parameters.extend(body.iter().flat_map(Template::parameters));
        parameters.sort_unstable();
        parameters.dedup();
        let Head { method, target, fields, changing } = head;
        Ok(Self {
            name: options.head.name.clone(),
            method,
            target,
            fields,
            changing,
            body,
            parameters,
            check: check.as_ref().map(Check::read).transpose()?,
            written: None,
        })
    }
}

/// Bytes of a body that is no text.
pub fn decoded(base64: &str) -> Result<Vec<u8>, SpecError> {
    let wrong =
        |error: base64::DecodeError| refused("engine.spec.base64", json!({"said": error.to_string()}));
    BASE64_STANDARD.decode(base64).map_err(wrong)
}

#[cfg(test)]
impl Plan {
    /// The plan of a section that states only what a test is about.
    pub fn of(section: &Value, target: &Target) -> Result<Self, SpecError> {
        Self::read(&loadcell_testing::section("http", section), target)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(text: &str) -> Target {
        loadcell_testing::read("target", text).unwrap()
    }

    fn plain() -> Target {
        target(r#"{"protocol":"http","host":"shop","port":8080,"sslmode":"disable"}"#)
    }

    fn finding(section: &Value) -> String {
        Plan::of(section, &plain()).unwrap_err().to_string()
    }

    #[test]
    fn fields_of_requests_are_complete() {
        let plan = Plan::of(&json!({"requests": [{"path": "/"}]}), &plain()).unwrap();
        let kind = &plan.requests[0];
        assert_eq!((kind.method.as_str(), kind.fields.authority.as_str()), ("GET", "shop:8080"));
        assert!(plan.keep_alive && !plan.tls && !plan.is_mixed() && kind.parameters.is_empty());
        assert_eq!(
            kind.fields.list,
            [("user-agent".into(), b"loadcell".to_vec()), ("accept".into(), b"*/*".to_vec())]
        );
        assert!(plan.success.judge(302).is_ok() && plan.success.judge(404).is_err());
    }

    #[test]
    fn body_is_a_template_or_bytes() {
        let read = |body: Value| Plan::of(&json!({"requests": [{"path": "/", "body": body}]}), &plain());
        let written = |body: Value| {
            let (plan, mut out) = (read(body).unwrap(), Vec::new());
            plan.requests[0].body.as_ref().unwrap().write(&mut out, |_| b"");
            out
        };
        assert_eq!(written(json!("text")), b"text");
        assert_eq!(written(json!({"base64": "/yR7eH0A"})), b"\xff${x}\0");
        assert!(
            read(json!("${x}"))
                .unwrap_err()
                .to_string()
                .contains(r#"no-parameter workload.http {"parameter":"x"}"#)
        );
        assert!(read(json!({"base64": "?"})).unwrap_err().to_string().contains("spec.base64"));
    }

    #[test]
    fn each_kind_lists_its_parameters() {
        let plan = Plan::of(
            &json!({
                "requests": [
                    {"name": "get", "path": "/get?key=${key}", "share": 3},
                    {"name": "set", "method": "POST", "path": "/set?key=${key}", "body": "${value}${key}",
                     "headers": {"X-Key": "k${key}", "Host": "other", "Accept": "text/plain"}},
                ],
                "parameters": {"key": {"from": 1, "to": 9}, "other": {"to": 1}, "value": {"letters": 5}},
            }),
            &plain(),
        );
        let plan = plan.unwrap();
        assert_eq!(plan.requests[0].parameters, [0]);
        let set = &plan.requests[1];
        assert_eq!((set.parameters.as_slice(), set.fields.authority.as_str()), (&[0, 2][..], "other"));
        assert_eq!(set.changing[0].0, 1);
        assert_eq!(plan.bounds[0], (0.75 * 2f64.powi(64)) as u64);
        assert_eq!(plan.bounds[1], u64::MAX);
    }

    #[test]
    fn invalid_options_are_reported() {
        let request =
            |text: &str| finding(&json!({"requests": [serde_json::from_str::<Value>(text).unwrap()]}));
        assert!(request(r#"{"path":"index.html"}"#).contains("spec.path"));
        assert!(request(r#"{"path":"/a b"}"#).contains("spec.path"));
        assert!(request(r#"{"path":"/","method":"GE T"}"#).contains("spec.method"));
        assert!(
            request(r#"{"path":"/${key}"}"#).contains(r#"no-parameter workload.http {"parameter":"key"}"#)
        );
        assert!(request(r#"{"path":"/","headers":{"X":"a\r\nb"}}"#).contains("spec.header "));
        assert!(request(r#"{"path":"/","headers":{"X Y":"a"}}"#).contains("spec.header "));
        assert!(request(r#"{"path":"/","headers":{"Content-Length":"9"}}"#).contains("spec.header-own"));
        assert!(request(r#"{"path":"/","check":{"pattern":"a("}}"#).contains("spec.pattern "));
        assert!(request(r#"{"path":"/","verb":"GET"}"#).contains("unknown field `verb`"));
        assert!(request(r#"{"path":"/","share":-1}"#).contains("spec.shares"));
        assert!(finding(&json!({"requests": []})).contains("spec.shares"));
        assert!(
            finding(&json!({"requests": [{"path": "/"}], "success": ["ok"]}))
                .contains("http-status workload.http.success {\"status\":\"ok\"}")
        );
        let streams = |more: Value| {
            let mut section = json!({"requests": [{"path": "/"}], "streams": 8});
            section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            finding(&section)
        };
        assert!(streams(json!({})).contains("streams-version"));
        assert!(streams(json!({"version": "2", "keep_alive": false})).contains("streams-keep-alive"));
        assert!(finding(&json!({"requests": [{"path": "/"}], "depth": 1})).contains("unknown field `depth`"));
    }
}
