//! Reading a fleet: every exporter at once, each with its deadline, twice where rates are wanted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use warpsmith_http::client::{Page, ReadError, ReadLimits, Target, read_pages};

use super::hosts::Host;
use super::reading::HostReading;
use crate::exporter::provider;

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
    #[error("cannot use the authorities in `{path}`: {cause}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What was found.
        cause: String,
    },
    /// A host serves TLS and nobody is trusted.
    #[error("`https://{0}` needs `--ca FILE` with the authority of its certificate")]
    NoAuthorities(String),
    /// The system has no sockets or threads.
    #[error("cannot read from the network")]
    Network(#[from] std::io::Error),
}

fn trust(path: &Path) -> Result<Arc<ClientConfig>, FleetError> {
    let unusable = |cause: String| FleetError::Authorities {
        path: path.to_owned(),
        cause,
    };
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("no certificate in it".to_owned()));
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Reads every host; those that cannot be read say why. In the order of `hosts`.
pub fn read_fleet(hosts: &[Host], how: &Reading) -> Result<Vec<HostReading>, FleetError> {
    let tls = how.authorities.as_deref().map(trust).transpose()?;
    let target = |host: &Host| {
        if host.tls && tls.is_none() {
            return Err(FleetError::NoAuthorities(host.to_string()));
        }
        Ok(Target {
            host: host.host.clone(),
            port: host.port,
            path: host.path.clone(),
            authorization: how.authorization.clone(),
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
        let some_hosts: Vec<Host> = again.iter().map(|nth| hosts[*nth].clone()).collect();
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

fn each(
    hosts: &[Host],
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
