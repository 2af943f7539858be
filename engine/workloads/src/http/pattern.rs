//! Regular expression for bodies, as an automaton that reads the body piece by piece and stores nothing.

use loadcell_core::error::SpecError;
use serde_json::json;
use std::error::Error;

use regex_automata::Anchored;
use regex_automata::dfa::dense::{BuildError, Config, DFA};
use regex_automata::dfa::{Automaton, StartKind};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::util::syntax;

/// Memory limits of an automaton and its construction in bytes: counted repetitions can grow without bound.
const LARGEST: usize = 4 << 20;
const MOST_TO_BUILD: usize = 32 << 20;

#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    automaton: DFA<Vec<u32>>,
    start: StateID,
}

/// Matcher state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchState {
    State(StateID),
    Match,
}

impl Pattern {
    /// Compile a pattern. It matches bytes, with ASCII classes such as `\d` and `\w`: a body need not be
    /// text.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let config = Config::new()
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(LARGEST))
            .determinize_size_limit(Some(MOST_TO_BUILD));
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let states = thompson::Config::new().utf8(false).nfa_size_limit(Some(LARGEST));
        let automaton = DFA::builder().configure(config).syntax(syntax).thompson(states).build(text);
        let automaton = automaton.map_err(|error| wrong(text, &error))?;
        let start = automaton.start_state(&start::Config::new().anchored(Anchored::No));
        let start = start.map_err(|error| refused(text, &error.to_string()))?;
        Ok(Self { text: text.into(), automaton, start })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// State at the start of a body.
    #[inline]
    pub fn start(&self) -> MatchState {
        MatchState::State(self.start)
    }

    #[inline]
    pub fn follow(&self, from: MatchState, piece: &[u8]) -> MatchState {
        let MatchState::State(mut state) = from else { return from };
        for &byte in piece {
            state = self.automaton.next_state(state, byte);
            if self.automaton.is_special_state(state) {
                if self.automaton.is_match_state(state) {
                    return MatchState::Match;
                }
                if self.automaton.is_dead_state(state) {
                    break;
                }
            }
        }
        MatchState::State(state)
    }

    /// True if the body that ends here matches.
    pub fn matches(&self, state: MatchState) -> bool {
        match state {
            MatchState::Match => true,
            MatchState::State(state) => self.automaton.is_match_state(self.automaton.next_eoi_state(state)),
        }
    }
}

#[cold]
fn wrong(text: &str, error: &BuildError) -> SpecError {
    let mut innermost: &(dyn Error + 'static) = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let states = innermost.downcast_ref::<thompson::BuildError>();
    if error.is_size_limit_exceeded() || states.is_some_and(|states| states.size_limit().is_some()) {
        let arguments = json!({"pattern": text});
        return SpecError::new("engine.spec.pattern-size", "workload.http.requests.check.pattern", arguments);
    }
    // The last line; those before it point at the position in the pattern.
    let message = innermost.to_string();
    let message = message.lines().last().unwrap_or_default();
    refused(text, message.strip_prefix("error: ").unwrap_or(message))
}

fn refused(text: &str, why: &str) -> SpecError {
    let arguments = json!({"pattern": text, "said": why});
    SpecError::new("engine.spec.pattern", "workload.http.requests.check.pattern", arguments)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, pieces: &[&[u8]]) -> bool {
        let pattern = Pattern::read(pattern).unwrap();
        pattern.matches(pieces.iter().fold(pattern.start(), |state, piece| pattern.follow(state, piece)))
    }

    #[test]
    fn pattern_matches_anywhere_unless_anchored() {
        assert!(matches(r#""price":\s*\d+\.\d\d"#, &[br#"{"id": 7, "pri"#, br#"ce":  12"#, br#".50}"#]));
        assert!(!matches(r#""price":\s*\d+\.\d\d"#, &[br#"{"price": 12.5}"#]));
        assert!(matches("^a+$", &[b"aa", b"a"]) && !matches("^a+$", &[b"aa", b"b"]) && !matches("^a+$", &[]));
        assert!(matches("^$", &[]) && matches("x?", &[]) && !matches("^$", &[b"x"]));
        assert!(matches("(?i)ok", &[b"it is O", b"K"]));
        assert!(matches(r"\bok\b", &[b"is ok"]) && !matches(r"\bok\b", &[b"token"]));
        assert!(
            matches(r"(?m)^b$", &[b"a\nb\nc"])
                && matches(r"(?s)a.b", &[b"a\nb"])
                && !matches("a.b", &[b"a\nb"])
        );
    }

    #[test]
    fn patterns_match_bytes_and_unicode() {
        assert!(matches(r"\x00\xff+\x01", &[&[7, 0, 255], &[255, 1]]));
        assert!(matches("价格：\\d+", &["价格".as_bytes(), "：42".as_bytes()]));
        assert!(!matches("价格：\\d+", &["价格：x".as_bytes()]));
    }

    #[test]
    fn invalid_patterns_are_reported() {
        let wrong = |text: &str| Pattern::read(text).unwrap_err();
        assert_eq!(wrong("(a").arguments, json!({"pattern": "(a", "said": "unclosed group"}));
        assert!(wrong("a{2,1}").to_string().contains("invalid repetition count range"));
        assert!(wrong("*").to_string().contains("repetition operator missing expression"));
        assert!(wrong(r"(?=a)").to_string().contains("look-around"));
        let large = wrong("[ab]*a[ab]{40}$");
        assert!(large.to_string().contains("pattern-size"), "{large:?}");
        assert!(wrong("(a{1000}){1000}").to_string().contains("pattern-size"));
    }

    proptest! {
        #[test]
        fn matches_do_not_depend_on_splitting(
            pattern in prop::sample::select(vec!["ab+a", "^b*a", "a(b|ba)$", "aaa|bbb", "^(ab)*$"]),
            body in prop::collection::vec(prop::sample::select(&b"ab"[..]), 0..12),
            cut in 0usize..12,
        ) {
            let (first, second) = body.split_at(cut.min(body.len()));
            prop_assert_eq!(matches(pattern, &[first, second]), matches(pattern, &[&body]));
        }
    }
}
