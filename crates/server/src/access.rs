//! Who may ask, and how many at once, in the words of this server.

use warpsmith_core::{Finding, Severity};
use warpsmith_http::Request;
use warpsmith_http::access::{Foreign, Origins, bearer, same_secret};

use crate::error::{ProtocolError, ServeError};

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
    /// What whoever steers the broadcast brings.
    owner: Option<String>,
    origins: Origins,
}

fn refusal(message: &str, hint: &str) -> Box<Finding> {
    Box::new(Finding::new("W008", Severity::Error, message).hint(hint))
}

impl Access {
    pub(crate) fn new(
        token: Option<String>,
        owner: Option<String>,
        origins: Origins,
    ) -> Result<Self, ServeError> {
        if [&token, &owner]
            .into_iter()
            .flatten()
            .any(|one| !is_token(one))
        {
            return Err(ServeError::Token);
        }
        Ok(Self {
            token,
            owner,
            origins,
        })
    }

    /// Whether who brings this may steer what everybody hears. Without an owner those on loopback may:
    /// they are one user's programs. Beyond it the token is for listening.
    pub(crate) fn check_owner(&self, given: Option<&str>) -> Result<(), ProtocolError> {
        match (&self.owner, given) {
            (Some(owner), Some(given)) if same_secret(given, owner) => Ok(()),
            (None, _) if self.origins.loopback => Ok(()),
            (Some(_), _) => Err(ProtocolError::NotOwner {
                hint: "send the owner's token as `owner`, or open the page with `#owner=TOKEN`",
            }),
            (None, _) => Err(ProtocolError::NotOwner {
                hint: "start `serve` with `--owner-token-file`, and send that token as `owner`",
            }),
        }
    }

    /// Whether the request comes from where requests may come from.
    pub(crate) fn check_origin(&self, request: &Request) -> Result<(), Box<Finding>> {
        self.origins
            .check(request)
            .map_err(|foreign| match foreign {
                Foreign::Host => refusal(
                    "the `Host` of the request is not a name of this machine",
                    "use localhost or 127.0.0.1",
                ),
                Foreign::Origin(origin) => {
                    let finding = refusal(
                        "a page of another origin may not use this server",
                        "`--allow-origin` names origins that may",
                    );
                    let origin: String = origin.chars().take(100).collect();
                    Box::new(finding.because("Origin", origin))
                }
            })
    }

    /// The other origin whose page makes this request, where it may.
    pub(crate) fn granted<'a>(&self, request: &'a Request) -> Option<&'a str> {
        self.origins.granted(request)
    }

    /// Whether the request brings the token, where one is needed.
    pub(crate) fn check_token(&self, request: &Request) -> Result<(), Box<Finding>> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        match bearer(request).is_some_and(|given| same_secret(given, token)) {
            true => Ok(()),
            false => Err(refusal(
                "the token is missing or wrong",
                "send `Authorization: Bearer TOKEN`",
            )),
        }
    }
}

/// Long enough not to be guessed, and of letters that need no escapes anywhere.
fn is_token(token: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (16..=128).contains(&token.len()) && token.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broadcast_is_its_owners_and_on_loopback_everybodys() {
        let access = |owner: Option<&str>, loopback| {
            let origins = Origins {
                loopback,
                allowed: Vec::new(),
            };
            Access::new(None, owner.map(str::to_owned), origins).unwrap()
        };
        let owner = "the-owners-own-token";
        for loopback in [true, false] {
            let owned = access(Some(owner), loopback);
            assert!(owned.check_owner(Some(owner)).is_ok());
            for wrong in [None, Some(""), Some("the-owners-own-toke")] {
                assert!(owned.check_owner(wrong).is_err(), "{wrong:?}");
            }
        }
        assert!(access(None, true).check_owner(None).is_ok());
        assert!(access(None, false).check_owner(Some(owner)).is_err());
        let origins = Origins {
            loopback: true,
            allowed: Vec::new(),
        };
        assert!(Access::new(None, Some("short".into()), origins).is_err());
    }

    #[test]
    fn tokens_are_long_and_plain() {
        assert!(is_token("abcdefghijklmnop") && is_token("a-token_of.some-length"));
        for token in ["short", "", "sixteen letters!", "ünsichtbarerSchlüssel"] {
            assert!(!is_token(token), "{token}");
        }
    }
}
