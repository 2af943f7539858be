//! Layout of generated records: their fields, format and frame.

use serde_json::json;

use loadcell_core::error::SpecError;
use loadcell_core::random::Random;
use loadcell_protocols::digits;
use loadcell_workloads::keyvalue::distribution::Chooser;
use loadcell_workloads::parameter::{Parameter, letters};

use super::options::{FieldOptions, Format, Framing, Options, refused};

/// Number of records within which the longest record of an unbounded load is computed.
const RECORDS_IN_ADVANCE: u64 = 1_000_000_000_000;

/// Name of the field that fills a record up to its size.
const PADDING: &str = "padding";

/// Least number of letters that the padding is taken from.
const PADDING_LETTERS: usize = 64 << 10;

/// The random numbers of the padding lie far from those of clients, which are numbered from 0.
const PADDING_STREAM: u64 = 1 << 49;

/// Layout of records, shared by all connections.
#[derive(Debug)]
pub struct Layout {
    fields: Vec<Field>,
    /// Bytes after the last field, within the frame.
    closing: &'static [u8],
    framing: Framing,
    padding: Option<Padding>,
    /// Index of the field whose values are compared.
    key: Option<usize>,
    longest: usize,
}

#[derive(Debug)]
struct Field {
    /// Bytes before the value, quotes included.
    before: Vec<u8>,
    value: Value,
    after: &'static [u8],
}

#[derive(Debug)]
enum Value {
    Number { start: u64, step: u64 },
    Drawn(Parameter),
}

/// Letters up to the size of a record: a part of a fixed text, from a random place on. Drawing each letter
/// would take longer than everything else.
#[derive(Debug)]
struct Padding {
    size: usize,
    before: Vec<u8>,
    after: &'static [u8],
    text: Vec<u8>,
}

/// State of one connection's generator.
#[derive(Clone, Debug)]
pub struct Draws {
    /// One for each drawn field.
    choosers: Vec<Chooser>,
    random: Random,
}

impl Layout {
    /// Layout of the fields of `options` in a load of `records` records, if their number is known.
    pub fn new(options: &Options, records: Option<u64>, seed: u64) -> Result<Self, SpecError> {
        let (format, framing) = (options.format, options.framing);
        let list: &[FieldOptions] = options.source.fields.as_deref().unwrap_or_default();
        let fields = list.iter().enumerate().map(|(index, field)| Field::new(field, index == 0, format));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let closing: &[u8] = if format == Format::Json { b"}" } else { b"" };
        let records = options.prepared.or(records).unwrap_or(RECORDS_IN_ADVANCE);
        let padding = options.size.map(|size| Padding::new(size, format, seed));
        let content: usize = fields.iter().map(|field| field.longest(records)).sum::<usize>()
            + padding.iter().map(|padding| padding.before.len() + padding.after.len()).sum::<usize>();
        let needed = content + closing.len() + framing.overhead();
        if let Some(size) = options.size.filter(|&size| size < needed) {
            return Err(refused("engine.spec.stream-size", json!({"size": size, "needed": needed})));
        }
        let longest = options.size.unwrap_or(needed);
        let bytes = longest - framing.overhead();
        if bytes > options.frame_limit {
            let arguments = json!({"bytes": bytes, "limit": options.frame_limit});
            return Err(refused("engine.spec.stream-frame", arguments));
        }
        let key = options.judged_key().and_then(|key| list.iter().position(|field| field.name == key));
        Ok(Self { fields, closing, framing, padding, key, longest })
    }

    /// Bytes of the longest record in its frame.
    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// State of the generator of connection `connection` of `connections`.
    pub fn draws(&self, seed: u64, connection: u32, connections: u32) -> Draws {
        let drawn = self.fields.iter().filter_map(|field| match &field.value {
            Value::Drawn(parameter) => Some(parameter.chooser(connection, connections)),
            Value::Number { .. } => None,
        });
        Draws { choosers: drawn.collect(), random: Random::stream(seed, connection.into()) }
    }

