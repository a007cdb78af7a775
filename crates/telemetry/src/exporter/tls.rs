//! TLS for the exporter: certificates from files, read again when they change, so that a renewed
//! certificate needs no restart.
//!
//! Invariants: a certificate that cannot be used when the exporter starts is an error; one that
//! cannot be used later leaves the one before in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is missing or does not hold what it should.
    #[error("cannot use `{path}`: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What was found.
        cause: String,
    },
    /// The files do not go together, or the versions exclude each other.
    #[error("{0}")]
    Settings(String),
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ClientAuth {
    #[default]
    None,
    IfGiven,
    Required,
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TlsVersion {
    Tls12,
    Tls13,
}

/// What the web-config file says about TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsFiles {
    /// The server's certificate and those between it and the authority.
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// Authorities of the clients' certificates.
    pub(super) client_ca: Option<PathBuf>,
    pub(super) clients: ClientAuth,
    pub(super) lowest: TlsVersion,
    pub(super) highest: TlsVersion,
}

impl Default for TlsFiles {
    fn default() -> Self {
        Self {
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            client_ca: None,
            clients: ClientAuth::None,
            lowest: TlsVersion::Tls12,
            highest: TlsVersion::Tls13,
        }
    }
}

/// When each file was last written; a change means that it is read again.
type Stamps = [Option<SystemTime>; 3];

/// TLS in force.
#[derive(Debug)]
pub(super) struct Tls {
    files: TlsFiles,
    current: Mutex<(Stamps, Arc<ServerConfig>)>,
}

impl Tls {
    /// Reads the files.
    pub(super) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let config = server_config(&files)?;
        Ok(Self {
            files,
            current: Mutex::new((stamps, Arc::new(config))),
        })
    }

    /// The certificates for the next connection.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps(&self.files);
        if now != current.0
            && let Ok(config) = server_config(&self.files)
        {
            *current = (now, Arc::new(config));
        }
        Arc::clone(&current.1)
    }

    /// The server's own certificate, as it is in the file now.
    pub(super) fn certificate(&self) -> Result<CertificateDer<'static>, TlsError> {
        let mut chain = certificates(&self.files.certificate)?;
        Ok(chain.swap_remove(0))
    }
}

/// The one implementation of the cryptography.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn stamps(files: &TlsFiles) -> Stamps {
    let written = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|data| data.modified())
            .ok()
    };
    [
        written(&files.certificate),
        written(&files.key),
        files.client_ca.as_deref().and_then(written),
    ]
}

fn refused(path: &Path, cause: impl ToString) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        cause: cause.to_string(),
    }
}

/// The certificates of a PEM file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused(path, error))?;
    if found.is_empty() {
        return Err(refused(path, "there is no certificate in it"));
    }
    Ok(found)
}

fn server_config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let settings = |error: rustls::Error| TlsError::Settings(error.to_string());
    let chain = certificates(&files.certificate)?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| refused(&files.key, error))?;
    let versions: Vec<_> = [
        (TlsVersion::Tls12, &rustls::version::TLS12),
        (TlsVersion::Tls13, &rustls::version::TLS13),
    ]
    .into_iter()
    .filter(|(version, _)| (files.lowest..=files.highest).contains(version))
    .map(|(_, version)| version)
    .collect();
    if versions.is_empty() {
        return Err(TlsError::Settings(
            "`min_version` is above `max_version`".into(),
        ));
    }
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&versions)
        .map_err(settings)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(path)? {
                roots.add(authority).map_err(|error| refused(path, error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
            let verifier = if files.clients == ClientAuth::IfGiven {
                verifier.allow_unauthenticated()
            } else {
                verifier
            };
            builder
                .with_client_cert_verifier(verifier.build().map_err(|error| refused(path, error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(settings)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
