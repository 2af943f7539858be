use proptest::prelude::*;

use super::*;

type Fields = Vec<(String, String)>;

fn octets(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn unpack(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Malformed> {
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| {
        fields.push((String::from_utf8_lossy(name).into(), String::from_utf8_lossy(value).into()));
        Ok(())
    })?;
    Ok(fields)
}

fn refusal(block: &[u8]) -> String {
    unpack(&mut Decoder::new(1 << 16), block).unwrap_err().0
}

fn size(decoder: &Decoder) -> usize {
    (0..)
        .map_while(|nth| decoder.table.get(nth))
        .map(|(name, value)| name.len() + value.len() + OVERHEAD)
        .sum()
}

/// RFC 7541, appendix C.2: single fields, and whether each is indexed.
#[test]
fn single_fields_of_the_appendix() {
    for (block, name, value, indexed) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key",
            "custom-header",
            55,
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path", "/sample/path", 0),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password", "secret", 0),
        ("82", ":method", "GET", 0),
    ] {
        let mut decoder = Decoder::new(1 << 16);
        assert_eq!(unpack(&mut decoder, &octets(block)), Ok(vec![(name.into(), value.into())]));
        assert_eq!(size(&decoder), indexed);
    }
}

const DATE: &str = "Mon, 21 Oct 2013 20:13:21 GMT";
const LATER: &str = "Mon, 21 Oct 2013 20:13:22 GMT";
const COOKIE: &str = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

/// Fields of one block, and the table size after it.
type Expected<'a> = (&'a [(&'a str, &'a str)], usize);

const REQUESTS: [Expected<'_>; 3] = [
    (&[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")], 57),
    (
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
            ("cache-control", "no-cache"),
        ],
        110,
    ),
    (
        &[
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ],
        164,
    ),
];

const RESPONSES: [Expected<'_>; 3] = [
    (
        &[
            (":status", "302"),
            ("cache-control", "private"),
            ("date", DATE),
            ("location", "https://www.example.com"),
        ],
        222,
    ),
    (
        &[
            (":status", "307"),
            ("cache-control", "private"),
            ("date", DATE),
            ("location", "https://www.example.com"),
        ],
        222,
    ),
    (
        &[
            (":status", "200"),
            ("cache-control", "private"),
            ("date", LATER),
            ("location", "https://www.example.com"),
            ("content-encoding", "gzip"),
            ("set-cookie", COOKIE),
        ],
        215,
    ),
];

/// RFC 7541, appendix C.3 to C.6: consecutive blocks, plain and Huffman coded; responses with a table of 256
/// bytes.
#[test]
fn connections_of_the_appendix() {
    let cases: [(usize, [Expected<'_>; 3], [&str; 3]); 4] = [
        (
            4096,
            REQUESTS,
            [
                "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                "8286 84be 5808 6e6f 2d63 6163 6865",
                "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            ],
        ),
        (
            4096,
            REQUESTS,
            [
                "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
                "8286 84be 5886 a8eb 1064 9cbf",
                "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            ],
        ),
        (
            256,
            RESPONSES,
            [
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
                 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63
                 6f6d",
                "4803 3330 37c1 c0bf",
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0
                 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745
                 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            ],
        ),
        (
            256,
            RESPONSES,
            [
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e
                 919d 29ad
                 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                "4883 640e ffc1 c0bf",
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7
                 821d d7f2
                 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106
                 3d50 07",
            ],
        ),
    ];
    for (table, expected, blocks) in cases {
        let mut decoder = Decoder::new(1 << 16);
        decoder.table.resize(table);
        for ((fields, indexed), block) in expected.into_iter().zip(blocks) {
            let fields: Fields = fields.iter().map(|&(name, value)| (name.into(), value.into())).collect();
            assert_eq!(unpack(&mut decoder, &octets(block)), Ok(fields), "{block}");
            assert_eq!(size(&decoder), indexed);
        }
    }
}

#[test]
fn malformed_blocks_are_rejected_with_a_reason() {
    for (block, finding) in [
        (&[0x80][..], "index 0"),
        (&[0xbe], "no field with the index 62"),
        (&[0x7e, 0x01, b'x'], "no field with the index 62"),
        (&[0xff, 0x80], "does not end"),
        (&[0x00], "does not end"),
        (&[0x00, 0x05, b'a'], "longer than the block"),
        (&[0x00, 0x81, 0xff, 0x00], "Huffman"),
        (&[0x82, 0x20], "table's size"),
        (&[0x3f, 0xe2, 0x1f], "table's size"),
    ] {
        let finding_there = refusal(block);
        assert!(finding_there.contains(finding), "{block:?}: {finding_there}");
        assert!(finding_there.contains("(COMPRESSION_ERROR)"));
    }
    assert_eq!(
        unpack(&mut Decoder::new(100), &[0x20, 0x3f, 0xe1, 0x1f, 0x82]).unwrap().len(),
        1,
        "sizes may change"
    );
}

#[test]
fn decompression_bomb_is_rejected() {
    let mut bomb = vec![0x40, 0x01, b'x', 0x7f, 0x80 | 0x21, 0x1e];
    bomb.resize(bomb.len() + 4000, b'a');
    bomb.extend([0xbe; 1000]);
    assert_eq!(refusal(&bomb), "the server sent more than 64 KiB of header fields in one answer");
    // Many small fields count as well.
    assert!(refusal(&[0x82; 2000]).contains("more than 64 KiB"));
}

#[test]
fn encoded_fields_are_decodable() {
    let mut block = Vec::new();
    encode::no_table(&mut block);
    let long = "v".repeat(300);
    let fields = [
        (":method", "GET"),
        (":method", "PATCH"),
        (":path", "/a?b=1"),
        ("x-one", "1"),
        ("authorization", "Basic c2VjcmV0"),
        ("x-long", &long),
        ("empty", ""),
    ];
    for (name, value) in fields {
        encode::field(&mut block, name.as_bytes(), value.as_bytes());
    }
    assert_eq!(block[..2], [0x20, 0x82]);
    assert!(block.windows(2).any(|pair| pair == [0x1f, 23 - 15]), "a secret is never indexed");
    let expected: Fields = fields.map(|(name, value)| (name.into(), value.into())).into();
    assert_eq!(unpack(&mut Decoder::new(1 << 16), &block), Ok(expected));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// No input panics, and the output never exceeds the limit.
    #[test]
    fn arbitrary_blocks_never_panic(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6),
    ) {
        let mut decoder = Decoder::new(500);
        for block in blocks {
            let mut total = 0;
            let done = decoder.decode(&block, |name, value| {
                total += name.len() + value.len() + OVERHEAD;
                Ok(())
            });
            prop_assert!(total <= 500);
            if done.is_err() {
                break;
            }
        }
    }

    #[test]
    fn fields_round_trip(
        fields in prop::collection::vec(("[a-z-]{1,20}", prop::collection::vec(any::<u8>(), 0..200)), 0..10),
    ) {
        let (mut block, mut back) = (Vec::new(), Vec::new());
        for (name, value) in &fields {
            encode::field(&mut block, name.as_bytes(), value);
        }
        let done = Decoder::new(1 << 16).decode(&block, |name, value| {
            back.push((String::from_utf8_lossy(name).to_string(), value.to_vec()));
            Ok(())
        });
        prop_assert_eq!((done, back), (Ok(()), fields));
    }
}
