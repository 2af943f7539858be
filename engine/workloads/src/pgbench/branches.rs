//! Structure of `\if`, `\elif`, `\else` and `\endif`, and their jump targets.

use super::compiler::Compiler;
use super::error::Span;
use super::expression::Expression;
use super::lexer::Mistake;
use super::script::Action;

/// An `\if` without its `\endif` so far.
pub(super) struct Open {
    pub(super) span: Span,
    /// The last `\if` or `\elif`, whose `otherwise` is not set yet.
    undecided: Option<usize>,
    /// All `\elif` and `\else`, whose `end` is not set yet.
    branches: Vec<usize>,
    /// State of the pipeline before it.
    pipeline: Option<bool>,
}

impl Compiler<'_, '_> {
    pub(super) fn begin_if(&mut self, condition: Expression, span: Span) {
        let undecided = Some(self.commands.len());
        self.open.push(Open { span, undecided, branches: Vec::new(), pipeline: self.pipeline });
        self.push(Action::If { condition, otherwise: 0 }, span);
    }

    /// Direct the last condition's alternative to the next command. The branch's effect on the pipeline may
    /// not have happened.
    fn next_branch(&mut self, name: &str, span: Span) -> Result<(), Mistake> {
        let here = self.commands.len();
        let Some(open) = self.open.last_mut() else {
            return Err(Mistake::new(span, format!("\\{name} without matching \\if")));
        };
        let Some(undecided) = open.undecided else {
            return Err(Mistake::new(span, format!("\\{name} after \\else"))
                .advise("an \\if has one \\else, the last"));
        };
        match &mut self.commands[undecided].action {
            Action::If { otherwise, .. } | Action::Elif { otherwise, .. } => *otherwise = here,
            _ => unreachable!("only these are undecided"),
        }
        if name == "elif" {
            open.undecided = Some(here);
            open.branches.push(here);
        } else {
            open.undecided = None;
            if name == "else" {
                open.branches.push(here);
            }
        }
        Ok(())
    }

    pub(super) fn elif(&mut self, condition: Expression, span: Span) -> Result<(), Mistake> {
        self.next_branch("elif", span)?;
        self.branch_pipeline();
        self.push(Action::Elif { condition, otherwise: 0, end: 0 }, span);
        Ok(())
    }

    pub(super) fn begin_else(&mut self, span: Span) -> Result<(), Mistake> {
        self.next_branch("else", span)?;
        self.branch_pipeline();
        self.push(Action::Else { end: 0 }, span);
        Ok(())
    }

    /// Restore the pipeline state before the `\if`; if the last branch changed it, the state after it is
    /// unknown.
    fn branch_pipeline(&mut self) {
        if let Some(open) = self.open.last_mut() {
            let before = open.pipeline;
            if self.pipeline != before {
                open.pipeline = None;
            }
            self.pipeline = before;
        }
    }

    pub(super) fn endif(&mut self, span: Span) -> Result<(), Mistake> {
        let here = self.commands.len();
        if self.open.last().is_none_or(|open| open.undecided.is_some()) {
            self.next_branch("endif", span)?;
        }
        if let Some(open) = self.open.pop() {
            if self.pipeline != open.pipeline {
                self.pipeline = None;
            }
            for branch in open.branches {
                match &mut self.commands[branch].action {
                    Action::Elif { end, .. } | Action::Else { end } => *end = here,
                    _ => unreachable!("only these are branches"),
                }
            }
        }
        self.push(Action::Endif, span);
        Ok(())
    }
}
