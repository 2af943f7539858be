//! Cookies of one client (RFC 6265). There is one service, so domains are ignored; so is `Secure`, as a
//! service that is tested without TLS may stand behind a proxy that has it.

use std::time::{SystemTime, UNIX_EPOCH};

use loadcell_core::clock::{Nanos, SECOND};

/// Limits per client; a browser has about the same.
const MOST_COOKIES: usize = 50;
const LONGEST: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    expires: Nanos,
}

/// Cookies of one client, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct CookieJar {
    cookies: Vec<Cookie>,
    /// Changes with every change.
    pub version: u64,
    /// Some cookies are only for some paths, or for some time.
    pub varies: bool,
}

impl CookieJar {
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.cookies.clear();
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.version += 1;
        self.varies = self.cookies.iter().any(|cookie| cookie.path != b"/" || cookie.expires != Nanos::MAX);
    }

    /// Take the value of a field `Set-Cookie` of the response to a request of `path`.
    pub fn set(&mut self, field: &[u8], path: &[u8], now: Nanos) {
        let mut parts = field.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let Some((name, value)) = split(pair, b'=').filter(|(name, _)| !name.is_empty()) else { return };
        if pair.len() > LONGEST || pair.iter().any(u8::is_ascii_control) {
            return;
        }
        let mut cookie = Cookie {
            name: name.into(),
            value: value.into(),
            path: directory(path).into(),
            expires: Nanos::MAX,
        };
        let mut has_age = false;
        for part in parts {
            let (key, value) = split(part, b'=').unwrap_or((part, b""));
            if key.eq_ignore_ascii_case(b"path") && value.first() == Some(&b'/') {
                cookie.path = value.into();
            } else if key.eq_ignore_ascii_case(b"max-age") {
                has_age = true;
                cookie.expires = match std::str::from_utf8(value).ok().and_then(|age| age.parse::<i64>().ok())
                {
                    Some(age @ 1..) => now.saturating_add((age as u64).saturating_mul(SECOND)),
                    Some(_) => 0,
                    None => cookie.expires,
                };
            } else if key.eq_ignore_ascii_case(b"expires") && !has_age && is_past(value) {
                cookie.expires = 0;
            }
        }
        self.put(cookie, now);
    }

    fn put(&mut self, cookie: Cookie, now: Nanos) {
        let same = |other: &Cookie| other.name == cookie.name && other.path == cookie.path;
        let position = self.cookies.iter().position(same);
        match position {
            Some(index) if cookie.expires <= now => {
                self.cookies.remove(index);
            }
            _ if cookie.expires <= now => return,
            Some(index) if self.cookies[index] == cookie => return,
            Some(index) => self.cookies[index] = cookie,
            None => {
                if self.cookies.len() >= MOST_COOKIES {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
        }
        self.changed();
    }

    /// Append the value of the field `Cookie` of a request of `path`; nothing if there is none.
    pub fn write(&self, path: &[u8], now: Nanos, out: &mut Vec<u8>) {
        for cookie in self.cookies.iter().filter(|cookie| now < cookie.expires && covers(&cookie.path, path))
        {
            if !out.is_empty() {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
    }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|byte| *byte == at)?;
    Some((text[..position].trim_ascii(), text[position + 1..].trim_ascii()))
}

/// The path of a request without its query.
fn without_query(path: &[u8]) -> &[u8] {
    &path[..path.iter().position(|byte| *byte == b'?').unwrap_or(path.len())]
}

/// Default path of a cookie (section 5.1.4).
fn directory(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => b"/",
        Some(last) => &path[..last],
    }
}

/// True if a cookie of `path` is sent with a request of `request` (section 5.1.4).
fn covers(path: &[u8], request: &[u8]) -> bool {
    let request = without_query(request);
    request
        .strip_prefix(path)
        .is_some_and(|tail| tail.is_empty() || path.last() == Some(&b'/') || tail.first() == Some(&b'/'))
}

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// True if a date lies in the past, to the day: by this servers remove cookies. False if it is no date.
fn is_past(date: &[u8]) -> bool {
    let (mut day, mut month, mut year) = (None, None, None);
    for word in date.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b':') {
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<u64>().ok());
        match number {
            Some(number) if word.len() <= 2 && day.is_none() => day = Some(number),
            Some(number) if year.is_none() => {
                year = Some(match number {
                    0..70 => number + 2000,
                    70..100 => number + 1900,
                    _ => number,
                });
            }
            _ => {
                let named = |name: &&[u8]| word.len() >= 3 && word[..3].eq_ignore_ascii_case(name);
                month = month.or(MONTHS.iter().position(named));
            }
        }
    }
    let (Some(day), Some(month), Some(year)) = (day, month, year) else { return false };
    let today = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    days_since_1970(year.min(9999), month as u64 + 1, day) < today as i64
}

