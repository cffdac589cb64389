//! The server's certificate: a given one, or one that the server makes at its first start.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring as provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConfig;

use crate::error::{plain, AgentError};

/// The name in a certificate that the server makes; clients recognize the certificate by its fingerprint.
const NAME: &str = "groupflow-gather";

/// The certificate by which a server is recognized.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The TLS configuration of all connections.
    pub config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, in hexadecimal digits.
    pub fingerprint: String,
    /// Whether the certificate was made just now.
    pub made: bool,
}

impl Identity {
    /// Reads PEM files: the certificate, with its chain, and its key. If neither exists, both are made.
    pub fn open(certificate: &Path, key: &Path) -> Result<Identity, AgentError> {
        let made = !certificate.exists() && !key.exists();
        if made {
            make(certificate, key)?;
        }
        let chain = CertificateDer::pem_file_iter(certificate).and_then(|items| items.collect());
        let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| unusable(certificate, &error))?;
        let Some(own) = chain.first() else { return Err(unusable(certificate, &"it has no certificate")) };
        let fingerprint = fingerprint(own);
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|error| unusable(certificate, &error))?;
        // Every connection makes a full handshake; no tickets allow resumption.
        config.send_tls13_tickets = 0;
        Ok(Identity { config: Arc::new(config), fingerprint, made })
    }
}

/// SHA-256 of a certificate, as hexadecimal digits.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn make(certificate: &Path, key: &Path) -> Result<(), AgentError> {
    let made =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|e| unusable(certificate, &e))?;
    // The key is written first, readable only by its owner: a certificate without a key is of no use.
    write(key, &made.key_pair.serialize_pem(), 0o600)?;
    write(certificate, &made.cert.pem(), 0o644)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), AgentError> {
    let opened = File::options().write(true).create_new(true).mode(mode).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let cause = format!("cannot write {}: {}", path.display(), plain(&error));
        AgentError::new("tls", cause, "choose another path")
    })
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> AgentError {
    let why = why.to_string().replace('\n', " ");
    let cure = "name a PEM file, or remove certificate and key to have new ones made";
    AgentError::new("tls", format!("cannot use {}: {why}", path.display()), cure)
}
