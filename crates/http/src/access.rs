//! Who may ask: the name of this machine, the page's origin, tokens and passwords.
//!
//! Invariant: a secret is compared in a time that does not tell how much of it is right.

use warpsmith_formats::base64;

use crate::host::is_loopback;
use crate::request::Request;

/// From where requests may come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Only names of this machine are served: it listens on loopback.
    pub loopback: bool,
    /// Pages of other origins that may connect.
    pub allowed: Vec<String>,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign<'a> {
    /// It calls this machine by another name.
    Host,
    /// It is made by a page of this origin.
    Origin(&'a str),
}

impl Origins {
    /// Whether the request comes from where requests may come from.
    pub fn check<'a>(&self, request: &'a Request) -> Result<(), Foreign<'a>> {
        // A page elsewhere can give its own name this machine's address (DNS rebinding), but
        // cannot change the name that the browser sends.
        if self.loopback && !is_loopback(request.host()) {
            return Err(Foreign::Host);
        }
        let Some(origin) = request.header("origin") else {
            return Ok(());
        };
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let same =
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(request.host()));
        if same || self.allowed.iter().any(|allowed| allowed == origin) {
            return Ok(());
        }
        Err(Foreign::Origin(origin))
    }

    /// The other origin whose page makes this request, where it may.
    pub fn granted<'a>(&self, request: &'a Request) -> Option<&'a str> {
        let origin = request.header("origin")?;
        let is_named = self.allowed.iter().any(|allowed| allowed == origin);
        is_named.then_some(origin)
    }
}

/// The token of a request: a header, a WebSocket's subprotocol (a browser can set no other header
/// there), or the query.
pub fn bearer(request: &Request) -> Option<&str> {
    let header = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let protocols = request.header("sec-websocket-protocol").unwrap_or_default();
    let protocol = protocols
        .split(',')
        .find_map(|name| name.trim().strip_prefix("bearer."));
    header.or(protocol).or(request.query("token"))
}

/// User and password of a `Basic` header.
pub fn basic(authorization: &str) -> Option<(String, String)> {
    let (scheme, encoded) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(base64::decode(encoded.trim())?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Compares secrets without ending at the first difference.
pub fn same_secret(given: &str, expected: &str) -> bool {
    let differences = given
        .bytes()
        .zip(expected.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == expected.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn foreign_pages_and_foreign_names_are_refused() {
        let origins = Origins {
            loopback: true,
            allowed: vec!["https://radio.example".into()],
        };
        let check = |headers: &[(&'static str, &str)]| {
            origins.check(&request("/", headers).unwrap()).is_ok()
        };
        let here = ("host", "localhost:1");
        assert!(check(&[here]));
        assert!(check(&[here, ("origin", "http://localhost:1")]));
        assert!(!check(&[here, ("origin", "http://localhost:2")]));
        assert!(!check(&[here, ("origin", "null")]));
        assert!(check(&[here, ("origin", "https://radio.example")]));
        assert!(!check(&[("host", "evil.example")]));
        assert!(!check(&[]));
    }

    #[test]
    fn a_token_comes_by_header_subprotocol_or_query() {
        let token = |target: &str, headers: &[(&'static str, &str)]| {
            bearer(&request(target, headers).unwrap()).map(str::to_owned)
        };
        assert_eq!(token("/", &[]), None);
        assert_eq!(token("/", &[("authorization", "Basic x")]), None);
        let header = [("authorization", "Bearer x")];
        assert_eq!(token("/", &header).as_deref(), Some("x"));
        let protocol = [("sec-websocket-protocol", "warpsmith-v1, bearer.x")];
        assert_eq!(token("/ws", &protocol).as_deref(), Some("x"));
        assert_eq!(token("/a?seed=1&token=x", &[]).as_deref(), Some("x"));
    }

    #[test]
    fn basic_headers_are_read_with_and_without_padding() {
        let alice = Some(("alice".to_owned(), "secret".to_owned()));
        assert_eq!(basic("Basic YWxpY2U6c2VjcmV0"), alice);
        assert_eq!(basic("basic  YWxpY2U6c2VjcmV0 "), alice);
        let short = Some(("a".to_owned(), "b".to_owned()));
        assert_eq!(basic("Basic YTpi"), short);
        let padded = Some(("a".to_owned(), String::new()));
        assert_eq!(basic("Basic YTo="), padded);
        assert_eq!(basic("Basic YTo"), padded);
        for wrong in ["", "Basic", "Basic !!!!", "Bearer YTpi", "Basic YQ=="] {
            assert_eq!(basic(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_the_same_or_not() {
        assert!(same_secret("abc", "abc"));
        assert!(!same_secret("abd", "abc") && !same_secret("ab", "abc") && !same_secret("", "abc"));
    }
}
