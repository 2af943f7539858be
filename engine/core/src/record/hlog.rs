//! Interval log of HdrHistogram, version 1.3, as its readers and plotters take it.
//!
//! A histogram is encoded as V2 (counts as ZigZag LEB128, runs of zeros as one negative number) behind a
//! header, compressed with zlib, in base64. The encoding has no sum, minimum and maximum: where these must
//! not be lost they go beside it, as in the JSON of a [`Histogram`].

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::histogram::{CELLS, Count, HIGHEST, Histogram, LOWEST, SIGNIFICANT_DIGITS};
use crate::clock::{Calendar, Nanos};

const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;
const V2_COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;
const HEADER_BYTES: usize = 40;

/// Size of the longest payload: every cell in use, with 9 bytes each.
const MAX_PAYLOAD_BYTES: usize = 9 * CELLS;

/// Recorded values are nanoseconds; the column of the maximum is in milliseconds, as the format's readers
/// expect.
const NANOS_PER_UNIT: f64 = 1e6;

/// Header lines of a log whose times are relative to `base`.
pub fn header(base: Nanos, calendar: &Calendar) -> Vec<String> {
    let utc = calendar.utc(base) as f64 / 1e9;
    vec![
        "#[Histogram log format version 1.3]".into(),
        format!("#[StartTime: {utc:.3} (seconds since epoch)]"),
        format!("#[BaseTime: {utc:.3} (seconds since epoch)]"),
        r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#.into(),
    ]
}

/// Line of a histogram recorded from `start` (since the log's base) for `length`.
pub fn line<C: Count>(tag: &str, start: Nanos, length: Nanos, histogram: &Histogram<C>) -> String {
    format!(
        "Tag={tag},{:.3},{:.3},{:.3},{}",
        start as f64 / 1e9,
        length as f64 / 1e9,
        histogram.max() as f64 / NANOS_PER_UNIT,
        encode(histogram),
    )
}

/// Encodes a histogram (V2, compressed, base64).
pub fn encode<C: Count>(histogram: &Histogram<C>) -> String {
    STANDARD.encode(compressed(histogram))
}

/// Decodes the counts of an encoded histogram with this unit, range and precision. Error: a description.
fn decode(text: &str) -> Result<Vec<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("it is not base64: {error}"))?;
    let word = |bytes: &[u8], at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    if word(&bytes, 0) != Some(V2_COMPRESSED_COOKIE) {
        return Err("it is not a compressed histogram of version 2".into());
    }
    let mut inner = Vec::new();
    let limit = (HEADER_BYTES + MAX_PAYLOAD_BYTES) as u64;
    let decoder = ZlibDecoder::new(bytes.get(8..).unwrap_or_default());
    decoder
        .take(limit)
        .read_to_end(&mut inner)
        .map_err(|error| format!("it cannot be decompressed: {error}"))?;
    if inner.get(..4) != Some(&V2_COOKIE.to_be_bytes()) || inner.len() < HEADER_BYTES {
        return Err("its header is not of version 2".into());
    }
    if inner[8..HEADER_BYTES] != header_parameters()[..] {
        return Err("it has another unit, range or precision".into());
    }
    let payload = &inner[HEADER_BYTES..];
    if word(&inner, 4) != u32::try_from(payload.len()).ok() {
        return Err("its length differs from its header".into());
    }
    read_counts(payload).ok_or_else(|| "its counts are damaged".into())
}

/// Reads counts and runs of zeros; none if they are damaged.
fn read_counts(mut payload: &[u8]) -> Option<Vec<u64>> {
    let mut counts = Vec::new();
    while !payload.is_empty() {
        let value = take_zigzag(&mut payload)?;
        if value < 0 {
            let zeros = usize::try_from(value.checked_neg()?).ok()?;
            counts.resize(counts.len().checked_add(zeros).filter(|&length| length <= CELLS)?, 0);
        } else {
            counts.push(value as u64);
        }
    }
    (counts.len() <= CELLS).then_some(counts)
}

