//! Rows of prepared statements: decodes binary values by column type into text.

use std::io::Write;

use super::packet::Reader;

/// Type of a column and whether its numbers are unsigned, from its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    kind: u8,
    unsigned: bool,
}

/// Name and type of a column, from the payload of its definition.
pub fn definition(body: &[u8]) -> Option<(&[u8], Type)> {
    const UNSIGNED: u16 = 1 << 5;
    let mut reader = Reader(body);
    for _ in 0..4 {
        reader.text()?; // catalogue, schema, table and original table
    }
    let name = reader.text()?;
    reader.text()?;
    reader.bytes(7)?; // length of the fixed part, character set, width
    let kind = reader.byte()?;
    Some((name, Type { kind, unsigned: reader.u16()? & UNSIGNED != 0 }))
}

/// Append the values of a row as text, and the end of each; `None` for NULL.
pub fn decode(body: &[u8], types: &[Type], text: &mut Vec<u8>, ends: &mut Vec<Option<usize>>) -> Option<()> {
    /// Offset of the first bit in the NULL bitmap.
    const OFFSET: usize = 2;
    let mut reader = Reader(body.get(1..)?);
    let nulls = reader.bytes((types.len() + OFFSET).div_ceil(8))?;
    for (at, of_type) in types.iter().enumerate() {
        let bit = at + OFFSET;
        if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            ends.push(None);
            continue;
        }
        value(&mut reader, *of_type, text)?;
        ends.push(Some(text.len()));
    }
    reader.0.is_empty().then_some(())
}

fn value(reader: &mut Reader<'_>, of_type: Type, text: &mut Vec<u8>) -> Option<()> {
    macro_rules! number {
        ($signed:ty, $unsigned:ty) => {{
            let bytes = reader.array()?;
            if of_type.unsigned {
                write!(text, "{}", <$unsigned>::from_le_bytes(bytes))
            } else {
                write!(text, "{}", <$signed>::from_le_bytes(bytes))
            }
        }};
    }
    let written = match of_type.kind {
        0x01 => number!(i8, u8),
        0x02 | 0x0d => number!(i16, u16),
        0x03 | 0x09 => number!(i32, u32),
        0x08 => number!(i64, u64),
        0x04 => write!(text, "{}", f32::from_le_bytes(reader.array()?)),
        0x05 => write!(text, "{}", f64::from_le_bytes(reader.array()?)),
        0x06 => Ok(()),
        0x07 | 0x0a | 0x0c => return date(reader, text),
        0x0b => return time(reader, text),
        _ => {
            text.extend_from_slice(reader.text()?);
            Ok(())
        }
    };
    written.ok()
}

/// A date, with a time of day if present.
fn date(reader: &mut Reader<'_>, text: &mut Vec<u8>) -> Option<()> {
    let length = reader.byte()?;
    let mut value = Reader(reader.bytes(length.into())?);
    if length == 0 {
        text.extend_from_slice(b"0000-00-00 00:00:00");
        return Some(());
    }
    let (year, [month, day]) = (value.u16()?, value.array()?);
    write!(text, "{year:04}-{month:02}-{day:02}").ok()?;
    if let Some([hour, minute, second]) = value.array() {
        write!(text, " {hour:02}:{minute:02}:{second:02}").ok()?;
    }
    fraction(&mut value, text)
}

fn time(reader: &mut Reader<'_>, text: &mut Vec<u8>) -> Option<()> {
    let length = reader.byte()?;
    let mut value = Reader(reader.bytes(length.into())?);
    if length == 0 {
        text.extend_from_slice(b"00:00:00");
        return Some(());
    }
    let (negative, days, [hour, minute, second]) = (value.byte()?, value.u32()?, value.array()?);
    let hours = u64::from(days) * 24 + u64::from(hour);
    let sign = if negative == 0 { "" } else { "-" };
    write!(text, "{sign}{hours:02}:{minute:02}:{second:02}").ok()?;
    fraction(&mut value, text)
}

fn fraction(value: &mut Reader<'_>, text: &mut Vec<u8>) -> Option<()> {
    value.u32().map_or(Some(()), |microseconds| write!(text, ".{microseconds:06}").ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(types: &[(u8, bool)], body: &[u8]) -> Option<Vec<Option<String>>> {
        let types: Vec<_> = types.iter().map(|&(kind, unsigned)| Type { kind, unsigned }).collect();
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        decode(body, &types, &mut text, &mut ends)?;
        let mut start = 0;
        let values = ends.into_iter().map(|end| {
            end.map(|end| String::from_utf8(text[std::mem::replace(&mut start, end)..end].to_vec()).unwrap())
        });
        Some(values.collect())
    }

    #[test]
    fn every_type_decodes_to_text() {
        let cases: [(u8, bool, &[u8], &str); 16] = [
            (0x01, false, b"\xff", "-1"),
            (0x01, true, b"\xff", "255"),
            (0x02, false, b"\x00\x80", "-32768"),
            (0x0d, true, b"\xe8\x07", "2024"),
            (0x03, false, b"\xfe\xff\xff\xff", "-2"),
            (0x08, false, b"\xff\xff\xff\xff\xff\xff\xff\xff", "-1"),
            (0x08, true, b"\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
            (0x05, false, &1.5f64.to_le_bytes(), "1.5"),
            (0x04, false, &0.25f32.to_le_bytes(), "0.25"),
            (0xf6, false, b"\x06-10.00", "-10.00"),
            (0xfe, false, b"\x02BC", "BC"),
            (0x0a, false, b"\x04\xe8\x07\x01\x02", "2024-01-02"),
            (0x0c, false, b"\x07\xe8\x07\x01\x02\x03\x04\x05", "2024-01-02 03:04:05"),
            (0x07, false, b"\x0b\xe8\x07\x01\x02\x03\x04\x05\x07\0\0\0", "2024-01-02 03:04:05.000007"),
            (0x0c, false, b"\0", "0000-00-00 00:00:00"),
            (0x0b, false, b"\x08\x01\x01\0\0\0\x02\x03\x04", "-26:03:04"),
        ];
        for (kind, unsigned, bytes, expected) in cases {
            let body = [b"\0\0", bytes].concat();
            assert_eq!(decoded(&[(kind, unsigned)], &body), Some(vec![Some(expected.into())]), "type {kind}");
            for cut in 0..body.len() {
                assert_eq!(decoded(&[(kind, unsigned)], &body[..cut]), None, "type {kind} cut at {cut}");
            }
            assert_eq!(
                decoded(&[(kind, unsigned)], &[&body[..], b"x"].concat()),
                None,
                "type {kind}, too long"
            );
        }
    }

    #[test]
    fn null_bitmap_precedes_the_values() {
        let types = [(0x03, false); 8];
        let mut body = vec![0, 0b1000_0000, 0b0000_0010];
        body.extend([7, 0, 0, 0].repeat(6));
        let values = decoded(&types, &body).unwrap();
        let nulls: Vec<_> = values.iter().map(Option::is_none).collect();
        assert_eq!(nulls, [false, false, false, false, false, true, false, true]);
    }

    #[test]
    fn definition_has_name_and_type() {
        let body = b"\x03def\x01d\x01t\x01t\x02it\x01i\x0c\x3f\0\x0b\0\0\0\x03\x20\0\0\0\0";
        assert_eq!(definition(body), Some((&b"it"[..], Type { kind: 3, unsigned: true })));
        for cut in 0..21 {
            assert_eq!(definition(&body[..cut]), None, "cut at {cut}");
        }
    }
}
