//! Sections of a text in their order: tables of lines that differ in numbers alone, and the lines between
//! them. A separate thread reads a few blocks in advance: memory does not grow with the text.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::alike::{PADDING, table};

/// Bytes of a block: some ten thousand lines, which stay in a processor's cache between reading and parsing.
const BLOCK_BYTES: usize = 4 << 20;
/// Blocks read in advance.
const READ_BLOCKS: usize = 2;
/// Fewer lines are read one by one as quickly.
const FEWEST: usize = 200;
/// Spare columns of a block, whose memory is reused.
const MOST_SPARE: usize = 32;

/// A part of a text. `columns` are the numbers of lines alike; without any it is lines of all kinds.
#[derive(Debug, Default, PartialEq)]
struct Part {
    lines: Range<usize>,
    columns: Vec<Vec<f64>>,
}

/// Whole lines, and behind them bytes that belong to none.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    parts: VecDeque<Part>,
    /// Columns of parts that were looked at.
    spare: Vec<Vec<f64>>,
}

/// The parts of a text, one after the other.
pub struct Stretches {
    from: Receiver<io::Result<Block>>,
    /// Blocks that were looked at, to be filled again: to be given fresh memory takes as long as to read into
    /// it.
    back: Sender<Block>,
    block: Block,
    part: Part,
    /// Bytes up to the end of the current part.
    pub read_bytes: u64,
}

impl Stretches {
    /// Reads files one after the other; the lines of tables begin with `begin`.
    pub fn new(files: Vec<PathBuf>, begin: Vec<u8>) -> io::Result<Self> {
        let (to, from) = sync_channel(READ_BLOCKS);
        let (back, spent) = channel();
        // It ends when there is no more, or when nobody asks any more.
        thread::Builder::new().name("import".into()).spawn(move || {
            if let Err(error) = read(&files, BLOCK_BYTES, &begin, &to, &spent) {
                let _nobody_asks = to.send(Err(error));
            }
        })?;
        Ok(Self { from, back, block: Block::default(), part: Part::default(), read_bytes: 0 })
    }

    /// Advances to the next part. Returns false after the last one.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.block.spare.extend(std::mem::take(&mut self.part).columns);
        loop {
            if let Some(part) = self.block.parts.pop_front() {
                self.read_bytes += part.lines.len() as u64;
                self.part = part;
                return Ok(true);
            }
            let Ok(block) = self.from.recv() else { return Ok(false) };
            let mut spent = std::mem::replace(&mut self.block, block?);
            spent.spare.truncate(MOST_SPARE);
            let _all_is_read = self.back.send(spent);
        }
    }

    /// The numbers of this part's lines, column by column; no columns where they are of all kinds.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.part.columns
    }

    /// This part as it is written.
    pub fn text(&self) -> &[u8] {
        &self.block.bytes[self.part.lines.clone()]
    }
}

fn read(
    files: &[PathBuf],
    size: usize,
    begin: &[u8],
    to: &SyncSender<io::Result<Block>>,
    spent: &Receiver<Block>,
) -> io::Result<()> {
    for file in files {
        let mut emptied = || spent.try_recv().unwrap_or_default();
        blocks(&mut File::open(file)?, size, &mut emptied, &mut |mut block, end| {
            block.parts = parts(&block.bytes, end, begin, &mut block.spare);
            to.send(Ok(block)).is_ok()
        })?;
    }
    Ok(())
}

/// A source in blocks that end where a line ends, each with where that is; the last one perhaps does not, and
/// neither does one without any line's end. `PADDING` bytes behind the end are readable. `emptied` returns
/// a block to fill; `take` returns whether to continue.
fn blocks(
    source: &mut impl Read,
    size: usize,
    emptied: &mut impl FnMut() -> Block,
    take: &mut impl FnMut(Block, usize) -> bool,
) -> io::Result<()> {
    let mut remaining: Vec<u8> = Vec::new();
    loop {
        let mut block = emptied();
        let bytes = &mut block.bytes;
        bytes.clear();
        bytes.reserve(remaining.len() + size + PADDING);
        bytes.append(&mut remaining);
        let read = source.by_ref().take(size as u64).read_to_end(bytes)?;
        let all = bytes.len();
        let last = read < size;
        let last_newline = if last { None } else { memchr::memrchr(b'\n', bytes) };
        let end = last_newline.map_or(all, |index| index + 1);
        remaining.extend_from_slice(&bytes[end..]);
        bytes.resize(all + PADDING, 0);
        if (end > 0 && !take(block, end)) || last {
            return Ok(());
        }
    }
}

