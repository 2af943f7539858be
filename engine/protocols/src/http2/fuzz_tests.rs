//! Fuzz tests: for any input, split in any way, no panic, no endless loop, equal events and equal output.

use proptest::prelude::*;

use super::connection_tests::{ask, ask_tagged, frame, go_away, settings};
use super::frame::{CONTINUATION, DATA, HEADERS, PADDED, PING, PRIORITISED, RST_STREAM, WINDOW_UPDATE};
use super::*;
use crate::http::{Http, Limits, ResponseEvent};

/// Frames that are valid, frames that are valid elsewhere, and invalid ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let blocks = vec![
        b"\x88".to_vec(),
        b"\x8d\x40\x01x\x01y".to_vec(),
        b"\x88\x0f\x0d\x015".to_vec(),
        b"\x08\x03100".to_vec(),
        b"\xbe".to_vec(),
        b"\x00\x01t\x011".to_vec(),
        b"\x88\x0f".to_vec(),
        b"\x0d\x013".to_vec(),
        b"".to_vec(),
    ];
    let stream = || prop_oneof![8 => Just(1u32), 2 => Just(3), 1 => Just(5), 1 => Just(0), 1 => Just(2)];
    let block = prop::sample::select(blocks);
    prop_oneof![
        6 => (prop::sample::select(vec![4u8, 5, 5, 0, 1]), stream(), block.clone())
            .prop_map(|(flags, stream, block)| frame(HEADERS, flags, stream, &block)),
        1 => (stream(), block.clone()).prop_map(|(stream, block)| {
            frame(HEADERS, 4 | PADDED | PRIORITISED, stream, &[&[2, 0, 0, 0, 0, 1], &block[..], &[0,
                0]].concat())
        }),
        3 => (prop::sample::select(vec![0u8, 4]), stream(), block)
            .prop_map(|(flags, stream, block)| frame(CONTINUATION, flags, stream, &block)),
        6 => (0u8..2, stream(), 0usize..9).prop_map(|(end, stream, size)| frame(DATA, end, stream,
            &vec![b'd'; size])),
        2 => (0u8..2, stream(), 0u8..9, 0usize..12)
            .prop_map(|(end, stream, padding, size)| frame(DATA, end | PADDED, stream, &[&[padding],
                &vec![b'p'; size][..]].concat())),
        2 => (0u16..8, prop_oneof![0u32..5, any::<u32>()]).prop_map(|setting| settings(&[setting])),
        2 => (stream(), 0u32..50).prop_map(|(stream, increment)| frame(WINDOW_UPDATE, 0, stream,
            &increment.to_be_bytes())),
        1 => any::<[u8; 8]>().prop_map(|opaque| frame(PING, 0, 0, &opaque)),
        1 => (0u32..8, 0u32..16).prop_map(|(last, code)| go_away(last, code, "text")),
        1 => stream().prop_map(|stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])),
        1 => (any::<u8>(), any::<u8>(), stream(), prop::collection::vec(any::<u8>(), 0..12))
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

/// Events and output when `stream` arrives in pieces that end at `cuts`, with sequential requests.
fn converse(stream: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<u8>) {
    let mut client = Http2::new(Limits { header_bytes: 300 });
    let (mut events, mut body, mut out) = (Vec::new(), String::new(), Vec::new());
    client.opened(&mut out);
    ask(&mut client, "POST", "/", Some(&[b'b'; 100]), &mut out);
    let mut at = 0;
    for &end in cuts.iter().chain([&stream.len()]) {
        loop {
            let (size, event) = match client.next(&stream[at..end], &mut out) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(why) => {
                    assert!(!why.code.is_empty() && !why.message.is_empty());
                    events.push(format!("{body} {}", why.message));
                    return (events, out);
                }
            };
            assert!(size <= end - at);
            at += size;
            match event {
                ResponseEvent::Nothing | ResponseEvent::Part => {}
                ResponseEvent::Refused | ResponseEvent::Leaving => {
                    events.push(format!("{body} {event:?}"));
                    return (events, out);
                }
                ResponseEvent::Status(status) => events.push(status.to_string()),
                ResponseEvent::Body(piece) => {
                    assert!(!piece.is_empty());
                    body += &String::from_utf8_lossy(piece);
                }
                ResponseEvent::Reset(code) => {
                    events.push(format!("{body} {}", code.name()));
                    body.clear();
                    ask(&mut client, "GET", "/", None, &mut out);
                }
                ResponseEvent::End { again } => {
                    events.push(std::mem::take(&mut body));
                    if !again {
                        return (events, out);
                    }
                    ask(&mut client, "GET", "/", None, &mut out);
                }
            }
        }
    }
    events.push(format!("{body} {at} {}", client.closed().unwrap_err().message));
    (events, out)
}

/// The same with up to four concurrent requests, some of which are cancelled; events carry their tag.
fn converse_about_several(stream: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<u8>) {
    let mut client = Http2::new(Limits { header_bytes: 300 });
    let (mut events, mut out) = (Vec::new(), Vec::new());
    client.opened(&mut out);
    (0..4).for_each(|tag| ask_tagged(&mut client, tag, &mut out));
    let mut asked = [true; 4];
    let mut at = 0;
    for &end in cuts.iter().chain([&stream.len()]) {
        loop {
            let (size, event) = match client.next(&stream[at..end], &mut out) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(why) => {
                    events.push(why.message);
                    return (events, out);
                }
            };
            at += size;
            let tag = client.about();
            if !matches!(event, ResponseEvent::Nothing | ResponseEvent::Leaving) {
                assert!(asked[tag as usize], "{event:?} of a request that is over");
            }
            match event {
                ResponseEvent::Nothing | ResponseEvent::Part | ResponseEvent::Leaving => {}
                ResponseEvent::Body(piece) => {
                    events.extend(piece.iter().map(|byte| format!("{tag}: {byte}")))
                }
                ResponseEvent::Status(status) => {
                    events.push(format!("{tag}: {status}"));
                    if tag == 2 {
                        client.cancel(tag, &mut out);
                        asked[2] = false;
                    }
                }
                ResponseEvent::Refused => asked[tag as usize] = false,
                ResponseEvent::Reset(_) | ResponseEvent::End { .. } => {
                    events.push(format!("{tag}: over"));
                    asked[tag as usize] = client.takes(1);
                    if client.takes(1) {
                        ask_tagged(&mut client, tag, &mut out);
                    }
                }
            }
        }
    }
    (events, out)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn events_do_not_depend_on_splitting(
        greeting in prop_oneof![9 => Just(settings(&[(4, 20)])), 1 => Just(Vec::new())],
        pieces in prop::collection::vec(piece(), 0..20),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream = [greeting, pieces.concat()].concat();
        let mut cuts: Vec<_> = cuts.drain(..).map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let unsplit = converse(&stream, &[]);
        prop_assert_eq!(&converse(&stream, &cuts), &unsplit);
        let all: Vec<_> = (0..stream.len()).collect();
        prop_assert_eq!(&converse(&stream, &all), &unsplit, "octet by octet");
        let unsplit = converse_about_several(&stream, &[]);
        prop_assert_eq!(&converse_about_several(&stream, &cuts), &unsplit);
        prop_assert_eq!(&converse_about_several(&stream, &all), &unsplit, "octet by octet");
    }

    #[test]
    fn garbage_never_panics(stream in prop::collection::vec(any::<u8>(), 0..200)) {
        converse(&stream, &[]);
        let stream = [settings(&[]), stream].concat();
        converse(&stream, &[]);
        converse_about_several(&stream, &[]);
    }
}
