//! The specification of several groups of clients at once: what is common to them, and what each has of its own.
//!
//! `{"version", "seed", "target", "load": {...}, "groups": [{"name", "workload", "load": {...}}]}`: to each group it is a
//! specification like any other, with what stands in the common `load` and in its own.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use loadcell_core::error::Problem;
use loadcell_core::spec::Spec;

/// Clients that all do the same.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub spec: Spec,
}

impl Group {
    /// A problem of this group.
    pub fn problem(&self, problem: Problem) -> Problem {
        in_group(&self.name, problem)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Together {
    version: u32,
    #[serde(default)]
    seed: u64,
    target: Value,
    load: Map<String, Value>,
    groups: Vec<Own>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    name: String,
    workload: Value,
    #[serde(default)]
    load: Map<String, Value>,
}

/// What only the load as a whole can have: there is one window.
const COMMON: [&str; 4] = ["warmup_ns", "duration_ns", "interval_ns", "armed_ns"];

/// What a load of several groups cannot have: it ends when its time is over.
const OF_ONE: [&str; 2] = ["requests", "requests_per_client"];

/// Reads a specification of groups; none if it is one of a single workload.
pub fn read(text: &str) -> Result<Option<Vec<Group>>, Problem> {
    let wrong = |finding: String| Problem::new("spec", finding, "see `loadcell/_engine.pyi`");
    // What is no JSON is no business of groups.
    let Some(value) = serde_json::from_str::<Value>(text).ok().filter(|value| value.get("groups").is_some())
    else {
        return Ok(None);
    };
    let together: Together = serde_json::from_value(value)
        .map_err(|error| wrong(format!("the specification of groups cannot be read: {error}")))?;
    if together.groups.is_empty() {
        return Err(wrong("`groups` is empty".into()));
    }
    if let Some(key) = OF_ONE.iter().find(|key| together.load.contains_key(**key)) {
        return Err(wrong(format!("`{key}` is for a load without groups")));
    }
    let mut groups: Vec<Group> = Vec::with_capacity(together.groups.len());
    for own in &together.groups {
        let name = own.name.as_str();
        if name.is_empty() || name.contains(':') || name == "transaction" {
            return Err(wrong(format!("`{name}` cannot be a group's name")));
        }
        if groups.iter().any(|group| group.name == name) {
            return Err(wrong(format!("two groups have the name `{name}`")));
        }
        if let Some(key) = COMMON.iter().find(|key| own.load.contains_key(**key)) {
            return Err(in_group(name, wrong(format!("`{key}` is one for all groups"))));
        }
        if let Some(key) = OF_ONE.iter().find(|key| own.load.contains_key(**key)) {
            return Err(in_group(name, wrong(format!("`{key}` is for a load without groups"))));
        }
        let mut load = together.load.clone();
        load.extend(own.load.clone());
        let spec = json!({
            "version": together.version,
            "seed": seed(together.seed, name),
            "target": together.target,
            "workload": own.workload,
            "load": load,
        });
        let spec = Spec::read(&spec.to_string()).map_err(|problem| in_group(name, problem))?;
        groups.push(Group { name: name.into(), spec });
    }
    Ok(Some(groups))
}

fn in_group(name: &str, problem: Problem) -> Problem {
    Problem { finding: format!("client group {name}: {}", problem.finding), ..problem }
}

/// A seed of its own for each group, whatever the others are: with the same one, two groups that do the same would go for
/// the same rows at the same time. FNV-1a (Fowler, Noll, Vo) of the name, from the common seed on.
fn seed(common: u64, name: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    name.bytes().fold(BASIS ^ common, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"version":1,"seed":5,
        "target":{"protocol":"postgres","host":"db","user":"u","database":"d"},
        "load":{"duration_ns":5000000000,"warmup_ns":7},
        "groups":[{"name":"rw","workload":{"sysbench":{"script":"oltp_read_write"}},"load":{"clients":16,"threads":2}},
                  {"name":"ro","workload":{"pgbench":{}},"load":{"clients":3,"max_retries":2}}]}"#;

    fn finding(from: &str, to: &str) -> String {
        assert!(WHOLE.contains(from));
        let problem = read(&WHOLE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(problem.code, "spec");
        problem.finding
    }

    #[test]
    fn each_group_has_what_is_common_and_its_own() {
        let groups = read(WHOLE).unwrap().unwrap();
        assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["rw", "ro"]);
        let loads = groups.iter().map(|group| &group.spec.load);
        let known = loads
            .map(|load| (load.clients, load.threads, load.max_retries, load.warmup_ns, load.duration_ns));
        assert_eq!(known.collect::<Vec<_>>(), [(16, 2, 10, 7, 5_000_000_000), (3, 1, 2, 7, 5_000_000_000)]);
        assert_eq!(groups[1].spec.workload().0, "pgbench");
        assert_ne!(groups[0].spec.seed, groups[1].spec.seed);
    }

    #[test]
    fn a_group_draws_the_same_whatever_stands_beside_it() {
        let seeds =
            |text: &str| read(text).unwrap().unwrap().iter().map(|group| group.spec.seed).collect::<Vec<_>>();
        assert_eq!(seeds(WHOLE)[0], seeds(&WHOLE.replace("\"ro\"", "\"other\""))[0]);
        assert_ne!(seeds(WHOLE)[0], seeds(&WHOLE.replace("\"seed\":5", "\"seed\":6"))[0]);
    }

    #[test]
    fn a_specification_without_groups_is_another_reader_s() {
        assert!(read(r#"{"version":1}"#).unwrap().is_none());
        assert!(read("{").unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_done_is_named_with_its_group() {
        assert!(finding("\"ro\"", "\"rw\"").contains("two groups"));
        assert!(finding("\"ro\"", "\"r:o\"").contains("`r:o`"));
        assert!(finding("\"ro\"", "\"transaction\"").contains("`transaction`"));
        assert!(finding("\"clients\":3", "\"clients\":0").starts_with("client group ro: `clients`"));
        assert!(finding("\"clients\":3", "\"interval_ns\":3").starts_with("client group ro: `interval_ns`"));
        assert!(finding("\"clients\":3", "\"requests\":3").contains("without groups"));
        assert!(finding("\"warmup_ns\":7", "\"requests\":3").contains("without groups"));
        assert!(finding("{\"clients\":3,\"max_retries\":2}", "{}").contains("missing field `clients`"));
        assert!(
            finding("\"load\":{\"clients\":3", "\"loads\":{\"clients\":3").contains("unknown field `loads`")
        );
        let without = WHOLE.split("\"groups\"").next().unwrap().to_string() + "\"groups\":[]}";
        assert!(read(&without).unwrap_err().finding.contains("empty"));
    }
}
