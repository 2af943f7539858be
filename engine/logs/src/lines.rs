//! Files in blocks of complete lines. Memory is that of one block, for files and lines of any length.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use serde_json::json;

use super::digits::PADDING;
use loadcell_core::observe::{Directive, Observer};

/// Small enough to stay in a core's private cache between reading and parsing.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes between two progress events: some hundredths of a second.
const TICK_BYTES: u64 = 16 << 20;

/// Lines, each with its end, the last one too; `PADDING` bytes behind them are readable.
pub struct Lines<'a> {
    pub bytes: &'a [u8],
    pub begin: usize,
    pub end: usize,
}

/// Consumer of lines.
pub trait Reader {
    fn take(&mut self, lines: Lines<'_>);

    /// Receives the beginning of a line that is longer than a block.
    fn too_long(&mut self, begin: &[u8]);
}

/// Reason for a missing result.
#[derive(Debug)]
pub enum Unfinished {
    Io(io::Error),
    /// Aborted by the observer.
    Aborted,
}

impl From<io::Error> for Unfinished {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads files one after the other. A line ends with its file.
pub fn read(
    files: &[PathBuf],
    reader: &mut impl Reader,
    observer: &mut dyn Observer,
) -> Result<(), Unfinished> {
    let mut total_bytes = 0;
    for file in files {
        total_bytes += file.metadata()?.len();
    }
    let (mut read_bytes, mut reported_bytes) = (0, 0);
    for file in files {
        let mut source = File::open(file)?;
        blocks(&mut source, BLOCK_BYTES, reader, &mut |bytes| {
            read_bytes += bytes as u64;
            if read_bytes - reported_bytes < TICK_BYTES {
                return Ok(());
            }
            reported_bytes = read_bytes;
            let event = json!({"type": "progress", "read_bytes": read_bytes, "total_bytes": total_bytes});
            match (observer.event(&event), observer.tick()) {
                (Directive::Continue, Directive::Continue) => Ok(()),
                _ => Err(Unfinished::Aborted),
            }
        })?;
    }
    Ok(())
}

/// Reads a source in blocks of at most `size` bytes; `progress` receives the bytes of each read.
pub fn blocks<E: From<io::Error>>(
    source: &mut impl Read,
    size: usize,
    reader: &mut impl Reader,
    progress: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; size + 1 + PADDING];
    let mut held = 0; // of a line whose end is not read yet
    let mut within = false; // a line that is longer than a block
    loop {
        let read = match source.read(&mut buffer[held..size]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if read == 0 {
            if held > 0 {
                buffer[held] = b'\n';
                reader.take(Lines { bytes: &buffer, begin: 0, end: held + 1 });
            }
            return Ok(());
        }
        let full = held + read;
        let mut begin = 0;
        if within {
            let end = memchr::memchr(b'\n', &buffer[..full]);
            within = end.is_none();
            begin = end.map_or(full, |end| end + 1);
        }
        let end = memchr::memrchr(b'\n', &buffer[begin..full]).map_or(begin, |last| begin + last + 1);
        if end > begin {
            reader.take(Lines { bytes: &buffer, begin, end });
        }
        held = full - end;
        if held == size {
            reader.too_long(&buffer[..size]);
            (within, held) = (true, 0);
        }
        buffer.copy_within(end..end + held, 0);
        progress(read)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Collected {
        lines: Vec<u8>,
        too_long: usize,
    }

    impl Reader for Collected {
        fn take(&mut self, lines: Lines<'_>) {
            assert_eq!(lines.bytes[lines.end - 1], b'\n');
            assert!(lines.bytes.len() >= lines.end + PADDING);
            self.lines.extend(&lines.bytes[lines.begin..lines.end]);
        }

        fn too_long(&mut self, _: &[u8]) {
            self.too_long += 1;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn every_line_comes_once_or_is_too_long(
            lines in prop::collection::vec("[a-c]{0,9}", 0..12), size in 2usize..24, ended: bool
        ) {
            let mut text = lines.join("\n");
            if ended { text.push('\n') }
            let mut collected = Collected::default();
            let mut read = 0;
            blocks(&mut text.as_bytes(), size, &mut collected, &mut |bytes| {
                read += bytes;
                io::Result::Ok(())
            })
            .unwrap();
            prop_assert_eq!(read, text.len());
            let fits = |line: &&str| line.len() < size;
            let expected: String = text.lines().filter(fits).map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(String::from_utf8(collected.lines).unwrap(), expected);
            prop_assert_eq!(collected.too_long, text.lines().count() - text.lines().filter(fits).count());
        }
    }
}
