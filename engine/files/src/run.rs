//! The clients of a load on files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;

use loadcell_core::error::{LoadError, LoadStep};
use loadcell_core::random::Random;
use loadcell_core::record::Operation;
use loadcell_core::spec::Spec;
use loadcell_load::ClientFactory;
use loadcell_load::blocking::fault::BUSY;
use loadcell_load::blocking::{BlockingClientFactory, BlockingLoad, Fault};

use super::client::{FilesClient, Shared};
use super::directory::Layout;
use super::loader::loaded;
use super::options::{Location, Operations, Options};
use super::ownership::{self, Files};

/// Directories in use: two groups of clients would change each other's files.
static IN_USE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

struct Claim(PathBuf);

impl Claim {
    fn of(directory: &Path) -> Option<Self> {
        let mut in_use = IN_USE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let added = in_use.get_or_insert_default().insert(directory.to_path_buf());
        added.then(|| Self(directory.to_path_buf()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        in_use.get_or_insert_default().remove(&self.0);
    }
}

struct FilesLoad {
    shared: Arc<Shared>,
    location: Location,
    seed: u64,
    clients: u32,
    _claim: Claim,
}

/// Client factory of a specification.
pub fn sessions(spec: &Spec) -> Result<Box<dyn ClientFactory>, LoadError> {
    let (options, location) = (Options::of(spec)?, Location::of(spec)?);
    let operations = Operations::of(&options.mix)?;
    let Some(claim) = Claim::of(&location.directory) else {
        let step =
            LoadStep::new("engine.open-store", json!({"path": location.directory.display().to_string()}));
        return Err(Fault::new(BUSY, "another group of clients uses these files").during(step));
    };
    // Lists of an earlier load must not be taken for those of this one.
    ownership::forget(&location.lists).map_err(|error| {
        let step = LoadStep::new("engine.open-store", json!({"path": location.lists.display().to_string()}));
        Fault::from(error).during(step)
    })?;
    let layout = Layout::new(&location.directory, options.directories);
    let shared = Arc::new(Shared { options, operations, layout });
    let (seed, clients) = (spec.seed, spec.load.clients);
    Ok(Box::new(BlockingLoad(FilesLoad { shared, location, seed, clients, _claim: claim })))
}

impl BlockingClientFactory for FilesLoad {
    type Client<'f> = FilesClient;

    fn operations(&self) -> &[Operation] {
        &self.shared.operations.listed
    }

    fn client(&self, number: u32, _: &dyn Fn() -> bool) -> Result<FilesClient, Fault> {
        ownership::begin(&self.location.lists, number)?;
        let options = &self.shared.options;
        let owned = (u64::from(number)..options.count).step_by(self.clients as usize);
        let files = Files::new(
            u64::from(number),
            u64::from(self.clients),
            owned.map(|number| loaded(options, number).0),
        );
        let random = Random::stream(self.seed, u64::from(number));
        let list = ownership::list_path(&self.location.lists, number);
        Ok(FilesClient::new(self.shared.clone(), random, files, list))
    }
}
