//! Limits of the operating system for this process.

use crate::error::LoadError;
use std::io;
use std::os::fd::RawFd;

use serde_json::json;

/// Descriptors needed in addition to one per client: Python, libraries, event queues.
const SPARE_FILES: u64 = 64;

/// No port of this machine is free for another connection to the same address.
pub const PORTS: &str = "ports";
/// The limit of open files of this process or of this machine is reached.
pub const DESCRIPTORS: &str = "descriptors";

/// Error code of a local shortage (ports, descriptors), which says nothing about the peer.
pub fn local_exhaustion(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EADDRNOTAVAIL => Some(PORTS),
        libc::EMFILE | libc::ENFILE => Some(DESCRIPTORS),
        _ => None,
    }
}

/// Text of an error without its number, which is of no use to people: "Connection refused (os error 111)".
pub fn error_text(error: &io::Error) -> String {
    let mut text = error.to_string();
    text.truncate(text.find(" (os error").unwrap_or(text.len()));
    text
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

/// Gives the calling thread a private table of descriptors: standard input, output and error, `keep`, and
/// what the thread opens later. With a shared table, each call that names a descriptor acquires and releases
/// the file by locked writes. If the kernel refuses, the table stays shared. The thread's descriptors are in
/// `/proc/PID/task/TID/fd`.
pub fn unshare_fd_table(keep: RawFd) {
    const LAST: libc::c_uint = libc::c_uint::MAX;
    let keep = keep as libc::c_uint;
    let close = |from: libc::c_uint, to: libc::c_uint| {
        // SAFETY: no pointers. It acts on this thread's table alone, whose descriptors nobody uses yet: their
        // owners use the shared table.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }
    };
    // Copies of other threads' descriptors would stay open after those threads close them. The table stays
    // shared where they cannot be excluded (before Linux 5.9). SAFETY: no pointers.
    if close(LAST, LAST) < 0 || unsafe { libc::unshare(libc::CLONE_FILES) } < 0 {
        return;
    }
    if keep > 3 {
        close(3, keep - 1);
    }
    close(3.max(keep + 1), LAST);
}

/// Lets the calling thread run on these processors alone; on any if there are none. A processor that does not
/// exist is ignored.
pub fn pin_thread(processors: &[usize]) {
    if processors.is_empty() {
        return;
    }
    // SAFETY: all zeros are an empty set, and every number is within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors.iter().filter(|&&processor| processor < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(processor, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Peak resident memory of this process.
pub fn max_rss_bytes() -> u64 {
    // SAFETY: all zeros are a valid `rusage`, and a valid place to write to.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_maxrss as u64 * 1024
}

/// Sets the calling thread's timer slack to 1 ns: by default the kernel may add 50 microseconds to each.
pub fn set_timer_slack() {
    // SAFETY: no pointers. It concerns this thread only, and cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_table_keeps_no_descriptor_of_others_open() {
        use std::io::{Read, Write, pipe};
        use std::os::fd::AsRawFd;

        let (mut reader, mut writer) = pipe().unwrap();
        let (mut other, theirs) = pipe().unwrap();
        let (go, wait) = std::sync::mpsc::channel();
        let (ready, on_ready) = std::sync::mpsc::channel();
        let descriptor = writer.as_raw_fd();
        let thread = std::thread::spawn(move || {
            unshare_fd_table(descriptor);
            writer.write_all(b"open").unwrap();
            ready.send(()).unwrap();
            wait.recv().unwrap();
        });
        on_ready.recv().unwrap();
        drop(theirs);
        let mut remaining = Vec::new();
        other.read_to_end(&mut remaining).unwrap(); // It would never end if the thread had it too.
        let mut message = [0; 4];
        reader.read_exact(&mut message).unwrap();
        assert_eq!(&message, b"open");
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
