//! A forwarding pipeline configuration: the program and its P4Info, checked against each other.

use std::sync::Arc;

use groupflow_pipeline::{LoadError, Program};
use thiserror::Error;

use super::binding::{Binding, BindingError};
use super::p4info_file::{parse_p4info, P4InfoError};
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1::{
    forwarding_pipeline_config::Cookie, get_forwarding_pipeline_config_request::ResponseType,
    ForwardingPipelineConfig,
};

/// The reason why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigurationError {
    /// `p4_device_config` is empty.
    #[error("it is empty, and should be p4c's BMv2 JSON")]
    NoProgram,
    /// `p4_device_config` is not text.
    #[error("not p4c's BMv2 JSON: not UTF-8")]
    NotText,
    /// `p4_device_config` is not a program that the pipeline can run.
    #[error("{0}")]
    Program(#[from] LoadError),
    /// `p4info` is not set.
    #[error("it is missing")]
    NoP4Info,
    /// `p4info` cannot be read.
    #[error("{0}")]
    P4Info(#[from] P4InfoError),
    /// `p4info` is of another program.
    #[error("{0}")]
    Mismatch(#[from] BindingError),
}

impl ConfigurationError {
    /// The field of `ForwardingPipelineConfig` that is wrong.
    pub fn field(&self) -> &'static str {
        match self {
            ConfigurationError::NoProgram | ConfigurationError::NotText | ConfigurationError::Program(_) => {
                "p4_device_config"
            }
            ConfigurationError::NoP4Info
            | ConfigurationError::P4Info(_)
            | ConfigurationError::Mismatch(_) => "p4info",
        }
    }
}

/// A checked configuration, which does not change; writes are kept elsewhere.
#[derive(Debug)]
pub struct PipelineConfig {
    /// The program.
    pub program: Arc<Program>,
    /// The controller's ids.
    pub binding: Binding,
    p4info: P4Info,
    device_config: Vec<u8>,
    cookie: Option<u64>,
}

impl PipelineConfig {
    /// Checks a configuration as it comes over P4Runtime. This takes a while: hold no lock.
    pub fn new(config: ForwardingPipelineConfig) -> Result<PipelineConfig, ConfigurationError> {
        let ForwardingPipelineConfig { p4info, p4_device_config, cookie } = config;
        let p4info = p4info.ok_or(ConfigurationError::NoP4Info)?;
        if p4_device_config.is_empty() {
            return Err(ConfigurationError::NoProgram);
        }
        let text = std::str::from_utf8(&p4_device_config).map_err(|_| ConfigurationError::NotText)?;
        let program = Arc::new(Program::from_json(text)?);
        let binding = Binding::new(&p4info, &program)?;
        Ok(PipelineConfig {
            program,
            binding,
            p4info,
            device_config: p4_device_config,
            cookie: cookie.map(|cookie| cookie.cookie),
        })
    }

    /// Checks a configuration from files: p4c's JSON, and P4Info in text or binary form.
    pub fn from_files(json: &str, p4info: &[u8]) -> Result<PipelineConfig, ConfigurationError> {
        PipelineConfig::new(ForwardingPipelineConfig {
            p4info: Some(parse_p4info(p4info)?),
            p4_device_config: json.into(),
            cookie: None,
        })
    }

    /// The parts of the configuration that a client asks for.
    pub fn to_message(&self, parts: ResponseType) -> ForwardingPipelineConfig {
        let with_p4info = matches!(parts, ResponseType::All | ResponseType::P4infoAndCookie);
        let with_program = matches!(parts, ResponseType::All | ResponseType::DeviceConfigAndCookie);
        ForwardingPipelineConfig {
            p4info: with_p4info.then(|| self.p4info.clone()),
            p4_device_config: if with_program { self.device_config.clone() } else { Vec::new() },
            cookie: self.cookie.map(|cookie| Cookie { cookie }),
        }
    }
}
