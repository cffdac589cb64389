//! A forwarding pipeline configuration: the program and its P4Info, checked against each other.

use std::borrow::Cow;
use std::sync::Arc;

use groupflow_pipeline::{DigestInfo, LoadError, Program};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use thiserror::Error;

use super::binding::{absent_table, Binding, BindingError};
use crate::core::REPLICA_LIMIT;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1::{
    forwarding_pipeline_config::Cookie, get_forwarding_pipeline_config_request::ResponseType,
    ForwardingPipelineConfig,
};
use crate::proto::DESCRIPTORS;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigurationError {
    #[error("it is empty, and should be p4c's BMv2 JSON")]
    NoProgram,
    #[error("neither p4c's BMv2 JSON nor a P4DeviceConfig message with it")]
    NotText,
    #[error("{0}")]
    Program(#[from] LoadError),
    #[error("it is missing")]
    NoP4Info,
    #[error("{0}")]
    P4Info(#[from] P4InfoError),
    #[error("{0}")]
    Mismatch(#[from] BindingError),
}

impl ConfigurationError {
    /// The field of `ForwardingPipelineConfig` that is wrong.
    pub fn field(&self) -> &'static str {
        match self {
            Self::NoProgram | Self::NotText | Self::Program(_) => "p4_device_config",
            Self::NoP4Info | Self::P4Info(_) | Self::Mismatch(_) => "p4info",
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
    pub program: Arc<Program>,
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
        platform_suffices(&p4info)?;
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
    /// Also the rules that are not kept.
    pub fn warnings(&self) -> Vec<String> {
        let tables = self.binding.absent.values().map(|name| absent_table(name));
        let unbound = |digest: &&DigestInfo| self.binding.digest(digest.id).is_none();
        let digests = self.program.digests.iter().filter(unbound);
        let digests = digests.map(|digest| format!("digest {} is not in P4Info", digest.name));
        tables.chain(digests).chain(self.binding.ignored.iter().cloned()).collect()
    }

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

/// Refuses a program that asks for more multicast groups or replicas than there may be.
fn platform_suffices(p4info: &P4Info) -> Result<(), BindingError> {
    let wanted = p4info.pkg_info.as_ref().and_then(|info| info.platform_properties).unwrap_or_default();
    let replicas = match wanted.multicast_group_table_max_replicas_per_entry {
        0 => wanted.multicast_group_table_total_replicas,
        replicas => replicas,
    };
    let many = wanted.multicast_group_table_size > 65_535 || replicas > REPLICA_LIMIT as i32;
    refuse_if!(many, BindingError, "platform_properties: at most 65535 groups of {REPLICA_LIMIT} replicas");
    Ok(())
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

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum P4InfoError {
    #[error("not P4Info: {0}")]
    Text(String),
    #[error("not P4Info in text or binary form")]
    Neither,
    #[error("this P4Info is empty")]
    Empty,
}

/// Parses P4Info's text (`.txtpb`) or binary form.
pub fn parse_p4info(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    let says_something = |info: &P4Info| *info != P4Info::default();
    if let Some(info) = P4Info::decode(bytes).ok().filter(says_something) {
        return Ok(info);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| P4InfoError::Neither)?;
    Some(parse_text(text)?).filter(says_something).ok_or(P4InfoError::Empty)
}

fn parse_text(text: &str) -> Result<P4Info, P4InfoError> {
    let error = |message: String| P4InfoError::Text(message.lines().next().unwrap_or_default().into());
    let pool = DescriptorPool::decode(DESCRIPTORS).map_err(|e| error(e.to_string()))?;
    let missing = || error("the descriptor of P4Info is missing".into());
    let descriptor = pool.get_message_by_name("p4.config.v1.P4Info").ok_or_else(missing)?;
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|e| error(e.to_string()))?;
    P4Info::decode(&message.encode_to_vec()[..]).map_err(|e| error(e.to_string()))
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
#[cfg(test)]
#[path = "tests/p4info_file.rs"]
mod tests_of_p4info;
