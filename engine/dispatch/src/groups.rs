//! Specification of several client groups, with common and individual settings.
//!
//! `{"version", "seed", "target", "load": {...}, "groups": [{"name", "workload", "load": {...}}]}`. It
//! expands to one specification per group, whose `load` merges the common one and the group's.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::spec::Spec;

/// Clients with a common workload.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub spec: Spec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupsSpec {
    version: u32,
    #[serde(default)]
    seed: u64,
    target: Value,
    load: Map<String, Value>,
    groups: Vec<GroupSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupSpec {
    name: String,
    workload: Value,
    #[serde(default)]
    load: Map<String, Value>,
}

/// Keys of the common load only, as all groups share one window.
const COMMON_KEYS: [&str; 4] = ["warmup_ns", "duration_ns", "interval_ns", "armed_ns"];

/// Keys not allowed with groups, whose load ends at its duration.
const SINGLE_LOAD_KEYS: [&str; 2] = ["requests", "requests_per_client"];

/// Parse a specification of groups; `None` if it has a single workload.
pub fn read(text: &str) -> Result<Option<Vec<Group>>, LoadError> {
    // Invalid JSON is reported elsewhere.
    let Some(value) = serde_json::from_str::<Value>(text).ok().filter(|value| value.get("groups").is_some())
    else {
        return Ok(None);
    };
    let groups_spec: GroupsSpec =
        serde_json::from_value(value).map_err(|error| SpecError::unreadable("groups", &error))?;
    if groups_spec.groups.is_empty() {
        return Err(SpecError::value("groups", json!([])).into());
    }
    if let Some(key) = SINGLE_LOAD_KEYS.iter().find(|key| groups_spec.load.contains_key(**key)) {
        return Err(SpecError::conflict(&format!("load.{key}"), "groups").into());
    }
    let mut groups: Vec<Group> = Vec::with_capacity(groups_spec.groups.len());
    for group_spec in &groups_spec.groups {
        let name = group_spec.name.as_str();
        if name.is_empty() || name.contains(':') || name == "transaction" {
            return Err(SpecError::value("groups.name", name).into());
        }
        if groups.iter().any(|group| group.name == name) {
            return Err(SpecError::value("groups.name", name).into());
        }
        if let Some(key) = COMMON_KEYS.iter().find(|key| group_spec.load.contains_key(**key)) {
            return Err(
                LoadError::from(SpecError::conflict(&format!("groups.load.{key}"), "load")).of_group(name)
            );
        }
        if let Some(key) = SINGLE_LOAD_KEYS.iter().find(|key| group_spec.load.contains_key(**key)) {
            return Err(
                LoadError::from(SpecError::conflict(&format!("groups.load.{key}"), "groups")).of_group(name)
            );
        }
        let mut load = groups_spec.load.clone();
        load.extend(group_spec.load.clone());
        let spec = json!({
            "version": groups_spec.version,
            "seed": seed(groups_spec.seed, name),
            "target": groups_spec.target,
            "workload": group_spec.workload,
            "load": load,
        });
        let spec = Spec::read(&spec.to_string()).map_err(|error| LoadError::from(error).of_group(name))?;
        groups.push(Group { name: name.into(), spec });
    }
    Ok(Some(groups))
}

/// Seed of a group, independent of the other groups: with equal seeds, two equal groups would access the same
/// rows at the same time. FNV-1a (Fowler, Noll, Vo) of the name, starting from the common seed.
fn seed(common: u64, name: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    name.bytes().fold(BASIS ^ common, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"version":1,"seed":5,
        "target":{"protocol":"postgres","host":"db","user":"u","database":"d"},
        "load":{"duration_ns":5000000000,"warmup_ns":7},
        "groups":[{"name":"rw","workload":{"sysbench":{"script":"oltp_read_write"}},
                   "load":{"clients":16,"threads":2}},
                  {"name":"ro","workload":{"pgbench":{}},"load":{"clients":3,"max_retries":2}}]}"#;

    fn refusal(from: &str, to: &str) -> String {
        assert!(EXAMPLE.contains(from));
        read(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn groups_merge_common_and_individual_settings() {
        let groups = read(EXAMPLE).unwrap().unwrap();
        assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["rw", "ro"]);
        let loads = groups.iter().map(|group| &group.spec.load);
        let settings = loads
            .map(|load| (load.clients, load.threads, load.max_retries, load.warmup_ns, load.duration_ns));
        assert_eq!(
            settings.collect::<Vec<_>>(),
            [(16, 2, 10, 7, 5_000_000_000), (3, 1, 2, 7, 5_000_000_000)]
        );
        assert_eq!(groups[1].spec.workload().0, "pgbench");
        assert_ne!(groups[0].spec.seed, groups[1].spec.seed);
    }

    #[test]
    fn group_seed_is_independent_of_other_groups() {
        let seeds =
            |text: &str| read(text).unwrap().unwrap().iter().map(|group| group.spec.seed).collect::<Vec<_>>();
        assert_eq!(seeds(EXAMPLE)[0], seeds(&EXAMPLE.replace("\"ro\"", "\"other\""))[0]);
        assert_ne!(seeds(EXAMPLE)[0], seeds(&EXAMPLE.replace("\"seed\":5", "\"seed\":6"))[0]);
    }

    #[test]
    fn single_workload_is_not_parsed_here() {
        assert!(read(r#"{"version":1}"#).unwrap().is_none());
        assert!(read("{").unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_done_is_named_with_its_group() {
        let refused = |from: &str, to: &str, parts: &[&str]| {
            let error = refusal(from, to);
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        };
        refused("\"ro\"", "\"rw\"", &["groups.name", "rw"]);
        refused("\"ro\"", "\"r:o\"", &["groups.name", "r:o"]);
        refused("\"ro\"", "\"transaction\"", &["groups.name", "transaction"]);
        refused("\"clients\":3", "\"clients\":0", &["\"group\":\"ro\"", "load.clients"]);
        refused("\"clients\":3", "\"interval_ns\":3", &["\"group\":\"ro\"", "groups.load.interval_ns"]);
        refused("\"clients\":3", "\"requests\":3", &["\"other\":\"groups\"", "load.requests"]);
        refused("\"warmup_ns\":7", "\"requests\":3", &["\"other\":\"groups\"", "load.requests"]);
        refused("{\"clients\":3,\"max_retries\":2}", "{}", &["missing field `clients`"]);
        refused("\"load\":{\"clients\":3", "\"loads\":{\"clients\":3", &["unknown field `loads`"]);
        let without = EXAMPLE.split("\"groups\"").next().unwrap().to_string() + "\"groups\":[]}";
        assert!(read(&without).unwrap_err().to_string().contains("groups"));
    }
}
