//! A compiled scenario, shared by all clients of a load.
//!
//! Variables are numbered: parameters first, then columns of the data, then extracted values.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::check::Statuses;
use super::super::head::{Channel, Head};
use super::super::options::{self, refused};
use super::super::template::{Encoding, Template};
use super::body::Body;
use super::condition::StepCheck;
use super::data::Data;
use super::extract::Extract;
use super::options::{AfterFailure, CookieScope, ExtractOptions, Options, StepOptions};
use crate::parameter::Parameter;
use loadcell_core::error::SpecError;
use loadcell_core::spec;
use loadcell_core::target::{SslMode, Target};
use loadcell_protocols::http::{Fields, Http, Limits, Request};

/// Number of `set-cookie` among the watched fields.
pub const SET_COOKIE: usize = 0;

/// Compiled scenario.
#[derive(Debug)]
pub struct Script {
    pub steps: Vec<Step>,
    pub parameters: Vec<Parameter>,
    pub data: Vec<Data>,
    /// Columns that steps use: slot, number of the data, number of the column.
    pub columns: Vec<(usize, usize, usize)>,
    /// Names of all variables, by slot.
    pub names: Vec<String>,
    /// Something changes from one scenario to the next: rows, parameters, extracted values.
    pub draws: bool,
    /// Slots that are unset when a scenario begins: of values that its steps extract.
    pub extracted: Vec<usize>,
    pub cookies: CookieScope,
    pub after_failure: AfterFailure,
    pub body_bytes: usize,
    pub keep_alive: bool,
    pub tls: bool,
    pub success: Statuses,
    pub os: Limits,
    /// Names of header fields that are read, in lower case.
    pub watched: Arc<[String]>,
}

/// Compiled step.
#[derive(Debug)]
pub struct Step {
    pub name: String,
    pub head: Head,
    pub body: Option<Template>,
    /// Variables of its request.
    pub uses: Vec<usize>,
    /// Variables of a header field: their values must not have ends of lines.
    pub in_fields: Vec<usize>,
    /// The variable that the path begins with: a complete URL or path.
    pub in_path: Option<usize>,
    pub check: StepCheck,
    pub extracts: Vec<Extract>,
    /// The body is stored until the response is complete.
    pub reads_body: bool,
    /// Header fields are checked, or have values to take.
    pub reads_fields: bool,
    /// More than the status is judged once the response is complete.
    pub judges: bool,
    /// Its request has no header field `Cookie` of the plan.
    pub takes_cookies: bool,
    pub think_ns: (u64, u64),
    pub once: bool,
    /// The encoded request, if it varies by nothing but cookies.
    pub written: Option<Vec<u8>>,
}

impl Script {
    pub fn read(section: &Value, target: &Target) -> Result<Self, SpecError> {
        let all: options::Options = spec::section("workload.http", section)?;
        let Some(options) = all.scenario.as_ref().filter(|scenario| !scenario.steps.is_empty()) else {
            return Err(SpecError::value("workload.http.scenario.steps", 0));
        };
        if all.streams > 1 {
            return Err(refused("engine.spec.streams-scenario", json!({"streams": all.streams})));
        }
        let names = names(&all, options)?;
        let mut watched = vec!["set-cookie".to_string()];
        let channel = Channel { version: all.version, keep_alive: all.keep_alive, target };
        let (mut steps, mut available) = (Vec::new(), vec![true; names.len()]);
        let slot = |wanted: &str| names.iter().position(|name| name == wanted);
        let extracts = options.steps.iter().flat_map(|step| &step.extract);
        let extracted: Vec<usize> = extracts.filter_map(|extract| slot(&extract.variable)).collect();
        extracted.iter().for_each(|slot| available[*slot] = false);
        for step in &options.steps {
            let step = Step::read(step, channel, options, &names, &mut watched)?;
            if let Some(early) = step.uses.iter().find(|slot| !available[**slot]) {
                return Err(used_early(&step, *early, options, &names));
            }
            step.extracts.iter().for_each(|extract| available[extract.slot] = true);
            steps.push(step);
        }
        let unset = |slot: &usize| {
            !steps.iter().any(|step| step.once && step.extracts.iter().any(|extract| extract.slot == *slot))
        };
        let extracted: Vec<usize> = extracted.into_iter().filter(unset).collect();
        let columns = columns(&all, options, &steps);
        Ok(Self {
            draws: !(extracted.is_empty() && options.data.is_empty() && all.parameters.is_empty()),
            parameters: all.parameters.values().map(Parameter::new).collect(),
            data: options.data.iter().map(Data::new).collect(),
            columns,
            names,
            extracted,
            steps,
            cookies: options.cookies,
            after_failure: options.after_failure,
            body_bytes: options.body_bytes,
            keep_alive: all.keep_alive,
            tls: target.sslmode != SslMode::Disable,
            success: Statuses::read(&all.success)?,
            os: Limits { header_bytes: all.header_bytes },
            watched: watched.into(),
        })
    }

    /// True if the load ends with the data.
    pub fn stops(&self) -> bool {
        self.data.iter().any(Data::stops)
    }

    /// Encode the requests that never vary.
    pub fn write_fixed<H: Http>(&mut self) {
        for step in self.steps.iter_mut().filter(|step| step.uses.is_empty()) {
            let (mut target, mut body) = (Vec::new(), Vec::new());
            step.head.target.write(&mut target, |_| b"");
            step.body.iter().for_each(|template| template.write(&mut body, |_| b""));
            step.written = H::written(&Request {
                method: &step.head.method,
                target: &target,
                fields: &step.head.fields,
                body: step.body.is_some().then_some(body.as_slice()),
                written: None,
            });
        }
    }
}

