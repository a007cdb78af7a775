//! Basic authentication with bcrypt hashes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The users who may read; nobody needs a password where there are none.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// User and bcrypt hash.
    users: BTreeMap<String, String>,
    /// Authorization headers that were found right. Bcrypt is slow on purpose, and a scraper
    /// sends the same header every few seconds.
    accepted: Mutex<Vec<String>>,
}

/// A hash of nothing that anybody knows: what an unknown user's password is held against, so that
/// the time of the answer does not tell whether the user exists.
const DECOY: &str = "$2b$10$9C8PpnXH1vLdUxyg3f0wQuRrZ6v4BqzXyrg1J0iJ8mEw9j3m6bE6W";

impl Users {
    /// Users with their hashes.
    pub(super) fn new(users: BTreeMap<String, String>) -> Self {
        Self {
            users,
            accepted: Mutex::default(),
        }
    }

    /// Whether a request with this `Authorization` header may read.
    pub(super) fn admits(&self, authorization: Option<&str>) -> bool {
        if self.users.is_empty() {
            return true;
        }
        let Some(header) = authorization else {
            return false;
        };
        let accepted = || self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if accepted().iter().any(|known| same(known, header)) {
            return true;
        }
        let Some((user, password)) = credentials(header) else {
            return false;
        };
        let hash = self.users.get(&user).map_or(DECOY, String::as_str);
        let right =
            bcrypt::verify(password, hash).unwrap_or(false) && self.users.contains_key(&user);
        if right {
            let mut accepted = accepted();
            // One header per user is what well-behaved scrapers send.
            if accepted.len() >= self.users.len() {
                accepted.clear();
            }
            accepted.push(header.to_owned());
        }
        right
    }
}

/// Compares without ending at the first difference.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .fold(0, |sum, (x, y)| sum | (x ^ y))
            == 0
}

/// User and password of a `Basic` header.
fn credentials(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(decode_base64(encoded.trim())?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| -> Option<u32> {
        Some(
            match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            }
            .into(),
        )
    };
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0;
        for (nth, byte) in four.iter().enumerate() {
            bits |= digit(*byte)? << (18 - 6 * nth);
        }
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        out.extend_from_slice(bytes.get(..four.len().checked_sub(1)?)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> Users {
        // Cost 4, the cheapest: the tests are about who is let in, not about how slowly.
        let hash = bcrypt::hash("secret", 4).unwrap();
        Users::new(BTreeMap::from([("alice".into(), hash)]))
    }

    #[test]
    fn the_right_password_is_let_in_and_remembered() {
        let users = alice();
        for _ in 0..3 {
            assert!(users.admits(Some("Basic YWxpY2U6c2VjcmV0"))); // alice:secret
        }
        assert_eq!(users.accepted.lock().unwrap().len(), 1);
    }

    #[test]
    fn everything_else_is_not() {
        let users = alice();
        for header in [
            None,
            Some(""),
            Some("Basic"),
            Some("Basic !!!!"),
            Some("Bearer YWxpY2U6c2VjcmV0"),
            Some("Basic YWxpY2U6d3Jvbmc="), // alice:wrong
            Some("Basic Ym9iOnNlY3JldA=="), // bob:secret
        ] {
            assert!(!users.admits(header), "{header:?}");
        }
        assert!(Users::default().admits(None), "without users it is open");
    }

    #[test]
    fn base64_is_decoded_at_every_length() {
        for (text, bytes) in [
            ("", ""),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("YWJj", "abc"),
            ("YWJjZA", "abcd"),
        ] {
            assert_eq!(decode_base64(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(decode_base64("Y*=="), None);
    }
}
