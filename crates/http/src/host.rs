//! The name that a client has for this machine.

use std::net::{IpAddr, Ipv6Addr};

/// Name and port; `None` where it is neither.
fn split(host: &str) -> Option<(&str, &str)> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            name.parse::<Ipv6Addr>().ok()?;
            (name, port)
        }
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            // RFC 3986: a registered name. Above all no `@`, which ends a user's name.
            let fits =
                |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
            name.bytes().all(fits).then_some((name, port))?
        }
    };
    match port.strip_prefix(':') {
        None => port.is_empty().then_some((name, "")),
        Some(digits) => {
            let number = digits.bytes().all(|byte| byte.is_ascii_digit());
            number.then_some((name, digits))
        }
    }
}

/// Whether this is a host with or without a port; an empty one is.
pub(crate) fn is_host(host: &str) -> bool {
    split(host).is_some()
}

/// Whether it is a name of this machine that means nothing elsewhere.
pub(crate) fn is_loopback(host: &str) -> bool {
    let Some((name, _)) = split(host) else {
        return false;
    };
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_known() {
        for name in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9878",
            "127.8.8.8",
            "[::1]:80",
        ] {
            assert!(is_loopback(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "[::2]:80",
            "127.0.0.1:80@evil.example",
            "localhost@evil.example",
        ] {
            assert!(!is_loopback(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_host_is_told_apart() {
        for host in ["", "a", "a:", "a:80", "a-b.example", "[::1]", "[fe80::1]:9"] {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "a:80@evil",
            "a@b",
            "a b",
            "a:b",
            "a:1:2",
            "[::1",
            "[x]:1",
            "[::1]9",
            "a/b",
            "a?",
            "a#",
        ] {
            assert!(!is_host(host), "{host}");
        }
    }
}
