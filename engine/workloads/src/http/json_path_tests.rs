//! Paths against known answers, against `serde_json`, and on broken texts.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

fn find(path: &str, body: &str) -> Option<String> {
    let value = JsonPath::read(path).unwrap().find(body.as_bytes()).unwrap()?;
    let mut out = Vec::new();
    write_text(value, &mut out).unwrap();
    Some(String::from_utf8(out).unwrap())
}

#[test]
fn values_are_found_by_name_index_and_wildcard() {
    let body =
        r#" {"token": "a\"b", "items": [{"id": 7}, {"id": 8, "name": "x y"}], "a key": [], "n": null} "#;
    assert_eq!(find("$.token", body).unwrap(), "a\"b");
    assert_eq!(find("$.items[1].id", body).unwrap(), "8");
    assert_eq!(find("$['items'][1][\"name\"]", body).unwrap(), "x y");
    assert_eq!(find("$.items[*].name", body).unwrap(), "x y", "the first element that has one");
    assert_eq!(find("$.*[0].id", body).unwrap(), "7");
    assert_eq!(find("$['a key']", body).unwrap(), "[]");
    assert_eq!(find("$.n", body).unwrap(), "null");
    assert_eq!(find("$.items[0]", body).unwrap(), r#"{"id": 7}"#);
    assert_eq!(find("$", "  42 ").unwrap(), "42");
    for missing in ["$.none", "$.items[2]", "$.items.id", "$.token.x", "$['a key'][0]", "$.items[*].none"] {
        assert_eq!(find(missing, body), None, "{missing}");
    }
}

#[test]
fn strings_are_unescaped() {
    let body = r#"{"a": "\u00e9\ud83d\ude00\n\/", "caf\u00e9": 1, "lone": "\ud83d!"}"#;
    assert_eq!(find("$.a", body).unwrap(), "\u{e9}\u{1f600}\n/");
    assert_eq!(find("$.caf\u{e9}", body).unwrap(), "1");
    assert_eq!(find("$.lone", body).unwrap(), "\u{fffd}!");
}

#[test]
fn mistakes_in_paths_have_positions() {
    let wrong = |text: &str| JsonPath::read(text).unwrap_err().to_string();
    for (text, position, matched) in [
        ("items", 1, "items"),
        ("$items", 2, "items"),
        ("$..id", 3, ".id"),
        ("$.a[-1]", 5, "-1]"),
        ("$.a[?(@.b)]", 5, "?(@.b)]"),
        ("$.a[1:2]", 6, ":2]"),
        ("$['\u{e9}'x]", 6, "x]"),
        ("$.a b", 4, " b"),
        ("$[99999999999999999999]", 3, "999999999999"),
    ] {
        let error = wrong(text);
        assert!(error.starts_with("engine.spec.json-path workload.http.steps"), "{error}");
        assert!(error.contains(&format!(r#""position":"{position}""#)), "{text}: {error}");
        assert!(error.contains(&format!(r#""found":"{matched}""#)), "{text}: {error}");
    }
    for text in ["", "$.", "$.a[", "$['a", "$[1", "$['a'"] {
        assert!(wrong(text).starts_with("engine.spec.json-path-end"), "{text}");
    }
    assert!(wrong(&format!("${}", ".a".repeat(65))).contains("json-path"));
}

#[test]
fn broken_texts_are_noticed_on_the_way() {
    let path = JsonPath::read("$.a.b").unwrap();
    for body in ["", "{", "{\"a\"", "{\"a\" 1}", "{\"x\": nul, \"a\": {\"b\": 1}}", "{\"a\": {\"b\": "] {
        assert!(path.find(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(path.find(b"<html>"), Ok(None));
    assert_eq!(path.find(br#"{"a": {"b": 1}, broken"#), Ok(Some(&b"1"[..])), "nobody reads that far");
    let mut out = Vec::new();
    assert!(write_text(br#""\x""#, &mut out).is_err() && write_text(br#""\u12""#, &mut out).is_err());
}

/// The value at a path by the DOM.
fn by_dom<'v>(value: &'v Value, steps: &[PathStep]) -> Option<&'v Value> {
    let Some((step, remaining)) = steps.split_first() else { return Some(value) };
    match (step, value) {
        (PathStep::Name(name), Value::Object(members)) => by_dom(members.get(name)?, remaining),
        (PathStep::Index(index), Value::Array(elements)) => by_dom(elements.get(*index)?, remaining),
        (PathStep::Any, Value::Object(members)) => {
            members.values().find_map(|value| by_dom(value, remaining))
        }
        (PathStep::Any, Value::Array(elements)) => elements.iter().find_map(|value| by_dom(value, remaining)),
        _ => None,
    }
}

fn document() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "b", "c d", "\u{e9}\"\\", ""]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        // Short enough that `serde_json` reads exactly what it has written.
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[ -~\u{e9}\u{1f600}\n\t\"\\\\{}\\[\\]]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::Array),
            members.prop_map(|members| {
                Value::Object(
                    members.into_iter().map(|(name, value)| (name.to_string(), value)).collect::<Map<_, _>>(),
                )
            }),
        ]
    })
}

fn steps() -> impl Strategy<Value = Vec<PathStep>> {
    let names = prop::sample::select(vec!["a", "b", "c d", "\u{e9}\"\\", "", "z"]);
    let step = prop_oneof![
        3 => names.prop_map(|name| PathStep::Name(name.into())),
        2 => (0usize..4).prop_map(PathStep::Index),
        3 => Just(PathStep::Any),
    ];
    prop::collection::vec(step, 0..5)
}

fn written(steps: &[PathStep]) -> String {
    let write = |step: &PathStep| match step {
        PathStep::Name(name) => format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
        PathStep::Index(index) => format!("[{index}]"),
        PathStep::Any => "[*]".into(),
    };
    format!("${}", steps.iter().map(write).collect::<String>())
}

fn same(matched: &[u8], expected: &Value) {
    assert_eq!(&serde_json::from_slice::<Value>(matched).unwrap(), expected);
    let mut text = Vec::new();
    write_text(matched, &mut text).unwrap();
    if let Value::String(expected) = expected {
        assert_eq!(text, expected.as_bytes());
    }
}

proptest! {
    #[test]
    fn paths_lead_where_the_dom_leads(document in document(), steps in steps(), pretty in any::<bool>()) {
        let path = JsonPath::read(&written(&steps)).unwrap();
        prop_assert_eq!(&path.steps, &steps);
        let mut text = serde_json::to_string(&document).unwrap();
        if pretty {
            text = serde_json::to_string_pretty(&document).unwrap();
        }
        let matched = path.find(text.as_bytes()).unwrap();
        match by_dom(&document, &steps) {
            Some(expected) => same(matched.expect("the DOM has it"), expected),
            None => prop_assert_eq!(matched, None),
        }
    }

    /// Damaged texts end in a value, in none or in an error.
    #[test]
    fn damaged_texts_do_no_harm(
        document in document(), steps in steps(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut text = serde_json::to_vec(&document).unwrap();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        if let Ok(Some(value)) = (JsonPath { text: String::new(), steps }).find(&text) {
            let _ = write_text(value, &mut Vec::new());
        }
    }

    #[test]
    fn any_bytes_do_no_harm(text in prop::collection::vec(any::<u8>(), 0..60), path in "\\PC{0,20}") {
        let _ = JsonPath::read(&path);
        let _ = JsonPath::read("$[*]['a']").unwrap().find(&text).map(|value| {
            value.map(|value| write_text(value, &mut Vec::new()))
        });
    }
}
