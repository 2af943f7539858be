//! TCP proxy between the load and its target, which causes faults of the network.
//!
//! It listens on a port of the loopback interface and carries each connection to the target, by TCP or a Unix
//! socket. Threads share nothing on the path of a byte; each has its own table of descriptors. Effects
//! (`effect`) begin and end while connections are open; all of them end with the proxy.

mod connection;
mod control;
mod effect;
mod exchange;
mod flow;
mod link;
mod listener;
mod pipe;
mod request;
#[cfg(test)]
mod tests;
mod thread;
mod totals;

pub use effect::{Direction, Effect};
pub use totals::Totals;

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use control::Control;
use effect::{Effects, Lasting};
use listener::Port;
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_core::random::Random;
use loadcell_core::target::Target;
use loadcell_transport::{Address, Endpoint};
use thread::Thread;

/// Time limit of a thread to follow an order.
const ORDER_LIMIT: Duration = Duration::from_secs(5);

/// Description of a proxy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub target: Target,
    pub threads: u32,
    /// Number of connections at a time.
    pub connections: u32,
    /// Processors of the threads; none: any.
    pub processors: Vec<usize>,
    pub seed: u64,
}

/// A proxy that runs until it is dropped.
pub struct Proxy {
    port: Port,
    controls: Vec<Arc<Control>>,
    threads: Vec<JoinHandle<io::Result<Totals>>>,
    lasting: Mutex<Ongoing>,
}

/// The effects that last, in the order in which they began.
#[derive(Default)]
struct Ongoing {
    effects: Vec<Lasting>,
    begun: u64,
    epoch: u64,
}

impl Proxy {
    /// Start the threads, which listen on return.
    pub fn start(spec: &Spec) -> Result<Self, LoadError> {
        let endpoint = Endpoint::of(&spec.target)?;
        Self::between(endpoint.addresses.into(), spec).map_err(|error| {
            LoadError::with_text("connection", os::error_text(&error), "engine.proxy", json!({}))
        })
    }

    fn between(upstream: Arc<[Address]>, spec: &Spec) -> io::Result<Self> {
        let port = Port::reserve()?;
        let (started, on_start) = channel();
        let mut proxy = Self { port, controls: Vec::new(), threads: Vec::new(), lasting: Mutex::default() };
        let connections = spec.connections.saturating_mul(2) + MAX_PIPE_FILES;
        let count = spec.threads.max(threads_for(connections));
        for number in 0..count {
            let control = Arc::new(Control::new()?);
            proxy.controls.push(control.clone());
            let (port, upstream, started) = (proxy.port.number, upstream.clone(), started.clone());
            let (random, processors) = (Random::stream(spec.seed, number.into()), spec.processors.clone());
            let work = move || {
                os::pin_thread(&processors);
                match Thread::new(control, upstream, port, random) {
                    Ok(thread) => {
                        let _ = started.send(Ok(()));
                        drop(started);
                        thread.run()
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                        Ok(Totals::default())
                    }
                }
            };
            proxy.threads.push(Builder::new().name(format!("proxy-{number}")).spawn(work)?);
        }
        drop(started);
        for _ in 0..count {
            on_start.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        }
        Ok(proxy)
    }

    /// Address that the load connects to.
    pub fn address(&self) -> SocketAddr {
        listener::address(self.port.number)
    }

    /// Begin an effect. Returns its number once all threads follow it.
    pub fn begin(&self, effect: Effect) -> Result<u64, LoadError> {
        effect.check()?;
        let mut lasting = self.lasting.lock().unwrap_or_else(PoisonError::into_inner);
        lasting.begun += 1;
        let number = lasting.begun;
        lasting.effects.push(Lasting::new(number, effect)?);
        self.follow(&mut lasting)?;
        Ok(number)
    }

    /// End an effect, on return in all threads. An effect that has ended is no error.
    pub fn end(&self, number: u64) -> Result<(), LoadError> {
        let mut lasting = self.lasting.lock().unwrap_or_else(PoisonError::into_inner);
        lasting.effects.retain(|effect| effect.number != number);
        self.follow(&mut lasting)
    }

    fn follow(&self, lasting: &mut Ongoing) -> Result<(), LoadError> {
        lasting.epoch += 1;
        let effects = Arc::new(Effects::of(&lasting.effects, lasting.epoch));
        self.controls.iter().for_each(|control| control.order(effects.clone()));
        let follows = |control: &Arc<Control>| control.await_followed(lasting.epoch, ORDER_LIMIT);
        if self.controls.iter().all(follows) {
            return Ok(());
        }
        Err(LoadError::at("internal", "engine.proxy-silent", json!({"limit_s": ORDER_LIMIT.as_secs()})))
    }

    /// Close all connections; the counts of the threads.
    pub fn stop(mut self) -> Totals {
        self.halt()
    }

    fn halt(&mut self) -> Totals {
        self.controls.iter().for_each(|control| control.stop());
        let mut totals = Totals::default();
        for thread in self.threads.drain(..) {
            if let Ok(Ok(counts)) = thread.join() {
                totals += counts;
            }
        }
        totals
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Descriptors of a thread besides those of its connections.
const MAX_PIPE_FILES: u32 = 256;

/// Number of threads, each with its own table, that have room for `descriptors`. Raises the soft limit.
fn threads_for(descriptors: u32) -> u32 {
    match os::allow_connections(descriptors) {
        Ok(()) => 1,
        Err(error) => {
            let allowed = error.step.and_then(|step| step.arguments["allowed"].as_u64()).unwrap_or(1024);
            // The kernel does not spread connections evenly.
            let room = allowed.saturating_sub(MAX_PIPE_FILES.into()).max(1) * 9 / 10;
            u64::from(descriptors).div_ceil(room) as u32
        }
    }
}
