//! Who may ask: the token, the page's origin, the name of this machine, and how many at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use warpsmith_core::{Finding, Severity};

use crate::error::ServeError;
use crate::http::Request;

/// Limits that keep one client from taking the others' place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Listeners, of their own streams and of the broadcast.
    pub listeners: usize,
    /// Connections of one address; loopback is not held to it.
    pub per_client: usize,
    /// Messages a second on one connection.
    pub messages_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            listeners: 2_000,
            per_client: 64,
            messages_per_second: 100,
        }
    }
}

/// Who is let in.
#[derive(Debug)]
pub(crate) struct Access {
    token: Option<String>,
    loopback: bool,
    origins: Vec<String>,
}

fn refusal(message: &str, hint: &str) -> Box<Finding> {
    Box::new(Finding::new("W008", Severity::Error, message).hint(hint))
}

impl Access {
    pub(crate) fn new(
        token: Option<String>,
        loopback: bool,
        origins: Vec<String>,
    ) -> Result<Self, ServeError> {
        let fits = |token: &String| {
            (16..=128).contains(&token.len())
                && token
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if token.as_ref().is_some_and(|token| !fits(token)) {
            return Err(ServeError::Token);
        }
        Ok(Self {
            token,
            loopback,
            origins,
        })
    }

    /// Whether the request comes from where requests may come from.
    pub(crate) fn check_origin(&self, request: &Request) -> Result<(), Box<Finding>> {
        let host = request.header("host").unwrap_or_default();
        // A page elsewhere can give its own name this machine's address (DNS rebinding), but
        // cannot change the name that the browser sends.
        if self.loopback && !is_loopback_name(host) {
            return Err(refusal(
                "the `Host` of the request is no name of this machine",
                "use localhost or 127.0.0.1",
            ));
        }
        let Some(origin) = request.header("origin") else {
            return Ok(());
        };
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let same = authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host));
        if same || self.origins.iter().any(|allowed| allowed == origin) {
            return Ok(());
        }
        let finding = refusal(
            "a page of another origin may not use this server",
            "`--allow-origin` names origins that may",
        );
        let origin: String = origin.chars().take(100).collect();
        Err(Box::new(finding.because("Origin", origin)))
    }

    /// Whether the request brings the token, where one is needed.
    pub(crate) fn check_token(&self, request: &Request) -> Result<(), Box<Finding>> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        // A browser's WebSocket can set no header but this one.
        let protocols = request.header("sec-websocket-protocol").unwrap_or_default();
        let protocol = protocols
            .split(',')
            .find_map(|name| name.trim().strip_prefix("bearer."));
        let given = bearer.or(protocol).or(request.query("token"));
        match given.is_some_and(|given| same(given, token)) {
            true => Ok(()),
            false => Err(refusal(
                "the token is missing or wrong",
                "send `Authorization: Bearer TOKEN`",
            )),
        }
    }
}

/// Compares without telling by its time how much is right.
fn same(given: &str, expected: &str) -> bool {
    let differences = given
        .bytes()
        .zip(expected.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == expected.len() && differences == 0
}

fn is_loopback_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Counts connections by address.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// A place in the count, given back when dropped.
#[derive(Debug)]
pub(crate) struct Door {
    doors: Arc<Doors>,
    address: IpAddr,
}

impl Doors {
    /// A place for a connection from `address`, or why there is none.
    pub(crate) fn enter(
        self: &Arc<Self>,
        address: IpAddr,
        limits: &Limits,
    ) -> Result<Door, Box<Finding>> {
        let full = |message| Box::new(Finding::new("W009", Severity::Error, message));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.values().sum::<usize>() >= limits.connections {
            return Err(full("too many connections"));
        }
        let mine = open.entry(address).or_default();
        if *mine >= limits.per_client && !address.is_loopback() {
            return Err(full("too many connections from this address"));
        }
        *mine += 1;
        Ok(Door {
            doors: Arc::clone(self),
            address,
        })
    }

    /// Open connections.
    pub(crate) fn count(&self) -> usize {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().sum()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut open = self
            .doors
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = open.get_mut(&self.address) {
            *mine -= 1;
            if *mine == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str) -> Request {
        Request::parse(head.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn names_of_this_machine_are_known() {
        for name in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9878",
            "127.8.8.8",
            "[::1]:80",
        ] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "[::2]:80",
        ] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }

    #[test]
    fn foreign_pages_and_foreign_names_are_refused() {
        let access = Access::new(None, true, vec!["https://radio.example".into()]).unwrap();
        for (head, admitted) in [
            ("GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n", true),
            (
                "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n\r\n",
                true,
            ),
            (
                "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:2\r\n\r\n",
                false,
            ),
            (
                "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: null\r\n\r\n",
                false,
            ),
            (
                "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: https://radio.example\r\n\r\n",
                true,
            ),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", false),
        ] {
            assert_eq!(
                access.check_origin(&request(head)).is_ok(),
                admitted,
                "{head}"
            );
        }
    }

    #[test]
    fn the_token_opens_by_header_subprotocol_or_query() {
        assert!(Access::new(Some("short".into()), true, vec![]).is_err());
        let token = "abcdefghijklmnop";
        let access = Access::new(Some(token.into()), false, vec![]).unwrap();
        for (head, admitted) in [
            ("GET /api/status HTTP/1.1\r\n\r\n".to_owned(), false),
            (
                format!("GET /api/status HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n"),
                true,
            ),
            (
                format!("GET /api/status HTTP/1.1\r\nAuthorization: Bearer {token}q\r\n\r\n"),
                false,
            ),
            (
                format!(
                    "GET /ws HTTP/1.1\r\nSec-WebSocket-Protocol: warpsmith-v1, bearer.{token}\r\n\r\n"
                ),
                true,
            ),
            (
                format!("GET /stream.wav?seed=1&token={token} HTTP/1.1\r\n\r\n"),
                true,
            ),
        ] {
            assert_eq!(
                access.check_token(&request(&head)).is_ok(),
                admitted,
                "{head}"
            );
        }
    }

    #[test]
    fn doors_are_counted_by_address() {
        let doors = Arc::new(Doors::default());
        let limits = Limits {
            connections: 5,
            per_client: 2,
            ..Limits::default()
        };
        let [far, near]: [IpAddr; 2] = [[10, 0, 0, 1].into(), [127, 0, 0, 1].into()];
        let open: Vec<_> = (0..2).map(|_| doors.enter(far, &limits).unwrap()).collect();
        assert!(doors.enter(far, &limits).is_err());
        let local: Vec<_> = (0..3)
            .map(|_| doors.enter(near, &limits).unwrap())
            .collect();
        assert!(doors.enter(near, &limits).is_err());
        drop((open, local));
        assert_eq!(doors.count(), 0);
    }
}
