//! TLS: the server's certificate, a given one or one that the server makes at its first start; and a client's
//! trust in the server, by the fingerprint of its certificate or by a certificate that vouches for it.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddrV4;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use groupflow_base::Digest;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::Resumption;
use rustls::crypto::{ring as provider, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    ServerConfig, SignatureScheme,
};

use crate::error::{one_line, plain, AgentError};

/// The TLS configuration with which connections to a server begin.
#[derive(Debug, Clone)]
pub struct Trust {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Trust {
    pub fn pinned(pin: Digest, to: SocketAddrV4) -> Result<Trust, AgentError> {
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
    pin: Digest,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self, end_entity: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: &ServerName<'_>, _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match fingerprint(end_entity) == self.pin {
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

/// The name in a certificate that the server makes; clients recognize the certificate by its fingerprint.
const NAME: &str = "groupflow-gather";

/// The certificate by which a server is recognized.
#[derive(Debug, Clone)]
pub struct Identity {
    pub config: Arc<ServerConfig>,
    pub fingerprint: Digest,
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
        let chain: Vec<_> = chain.map_err(|error| unusable_file(certificate, &error))?;
        let Some(own) = chain.first() else {
            return Err(unusable_file(certificate, &"it has no certificate"));
        };
        let fingerprint = fingerprint(own);
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable_file(key, &error))?;
        let config = server_config(chain, secret).map_err(|error| unusable_file(certificate, &error))?;
        Ok(Identity { config, fingerprint, made })
    }
}

/// The TLS configuration of a server with this certificate.
pub fn server_config(
    chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))?;
    // Every connection makes a full handshake; no tickets allow resumption.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// SHA-256 of a certificate.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    Digest(bytes)
}

fn make(certificate: &Path, key: &Path) -> Result<(), AgentError> {
    let made =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|e| unusable_file(certificate, &e))?;
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

fn unusable_file(path: &Path, why: &dyn std::fmt::Display) -> AgentError {
    let why = why.to_string().replace('\n', " ");
    let cure = "name a PEM file, or remove certificate and key to have new ones made";
    AgentError::new("tls", format!("cannot use {}: {why}", path.display()), cure)
}

/// TLS options of a server, which encrypts unless told not to.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct SecureServe {
    /// Certificate (PEM); if neither it nor its key exists, both are made
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "PATH", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Do not encrypt: tokens and data can then be read on the network
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    pub plain: bool,
}

impl SecureServe {
    /// The server's certificate; `None`: the server does not encrypt.
    pub fn identity(&self) -> Result<Option<Identity>, AgentError> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::open(certificate, key).map(Some),
            _ => Ok(None),
        }
    }
}

/// TLS options of a client, which encrypts unless told not to.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct SecureSend {
    /// SHA-256 of the server's certificate
    #[arg(long, value_name = "HEX", value_parser = parse_pin)]
    pub tls_pin: Option<Digest>,
    /// Certificates (PEM), one of which vouches for the server's
    #[arg(long, value_name = "PATH", conflicts_with = "tls_pin")]
    pub tls_ca: Option<PathBuf>,
    /// Name of the server in its certificate [default: its address]
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub tls_name: Option<String>,
    /// Do not encrypt: the token and the data can then be read on the network
    #[arg(long, conflicts_with_all = ["tls_pin", "tls_ca"])]
    pub plain: bool,
}

impl SecureSend {
    /// The trust in the server; `None`: nothing is encrypted.
    pub fn trust(&self, to: SocketAddrV4) -> Result<Option<Trust>, AgentError> {
        match (&self.tls_pin, &self.tls_ca) {
            (Some(pin), _) => Trust::pinned(*pin, to).map(Some),
            (None, Some(ca)) => Trust::vouched(ca, self.tls_name.as_deref(), to).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Parses a fingerprint; colons are left out.
fn parse_pin(text: &str) -> Result<Digest, String> {
    let rule = || format!("it must be {}, the SHA-256 of the server's certificate", Digest::RULE);
    Digest::parse(&text.replace(':', "")).ok_or_else(rule)
}
