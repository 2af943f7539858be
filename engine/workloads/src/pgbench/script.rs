//! What a script consists of once it is compiled.

use super::error::Span;
use super::expression::Expression;
use super::statement::Statement;
use super::variables::Slot;

/// A script that is ready to run.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    /// How often it is chosen, against the sum of all weights.
    pub weight: u32,
    pub commands: Vec<Command>,
    /// As written: errors show a line of it.
    pub source: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub struct Command {
    pub action: Action,
    /// From its first byte to its last, in the script's source.
    pub place: Span,
}

#[derive(Clone, Debug)]
pub enum Action {
    Sql(Statement),
    Set {
        slot: Slot,
        value: Expression,
    },
    /// Runs a command of the operating system and sets a variable to the integer it prints.
    SetShell {
        slot: Slot,
        words: Box<[Word]>,
    },
    Shell {
        words: Box<[Word]>,
    },
    Sleep {
        count: Count,
        unit_us: i64,
    },
    /// `otherwise` is the number of the `\elif`, `\else` or `\endif` to go on with.
    If {
        condition: Expression,
        otherwise: usize,
    },
    /// `end` is where to go when an earlier branch was taken.
    Elif {
        condition: Expression,
        otherwise: usize,
        end: usize,
    },
    Else {
        end: usize,
    },
    Endif,
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

impl Action {
    /// The meta command's name; none for SQL.
    pub fn meta_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Sql(_) => return None,
            Self::Set { .. } => "set",
            Self::SetShell { .. } => "setshell",
            Self::Shell { .. } => "shell",
            Self::Sleep { .. } => "sleep",
            Self::If { .. } => "if",
            Self::Elif { .. } => "elif",
            Self::Else { .. } => "else",
            Self::Endif => "endif",
            Self::StartPipeline => "startpipeline",
            Self::SyncPipeline => "syncpipeline",
            Self::EndPipeline => "endpipeline",
        })
    }

    /// Whether it runs commands of the operating system, which needs the plan's permission.
    pub fn uses_shell(&self) -> bool {
        matches!(self, Self::SetShell { .. } | Self::Shell { .. })
    }
}

/// A word of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Text(Box<[u8]>),
    Variable(Slot),
}

/// How long to sleep, in the command's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Fixed(i64),
    Variable(Slot),
}
