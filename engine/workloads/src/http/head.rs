//! Heads of requests: method, path and header fields, compiled from a plan.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::json;

use super::options::refused;
use super::template::{Encoding, Template};
use loadcell_core::error::SpecError;
use loadcell_core::target::{SslMode, Target};
use loadcell_protocols::http::{Fields, Version};

/// Credentials, sent as `Authorization`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AuthOptions {
    Basic { user: String, password: String },
    Bearer(String),
}

/// A request's head as written in a plan; its fields stand among those of the request, which refuses others.
#[derive(Clone, Debug, Deserialize)]
pub struct HeadOptions {
    pub name: String,
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub auth: Option<AuthOptions>,
}

/// The connection that requests are sent over.
#[derive(Clone, Copy)]
pub struct Channel<'t> {
    pub version: Version,
    pub keep_alive: bool,
    pub target: &'t Target,
}

/// Compiled head.
#[derive(Debug)]
pub struct Head {
    pub method: String,
    pub target: Template,
    pub fields: Fields,
    /// Header fields that vary: their index in `fields`, and their templates.
    pub changing: Vec<(usize, FieldValue)>,
}

/// Value of a header field.
#[derive(Clone, Debug)]
pub enum FieldValue {
    Text(Template),
    /// `user:password`, sent as credentials of the scheme `Basic` (RFC 7617).
    Basic(Template),
}

impl FieldValue {
    pub fn template(&self) -> &Template {
        match self {
            Self::Text(template) | Self::Basic(template) => template,
        }
    }

    /// Append the value.
    pub fn write<'v>(&self, out: &mut Vec<u8>, value: impl Fn(usize) -> &'v [u8]) {
        match self {
            Self::Text(template) => template.write(out, value),
            Self::Basic(template) => {
                let mut credentials = Vec::new();
                template.write(&mut credentials, value);
                out.extend_from_slice(b"Basic ");
                out.extend_from_slice(BASE64_STANDARD.encode(credentials).as_bytes());
            }
        }
    }
}

/// Header fields that the protocol sets itself.
const RESERVED: [&str; 4] = ["connection", "content-length", "transfer-encoding", "upgrade"];

/// Further fields that are forbidden in HTTP/2 (RFC 9113, 8.2.2).
const OF_HTTP_1: [&str; 3] = ["keep-alive", "proxy-connection", "te"];

impl Head {
    /// Compile a head. `content_type` is that of the body, where no header says another. `template` reads a
    /// text with placeholders; `in_path` encodes values in the path.
    pub fn read(
        options: &HeadOptions,
        content_type: Option<&str>,
        channel: Channel<'_>,
        in_path: Encoding,
        template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
    ) -> Result<Self, SpecError> {
        let HeadOptions { method, path, headers, auth, .. } = options;
        let token = |text: &str| !text.is_empty() && text.bytes().all(is_token);
        if !token(method) {
            return Err(refused("engine.spec.method", json!({"method": method})));
        }
        if !(path.starts_with('/') || path == "*" || path.starts_with("${"))
            || path.bytes().any(|byte| byte <= b' ' || byte == 127)
        {
            return Err(refused("engine.spec.path", json!({"request_path": path})));
        }
        let mut authority = authority(channel.target);
        let (mut list, mut changing) = (Vec::new(), Vec::new());
        let mut add = |name: &str, value: FieldValue| {
            let mut written = Vec::new();
            if value.template().is_fixed() {
                value.write(&mut written, |_| b"");
            } else {
                changing.push((list.len(), value));
            }
            list.push((name.to_ascii_lowercase(), written));
        };
        for (name, value) in headers {
            let lower = name.to_ascii_lowercase();
            if !token(name) || value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                return Err(refused("engine.spec.header", json!({"header": name})));
            }
            if channel.version == Version::Two && OF_HTTP_1.contains(&lower.as_str()) {
                return Err(refused("engine.spec.header-http2", json!({"header": name})));
            }
            if RESERVED.contains(&lower.as_str()) {
                return Err(refused("engine.spec.header-own", json!({"header": name})));
            }
            if lower == "host" {
                authority.clone_from(value);
                continue;
            }
            add(name, FieldValue::Text(template(value, Encoding::Raw)?));
        }
        if let Some(auth) = auth {
            add("authorization", credentials(auth, &template)?);
        }
        let content_type = content_type.map(|value| ("content-type", value));
        let defaults = [Some(("user-agent", "loadcell")), Some(("accept", "*/*")), content_type];
        for (name, value) in defaults.into_iter().flatten() {
            if !headers.keys().any(|header| header.eq_ignore_ascii_case(name)) {
                add(name, FieldValue::Text(Template::fixed(value.into())));
            }
        }
        let scheme = if channel.target.sslmode == SslMode::Disable { "http" } else { "https" };
        Ok(Self {
            method: method.clone(),
            target: template(path, in_path)?,
            fields: Fields::new(channel.version, scheme, &authority, list, !channel.keep_alive),
            changing,
        })
    }

    /// Templates of the path and of the header fields that vary.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.target).chain(self.changing.iter().map(|(_, value)| value.template()))
    }
}

