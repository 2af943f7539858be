//! Whole loads on a real directory, intact and damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::{Value, json};

use loadcell_core::observe::{Directive, Observer};

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Value) -> Directive {
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

struct Bench(PathBuf);

static COUNTER: AtomicU32 = AtomicU32::new(0);

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Bench {
    /// Loaded files.
    fn new() -> Self {
        let name = format!("loadcell-files-{}-{}", std::process::id(), COUNTER.fetch_add(1, SeqCst));
        let bench = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(bench.0.join("data")).unwrap();
        fs::create_dir_all(bench.0.join("lists")).unwrap();
        let spec = bench.spec(json!({"read": 1}));
        assert_eq!(loadcell_dispatch::prepare(&spec, &mut Silent).unwrap().rows, 12);
        bench
    }

    fn spec(&self, mix: Value) -> String {
        let mut shares = json!({"create": 0, "write": 0, "read": 0, "rename": 0, "list": 0, "delete": 0});
        shares.as_object_mut().unwrap().extend(mix.as_object().unwrap().clone());
        loadcell_testing::specification(json!({
            "seed": 3,
            "target": {"protocol": "files",
                "files": {"directory": self.0.join("data"), "lists": self.0.join("lists")}},
            "workload": {"files": {"count": 12, "directories": 3, "sizes": {"from": 16, "to": 5000},
                "mix": shares, "fsync": false}},
            "load": {"clients": 2, "warmup_ns": 0, "duration_ns": 150_000_000, "interval_ns": 50_000_000},
        }))
        .to_string()
    }

    fn run(&self, mix: Value) -> Value {
        let result = loadcell_dispatch::run(&self.spec(mix), &mut Silent).unwrap();
        for operation in result["operations"].as_array().unwrap() {
            let of = |name: &str| operation[name].as_u64().unwrap();
            assert_eq!(of("attempted"), of("succeeded") + of("failed") + of("in_flight"), "{operation}");
        }
        result
    }

    fn file(&self, number: u64) -> PathBuf {
        self.0.join(format!("data/d{:04}/f{number}-0", number % 3))
    }

    fn list(&self, client: u32) -> String {
        fs::read_to_string(self.0.join(format!("lists/client-{client}"))).unwrap()
    }
}

fn codes(result: &Value) -> Vec<&str> {
    let errors = result["errors"].as_array().unwrap().iter();
    let mut codes: Vec<_> = errors.map(|error| error["code"].as_str().unwrap()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

/// Changes a file of the set behind the back of the load.
type Damage = fn(&Path);

#[test]
fn every_operation_succeeds_and_is_listed() {
    let bench = Bench::new();
    let result = bench.run(json!({"create": 2, "write": 2, "read": 2, "rename": 2, "list": 1, "delete": 2}));
    assert_eq!(codes(&result), [""; 0]);
    for operation in result["operations"].as_array().unwrap() {
        assert!(operation["succeeded"].as_u64().unwrap() > 0, "{operation}");
    }
    for client in 0..2 {
        let list = bench.list(client);
        assert!(list.ends_with("end\n"));
        for line in list.lines().filter(|line| *line != "end") {
            let words: Vec<_> = line.split(' ').collect();
            let (number, generation): (u64, u64) = (words[0].parse().unwrap(), words[1].parse().unwrap());
            let path = bench.0.join(format!("data/d{:04}/f{number}-{generation}", (number + generation) % 3));
            assert_eq!(exists(&path), words[4] == "there", "{line}");
            assert!(words[4] != "there" || fs::metadata(&path).unwrap().len().to_string() == words[3]);
        }
    }
}

#[test]
fn reads_notice_damage() {
    let damages: [(&str, Damage); 4] = [
        ("corrupt", |path| {
            let mut bytes = fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("corrupt", |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(20).unwrap()),
        ("lost", |path| fs::remove_file(path).unwrap()),
        ("wrong-mode", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap()),
    ];
    for (code, damage) in damages {
        let bench = Bench::new();
        damage(&bench.file(4));
        assert_eq!(codes(&bench.run(json!({"read": 1}))), [code]);
    }
}

#[test]
fn lists_notice_missing_names() {
    let bench = Bench::new();
    fs::remove_file(bench.file(5)).unwrap();
    assert_eq!(codes(&bench.run(json!({"list": 1}))), ["lost"]);
}

#[test]
fn failed_calls_are_failed_operations() {
    let bench = Bench::new();
    fs::remove_dir_all(bench.0.join("data")).unwrap();
    let result = bench.run(json!({"create": 1, "read": 1, "list": 1}));
    assert_eq!(codes(&result), ["io", "lost"]);
    assert!(bench.list(0).contains(" unknown\n"));
}

#[test]
fn a_second_load_on_the_same_files_is_refused() {
    let bench = Bench::new();
    let spec = loadcell_core::spec::Spec::read(&bench.spec(json!({"read": 1}))).unwrap();
    let first = super::sessions(&spec).unwrap();
    let refused = super::sessions(&spec).map(|_| ()).unwrap_err();
    assert!(format!("{refused:?}").contains("another group"), "{refused:?}");
    drop(first);
    assert!(super::sessions(&spec).is_ok());
}
