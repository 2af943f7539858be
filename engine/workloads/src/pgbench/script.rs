//! Compiled scripts.

use super::error::Span;
use super::expression::Expression;
use super::statement::Statement;
use super::variables::Slot;

/// A compiled script.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    /// Relative frequency.
    pub weight: u32,
    pub commands: Vec<Command>,
    /// Source text, for errors.
    pub source: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub struct Command {
    pub action: Action,
    /// Source range.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Action {
    Sql(Statement),
    Set {
        slot: Slot,
        value: Expression,
    },
    /// Run a shell command and set a variable to the integer that it prints.
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
    /// `otherwise` is the index of the `\elif`, `\else` or `\endif` to continue with.
    If {
        condition: Expression,
        otherwise: usize,
    },
    /// `end` is the jump target if an earlier branch was taken.
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
    /// Name of the meta command; `None` for SQL.
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

    /// True if it runs shell commands, which the plan must permit.
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

/// Duration of a sleep, in the command's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Fixed(i64),
    Variable(Slot),
}
