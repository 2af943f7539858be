//! Replies as Redis writes them, split in any way, and malformed input.

use proptest::prelude::*;

use super::reader::{DEEPEST, LONGEST_BULK};
use super::{Reader, Shape, Token};
use crate::Malformed;

/// An owned token, with its depth and whether a reply ended with it.
type OwnedToken = (String, usize, bool);

fn tell(token: Token<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match token {
        Token::Simple(bytes) => format!("+{}", text(bytes)),
        Token::Error(bytes) => format!("-{}", text(bytes)),
        Token::Integer(value) => format!(":{value}"),
        Token::Bulk(bytes) => format!("${}", text(bytes)),
        Token::Skipped(size) => format!("passed {size}"),
        Token::Verbatim(format, bytes) => format!("={}:{}", text(format), text(bytes)),
        Token::Null => "null".into(),
        Token::Boolean(value) => value.to_string(),
        Token::Double(bytes) => format!(",{}", text(bytes)),
        Token::BigNumber(bytes) => format!("({}", text(bytes)),
        Token::Open(shape, count) => format!("{shape:?} {count:?}"),
        Token::Close => "close".into(),
        Token::Nothing => "nothing".into(),
    }
}

/// Feed `pieces`, each with the unconsumed bytes of those before it, as by the reactor.
fn feed<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    keep: usize,
) -> Result<(Vec<OwnedToken>, usize), Malformed> {
    let (mut reader, mut unread, mut tokens) = (Reader::default(), Vec::new(), Vec::new());
    for piece in pieces {
        unread.extend_from_slice(piece);
        let mut at = 0;
        while let Some(read) = reader.next(&unread[at..], keep)? {
            assert!(read.size > 0 && read.size <= unread.len() - at, "{read:?}");
            at += read.size;
            if read.token != Token::Nothing || read.ends {
                tokens.push((tell(read.token), read.depth, read.ends));
            }
        }
        unread.drain(..at);
    }
    Ok((tokens, unread.len()))
}

fn read_all(bytes: &[u8]) -> Vec<OwnedToken> {
    let (tokens, unconsumed) = feed([bytes], usize::MAX).unwrap();
    assert_eq!(unconsumed, 0, "all of it is taken");
    tokens
}

fn single(bytes: &str) -> String {
    let tokens = read_all(bytes.as_bytes());
    let [(token, 0, true)] = &tokens[..] else { panic!("{tokens:?}") };
    token.clone()
}

#[test]
fn every_type_has_its_token() {
    for (bytes, token) in [
        ("+OK\r\n", "+OK"),
        ("-ERR no\r\n", "-ERR no"),
        ("!6\r\nERR\r\nx\r\n", "-ERR\r\nx"),
        (":-7\r\n", ":-7"),
        ("$5\r\na\r\nbc\r\n", "$a\r\nbc"),
        ("$0\r\n\r\n", "$"),
        ("$-1\r\n", "null"),
        ("*-1\r\n", "null"),
        ("_\r\n", "null"),
        ("#t\r\n", "true"),
        ("#f\r\n", "false"),
        (",3.5e2\r\n", ",3.5e2"),
        (",-inf\r\n", ",-inf"),
        (
            "(-3492890328409238509324850943850943825024385\r\n",
            "(-3492890328409238509324850943850943825024385",
        ),
        ("=8\r\ntxt:some\r\n", "=txt:some"),
        ("*0\r\n", "Array Some(0)"),
        ("%0\r\n", "Map Some(0)"),
        ("$?\r\n;4\r\nHell\r\n;1\r\no\r\n;0\r\n", "passed 5"),
    ] {
        assert_eq!(single(bytes), token);
    }
}

#[test]
fn lists_and_replies_are_delimited() {
    let tokens = read_all(b"*2\r\n%1\r\n+k\r\n~1\r\n:1\r\n$1\r\nx\r\n+next\r\n");
    let expected = [
        ("Array Some(2)", 0, false),
        ("Map Some(2)", 1, false),
        ("+k", 2, false),
        ("Set Some(1)", 2, false),
        (":1", 3, false),
        ("$x", 1, true),
        ("+next", 0, true),
    ];
    assert_eq!(tokens, expected.map(|(token, depth, ends)| (token.into(), depth, ends)));
    let tokens = read_all(b"*?\r\n:1\r\n*0\r\n.\r\n:2\r\n");
    let tokens: Vec<_> = tokens.iter().map(|(token, _, ends)| (token.as_str(), *ends)).collect();
    assert_eq!(
        tokens,
        [("Array None", false), (":1", false), ("Array Some(0)", false), ("close", true), (":2", true)]
    );
}