fn compressed<C: Count>(histogram: &Histogram<C>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(vec![0; 8], Compression::fast());
    encoder.write_all(&encoded(histogram)).expect("writing to memory");
    let mut bytes = encoder.finish().expect("writing to memory");
    let length = (bytes.len() - 8) as u32;
    bytes[..4].copy_from_slice(&V2_COMPRESSED_COOKIE.to_be_bytes());
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn encoded<C: Count>(histogram: &Histogram<C>) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut zeros = 0i64;
    for count in histogram.counts() {
        if count == 0 {
            zeros += 1;
            continue;
        }
        if zeros > 0 {
            put(&mut payload, -zeros);
            zeros = 0;
        }
        put(&mut payload, count as i64);
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(V2_COOKIE.to_be_bytes());
    bytes.extend((payload.len() as u32).to_be_bytes());
    bytes.extend(header_parameters());
    bytes.extend(payload);
    bytes
}

/// The header after cookie and length.
fn header_parameters() -> [u8; HEADER_BYTES - 8] {
    let mut bytes = Vec::with_capacity(HEADER_BYTES - 8);
    bytes.extend(0u32.to_be_bytes()); // normalizing index offset
    bytes.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    bytes.extend(LOWEST.to_be_bytes());
    bytes.extend(HIGHEST.to_be_bytes());
    bytes.extend(1.0f64.to_be_bytes()); // integer to double value conversion ratio
    bytes.try_into().expect("two words and three double words")
}

/// Appends a number as ZigZag LEB128 of 64 bits in at most 9 bytes: the ninth holds eight bits.
fn put(bytes: &mut Vec<u8>, value: i64) {
    let mut bits = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if bits < 0x80 {
            bytes.push(bits as u8);
            return;
        }
        bytes.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    bytes.push(bits as u8);
}

/// Takes a number that `put` has written from the front of `bytes`; none if it is cut off.
fn take_zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut bits = 0u64;
    for position in 0..9 {
        let (&byte, remaining) = bytes.split_first()?;
        *bytes = remaining;
        let is_last = position == 8;
        bits |= u64::from(if is_last { byte } else { byte & 0x7f }) << (7 * position);
        if is_last || byte < 0x80 {
            break;
        }
    }
    Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

/// A histogram as JSON; null stands for an empty one.
#[derive(Serialize, Deserialize)]
struct Document {
    encoded: String,
    sum_ns: u64,
    min_ns: Nanos,
    max_ns: Nanos,
}

impl Serialize for Histogram<u64> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = (self.count() > 0).then(|| Document {
            encoded: encode(self),
            sum_ns: self.sum(),
            min_ns: self.min(),
            max_ns: self.max(),
        });
        document.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram<u64> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(document) = Option::<Document>::deserialize(deserializer)? else { return Ok(Self::new()) };
        let Document { encoded, sum_ns, min_ns, max_ns } = document;
        let wrong = |finding: &str| de::Error::custom(format!("a histogram cannot be read: {finding}"));
        let counts = decode(&encoded).map_err(|finding| wrong(&finding))?;
        Self::from_counts(&counts, sum_ns, min_ns, max_ns)
            .ok_or_else(|| wrong("its minimum or maximum is not among its values"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_zigzag_leb128() {
        let of = |value| {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            bytes
        };
        assert_eq!(of(0), [0]);
        assert_eq!(of(1), [2]);
        assert_eq!(of(-1), [1]);
        assert_eq!(of(-64), [0x7f]);
        assert_eq!(of(64), [0x80, 0x01]);
        assert_eq!(of(i64::MAX), [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn the_encoding_is_a_header_and_counts_with_runs_of_zeros() {
        let mut histogram = Histogram::<u64>::new();
        histogram.record(3);
        histogram.record(3);
        histogram.record(5);
        let bytes = encoded(&histogram);
        assert_eq!(&bytes[..8], [0x1c, 0x84, 0x93, 0x13, 0, 0, 0, 4]);
        assert_eq!(&bytes[8..16], [0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(&bytes[16..24], 1u64.to_be_bytes());
        assert_eq!(&bytes[24..32], HIGHEST.to_be_bytes());
        // Three empty cells, two 3s, one empty cell, one 5.
        assert_eq!(&bytes[40..], [5, 4, 1, 2]);
    }

    #[test]
    fn a_line_has_tag_span_and_maximum_in_milliseconds() {
        let mut histogram = Histogram::<u64>::new();
        histogram.record(2_500_000);
        let line = line("transaction/response", 1_000_000_000, 500_000_000, &histogram);
        let (head, data) = line.rsplit_once(',').unwrap();
        assert_eq!(head, "Tag=transaction/response,1.000,0.500,2.500");
        assert!(data.starts_with("HISTFAAAA"), "{data}");
        let bytes = STANDARD.decode(data).unwrap();
        let mut inner = Vec::new();
        ZlibDecoder::new(&bytes[8..]).read_to_end(&mut inner).unwrap();
        assert_eq!(inner, encoded(&histogram));
    }

    /// A histogram of `values`, as the JSON of a result carries it and its reader gets it back.
    fn round_trip(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        serde_json::from_str(&serde_json::to_string(&histogram).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn merged_histograms_are_that_of_all_recorded_values(
            first in prop::collection::vec(0..2 * HIGHEST, 0..200),
            second in prop::collection::vec(0u64..5_000, 0..200),
        ) {
            let mut merged = round_trip(&first);
            merged.merge(&round_trip(&second));
            let all: Vec<_> = first.iter().chain(&second).copied().collect();
            let mut expected = Histogram::<u64>::new();
            all.iter().for_each(|&value| expected.record(value));
            prop_assert!(merged == expected);
        }

        #[test]
        fn any_text_is_a_histogram_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = STANDARD.encode(&bytes);
            prop_assert!(decode(&text).is_err());
            let _ = read_counts(&bytes);
        }
    }

    #[test]
    fn a_damaged_histogram_is_rejected() {
        let document = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut histogram = Histogram::<u64>::new();
            histogram.record(70);
            let mut document = serde_json::to_value(&histogram).unwrap();
            change(&mut document);
            serde_json::from_value::<Histogram>(document).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(document(&|_| {}), Ok(()));
        let finding = |change: &dyn Fn(&mut serde_json::Value)| document(change).unwrap_err();
        assert!(
            finding(&|document| document["encoded"] = "HIST".into()).contains("not a compressed histogram")
        );
        assert!(finding(&|document| document["encoded"] = "?".into()).contains("base64"));
        assert!(finding(&|document| document["max_ns"] = 71.into()).contains("minimum or maximum"));
        assert!(finding(&|document| document["min_ns"] = 0.into()).contains("minimum or maximum"));
    }
}
