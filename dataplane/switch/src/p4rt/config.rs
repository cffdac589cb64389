//! A forwarding pipeline configuration: the program and its P4Info, checked against each other.

use std::borrow::Cow;
use std::sync::Arc;

use groupflow_pipeline::{DigestInfo, LoadError, Program};
use prost::Message;
use thiserror::Error;

use super::binding::{absent_table, Binding, BindingError};
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
    #[error("neither p4c's BMv2 JSON nor a P4DeviceConfig message with it")]
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

/// `p4.tmp.P4DeviceConfig`, in which many controllers wrap the program; its other fields mean nothing here.
#[derive(Clone, PartialEq, prost::Message)]
struct P4DeviceConfig {
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// The program's JSON, which comes as it is or wrapped.
fn device_json(config: &[u8]) -> Result<Cow<'_, str>, ConfigurationError> {
    if let Ok(text) = std::str::from_utf8(config) {
        if text.trim_start().starts_with(['{', '[']) {
            return Ok(text.into());
        }
    }
    let message = P4DeviceConfig::decode(config).map_err(|_| ConfigurationError::NotText)?;
    let json = String::from_utf8(message.device_data).map_err(|_| ConfigurationError::NotText)?;
    Some(json).filter(|json| !json.is_empty()).map(Cow::Owned).ok_or(ConfigurationError::NotText)
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
        let mut program = Program::from_json(&device_json(&p4_device_config)?)?;
        open_tables(&p4info, &mut program);
        restore_parameters(&p4info, &mut program);
        let mut binding = Binding::new(&p4info, &program)?;
        for (counter, reasons) in std::mem::take(&mut binding.reasons) {
            program.set_reasons(counter, reasons);
        }
        Ok(PipelineConfig {
            program: Arc::new(program),
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

    /// The configuration for one switch: strings get their numbers in each switch alone.
    pub fn for_one(mut shared: Arc<PipelineConfig>) -> Arc<PipelineConfig> {
        if shared.binding.strings.is_empty() || Arc::get_mut(&mut shared).is_some() {
            return shared;
        }
        let PipelineConfig { program, p4info, device_config, cookie, .. } = &*shared;
        // The program was bound before, so that this cannot fail.
        let Ok(mut binding) = Binding::new(p4info, program) else { return shared };
        binding.reasons.clear();
        let (program, p4info, device_config) = (program.clone(), p4info.clone(), device_config.clone());
        Arc::new(PipelineConfig { program, binding, p4info, device_config, cookie: *cookie })
    }

    /// The objects of which only P4Info or only the program knows: p4c leaves some out, others are misspelt.
    pub fn warnings(&self) -> Vec<String> {
        let tables = self.binding.absent.values().map(|name| absent_table(name));
        let unbound = |digest: &&DigestInfo| self.binding.digest(digest.id).is_none();
        let digests = self.program.digests().iter().filter(unbound);
        tables.chain(digests.map(|digest| format!("digest {} is not in P4Info", digest.name))).collect()
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

/// Lets the controller change entries that the program declares without `const`: only P4Info tells.
fn open_tables(p4info: &P4Info, program: &mut Program) {
    for table in p4info.tables.iter().filter(|table| table.has_initial_entries && !table.is_const_table) {
        let name = table.preamble.as_ref().map_or("", |preamble| &preamble.name);
        program.open_table(name, usize::try_from(table.size).unwrap_or(0));
    }
}

/// The most parameters of an action with restored ones: bounds the memory that P4Info can ask for.
const MOST_PARAMETERS: usize = 256;

/// Gives actions the parameters that P4Info has and p4c removed from the program.
fn restore_parameters(p4info: &P4Info, program: &mut Program) {
    for action in &p4info.actions {
        let name = action.preamble.as_ref().map_or("", |preamble| &preamble.name);
        for param in &action.params {
            // The type of a string has no width: the numbers that stand for strings have any.
            let width = match u32::try_from(param.bitwidth) {
                Ok(0) if param.type_name.is_some() => 128,
                Ok(width @ 1..=128) => width,
                _ => continue,
            };
            program.restore_parameter(name, &param.name, width, action.params.len().min(MOST_PARAMETERS));
        }
    }
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
