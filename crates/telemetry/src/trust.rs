//! Whose certificates we believe, when we are the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::exporter::provider;

/// Certificates of authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the authorities in `{path}`: {cause}")]
pub struct TrustError {
    /// The file.
    pub path: PathBuf,
    /// What was found.
    pub cause: String,
}

/// Trusts those whom the authorities in a PEM file vouch for, and nobody else.
pub(crate) fn trust(path: &Path) -> Result<Arc<ClientConfig>, TrustError> {
    let unusable = |cause: String| TrustError {
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
