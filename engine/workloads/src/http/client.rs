//! Request generator of one client: chooses the next request and fills its placeholders.

use std::sync::Arc;

use super::options::{Kind, Plan};
use crate::keyvalue::distribution::Chooser;
use loadcell_core::random::Random;
use loadcell_protocols::http::{Fields, Request};

pub struct Client {
    pub plan: Arc<Plan>,
    random: Random,
    choosers: Vec<Chooser>,
    /// Position in `text` of each parameter's current value.
    values: Vec<(usize, usize)>,
    text: Vec<u8>,
}

/// A generated request, which can be sent repeatedly.
pub struct Made {
    target: Vec<u8>,
    body: Vec<u8>,
    /// Header fields of the kinds whose fields vary.
    fields: Vec<Option<Fields>>,
}

impl Made {
    pub fn new(plan: &Plan) -> Self {
        let varying_fields = |kind: &Kind| (!kind.changing.is_empty()).then(|| kind.fields.clone());
        Self {
            target: Vec::new(),
            body: Vec::new(),
            fields: plan.requests.iter().map(varying_fields).collect(),
        }
    }

    /// The request as generated from kind `number` of `plan`.
    #[inline]
    pub fn request<'a>(&'a self, plan: &'a Plan, number: usize) -> Request<'a> {
        let kind = &plan.requests[number];
        Request {
            method: &kind.method,
            target: &self.target,
            fields: self.fields[number].as_ref().unwrap_or(&kind.fields),
            body: kind.body.is_some().then_some(self.body.as_slice()),
            written: kind.written.as_deref(),
        }
    }
}

impl Client {
    /// Generator of client `client` of `clients`.
    pub fn new(plan: Arc<Plan>, seed: u64, client: u32, clients: u32) -> Self {
        let choosers = plan.parameters.iter().map(|parameter| parameter.chooser(client, clients)).collect();
        Self {
            random: Random::stream(seed, client.into()),
            choosers,
            values: vec![(0, 0); plan.parameters.len()],
            text: Vec::new(),
            plan,
        }
    }

    /// Choose the kind of the next request. Returns its number.
    #[inline]
    pub fn choose(&mut self) -> usize {
        if !self.plan.is_mixed() {
            return 0;
        }
        let drawn = self.random.bits();
        let last = self.plan.bounds.len() - 1;
        self.plan.bounds[..last].iter().position(|bound| drawn < *bound).unwrap_or(last)
    }

    /// Fill the placeholders of kind `number`.
    #[inline]
    pub fn make(&mut self, number: usize, made: &mut Made) {
        let Self { plan, random, choosers, values, text } = self;
        let Made { target, body, fields } = made;
        let kind = &plan.requests[number];
        if kind.written.is_some() {
            return;
        }
        text.clear();
        for &parameter in &kind.parameters {
            let start = text.len();
            plan.parameters[parameter].draw(&mut choosers[parameter], random, text);
            values[parameter] = (start, text.len());
        }
        let value = |parameter: usize| &text[values[parameter].0..values[parameter].1];
        target.clear();
        kind.target.write(target, value);
        if let Some(template) = &kind.body {
            body.clear();
            template.write(body, value);
        }
        if let Some(varying_fields) = &mut fields[number] {
            for (index, template) in &kind.changing {
                varying_fields.list[*index].1.clear();
                template.write(&mut varying_fields.list[*index].1, value);
            }
            varying_fields.write();
        }
    }
}
