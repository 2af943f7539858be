//! From a specification to the threads of a stream, and to its records alone.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use serde_json::{Value, json};

use super::batch::Batch;
use super::connection::{Connection, Dial};
use super::judge::{CountJudge, EachJudge, Judge, TakenJudge};
use super::layout::Layout;
use super::lines::{self, Lines};
use super::options::{Answers, Options, refused};
use super::source::{Filled, Generator, Place, Prepared, Source, Stop};
use super::stream_loop::{Limits, Parts, StreamLoop, Survivors};
use super::totals::Totals;
use loadcell_core::error::{Failure, LoadError, SpecError};
use loadcell_core::os;
use loadcell_core::pace::{ClosedLoop, Pacer};
use loadcell_core::record::{Kind, LifetimeCounts, Operation, Quota};
use loadcell_core::spec::{Load, Spec};
use loadcell_core::target::{SslMode, Target};
use loadcell_load::reactor::{ThreadContext, ThreadEvent};
use loadcell_load::{ClientFactory, LoadThreads, Measurement, Partition, TargetContext, ThreadShare};
use loadcell_transport::Endpoint;

/// Most bytes of prepared records.
const PREPARED_BYTES: u64 = 1 << 30;

const OPERATIONS: [Operation; 1] = [Operation { name: "transaction", kind: Kind::Transaction }];

/// State that all connections of a load share.
struct Streams {
    options: Options,
    /// Layout of generated records; none of the lines of a file.
    layout: Option<Arc<Layout>>,
    seed: u64,
    clients: u32,
    results: Option<Endpoint>,
    survivors: Survivors,
    /// Those of the connections that have ended.
    totals: Mutex<Totals>,
}

/// Client factory of a specification.
pub fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    let streams = Streams::new(spec)?;
    if let Some(path) = &streams.options.source.file {
        lines::check(path)?;
    }
    Ok(Box::new(streams))
}

/// Checks a section without a target. Returns its description.
pub fn check(section: &Value) -> Result<Value, SpecError> {
    let options = Options::read(section)?;
    let mut report = json!({"operations": ["transaction"]});
    if let Some(layout) = layout(&options, None, 0)? {
        report["largest_bytes"] = layout.longest().into();
    }
    Ok(report)
}

/// Layout of generated records; none of the lines of a file.
fn layout(options: &Options, bound: Option<u64>, seed: u64) -> Result<Option<Layout>, SpecError> {
    if options.source.fields.is_none() {
        return Ok(None);
    }
    let layout = Layout::new(options, bound, seed)?;
    let size = layout.longest() as u64;
    let needed = options.prepared.unwrap_or(0).saturating_mul(size);
    if needed > PREPARED_BYTES {
        let arguments = json!({
            "prepared": options.prepared, "size_bytes": size, "needed_bytes": needed,
            "limit_bytes": PREPARED_BYTES, "most": PREPARED_BYTES / size,
        });
        return Err(refused("engine.spec.stream-prepared", arguments));
    }
    Ok(Some(layout))
}

/// The first `count` records of a connection in their frames, as they are sent.
pub fn records(spec: &Spec, connection: u32, count: u64) -> Result<Vec<u8>, LoadError> {
    let streams = Streams::new(spec)?;
    if connection >= streams.clients {
        return Err(SpecError::value("connection", connection).into());
    }
    let position = Place { connection, connections: streams.clients };
    let broken = |why: Failure| LoadError { code: why.code, message: why.message, step: None };
    let mut batch = Batch::default();
    let mut source = streams.source(position, &mut batch).map_err(broken)?;
    let (mut bytes, mut remaining) = (Vec::new(), count);
    while remaining > 0 {
        let Filled { records, stop } = source.fill(remaining, &mut batch);
        bytes.extend_from_slice(batch.unsent());
        remaining -= records;
        match stop {
            Some(Stop::Rejected(_)) => remaining = remaining.saturating_sub(1),
            Some(Stop::Ended) => break,
            Some(Stop::Broken(why)) => return Err(broken(why)),
            None => {}
        }
    }
    Ok(bytes)
}

impl Streams {
    fn new(spec: &Spec) -> Result<Self, LoadError> {
        let ("stream", section) = spec.workload() else {
            return Err(SpecError::workload(spec.workload().0).into());
        };
        if spec.target.sslmode != SslMode::Disable {
            return Err(refused("engine.spec.stream-tls", json!({})).into());
        }
        let options = Options::read(section)?;
        let layout = layout(&options, spec.load.bound(), spec.seed)?.map(Arc::new);
        let results = options.results.as_ref().map(|results| {
            let (host, port, socket) = (results.host.clone(), results.port, results.socket.clone());
            Endpoint::of(&Target { host, port, socket, ..spec.target.clone() })
        });
        Ok(Self {
            layout,
            seed: spec.seed,
            clients: spec.load.clients,
            survivors: Survivors::new(spec.load.clients),
            results: results.transpose()?,
            totals: Mutex::default(),
            options,
        })
    }

