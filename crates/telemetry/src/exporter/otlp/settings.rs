//! Where to push, how often, and as whom.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::{Defaults, Endpoint};
use crate::trust::TrustError;

/// Where receivers of OTLP/HTTP listen, and their path for metrics.
const DEFAULTS: Defaults = Defaults {
    port: 4318,
    port_of_http: 80,
    port_of_https: 443,
    path: "/v1/metrics",
};
/// Headers that are ours.
const OWN: [&str; 5] = [
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
];

/// How to push.
#[derive(Clone)]
pub struct OtlpSettings {
    /// The receiver.
    pub endpoint: Endpoint,
    /// Headers of every request, such as `authorization`.
    pub headers: Vec<(String, String)>,
    /// Attributes of the resource; they replace ours of the same name.
    pub attributes: Vec<(String, String)>,
    /// Between two batches.
    pub interval: Duration,
    /// For a whole exchange with the receiver.
    pub timeout: Duration,
    /// Authorities of the receiver's certificate, as PEM.
    pub authorities: Option<PathBuf>,
    /// Hears when the receiver stops to take batches, and when it takes them again.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Why metrics cannot be pushed.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The address is none.
    #[error(
        "`{text}`: {why} (hint: write `http://collector:4318` or the receiver's whole address)"
    )]
    Address {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A header or an attribute is none.
    #[error("`{text}`: {why} (hint: write `NAME=VALUE`)")]
    Pair {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Certificates of authorities cannot be used.
    #[error(transparent)]
    Authorities(#[from] TrustError),
    /// The receiver has TLS and nobody is trusted.
    #[error("`https://{0}` needs `--otlp-ca FILE` with the authority of its certificate")]
    NoAuthorities(Endpoint),
    /// The system has no threads.
    #[error("cannot start a thread")]
    Thread(#[from] std::io::Error),
}

impl OtlpSettings {
    /// The receiver at this address: the usual port and path where it names none.
    pub fn endpoint(text: &str) -> Result<Endpoint, OtlpError> {
        Endpoint::parse(text, &DEFAULTS).map_err(|why| OtlpError::Address {
            text: text.to_owned(),
            why,
        })
    }

    /// A header as `NAME=VALUE`.
    pub fn header(text: &str) -> Result<(String, String), OtlpError> {
        // Its value may be a secret.
        let wrong = |shown: &str, why| OtlpError::Pair {
            text: shown.to_owned(),
            why,
        };
        let (name, value) = text.split_once('=').ok_or(wrong("…", "no `=`"))?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(fits) {
            return Err(wrong(&name, "not a name of a header"));
        }
        if OWN.contains(&&*name) {
            return Err(wrong(&name, "this header is set by the protocol"));
        }
        let printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if !value.bytes().all(printable) {
            return Err(wrong(
                &name,
                "its value has letters that no header can have",
            ));
        }
        Ok((name, value.to_owned()))
    }

    /// An attribute as `NAME=VALUE`.
    pub fn attribute(text: &str) -> Result<(String, String), OtlpError> {
        let pair = text.split_once('=');
        let pair = pair.map(|(name, value)| (name.trim(), value.trim()));
        match pair.filter(|(name, _)| !name.is_empty()) {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(OtlpError::Pair {
                text: text.to_owned(),
                why: "not an attribute",
            }),
        }
    }
}

/// Headers of `OTEL_EXPORTER_OTLP_HEADERS`: separated by commas, special letters as `%20`.
pub fn header_list(text: &str) -> Result<Vec<(String, String)>, OtlpError> {
    list(text, OtlpSettings::header)
}

/// Attributes of `OTEL_RESOURCE_ATTRIBUTES`, in the same form.
pub fn attribute_list(text: &str) -> Result<Vec<(String, String)>, OtlpError> {
    list(text, OtlpSettings::attribute)
}

fn list(
    text: &str,
    one: fn(&str) -> Result<(String, String), OtlpError>,
) -> Result<Vec<(String, String)>, OtlpError> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(|part| one(&decoded(part))).collect()
}

/// `%20` as the letter that it stands for; what is no such escape stays.
fn decoded(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escape = (*first == b'%').then(|| behind.get(..2)).flatten();
        let letter = escape.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            let both = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            both.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
        });
        plain.push(letter.unwrap_or(*first));
        rest = if letter.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_usual_port_and_path() {
        let shown = |text: &str| {
            let endpoint = OtlpSettings::endpoint(text).expect(text);
            format!("{endpoint}{} {}", endpoint.path, endpoint.tls)
        };
        assert_eq!(shown("collector"), "collector:4318/v1/metrics false");
        assert_eq!(shown("http://c/"), "c:80/v1/metrics false");
        assert_eq!(shown("https://c"), "c:443/v1/metrics true");
        assert_eq!(
            shown("http://[::1]:9090/api/v1/otlp/v1/metrics"),
            "[::1]:9090/api/v1/otlp/v1/metrics false"
        );
        for wrong in ["", "grpc://c:4317", "http://u:p@c", "c:port", "http://c d"] {
            let error = OtlpSettings::endpoint(wrong).expect_err(wrong).to_string();
            assert!(error.contains("hint:"), "{error}");
        }
    }

    #[test]
    fn lists_are_those_of_the_environment() {
        let headers = header_list("Api-Key=a%20b,authorization=Basic%20eA==, ,x=1%zz").unwrap();
        let headers: Vec<_> = headers
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            headers,
            [
                ("api-key", "a b"),
                ("authorization", "Basic eA=="),
                ("x", "1%zz")
            ]
        );
        let attributes = attribute_list("deployment.environment=prod,rack=r1").unwrap();
        assert_eq!(attributes[1], ("rack".to_owned(), "r1".to_owned()));
    }

    #[test]
    fn wrong_headers_are_named_without_their_values() {
        for (text, why) in [
            ("secret", "no `=`"),
            ("=secret", "not a name"),
            ("a b=secret", "not a name"),
            ("Host=secret", "set by the protocol"),
            ("x=secret\r\ny: z", "letters that no header"),
        ] {
            let error = OtlpSettings::header(text).expect_err(text).to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{error}");
        }
    }
}
