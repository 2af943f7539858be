//! Text with places in it: `/random_get?key=${key}`.

/// Texts and places, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    /// The parameter of this number.
    Place(usize),
}

impl Template {
    /// `number` gives the number of the parameter of a name. A `$` that begins no place stands for itself. The error is a
    /// name that no parameter has.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<usize>) -> Result<Self, String> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, place) = rest.split_at(at);
            template.text(before);
            match name(place) {
                Some(name) => {
                    let number = number(name).ok_or_else(|| name.to_string())?;
                    template.parts.push(Part::Place(number));
                    rest = &place[name.len() + 3..];
                }
                None => {
                    template.text("$");
                    rest = &place[1..];
                }
            }
        }
        template.text(rest);
        Ok(template)
    }

    /// The same every time.
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

    /// Whether it is the same every time.
    pub fn is_fixed(&self) -> bool {
        self.places().next().is_none()
    }

    /// The parameters it has a place for.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(number) => Some(*number),
            Part::Text(_) => None,
        })
    }

    /// Appends it; `value` gives what a parameter is just now.
    #[inline]
    pub fn write<'v>(&self, out: &mut Vec<u8>, value: impl Fn(usize) -> &'v [u8]) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Place(number) => out.extend_from_slice(value(*number)),
            }
        }
    }
}

/// The name in `${name}` at the beginning of `text`.
fn name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!name.is_empty() && name.bytes().all(good)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str) -> Option<usize> {
        ["key", "size"].iter().position(|known| *known == name)
    }

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        Template::read(text, number).unwrap().write(&mut out, |place| [&b"7"[..], b"100"][place]);
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
        assert_eq!((template.is_fixed(), template.places().collect::<Vec<_>>()), (false, vec![1, 0]));
        assert_eq!(Template::read("${other}", number).unwrap_err(), "other");
    }
}
