//! Memory available to a probe, without swapping or being killed.

use std::fs;
use std::path::Path;

use serde_json::json;

use loadcell_core::error::LoadError;
use loadcell_load::blocking::Fault;

/// One part in this many of the available memory is left to other processes.
const RESERVED_PART: u64 = 16;

/// Code of insufficient memory.
pub const LIMIT: &str = "limit";

/// Check before allocating that `bytes` bytes are available for `clients` clients.
pub fn check(bytes: u64, clients: u32) -> Result<(), LoadError> {
    match available(Path::new("/")) {
        Some(available) if bytes > available - available / RESERVED_PART => {
            let arguments = json!({"needed_bytes": bytes, "available_bytes": available, "clients": clients});
            Err(LoadError::at(LIMIT, "engine.memory", arguments))
        }
        _ => Ok(()),
    }
}

/// Allocate and initialise `count` equal values.
pub fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, Fault> {
    filled_with(count, || value.clone())
}

/// Allocate values made one by one.
pub fn filled_with<T>(count: usize, value: impl FnMut() -> T) -> Result<Vec<T>, Fault> {
    let mut made = Vec::new();
    made.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>()) as u64;
        Fault::fatal(LIMIT, format!("this process may not have {} of memory more", size(bytes)))
    })?;
    made.resize_with(count, value);
    Ok(made)
}

/// A size in bytes for messages.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", units[unit])
}

/// Memory available without swapping, in bytes: on the machine, and within the limits of this process's
/// control groups. `None` if unknown.
fn available(root: &Path) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = machine.and_then(|text| Some(number_after(&text, "MemAvailable:")? * 1024));
    machine.into_iter().chain(in_groups(root)).min()
}

/// Remaining memory of each limited control group, from this process's own to the outermost.
fn in_groups(root: &Path) -> Vec<u64> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut remaining = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (base, names) = match controllers {
            "" => ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            all if all.split(',').any(|controller| controller == "memory") => (
                "sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            ),
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            remaining.extend(remaining_bytes(&root.join(base).join(group), names));
        }
    }
    remaining
}

/// Remaining memory of a group, including inactive file pages, which can be reclaimed. `None` without a
/// limit.
fn remaining_bytes(group: &Path, [limit, usage, idle]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(usage)?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let idle = number_after(&stat, &format!("{idle} ")).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(idle)))
}

/// The number in the line that starts with `head`.
fn number_after(text: &str, head: &str) -> Option<u64> {
    let number_text = text.lines().find_map(|line| line.strip_prefix(head))?;
    number_text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Available memory of a simulated machine with 8 GiB and these control group files.
    fn machine(name: &str, cgroup: &str, files: &[(&str, &str)]) -> Option<u64> {
        let root = std::env::temp_dir().join(format!("loadcell-room-{}-{name}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
        put("proc/self/cgroup", cgroup);
        files.iter().for_each(|(path, text)| put(path, text));
        let remaining = available(&root);
        fs::remove_dir_all(&root).unwrap();
        remaining
    }

    #[test]
    fn unlimited_machine_uses_the_kernels_value() {
        assert_eq!(machine("free", "0::/\n", &[]), Some(8 * GIB));
        assert_eq!(machine("none", "0::/\n", &[("sys/fs/cgroup/memory.max", "max\n")]), Some(8 * GIB));
        assert_eq!(available(Path::new("/nowhere")), None);
    }

    #[test]
    fn narrowest_group_decides() {
        let files = [
            ("sys/fs/cgroup/a/memory.max", "3221225472\n"),
            ("sys/fs/cgroup/a/memory.current", "2147483648\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 536870912\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ];
        assert_eq!(machine("two", "0::/a/b\n", &files), Some(GIB + GIB / 2));
    }

    #[test]
    fn cgroup_v1_is_supported() {
        let files = [
            ("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "2147483648\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n"),
        ];
        assert_eq!(machine("one", "5:cpu,cpuacct:/\n4:memory:/docker\n", &files), Some(0));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_advice() {
        check(1 << 20, 1).unwrap();
        let error = check(1 << 60, 2).unwrap_err();
        assert_eq!(error.code, LIMIT);
        let step = error.step.unwrap();
        assert_eq!((step.code, &step.arguments["needed_bytes"]), ("engine.memory", &json!(1_u64 << 60)));
    }

    #[test]
    fn failed_allocation_is_a_fault() {
        assert_eq!(filled(3, 7u64).unwrap(), [7, 7, 7]);
        let fault = filled(usize::MAX / 16, 0u64).unwrap_err();
        assert!(fault.fatal && fault.code == LIMIT, "{fault:?}");
    }
}
