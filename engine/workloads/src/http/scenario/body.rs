//! Bodies of requests: texts, bytes, JSON and forms, each compiled into one template.

use super::super::options::decoded;
use super::super::template::{Encoding, Template};
use super::options::{BodyOptions, PartBody, PartOptions};
use loadcell_core::error::SpecError;

/// A compiled body, and its content type where it has one of its nature.
pub struct Body {
    pub template: Template,
    pub content_type: Option<String>,
}

impl Body {
    pub fn read(
        options: &BodyOptions,
        template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
    ) -> Result<Self, SpecError> {
        let of_type = |template: Template, content_type: &str| Self {
            template,
            content_type: Some(content_type.into()),
        };
        Ok(match options {
            BodyOptions::Text(text) => Self { template: template(text, Encoding::Raw)?, content_type: None },
            BodyOptions::Base64(base64) => {
                Self { template: Template::fixed(decoded(base64)?), content_type: None }
            }
            BodyOptions::Json(text) => of_type(template(text, Encoding::Json)?, "application/json"),
            BodyOptions::Form(fields) => {
                of_type(form(fields, template)?, "application/x-www-form-urlencoded")
            }
            BodyOptions::Multipart(parts) => {
                let (template, boundary) = multipart(parts, template)?;
                of_type(template, &format!("multipart/form-data; boundary={boundary}"))
            }
        })
    }
}

fn form(
    fields: &[(String, String)],
    template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
) -> Result<Template, SpecError> {
    let mut body = Template::default();
    for (number, (name, value)) in fields.iter().enumerate() {
        if number > 0 {
            body.push(b"&");
        }
        body.append(Template::fixed(name.clone().into_bytes()), Encoding::Form);
        body.push(b"=");
        body.append(template(value, Encoding::Form)?, Encoding::Form);
    }
    Ok(body)
}

/// A body of parts (RFC 7578), and the boundary between them.
fn multipart(
    parts: &[PartOptions],
    template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
) -> Result<(Template, String), SpecError> {
    let contents: Result<Vec<_>, _> = parts.iter().map(|part| content(part, &template)).collect();
    let contents = contents?;
    let is_free = |boundary: &String| !contents.iter().any(|content| content.contains(boundary.as_bytes()));
    // Values of variables cannot be searched beforehand: that one has all of it is as good as impossible.
    let boundary = |number: u64| format!("loadcell-{:016x}", 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number));
    let boundary = (1..).map(boundary).find(is_free).expect("contents are finite");
    let mut body = Template::default();
    for (part, content) in parts.iter().zip(contents) {
        let mut head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
        if let Some(name) = &part.file_name {
            head += &format!("; filename=\"{}\"", quoted(name));
        }
        if let Some(content_type) = &part.content_type {
            head += &format!("\r\nContent-Type: {content_type}");
        }
        body.push(format!("{head}\r\n\r\n").as_bytes());
        body.append(content, Encoding::Raw);
        body.push(b"\r\n");
    }
    body.push(format!("--{boundary}--\r\n").as_bytes());
    Ok((body, boundary))
}

fn content(
    part: &PartOptions,
    template: impl Fn(&str, Encoding) -> Result<Template, SpecError>,
) -> Result<Template, SpecError> {
    match &part.body {
        PartBody::Text(text) => template(text, Encoding::Raw),
        PartBody::Base64(base64) => Ok(Template::fixed(decoded(base64)?)),
    }
}

/// A name as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(options: Value, value: &str) -> (String, String) {
        let body = Body::read(&serde_json::from_value(options).unwrap(), |text, encoding| {
            Ok(Template::encoded(text, encoding, |name| (name == "v").then_some(0)).unwrap())
        });
        let (body, mut out) = (body.unwrap(), Vec::new());
        body.template.write(&mut out, |_| value.as_bytes());
        (String::from_utf8(out).unwrap(), body.content_type.unwrap_or_default())
    }

    #[test]
    fn values_are_encoded_for_their_body() {
        let form = json!({"form": [["a b", "x&${v}"], ["c", ""]]});
        let content_type = "application/x-www-form-urlencoded".to_string();
        assert_eq!(written(form, "1=2"), ("a+b=x%261%3D2&c=".into(), content_type));
        let json = json!({"json": r#"{"name":"${v}"}"#});
        assert_eq!(written(json, "a\"b"), (r#"{"name":"a\"b"}"#.into(), "application/json".into()));
        assert_eq!(written(json!({"text": "<${v}>"}), "a\"b"), ("<a\"b>".into(), String::new()));
        assert_eq!(written(json!({"base64": "JHt2fQ=="}), "x").0, "${v}");
    }

    #[test]
    fn parts_are_between_boundaries() {
        let parts = json!({"multipart": [
            {"name": "id", "file_name": null, "content_type": null, "body": {"text": "${v}"}},
            {"name": "a\"b", "file_name": "x.txt", "content_type": "text/plain",
             "body": {"text": "--loadcell-9e3779b97f4a7c15"}},
        ]});
        let boundary = "loadcell-3c6ef372fe94f82a"; // the second, as the first one is in the content
        let (body, content_type) = written(parts, "7");
        assert_eq!(content_type, format!("multipart/form-data; boundary={boundary}"));
        assert_eq!(
            body,
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n7\r\n\
                 --{boundary}\r\nContent-Disposition: form-data; name=\"a%22b\"; filename=\"x.txt\"\r\n\
                 Content-Type: text/plain\r\n\r\n--loadcell-9e3779b97f4a7c15\r\n--{boundary}--\r\n"
            )
        );
    }
}
