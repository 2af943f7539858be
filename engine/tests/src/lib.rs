//! Complete specifications for tests, which write only what they are about.
//!
//! The engine requires every field, as Python sends it. `defaults.json` has the defaults of the plan language
//! by dotted path, where `*` stands for any key or index; `tests/engine/test_defaults.py` compares them with
//! what Python sends.

use serde::de::DeserializeOwned;
use serde_json::{Error, Map, Value};

const DEFAULTS: &str = include_str!("defaults.json");

/// The section of a specification at `path`, such as `kv` or `target.store`, with all its fields.
pub fn section(path: &str, section: &Value) -> Value {
    let defaults: Map<String, Value> = serde_json::from_str(DEFAULTS).expect("defaults are JSON");
    let mut section = section.clone();
    complete(&defaults, path, &mut section);
    section
}

/// The value of the section at `path`, from its JSON text with all its fields.
pub fn read<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, Error> {
    serde_json::from_value(section(path, &serde_json::from_str(text)?))
}

/// The same of the text of a whole specification; text that is no JSON is returned as it is.
pub fn text(text: &str) -> String {
    serde_json::from_str(text).map_or(text.into(), |spec| specification(spec).to_string())
}

/// A whole specification with all its fields.
pub fn specification(mut spec: Value) -> Value {
    let defaults: Map<String, Value> = serde_json::from_str(DEFAULTS).expect("defaults are JSON");
    complete(&defaults, "", &mut spec);
    if let Some(Value::Array(groups)) = spec.get_mut("groups") {
        groups.iter_mut().for_each(|group| complete_workload(&defaults, group));
    }
    complete_workload(&defaults, &mut spec);
    spec
}

fn complete_workload(defaults: &Map<String, Value>, holder: &mut Value) {
    if let Some(Value::Object(sections)) = holder.get_mut("workload") {
        sections.iter_mut().for_each(|(name, section)| complete(defaults, name, section));
    }
}

fn complete(defaults: &Map<String, Value>, path: &str, value: &mut Value) {
    if let (Value::Object(fields), Some(Value::Object(missing))) = (&mut *value, defaults.get(path)) {
        for (name, default) in missing {
            fields.entry(name.as_str()).or_insert_with(|| default.clone());
        }
    }
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, field)| {
            complete(defaults, &below(key), field);
            complete(defaults, &below("*"), field);
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| complete(defaults, &below("*"), item)),
        _ => {}
    }
}
