//! Lines that cannot be parsed: their count, and the first of them as examples.

const MOST_SHOWN: usize = 5;
const LONGEST_SHOWN: usize = 200;

#[derive(Default)]
pub struct Unread {
    pub count: u64,
    pub examples: Vec<String>,
}

impl Unread {
    /// Counts a line; empty lines are ignored.
    #[cold]
    pub fn add(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.count += 1;
        if self.examples.len() < MOST_SHOWN {
            // A character has at most four bytes.
            let begin = &line[..line.len().min(4 * LONGEST_SHOWN)];
            self.examples.push(String::from_utf8_lossy(begin).chars().take(LONGEST_SHOWN).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_the_first_shown_in_part() {
        let mut unread = Unread::default();
        for line in [&b"  \r"[..], b"", b" one\r", b"\xff\xfe", &[b'x'; 5_000], b"4", b"5", b"6", b"7"] {
            unread.add(line);
        }
        assert_eq!(unread.count, 7);
        assert_eq!(unread.examples, ["one", "\u{fffd}\u{fffd}", &"x".repeat(200), "4", "5"]);
    }
}
