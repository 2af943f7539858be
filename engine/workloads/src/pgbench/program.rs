//! All scripts of a load, with their shared variables.

use super::client::Client;
use super::compiler;
use super::error::ScriptError;
use super::parser::Shared;
use super::random::{Random, Seeds};
use super::script::Script;
use super::statement::Mode;
use super::value::Value;
use super::variables::{Names, Slot, Variables, is_name};

/// Maximum number of scripts of a load.
pub const MAX_SCRIPTS: usize = 128;

/// Collects definitions and scripts.
#[derive(Clone, Debug)]
pub struct Builder {
    mode: Mode,
    names: Names,
    automatic: Automatic,
    defined: Vec<(Slot, Box<[u8]>)>,
    scripts: Vec<Script>,
    sites: u32,
}

/// Variables that are set automatically.
#[derive(Clone, Copy, Debug)]
struct Automatic {
    client_id: Slot,
    default_seed: Slot,
    random_seed: Slot,
    scale: Slot,
}

impl Builder {
    pub fn new(mode: Mode) -> Self {
        let mut names = Names::default();
        let automatic = Automatic {
            client_id: names.intern(b"client_id"),
            default_seed: names.intern(b"default_seed"),
            random_seed: names.intern(b"random_seed"),
            scale: names.intern(b"scale"),
        };
        Self { mode, names, automatic, defined: Vec::new(), scripts: Vec::new(), sites: 0 }
    }

    /// Define a variable for all clients, like `-D name=value`. The definition overrides an automatic
    /// variable.
    pub fn define(&mut self, name: &str, value: &str) -> Result<(), String> {
        if value.is_empty() {
            return Err(format!("invalid variable definition: {name:?} has no value"));
        }
        if !is_name(name.as_bytes()) {
            return Err(format!("invalid variable name: {name:?}"));
        }
        let slot = self.names.intern(name.as_bytes());
        self.defined.retain(|(defined, _)| *defined != slot);
        self.defined.push((slot, value.as_bytes().into()));
        Ok(())
    }

    /// Compile a script and add it to the mix. Returns all mistakes at once.
    pub fn script(&mut self, name: &str, source: &[u8], weight: u32) -> Result<(), Vec<ScriptError>> {
        let mut shared = Shared {
            names: &mut self.names,
            default_seed: self.automatic.default_seed,
            sites: &mut self.sites,
        };
        let script = compiler::compile(name, source, weight, self.mode, &mut shared)?;
        self.scripts.push(script);
        Ok(())
    }

    /// Build the program. Fails if there are no scripts, or too many.
    pub fn build(self, run: Run) -> Result<Program, String> {
        if self.scripts.len() > MAX_SCRIPTS {
            return Err(format!(
                "at most {MAX_SCRIPTS} SQL scripts are allowed, found {}",
                self.scripts.len()
            ));
        }
        let weights: u64 = self.scripts.iter().map(|script| u64::from(script.weight)).sum();
        if weights == 0 {
            return Err("total script weight must not be zero: there is no script to run".into());
        }
        let seeds = Seeds::new(run.seed, run.clients, run.threads);
        let mut variables = Variables::new(&self.names);
        variables.set(self.automatic.scale, Value::Integer(run.scale));
        variables.set(self.automatic.random_seed, Value::Integer(run.seed as i64));
        variables.set(self.automatic.default_seed, Value::Integer(seeds.default_seed));
        for (slot, value) in &self.defined {
            variables.set_text(*slot, value);
        }
        let numbered = !self.defined.iter().any(|(slot, _)| *slot == self.automatic.client_id);
        Ok(Program {
            mode: self.mode,
            names: self.names,
            client_id: numbered.then_some(self.automatic.client_id),
            variables,
            scripts: self.scripts,
            weights,
            sites: self.sites as usize,
            seeds,
        })
    }
}

/// Parameters common to all clients of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Seed, as given by `--random-seed`.
    pub seed: u64,
    pub clients: u32,
    pub threads: u32,
    /// Scale factor of the data.
    pub scale: i64,
}

/// Compiled scripts.
#[derive(Clone, Debug)]
pub struct Program {
    mode: Mode,
    names: Names,
    client_id: Option<Slot>,
    /// Initial values for each client.
    variables: Variables,
    scripts: Vec<Script>,
    weights: u64,
    sites: usize,
    seeds: Seeds,
}

impl Program {
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// Client with this number, counted from 0.
    pub fn client(&self, number: u32) -> Client {
        let mut variables = self.variables.clone();
        if let Some(slot) = self.client_id {
            variables.set(slot, Value::Integer(i64::from(number)));
        }
        Client::new(variables, self.seeds.clients[number as usize], self.sites)
    }

    /// Draw the script of the next transaction by weight. A single script needs no draw.
    pub fn choose(&self, random: &mut Random) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let mut drawn = random.up_to(self.weights - 1);
        for (number, script) in self.scripts.iter().enumerate() {
            match drawn.checked_sub(u64::from(script.weight)) {
                Some(difference) => drawn = difference,
                None => return number,
            }
        }
        unreachable!("what is drawn is below the sum of the weights")
    }

    /// Error at the first `\shell` or `\setshell`, for callers that do not allow them.
    pub fn first_shell(&self) -> Option<ScriptError> {
        self.scripts.iter().find_map(|script| {
            let command = script.commands.iter().find(|command| command.action.uses_shell())?;
            let name = command.action.meta_name().unwrap_or_default();
            Some(ScriptError::new(
                &script.name,
                &script.source,
                command.span,
                format!("\\{name} runs a command of the operating system, which is not allowed"),
                Some("allow it with `allow_shell: true`".into()),
            ))
        })
    }
}
