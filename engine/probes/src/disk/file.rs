//! Unnamed files, which disappear with the process in any case.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::buffer::{ALIGNMENT, Buffer};
use loadcell_core::random::Random;
use loadcell_transport::check;

/// Create a file in a directory without a name.
pub fn nameless(directory: &Path) -> io::Result<File> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    let how = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path ends in a 0; the descriptor is owned at once.
    match check(unsafe { libc::open(path.as_ptr(), how, 0o600) }) {
        Ok(fd) => Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) })),
        // Some file systems do not support unnamed files.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) =>
        {
            named_for_a_moment(directory)
        }
        Err(error) => Err(error),
    }
}

fn named_for_a_moment(directory: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!(".loadcell-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = directory.join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Size of the writes that lay out a file.
const CHUNK: u64 = 1 << 20;

/// Fill a file, flush it to the device and drop it from the page cache, so that its creation does not affect
/// the measurement. False if `go` returned false.
pub fn lay_out(file: &File, bytes: u64, random: &mut Random, go: impl Fn() -> bool) -> io::Result<bool> {
    reserve(file, bytes)?;
    let mut buffer = Buffer::new(CHUNK as usize, random);
    let mut at = 0;
    while at < bytes {
        if !go() {
            return Ok(false);
        }
        let length = CHUNK.min(bytes - at) as usize;
        buffer.stamp(at + 1);
        file.write_all_at(&buffer[..length], at)?;
        at += length as u64;
    }
    file.sync_all()?;
    forget(file);
    Ok(true)
}

/// Reserve space for the complete file, contiguous if possible. Without support it is only written.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    // SAFETY: no pointers.
    match check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as libc::off_t) }) {
        Err(error)
            if !matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ENODEV)) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Drop a file from the page cache as far as possible.
fn forget(file: &File) {
    // SAFETY: no pointers. It is advice: nothing depends on it.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Bypass the page cache for a new file. False if the file system does not support it.
pub fn go_direct(file: &File) -> io::Result<bool> {
    match set_flags(file, libc::O_DIRECT) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
        Err(error) => return Err(error),
    }
    // Some report that only on I/O, and only if there is data to read.
    let mut page = Buffer::new(ALIGNMENT, &mut Random::stream(0, 0));
    let direct = match file.write_all_at(&page, 0).and_then(|()| file.read_exact_at(&mut page, 0)) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            set_flags(file, 0)?;
            false
        }
        done => done.map(|()| true)?,
    };
    file.set_len(0)?;
    Ok(direct)
}

fn set_flags(file: &File, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags) }).map(drop)
}

/// Free bytes and total bytes of a directory's file system.
pub fn free_space(directory: &Path) -> io::Result<(u64, u64)> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: all zeros are a valid `statvfs` and output; the path ends in a 0.
    let mut state: libc::statvfs = unsafe { std::mem::zeroed() };
    check(unsafe { libc::statvfs(path.as_ptr(), &mut state) })?;
    Ok((state.f_bavail * state.f_frsize, state.f_blocks * state.f_frsize))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::disk::tests::TempDirectory;

    fn random() -> Random {
        Random::stream(1, 1)
    }

    #[test]
    fn files_have_no_names() {
        let directory_guard = TempDirectory::new();
        for file in
            [nameless(directory_guard.path()).unwrap(), named_for_a_moment(directory_guard.path()).unwrap()]
        {
            assert_eq!(std::fs::read_dir(directory_guard.path()).unwrap().count(), 0);
            assert!(lay_out(&file, 3 * CHUNK / 2, &mut random(), || true).unwrap());
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.len(), metadata.nlink()), (3 * CHUNK / 2, 0));
            assert!(metadata.blocks() * 512 >= 3 * CHUNK / 2, "no holes");
        }
    }

    #[test]
    fn unwanted_file_is_not_laid_out() {
        let directory_guard = TempDirectory::new();
        let file = nameless(directory_guard.path()).unwrap();
        assert!(!lay_out(&file, CHUNK, &mut random(), || false).unwrap());
    }

    #[test]
    fn full_device_is_an_error() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = lay_out(&full, CHUNK, &mut random(), || true).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }

    #[test]
    fn missing_direct_io_is_detected() {
        // Files in /proc do not support it on any system.
        let within = File::open("/proc/self/status").unwrap();
        assert!(!go_direct(&within).unwrap());
    }

    #[test]
    fn file_system_has_free_space() {
        let (free, all) = free_space(Path::new("/")).unwrap();
        assert!(free <= all && all > 0);
        assert_eq!(free_space(Path::new("/nowhere")).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
}
