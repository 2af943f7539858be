//! Whole loads against services of known behaviour.

mod backpressure;
mod judging;
mod sending;
mod service;
mod trouble;

use std::sync::Arc;

use serde_json::{Value, json};

use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;
use loadcell_load::TargetContext;
use loadcell_transport::Endpoint;

use service::Service;

/// Collects events.
#[derive(Default)]
struct Watch(Vec<Value>);

impl Observer for Watch {
    fn event(&mut self, event: &Value) -> Directive {
        self.0.push(event.clone());
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

impl Watch {
    /// Codes of reported errors.
    fn troubles(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|event| event["type"] == "trouble")
            .filter_map(|event| event["code"].as_str())
            .collect()
    }
}

/// Fields of records in tests.
fn fields() -> Value {
    json!({"fields": [
        {"name": "id", "number": {"start": 0, "step": 1}},
        {"name": "key", "draw": {"to": 49}},
    ]})
}

/// A specification, of which tests write what they are about.
fn specification(target: &Value, stream: Value, load: Value) -> Spec {
    let mut section = json!({"source": fields()});
    section.as_object_mut().unwrap().extend(stream.as_object().unwrap().clone());
    let mut loads = json!({"clients": 1, "duration_ns": 20_000_000_000u64, "drain_ns": 1_000_000_000});
    loads.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let spec = json!({"seed": 3, "target": target, "workload": {"stream": section}, "load": loads});
    Spec::read(&loadcell_testing::specification(spec).to_string()).unwrap()
}

/// Makes a load. Returns its result and its events.
fn run(spec: &Spec) -> (Value, Watch) {
    let context = TargetContext {
        endpoint: Arc::new(Endpoint::of(&spec.target).unwrap()),
        connect_timeout_ns: spec.target.connect_timeout_ns,
    };
    let mut watch = Watch::default();
    let sessions = crate::sessions(spec).unwrap();
    let result = loadcell_load::run(&*sessions, &context, &spec.load, &mut watch).unwrap();
    (result, watch)
}

/// The result of a load on a service.
fn measured(service: &Service, stream: Value, load: Value) -> Value {
    run(&specification(&service.target(), stream, load)).0
}

fn count(result: &Value, name: &str) -> u64 {
    result["operations"][0][name].as_u64().unwrap()
}

fn metric(result: &Value, name: &str) -> f64 {
    result["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing: {}", result["figures"]))
}

/// Errors by code, with their counts.
fn errors(result: &Value) -> Vec<(&str, u64)> {
    let errors = result["errors"].as_array().unwrap().iter();
    errors.map(|error| (error["code"].as_str().unwrap(), error["count"].as_u64().unwrap())).collect()
}

/// Failures over the whole load.
fn failed(result: &Value) -> u64 {
    result["lifetime"]["failed"].as_u64().unwrap()
}
