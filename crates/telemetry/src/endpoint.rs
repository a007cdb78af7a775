//! The address of something that answers by HTTP, as people write it.

use std::fmt;
use std::net::Ipv6Addr;

/// Where something listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path, from the first `/`.
    pub path: String,
    /// Whether it serves TLS.
    pub tls: bool,
}

/// What an address means that does not say it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    /// The port of a host without a scheme.
    pub(crate) port: u16,
    /// The port of `http://`.
    pub(crate) port_of_http: u16,
    /// The port of `https://`.
    pub(crate) port_of_https: u16,
    /// The path.
    pub(crate) path: &'static str,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Endpoint {
    /// Reads `host`, `host:port`, `[::1]:port` or a URL; an error says what is wrong with it.
    pub(crate) fn parse(text: &str, defaults: &Defaults) -> Result<Self, &'static str> {
        let (tls, usual_port, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, defaults.port_of_http, rest),
            Some(("https", rest)) => (true, defaults.port_of_https, rest),
            Some(_) => return Err("neither http nor https"),
            None => (false, defaults.port, text),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("no passwords in addresses: use `--user` and `--password-file`");
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (host, port) = inner.split_once(']').ok_or("a `[` without its `]`")?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let named = !host.is_empty() && host.bytes().all(fits);
        if !named && host.parse::<Ipv6Addr>().is_err() {
            return Err("not a name or an address");
        }
        let printable = |byte: u8| byte.is_ascii_graphic();
        if !path.bytes().all(printable) {
            return Err("not a path");
        }
        Ok(Self {
            host: host.to_owned(),
            port: match port {
                Some(port) => port.parse().map_err(|_| "not a port")?,
                None => usual_port,
            },
            path: match path {
                "" | "/" => defaults.path.to_owned(),
                path => path.to_owned(),
            },
            tls,
        })
    }
}
