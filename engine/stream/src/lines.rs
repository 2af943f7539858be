//! Lines of a file as records. The file is read in parts, however long it is.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use loadcell_core::error::{Failure, LoadError};
use loadcell_core::os;

use super::batch::{BATCH_BYTES, Batch};
use super::options::{Format, Framing, Options};
use super::source::{FRAME, Filled, Place, Stop};

/// Code of a file that cannot be read.
pub const FILE: &str = "stream.file";
/// Code of a line that is no record.
pub const LINE: &str = "stream.line";

/// Bytes read by one call.
const PART: usize = 256 << 10;
/// Most bytes read for one batch: a few milliseconds, after which the loop reads answers and can end.
const PARTS_AT_ONCE: usize = 16;

/// The lines of one connection: those whose number, over all passes, belongs to it.
pub struct Lines {
    file: File,
    path: PathBuf,
    repeat: bool,
    format: Format,
    framing: Framing,
    frame_limit: usize,
    position: Place,
    /// Bytes that were read, and the first of them that is not used.
    input: Vec<u8>,
    start: usize,
    at_end: bool,
    /// Number of the next line over all passes, and number of lines before this pass.
    line: u64,
    pass_start: u64,
    /// Number of values of the first line (CSV).
    columns: Option<usize>,
    /// Bytes of a line above the limit that were skipped so far.
    skipped: usize,
    /// Calls that may still read for this batch.
    parts: usize,
    /// Bytes from `start` on without the end of a line.
    searched: usize,
}

/// The next line, as far as it could be read.
enum Line {
    /// Range in the input, without the newline.
    Complete(usize, usize),
    /// Number of bytes of a line above the limit.
    TooLong(usize),
    /// The line has not ended within what was read for this batch.
    Partial,
    End,
}

/// Check that a file of records can be read and is not empty.
pub fn check(path: &Path) -> Result<(), LoadError> {
    let unreadable = |text: &str| {
        LoadError::with_text(FILE, text, "engine.stream-file", json!({"path": path.display().to_string()}))
    };
    // Opening a pipe would wait for its writer.
    let metadata = path.metadata().map_err(|error| unreadable(&os::error_text(&error)))?;
    let kind = metadata.file_type();
    let finding = match () {
        () if kind.is_dir() => "it is a directory",
        () if kind.is_fifo() => "it is a pipe, not a regular file",
        () if kind.is_socket() => "it is a socket, not a regular file",
        () if !kind.is_file() => "it is a device, not a regular file",
        () if metadata.len() == 0 => "the file is empty",
        () => return File::open(path).map(|_| ()).map_err(|error| unreadable(&os::error_text(&error))),
    };
    Err(unreadable(finding))
}

impl Lines {
    /// The lines of a connection. Error: the file cannot be opened.
    pub fn open(path: &Path, options: &Options, position: Place) -> Result<Self, Failure> {
        Ok(Self {
            file: File::open(path).map_err(|error| broken(path, &os::error_text(&error)))?,
            path: path.into(),
            repeat: options.source.repeat,
            format: options.format,
            framing: options.framing,
            frame_limit: options.frame_limit,
            position,
            input: Vec::new(),
            start: 0,
            at_end: false,
            line: 0,
            pass_start: 0,
            columns: None,
            skipped: 0,
            parts: 0,
            searched: 0,
        })
    }

    /// Fills an empty batch with at most `most` records; with none if there is no end of a line within what
    /// is read at once.
    pub fn fill(&mut self, most: u64, batch: &mut Batch) -> Filled {
        batch.clear();
        self.parts = PARTS_AT_ONCE;
        let mut records = 0;
        while records < most && batch.bytes.len() < BATCH_BYTES {
            match self.record(batch) {
                Ok(true) => records += 1,
                Ok(false) => return Filled { records, stop: None },
                Err(stop) => return Filled { records, stop: Some(stop) },
            }
        }
        let stop = if self.repeat { None } else { self.skip_others().err() };
        Filled { records, stop }
    }

    /// Skips lines of other connections, so that the end of the file is known with the last record.
    fn skip_others(&mut self) -> Result<(), Stop> {
        while self.has_line().map_err(|error| self.unreadable(&error))? {
            if self.position.index(self.line).is_some() {
                return Ok(());
            }
            if let Line::Partial = self.next_line().map_err(|error| self.unreadable(&error))? {
                return Ok(());
            }
            self.line += 1;
        }
        Err(Stop::Ended)
    }

