//! A request as applications see it: checked, and with its body.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use tokio::time::timeout;

use crate::host::is_host;
use crate::limits::Limits;
use crate::refusal::Refusal;

/// A request whose body has arrived.
#[derive(Clone, Debug)]
pub struct Request {
    method: hyper::Method,
    path: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    host: String,
    body: Bytes,
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is answered with this.
    Refused(Refusal),
    /// The connection broke, or what came is no body.
    Broken(hyper::Error),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Request {
    /// Checks a head.
    pub(crate) fn new(head: Parts) -> Result<Self, Refusal> {
        let Parts {
            method,
            uri,
            headers,
            ..
        } = head;
        let text = |value: &header::HeaderValue| std::str::from_utf8(value.as_bytes()).is_ok();
        if !headers.values().all(text) {
            return Err(Refusal::NotText);
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().map_or("", |value| text_of(value));
        // Two hosts are how a request is meant for one server and served by another.
        if hosts.next().is_some() || !is_host(host) {
            return Err(Refusal::Host);
        }
        // RFC 9112, 3.2.2: where the target names a host, that is the one.
        let host = match uri.authority() {
            None => host.to_owned(),
            Some(authority) if is_host(authority.as_str()) => authority.as_str().to_owned(),
            Some(_) => return Err(Refusal::Host),
        };
        let query = uri.query().unwrap_or_default();
        Ok(Self {
            path: unescaped(uri.path()),
            query: query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (unescaped(name), unescaped(value)))
                .collect(),
            method,
            headers,
            host,
            body: Bytes::new(),
        })
    }

    /// The request with its body.
    pub(crate) async fn receive(
        head: Parts,
        body: Incoming,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let mut request = Self::new(head)?;
        if request.headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(Refusal::NoLength.into());
        }
        match timeout(limits.body, collect(body, limits.body_bytes)).await {
            Ok(received) => request.body = received?,
            Err(_) => return Err(Refusal::BodyTooSlow.into()),
        }
        Ok(request)
    }

    /// The method in capitals.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The path without its escapes.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the client calls this machine; empty where it does not.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// A header by its name in lower case; the first of several.
    pub fn header(&self, name: &'static str) -> Option<&str> {
        let value = self.headers.get(HeaderName::from_static(name));
        value.map(|value| text_of(value).trim())
    }

    /// Whether a header with a list of words holds this one.
    pub fn has_word(&self, name: &'static str, word: &str) -> bool {
        has_word(&self.headers, HeaderName::from_static(name), word)
    }

    /// A value of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All of the query.
    pub fn queries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Values are known to be text once the head was checked.
fn text_of(value: &header::HeaderValue) -> &str {
    std::str::from_utf8(value.as_bytes()).unwrap_or_default()
}

pub(crate) fn has_word(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    values
        .flat_map(|value| text_of(value).split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(word))
}

/// The whole body, unless it is longer than `most`.
async fn collect(mut body: Incoming, most: usize) -> Result<Bytes, Failure> {
    // A length that is given is refused before anything is read.
    if body.size_hint().lower() > most as u64 {
        return Err(Refusal::BodyTooLong.into());
    }
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(Failure::Broken)?.into_data() else {
            continue;
        };
        if whole.len() + data.len() > most {
            return Err(Refusal::BodyTooLong.into());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// `%41` and `+` as what they stand for; what is no escape stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.first_chunk::<2>().and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        rest = match (first, digits) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                &after[2..]
            }
            (b'+', _) => {
                bytes.push(b' ');
                after
            }
            _ => {
                bytes.push(*first);
                after
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A request as it would arrive, for tests of rules.
#[cfg(test)]
pub(crate) fn request(target: &str, headers: &[(&'static str, &str)]) -> Result<Request, Refusal> {
    let mut request = hyper::Request::builder().uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).map_err(|_| Refusal::NotHttp)?;
    Request::new(request.into_parts().0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_taken_apart() {
        let headers = [("host", "a"), ("connection", "Keep-Alive, Upgrade")];
        let request = request("/api/render?seed=7&key=F%23&x", &headers).unwrap();
        assert_eq!((request.path(), request.host()), ("/api/render", "a"));
        assert_eq!(
            (request.query("key"), request.query("x")),
            (Some("F#"), Some(""))
        );
        assert!(request.has_word("connection", "upgrade"));
        assert_eq!(request.queries().count(), 3);
    }

    #[test]
    fn a_target_with_a_host_has_that_host() {
        let request = request("http://other:80/a%20b", &[("host", "a")]).unwrap();
        assert_eq!((request.path(), request.host()), ("/a b", "other:80"));
    }

    #[test]
    fn hosts_that_are_none_or_two_are_refused() {
        let refused = |headers: &[(&'static str, &str)]| request("/", headers).unwrap_err();
        assert_eq!(refused(&[("host", "a:80@evil")]), Refusal::Host);
        assert_eq!(refused(&[("host", "a"), ("host", "a")]), Refusal::Host);
    }

    proptest! {
        #[test]
        fn arbitrary_escapes_never_panic(text in "[%a-f0-9+é]{0,40}") {
            let _ = unescaped(&text);
        }
    }
}