    fn source(&self, position: Place, batch: &mut Batch) -> Result<Source, Failure> {
        match (&self.layout, &self.options.source.file) {
            (Some(layout), _) => {
                let generator = Generator::new(layout.clone(), self.seed, position);
                Ok(match self.options.prepared {
                    Some(count) => {
                        let count = count.div_ceil(position.connections.into());
                        Source::Prepared(Prepared::new(generator, count, batch))
                    }
                    None => Source::Generated(generator),
                })
            }
            (None, Some(path)) => Ok(Source::File(Box::new(Lines::open(path, &self.options, position)?))),
            (None, None) => unreachable!("the options have one source"),
        }
    }

    fn judge(&self, position: Place) -> Box<dyn Judge> {
        match self.options.answers {
            Answers::None => Box::new(TakenJudge::default()),
            Answers::Count => Box::new(CountJudge::default()),
            Answers::Each => Box::new(EachJudge::new(position, self.options.order, self.results.is_some())),
        }
    }

    /// Makes everything that a connection needs.
    fn open(&self, number: u32, network: &Network, is_wanted: &dyn Fn() -> bool) -> Result<Parts, Failure> {
        let position = Place { connection: number, connections: self.clients };
        let mut batch = Batch::default();
        let source = self.source(position, &mut batch)?;
        let keep_answers = self.options.keep_answers.as_ref().map(|path| {
            let mut path = path.clone().into_os_string();
            path.push(format!(".{number}"));
            PathBuf::from(path)
        });
        let dial = Dial {
            endpoint: &network.endpoint,
            results: self.results.as_ref(),
            send_buffer: self.options.send_buffer,
            keep_answers,
            timeout_ns: network.connect_timeout_ns,
        };
        Ok(Parts {
            connection: Connection::open(dial, is_wanted)?,
            source,
            batch,
            judge: self.judge(position),
            answered: self.options.answers != Answers::None,
            limits: network.limits,
            survivors: self.survivors.clone(),
        })
    }

    fn run(
        &self,
        number: u32,
        network: &Network,
        pacer: impl Pacer,
        context: ThreadContext,
    ) -> io::Result<LifetimeCounts> {
        os::unshare_fd_table(context.control.waker.fd());
        match self.open(number, network, &|| !context.control.is_abandoned()) {
            Ok(parts) => {
                let (lifetime, totals) = StreamLoop::new(number, parts, context, pacer)?.run()?;
                self.totals.lock().unwrap_or_else(PoisonError::into_inner).merge(&totals);
                Ok(lifetime)
            }
            Err(failure) => {
                context.events.send(ThreadEvent::Refused(failure.into()));
                Ok(context.recorder.finish())
            }
        }
    }
}

/// Number of the first `records` records that connection `number` sends: the records of a load do not depend
/// on the speed of connections.
fn share(records: u64, number: u32, connections: u32) -> u64 {
    let (number, connections) = (u64::from(number), u64::from(connections));
    records / connections + u64::from(number < records % connections)
}

/// Address and limits of connections.
#[derive(Clone)]
struct Network {
    endpoint: Arc<Endpoint>,
    connect_timeout_ns: u64,
    limits: Limits,
}

impl ClientFactory for Streams {
    fn operations(&self) -> &[Operation] {
        &OPERATIONS
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        context: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, LoadError> {
        let network = Network {
            endpoint: context.endpoint.clone(),
            connect_timeout_ns: context.connect_timeout_ns,
            limits: Limits { timeout_ns: load.timeout_ns, drain_ns: load.drain_ns },
        };
        let mut threads = LoadThreads::new(load);
        let partition = Partition::new(load, load.clients, first, to);
        for number in 0..load.clients {
            let ThreadShare { mut bounds, schedule, events } = partition.share(number, 1);
            if let (Some(bounds), Some(requests)) = (&mut bounds, load.requests) {
                bounds.quota = Quota::per_client(share(requests, number, load.clients), 1, load.clients);
            }
            let network = network.clone();
            let work = move |context| match schedule {
                Some(pacer) => {
                    os::set_timer_slack();
                    self.run(number, &network, pacer, context)
                }
                None => self.run(number, &network, ClosedLoop, context),
            };
            threads.spawn(scope, &OPERATIONS, 1, bounds, events, work)?;
        }
        Ok(threads)
    }

    fn metrics(&self, measurement: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let Options { answers, order, .. } = self.options;
        totals.metrics(answers, order, measurement.clients, measurement.duration_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_records_have_a_limit_of_memory() {
        let section = |prepared: u64| {
            let fields = [json!({"name": "id", "number": {"start": 0, "step": 1}})];
            let section = json!({"source": {"fields": fields}, "size": 1024, "prepared": prepared});
            loadcell_testing::section("stream", &section)
        };
        assert_eq!(check(&section(1 << 20)).unwrap()["largest_bytes"], 1024);
        let message = check(&section((1 << 20) + 1)).unwrap_err().to_string();
        assert!(message.contains("stream-prepared") && message.contains("\"most\":1048576"), "{message}");
        assert!(check(&section(u64::MAX)).is_err());
    }
}
