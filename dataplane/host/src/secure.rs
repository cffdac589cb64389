//! Options of TLS, of the server and of clients.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;

use super::identity::Identity;
use super::trust::{Pin, Trust};
use crate::error::AgentError;

/// A server encrypts, unless it is told not to.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct SecureServe {
    /// The certificate, PEM; when neither it nor the key is there, both are made
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM
    #[arg(long, value_name = "PATH", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Do not encrypt: tokens and data can be read on the way
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    pub plain: bool,
}

impl SecureServe {
    /// What the server is known by; `None`: it does not encrypt.
    pub fn identity(&self) -> Result<Option<Identity>, AgentError> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::open(certificate, key).map(Some),
            _ => Ok(None),
        }
    }
}

/// A client encrypts, unless it is told not to.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct SecureSend {
    /// The server's certificate is the one with this SHA-256
    #[arg(long, value_name = "HEX", value_parser = parse_pin)]
    pub tls_pin: Option<Pin>,
    /// The server's certificate is vouched for by one of these, PEM
    #[arg(long, value_name = "PATH", conflicts_with = "tls_pin")]
    pub tls_ca: Option<PathBuf>,
    /// The server's name in its certificate [default: its address]
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub tls_name: Option<String>,
    /// Do not encrypt: the token and the data can be read on the way
    #[arg(long, conflicts_with_all = ["tls_pin", "tls_ca"])]
    pub plain: bool,
}

impl SecureSend {
    /// The server's certificate is the one with this SHA-256, hexadecimal; `None`: it is none.
    pub fn pinned(fingerprint: &str) -> Option<SecureSend> {
        Some(SecureSend { tls_pin: Some(Pin::parse(fingerprint)?), ..SecureSend::none() })
    }

    /// One of the certificates of this PEM file vouches for the server's, which is for `name`, or its address.
    pub fn vouched(ca: PathBuf, name: Option<String>) -> SecureSend {
        SecureSend { tls_ca: Some(ca), tls_name: name, ..SecureSend::none() }
    }

    /// Nothing is encrypted.
    pub fn plain() -> SecureSend {
        SecureSend { plain: true, ..SecureSend::none() }
    }

    fn none() -> SecureSend {
        SecureSend { tls_pin: None, tls_ca: None, tls_name: None, plain: false }
    }

    /// How the server is known; `None`: nothing is encrypted.
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
