//! Complete loads of probes.

use serde_json::{Value, json};

use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer};

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: &Value) -> Directive {
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

fn spec(probe: Value, load: Value) -> Value {
    let mut load_spec =
        json!({"clients": 2, "warmup_ns": 10_000_000, "duration_ns": 60_000_000, "interval_ns": 20_000_000});
    load_spec.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let target = json!({"protocol": "host", "directory": "/tmp", "peer": null});
    let spec = json!({"seed": 5, "target": target, "workload": {"probe": probe}, "load": load_spec});
    loadcell_testing::specification(spec)
}

fn run(spec: &Value) -> Value {
    loadcell_dispatch::run(&spec.to_string(), &mut Nobody).unwrap()
}

fn refused(spec: &Value) -> LoadError {
    loadcell_dispatch::run(&spec.to_string(), &mut Nobody).unwrap_err()
}

fn figure(result: &Value, name: &str) -> f64 {
    result["figures"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {}", result["figures"]))
}

#[test]
fn every_probe_counts_passes_and_has_a_metric() {
    let probes = [
        (json!({"cpu": {"max_prime": 1000}}), "events_per_s"),
        (json!({"memory": {"test": "sysbench"}}), "mib_per_s"),
        (json!({"memory": {"test": "memcpy", "size": 65536}}), "mib_per_s"),
        (json!({"memory": {"test": "triad", "size": 65536}}), "mib_per_s"),
        (json!({"latency": {"size": 4096}}), "access_ns"),
    ];
    for (probe, name) in probes {
        // The requested number, however busy the machine is.
        let result = run(&spec(probe.clone(), json!({"requests": 20, "duration_ns": 60_000_000_000u64})));
        assert_eq!(result["outcome"], "completed", "{probe}: {}", result["reason"]);
        let [transaction] = &result["operations"].as_array().unwrap()[..] else { panic!("{result}") };
        assert_eq!(transaction["succeeded"], 20, "{probe}");
        assert_eq!(result["errors"], json!([]));
        assert_eq!(result["client"]["threads"].as_array().unwrap().len(), 2, "a thread a client");
        assert!(figure(&result, name) > 0.0, "{probe}");
    }
}

#[test]
fn metrics_follow_from_pass_durations() {
    let load = json!({"clients": 1, "requests": 50, "duration_ns": 60_000_000_000u64});
    let result = run(&spec(json!({"memory": {"test": "triad", "size": 65536}}), load.clone()));
    let service = &result["operations"][0]["service"];
    let speed = |ns: f64| 3.0 * 65536.0 / f64::from(1 << 20) * 1e9 / ns;
    let near = |first: f64, second: f64| assert!((first / second - 1.0).abs() < 1e-9, "{first} and {second}");
    near(figure(&result, "mib_per_s"), speed(service["mean_ns"].as_f64().unwrap()));
    near(figure(&result, "best_mib_per_s"), speed(service["min_ns"].as_f64().unwrap()));
    let result = run(&spec(json!({"latency": {"size": 4096}}), load.clone()));
    let mean_ns = result["operations"][0]["service"]["mean_ns"].as_f64().unwrap();
    near(figure(&result, "access_ns"), mean_ns / 65536.0);
    let result = run(&spec(json!({"cpu": {"max_prime": 100}}), load));
    let seconds = result["window"]["duration_ns"].as_f64().unwrap() / 1e9;
    near(figure(&result, "events_per_s"), 50.0 / seconds);
}

#[test]
fn load_ends_at_its_duration() {
    let result = run(&spec(json!({"cpu": {"max_prime": 100}}), json!({})));
    assert_eq!(
        (&result["outcome"], &result["window"]["duration_ns"]),
        (&json!("completed"), &json!(60_000_000))
    );
}

#[test]
fn groups_have_separate_metrics() {
    let group = |name: &str, probe: Value| {
        json!({"name": name, "workload": {"probe": probe},
        "load": {"clients": 1}})
    };
    let mut load_spec = spec(json!({}), json!({"duration_ns": 1_000_000_000}));
    let object = load_spec.as_object_mut().unwrap();
    object.remove("workload");
    object["load"].as_object_mut().unwrap().remove("clients");
    let groups = [
        group("sums", json!({"cpu": {"max_prime": 100}})),
        group("waits", json!({"latency": {"size": 4096}})),
    ];
    object.insert("groups".into(), json!(groups));
    let result = run(&load_spec);
    assert_eq!(result["outcome"], "completed");
    assert!(result.get("figures").is_none(), "they do not add up");
    for group in result["groups"].as_array().unwrap() {
        let group_metrics = group["figures"].as_object().unwrap();
        let name = if group["name"] == "sums" { "events_per_s" } else { "access_ns" };
        assert_eq!(group_metrics.keys().collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn unknown_probe_is_rejected() {
    let finding = |probe: Value| refused(&spec(probe, json!({}))).to_string();
    assert!(finding(json!({"gpu": {}})).contains("gpu"));
    assert!(finding(json!({})).contains("workload.probe"));
    assert!(finding(json!({"cpu": {}, "latency": {"size": 4096}})).contains("workload.probe"));
    assert!(finding(json!({"latency": {}})).contains("missing field `size`"));
    let mut other = spec(json!({}), json!({}));
    other["workload"] = json!({"kv": {}});
    assert!(refused(&other).to_string().contains("engine.spec.workload"));
}
