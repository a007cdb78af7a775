//! Reading a fleet: every exporter at once, each with its deadline, twice where rates are wanted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpsmith_http::client::{Page, ReadError, ReadLimits, Target, read_pages};

use super::reading::HostReading;
use crate::endpoint::Endpoint;
use crate::trust::{TrustError, trust};

/// Longest page: one with eight GPUs and 32 processes on each has 130 kB.
const PAGE_BYTES: usize = 2 << 20;
/// More connections than this at once would need more than the usual number of open files.
const AT_ONCE: usize = 256;

/// Pages in memory at once: those of hosts that answer come one after the other anyway.
const PAGES_AT_ONCE: usize = 32;

/// How to read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// For a host's whole answer.
    pub deadline: Duration,
    /// Between two answers of a host; no shares of time without.
    pub over: Duration,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// Authorities of the exporters' certificates, as PEM.
    pub authorities: Option<PathBuf>,
}

/// Why a fleet cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Certificates of authorities cannot be used.
    #[error(transparent)]
    Authorities(#[from] TrustError),
    /// A host serves TLS and nobody is trusted.
    #[error("`https://{0}` needs `--ca FILE` with the authority of its certificate")]
    NoAuthorities(String),
    /// A Prometheus does not answer, or answers with something else.
    #[error("Prometheus at {place}: {cause}")]
    Prometheus {
        /// Where.
        place: String,
        /// What came instead.
        cause: String,
    },
    /// The system has no sockets or threads.
    #[error("cannot read from the network")]
    Network(#[from] std::io::Error),
}

/// Reads every host; those that cannot be read say why. In the order of `hosts`.
pub fn read_fleet(hosts: &[Endpoint], how: &Reading) -> Result<Vec<HostReading>, FleetError> {
    let tls = how.authorities.as_deref().map(trust).transpose()?;
    let target = |host: &Endpoint| {
        if host.tls && tls.is_none() {
            return Err(FleetError::NoAuthorities(host.to_string()));
        }
        Ok(Target {
            host: host.host.clone(),
            port: host.port,
            path: host.path.clone(),
            headers: authorized(how),
            post: None,
            tls: tls.clone().filter(|_| host.tls),
        })
    };
    let targets = hosts.iter().map(target).collect::<Result<Vec<_>, _>>()?;
    let mut first = BTreeMap::new();
    let mut answered = Instant::now();
    each(hosts, &targets, how, |position, reading| {
        answered = Instant::now();
        first.insert(position, (answered, reading));
    })?;
    if !how.over.is_zero() {
        std::thread::sleep(how.over.saturating_sub(answered.elapsed()));
        // Whoever did not answer is not asked again: the second time would take as long.
        let again: Vec<usize> = first
            .iter()
            .filter(|(_, (_, reading))| reading.down.is_none())
            .map(|(position, _)| *position)
            .collect();
        let some_hosts: Vec<Endpoint> = again.iter().map(|nth| hosts[*nth].clone()).collect();
        let some_targets: Vec<Target> = again.iter().map(|nth| targets[*nth].clone()).collect();
        each(&some_hosts, &some_targets, how, |nth, mut reading| {
            let position = again[nth];
            if let (Some((at, before)), None) = (first.get(&position), &reading.down) {
                reading.since(before, at.elapsed().as_secs_f64());
            }
            first.insert(position, (Instant::now(), reading));
        })?;
    }
    Ok(first.into_values().map(|(_, reading)| reading).collect())
}

/// The header that says who asks.
pub(super) fn authorized(how: &Reading) -> Vec<(String, String)> {
    let header = how.authorization.iter();
    header
        .map(|value| ("authorization".to_owned(), value.clone()))
        .collect()
}

fn each(
    hosts: &[Endpoint],
    targets: &[Target],
    how: &Reading,
    mut take: impl FnMut(usize, HostReading),
) -> std::io::Result<()> {
    let limits = ReadLimits {
        deadline: how.deadline,
        body_bytes: PAGE_BYTES,
        at_once: AT_ONCE,
        pages_at_once: PAGES_AT_ONCE,
    };
    read_pages(targets, limits, |position, page| {
        let host = hosts[position].to_string();
        take(position, understand(host, page));
    })
}

fn understand(host: String, page: Result<Page, ReadError>) -> HostReading {
    let reading = page.map_err(|error| error.to_string()).and_then(|page| {
        let took = page.took.as_secs_f64();
        let text = match page.status {
            200 => std::str::from_utf8(&page.body).map_err(|_| "answers with what is no text")?,
            401 => return Err("wants a user and a password (`--user`, `--password-file`)".into()),
            429 => return Err("refuses more passwords for a while: too many were wrong".into()),
            status => return Err(format!("answers with status {status}")),
        };
        let mut reading = HostReading::of_page(host.clone(), text)?;
        reading.seconds = Some(took);
        Ok(reading)
    });
    reading.unwrap_or_else(|reason: String| HostReading::down(host, reason))
}
