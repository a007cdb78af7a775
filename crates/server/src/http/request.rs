//! A request's head, and how long its body is.

/// Longest head.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// Longest body.
const MOST_BODY_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 64;

/// A request whose head has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    pub(crate) keep_alive: bool,
    pub(crate) body_bytes: usize,
    pub(crate) body: Vec<u8>,
}

/// Why a request is answered with nothing but this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) why: &'static str,
}

impl Request {
    /// Reads a head: the request and how many bytes it took, or `None` while it is not all here.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refused> {
        let refused = |status, why| Err(Refused { status, why });
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= MOST_HEAD_BYTES => length,
            Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD_BYTES => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return refused(431, "the request's head is too long");
            }
            Err(_) => return refused(400, "this is not HTTP"),
        };
        let target = parsed.path.unwrap_or("/");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: unescaped(path),
            query: query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (unescaped(name), unescaped(value)))
                .collect(),
            keep_alive: parsed.version == Some(1),
            ..Self::default()
        };
        for header in parsed.headers.iter() {
            let Ok(value) = std::str::from_utf8(header.value) else {
                return refused(400, "a header is not text");
            };
            request
                .headers
                .push((header.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if request.has_word("connection", "close") {
            request.keep_alive = false;
        }
        if request.header("transfer-encoding").is_some() {
            return refused(411, "say how long the body is");
        }
        let lengths: Vec<_> = request
            .headers
            .iter()
            .filter(|(name, _)| name == "content-length")
            .collect();
        request.body_bytes = match lengths[..] {
            [] => 0,
            // Two lengths are how one request is smuggled inside another.
            [(_, length)] => match length.parse() {
                Ok(length) => length,
                Err(_) => return refused(400, "the body's length is no number"),
            },
            _ => return refused(400, "the body has two lengths"),
        };
        if request.body_bytes > MOST_BODY_BYTES {
            return refused(413, "the body is too long");
        }
        Ok(Some((request, length)))
    }

    /// A header by its name in lower case; the first of several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a header with a list of words holds this one.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        let values = self.headers.iter().filter(|(known, _)| known == name);
        values
            .flat_map(|(_, value)| value.split(','))
            .any(|value| value.trim().eq_ignore_ascii_case(word))
    }

    /// A value of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All of the query.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_taken_apart() {
        let text = "POST /api/render?seed=7&key=F%23&x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: Keep-Alive, Upgrade\r\n\r\nabc";
        let (request, length) = Request::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(&text[length..], "abc");
        assert_eq!(
            (request.path.as_str(), request.body_bytes),
            ("/api/render", 3)
        );
        assert_eq!(
            (request.query("key"), request.query("x")),
            (Some("F#"), Some(""))
        );
        assert!(request.has_word("connection", "upgrade") && request.keep_alive);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(20_000));
        for (text, status) in [
            ("\x16\x03\x01\x02\x00", 400),
            ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            (
                "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                400,
            ),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
            (long.as_str(), 431),
        ] {
            assert_eq!(
                Request::parse(text.as_bytes()).unwrap_err().status,
                status,
                "{text:.60}"
            );
        }
        assert_eq!(Request::parse(b"GET / HTTP/1.1\r\nHost"), Ok(None));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Request::parse(&bytes);
        }

        #[test]
        fn arbitrary_escapes_never_panic(text in "[%a-f0-9+é]{0,40}") {
            let _ = unescaped(&text);
        }
    }
}
