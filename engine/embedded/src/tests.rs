//! Requirements on every engine, tested on each of them.

use crate::fault::classify;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::fault::{DAMAGED, DENIED, LIBRARY};
use super::*;
use loadcell_core::random::Random;

/// A temporary directory, removed when dropped.
pub struct TempDirectory(PathBuf);

static COUNTER: AtomicU32 = AtomicU32::new(0);

impl TempDirectory {
    pub fn new() -> Self {
        let name = format!("loadcell-store-{}-{}", std::process::id(), COUNTER.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn options(&self, engine: Engine) -> Options {
        Options {
            engine,
            directory: self.0.clone(),
            sync: false,
            files: 1,
            cache_bytes: 8 << 20,
            library: None,
        }
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(changes: &mut Changes, files: usize, key: &str, value: &str) {
    changes.put(files, |out| out.extend(key.as_bytes()), |out| out.extend(value.as_bytes()));
}

fn key(files: usize, text: &str) -> Key<'_> {
    Key { file: shard(text.as_bytes(), files), bytes: text.as_bytes() }
}

fn get(handle: &mut impl Handle, files: usize, text: &str) -> Option<String> {
    handle
        .get(key(files, text), |value| value.map(|value| String::from_utf8(value.to_vec()).unwrap()))
        .unwrap()
}

fn single_change(key: &str, value: &str) -> Changes {
    let mut changes = Changes::default();
    put(&mut changes, 1, key, value);
    changes
}

/// Apply random changes to the store and to a map, and compare both, also after closing and reopening.
fn agrees_with_a_map<S: Store>(engine: Engine, files: usize) {
    let directory = TempDirectory::new();
    let options = Options { files, ..directory.options(engine) };
    let mut random = Random::stream(1, files as u64);
    let mut map = BTreeMap::new();
    let mut changes = Changes::default();
    let store = S::open(&options, 1).unwrap();
    let mut handle = store.handle().unwrap();
    for _ in 0..150 {
        changes.clear();
        for _ in 0..=random.below(6) {
            let key = format!("key{:03}", random.below(200));
            if random.below(4) == 0 {
                changes.remove(files, |out| out.extend(key.as_bytes()));
                map.remove(&key);
            } else {
                let value = format!("{:0>1$}", random.bits(), random.below(300) as usize);
                put(&mut changes, files, &key, &value);
                map.insert(key, value);
            }
        }
        handle.write(&changes).unwrap();
    }
    holds(&mut handle, files, &map);
    drop(handle);
    store.close().unwrap();
    let store = S::open(&options, 1).unwrap();
    holds(&mut store.handle().unwrap(), files, &map);
    store.close().unwrap();
}

fn holds(handle: &mut impl Handle, files: usize, map: &BTreeMap<String, String>) {
    let names: Vec<_> = (0..200).map(|number| format!("key{number:03}")).collect();
    for name in &names {
        assert_eq!(get(handle, files, name), map.get(name).cloned(), "{name}");
    }
    let mut entries = Vec::new();
    let keys = names.iter().rev().map(|name| key(files, name));
    handle
        .multi_get(keys, |value| entries.push(value.map(|value| String::from_utf8(value.to_vec()).unwrap())))
        .unwrap();
    let expected: Vec<_> = names.iter().rev().map(|name| map.get(name).cloned()).collect();
    assert_eq!(entries, expected);
    for (from, limit) in [("", 1_000), ("key05", 7), ("key1995", 3), ("zzz", 3), ("key000", 0)] {
        let mut entries = Vec::new();
        let count = merge(handle, files, from.as_bytes(), limit, |key, value| {
            entries
                .push((String::from_utf8(key.to_vec()).unwrap(), String::from_utf8(value.to_vec()).unwrap()));
        });
        let expected: Vec<_> = map
            .range(from.to_string()..)
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        assert_eq!(entries, expected, "from {from:?}");
        assert_eq!(count.unwrap(), entries.len());
    }
}

/// Several threads write their own keys and a shared one, and read those of others; no write is lost.
fn concurrent_writes_are_not_lost<S: Store>(engine: Engine) {
    let directory = TempDirectory::new();
    let options = directory.options(engine);
    let store = S::open(&options, 4).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                let mut handle = store.handle().unwrap();
                for number in 0..25 {
                    let mut changes = single_change(&format!("own-{thread}-{number:02}"), "mine");
                    put(&mut changes, 1, "shared", &format!("{thread}"));
                    handle.write(&changes).unwrap();
                    assert_eq!(
                        get(&mut handle, 1, &format!("own-{thread}-{number:02}")).as_deref(),
                        Some("mine")
                    );
                    assert!(get(&mut handle, 1, "shared").is_some());
                }
            });
        }
    });
    let mut handle = store.handle().unwrap();
    let mut keys = 0;
    let count = merge(&mut handle, 1, b"own", 1_000, |key, _| keys += usize::from(key.starts_with(b"own")));
    assert_eq!((count.unwrap(), keys), (101, 100));
    drop(handle);
    store.close().unwrap();
}

