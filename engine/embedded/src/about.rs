//! Versions of the storage engines, without opening a store.

use std::path::Path;

use serde_json::{Value, json};

use super::{Engine, rocksdb, sqlite};
use loadcell_core::error::{LoadError, LoadStep};

/// Versions of the built-in engines, as in Cargo.lock.
pub const REDB: &str = "4.5.0";
pub const FJALL: &str = "3.1.13";

/// Version of an engine, and the path of its library if it is not built in.
pub fn about(engine: Engine, library: Option<&Path>) -> Result<Value, LoadError> {
    let absent = |fault: super::Fault| fault.during(LoadStep::new("engine.no-store", json!({})));
    Ok(match engine {
        Engine::Redb => json!({"version": REDB}),
        Engine::Fjall => json!({"version": FJALL}),
        Engine::Lmdb => {
            let version = heed::lmdb_version();
            json!({"version": format!("{}.{}.{}", version.major, version.minor, version.patch)})
        }
        Engine::Sqlite => {
            let loaded = sqlite::find(library).map_err(absent)?;
            json!({"version": loaded.version(), "library": loaded.path.display().to_string()})
        }
        Engine::Rocksdb => {
            let loaded = rocksdb::find(library).map_err(absent)?;
            json!({"version": loaded.version(), "library": loaded.path.display().to_string()})
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_reports_its_version() {
        let engines = [Engine::Redb, Engine::Fjall, Engine::Lmdb, Engine::Sqlite, Engine::Rocksdb];
        for engine in engines {
            let info = about(engine, None).unwrap();
            let version = info["version"].as_str().unwrap();
            assert!(
                version.split('.').count() >= 3 && version.starts_with(|first: char| first.is_ascii_digit())
            );
            let shared = matches!(engine, Engine::Sqlite | Engine::Rocksdb);
            assert_eq!(info["library"].is_string(), shared, "{info}");
        }
    }

    #[test]
    fn versions_match_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        for (name, version) in [("redb", REDB), ("fjall", FJALL)] {
            assert!(
                lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")),
                "{name} {version}"
            );
        }
    }
}
