//! Checks of responses: when a request counts as succeeded.

use memchr::memmem;
use serde::Deserialize;
use serde_json::json;

use super::pattern::{MatchState, Pattern};
use loadcell_core::error::{Failure, SpecError};

/// Check of a body, as written in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub contains: Option<String>,
    pub equals: Option<String>,
    /// A regular expression.
    pub pattern: Option<String>,
    /// Expected length in bytes.
    pub size: Option<u64>,
}

/// Compiled check of a body.
#[derive(Clone, Debug)]
pub struct Check {
    contains: Option<memmem::Finder<'static>>,
    equals: Option<Vec<u8>>,
    pattern: Option<Pattern>,
    size: Option<u64>,
}

impl Check {
    pub fn read(options: &Options) -> Result<Self, SpecError> {
        Ok(Self {
            contains: options.contains.as_ref().map(|text| memmem::Finder::new(text).into_owned()),
            equals: options.equals.as_ref().map(|text| text.clone().into_bytes()),
            pattern: options.pattern.as_deref().map(Pattern::read).transpose()?,
            size: options.size,
        })
    }
}

/// Incremental check of one response body. Only a tail as long as the searched text is retained.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub bytes: u64,
    matched: bool,
    differs: bool,
    tail: Vec<u8>,
    /// State of the pattern matcher; `None` at the start of the body.
    state: Option<MatchState>,
}

impl Body {
    /// Start the next response.
    #[inline]
    pub fn begin(&mut self) {
        (self.bytes, self.matched, self.differs, self.state) = (0, false, false, None);
        self.tail.clear();
    }

    #[inline]
    pub fn add(&mut self, piece: &[u8], check: Option<&Check>) {
        if let Some(check) = check {
            self.look(piece, check);
        }
        self.bytes += piece.len() as u64;
    }

    fn look(&mut self, piece: &[u8], check: &Check) {
        if let Some(wanted) = &check.equals {
            let from = usize::try_from(self.bytes).unwrap_or(usize::MAX);
            self.differs |= wanted.get(from..from.saturating_add(piece.len())) != Some(piece);
        }
        if let Some(pattern) = &check.pattern {
            self.state = Some(pattern.follow(self.state.unwrap_or(pattern.start()), piece));
        }
        let Some(finder) = check.contains.as_ref().filter(|_| !self.matched) else { return };
        let overlap = finder.needle().len().saturating_sub(1);
        // The end of the previous pieces, and the start of this one.
        self.tail.extend_from_slice(&piece[..piece.len().min(overlap)]);
        self.matched = finder.find(&self.tail).is_some() || finder.find(piece).is_some();
        if piece.len() >= overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - overlap..]);
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(overlap));
        }
    }

    /// Result of the check, once the body is complete.
    #[inline]
    pub fn judge(&self, check: Option<&Check>) -> Result<(), Failure> {
        let Some(check) = check else { return Ok(()) };
        let wrong = |message: String| Err(Failure { code: "body".into(), message });
        if check.size.is_some_and(|size| size != self.bytes) {
            let wanted = check.size.unwrap_or_default();
            return wrong(format!("the body has {} bytes, and was to have {wanted}", self.bytes));
        }
        if check.equals.as_ref().is_some_and(|wanted| self.differs || wanted.len() as u64 != self.bytes) {
            return wrong(format!("the body (of {} bytes) is another than it was to be", self.bytes));
        }
        if let Some(finder) =
            check.contains.as_ref().filter(|finder| !self.matched && !finder.needle().is_empty())
        {
            let text = finder.needle().escape_ascii();
            return wrong(format!("the body (of {} bytes) does not contain \"{text}\"", self.bytes));
        }
        let matches = |pattern: &Pattern| pattern.matches(self.state.unwrap_or(pattern.start()));
        if let Some(pattern) = check.pattern.as_ref().filter(|pattern| !matches(pattern)) {
            return wrong(format!("the body (of {} bytes) does not match {:?}", self.bytes, pattern.text()));
        }
        Ok(())
    }
}

/// Set of status codes that count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses([bool; 1000]);

