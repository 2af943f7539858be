//! Folds the stacks that `perf script` prints into lines of `a;b;c 42`, and draws such lines as a flame graph
//! (Gregg, The Flame Graph, ACM Queue 14(2), 2016). inferno does both; what is decided here is how.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use inferno::collapse::Collapse;
use inferno::collapse::perf;
use inferno::flamegraph;

/// Frames narrower than this share of the picture, in percent, are left out: less than a pixel.
const LEAST_PERCENT: f64 = 0.05;
/// So much of a file is looked at before it is taken for stacks.
const HEAD_BYTES: u64 = 1 << 16;

/// The stacks in a file with the output of `perf script`, each once with its number of samples, sorted.
///
/// The outermost frame is the process, `name-pid`; functions of the kernel end in `_[k]`, what was compiled
/// at run time in `_[j]`; blanks in a process's name are `_`. Samples of other events than the first one's
/// are left out. Of a file that holds no stacks there are none.
pub fn fold(script: &Path) -> io::Result<String> {
    let mut options = perf::Options::default();
    options.include_pid = true;
    options.annotate_kernel = true;
    options.annotate_jit = true;
    options.nthreads = 1;
    let mut folder = perf::Folder::from(options);
    let mut head = Vec::new();
    File::open(script)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    if folder.is_applicable(&String::from_utf8_lossy(&head)) != Some(true) {
        return Ok(String::new());
    }
    let mut folded = Vec::new();
    folder.collapse(BufReader::new(File::open(script)?), &mut folded)?;
    Ok(String::from_utf8_lossy(&folded).into_owned())
}

/// A picture of folded stacks that stands for itself: an SVG with a script to zoom and to search.
pub fn draw(folded: &str, title: &str, subtitle: &str) -> io::Result<String> {
    let mut options = flamegraph::Options::default();
    options.title = title.to_owned();
    options.subtitle = Some(subtitle.to_owned());
    options.min_width = LEAST_PERCENT;
    options.hash = true;
    options.deterministic = true;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut picture)?;
    Ok(String::from_utf8_lossy(&picture).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
server 10/10 1.000001: cpu-clock:
\tffffffff81000000 do_syscall_64 ([kernel.kallsyms])
\t          1000 serve<int> (/usr/bin/server)
\t          2000 main (/usr/bin/server)

server 10/11 1.010001: cpu-clock:
\t          1000 serve<int> (/usr/bin/server)
\t          2000 main (/usr/bin/server)

io thread 12/13 1.020001: cpu-clock:
\t          3000 [unknown] (/usr/lib/libz.so)

server 10/10 1.030001: cpu-clock:
\t          1000 serve<int> (/usr/bin/server)
\t          2000 main (/usr/bin/server)

";

    fn folded(text: &[u8]) -> String {
        let path = std::env::temp_dir().join(format!("loadcell-fold-{}-{}", std::process::id(), text.len()));
        std::fs::write(&path, text).unwrap();
        let stacks = fold(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        stacks
    }

    #[test]
    fn each_stack_is_there_once_with_its_samples() {
        assert_eq!(
            folded(SCRIPT.as_bytes()),
            "io_thread-12;[libz.so] 1\n\
             server-10;main;serve<int> 2\n\
             server-10;main;serve<int>;do_syscall_64_[k] 1\n"
        );
    }

    #[test]
    fn nothing_sampled_is_nothing_folded() {
        assert_eq!(folded(b""), "");
    }

    #[test]
    fn what_is_no_text_and_no_stack_does_no_harm() {
        assert_eq!(folded(b"\xff\xfe\x00 nonsense\n\n"), "");
        let cut = SCRIPT.find("io thread").unwrap() + 40;
        assert_eq!(folded(&SCRIPT.as_bytes()[..cut]).lines().count(), 2);
    }

    #[test]
    fn names_from_outside_are_escaped_in_the_picture() {
        let picture = draw("server-1;<script>alert(1)</script> 3\n", "a < b", "\"c\" & d").unwrap();
        assert!(picture.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(picture.contains("a &lt; b") && !picture.contains("<script>alert"));
    }
}
