//! Random texts (clause 4.3.2): letters and digits, digits, and last names.

use loadcell_core::random::Random;

const CHARACTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LETTERS: u64 = 26;
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Characters per 64-bit random number: each uses 5.95 bits; the remaining bits keep the bias below one in
/// 60,000.
const PER_DRAW: usize = 8;

/// Append an a-string: `length` letters and digits.
#[inline]
pub fn alphanumeric(random: &mut Random, length: u64, out: &mut Vec<u8>) {
    let mut remaining = length as usize;
    while remaining > 0 {
        let mut bits = random.bits();
        let mut characters = [0u8; PER_DRAW];
        for character in &mut characters {
            let product = u128::from(bits) * CHARACTERS.len() as u128;
            *character = CHARACTERS[(product >> 64) as usize];
            bits = product as u64;
        }
        let taken = remaining.min(PER_DRAW);
        out.extend_from_slice(&characters[..taken]);
        remaining -= taken;
    }
}

/// Append an a-string of random length.
#[inline]
pub fn alphanumerics(random: &mut Random, shortest: u64, longest: u64, out: &mut Vec<u8>) {
    let length = random.uniform(shortest, longest);
    alphanumeric(random, length, out);
}

/// Append an n-string: `length` digits.
pub fn digits(random: &mut Random, length: u64, out: &mut Vec<u8>) {
    for _ in 0..length {
        out.push(b'0' + random.below(10) as u8);
    }
}

/// Append two letters, as for a state.
pub fn state(random: &mut Random, out: &mut Vec<u8>) {
    for _ in 0..2 {
        out.push(b'A' + random.below(LETTERS) as u8);
    }
}

/// Append 26 to 50 letters and digits; one in ten texts contains ORIGINAL.
pub fn maybe_original(random: &mut Random, out: &mut Vec<u8>) {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let start = out.len();
    alphanumerics(random, 26, 50, out);
    if random.below(10) == 0 {
        let room = out.len() - start - ORIGINAL.len();
        let at = start + random.uniform(0, room as u64) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Append the last name of this number, 0..=999 (clause 4.3.2.3).
#[inline]
pub fn last_name(number: u64, out: &mut Vec<u8>) {
    for divisor in [100, 10, 1] {
        out.extend_from_slice(SYLLABLES[(number / divisor % 10) as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn last_names_are_three_syllables() {
        assert_eq!(text(|out| last_name(0, out)), "BARBARBAR");
        assert_eq!(text(|out| last_name(371, out)), "PRICALLYOUGHT");
        assert_eq!(text(|out| last_name(999, out)), "EINGEINGEING");
        let all: std::collections::HashSet<_> =
            (0..1_000).map(|number| text(|out| last_name(number, out))).collect();
        assert_eq!(all.len(), 1_000);
        assert!(all.iter().all(|name| name.len() <= 16), "fits its column");
    }

    #[test]
    fn strings_have_their_length_and_uniform_characters() {
        let mut random = Random::stream(1, 0);
        let mut counts = [0u32; 256];
        let mut lengths = [0u32; 51];
        for _ in 0..40_000 {
            let string = text(|out| alphanumerics(&mut random, 26, 50, out));
            lengths[string.len()] += 1;
            string.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
        }
        assert!(
            lengths[..26].iter().all(|&count| count == 0) && lengths[26..].iter().all(|&count| count > 1_200)
        );
        let total: u32 = counts.iter().sum();
        let expected = f64::from(total) / CHARACTERS.len() as f64;
        let chi: f64 = CHARACTERS
            .iter()
            .map(|&byte| (f64::from(counts[usize::from(byte)]) - expected).powi(2) / expected)
            .sum();
        // With 61 degrees of freedom 115 is exceeded once in 30,000 cases by chance.
        assert!(chi < 115.0, "chi-square {chi}");
        assert_eq!(total, CHARACTERS.iter().map(|&byte| counts[usize::from(byte)]).sum::<u32>());
        assert!(text(|out| digits(&mut random, 16, out)).bytes().all(|byte| byte.is_ascii_digit()));
        assert_eq!(text(|out| state(&mut random, out)).len(), 2);
    }

    #[test]
    fn ten_percent_of_texts_contain_original() {
        let mut random = Random::stream(2, 0);
        let mut positions = std::collections::HashSet::new();
        let mut count = 0;
        for _ in 0..20_000 {
            let string = text(|out| maybe_original(&mut random, out));
            assert!((26..=50).contains(&string.len()));
            if let Some(at) = string.find("ORIGINAL") {
                count += 1;
                positions.insert(at);
            }
        }
        // Binomial with a standard deviation of 42.
        assert!((1_800..2_200).contains(&count), "{count} of 20000");
        assert!(positions.len() > 38, "from the first place of 43 to the last: {}", positions.len());
    }
}
