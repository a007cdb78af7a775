//! Basic authentication with bcrypt hashes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpsmith_http::access::{basic, same_secret};

/// The users who may read; nobody needs a password where there are none.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// User and bcrypt hash.
    users: BTreeMap<String, String>,
    /// What the passwords of unknown users are compared with.
    decoy: String,
    /// Authorization headers that were found right. Bcrypt is slow on purpose, and a scraper
    /// sends the same header every few seconds.
    accepted: Mutex<Vec<String>>,
}

/// Salt and hash of nothing that anybody knows: what an unknown user's password is compared with.
const DECOY: &str = "9C8PpnXH1vLdUxyg3f0wQuRrZ6v4BqzXyrg1J0iJ8mEw9j3m6bE6W";

/// A decoy at the cost of the known users' hashes, the highest where they differ: bcrypt's time doubles
/// with each step of it, and must not tell whether the user exists.
fn decoy(users: &BTreeMap<String, String>) -> String {
    let costs = users
        .values()
        .filter_map(|hash| hash.split('$').nth(2)?.parse::<u32>().ok());
    let cost = costs.max().unwrap_or(bcrypt::DEFAULT_COST);
    format!("$2b${cost:02}${DECOY}")
}

impl Users {
    /// Users with their hashes.
    pub(super) fn new(users: BTreeMap<String, String>) -> Self {
        Self {
            decoy: decoy(&users),
            users,
            accepted: Mutex::default(),
        }
    }

    /// Whether everybody may read, or this `Authorization` header was found right before.
    pub(super) fn remembers(&self, authorization: Option<&str>) -> bool {
        let known = |header: &str| {
            self.accepted()
                .iter()
                .any(|known| same_secret(known, header))
        };
        self.users.is_empty() || authorization.is_some_and(known)
    }

    /// Whether a request with this `Authorization` header may read; takes as long as bcrypt does.
    pub(super) fn admits(&self, header: &str) -> bool {
        let Some((user, password)) = basic(header) else {
            return false;
        };
        let hash = self.users.get(&user).unwrap_or(&self.decoy);
        let right =
            bcrypt::verify(password, hash).unwrap_or(false) && self.users.contains_key(&user);
        if right {
            let mut accepted = self.accepted();
            // One header per user is what well-behaved scrapers send.
            if accepted.len() >= self.users.len() {
                accepted.clear();
            }
            accepted.push(header.to_owned());
        }
        right
    }

    fn accepted(&self) -> MutexGuard<'_, Vec<String>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> Users {
        // Cost 4, the cheapest: the tests are about who is let in, not about how slowly.
        let hash = bcrypt::hash("secret", 4).unwrap();
        Users::new(BTreeMap::from([("alice".into(), hash)]))
    }

    #[test]
    fn the_right_password_is_let_in_and_remembered() {
        let users = alice();
        let header = "Basic YWxpY2U6c2VjcmV0"; // alice:secret
        assert!(!users.remembers(Some(header)));
        for _ in 0..3 {
            assert!(users.admits(header));
            assert!(users.remembers(Some(header)));
        }
        assert_eq!(users.accepted().len(), 1);
    }

    #[test]
    fn an_unknown_user_costs_as_much_as_a_known_one() {
        let hash = |cost: u32| format!("$2y${cost:02}${DECOY}");
        for costs in [&[4, 7][..], &[12], &[10, 5]] {
            let users = costs
                .iter()
                .map(|cost| (format!("user{cost}"), hash(*cost)));
            let decoy = Users::new(users.collect()).decoy;
            let most = costs.iter().max().expect("one");
            assert!(decoy.starts_with(&format!("$2b${most:02}$")), "{decoy}");
        }
        // It is a hash that bcrypt compares with, and not an error, which would take no time.
        assert!(matches!(
            bcrypt::verify("x", &decoy(&BTreeMap::from([("a".into(), hash(4))]))),
            Ok(false)
        ));
    }

    #[test]
    fn everything_else_is_not() {
        let users = alice();
        for header in [
            "",
            "Basic",
            "Basic !!!!",
            "Bearer YWxpY2U6c2VjcmV0",
            "Basic YWxpY2U6d3Jvbmc=", // alice:wrong
            "Basic Ym9iOnNlY3JldA==", // bob:secret
        ] {
            assert!(!users.admits(header), "{header:?}");
            assert!(!users.remembers(Some(header)), "{header:?}");
        }
        assert!(!users.remembers(None));
        let open = Users::default();
        assert!(open.remembers(None), "without users it is open");
    }
}
