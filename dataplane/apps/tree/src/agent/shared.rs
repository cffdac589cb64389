//! The tree's certificate: the dispatchers give it, with its key, to every host that has the token. By this
//! certificate hosts that connect recognize each other as hosts of the tree.

use std::net::SocketAddrV4;
use std::sync::Arc;

use groupflow_base::Digest;
use groupflow_host::error::AgentError;
use groupflow_host::tls::{fingerprint, Trust};
use rustls::crypto::ring as provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Connection, ServerConfig, ServerConnection};

use crate::machine::dialogue::CertifiedKey;

/// The TLS configurations of connections to and from other hosts.
#[derive(Debug, Clone)]
pub struct TreeIdentity {
    config: Arc<ServerConfig>,
    pin: Digest,
}

impl TreeIdentity {
    /// Parses what the dispatchers sent.
    pub fn parse(given: Option<&CertifiedKey>) -> Result<TreeIdentity, AgentError> {
        let wrong = |why: &dyn std::fmt::Display| {
            let cause =
                format!("the tree's certificate cannot be used: {}", why.to_string().replace('\n', " "));
            AgentError::new("tls", cause, "check that dispatchers and hosts are of one version")
        };
        let given = given.ok_or_else(|| wrong(&"there is none"))?;
        let certificate = CertificateDer::from_pem_slice(given.certificate.as_bytes());
        let certificate = certificate.map_err(|error| wrong(&error))?;
        let key = PrivateKeyDer::from_pem_slice(given.key.as_bytes()).map_err(|error| wrong(&error))?;
        let pin = fingerprint(&certificate);
        let config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key));
        let mut config = config.map_err(|error| wrong(&error))?;
        config.send_tls13_tickets = 0;
        Ok(TreeIdentity { config: Arc::new(config), pin })
    }

    /// The TLS session with a child that has connected.
    pub fn accept(&self) -> Result<Connection, AgentError> {
        ServerConnection::new(self.config.clone()).map(Connection::Server).map_err(|error| unusable(&error))
    }

    /// The TLS session with a parent.
    pub fn connect(&self, to: SocketAddrV4) -> Result<Connection, AgentError> {
        let trust = Trust::pinned(self.pin, to)?;
        trust.begin().map(Connection::Client).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &dyn std::fmt::Display) -> AgentError {
    AgentError::new("tls", format!("TLS cannot begin: {error}"), "check the tree's certificate")
}
