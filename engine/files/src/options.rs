//! The `files` section of a workload, and the section of its target.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use loadcell_core::error::{SpecError, within};
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId, Operation, TRANSACTION};
use loadcell_core::spec::{self, Spec};
use loadcell_workloads::keyvalue::values::HEAD;

/// Where the files are, and where clients write their lists of files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    pub directory: PathBuf,
    /// An existing directory outside of the measured file system.
    pub lists: PathBuf,
}

/// Relative frequencies of the operations.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    pub create: f64,
    pub write: f64,
    pub read: f64,
    pub rename: f64,
    pub list: f64,
    pub delete: f64,
}

/// A size in bytes, or a distribution of sizes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Sizes {
    One(u64),
    /// All of them are equally likely.
    List(Vec<u64>),
    /// All sizes of the range are equally likely.
    Range {
        from: u64,
        to: u64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Number of files before the load.
    pub count: u64,
    pub directories: u64,
    pub sizes: Sizes,
    pub mix: Mix,
    /// Written files are on disk before the operation ends.
    pub fsync: bool,
}

/// An operation on a file, or on one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Write,
    Read,
    Rename,
    List,
    Delete,
}

/// Operations of a load, the transaction first; those that its mix lacks are not among them.
pub struct Operations {
    pub listed: Vec<Operation>,
    actions: Vec<Action>,
    /// Cumulative shares.
    choices: Vec<(f64, Action)>,
}

impl Sizes {
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::One(size) => *size,
            Self::List(sizes) => sizes[random.below(sizes.len() as u64) as usize],
            Self::Range { from, to } => random.uniform(*from, *to),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let path = "workload.files.sizes";
        match self {
            Self::One(size) => within(path, *size, HEAD..=u64::from(u32::MAX)),
            Self::List(sizes) if sizes.is_empty() => Err(SpecError::value(path, sizes)),
            Self::List(sizes) => {
                sizes.iter().try_for_each(|size| within(path, *size, HEAD..=u64::from(u32::MAX)))
            }
            Self::Range { from, to } => {
                within(path, *from, HEAD..=*to)?;
                within(path, *to, HEAD..=u64::from(u32::MAX))
            }
        }
    }
}

impl Options {
    pub fn of(spec: &Spec) -> Result<Self, SpecError> {
        let ("files", section) = spec.workload() else {
            return Err(SpecError::workload(spec.workload().0));
        };
        let options: Self = spec::section("workload.files", section)?;
        within("workload.files.directories", options.directories, 1..=1_000_000)?;
        within("workload.files.count", options.count, 0..=u64::from(u32::MAX))?;
        options.sizes.check()?;
        Ok(options)
    }
}

impl Location {
    pub fn of(spec: &Spec) -> Result<Self, SpecError> {
        let missing = || SpecError::value("target.files", Value::Null);
        spec::section("target.files", spec.target.files.as_ref().ok_or_else(missing)?)
    }
}

impl Operations {
    pub fn of(mix: &Mix) -> Result<Self, SpecError> {
        // Without a file that could be renamed or deleted, a client creates one.
        let creates = mix.rename > 0.0 || mix.delete > 0.0;
        let all = [
            ("create", Kind::Write, Action::Create, mix.create),
            ("write", Kind::Write, Action::Write, mix.write),
            ("read", Kind::Read, Action::Read, mix.read),
            ("rename", Kind::Write, Action::Rename, mix.rename),
            ("list", Kind::Read, Action::List, mix.list),
            ("delete", Kind::Write, Action::Delete, mix.delete),
        ];
        let sum: f64 = all.iter().map(|(.., share)| share).sum();
        let valid = all.iter().all(|(.., share)| (0.0..=1e9).contains(share));
        if !valid || sum <= 0.0 {
            return Err(SpecError::value("workload.files.mix", sum));
        }
        let mut operations = Self {
            listed: vec![Operation { name: "transaction", kind: Kind::Transaction }],
            actions: Vec::new(),
            choices: Vec::new(),
        };
        let mut cumulative = 0.0;
        for (name, kind, action, share) in all {
            if share > 0.0 {
                cumulative += share / sum;
                operations.choices.push((cumulative, action));
            } else if action != Action::Create || !creates {
                continue;
            }
            operations.listed.push(Operation { name, kind });
            operations.actions.push(action);
        }
        Ok(operations)
    }

    pub fn choose(&self, random: &mut Random) -> Action {
        random.choose(&self.choices)
    }

    /// Identity of an action in records; the transaction's if it is not among the operations.
    pub fn id(&self, action: Action) -> OpId {
        let index = self.actions.iter().position(|listed| *listed == action);
        index.map_or(TRANSACTION, |index| OpId(index as u16 + 1))
    }

    pub fn has(&self, action: Action) -> bool {
        self.actions.contains(&action)
    }
}