/// Durable writes survive without closing the store, as after a kill.
fn durable_write_survives_a_kill<S: Store>(engine: Engine, directory: &Path) {
    let options = Options { sync: true, directory: directory.into(), ..TempDirectory::new().options(engine) };
    let store = S::open(&options, 1).unwrap();
    store.handle().unwrap().write(&single_change("kept", "as it was")).unwrap();
    // The child process ends here, with the store open.
    std::mem::forget(store);
}

/// Run this test program again as a process that is killed.
fn is_killed<S: Store>(engine: Engine, test: &str) {
    if let Some(directory) = std::env::var_os("LOADCELL_STORE_TO_LEAVE") {
        durable_write_survives_a_kill::<S>(engine, Path::new(&directory));
        unsafe { libc::raise(libc::SIGKILL) };
    }
    let directory = TempDirectory::new();
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("LOADCELL_STORE_TO_LEAVE", directory.path())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGKILL));
    let store = S::open(&directory.options(engine), 1).unwrap();
    assert_eq!(get(&mut store.handle().unwrap(), 1, "kept").as_deref(), Some("as it was"));
    store.handle().unwrap().write(&single_change("more", "x")).unwrap();
    store.close().unwrap();
}

fn the_code<S: Store>(options: &Options) -> Fault {
    match S::open(options, 1) {
        Ok(_) => panic!("it opened"),
        Err(fault) => fault,
    }
}

/// Overwrite the contents of the largest files with noise.
fn spoil(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            spoil(&entry);
        } else {
            let size = std::fs::metadata(&entry).unwrap().len().min(1 << 20) as usize;
            let mut random = Random::stream(3, size as u64);
            std::fs::write(&entry, (0..size).map(|_| random.bits() as u8).collect::<Vec<_>>()).unwrap();
        }
    }
}

fn damage_is_reported<S: Store>(engine: Engine) {
    let directory = TempDirectory::new();
    let options = directory.options(engine);
    let store = S::open(&options, 1).unwrap();
    let mut handle = store.handle().unwrap();
    for number in 0..300 {
        handle.write(&single_change(&format!("{number}"), &"value".repeat(100))).unwrap();
    }
    drop(handle);
    store.close().unwrap();
    spoil(directory.path());
    let fault = the_code::<S>(&options);
    assert_eq!(fault.code, DAMAGED, "{fault:?}");
}

macro_rules! engines {
    ($($name:ident: $store:ty, $engine:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn agrees_with_a_map() {
                super::agrees_with_a_map::<$store>($engine, 1);
            }

            #[test]
            fn agrees_with_a_map_in_several_files() {
                super::agrees_with_a_map::<$store>($engine, 3);
            }

            #[test]
            fn concurrent_writes_are_not_lost() {
                super::concurrent_writes_are_not_lost::<$store>($engine);
            }

            #[test]
            fn durable_write_survives_a_kill() {
                is_killed::<$store>($engine, concat!("tests::", stringify!($name),
                    "::durable_write_survives_a_kill"));
            }

            #[test]
            fn damage_is_reported() {
                super::damage_is_reported::<$store>($engine);
            }

            #[test]
            fn missing_directory_is_reported() {
                let directory = TempDirectory::new();
                let options = Options { directory: directory.path().join("no/such"),
                    ..directory.options($engine) };
                if $engine == Engine::Fjall || $engine == Engine::Rocksdb {
                    // These create directories themselves, but not in place of a file.
                    std::fs::write(directory.path().join("no"), b"").unwrap();
                }
                let fault = the_code::<$store>(&options);
                assert!(!fault.message.is_empty() && fault.code != DAMAGED, "{fault:?}");
            }
        }
    )*};
}

engines! {
    redb: Redb, Engine::Redb;
    fjall: Fjall, Engine::Fjall;
    lmdb: Lmdb, Engine::Lmdb;
    sqlite: Sqlite, Engine::Sqlite;
    rocksdb: Rocksdb, Engine::Rocksdb;
}

#[test]
fn invalid_library_is_reported() {
    let directory = TempDirectory::new();
    let named = |path: &Path| Options { library: Some(path.into()), ..directory.options(Engine::Rocksdb) };
    let absent = the_code::<Rocksdb>(&named(Path::new("/no/such/librocksdb.so")));
    assert_eq!(absent.code, LIBRARY);
    let other = the_code::<Rocksdb>(&named(Path::new("libc.so.6")));
    assert!(other.message.contains("it has no function rocksdb_"), "{other:?}");
    assert_eq!(classify("IO error: /x: Permission denied").code, DENIED);
}
