//! Specification of several client groups, with common and individual settings.
//!
//! `{"version", "seed", "target", "load": {...}, "groups": [{"name", "workload", "load": {...}}]}`. It
//! expands to one specification per group, whose `load` merges the common one and the group's.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use loadcell_core::error::{LoadError, SpecError};
use loadcell_core::spec::{self, Spec};

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
    load: Map<String, Value>,
}

/// Parse a specification of groups; `None` if it has a single workload.
pub fn read(text: &str) -> Result<Option<Vec<Group>>, LoadError> {
    // Invalid JSON is reported elsewhere.
    let Some(value) = serde_json::from_str::<Value>(text).ok().filter(|value| value.get("groups").is_some())
    else {
        return Ok(None);
    };
    let groups_spec: GroupsSpec = spec::section("groups", &value)?;
    if groups_spec.groups.is_empty() {
        return Err(SpecError::value("groups", json!([])).into());
    }
    let mut groups: Vec<Group> = Vec::with_capacity(groups_spec.groups.len());
    for group_spec in &groups_spec.groups {
        let name = group_spec.name.as_str();
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
        "target":{"protocol":"postgres","host":"db","user":"u","database":"d","sslmode":"prefer",
                  "connect_timeout_ns":1},
        "load":{"duration_ns":5000000000,"warmup_ns":7},
        "groups":[{"name":"rw","workload":{"sysbench":{"script":"oltp_read_write"}},
                   "load":{"clients":16,"threads":2}},
                  {"name":"ro","workload":{"pgbench":{}},"load":{"clients":3,"max_retries":2}}]}"#;

    fn refusal(from: &str, to: &str) -> String {
        assert!(EXAMPLE.contains(from));
        read(&loadcell_testing::text(&EXAMPLE.replacen(from, to, 1))).unwrap_err().to_string()
    }

    #[test]
    fn groups_merge_common_and_individual_settings() {
        let groups = read(&loadcell_testing::text(EXAMPLE)).unwrap().unwrap();
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
        let seeds = |text: &str| {
            let groups = read(&loadcell_testing::text(text)).unwrap().unwrap();
            groups.iter().map(|group| group.spec.seed).collect::<Vec<_>>()
        };
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
        refused("\"clients\":3", "\"clients\":0", &["\"group\":\"ro\"", "load.clients"]);
        refused("{\"clients\":3,\"max_retries\":2}", "{}", &["missing field `clients`"]);
        refused("\"load\":{\"clients\":3", "\"loads\":{\"clients\":3", &["unknown field `loads`"]);
        let without = EXAMPLE.split("\"groups\"").next().unwrap().to_string() + "\"groups\":[]}";
        assert!(read(&loadcell_testing::text(&without)).unwrap_err().to_string().contains("groups"));
    }
}
