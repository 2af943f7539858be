//! The section `scenario` of a specification.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::check;
use super::super::head::HeadOptions;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub steps: Vec<StepOptions>,
    pub data: Vec<DataOptions>,
    pub cookies: CookieScope,
    pub after_failure: AfterFailure,
    /// Largest body that values are read from, in bytes.
    pub body_bytes: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepOptions {
    #[serde(flatten)]
    pub head: HeadOptions,
    pub body: Option<BodyOptions>,
    pub check: CheckOptions,
    pub extract: Vec<ExtractOptions>,
    /// Think time after the step: every duration between these is equally likely.
    pub think_ns: (u64, u64),
    /// Only in a client's first scenario.
    pub once: bool,
}

/// Body of a request. Texts are templates.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BodyOptions {
    Text(String),
    Base64(String),
    /// JSON, whose strings are templates.
    Json(String),
    Form(Vec<(String, String)>),
    Multipart(Vec<PartOptions>),
}

/// One part of a multipart form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartOptions {
    pub name: String,
    pub file_name: Option<String>,
    pub content_type: Option<String>,
    pub body: PartBody,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PartBody {
    Text(String),
    Base64(String),
}

/// Conditions on a response for its step to succeed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckOptions {
    pub status: Option<Vec<String>>,
    pub headers: BTreeMap<String, ConditionOptions>,
    pub body: Option<check::Options>,
    /// By JSON path.
    pub json: BTreeMap<String, ConditionOptions>,
}

/// Condition on a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionOptions {
    pub equals: Option<String>,
    pub contains: Option<String>,
    pub pattern: Option<String>,
    pub exists: bool,
}

/// Value of a response that a variable gets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractOptions {
    pub variable: String,
    pub json: Option<String>,
    pub header: Option<String>,
    /// Pattern for the header, or else for the body: its first group, or the match.
    pub pattern: Option<String>,
    /// Value where there is none.
    pub default: Option<String>,
}

/// Rows of a table, which scenarios take their values from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataOptions {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub order: Order,
    pub at_end: AtEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// In the file's order: each scenario of any client takes the next row.
    Sequential,
    Random,
    /// Each client has one row.
    Client,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtEnd {
    Restart,
    Stop,
}

/// Lifetime of cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CookieScope {
    Client,
    Scenario,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterFailure {
    Stop,
    Continue,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_of_a_step_are_refused() {
        let read = |step| {
            let section = loadcell_testing::section("http.scenario.steps.*", &step);
            serde_json::from_value::<StepOptions>(section)
        };
        assert_eq!(read(json!({"name": "cart", "path": "/cart"})).unwrap().head.name, "cart");
        let error = read(json!({"name": "cart", "path": "/cart", "verb": "GET"})).unwrap_err();
        assert_eq!(error.to_string(), "unknown field `verb`");
    }
}
