//! The web-config file: who may read the metrics, in the form that Prometheus' own exporters use.
//!
//! Of that form, `basic_auth_users` with bcrypt hashes is understood. A file that asks for anything
//! else (TLS above all) is refused: serving in the clear what somebody meant to protect would be
//! worse than not serving.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Why a web-config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebConfigError {
    /// The file cannot be read.
    #[error("cannot read the web configuration `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something that is not understood.
    #[error("web configuration `{path}`, line {line}: {what}")]
    NotUnderstood {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What.
        what: String,
    },
}

/// Who may read.
#[derive(Debug, Default)]
pub struct WebConfig {
    /// User and bcrypt hash; nobody needs a password where this is empty.
    users: BTreeMap<String, String>,
    /// Authorization headers that were found right. Bcrypt is slow on purpose, and a scraper
    /// sends the same header every few seconds.
    accepted: Mutex<Vec<String>>,
}

/// A hash of nothing that anybody knows: what an unknown user's password is held against, so that
/// the time of the answer does not tell whether the user exists.
const DECOY: &str = "$2b$10$9C8PpnXH1vLdUxyg3f0wQuRrZ6v4BqzXyrg1J0iJ8mEw9j3m6bE6W";

impl WebConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, WebConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| WebConfigError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|(line, what)| WebConfigError::NotUnderstood {
            path: path.to_owned(),
            line,
            what,
        })
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut users = BTreeMap::new();
        let mut in_users = false;
        for (nth, raw) in text.lines().enumerate() {
            let refused = |what: String| Err((nth + 1, what));
            let line = match raw.find(" #") {
                Some(comment) => &raw[..comment],
                None => raw,
            };
            let (indented, line) = (line.starts_with([' ', '\t']), line.trim());
            if line.is_empty() || line.starts_with('#') || line == "---" {
                continue;
            }
            let Some((key, value)) = line.split_once(':') else {
                return refused(format!("`{line}` is not `name: value`"));
            };
            let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
            let (key, value) = (unquoted(key), unquoted(value));
            match (indented, key.as_str(), value.is_empty()) {
                (false, "basic_auth_users", true) => in_users = true,
                (false, "tls_server_config", _) => {
                    return refused(
                        "TLS is not served by this exporter: put a proxy in front of it, or bind \
                         it to a private address"
                            .into(),
                    );
                }
                (true, _, false) if in_users => {
                    if !value.starts_with("$2") || value.len() != 60 {
                        return refused(format!("the password of `{key}` is not a bcrypt hash"));
                    }
                    users.insert(key, value);
                }
                _ => return refused(format!("`{key}` is not understood")),
            }
        }
        Ok(Self {
            users,
            accepted: Mutex::new(Vec::new()),
        })
    }

    /// Whether a request with this `Authorization` header may read.
    pub fn admits(&self, authorization: Option<&str>) -> bool {
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

    fn config() -> WebConfig {
        // Cost 4, the cheapest: the tests are about who is let in, not about how slowly.
        let hash = bcrypt::hash("secret", 4).unwrap();
        WebConfig::parse(&format!(
            "# who may read\nbasic_auth_users:\n  alice: {hash}\n"
        ))
        .unwrap()
    }

    #[test]
    fn the_right_password_is_let_in_and_remembered() {
        let config = config();
        for _ in 0..3 {
            assert!(config.admits(Some("Basic YWxpY2U6c2VjcmV0"))); // alice:secret
        }
        assert_eq!(config.accepted.lock().unwrap().len(), 1);
    }

    #[test]
    fn everything_else_is_not() {
        let config = config();
        for header in [
            None,
            Some(""),
            Some("Basic"),
            Some("Basic !!!!"),
            Some("Bearer YWxpY2U6c2VjcmV0"),
            Some("Basic YWxpY2U6d3Jvbmc="), // alice:wrong
            Some("Basic Ym9iOnNlY3JldA=="), // bob:secret
        ] {
            assert!(!config.admits(header), "{header:?}");
        }
        assert!(
            WebConfig::default().admits(None),
            "without users it is open"
        );
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let refused = |text: &str| WebConfig::parse(text).unwrap_err();
        let (line, what) = refused("basic_auth_users:\n  a: plain\n");
        assert!(line == 2 && what.contains("not a bcrypt hash"), "{what}");
        let (line, what) = refused("\ntls_server_config:\n  cert_file: x\n");
        assert!(line == 2 && what.contains("TLS"), "{what}");
        assert_eq!(refused("http_server_config: x").0, 1);
        assert_eq!(refused("nonsense").0, 1);
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