fn credentials(
    auth: &AuthOptions,
    template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
) -> Result<FieldValue, SpecError> {
    let parts = match auth {
        AuthOptions::Basic { user, password } => [user, ":", password],
        AuthOptions::Bearer(token) => ["Bearer ", token, ""],
    };
    if matches!(auth, AuthOptions::Bearer(token) if token.bytes().any(|byte| byte.is_ascii_control())) {
        return Err(refused("engine.spec.header", json!({"header": "Authorization"})));
    }
    let mut text = Template::default();
    for part in parts {
        text.append(template(part, Encoding::Raw)?, Encoding::Raw);
    }
    Ok(match auth {
        AuthOptions::Basic { .. } => FieldValue::Basic(text),
        AuthOptions::Bearer(_) => FieldValue::Text(text),
    })
}

/// Value of `Host`: without the port if it is the default of the scheme (RFC 9110, 4.2).
fn authority(target: &Target) -> String {
    if let Some(authority) = &target.authority {
        return authority.clone();
    }
    let host = target.host.as_deref().unwrap_or("localhost");
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
    let standard = if target.sslmode == SslMode::Disable { 80 } else { 443 };
    if target.port() == standard { host } else { format!("{host}:{}", target.port()) }
}

/// Turn an absolute URL into a path. Fails where it is neither, or has characters that end a request line.
pub fn as_path(target: &mut Vec<u8>) -> Result<(), ()> {
    if let Some(after) = [&b"http://"[..], b"https://"].iter().find_map(|scheme| target.strip_prefix(*scheme))
    {
        let path = after.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(after.len());
        let start = target.len() - after.len() + path;
        target.drain(..start);
        if target.first() != Some(&b'/') {
            target.insert(0, b'/');
        }
    }
    if let Some(fragment) = target.iter().position(|byte| *byte == b'#') {
        target.truncate(fragment);
    }
    let good = target.first() == Some(&b'/') && target.iter().all(|byte| *byte > b' ' && *byte != 127);
    if good { Ok(()) } else { Err(()) }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_port_is_omitted() {
        let of = |text: &str| authority(&loadcell_testing::read("target", text).unwrap());
        assert_eq!(of(r#"{"protocol":"http","host":"a","port":443}"#), "a");
        assert_eq!(of(r#"{"protocol":"http","host":"a","port":80,"sslmode":"disable"}"#), "a");
        assert_eq!(of(r#"{"protocol":"http","host":"a","port":81,"authority":"b:82"}"#), "b:82");
        assert_eq!(of(r#"{"protocol":"http","host":"::1","port":81,"sslmode":"disable"}"#), "[::1]:81");
    }

    #[test]
    fn credentials_are_encoded() {
        let target = loadcell_testing::read("target", r#"{"protocol":"http","host":"a"}"#).unwrap();
        let channel = Channel { version: Version::One, keep_alive: true, target: &target };
        let head = |auth: &str| {
            let options = HeadOptions {
                name: "request".into(),
                method: "GET".into(),
                path: "/".into(),
                headers: BTreeMap::new(),
                auth: Some(serde_json::from_str(auth).unwrap()),
            };
            let number = |name: &str| (name == "user").then_some(0);
            Head::read(&options, None, channel, Encoding::Url, |text, encoding| {
                Ok(Template::encoded(text, encoding, number).unwrap())
            })
        };
        // The example of RFC 7617.
        let basic = head(r#"{"basic": {"user": "Aladdin", "password": "open sesame"}}"#).unwrap();
        let field = ("authorization".into(), b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_vec());
        assert!(basic.changing.is_empty() && basic.fields.list.contains(&field));
        let bearer = head(r#"{"bearer": "abc.def"}"#).unwrap();
        assert!(bearer.fields.list.contains(&("authorization".into(), b"Bearer abc.def".to_vec())));
        let (changing, mut out) =
            (head(r#"{"basic": {"user": "${user}", "password": "p"}}"#).unwrap().changing, vec![]);
        changing[0].1.write(&mut out, |_| b"u");
        assert_eq!(out, b"Basic dTpw");
        assert!(head("{\"bearer\": \"a\\nb\"}").unwrap_err().to_string().contains("spec.header "));
    }
}