#[test]
fn pushes_and_attributes_are_skipped() {
    let tokens = read_all(
        b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n|1\r\n+ttl\r\n:5\r\n\
        *2\r\n|1\r\n+a\r\n*1\r\n:9\r\n:1\r\n:2\r\n>0\r\n+OK\r\n",
    );
    let expected = [("Array Some(2)", 0, false), (":1", 1, false), (":2", 1, true), ("+OK", 0, true)];
    assert_eq!(tokens, expected.map(|(token, depth, ends)| (token.into(), depth, ends)));
}

#[test]
fn long_strings_are_skipped_without_buffering() {
    let value = vec![b'v'; 100_000];
    let reply = [&b"*2\r\n$100000\r\n"[..], &value, b"\r\n$3\r\nabc\r\n"].concat();
    let mut reader = Reader::default();
    let (mut unread, mut most, mut tokens) = (Vec::new(), 0, Vec::new());
    for piece in reply.chunks(1_000) {
        unread.extend_from_slice(piece);
        let mut at = 0;
        while let Some(read) = reader.next(&unread[at..], 10).unwrap() {
            at += read.size;
            tokens.push(tell(read.token));
        }
        unread.drain(..at);
        most = most.max(unread.len());
    }
    tokens.retain(|token| token != "nothing");
    assert_eq!(tokens, ["Array Some(2)", "passed 100000", "$abc"]);
    assert!(most < 20, "{most} bytes were kept at once");
}

#[test]
fn deep_nesting_is_rejected() {
    let nest = b"*1\r\n".repeat(10_000);
    let why = feed([&nest[..]], 0).unwrap_err();
    assert_eq!(why.0, format!("lists in lists, more than {DEEPEST} deep"));
    for bytes in [b"|1\r\n".repeat(10_000), b"*?\r\n".repeat(10_000), b"%1\r\n+k\r\n".repeat(10_000)] {
        assert!(feed([&bytes[..]], 0).is_err());
    }
    let deepest = [b"*1\r\n".repeat(DEEPEST), b":1\r\n".to_vec()].concat();
    assert_eq!(read_all(&deepest).last(), Some(&(":1".into(), DEEPEST, true)));
}

#[test]
fn absurd_lengths_are_rejected() {
    for head in [
        format!("${}\r\n", LONGEST_BULK + 1),
        format!("${}\r\n", i64::MAX),
        format!("={}\r\n", i64::MAX),
        "$-2\r\n".into(),
        "$99999999999999999999\r\n".into(),
        format!("!{}\r\n", 1 << 20),
        format!("*{}\r\n", i64::MAX),
        format!("%{}\r\n", (1u64 << 32) + 1),
        "%-1\r\n".into(),
        format!("|{}\r\n", i64::MAX),
        format!("$?\r\n;{}\r\n", i64::MAX),
        "$?\r\n;-1\r\n".into(),
    ] {
        for keep in [0, usize::MAX] {
            let why = feed([head.as_bytes()], keep).unwrap_err();
            assert!(why.0.contains("claims a length") || why.0.contains("64 bits"), "{head:?}: {}", why.0);
        }
    }
}

#[test]
fn garbage_is_reported() {
    for bytes in [
        "HTTP/1.1 400 Bad Request\r\n",
        "\u{15}\u{3}\u{3}",
        "$3\r\nabcd\r\n",
        "$?x\r\n",
        "$?\r\n+x\r\n",
        "*x\r\n",
        ":\r\n",
        "#x\r\n",
        ",one\r\n",
        "(1.5\r\n",
        "(\r\n",
        "_x\r\n",
        "=3\r\ntxt\r\n",
        "=5\r\ntxt-x\r\n",
        ".\r\n",
        "*1\r\n.\r\n",
        "*1\r\n>1\r\n",
        "+no end\n",
    ] {
        assert!(feed([bytes.as_bytes()], usize::MAX).is_err(), "{bytes:?}");
    }
    assert!(feed([&[b'+'; 70_000][..]], 0).is_err(), "a line without end");
    assert_eq!(
        feed([&b"HTTP/1.1"[..]], 0).unwrap_err().0,
        "a reply of the unknown type 'H': this is not RESP"
    );
}

