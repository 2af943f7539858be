//! Text with placeholders: `/random_get?key=${key}`.

/// How a value is written at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Raw,
    /// Percent-encoded, except unreserved characters (RFC 3986, 2.3).
    Url,
    /// As forms are (`application/x-www-form-urlencoded`).
    Form,
    /// Within a JSON string.
    Json,
}

impl Encoding {
    /// Append a value.
    #[inline]
    pub fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Url => percent(value, out, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
            }),
            Self::Form => percent(value, out, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'*' | b' ')
            }),
            Self::Json => json(value, out),
        }
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Append a value with all bytes encoded except the `literal` ones; a literal space is a plus sign.
fn percent(value: &[u8], out: &mut Vec<u8>, literal: impl Fn(u8) -> bool) {
    for &byte in value {
        match byte {
            b' ' if literal(b' ') => out.push(b'+'),
            _ if literal(byte) => out.push(byte),
            _ => out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

fn json(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0..32 => {
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
}

/// Literals and placeholders in sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    /// Parameter with this index.
    Parameter(usize, Encoding),
}

impl Template {
    /// Parse a template. `number` maps a name to the index of its parameter. A `$` without a placeholder is
    /// literal. Fails with the name of an unknown parameter.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<usize>) -> Result<Self, String> {
        Self::encoded(text, Encoding::Raw, number)
    }

    /// The same with values in this encoding.
    pub fn encoded(
        text: &str,
        encoding: Encoding,
        number: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, String> {
        let mut template = Self::default();
        let mut remaining = text;
        while let Some(at) = remaining.find('$') {
            let (before, placeholder) = remaining.split_at(at);
            template.text(before);
            match name(placeholder) {
                Some(name) => {
                    let number = number(name).ok_or_else(|| name.to_string())?;
                    template.parts.push(Part::Parameter(number, encoding));
                    remaining = &placeholder[name.len() + 3..];
                }
                None => {
                    template.text("$");
                    remaining = &placeholder[1..];
                }
            }
        }
        template.text(remaining);
        Ok(template)
    }

    /// A template without placeholders.
    pub fn fixed(bytes: Vec<u8>) -> Self {
        Self { parts: vec![Part::Text(bytes)] }
    }

    fn text(&mut self, text: &str) {
        self.push(text.as_bytes());
    }

    /// Append literal bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.parts.push(Part::Text(bytes.to_vec())),
        }
    }

    /// Append another template, with its literals in this encoding.
    pub fn append(&mut self, other: Self, encoding: Encoding) {
        for part in other.parts {
            match part {
                Part::Text(text) => {
                    let mut encoded = Vec::new();
                    encoding.write(&text, &mut encoded);
                    self.push(&encoded);
                }
                place @ Part::Parameter(..) => self.parts.push(place),
            }
        }
    }

    /// True if a literal contains these bytes.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let has =
            |part: &Part| matches!(part, Part::Text(text) if memchr::memmem::find(text, bytes).is_some());
        self.parts.iter().any(has)
    }

    /// Replace the encoding of a placeholder at the very start. Returns true if there is one.
    pub fn start_raw(&mut self) -> bool {
        match self.parts.first_mut() {
            Some(Part::Parameter(_, encoding)) => {
                *encoding = Encoding::Raw;
                true
            }
            _ => false,
        }
    }

    /// Indexes of the parameters that are written as they are.
    pub fn raw_parameters(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Parameter(number, Encoding::Raw) => Some(*number),
            _ => None,
        })
    }

    /// True if it has no placeholders.
    pub fn is_fixed(&self) -> bool {
        self.parameters().next().is_none()
    }

    /// Indexes of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Parameter(number, _) => Some(*number),
            Part::Text(_) => None,
        })
    }

    /// Append the text; `value` returns a parameter's current value.
    #[inline]
    pub fn write<'v>(&self, out: &mut Vec<u8>, value: impl Fn(usize) -> &'v [u8]) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Parameter(number, encoding) => encoding.write(value(*number), out),
            }
        }
    }
}

/// The name in `${name}` or `${data.column}` at the start of `text`.
fn name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    (!name.is_empty() && name.bytes().all(good)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str) -> Option<usize> {
        ["key", "size"].iter().position(|parameter| *parameter == name)
    }

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        Template::read(text, number).unwrap().write(&mut out, |placeholder| [&b"7"[..], b"100"][placeholder]);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_filled() {
        assert_eq!(written("/get?key=${key}&again=${key}${size}#"), "/get?key=7&again=7100#");
        assert_eq!(written("/"), "/");
        assert_eq!(written(""), "");
        assert_eq!(written("${key}"), "7");
    }

    #[test]
    fn other_dollar_signs_are_literal() {
        for text in ["$", "$$", "${", "${}", "${a b}", "$key", "{\"a\": \"$1\"}", "${no end"] {
            assert_eq!(written(text), text);
        }
        assert_eq!(written("$${key}"), "$7");
    }

    #[test]
    fn values_are_encoded_for_their_place() {
        let encoded = |encoding: Encoding, value: &str| {
            let mut out = Vec::new();
            Template::encoded("<${key}>", encoding, number).unwrap().write(&mut out, |_| value.as_bytes());
            String::from_utf8(out).unwrap()
        };
        assert_eq!(encoded(Encoding::Raw, "a b/\""), "<a b/\">");
        assert_eq!(encoded(Encoding::Url, "a b/\u{e9}?~+"), "<a%20b%2F%C3%A9%3F~%2B>");
        assert_eq!(encoded(Encoding::Form, "a b&c=*~"), "<a+b%26c%3D*%7E>");
        assert_eq!(encoded(Encoding::Json, "a\"\\\n\u{e9}"), "<a\\\"\\\\\\u000A\u{e9}>");
    }

    #[test]
    fn parts_are_joined() {
        let (mut joined, mut out) = (Template::default(), Vec::new());
        joined.append(Template::encoded("a b=${key}", Encoding::Form, number).unwrap(), Encoding::Form);
        joined.push(b"&");
        joined.write(&mut out, |_| b"1 2");
        assert_eq!(out, b"a+b%3D1+2&");
        let mut path = Template::encoded("${key}/${size}", Encoding::Url, number).unwrap();
        assert!(path.start_raw() && !joined.start_raw());
        assert_eq!(path.raw_parameters().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn fixed_templates_are_recognised() {
        assert!(Template::read("/x", number).unwrap().is_fixed());
        let template = Template::read("${size}/${key}", number).unwrap();
        assert_eq!((template.is_fixed(), template.parameters().collect::<Vec<_>>()), (false, vec![1, 0]));
        assert_eq!(Template::read("${other}", number).unwrap_err(), "other");
    }
}
