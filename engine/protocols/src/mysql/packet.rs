//! Splits received bytes into packets, and reads their payloads.

use crate::Malformed;

use super::encode::HEAD;

/// Limit of a payload in bytes. Rows of the workloads have some hundred bytes, and waiting for an endless
/// packet would hide the real error. With its parts beside it a payload of this size takes 64 MiB.
pub const LONGEST: usize = 20 << 20;
/// Length of a packet that is continued in the next one.
pub const FULL: usize = 0xff_ffff;

/// A complete payload, of one packet or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Sequence number of its last packet.
    pub number: u8,
    pub body: &'a [u8],
    /// Bytes consumed of the input.
    pub size: usize,
    /// The payload was reassembled from several packets.
    pub joined: bool,
}

/// Payload at the start of `input`; `None` when more input is needed. `joined` holds it if it spans several
/// packets.
#[inline]
pub fn next<'a>(input: &'a [u8], joined: &'a mut Vec<u8>) -> Result<Option<Packet<'a>>, Malformed> {
    let Some((&[a, b, c, number], remaining)) = input.split_first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length == FULL {
        return several(input, joined, LONGEST);
    }
    Ok(remaining.get(..length).map(|body| Packet { number, body, size: HEAD + length, joined: false }))
}

#[cold]
fn several<'a>(
    input: &'a [u8],
    joined: &'a mut Vec<u8>,
    longest: usize,
) -> Result<Option<Packet<'a>>, Malformed> {
    let (mut size, mut total) = (0, 0);
    loop {
        let Some((&[a, b, c, number], _)) = input[size..].split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        total += length;
        if total > longest {
            return Err(Malformed(format!("an answer of more than {} MiB", longest >> 20)));
        }
        size += HEAD + length;
        if size > input.len() {
            return Ok(None);
        }
        if length < FULL {
            joined.clear();
            joined.reserve(total);
            for part in input[..size].chunks(HEAD + FULL) {
                joined.extend_from_slice(&part[HEAD..]);
            }
            return Ok(Some(Packet { number, body: joined, size, joined: true }));
        }
    }
}

/// Bytes and count of the complete row packets at the start of `input`. Rows are most of the input, and a
/// load that does not read them skips them here.
#[inline]
pub fn rows(input: &[u8]) -> (usize, u64) {
    let (mut end, mut rows) = (0, 0);
    while let Some(&[a, b, c, _]) = input[end..].first_chunk::<HEAD>() {
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let next = end + HEAD + length;
        // The end of rows, and anything that is not a row, is left to the caller.
        if next > input.len() || length == 0 || length == FULL || input[end + HEAD] >= 0xfe {
            break;
        }
        (end, rows) = (next, rows + 1);
    }
    (end, rows)
}

/// Reader of a payload; each method returns `None` when the payload ends too early.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, remaining) = self.0.split_at_checked(count)?;
        self.0 = remaining;
        Some(taken)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, remaining) = self.0.split_first_chunk::<N>()?;
        self.0 = remaining;
        Some(*taken)
    }

    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer; `None` for NULL.
    #[inline]
    pub fn integer(&mut self) -> Option<u64> {
        Some(match self.byte()? {
            small @ 0..=0xfa => small.into(),
            0xfc => self.u16()?.into(),
            0xfd => self.array::<3>().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))?.into(),
            0xfe => u64::from_le_bytes(self.array()?),
            _ => return None,
        })
    }

    /// A length-encoded string.
    #[inline]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.integer()?).ok()?;
        self.bytes(length)
    }

    /// Bytes up to a zero, which is consumed, or up to the end.
    pub fn zero_ended(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let text = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text
    }
}

