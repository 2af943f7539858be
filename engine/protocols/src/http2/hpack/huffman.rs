//! Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes grow with their lengths, and within one length with their symbols. The
//! lengths therefore determine the code, and the decoding tables are computed at compile time.

/// Code length of each byte, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

const SHORTEST: usize = 5;
const LONGEST: usize = 30;

/// Codes up to this length are decoded by one table lookup; they cover most header text.
const QUICK: u32 = 8;

struct Code {
    /// Bytes in the order of their codes. The end-of-string code (EOS) would follow: all ones.
    symbols: [u8; 256],
    /// For each length: its first code and the end of its codes, as the leading bits of 32, and the index of
    /// its first byte.
    first: [u32; LONGEST + 1],
    end: [u64; LONGEST + 1],
    start: [usize; LONGEST + 1],
    /// By the next eight bits: the byte and the length of its code; length zero if the code is longer.
    quick: [(u8, u8); 1 << QUICK],
}

const CODE: Code = work_out();

const fn work_out() -> Code {
    let mut code = Code {
        symbols: [0; 256],
        first: [0; LONGEST + 1],
        end: [0; LONGEST + 1],
        start: [0; LONGEST + 1],
        quick: [(0, 0); 1 << QUICK],
    };
    let (mut next, mut count_so_far, mut length) = (0u64, 0, SHORTEST);
    while length <= LONGEST {
        code.first[length] = next as u32;
        code.start[length] = count_so_far;
        let step = 1 << (32 - length);
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                code.symbols[count_so_far] = symbol as u8;
                if length <= QUICK as usize {
                    let mut at = next >> (32 - QUICK);
                    while at < (next + step) >> (32 - QUICK) {
                        code.quick[at as usize] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                count_so_far += 1;
                next += step;
            }
            symbol += 1;
        }
        code.end[length] = next;
        length += 1;
    }
    code
}

/// Append the decoded bytes of `input`. False if it is malformed: an incomplete code, EOS, or padding other
/// than up to seven ones.
#[must_use]
pub fn decode(input: &[u8], out: &mut Vec<u8>) -> bool {
    static TABLE: Code = CODE;
    let mut octets = input.iter();
    // The pending bits are left-aligned, followed by zeros.
    let (mut bits, mut count) = (0u64, 0u32);
    loop {
        while count <= 56
            && let Some(&octet) = octets.next()
        {
            bits |= u64::from(octet) << (56 - count);
            count += 8;
        }
        if count < 8 && bits.leading_ones() >= count {
            return true;
        }
        let leading = (bits >> 32) as u32;
        let (mut symbol, mut length) = TABLE.quick[(leading >> (32 - QUICK)) as usize];
        if length == 0 {
            let code_length =
                (QUICK as usize + 1..=LONGEST).find(|&length| u64::from(leading) < TABLE.end[length]);
            let Some(code_length) = code_length else { return false }; // EOS
            let nth = (leading - TABLE.first[code_length]) >> (32 - code_length);
            (symbol, length) = (TABLE.symbols[TABLE.start[code_length] + nth as usize], code_length as u8);
        }
        let length = u32::from(length);
        if length > count {
            return false;
        }
        out.push(symbol);
        bits <<= length;
        count -= length;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Code and length of each byte, as listed in appendix B.
    fn codes() -> [(u32, u32); 256] {
        let mut codes = [(0, 0); 256];
        for length in SHORTEST..=LONGEST {
            let of_length = (0..256).filter(|&symbol| usize::from(LENGTHS[symbol]) == length);
            for (nth, symbol) in of_length.enumerate() {
                codes[symbol] = ((CODE.first[length] >> (32 - length)) + nth as u32, length as u32);
            }
        }
        codes
    }

    fn encode(text: &[u8]) -> Vec<u8> {
        let codes = codes();
        let mut bits = String::new();
        for &octet in text {
            let (code, length) = codes[usize::from(octet)];
            bits += &format!("{code:0length$b}", length = length as usize);
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes()
            .chunks(8)
            .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
            .collect()
    }

    fn decoded(input: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(input, &mut out).then_some(out)
    }

    #[test]
    fn codes_match_the_appendix() {
        let codes = codes();
        for (symbol, code, length) in [
            (0, 0x1ff8, 13),
            (10, 0x3fff_fffc, 30),
            (22, 0x3fff_fffe, 30),
            (b'0', 0x0, 5),
            (b':', 0x5c, 7),
            (b'<', 0x7ffc, 15),
            (b'A', 0x21, 6),
            (b'\\', 0x7fff0, 19),
            (b'a', 0x3, 5),
            (b'z', 0x7b, 7),
            (127, 0xfff_fffc, 28),
            (128, 0xfffe6, 20),
            (200, 0x3ff_ffe2, 26),
            (249, 0xfff_fffe, 28),
            (255, 0x3ff_ffee, 26),
        ] {
            assert_eq!(codes[usize::from(symbol)], (code, length), "{symbol}");
        }
    }

    #[test]
    fn malformed_codes_are_rejected() {
        assert_eq!(decoded(&[]), Some(vec![]));
        assert_eq!(decoded(&[0x07]), Some(b"0".to_vec()));
        assert_eq!(decoded(&[0xff]), None, "eight bits of padding");
        assert_eq!(decoded(&[0x07, 0xff]), None);
        assert_eq!(decoded(&[0x06]), None, "padding that is not all ones");
        assert_eq!(decoded(&[0x00]), None);
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), None, "EOS");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc]), None);
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xf3]), Some(vec![10]), "the last code before it");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn text_round_trips(text in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(decoded(&encode(&text)), Some(text));
        }

        #[test]
        fn arbitrary_input_never_panics(input in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(text) = decoded(&input) {
                prop_assert_eq!(encode(&text), input);
            }
        }
    }
}