    /// True if the file has another line.
    fn has_line(&mut self) -> io::Result<bool> {
        while self.start == self.input.len() && !self.at_end {
            self.read_part()?;
        }
        Ok(self.start < self.input.len())
    }

    /// Number of this connection's records until the end of the file, if that is known: it is as soon as the
    /// rest is shorter than what is read by one call.
    pub fn remaining(&mut self) -> Option<u64> {
        if self.repeat {
            return None;
        }
        while !self.at_end && self.input.len() - self.start < PART {
            self.read_part().ok()?;
        }
        if !self.at_end {
            return None;
        }
        let remaining = &self.input[self.start..];
        let unended = usize::from(remaining.last().map_or(self.skipped > 0, |&byte| byte != b'\n'));
        let lines = (memchr::memchr_iter(b'\n', remaining).count() + unended) as u64;
        let of_place = (self.line..self.line + lines).filter(|&line| self.position.index(line).is_some());
        Some(of_place.count() as u64)
    }

    fn unreadable(&self, error: &io::Error) -> Stop {
        Stop::Broken(broken(&self.path, &os::error_text(error)))
    }

    /// Appends the next record of this connection. Returns false if it is not read yet.
    fn record(&mut self, batch: &mut Batch) -> Result<bool, Stop> {
        loop {
            let line = self.next_line().map_err(|error| self.unreadable(&error))?;
            match line {
                Line::Partial => return Ok(false),
                Line::End => {
                    self.rewind()?;
                    continue;
                }
                Line::Complete(..) | Line::TooLong(_) => {}
            }
            let number = self.line;
            self.line += 1;
            if let (Line::Complete(from, to), Format::Csv, None) = (&line, self.format, self.columns) {
                self.columns = Some(values(&self.input[*from..*to]));
            }
            if self.position.index(number).is_none() {
                continue;
            }
            return match line {
                Line::Complete(from, to) => self.append(from, to, batch).map(|()| true),
                Line::TooLong(bytes) => Err(self.too_long(bytes)),
                Line::Partial | Line::End => unreachable!("they were handled"),
            };
        }
    }

    fn append(&self, from: usize, to: usize, batch: &mut Batch) -> Result<(), Stop> {
        let line = &self.input[from..to];
        if line.len() > self.frame_limit {
            return Err(self.too_long(line.len()));
        }
        if let Some(finding) = self.finding(line) {
            let message = format!("{}: {finding}", self.position());
            return Err(Stop::Rejected(Failure { code: LINE.into(), message }));
        }
        match self.framing {
            Framing::Line => {
                batch.bytes.extend_from_slice(line);
                batch.bytes.push(b'\n');
            }
            Framing::Length => {
                batch.bytes.extend_from_slice(&(line.len() as u32).to_be_bytes());
                batch.bytes.extend_from_slice(line);
            }
        }
        batch.end_record();
        Ok(())
    }

    /// Why a line is no record.
    fn finding(&self, line: &[u8]) -> Option<String> {
        if line.is_empty() {
            return Some("the line is empty".into());
        }
        if std::str::from_utf8(line).is_err() {
            return Some("the line is not UTF-8".into());
        }
        match self.format {
            Format::Json if !(line.starts_with(b"{") && line.ends_with(b"}")) => {
                Some("the line is no JSON object".into())
            }
            Format::Csv => {
                let (count, expected) = (values(line), self.columns.unwrap_or(0));
                (count != expected)
                    .then(|| format!("the line has {count} values, the first line has {expected}"))
            }
            Format::Json => None,
        }
    }

    fn too_long(&self, bytes: usize) -> Stop {
        let message =
            format!("{}: the record has {bytes} bytes, frame_limit is {}", self.position(), self.frame_limit);
        Stop::Rejected(Failure { code: FRAME.into(), message })
    }

    /// File and number, from 1, of the line that was read last.
    fn position(&self) -> String {
        format!("{}, line {}", self.path.display(), self.line - self.pass_start)
    }

    /// Begins the file again, or ends it.
    fn rewind(&mut self) -> Result<(), Stop> {
        if !self.repeat {
            return Err(Stop::Ended);
        }
        if self.line == self.pass_start {
            return Err(Stop::Broken(broken(&self.path, "the file is empty")));
        }
        self.file.rewind().map_err(|error| self.unreadable(&error))?;
        (self.at_end, self.pass_start) = (false, self.line);
        Ok(())
    }

