//! What the operating system lets this process have.

use crate::error::LoadError;
use std::os::fd::RawFd;

use serde_json::json;

/// Descriptors that are needed besides one a client: Python, libraries, event queues.
const SPARE_FILES: u64 = 64;

/// No port of this machine is left for another connection to the same place.
pub const PORTS: &str = "ports";
/// No file may be opened any more, be it by this process or on this machine.
pub const DESCRIPTORS: &str = "descriptors";

/// The code of a failure that says nothing of who was to be connected to: this machine had nothing left for a connection.
pub fn local_exhaustion(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EADDRNOTAVAIL => Some(PORTS),
        libc::EMFILE | libc::ENFILE => Some(DESCRIPTORS),
        _ => None,
    }
}

/// Makes sure that `clients` connections can be open at once, raising the soft limit as far as the hard one.
pub fn allow_connections(clients: u32) -> Result<(), LoadError> {
    let needed = u64::from(clients) + SPARE_FILES;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place to write to.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if limit.rlim_cur >= needed {
        return Ok(());
    }
    let raised = libc::rlimit { rlim_cur: needed.min(limit.rlim_max), rlim_max: limit.rlim_max };
    // SAFETY: `raised` is valid for the call. It can fail only as not raising it would.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
    if limit.rlim_max >= needed {
        return Ok(());
    }
    let arguments = json!({"clients": clients, "needed": needed, "allowed": limit.rlim_max});
    Err(LoadError::at("limit", "engine.descriptors", arguments))
}

/// Gives the calling thread a table of descriptors of its own, in which are standard input, output and error, `keep` and what it
/// opens from here on. With a shared table every call that names a descriptor has to take hold of the file and let go of it by
/// locked writes; nothing but that is lost where the kernel refuses. The thread's are in `/proc/PID/task/TID/fd`.
pub fn unshare_fd_table(keep: RawFd) {
    const LAST: libc::c_uint = libc::c_uint::MAX;
    let keep = keep as libc::c_uint;
    let close = |from: libc::c_uint, to: libc::c_uint| {
        // SAFETY: no pointers. Done to this thread's table alone, whose descriptors nobody uses yet: whoever owns one has it in the
        // other.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }
    };
    // Copies of others' would keep open what they close, so there is no table of its own where they cannot be left out (Linux
    // 5.9).
    // SAFETY: no pointers.
    if close(LAST, LAST) < 0 || unsafe { libc::unshare(libc::CLONE_FILES) } < 0 {
        return;
    }
    if keep > 3 {
        close(3, keep - 1);
    }
    close(3.max(keep + 1), LAST);
}

/// The most memory that this process has had at once.
pub fn max_rss_bytes() -> u64 {
    // SAFETY: all zeros are a valid `rusage`, and a valid place to write to.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_maxrss as u64 * 1024
}

/// Has the calling thread's sleeps end when they are to: by default the kernel may add 50 microseconds to each.
pub fn set_timer_slack() {
    // SAFETY: no pointers. It concerns this thread only, and cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_descriptors_of_its_own_keeps_nobody_elses_open() {
        use std::io::{Read, Write, pipe};
        use std::os::fd::AsRawFd;

        let (mut kept, mut to) = pipe().unwrap();
        let (mut other, theirs) = pipe().unwrap();
        let (go, wait) = std::sync::mpsc::channel();
        let (told, hear) = std::sync::mpsc::channel();
        let descriptor = to.as_raw_fd();
        let thread = std::thread::spawn(move || {
            unshare_fd_table(descriptor);
            to.write_all(b"kept").unwrap();
            told.send(()).unwrap();
            wait.recv().unwrap();
        });
        hear.recv().unwrap();
        drop(theirs);
        let mut rest = Vec::new();
        other.read_to_end(&mut rest).unwrap(); // It would never end if the thread had it too.
        let mut said = [0; 4];
        kept.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"kept");
        go.send(()).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_advice() {
        allow_connections(1).unwrap();
        let problem = allow_connections(u32::MAX).unwrap_err();
        assert_eq!(problem.code, "limit");
        assert_eq!(problem.step.unwrap().arguments["needed"], 4_294_967_359_u64);
    }

    #[test]
    fn what_the_machine_lacks_is_named_with_a_remedy() {
        assert_eq!(
            (local_exhaustion(libc::EADDRNOTAVAIL), local_exhaustion(libc::EMFILE)),
            (Some(PORTS), Some(DESCRIPTORS))
        );
        assert_eq!(
            (local_exhaustion(libc::ENFILE), local_exhaustion(libc::ECONNREFUSED)),
            (Some(DESCRIPTORS), None)
        );
    }

    #[test]
    fn a_process_has_some_memory() {
        assert!(max_rss_bytes() > 1 << 20);
    }
}
