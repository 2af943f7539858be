//! The interval log of HdrHistogram, version 1.3, which its own log readers, plotters and analysers take.
//!
//! A histogram is its V2 encoding (counts as ZigZag LEB128, runs of zeros as one negative number) behind a header,
//! compressed with zlib, in base64.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::histogram::{Count, HIGHEST, Histogram, LOWEST, SIGNIFICANT_DIGITS};
use crate::clock::{Calendar, Nanos};

const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;
const V2_COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;

/// Values are nanoseconds; the column with the greatest value is in milliseconds, as the format's readers expect.
const VALUES_IN_A_UNIT: f64 = 1e6;

/// The lines at the head of a log whose times are relative to `base`.
pub fn header(base: Nanos, calendar: &Calendar) -> Vec<String> {
    let utc = calendar.utc(base) as f64 / 1e9;
    vec![
        "#[Histogram log format version 1.3]".into(),
        format!("#[StartTime: {utc:.3} (seconds since epoch)]"),
        format!("#[BaseTime: {utc:.3} (seconds since epoch)]"),
        r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#.into(),
    ]
}

/// One histogram: what was recorded from `start` (since the log's base) for `length`.
pub fn line<C: Count>(tag: &str, start: Nanos, length: Nanos, histogram: &Histogram<C>) -> String {
    format!(
        "Tag={tag},{:.3},{:.3},{:.3},{}",
        start as f64 / 1e9,
        length as f64 / 1e9,
        histogram.max() as f64 / VALUES_IN_A_UNIT,
        STANDARD.encode(compressed(histogram)),
    )
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
    let mut bytes = Vec::with_capacity(40 + payload.len());
    bytes.extend(V2_COOKIE.to_be_bytes());
    bytes.extend((payload.len() as u32).to_be_bytes());
    bytes.extend(0u32.to_be_bytes()); // normalizing index offset
    bytes.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    bytes.extend(LOWEST.to_be_bytes());
    bytes.extend(HIGHEST.to_be_bytes());
    bytes.extend(1.0f64.to_be_bytes()); // integer to double value conversion ratio
    bytes.extend(payload);
    bytes
}

/// ZigZag LEB128 of 64 bits in at most 9 bytes: the ninth holds eight bits.
fn put(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            bytes.push(rest as u8);
            return;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

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
    fn a_line_names_its_tag_span_and_greatest_value_in_milliseconds() {
        let mut histogram = Histogram::<u64>::new();
        histogram.record(2_500_000);
        let line = line("transaction/response", 1_000_000_000, 500_000_000, &histogram);
        let (head, data) = line.rsplit_once(',').unwrap();
        assert_eq!(head, "Tag=transaction/response,1.000,0.500,2.500");
        assert!(data.starts_with("HISTFAAAA"), "{data}");
        let bytes = STANDARD.decode(data).unwrap();
        let mut inner = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[8..]).read_to_end(&mut inner).unwrap();
        assert_eq!(inner, encoded(&histogram));
    }
}