    /// Reads up to the next newline, to the end of the file, or as much as may be read at once.
    fn next_line(&mut self) -> io::Result<Line> {
        let mut searched = self.start + std::mem::take(&mut self.searched);
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.input[searched..]) {
                let (from, to) = (self.start, searched + length);
                self.start = to + 1;
                return Ok(self.line_of(from, to));
            }
            if self.at_end {
                let (from, to) = (self.start, self.input.len());
                self.start = to;
                if from == to && self.skipped == 0 {
                    return Ok(Line::End);
                }
                return Ok(self.line_of(from, to));
            }
            if self.input.len() - self.start > self.frame_limit {
                self.skipped += self.input.len() - self.start;
                self.start = self.input.len();
            }
            searched = self.input.len() - self.start;
            if self.parts == 0 {
                self.searched = searched;
                return Ok(Line::Partial);
            }
            self.parts -= 1;
            self.read_part()?;
        }
    }

    fn line_of(&mut self, from: usize, to: usize) -> Line {
        match std::mem::take(&mut self.skipped) {
            0 => Line::Complete(from, to),
            skipped => Line::TooLong(skipped + to - from),
        }
    }

    /// Moves the unused bytes to the front, and reads more.
    fn read_part(&mut self) -> io::Result<()> {
        self.input.drain(..self.start);
        self.start = 0;
        self.input.reserve(PART);
        self.at_end = self.file.by_ref().take(PART as u64).read_to_end(&mut self.input)? == 0;
        Ok(())
    }
}

fn broken(path: &Path, text: &str) -> Failure {
    Failure { code: FILE.into(), message: format!("{}: {text}", path.display()) }
}

