//! Addresses to listen on, as people write them.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Result, bail};

/// `127.0.0.1:9877`, `[::1]:9877`, `localhost:9877` or `:9877`. Without an address it is loopback:
/// whoever wants to be heard from elsewhere says so.
pub fn socket_address(text: &str) -> Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = match text.rsplit_once(':') {
        Some((host, port)) if host.is_empty() || host.eq_ignore_ascii_case("localhost") => {
            port.parse::<u16>().ok()
        }
        _ => None,
    };
    match port {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => bail!(
            "`{text}` is not an address with a port: use 127.0.0.1:9877, [::1]:9877, \
             localhost:9877 or :9877 (loopback)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_loopback() {
        for (text, address) in [
            ("localhost:9877", "127.0.0.1:9877"),
            ("LOCALHOST:1", "127.0.0.1:1"),
            (":9877", "127.0.0.1:9877"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(socket_address(text).unwrap().to_string(), address);
        }
        for text in [
            "",
            ":",
            ":x",
            ":70000",
            "localhost",
            "9877",
            "evil:80",
            "::1:80x",
        ] {
            let error = socket_address(text).unwrap_err().to_string();
            assert!(error.contains("not an address with a port"), "{error}");
        }
    }
}
