//! Asking a running exporter for its health, from the same machine.
//!
//! Where the exporter serves TLS, the certificate that answers has to be the one in the exporter's
//! own file, byte for byte: names and authorities say nothing on loopback.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme,
    StreamOwned,
};

use super::tls::{Tls, provider};
use super::web_config::WebConfig;

/// Asks a running exporter for its health: `Ok` with its answer when it is well, `Err` with what
/// it said, or why it could not be asked. `config` is the exporter's own.
pub fn check_health(
    address: SocketAddr,
    path: &str,
    limit: Duration,
    config: &WebConfig,
) -> Result<String, String> {
    let ask = || -> io::Result<String> {
        let stream = TcpStream::connect_timeout(&address, limit)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        match &config.tls {
            None => exchange(stream, address, path),
            Some(tls) => {
                let name = ServerName::from(address.ip());
                let connection =
                    ClientConnection::new(pinned(tls)?, name).map_err(io::Error::other)?;
                exchange(StreamOwned::new(connection, stream), address, path)
            }
        }
    };
    let answer = ask().map_err(|error| format!("no exporter answers on {address}: {error}"))?;
    let body = answer
        .split_once("\r\n\r\n")
        .map_or("", |(_, body)| body)
        .trim()
        .to_owned();
    if answer.starts_with("HTTP/1.1 200 ") {
        Ok(body)
    } else {
        Err(body)
    }
}

fn exchange(mut stream: impl Read + Write, at: SocketAddr, path: &str) -> io::Result<String> {
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
    )?;
    stream.flush()?;
    let mut answer = String::new();
    stream.take(64 << 10).read_to_string(&mut answer)?;
    Ok(answer)
}

/// A client that trusts the certificate in the exporter's file and no other.
fn pinned(tls: &Tls) -> io::Result<Arc<ClientConfig>> {
    let verifier = Pinned {
        certificate: tls.certificate().map_err(io::Error::other)?,
        provider: provider(),
    };
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *end_entity == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    // Whoever answers also has to hold the certificate's key: that is what the signatures prove.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
