//! Text with placeholders: `/random_get?key=${key}`.

/// Literals and placeholders in sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    /// Parameter with this index.
    Parameter(usize),
}

impl Template {
    /// Parse a template. `number` maps a name to the index of its parameter. A `$` without a placeholder is
    /// literal. Fails with the name of an unknown parameter.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<usize>) -> Result<Self, String> {
        let mut template = Self::default();
        let mut remaining = text;
        while let Some(at) = remaining.find('$') {
            let (before, placeholder) = remaining.split_at(at);
            template.text(before);
            match name(placeholder) {
                Some(name) => {
                    let number = number(name).ok_or_else(|| name.to_string())?;
                    template.parts.push(Part::Parameter(number));
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
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.extend_from_slice(text.as_bytes()),
            _ if text.is_empty() => {}
            _ => self.parts.push(Part::Text(text.as_bytes().to_vec())),
        }
    }

    /// True if it has no placeholders.
    pub fn is_fixed(&self) -> bool {
        self.parameters().next().is_none()
    }

    /// Indexes of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Parameter(number) => Some(*number),
            Part::Text(_) => None,
        })
    }

    /// Append the text; `value` returns a parameter's current value.
    #[inline]
    pub fn write<'v>(&self, out: &mut Vec<u8>, value: impl Fn(usize) -> &'v [u8]) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Parameter(number) => out.extend_from_slice(value(*number)),
            }
        }
    }
}

/// The name in `${name}` at the start of `text`.
fn name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
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
    fn fixed_templates_are_recognised() {
        assert!(Template::read("/x", number).unwrap().is_fixed());
        let template = Template::read("${size}/${key}", number).unwrap();
        assert_eq!((template.is_fixed(), template.parameters().collect::<Vec<_>>()), (false, vec![1, 0]));
        assert_eq!(Template::read("${other}", number).unwrap_err(), "other");
    }
}
