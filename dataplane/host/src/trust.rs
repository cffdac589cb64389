//! A client's trust in the server: by the fingerprint of its certificate, or by a certificate that
//! vouches for it.

use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::Resumption;
use rustls::crypto::{ring as provider, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use super::identity::fingerprint;
use crate::error::{one_line, AgentError};

/// SHA-256 of a server's certificate: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin(String);

impl Pin {
    /// The rule for its text form.
    pub const RULE: &'static str = "64 hexadecimal digits, the SHA-256 of the server's certificate";

    /// Parses a fingerprint; colons are left out.
    pub fn parse(text: &str) -> Option<Pin> {
        let digits: String = text.chars().filter(|&c| c != ':').collect();
        let fits = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Pin(digits.to_ascii_lowercase()))
    }
}

/// The TLS configuration with which connections to a server begin.
#[derive(Debug, Clone)]
pub struct Trust {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Trust {
    /// Trusts the server that has this certificate.
    pub fn pinned(pin: Pin, to: SocketAddrV4) -> Result<Trust, AgentError> {
        let provider = Arc::new(provider::default_provider());
        let verifier = Pinned { pin, provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Trust::new(config, ServerName::from(std::net::IpAddr::from(*to.ip()))))
    }

    /// Trusts a server with a certificate for `name` (default: its address) that one in this PEM file vouches
    /// for.
    pub fn vouched(ca: &Path, name: Option<&str>, to: SocketAddrV4) -> Result<Trust, AgentError> {
        let shown = ca.display();
        let wrong = |why: String| {
            let cause = format!("cannot use {shown}: {}", why.replace('\n', " "));
            AgentError::new("tls", cause, "name a PEM file of certificates with --tls-ca")
        };
        let items = CertificateDer::pem_file_iter(ca).and_then(|items| items.collect::<Result<Vec<_>, _>>());
        let mut roots = RootCertStore::empty();
        for certificate in items.map_err(|error| wrong(error.to_string()))? {
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(wrong("it has no certificate".to_owned()));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = match name {
            Some(name) => ServerName::try_from(name.to_owned()).map_err(|_| {
                AgentError::usage(format!("--tls-name {name} is no name"), "write a host's name or address")
            })?,
            None => ServerName::from(std::net::IpAddr::from(*to.ip())),
        };
        Ok(Trust::new(config, name))
    }

    fn new(mut config: ClientConfig, name: ServerName<'static>) -> Trust {
        config.resumption = Resumption::disabled();
        Trust { config: Arc::new(config), name }
    }

    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Begins a connection's TLS session.
    pub fn begin(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }
}

/// The error of a failed handshake with this server, if another attempt would be useless.
pub fn hopeless(error: &std::io::Error, to: SocketAddrV4) -> Option<AgentError> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let (cause, cure) = match error {
        Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => (
            format!("the server at {to} has another certificate than the one of --tls-pin"),
            "check --to, and take the fingerprint that the server tells when it starts",
        ),
        Error::InvalidCertificate(why) => (
            format!("the server at {to} is not trusted: {}", one_line(&Error::from(why.clone()).to_string())),
            "check --to, --tls-ca and --tls-name",
        ),
        Error::InvalidMessage(_) => (
            format!("the server at {to} does not speak TLS"),
            "start it with --tls-cert and --tls-key, or pass --plain to send without encryption",
        ),
        _ => return None,
    };
    Some(AgentError::new("tls", cause, cure))
}

fn unusable(error: &Error) -> AgentError {
    AgentError::new("tls", format!("TLS cannot be used: {error}"), "report this")
}

/// Accepts one certificate, whatever its content, if its key signs the handshake.
#[derive(Debug)]
struct Pinned {
    pin: Pin,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self, end_entity: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: &ServerName<'_>, _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match fingerprint(end_entity) == self.pin.0 {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self, _: &[u8], _: &CertificateDer<'_>, _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13.into())
    }

    fn verify_tls13_signature(
        &self, message: &[u8], certificate: &CertificateDer<'_>, signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
