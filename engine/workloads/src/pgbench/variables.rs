//! Variables of one client, accessed by index while a script runs.

use std::collections::HashMap;

use super::error::EvaluationError;
use super::value::Value;

/// Index of a variable, common to all scripts of a program, as their variables are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// Names of a program's variables.
#[derive(Clone, Debug, Default)]
pub struct Names {
    slots: HashMap<Box<[u8]>, Slot>,
    names: Vec<Box<[u8]>>,
}

impl Names {
    /// Slot of a name, allocated if it is new.
    pub fn intern(&mut self, name: &[u8]) -> Slot {
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot = Slot(u32::try_from(self.names.len()).expect("fewer than 2^32 names"));
        self.names.push(name.into());
        self.slots.insert(name.into(), slot);
        slot
    }

    pub fn find(&self, name: &[u8]) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    pub fn name(&self, slot: Slot) -> &[u8] {
        &self.names[slot.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A letter, an underscore or any byte of a non-ASCII character.
pub fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit()
}

pub fn is_name(name: &[u8]) -> bool {
    name.first().copied().is_some_and(begins_name) && name.iter().copied().all(continues_name)
}

#[derive(Clone, Copy, Debug)]
enum TextState {
    Unset,
    /// A text not yet parsed.
    Unread,
    Parsed(Value),
}

/// Text of a variable, if it was set from one; its buffer is reused.
#[derive(Clone, Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    current: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Variables {
    states: Vec<TextState>,
    texts: Vec<Text>,
}

impl Variables {
    /// For the variables in `names`, all unset.
    pub fn new(names: &Names) -> Self {
        Self { states: vec![TextState::Unset; names.len()], texts: vec![Text::default(); names.len()] }
    }

    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.states[slot.0 as usize] = TextState::Parsed(value);
        self.texts[slot.0 as usize].current = false;
    }

    /// Set a text, as by `-D` and `\gset`; it is parsed when an expression first needs its value.
    pub fn set_text(&mut self, slot: Slot, text: &[u8]) {
        let stored_text = &mut self.texts[slot.0 as usize];
        stored_text.bytes.clear();
        stored_text.bytes.extend_from_slice(text);
        stored_text.current = true;
        self.states[slot.0 as usize] = TextState::Unread;
    }

    #[inline]
    pub fn value(&mut self, slot: Slot) -> Result<Value, EvaluationError> {
        match self.states[slot.0 as usize] {
            TextState::Parsed(value) => Ok(value),
            _ => self.read(slot),
        }
    }

    #[cold]
    fn read(&mut self, slot: Slot) -> Result<Value, EvaluationError> {
        let text = &self.texts[slot.0 as usize];
        if !text.current {
            return Err(EvaluationError::Undefined(slot));
        }
        let value = Value::parse(&text.bytes).ok_or(EvaluationError::Malformed(slot))?;
        self.states[slot.0 as usize] = TextState::Parsed(value);
        Ok(value)
    }

    /// Append the variable's text; false if it is unset.
    pub fn write(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let text = &self.texts[slot.0 as usize];
        if text.current {
            out.extend_from_slice(&text.bytes);
            return true;
        }
        match self.states[slot.0 as usize] {
            TextState::Parsed(value) => {
                value.write(out);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(variables: &Variables, slot: Slot) -> Option<String> {
        let mut out = Vec::new();
        variables.write(slot, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn text_keeps_its_form_after_parsing() {
        let mut names = Names::default();
        let (a, b) = (names.intern(b"a"), names.intern(b"b"));
        assert_eq!(names.intern(b"a"), a);
        assert_eq!(names.find(b"c"), None);
        assert_eq!(names.name(b), b"b");

        let mut variables = Variables::new(&names);
        assert_eq!(variables.value(a).unwrap_err(), EvaluationError::Undefined(a));
        assert_eq!(written(&variables, a), None);

        variables.set_text(a, b"+007");
        assert_eq!(variables.value(a).unwrap().integer(), Ok(7));
        assert_eq!(written(&variables, a).as_deref(), Some("+007"));

        variables.set(a, Value::Integer(8));
        assert_eq!(written(&variables, a).as_deref(), Some("8"));

        variables.set_text(b, b"bla");
        assert_eq!(variables.value(b).unwrap_err(), EvaluationError::Malformed(b));
        assert_eq!(written(&variables, b).as_deref(), Some("bla"));
        variables.set_text(b, b"");
        assert_eq!(written(&variables, b).as_deref(), Some(""));
    }

    #[test]
    fn names_follow_pgbench() {
        for (name, good) in [
            ("a", true),
            ("_1", true),
            ("\u{e9}t\u{e9}", true),
            ("1a", false),
            ("", false),
            ("a-b", false),
            (".", false),
        ] {
            assert_eq!(is_name(name.as_bytes()), good, "{name:?}");
        }
    }
}
