//! What a thread does on a store, whatever the workload: operations are chosen, carried out together, and put into the record.

use super::kv_client::KvClient;
use super::{Fault, Handle};
use loadcell_core::clock::Nanos;
use loadcell_core::record::{Operation, Recorder};
use loadcell_load::blocking::Task;
use loadcell_workloads::keyvalue::Clients;
use loadcell_workloads::ycsb;

/// One client's work.
pub trait EmbeddedClient {
    /// See [`Task::look_ahead`].
    fn look_ahead(&mut self) {}

    /// Nothing is chosen.
    fn clear(&mut self);

    /// Chooses one more operation, which is due at `due`: what it counts as is started.
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos);

    /// How many are chosen.
    fn chosen(&self) -> usize;

    /// Carries out what was chosen; whether the store can be used any longer.
    fn carry_out(&mut self, handle: &mut impl Handle) -> Result<(), Fault>;

    /// See [`Task::next_event`].
    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        None
    }

    /// Puts that into the record.
    fn record_event(&mut self, _: &mut Recorder) {}

    /// Puts what was carried out, from `sent` to `done`, into the record.
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos);
}

/// What the clients of a load share.
pub trait EmbeddedClients: Send + Sync {
    type EmbeddedClient: EmbeddedClient;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// That of client number `client`, in a store of so many files.
    fn embedded_client(&self, client: u32, files: usize) -> Self::EmbeddedClient;
}

/// A job with a thread's way into the store.
pub struct BoundClient<H, J> {
    pub handle: H,
    pub client: J,
}

impl<H: Handle, J: EmbeddedClient> Task for BoundClient<H, J> {
    fn look_ahead(&mut self) {
        self.client.look_ahead();
    }

    #[inline]
    fn clear(&mut self) {
        self.client.clear();
    }

    #[inline]
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos) {
        self.client.choose(recorder, due);
    }

    #[inline]
    fn chosen(&self) -> usize {
        self.client.chosen()
    }

    #[inline]
    fn carry_out(&mut self) -> Result<(), Fault> {
        self.client.carry_out(&mut self.handle)
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        self.client.next_event()
    }

    #[inline]
    fn record_event(&mut self, recorder: &mut Recorder) {
        self.client.record_event(recorder);
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        self.client.record(recorder, sent, done);
    }
}

impl EmbeddedClients for Clients {
    type EmbeddedClient = KvClient;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn embedded_client(&self, client: u32, files: usize) -> KvClient {
        KvClient::new(self.client(client), self.only_read(), files)
    }
}

impl EmbeddedClients for ycsb::Clients {
    type EmbeddedClient = super::ycsb_client::YcsbClient;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn embedded_client(&self, client: u32, files: usize) -> Self::EmbeddedClient {
        super::ycsb_client::YcsbClient::new(self.client(client), files)
    }
}