/// A reply, as bytes and as the expected tokens; its own depth is 0.
fn reply() -> impl Strategy<Value = (Vec<u8>, Vec<OwnedToken>)> {
    let text = || prop::collection::vec(any::<u8>(), 0..40);
    let line = || "[ -~]{0,20}".prop_map(String::into_bytes);
    let leaf = |bytes: Vec<u8>, token: Token<'_>| (bytes, vec![(tell(token), 0, true)]);
    let bulk = move |bytes: Vec<u8>| {
        leaf([format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat(), Token::Bulk(&bytes))
    };
    let ends = prop_oneof![
        4 => text().prop_map(bulk),
        1 => line().prop_map(move |line| leaf([b"+", &line[..], b"\r\n"].concat(), Token::Simple(&line))),
        1 => line().prop_map(move |line| leaf([b"-", &line[..], b"\r\n"].concat(), Token::Error(&line))),
        1 => any::<i64>().prop_map(move |value| leaf(format!(":{value}\r\n").into_bytes(),
            Token::Integer(value))),
        1 => prop::sample::select(vec!["$-1\r\n", "*-1\r\n", "_\r\n"])
            .prop_map(move |null| leaf(null.into(), Token::Null)),
        1 => any::<bool>().prop_map(move |value| {
            leaf(if value { b"#t\r\n".to_vec() } else { b"#f\r\n".to_vec() }, Token::Boolean(value))
        }),
        1 => any::<f64>().prop_map(move |value| {
            leaf(format!(",{value}\r\n").into_bytes(), Token::Double(value.to_string().as_bytes()))
        }),
        1 => text().prop_map(move |bytes| {
            let head = format!("={}\r\ntxt:", bytes.len() + 4);
            leaf([head.as_bytes(), &bytes, b"\r\n"].concat(), Token::Verbatim(b"txt", &bytes))
        }),
    ];
    ends.prop_recursive(5, 40, 6, |inner| {
        let shape = prop::sample::select(vec![Shape::Array, Shape::Map, Shape::Set]);
        (shape, prop::collection::vec(inner, 0..6), 0..3u8).prop_map(|(shape, mut inside, manner)| {
            if shape == Shape::Map && inside.len() % 2 == 1 {
                inside.pop();
            }
            let (kind, tokens_per_element) = match shape {
                Shape::Array => ('*', 1),
                Shape::Map => ('%', 2),
                Shape::Set => ('~', 1),
            };
            let streamed = manner == 0;
            let count = (!streamed).then_some(inside.len() as u64);
            let mut bytes = match streamed {
                true => format!("{kind}?\r\n").into_bytes(),
                false => format!("{kind}{}\r\n", inside.len() / tokens_per_element).into_bytes(),
            };
            let mut tokens = vec![(tell(Token::Open(shape, count)), 0, count == Some(0))];
            let last = inside.len().saturating_sub(1);
            for (number, (its_bytes, inner_tokens)) in inside.into_iter().enumerate() {
                if manner == 2 {
                    bytes.extend_from_slice(b"|1\r\n+note\r\n*2\r\n:1\r\n$1\r\nx\r\n");
                }
                bytes.extend_from_slice(&its_bytes);
                let ends = number == last && !streamed;
                tokens.extend(
                    inner_tokens.into_iter().map(|(token, depth, was)| (token, depth + 1, was && ends)),
                );
            }
            if streamed {
                bytes.extend_from_slice(b".\r\n");
                tokens.push((tell(Token::Close), 0, true));
            }
            (bytes, tokens)
        })
    })
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tokens do not depend on how replies are split.
    #[test]
    fn tokens_do_not_depend_on_splitting(
        replies in prop::collection::vec(reply(), 1..5),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let bytes: Vec<u8> = replies.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let tokens: Vec<OwnedToken> = replies.into_iter().flat_map(|(_, tokens)| tokens).collect();
        prop_assert_eq!(feed(pieces(&bytes, &cuts), usize::MAX), Ok((tokens, 0)));
    }

    /// Skipping strings changes nothing else.
    #[test]
    fn skipping_strings_changes_nothing_else(
        replies in prop::collection::vec(reply(), 1..5),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
        keep in 0usize..20,
    ) {
        let bytes: Vec<u8> = replies.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let shape = |tokens: &[OwnedToken]| tokens.iter().map(|(_, depth, ends)| (*depth,
            *ends)).collect::<Vec<_>>();
        let (all, _) = feed([&bytes[..]], usize::MAX).unwrap();
        let (some, unconsumed) = feed(pieces(&bytes, &cuts), keep).unwrap();
        prop_assert_eq!((shape(&some), unconsumed), (shape(&all), 0));
    }

    /// No input panics or loops forever, and never more is consumed than was offered.
    #[test]
    fn arbitrary_input_never_panics(
        parts in prop::collection::vec(
            prop_oneof![
                3 => reply().prop_map(|(bytes, _)| bytes),
                2 => "[$*%~>|=!;.,#_:+(-][0-9?-]{0,12}(\r\n)?".prop_map(String::into_bytes),
                1 => prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..20,
        ),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
        keep in prop::sample::select(vec![0, 5, usize::MAX]),
    ) {
        let bytes = parts.concat();
        let _ = feed(pieces(&bytes, &cuts), keep);
    }
}
