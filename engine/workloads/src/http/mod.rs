//! HTTP workloads: requests generated from templates, sent over any HTTP version, with checked responses.

mod check;
mod client;
mod exchange;
mod head;
mod json_path;
mod options;
mod pattern;
mod scenario;
mod session;
#[cfg(test)]
mod session_http2_tests;
#[cfg(test)]
mod session_tests;
mod single;
mod streams;
#[cfg(test)]
mod streams_tests;
mod template;

pub use options::{Shape, shape};
pub use scenario::ScenarioSessions;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::{Value, json};

use self::client::{Client, Made};
use self::exchange::Operations;
use self::options::Plan;
use self::session::HttpSession;
use self::single::SingleRequests;
use self::streams::{FEWER, StreamsSession};
use loadcell_core::error::SpecError;
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::session::{Remark, SessionFactory};
use loadcell_core::spec::Spec;
use loadcell_protocols::http::Http;
use loadcell_protocols::http2::Http2;

/// Shared state of a load's sessions, for HTTP version `H`.
pub struct Sessions<H> {
    plan: Arc<Plan>,
    operations: Vec<Operation>,
    numbers: Operations,
    seed: u64,
    clients: u32,
    version: PhantomData<fn() -> H>,
}

impl<H: Http> Sessions<H> {
    /// `section`: the `http` section of the specification.
    pub fn new(spec: &Spec, section: &Value) -> Result<Self, SpecError> {
        let plan = Plan::read(section, &spec.target)?;
        if plan.streams > 1 && spec.load.schedule.is_some() {
            // Its requests have no instants of their own.
            return Err(SpecError::value("workload.http.streams", plan.streams));
        }
        let (operations, numbers) = counted(&plan);
        let (seed, clients) = (spec.seed, spec.load.clients);
        let mut sessions =
            Self { plan: Arc::new(plan), operations, numbers, seed, clients, version: PhantomData };
        let written = sessions.written();
        let plan = Arc::get_mut(&mut sessions.plan).expect("there is no session yet");
        plan.requests.iter_mut().zip(written).for_each(|(kind, written)| kind.written = written);
        Ok(sessions)
    }

    /// Encoded requests of each kind, for kinds that never vary.
    fn written(&self) -> Vec<Option<Vec<u8>>> {
        let (mut client, mut made) = (self.client(0), Made::new(&self.plan));
        let of = |(number, kind): (usize, &options::Kind)| {
            if !kind.parameters.is_empty() {
                return None;
            }
            client.make(number, &mut made);
            H::written(&made.request(&self.plan, number))
        };
        self.plan.requests.iter().enumerate().map(of).collect()
    }

    fn client(&self, client: u32) -> Client {
        Client::new(self.plan.clone(), self.seed, client, self.clients)
    }
}

/// Validate an `http` section without a target. Returns its description.
pub fn check(section: &Value) -> Result<Value, SpecError> {
    let nowhere = json!({"protocol": "http", "sslmode": "disable", "connect_timeout_ns": 0});
    let nowhere = serde_json::from_value(nowhere).expect("a target needs no more");
    if let (_, Shape::Scenario) = shape(section)? {
        return Ok(json!({"operations": scenario::check(section, &nowhere)?}));
    }
    let (operations, _) = counted(&Plan::read(section, &nowhere)?);
    Ok(json!({"operations": operations.iter().map(|operation| operation.name).collect::<Vec<_>>()}))
}

/// Operations to record: the transaction, each kind if there are several, and the stages of a request.
fn counted(plan: &Plan) -> (Vec<Operation>, Operations) {
    let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
    if plan.is_mixed() {
        // Names live as long as the process, which runs one load.
        let name = |name: &str| &*Box::leak(name.to_string().into_boxed_str());
        operations
            .extend(plan.requests.iter().map(|kind| Operation { name: name(&kind.name), kind: Kind::Type }));
    }
    let mut stage = |name: &'static str| {
        operations.push(Operation { name, kind: Kind::Stage });
        OpId(operations.len() as u16 - 1)
    };
    let (connect, first_byte) = (stage("connect"), stage("first_byte"));
    (operations, Operations { first_kind: plan.is_mixed().then_some(1), connect, first_byte })
}

impl<H: Http> SessionFactory for Sessions<H> {
    type Session = HttpSession<H, SingleRequests>;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn session(&self, client: u32) -> Self::Session {
        HttpSession::new(SingleRequests::new(self.client(client), self.numbers))
    }
}

/// Shared state of sessions with concurrent requests per HTTP/2 connection.
pub struct StreamSessions {
    sessions: Sessions<Http2>,
    fewest: Arc<AtomicUsize>,
}

impl StreamSessions {
    pub fn new(spec: &Spec, section: &Value) -> Result<Self, SpecError> {
        let sessions = Sessions::<Http2>::new(spec, section)?;
        let fewest = Arc::new(AtomicUsize::new(sessions.plan.streams as usize));
        Ok(Self { sessions, fewest })
    }
}

impl SessionFactory for StreamSessions {
    type Session = StreamsSession;

    fn operations(&self) -> &[Operation] {
        self.sessions.operations()
    }

    fn session(&self, client: u32) -> StreamsSession {
        StreamsSession::new(self.sessions.client(client), self.sessions.numbers, self.fewest.clone())
    }

    fn remarks(&self) -> Vec<Remark> {
        let (wanted, taken) = (self.sessions.plan.streams as usize, self.fewest.load(Relaxed));
        if taken < wanted { vec![(FEWER, json!({"asked_for": wanted, "taken": taken}))] } else { Vec::new() }
    }
}

/// Failure code of an operating system error that has a specific one.
fn error_code(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ECONNREFUSED => Some("refused"),
        libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Some("reset"),
        _ => None,
    }
}
