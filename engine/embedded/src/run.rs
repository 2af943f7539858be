//! Threads of a load on an embedded store.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};

use super::kv_client::KvClient;
use super::ycsb_client::YcsbClient;
use super::{Engine, Fault, Fjall, Handle, Lmdb, Options, Redb, Rocksdb, Sqlite, Store};
use loadcell_core::error::{LoadError, LoadStep, SpecError, within};
use loadcell_core::record::Operation;
use loadcell_core::spec::{self, Spec};
use loadcell_load::ClientFactory;
use loadcell_load::blocking::{BlockingClient, BlockingClientFactory, BlockingLoad};
use loadcell_workloads::keyvalue::{self, Clients};
use loadcell_workloads::ycsb;

/// A store with the clients of a load.
pub struct EmbeddedLoad<S: Store, C> {
    store: Arc<OpenStore<S>>,
    clients: C,
    files: usize,
    batch: usize,
}

/// An open store, closed with its last user.
struct OpenStore<S: Store>(Option<S>);

impl<S: Store> OpenStore<S> {
    fn store(&self) -> &S {
        self.0.as_ref().expect("it is open until it is dropped")
    }
}

impl<S: Store> Drop for OpenStore<S> {
    fn drop(&mut self) {
        if let Some(Err(fault)) = self.0.take().map(Store::close) {
            eprintln!("the store was not closed properly: {}", fault.message);
        }
    }
}

/// Open stores, shared by the client groups of a load.
static OPEN: Mutex<Vec<(PathBuf, Weak<dyn Any + Send + Sync>)>> = Mutex::new(Vec::new());

/// The store with these options, opened unless it is already open.
fn shared<S: Store>(options: &Options, threads: u32) -> Result<Arc<OpenStore<S>>, LoadError> {
    let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    open.retain(|(_, store)| store.strong_count() > 0);
    let existing = open.iter().find(|(directory, _)| *directory == options.directory);
    if let Some(existing) = existing.and_then(|(_, store)| store.upgrade()?.downcast().ok()) {
        return Ok(existing);
    }
    let store = Arc::new(OpenStore(Some(opened::<S>(options, threads)?)));
    let any: Arc<dyn Any + Send + Sync> = store.clone();
    open.push((options.directory.clone(), Arc::downgrade(&any)));
    Ok(store)
}

/// Open a store that is not shared.
pub fn opened<S: Store>(options: &Options, threads: u32) -> Result<S, LoadError> {
    let step =
        || LoadStep::new("engine.open-store", json!({"path": options.directory.display().to_string()}));
    S::open(options, threads).map_err(|fault| fault.during(step()))
}

/// Options of the store in a specification.
pub fn options(spec: &Spec) -> Result<Options, SpecError> {
    let section = spec.target.store.as_ref().ok_or_else(|| SpecError::value("target.store", Value::Null))?;
    let options: Options = spec::section("target.store", section)?;
    within("target.store.files", options.files, 1..=usize::MAX)?;
    Ok(options)
}

/// Options of a key-value workload.
pub fn work(name: &str, section: &Value) -> Result<keyvalue::Options, SpecError> {
    if name == "kv" { keyvalue::Options::read(section) } else { Err(SpecError::workload(name)) }
}

/// Client factory of a specification.
pub fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    match options(spec)?.engine {
        Engine::Redb => stored::<Redb>(spec),
        Engine::Fjall => stored::<Fjall>(spec),
        Engine::Lmdb => stored::<Lmdb>(spec),
        Engine::Sqlite => stored::<Sqlite>(spec),
        Engine::Rocksdb => stored::<Rocksdb>(spec),
    }
}

fn stored<S: Store>(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    let (options, (name, section)) = (options(spec)?, spec.workload());
    if name == "ycsb" {
        let clients = ycsb::Clients::new(&ycsb::Options::read(section)?, spec.seed, spec.load.clients);
        let store = shared::<S>(&options, spec.load.clients)?;
        return Ok(Box::new(BlockingLoad(EmbeddedLoad { store, clients, files: options.files, batch: 1 })));
    }
    let work = work(name, section)?;
    Ok(Box::new(BlockingLoad(EmbeddedLoad::new(shared::<S>(&options, spec.load.clients)?, spec, &work)?)))
}

impl<S: Store> EmbeddedLoad<S, Clients> {
    fn new(store: Arc<OpenStore<S>>, spec: &Spec, work: &keyvalue::Options) -> Result<Self, LoadError> {
        let clients = Clients::new(work, spec.seed, spec.load.clients)?;
        Ok(Self { store, clients, files: options(spec)?.files, batch: work.batch as usize })
    }

    /// The same on an existing store.
    #[cfg(test)]
    pub fn around(store: S, spec: &Spec, work: &keyvalue::Options) -> Result<Self, LoadError> {
        Self::new(Arc::new(OpenStore(Some(store))), spec, work)
    }
}

impl<S: Store, C: EmbeddedClients> BlockingClientFactory for EmbeddedLoad<S, C> {
    type Client<'f>
        = C::Client<S::Handle<'f>>
    where
        Self: 'f;

    fn operations(&self) -> &[Operation] {
        self.clients.operations()
    }

    fn client(&self, number: u32, _: &dyn Fn() -> bool) -> Result<Self::Client<'_>, Fault> {
        Ok(self.clients.client(number, self.store.store().handle()?, self.files))
    }

    fn max_batch(&self) -> usize {
        self.batch
    }
}

/// Creates the clients of a workload on an embedded store.
pub trait EmbeddedClients: Send + Sync {
    type Client<H: Handle>: BlockingClient;

    /// Operations that the clients count and time, the transaction first.
    fn operations(&self) -> &[Operation];

    /// Creates client `number` with a thread's handle to a store of `files` files.
    fn client<H: Handle>(&self, number: u32, handle: H, files: usize) -> Self::Client<H>;
}

impl EmbeddedClients for Clients {
    type Client<H: Handle> = KvClient<H>;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn client<H: Handle>(&self, number: u32, handle: H, files: usize) -> KvClient<H> {
        KvClient::new(handle, self.client(number), self.only_read(), files)
    }
}

impl EmbeddedClients for ycsb::Clients {
    type Client<H: Handle> = YcsbClient<H>;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn client<H: Handle>(&self, number: u32, handle: H, files: usize) -> YcsbClient<H> {
        YcsbClient::new(handle, self.client(number), files)
    }
}