/// Number of values of a CSV line.
fn values(line: &[u8]) -> usize {
    memchr::memchr_iter(b',', line).count() + 1
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use serde_json::Value;

    use super::*;

    static COUNTER: AtomicU32 = AtomicU32::new(0);

    /// A file that is removed in the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(content: &[u8]) -> Self {
            let name = format!("loadcell-lines-{}-{}", std::process::id(), COUNTER.fetch_add(1, SeqCst));
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, content).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn lines(file: &Temporary, more: Value, connection: u32, connections: u32) -> Lines {
        let mut section = json!({"source": {"file": file.0, "repeat": false}});
        section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let options = Options::read(&loadcell_testing::section("stream", &section)).unwrap();
        Lines::open(&file.0, &options, Place { connection, connections }).unwrap()
    }

    /// Records, with the messages of those that are rejected, until the end or `most` of them.
    fn all(lines: &mut Lines, most: usize) -> Vec<String> {
        let (mut batch, mut texts) = (Batch::default(), Vec::new());
        while texts.len() < most {
            let Filled { records, stop } = lines.fill(1, &mut batch);
            if records > 0 {
                texts.push(String::from_utf8(batch.unsent().to_vec()).unwrap());
            }
            match stop {
                Some(Stop::Rejected(why)) => texts.push(format!("{}: {}", why.code, why.message)),
                Some(Stop::Broken(why)) => panic!("{why:?}"),
                Some(Stop::Ended) => break,
                None => {}
            }
        }
        texts
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        let file = Temporary::new(b"1,a\n2,b\n3,c");
        assert_eq!(all(&mut lines(&file, json!({}), 0, 1), 9), ["1,a\n", "2,b\n", "3,c\n"]);
        let framed = all(&mut lines(&file, json!({"framing": "length"}), 0, 1), 9);
        assert_eq!(framed[2], "\0\0\0\u{3}3,c");
    }

    #[test]
    fn the_number_of_records_is_known_before_the_end() {
        let file = Temporary::new(b"0\n1\n2\n3\n4");
        let mut lines = lines(&file, json!({}), 1, 2);
        assert_eq!(lines.remaining(), Some(2));
        all(&mut lines, 1);
        assert_eq!(lines.remaining(), Some(1));
        all(&mut lines, 9);
        assert_eq!(lines.remaining(), Some(0));
        let file = Temporary::new(&b"0123456\n".repeat(PART / 4));
        let mut long = super::tests::lines(&file, json!({}), 0, 1);
        assert_eq!(long.remaining(), None);
        all(&mut long, PART / 8 + 1);
        assert_eq!(long.remaining(), Some(PART as u64 / 8 - 1));
    }

    #[test]
    fn connections_share_the_lines_over_all_passes() {
        let file = Temporary::new(b"0\n1\n2\n");
        let repeated = json!({"source": {"file": file.0, "repeat": true}});
        assert_eq!(all(&mut lines(&file, repeated.clone(), 0, 2), 4), ["0\n", "2\n", "1\n", "0\n"]);
        assert_eq!(all(&mut lines(&file, repeated.clone(), 1, 2), 3), ["1\n", "0\n", "2\n"]);
        assert_eq!(all(&mut lines(&file, repeated, 4, 5), 2), ["1\n", "0\n"]);
        assert!(all(&mut lines(&file, json!({}), 4, 5), 2).is_empty());
    }

    #[test]
    fn broken_lines_are_named_with_their_number_and_the_others_are_sent() {
        let file = Temporary::new(b"1,a\n\n2\n\xff,\xfe\n3,c\n");
        let records = all(&mut lines(&file, json!({}), 0, 1), 9);
        assert_eq!((records[0].as_str(), records[4].as_str(), records.len()), ("1,a\n", "3,c\n", 5));
        assert!(records[1].starts_with("stream.line") && records[1].ends_with("line 2: the line is empty"));
        assert!(
            records[2].ends_with("line 3: the line has 1 values, the first line has 2"),
            "{}",
            records[2]
        );
        assert!(records[3].ends_with("line 4: the line is not UTF-8"));
        let file = Temporary::new(b"{\"id\":1}\n{\"id\":\n");
        let records = all(&mut lines(&file, json!({"format": "json"}), 0, 1), 9);
        assert!(records[1].ends_with("line 2: the line is no JSON object"));
    }

    #[test]
    fn a_line_above_the_limit_is_skipped_without_being_kept() {
        let mut content = b"1,a\n2,".to_vec();
        content.resize(3 * PART, b'x');
        content.extend_from_slice(b"\n3,b\n4,too long");
        let file = Temporary::new(&content);
        let mut lines = lines(&file, json!({"frame_limit": 4}), 0, 1);
        let records = all(&mut lines, 9);
        assert_eq!((records[0].as_str(), records[2].as_str()), ("1,a\n", "3,b\n"));
        let bytes = 3 * PART - 4;
        assert!(records[1].ends_with(&format!("line 2: the record has {bytes} bytes, frame_limit is 4")));
        assert!(records[1].starts_with("stream.frame") && records[3].starts_with("stream.frame"));
        assert!(lines.input.capacity() <= 2 * PART + 16);
    }

    #[test]
    fn a_long_line_is_read_in_several_batches() {
        let mut content = vec![b'x'; 3 * PARTS_AT_ONCE * PART];
        content.extend_from_slice(b"\n1b\n2");
        content.resize(content.len() + 2 * PARTS_AT_ONCE * PART, b'y');
        let file = Temporary::new(&content);
        for (connection, connections) in [(0, 1), (1, 2), (0, 2)] {
            for limit in [1 << 30, 10] {
                let mut lines = lines(&file, json!({"frame_limit": limit}), connection, connections);
                let (mut batch, mut empty, mut records, mut too_long) = (Batch::default(), 0, 0, 0);
                loop {
                    let Filled { records: more, stop } = lines.fill(9, &mut batch);
                    records += more;
                    empty += usize::from(more == 0 && stop.is_none());
                    match stop {
                        Some(Stop::Rejected(why)) if why.code == FRAME => too_long += 1,
                        Some(Stop::Ended) => break,
                        _ => {}
                    }
                }
                let of_place = |line: u64| u64::from(line % u64::from(connections) == u64::from(connection));
                let long = of_place(0) + of_place(2);
                assert!(empty >= 2, "{empty} calls without a record");
                assert_eq!(lines.remaining(), Some(0));
                assert_eq!((records + too_long, too_long > 0), (long + of_place(1), limit == 10 && long > 0));
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let finding = |path: &Path| check(path).unwrap_err();
        let pipe = Temporary::new(b"");
        std::fs::remove_file(&pipe.0).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&pipe.0).status().unwrap();
        assert!(status.success());
        assert_eq!(finding(&pipe.0).message, "it is a pipe, not a regular file");
        assert_eq!(finding(Path::new("/dev/zero")).message, "it is a device, not a regular file");
        assert!(finding(Path::new("/nonexistent/x")).message.contains("No such file"));
        assert_eq!(finding(&std::env::temp_dir()).message, "it is a directory");
        let empty = Temporary::new(b"");
        assert_eq!(
            (finding(&empty.0).code.as_str(), finding(&empty.0).message.as_str()),
            (FILE, "the file is empty")
        );
        let mut batch = Batch::default();
        let repeated = json!({"source": {"file": empty.0, "repeat": true}});
        let stop = lines(&empty, repeated, 0, 1).fill(1, &mut batch).stop;
        assert!(matches!(stop, Some(Stop::Broken(why)) if why.message.ends_with("the file is empty")));
    }
}