/// Days of the proleptic Gregorian calendar (Hinnant, 2013: "chrono-compatible low-level date algorithms").
fn days_since_1970(year: u64, month: u64, day: u64) -> i64 {
    let year = if month <= 2 { year as i64 - 1 } else { year as i64 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month as i64 + 9) % 12) + 2) / 5 + day as i64 - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(jar: &CookieJar, path: &str, now: Nanos) -> String {
        let mut out = Vec::new();
        jar.write(path.as_bytes(), now, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cookies_are_sent_until_they_are_replaced_or_removed() {
        let mut jar = CookieJar::default();
        jar.set(b"session=abc; Path=/; HttpOnly; Secure", b"/login", 0);
        jar.set(b"theme = dark ;path=/", b"/login", 0);
        assert_eq!((sent(&jar, "/", 1), jar.varies), ("session=abc; theme=dark".into(), false));
        let version = jar.version;
        jar.set(b"session=abc; Path=/", b"/x", 0);
        assert_eq!(jar.version, version, "nothing has changed");
        jar.set(b"session=def==; Path=/", b"/x", 0);
        assert_eq!(sent(&jar, "/cart?x=/", 1), "session=def==; theme=dark");
        jar.set(b"session=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", b"/logout", 5);
        jar.set(b"theme=; Path=/; Max-Age=0; Expires=Fri, 01-Jan-2999 00:00:00 GMT", b"/logout", 5);
        assert!(jar.is_empty());
        jar.set(b"a=1; Path=/; Expires=Fri, 01-Jan-2999 00:00:00 GMT", b"/", 5);
        assert_eq!(sent(&jar, "/", 6), "a=1");
        jar.clear();
        assert_eq!(sent(&jar, "/", 6), "");
    }

    #[test]
    fn cookies_have_paths_and_ages() {
        let mut jar = CookieJar::default();
        jar.set(b"a=1", b"/shop/login?next=/x", 0);
        jar.set(b"b=2; Max-Age=10; Path=/", b"/", 0);
        assert!(jar.varies);
        assert_eq!(sent(&jar, "/shop/cart", 9 * SECOND), "a=1; b=2");
        assert_eq!(sent(&jar, "/shopping", 9 * SECOND), "b=2");
        assert_eq!(sent(&jar, "/shop?x", 11 * SECOND), "a=1");
    }

    #[test]
    fn what_is_no_cookie_is_ignored() {
        let mut jar = CookieJar::default();
        for field in ["", "x", "=x", ";a=b", "a\x01b=c", &format!("a={}", "b".repeat(5000))] {
            jar.set(field.as_bytes(), b"/", 0);
        }
        assert!(jar.is_empty());
        (0..60).for_each(|number| jar.set(format!("c{number}=1; Expires=soon").as_bytes(), b"", 0));
        assert!(sent(&jar, "/", 1).starts_with("c10=1; ") && jar.cookies.len() == MOST_COOKIES);
    }

    #[test]
    fn days_are_counted() {
        assert_eq!((days_since_1970(1970, 1, 1), days_since_1970(2000, 3, 1)), (0, 11_017));
        assert!(is_past(b"Sun, 06 Nov 1994 08:49:37 GMT") && is_past(b"Sunday, 06-Nov-94 08:49:37 GMT"));
        assert!(!is_past(b"Wed, 09 Jun 2999 10:18:14 GMT") && !is_past(b"never") && !is_past(b"0"));
    }
}