impl Statuses {
    /// Parse words such as `2xx` and `404`.
    pub fn read(words: &[String]) -> Result<Self, SpecError> {
        let mut accepted = [false; 1000];
        for word in words {
            let class =
                word.strip_suffix("xx").filter(|class| class.len() == 1).and_then(|class| class.parse().ok());
            let range = match (class, word.parse()) {
                (Some(class @ 1..=9), _) => class * 100..class * 100 + 100,
                (None, Ok(status @ 100..=999usize)) => status..status + 1,
                _ => {
                    return Err(SpecError::new(
                        "engine.spec.http-status",
                        "workload.http.success",
                        json!({"status": word}),
                    ));
                }
            };
            accepted[range].fill(true);
        }
        Ok(Self(accepted))
    }

    #[inline]
    pub fn judge(&self, status: u16) -> Result<(), Failure> {
        if self.0.get(usize::from(status)).copied().unwrap_or(false) {
            return Ok(());
        }
        Err(refused(status))
    }
}

#[cold]
fn refused(status: u16) -> Failure {
    Failure { code: format!("http-{status}"), message: format!("the server answered with status {status}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(options: &Options, pieces: &[&[u8]]) -> Result<(), String> {
        let (check, mut body) = (Check::read(options).unwrap(), Body::default());
        body.begin();
        pieces.iter().for_each(|piece| body.add(piece, Some(&check)));
        body.judge(Some(&check)).map_err(|why| {
            assert_eq!(why.code, "body");
            why.message
        })
    }

    #[test]
    fn bodies_are_checked() {
        let size = Options { size: Some(3), ..Options::default() };
        assert_eq!(judge(&size, &[b"ab", b"c"]), Ok(()));
        assert!(judge(&size, &[b"ab"]).unwrap_err().contains("has 2 bytes, and was to have 3"));
        let equals = Options { equals: Some("abc".into()), ..Options::default() };
        assert_eq!(judge(&equals, &[b"a", b"bc"]), Ok(()));
        for other in ["", "ab", "abd", "abcd", "xabc"] {
            assert!(judge(&equals, &[other.as_bytes()]).unwrap_err().contains("another"), "{other}");
        }
        let contains = Options { contains: Some("needle".into()), ..Options::default() };
        assert_eq!(judge(&contains, &[b"hay nee", b"dle hay"]), Ok(()));
        assert!(
            judge(&contains, &[b"hay nee", b" dle"]).unwrap_err().contains("does not contain \"needle\"")
        );
        let pattern = Options { pattern: Some("^nee+dle$".into()), ..Options::default() };
        assert_eq!(judge(&pattern, &[b"nee", b"edle"]), Ok(()));
        assert!(judge(&pattern, &[]).unwrap_err().contains("(of 0 bytes) does not match \"^nee+dle$\""));
        assert!(judge(&pattern, &[b"needle", b"s"]).is_err());
        assert_eq!(judge(&Options { contains: Some(String::new()), ..Options::default() }, &[]), Ok(()));
    }

    #[test]
    fn statuses_are_classes_or_numbers() {
        let good = Statuses::read(&["2xx".into(), "404".into()]).unwrap();
        assert!(good.judge(200).is_ok() && good.judge(299).is_ok() && good.judge(404).is_ok());
        let why = good.judge(500).unwrap_err();
        assert_eq!((why.code.as_str(), why.message.contains("status 500")), ("http-500", true));
        assert!(good.judge(0).is_err());
        for bad in ["", "xx", "20x", "0xx", "22xx", "99", "1000", "-1"] {
            assert!(Statuses::read(&[bad.into()]).is_err(), "{bad}");
        }
    }

    proptest! {
        /// A text is found however the body is split, and only if it is present.
        #[test]
        fn text_is_found_however_the_body_is_split(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"ab"[..]), 0..5),
                0..8),
            text in "[ab]{1,6}",
        ) {
            let options = Options { contains: Some(text.clone()), ..Options::default() };
            let body = String::from_utf8(pieces.concat()).unwrap();
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(judge(&options, &pieces).is_ok(), body.contains(&text));
        }
    }
}
