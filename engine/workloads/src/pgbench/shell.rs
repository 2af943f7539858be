//! Shell commands (`\\shell`, `\\setshell`), each in its own thread: the client's thread serves others
//! meanwhile, and is notified through a descriptor.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Maximum of bytes read from the output: longer lines are not integers.
const LONGEST_LINE: u64 = 4096;
/// Stack size of the threads in bytes; they need little.
const STACK_SIZE: usize = 64 * 1024;

/// Captured output of the command, or the reason of its failure.
type Outcome = Result<Vec<u8>, String>;

/// State of a command, for its cancellation.
enum Stage {
    Starting,
    /// With its process group, which includes its children.
    Running(libc::pid_t),
    Over,
}

/// State shared by both ends.
struct SharedStage(Mutex<Stage>);

impl SharedStage {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running command. Dropping this kills it, with all its children.
pub struct ShellCommand {
    stage: Arc<SharedStage>,
    /// Readable once the other end is closed: by the thread, when the command has ended.
    done_signal: UnixStream,
    outcome: Receiver<Outcome>,
}

impl ShellCommand {
    /// Start a command line with `/bin/sh`. Its output is captured if `wanted`; otherwise it is inherited.
    pub fn start(line: Vec<u8>, wanted: bool) -> Result<Self, String> {
        let unable = |error| format!("the shell command cannot be started: {error}");
        let (done_signal, rope) = UnixStream::pair().map_err(unable)?;
        let (sender, outcome) = sync_channel(1);
        let stage = Arc::new(SharedStage(Mutex::new(Stage::Starting)));
        let shared = stage.clone();
        let work = move || {
            // The receiver is gone if the connection was lost meanwhile.
            let _ = sender.send(run(line, wanted, &shared));
            drop(rope);
        };
        thread::Builder::new().name("shell".into()).stack_size(STACK_SIZE).spawn(work).map_err(unable)?;
        Ok(Self { stage, done_signal, outcome })
    }

    /// Readable once the command has ended.
    pub fn descriptor(&self) -> RawFd {
        self.done_signal.as_raw_fd()
    }

    /// Result of the command.
    pub fn outcome(&self) -> Outcome {
        self.outcome
            .try_recv()
            .unwrap_or_else(|_| Err("nobody could tell when the shell command is over".into()))
    }
}

impl Drop for ShellCommand {
    fn drop(&mut self) {
        let mut stage = self.stage.lock();
        if let Stage::Running(group) = *stage {
            // SAFETY: a system call. The group leader has not been waited for, so its number is not reused.
            unsafe { libc::killpg(group, libc::SIGKILL) };
        }
        *stage = Stage::Over;
    }
}

/// Wait for the command, and release its process id only when it can no longer be killed.
fn wait(child: &mut Child, stage: &SharedStage) -> std::io::Result<ExitStatus> {
    // SAFETY: `info` is a valid output pointer.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
    }
    *stage.lock() = Stage::Over;
    child.wait()
}

fn run(line: Vec<u8>, wanted: bool, stage: &SharedStage) -> Outcome {
    let unable = |error| format!("the shell command cannot be run: {error}");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(OsString::from_vec(line)).stdin(Stdio::null()).process_group(0);
    if wanted {
        command.stdout(Stdio::piped());
    }
    // SAFETY: only a system call is made between fork and exec. The kernel kills the command when this thread
    // ends, which waits for it, and so with the process.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = {
        let mut stage = stage.lock();
        if matches!(*stage, Stage::Over) {
            return Err("the shell command was not wanted any more".into());
        }
        let child = command.spawn().map_err(unable)?;
        *stage = Stage::Running(child.id() as libc::pid_t);
        child
    };
    let mut printed = Vec::new();
    let read = match child.stdout.take() {
        Some(output) => BufReader::new(output.take(LONGEST_LINE)).read_until(b'\n', &mut printed),
        None => Ok(0),
    };
    let status = wait(&mut child, stage).map_err(unable)?;
    read.map_err(unable)?;
    match wanted {
        // Like pgbench, which requires a line and ignores the status.
        true if printed.is_empty() => Err("the shell command printed nothing".into()),
        true => Ok(printed),
        false if status.success() => Ok(printed),
        false => Err(how(status)),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the shell command ended with status {code}"),
        (None, Some(signal)) => format!("the shell command was killed by signal {signal}"),
        (None, None) => "the shell command failed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: &str, wanted: bool) -> Outcome {
        let mut shell_command = ShellCommand::start(line.into(), wanted).unwrap();
        assert_eq!(shell_command.done_signal.read(&mut [0]).unwrap(), 0, "no data, only the end");
        shell_command.outcome()
    }

    #[test]
    fn command_result_is_its_status() {
        assert_eq!(outcome("true", false), Ok(Vec::new()));
        assert_eq!(outcome("exit 3", false), Err("the shell command ended with status 3".into()));
        assert_eq!(outcome("kill -9 $$", false), Err("the shell command was killed by signal 9".into()));
        assert_eq!(
            outcome("no-such-program 2> /dev/null", false),
            Err("the shell command ended with status 127".into())
        );
        assert!(outcome("a\0b", false).unwrap_err().contains("cannot be run"));
    }

    #[test]
    fn captured_output_is_the_first_line() {
        assert_eq!(outcome("echo 1; echo 2; exit 3", true), Ok(b"1\n".into()));
        assert_eq!(outcome("printf 42", true), Ok(b"42".into()));
        assert_eq!(outcome("yes 7", true), Ok(b"7\n".into()), "further output is ignored");
        assert_eq!(outcome(":", true), Err("the shell command printed nothing".into()));
        assert_eq!(outcome("head -c 100000 /dev/zero", true).unwrap().len() as u64, LONGEST_LINE);
        assert_eq!(
            outcome("cat", true),
            Err("the shell command printed nothing".into()),
            "there is no input"
        );
    }

    #[test]
    fn running_command_has_no_result() {
        let shell_command = ShellCommand::start(b"sleep 600".into(), false).unwrap();
        assert!(shell_command.outcome().unwrap_err().contains("nobody could tell"));
    }

    #[test]
    fn dropped_command_is_killed_with_its_children() {
        let marker = tempfile();
        let line = format!("sleep 600 & echo $! > {}; wait", marker.display());
        let shell_command = ShellCommand::start(line.into(), false).unwrap();
        let started =
            || std::fs::read_to_string(&marker).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let sleeper = eventually(started);
        drop(shell_command);
        // A zombie may remain until init reaps it; it no longer runs.
        eventually(|| {
            let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).ok();
            let gone = state
                .is_none_or(|text| text.rsplit(") ").next().is_some_and(|fields| fields.starts_with('Z')));
            gone.then_some(())
        });
        std::fs::remove_file(&marker).unwrap();
    }

    fn tempfile() -> std::path::PathBuf {
        std::env::temp_dir().join(format!("loadcell-errand-{}", std::process::id()))
    }

    fn eventually<T>(look: impl Fn() -> Option<T>) -> T {
        for _ in 0..6_000 {
            if let Some(value) = look() {
                return value;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("it did not come about within a minute");
    }
}
