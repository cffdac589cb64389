//! The dispatchers of a clustered tree for the controller. Lines and stored states are JSON, as
//! `groupflow_tree::machine` has them.

use std::collections::BTreeMap;

use groupflow_base::{Nanos, Token};
use groupflow_tree::machine::messages::{ClusterLine, ServiceLine};
use groupflow_tree::machine::{
    Dispatcher, Dispatchers, FromHost, HostMessage, ParentOrder, Policy, TreeJoin,
};
use groupflow_tree::study;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::json;

use crate::switch::invalid;

/// A message of a cluster's dispatcher to a host.
#[pyclass(module = "groupflow._native", frozen)]
pub struct ToHost(HostMessage);

#[pymethods]
impl ToHost {
    #[getter]
    fn host(&self) -> PyResult<String> {
        digits(&self.0.host)
    }

    /// The line to a host that has joined a cluster this often.
    fn line(&self, joins: u32) -> PyResult<String> {
        let HostMessage { cluster, message, .. } = self.0.clone();
        text(&ClusterLine { cluster, joins, message })
    }
}

/// The dispatchers of one tree. `now` is in nanoseconds; the owner chooses its zero.
#[pyclass(module = "groupflow._native")]
pub struct TreeDispatchers(Dispatchers);

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn name<T: DeserializeOwned>(what: &str, digits: &str) -> PyResult<T> {
    let value = serde_json::Value::String(digits.to_owned());
    serde_json::from_value(value).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(invalid)
}

fn digits(value: &impl Serialize) -> PyResult<String> {
    Ok(text(value)?.trim_matches('"').to_owned())
}

fn messages(sent: Vec<HostMessage>) -> Vec<ToHost> {
    sent.into_iter().map(ToHost).collect()
}

#[pymethods]
impl TreeDispatchers {
    /// A tree with only its source. Raises a ValueError that names the wrong setting.
    #[new]
    fn new(policy: &str, token: &str, source: &str, seed: u64, now: u64) -> PyResult<TreeDispatchers> {
        let (policy, token): (Policy, Token) = (parse("policy", policy)?, name("token", token)?);
        let source: TreeJoin = parse("source", source)?;
        Ok(TreeDispatchers(Dispatchers::new(policy, token, &source, seed, Nanos(now))))
    }

    /// The dispatchers as `take_changed` gave them to be stored. Raises a ValueError if a state is malformed.
    #[staticmethod]
    fn resume(
        policy: &str, token: &str, stored: Vec<String>, seed: u64, now: u64,
    ) -> PyResult<TreeDispatchers> {
        let (policy, token): (Policy, Token) = (parse("policy", policy)?, name("token", token)?);
        let parsed = stored.iter().map(|each| parse::<Dispatcher>("stored", each));
        let all = Dispatchers::resume(parsed.collect::<PyResult<_>>()?, policy, token, seed, Nanos(now));
        all.map(TreeDispatchers).ok_or_else(|| PyValueError::new_err("stored: the root is missing"))
    }

    /// The root cluster.
    #[getter]
    fn root(&self) -> PyResult<String> {
        digits(&self.0.root)
    }

    /// Whether the source has left.
    #[getter]
    fn has_ended(&self) -> bool {
        self.0.ended
    }

    /// Hosts that have a parent.
    #[getter]
    fn attached(&self) -> usize {
        self.0.members().hosts
    }

    /// The source's line: the hosts of the tree, and which of them lack bytes.
    fn members(&self) -> PyResult<String> {
        text(&ServiceLine::Members(self.0.members()))
    }

    /// Handles a host's line to a cluster's dispatcher. Returns the cluster, how often the host has joined
    /// one, and the messages that follow. Raises a ValueError that names the wrong field.
    fn on_host(&mut self, now: u64, host: &str, line: &[u8]) -> PyResult<(String, u32, Vec<ToHost>)> {
        let line: ClusterLine<FromHost> = serde_json::from_slice(line).map_err(invalid)?;
        let sent = self.0.on_host(Nanos(now), line.cluster, name("host", host)?, line.message);
        Ok((digits(&line.cluster)?, line.joins, messages(sent)))
    }

    /// Handles the loss of the connection to a host.
    fn on_gone(&mut self, now: u64, cluster: &str, host: &str) -> PyResult<Vec<ToHost>> {
        Ok(messages(self.0.on_gone(Nanos(now), name("cluster", cluster)?, name("host", host)?)))
    }

    /// When `on_time` is to be called; None: only after another event.
    fn deadline(&self) -> Option<u64> {
        Some(self.0.deadline()).filter(|&deadline| deadline != Nanos::MAX).map(|deadline| deadline.0)
    }

    /// Handles the passing of time.
    fn on_time(&mut self, now: u64) -> Vec<ToHost> {
        messages(self.0.on_time(Nanos(now)))
    }

    /// The state of each cluster that has changed (None: the cluster no longer exists), to be stored before
    /// hosts are told anything.
    fn take_changed(&mut self) -> PyResult<BTreeMap<String, Option<String>>> {
        let changed = self.0.take_changed().into_iter();
        changed.map(|(id, each)| Ok((digits(&id)?, each.map(text).transpose()?))).collect()
    }

    /// All hosts, as a JSON list.
    fn hosts(&self) -> PyResult<String> {
        let all =
            self.0.iter().flat_map(|each| each.tree.iter().map(move |(host, member)| (each, host, member)));
        let shown = all.map(|(dispatcher, host, member)| {
            let is_head = member.place == ParentOrder::Outside;
            // The sum of the latencies from the source; `None`: no edges lead there.
            let delay = dispatcher.delay(host);
            json!({
                "host": host,
                "address": member.peer.address,
                "cluster": dispatcher.id,
                "parent": member.parent().or(dispatcher.attached_to().filter(|_| is_head)),
                "latency_ms": milliseconds(member.latency),
                "delay_ms": delay.map(milliseconds),
                "is_beyond": delay.is_some_and(|delay| dispatcher.is_beyond(delay)),
                "children": dispatcher.serves(host),
                "capacity": member.capacity,
                "attached": member.attached,
                "is_head": is_head,
                "is_slow": dispatcher.is_slow(host),
            })
        });
        text(&shown.collect::<Vec<_>>())
    }
}

fn milliseconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

/// Runs the study of a large tree (`groupflow_tree::study::large`), from JSON to JSON. Raises a ValueError
/// that names the wrong parameter.
#[pyfunction]
pub fn tree_study(py: Python<'_>, spec: &str) -> PyResult<String> {
    let spec: study::large::LargeStudySpec = parse("spec", spec)?;
    text(&py.allow_threads(|| study::large::run(&spec)))
}

/// A certificate signed by its own key, and the key; both PEM. Raises a ValueError for an invalid name.
#[pyfunction]
pub fn make_certificate(name: String) -> PyResult<(String, String)> {
    let made = rcgen::generate_simple_self_signed([name]);
    let made = made.map_err(|error| PyValueError::new_err(format!("name: {error}")))?;
    Ok((made.cert.pem(), made.key_pair.serialize_pem()))
}
