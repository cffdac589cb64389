//! TLS options of servers and clients.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;

use super::identity::Identity;
use super::trust::{Pin, Trust};
use crate::error::AgentError;

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
#[derive(Debug, Default, Args)]
#[group(required = true, multiple = true)]
pub struct SecureSend {
    /// SHA-256 of the server's certificate
    #[arg(long, value_name = "HEX", value_parser = parse_pin)]
    pub tls_pin: Option<Pin>,
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
    /// Trusts the certificate with this SHA-256 in hexadecimal digits; `None`: the text is not such a number.
    pub fn pinned(fingerprint: &str) -> Option<SecureSend> {
        Some(SecureSend { tls_pin: Some(Pin::parse(fingerprint)?), ..SecureSend::default() })
    }

    /// Encrypts nothing.
    pub fn plain() -> SecureSend {
        SecureSend { plain: true, ..SecureSend::default() }
    }

    /// The trust in the server; `None`: nothing is encrypted.
    pub fn trust(&self, to: SocketAddrV4) -> Result<Option<Trust>, AgentError> {
        match (&self.tls_pin, &self.tls_ca) {
            (Some(pin), _) => Trust::pinned(pin.clone(), to).map(Some),
            (None, Some(ca)) => Trust::vouched(ca, self.tls_name.as_deref(), to).map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn parse_pin(text: &str) -> Result<Pin, String> {
    Pin::parse(text).ok_or_else(|| format!("it must be {}", Pin::RULE))
}
