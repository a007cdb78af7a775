//! Why something is answered without the application being asked.

use std::fmt;

use crate::doors::Full;

/// What was wrong with a request, or with the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not a request that can be read.
    NotHttp,
    /// Another version of the protocol.
    Version,
    /// The head is longer, or has more headers, than is allowed.
    HeadTooLong,
    /// A header is not UTF-8.
    NotText,
    /// More than one `Host`, or one that is no host.
    Host,
    /// A body without a length.
    NoLength,
    /// The body is longer than is allowed.
    BodyTooLong,
    /// The body did not come in time.
    BodyTooSlow,
    /// Too many connections.
    Full(Full),
}

impl Refusal {
    /// The status that goes with it.
    pub fn status(self) -> u16 {
        match self {
            Self::NotHttp | Self::NotText | Self::Host => 400,
            Self::BodyTooSlow => 408,
            Self::NoLength => 411,
            Self::BodyTooLong => 413,
            Self::HeadTooLong => 431,
            Self::Full(_) => 503,
            Self::Version => 505,
        }
    }

    /// What hyper could not parse.
    pub(crate) fn of(error: &hyper::Error) -> Self {
        // hyper tells the version apart from other errors in its text alone.
        if error.is_parse_version_h2() || error.to_string().starts_with("invalid HTTP version") {
            Self::Version
        } else if error.is_parse_too_large() {
            Self::HeadTooLong
        } else {
            Self::NotHttp
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHttp => "this is not HTTP",
            Self::Version => "this is not HTTP/1.1",
            Self::HeadTooLong => "the request's head is too long",
            Self::NotText => "a header is not text",
            Self::Host => "the `Host` is not one host",
            Self::NoLength => "say how long the body is",
            Self::BodyTooLong => "the body is too long",
            Self::BodyTooSlow => "the body did not come in time",
            Self::Full(Full::InAll) => "too many connections",
            Self::Full(Full::PerClient) => "too many connections from this address",
        })
    }
}