/// Names of all variables, by slot.
fn names(all: &options::Options, options: &Options) -> Result<Vec<String>, SpecError> {
    let mut names: Vec<String> = all.parameters.keys().cloned().collect();
    for data in &options.data {
        if data.rows.is_empty() || data.rows.iter().any(|row| row.len() != data.columns.len()) {
            return Err(SpecError::value(format!("workload.http.scenario.data.{}", data.name), "rows"));
        }
        names.extend(data.columns.iter().map(|column| format!("{}.{column}", data.name)));
    }
    let predefined = names.len();
    for extract in options.steps.iter().flat_map(|step| &step.extract) {
        match names.iter().position(|name| *name == extract.variable) {
            Some(slot) if slot < predefined => {
                return Err(refused("engine.spec.variable-twice", json!({"variable": extract.variable})));
            }
            Some(_) => {}
            None => names.push(extract.variable.clone()),
        }
    }
    Ok(names)
}

/// Columns that steps use, with their slots.
fn columns(all: &options::Options, options: &Options, steps: &[Step]) -> Vec<(usize, usize, usize)> {
    let numbers = options
        .data
        .iter()
        .enumerate()
        .flat_map(|(number, data)| (0..data.columns.len()).map(move |column| (number, column)));
    let slots = numbers.zip(all.parameters.len()..).map(|((data, column), slot)| (slot, data, column));
    slots.filter(|(slot, ..)| steps.iter().any(|step| step.uses.contains(slot))).collect()
}

#[cold]
fn used_early(step: &Step, slot: usize, options: &Options, names: &[String]) -> SpecError {
    let variable = &names[slot];
    let extracts = |step: &&StepOptions| step.extract.iter().any(|extract| extract.variable == *variable);
    let later = options.steps.iter().find(extracts).map(|step| step.head.name.as_str());
    let arguments = json!({"step": step.name, "variable": variable, "later": later});
    refused("engine.spec.variable-early", arguments)
}

/// A variable that does not exist.
#[cold]
fn unknown(step: &str, variable: &str, options: &Options, names: &[String]) -> SpecError {
    let data = variable.split_once('.').and_then(|(name, column)| {
        options.data.iter().find(|data| data.name == name).map(|data| (data, column))
    });
    if let Some((data, column)) = data {
        let arguments =
            json!({"step": step, "column": column, "name": data.name, "columns": data.columns.join(", ")});
        return refused("engine.spec.no-column", arguments);
    }
    let name = if names.is_empty() { "-".into() } else { names.join(", ") };
    refused("engine.spec.no-variable", json!({"step": step, "variable": variable, "names": name}))
}

impl Step {
    fn read(
        options: &StepOptions,
        channel: Channel<'_>,
        scenario: &Options,
        names: &[String],
        watched: &mut Vec<String>,
    ) -> Result<Self, SpecError> {
        let slot = |wanted: &str| names.iter().position(|name| name == wanted);
        let template = |text: &str, encoding: Encoding| {
            Template::encoded(text, encoding, slot)
                .map_err(|missing| unknown(&options.head.name, &missing, scenario, names))
        };
        let mut watch = |name: &str| {
            let name = name.to_ascii_lowercase();
            watched.iter().position(|watched| *watched == name).unwrap_or_else(|| {
                watched.push(name);
                watched.len() - 1
            })
        };
        let body = options.body.as_ref().map(|body| Body::read(body, template)).transpose()?;
        let mut head = Head::read(
            &options.head,
            body.as_ref().and_then(|body| body.content_type.as_deref()),
            channel,
            Encoding::Url,
            template,
        )?;
        let in_path = if head.target.start_raw() { head.target.parameters().next() } else { None };
        let body = body.map(|body| body.template);
        let in_fields: Vec<usize> =
            head.changing.iter().flat_map(|(_, value)| value.template().parameters()).collect();
        let mut uses: Vec<usize> = head.templates().chain(&body).flat_map(Template::parameters).collect();
        uses.sort_unstable();
        uses.dedup();
        let check = StepCheck::read(&options.check, &mut watch)?;
        let extract = |extract: &ExtractOptions| {
            let slot = slot(&extract.variable).expect("extracted variables have slots");
            Extract::read(extract, slot, &mut watch)
        };
        let extracts: Vec<Extract> = options.extract.iter().map(extract).collect::<Result<_, _>>()?;
        let reads_body = check.reads_body() || extracts.iter().any(Extract::reads_body);
        let reads_fields = check.reads_fields() || extracts.iter().any(|extract| !extract.reads_body());
        Ok(Self {
            name: options.head.name.clone(),
            uses,
            in_fields,
            in_path,
            body,
            reads_body,
            reads_fields,
            judges: reads_body || reads_fields || check.body.is_some(),
            takes_cookies: !options.head.headers.keys().any(|name| name.eq_ignore_ascii_case("cookie")),
            check,
            extracts,
            think_ns: options.think_ns,
            once: options.once,
            written: None,
            head,
        })
    }
}

/// Header fields of one step's requests, with cookies.
pub struct StepFields {
    pub fields: Fields,
    /// Version of the cookies in `fields`.
    pub cookies: u64,
}