/// Number of rows that an UPDATE changed, from the text in an OK packet: `Rows matched: 2  Changed: 1 ...`.
/// `None` without such a text: all affected rows changed.
pub fn changed(mut after_status: Reader<'_>) -> Option<u64> {
    after_status.u16()?; // warnings
    let length = after_status.integer()?;
    let info = str::from_utf8(after_status.bytes(length.try_into().ok()?)?).ok()?;
    let (_, remaining) = info.strip_prefix("Rows matched: ")?.split_once("Changed: ")?;
    remaining.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode;
    use super::*;

    #[test]
    fn packets_are_split_however_received() {
        let stream = b"\x01\0\0\x01a\0\0\0\x02\x02\0\0\x03bc";
        for cut in 0..stream.len() {
            let (mut at, mut joined, mut bodies) = (0, Vec::new(), Vec::new());
            for end in [cut, stream.len()] {
                while let Some(packet) = next(&stream[at..end], &mut joined).unwrap() {
                    bodies.push((packet.number, packet.body.to_vec()));
                    at += packet.size;
                }
            }
            assert_eq!(bodies, [(1, b"a".to_vec()), (2, vec![]), (3, b"bc".to_vec())], "cut at {cut}");
        }
    }

    #[test]
    fn long_body_is_reassembled() {
        let body: Vec<u8> = (0..FULL * 2 + 5).map(|at| at as u8).collect();
        let mut stream = Vec::new();
        for (number, part) in body.chunks(FULL).enumerate() {
            encode::packet(&mut stream, number as u8, |out| out.extend_from_slice(part));
        }
        let mut joined = Vec::new();
        assert_eq!(several(&stream[..stream.len() - 1], &mut joined, body.len()).unwrap(), None);
        let packet = several(&stream, &mut joined, body.len()).unwrap().unwrap();
        assert_eq!((packet.number, packet.size), (2, stream.len()));
        assert!(packet.body == body);
        let unsplit = [&stream[..FULL + HEAD], &[0, 0, 0, 9]].concat();
        assert_eq!(next(&unsplit, &mut joined).unwrap().unwrap().body.len(), FULL, "an empty one ends it");
    }

    #[test]
    fn endless_body_is_rejected() {
        let mut stream = Vec::new();
        for _ in 0..5 {
            stream.extend_from_slice(&[0xff, 0xff, 0xff, 0]);
            stream.resize(stream.len() + FULL, 0);
        }
        assert!(next(&stream, &mut Vec::new()).unwrap_err().0.contains("20 MiB"));
    }

    #[test]
    fn only_complete_rows_are_skipped() {
        let stream = b"\x02\0\0\x01\x01x\x01\0\0\x02\xfb\x05\0\0\x03\xfe\0\0\0\0";
        for cut in 0..stream.len() {
            let expected =
                if cut < 6 { (0, 0) } else { (6 + 5 * usize::from(cut >= 11), 1 + u64::from(cut >= 11)) };
            assert_eq!(rows(&stream[..cut]), expected, "cut at {cut}");
        }
        for other in [&b"\0\0\0\x01"[..], b"\x01\0\0\x01\xff", b"\xff\xff\xff\x01x"] {
            assert_eq!(rows(other), (0, 0));
        }
    }

    /// Valid packets and arbitrary bytes.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let packet = |(number, body): (u8, Vec<u8>)| {
            let mut out = Vec::new();
            encode::packet(&mut out, number, |out| out.extend_from_slice(&body));
            out
        };
        prop_oneof![
            4 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(packet),
            2 => (any::<u8>(), Just(b"\x01x\x02yz".to_vec())).prop_map(packet),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ]
    }

    /// Payloads of `stream` when it arrives in pieces that end at `cuts`; with `pass_rows`, the number of
    /// rows and the other payloads.
    fn cut_up(stream: &[u8], cuts: &[usize], pass_rows: bool) -> (Vec<(u8, Vec<u8>)>, u64) {
        let (mut at, mut joined, mut bodies, mut passed) = (0, Vec::new(), Vec::new(), 0);
        for &end in cuts.iter().chain([&stream.len()]) {
            loop {
                if pass_rows {
                    let (size, count) = rows(&stream[at..end]);
                    (at, passed) = (at + size, passed + count);
                }
                let Some(packet) = next(&stream[at..end], &mut joined).unwrap() else { break };
                at += packet.size;
                assert!(at <= end);
                bodies.push((packet.number, packet.body.to_vec()));
            }
        }
        (bodies, passed)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn bodies_do_not_depend_on_splitting(
            pieces in prop::collection::vec(piece(), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = pieces.concat();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.sort_unstable();
            let all: Vec<_> = (0..stream.len()).collect();
            let unsplit = cut_up(&stream, &[], false);
            prop_assert_eq!(&cut_up(&stream, &cuts, false), &unsplit);
            prop_assert_eq!(&cut_up(&stream, &all, false), &unsplit, "byte by byte");
            let is_row = |body: &[u8]| body.first().is_some_and(|&first| first < 0xfe);
            let (rows, others): (Vec<_>, Vec<_>) = unsplit.0.into_iter().partition(|(_, body)| is_row(body));
            prop_assert_eq!(&cut_up(&stream, &cuts, true), &(others, rows.len() as u64), "rows that are \
                passed over are rows");
        }

        #[test]
        fn arbitrary_bodies_never_panic(
            body in prop::collection::vec(any::<u8>(), 0..60),
            steps in prop::collection::vec(0u8..6, 0..20),
        ) {
            let mut reader = Reader(&body);
            for step in steps {
                let before = reader.0.len();
                let read = match step {
                    0 => reader.byte().is_some(),
                    1 => reader.u16().is_some(),
                    2 => reader.u32().is_some(),
                    3 => reader.integer().is_some(),
                    4 => reader.text().is_some(),
                    _ => !reader.zero_ended().is_empty(),
                };
                prop_assert!(reader.0.len() <= before && (!read || reader.0.len() < before));
            }
        }
    }
}