fn parts(bytes: &[u8], end: usize, begin: &[u8], spare: &mut Vec<Vec<f64>>) -> VecDeque<Part> {
    let mut parts = VecDeque::new();
    let (mut done, mut at) = (0, 0);
    let line_after = |at: usize| memchr::memchr(b'\n', &bytes[at..end]).map(|length| at + length + 1);
    while at < end {
        if bytes[at..end].starts_with(begin) {
            let table = table(bytes, at, end, spare);
            if table.rows >= FEWEST {
                if at > done {
                    parts.push_back(Part { lines: done..at, columns: Vec::new() });
                }
                parts.push_back(Part { lines: at..table.end, columns: table.columns });
                done = table.end;
            } else {
                spare.extend(table.columns);
            }
            if table.end > at {
                at = table.end;
                continue;
            }
        }
        match line_after(at) {
            Some(next) => at = next,
            None => break,
        }
    }
    if done < end {
        parts.push_back(Part { lines: done..end, columns: Vec::new() });
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &[u8], size: usize) -> Vec<Vec<u8>> {
        let mut texts = Vec::new();
        let used = || Block { bytes: b"used".to_vec(), ..Block::default() };
        blocks(&mut { text }, size, &mut { used }, &mut |block, end| {
            assert!(block.bytes.len() >= end + PADDING);
            texts.push(block.bytes[..end].to_vec());
            true
        })
        .unwrap();
        texts
    }

    fn rows(count: usize) -> String {
        (0..count).map(|row| format!("[ {row}s ] tps: {row}.5\n")).collect()
    }

    #[test]
    fn a_long_row_of_lines_alike_is_a_table_between_others() {
        let text = format!("head\n{}[ odd\n{}tail", rows(FEWEST), rows(FEWEST - 1));
        let padded = [text.as_bytes(), &[0; PADDING]].concat();
        let sections = parts(&padded, text.len(), b"[ ", &mut Vec::new());
        let of = |index: usize| &text[sections[index].lines.clone()];
        assert_eq!((sections.len(), of(0), of(1)), (3, "head\n", &rows(FEWEST)[..]));
        assert_eq!(sections[1].columns.iter().map(Vec::len).collect::<Vec<_>>(), [FEWEST, FEWEST]);
        assert!(of(2).starts_with("[ odd\n") && of(2).ends_with("tail") && sections[2].columns.is_empty());
    }

    #[test]
    fn files_are_read_in_their_order_and_what_was_given_last_can_be_read() {
        let home = std::env::temp_dir().join(format!("loadcell-stretches-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        let files = [home.join("one"), home.join("two")];
        std::fs::write(&files[0], rows(FEWEST) + "no end").unwrap();
        std::fs::write(&files[1], rows(FEWEST)).unwrap();
        let mut stretches = Stretches::new(files.to_vec(), b"[ ".to_vec()).unwrap();
        let mut seen = Vec::new();
        while stretches.advance().unwrap() {
            seen.push((stretches.columns().len(), stretches.text().to_vec()));
        }
        assert!(stretches.text().is_empty() && !stretches.advance().unwrap());
        let table = rows(FEWEST).into_bytes();
        assert_eq!(seen, [(2, table.clone()), (0, b"no end".to_vec()), (2, table.clone())]);
        assert_eq!(stretches.read_bytes as usize, 2 * table.len() + 6);

        // Dropped before its end.
        drop(Stretches::new(vec![files[0].clone(); 20], b"[ ".to_vec()).unwrap());
        assert!(Stretches::new(vec![home.join("none")], b"[ ".to_vec()).unwrap().advance().is_err());
        std::fs::remove_dir_all(&home).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn blocks_lose_nothing_and_end_where_lines_end(text in "[ab\n]{0,60}", size in 1usize..40) {
            let texts = all(text.as_bytes(), size);
            prop_assert_eq!(texts.concat(), text.as_bytes());
            for block in texts.iter().rev().skip(1) {
                prop_assert!(block.ends_with(b"\n") || !block.contains(&b'\n'));
                prop_assert!(block.len() <= 2 * size);
            }
        }

        #[test]
        fn parts_are_the_whole_text_in_its_order(text in "([ab1\n]|\\[ 1\n){0,60}") {
            let padded = [text.as_bytes(), &[0; PADDING]].concat();
            let sections = parts(&padded, text.len(), b"[ ", &mut Vec::new());
            let joined: Vec<u8> = sections.iter().flat_map(|part| text[part.lines.clone()].bytes()).collect();
            prop_assert_eq!(joined, text.as_bytes());
        }
    }
}
