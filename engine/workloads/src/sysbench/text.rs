//! Values of `c` and `pad`: groups of eleven random digits.

use loadcell_core::random::Random;
use loadcell_protocols::digits::fixed_decimal;

const GROUP: usize = 11;
const GROUP_VALUES: u64 = 10u64.pow(GROUP as u32);

/// 10 groups.
pub const C: usize = 10 * (GROUP + 1) - 1;
/// 5 groups.
pub const PAD: usize = 5 * (GROUP + 1) - 1;

pub type CText = [u8; C];
pub type PadText = [u8; PAD];

/// Fill all of `out` (groups joined by `-`) with random digits.
#[inline]
fn fill(random: &mut Random, out: &mut [u8]) {
    for group in out.chunks_mut(GROUP + 1) {
        fixed_decimal(&mut group[..GROUP], random.below(GROUP_VALUES));
        if let Some(join) = group.get_mut(GROUP) {
            *join = b'-';
        }
    }
}

/// A value for column `c`.
#[inline]
pub fn c(random: &mut Random) -> CText {
    let mut text = [0; C];
    fill(random, &mut text);
    text
}

/// A value for column `pad`.
#[inline]
pub fn pad(random: &mut Random) -> PadText {
    let mut text = [0; PAD];
    fill(random, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &[u8]) -> Vec<usize> {
        text.split(|&byte| byte == b'-')
            .map(|group| {
                assert!(group.iter().all(u8::is_ascii_digit), "{text:?}");
                group.len()
            })
            .collect()
    }

    #[test]
    fn c_and_pad_are_groups_of_eleven_digits() {
        let mut random = Random::stream(1, 1);
        for _ in 0..1000 {
            let (c, pad) = (c(&mut random), pad(&mut random));
            assert_eq!((c.len(), groups(&c)), (119, vec![11; 10]));
            assert_eq!((pad.len(), groups(&pad)), (59, vec![11; 5]));
        }
    }

    #[test]
    fn digits_are_uniform_at_every_position() {
        let mut random = Random::stream(2, 1);
        let mut counts = [[0u32; 10]; GROUP];
        let draws = 2_000;
        for _ in 0..draws {
            for group in c(&mut random).split(|&byte| byte == b'-') {
                for (position_counts, digit) in group.iter().enumerate() {
                    counts[position_counts][usize::from(digit - b'0')] += 1;
                }
            }
        }
        let expected = f64::from(draws * 10) / 10.0;
        for position_counts in counts {
            // Chi-square with 9 degrees of freedom: 33.7 is exceeded once in 10,000 cases by chance.
            let chi: f64 =
                position_counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            assert!(chi < 33.7, "chi-square {chi}: {position_counts:?}");
        }
    }
}
