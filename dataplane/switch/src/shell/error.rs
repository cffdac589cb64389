//! The errors that end gfswitch, one line each: the cause and its cure.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

use crate::core::ConfigError;
use crate::p4rt::ConfigurationError;

/// The reason why gfswitch cannot start, or must stop.
#[derive(Debug, Error)]
pub enum ShellError {
    #[error("no permission to open packet sockets: run as root (or give the file CAP_NET_RAW)")]
    NotRoot,
    #[error("interface {0} does not exist here: create it first, see `ip link`")]
    NoInterface(String),
    #[error("interface {0} is attached to two ports")]
    InterfaceTwice(String),
    /// A system call failed for an interface.
    #[error("interface {0}: {1}: {2}")]
    Interface(String, &'static str, std::io::Error),
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("lateness: {0}")]
    Lateness(#[from] hdrhistogram::CreationError),
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("capture {0}: {1}; free some room there, or name another --pcap")]
    Capture(PathBuf, std::io::Error),
    /// Something was not written; how, was told when it happened.
    #[error("{0}")]
    Unwritten(String),
    #[error("{0}: {1}")]
    Program(PathBuf, ConfigurationError),
    #[error("--{0} {1}: not an address such as 0.0.0.0:9559")]
    Address(&'static str, String),
    #[error("cannot listen on {0}: {1}; choose another --{2}, or stop the program that uses it")]
    Listen(SocketAddr, std::io::Error, &'static str),
    #[error("P4Runtime server: {0}")]
    Server(#[from] tonic::transport::Error),
    #[error(
        "{0} belongs to a gfswitch that runs, or is no socket: give each switch its own --device-id or \
        --control-socket"
    )]
    ControlInUse(PathBuf),
    #[error("control socket {0}: {1}")]
    Control(PathBuf, std::io::Error),
    /// A system call that hardly ever fails: the operation, and its error.
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
    #[error("the data path stopped: this is a bug, please report it with the log")]
    DatapathDied,
    #[error(
        "no gfswitch answers at {0}: is it running? see --socket and --device-id; of a network of \
        groupflow's: groupflow net exec s1 gfswitch stats --device-id 1"
    )]
    NoSwitch(PathBuf),
    #[error("{0}")]
    Refused(String),
}

/// Names the operation that failed with the last system error.
pub fn system(what: &'static str) -> impl Fn(std::io::Error) -> ShellError {
    move |error| ShellError::System(what, error)
}