    /// Append the record `number` in its frame. Returns the hash of its key; 0 if there is none.
    #[inline]
    pub fn write(&self, number: u64, draws: &mut Draws, out: &mut Vec<u8>) -> u64 {
        let start = out.len();
        if self.framing == Framing::Length {
            out.extend_from_slice(&[0; 4]);
        }
        let Draws { choosers, random } = draws;
        let mut choosers = choosers.iter_mut();
        let mut key = 0;
        for (index, field) in self.fields.iter().enumerate() {
            out.extend_from_slice(&field.before);
            let value = out.len();
            match &field.value {
                Value::Number { start, step } => {
                    digits::decimal(out, start.wrapping_add(step.wrapping_mul(number)));
                }
                Value::Drawn(parameter) => {
                    let chooser = choosers.next().expect("each drawn field has one");
                    parameter.draw(chooser, random, out);
                }
            }
            if self.key == Some(index) {
                key = hash(&out[value..]);
            }
            out.extend_from_slice(field.after);
        }
        if let Some(padding) = &self.padding {
            let end = start + padding.size - self.ending();
            padding.write(end, random, out);
        }
        out.extend_from_slice(self.closing);
        match self.framing {
            Framing::Line => out.push(b'\n'),
            Framing::Length => {
                let length = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        key
    }

    /// Bytes of a record after its last field.
    #[inline]
    fn ending(&self) -> usize {
        self.closing.len() + usize::from(self.framing == Framing::Line)
    }
}

impl Field {
    fn new(options: &FieldOptions, is_first: bool, format: Format) -> Result<Self, SpecError> {
        check_text(&options.name, format)?;
        let value = match (&options.number, &options.draw) {
            (Some(number), None) => Value::Number { start: number.start, step: number.step },
            (None, Some(draw)) => {
                draw.values.iter().flatten().try_for_each(|value| check_text(value, format))?;
                Value::Drawn(Parameter::new(draw))
            }
            _ => return Err(SpecError::value("workload.stream.source.fields", &options.name)),
        };
        let is_number = match &value {
            Value::Number { .. } => true,
            Value::Drawn(parameter) => parameter.is_number(),
        };
        let (before, after) = enclosed(&options.name, is_first, format, !is_number);
        Ok(Self { before, value, after })
    }

    /// Bytes of the longest field among the first `records` records.
    fn longest(&self, records: u64) -> usize {
        let value = match &self.value {
            Value::Number { start, step } => {
                digits::count(start.saturating_add(step.saturating_mul(records.saturating_sub(1))))
            }
            Value::Drawn(parameter) => parameter.longest(),
        };
        self.before.len() + value + self.after.len()
    }
}

impl Padding {
    fn new(size: usize, format: Format, seed: u64) -> Self {
        let (before, after) = enclosed(PADDING, false, format, true);
        let mut text = Vec::new();
        let mut random = Random::stream(seed, PADDING_STREAM);
        letters(PADDING_LETTERS.max(2 * size), &mut random, &mut text);
        Self { size, before, after, text }
    }

    /// Append the padding so that it ends at `end`.
    #[inline]
    fn write(&self, end: usize, random: &mut Random, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        let count = end.saturating_sub(out.len() + self.after.len());
        let from = random.below((self.text.len() - count) as u64) as usize;
        out.extend_from_slice(&self.text[from..from + count]);
        out.extend_from_slice(self.after);
    }
}

/// Bytes before and after a value.
fn enclosed(name: &str, is_first: bool, format: Format, quoted: bool) -> (Vec<u8>, &'static [u8]) {
    let before = match (format, is_first, quoted) {
        (Format::Csv, true, _) => String::new(),
        (Format::Csv, false, _) => ",".into(),
        (Format::Json, is_first, quoted) => {
            let (opening, quote) = (if is_first { "{" } else { "," }, if quoted { "\"" } else { "" });
            format!("{opening}\"{name}\":{quote}")
        }
    };
    (before.into_bytes(), if quoted && format == Format::Json { b"\"" } else { b"" })
}

/// Check that a name or a value needs no quotes or escapes.
fn check_text(text: &str, format: Format) -> Result<(), SpecError> {
    let separators: &[char] = match format {
        Format::Csv => &[','],
        Format::Json => &['"', '\\'],
    };
    if text.chars().any(|character| character.is_control() || separators.contains(&character)) {
        return Err(refused("engine.spec.stream-text", json!({"text": text})));
    }
    Ok(())
}

/// Hash of a key (FNV-1a of Fowler, Noll and Vo).
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn layout(section: Json) -> Result<Layout, SpecError> {
        let section = loadcell_testing::section("stream", &section);
        Layout::new(&Options::read(&section)?, Some(1_000), 5)
    }

    fn fields() -> Json {
        json!({"fields": [
            {"name": "id", "number": {"start": 0, "step": 1}},
            {"name": "time", "number": {"start": 100, "step": 10}},
            {"name": "kind", "draw": {"values": ["P", "L"], "distribution": "sequential"}},
            {"name": "code", "draw": {"from": 7, "to": 7, "digits": 3}},
        ]})
    }

    fn written(section: Json, numbers: &[u64]) -> String {
        String::from_utf8(bytes(section, numbers)).unwrap()
    }

    fn bytes(section: Json, numbers: &[u64]) -> Vec<u8> {
        let layout = layout(section).unwrap();
        let (mut draws, mut out) = (layout.draws(5, 0, 1), Vec::new());
        for &number in numbers {
            layout.write(number, &mut draws, &mut out);
        }
        out
    }

    #[test]
    fn formats_and_frames() {
        assert_eq!(written(json!({"source": fields()}), &[0, 42]), "0,100,P,007\n42,520,L,007\n");
        assert_eq!(
            written(json!({"source": fields(), "format": "json"}), &[3]),
            "{\"id\":3,\"time\":130,\"kind\":\"P\",\"code\":\"007\"}\n"
        );
        let framed = written(json!({"source": fields(), "framing": "length"}), &[0]);
        assert_eq!(framed, "\0\0\0\u{b}0,100,P,007");
    }

    #[test]
    fn padding_fills_records_to_their_size() {
        for format in ["csv", "json"] {
            for framing in ["line", "length"] {
                let section = json!({"source": fields(), "format": format, "framing": framing, "size": 200});
                for number in [0, 999] {
                    assert_eq!(bytes(section.clone(), &[number]).len(), 200, "{format} {framing}");
                }
                if format == "json" && framing == "line" {
                    let text = written(section, &[7]);
                    let record: Json = serde_json::from_str(&text).unwrap();
                    let padding = record["padding"].as_str().unwrap();
                    assert!(padding.len() > 100 && padding.bytes().all(|byte| byte.is_ascii_lowercase()));
                }
            }
        }
    }

    #[test]
    fn records_repeat_by_seed_and_differ_between_connections() {
        let layout = layout(json!({"source": {"fields": [{"name": "key", "draw": {"to": 1_000_000}}]},
            "size": 60}));
        let layout = layout.unwrap();
        let of = |seed, connection| {
            let (mut draws, mut out) = (layout.draws(seed, connection, 2), Vec::new());
            for number in 0..20 {
                layout.write(number, &mut draws, &mut out);
            }
            out
        };
        assert_eq!(of(5, 0), of(5, 0));
        assert_ne!(of(5, 0), of(5, 1));
        assert_ne!(of(5, 0), of(6, 0));
    }

    #[test]
    fn equal_keys_have_equal_hashes() {
        let section = json!({"source": {"fields": [{"name": "id", "number": {"start": 0, "step": 1}},
            {"name": "key", "draw": {"to": 1, "distribution": "sequential"}}]},
            "answers": "each", "order": "key", "key": "key"});
        let layout = layout(section).unwrap();
        let (mut draws, mut out) = (layout.draws(5, 0, 1), Vec::new());
        let keys: Vec<_> = (0..4).map(|number| layout.write(number, &mut draws, &mut out)).collect();
        assert!(layout.has_key() && keys[0] == keys[2] && keys[1] == keys[3] && keys[0] != keys[1]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_size() {
        let finding = |section| layout(section).unwrap_err().to_string();
        assert!(
            finding(json!({"source": fields(), "size": 15}))
                .contains(r#"stream-size workload.stream {"needed":17,"size":15}"#)
        );
        assert!(
            finding(json!({"source": fields(), "size": 200, "frame_limit": 100}))
                .contains(r#"stream-frame workload.stream {"bytes":199,"limit":100}"#)
        );
        let text = |name: &str, value: &str, format: &str| {
            let field = json!({"name": name, "draw": {"values": [value]}});
            layout(json!({"source": {"fields": [field]}, "format": format})).map(drop)
        };
        assert!(text("a", "x\"y", "csv").is_ok() && text("a", "x,y", "json").is_ok());
        for (name, value, format) in
            [("a", "x,y", "csv"), ("a", "x\n", "csv"), ("a\"", "x", "json"), ("a", "\\", "json")]
        {
            let message = text(name, value, format).unwrap_err().to_string();
            assert!(message.contains("stream-text"), "{message}");
        }
    }
}
