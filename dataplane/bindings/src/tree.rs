//! The dispatchers of a clustered tree for the controller. Messages and stored states are JSON, as
//! `groupflow_tree::machine` has them.

use std::collections::BTreeMap;

use groupflow_base::{Nanos, Token};
use groupflow_tree::machine::{
    Dispatcher, Dispatchers, FromHost, HostId, HostMessage, ParentOrder, Policy, TreeJoin,
};
use groupflow_tree::study;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// A message to a host: cluster, host, message.
type HostMessages = Vec<(String, String, String)>;

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
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn digits(value: &impl Serialize) -> PyResult<String> {
    Ok(text(value)?.trim_matches('"').to_owned())
}

fn messages(sent: Vec<HostMessage>) -> PyResult<HostMessages> {
    let one = |sent: HostMessage| Ok((digits(&sent.cluster)?, digits(&sent.host)?, text(&sent.message)?));
    sent.into_iter().map(one).collect()
}

/// A host of the tree, as tools show the host.
#[derive(Serialize)]
struct Shown {
    host: String,
    address: String,
    cluster: String,
    parent: Option<String>,
    latency_ms: f64,
    /// The sum of the latencies from the source; `None`: no edges lead there.
    delay_ms: Option<f64>,
    is_beyond: bool,
    children: usize,
    capacity: u16,
    attached: bool,
    is_head: bool,
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
        digits(&self.0.root())
    }

    /// Whether the source has left.
    #[getter]
    fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// The hosts of the tree, and which of them lack bytes, as a JSON object for the source.
    #[getter]
    fn members(&self) -> PyResult<String> {
        text(&self.0.members())
    }

    /// Handles a host's message to a cluster's dispatcher. Raises a ValueError that names the wrong field.
    fn on_host(&mut self, now: u64, cluster: &str, host: &str, message: &str) -> PyResult<HostMessages> {
        let (cluster, host) = (name("cluster", cluster)?, name("host", host)?);
        let message: FromHost = parse("message", message)?;
        messages(self.0.on_host(Nanos(now), cluster, host, message))
    }

    /// Handles the loss of the connection to a host.
    fn on_gone(&mut self, now: u64, cluster: &str, host: &str) -> PyResult<HostMessages> {
        let (cluster, host) = (name("cluster", cluster)?, name("host", host)?);
        messages(self.0.on_gone(Nanos(now), cluster, host))
    }

    /// When `on_time` is to be called; None: only after another event.
    fn deadline(&self) -> Option<u64> {
        Some(self.0.deadline()).filter(|&deadline| deadline != Nanos::MAX).map(|deadline| deadline.0)
    }

    /// Handles the passing of time.
    fn on_time(&mut self, now: u64) -> PyResult<HostMessages> {
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
        let mut shown = Vec::new();
        for dispatcher in self.0.iter() {
            let tree = dispatcher.tree();
            for (host, member) in tree.iter() {
                let delay = dispatcher.delay(host);
                let parent = match member.place {
                    ParentOrder::Host(parent) => Some(parent),
                    ParentOrder::Outside => dispatcher.attached_to(),
                    ParentOrder::Nothing => None,
                };
                shown.push(Shown {
                    host: digits(&host)?,
                    address: member.peer.address.to_string(),
                    cluster: digits(&dispatcher.id())?,
                    parent: parent.map(|parent: HostId| digits(&parent)).transpose()?,
                    latency_ms: member.latency.0 as f64 / 1e6,
                    delay_ms: delay.map(|delay| delay.0 as f64 / 1e6),
                    is_beyond: delay.is_some_and(|delay| dispatcher.is_beyond(delay)),
                    children: tree.children(host).count() + usize::from(member.foreign),
                    capacity: member.capacity,
                    attached: member.attached,
                    is_head: member.place == ParentOrder::Outside,
                });
            }
        }
        text(&shown)
    }
}

/// Runs the study of a large tree (`groupflow_tree::study::large`), from JSON to JSON. Raises a ValueError
/// that names the wrong parameter.
#[pyfunction]
pub fn tree_study(py: Python<'_>, spec: &str) -> PyResult<String> {
    let spec: study::LargeStudySpec = parse("spec", spec)?;
    text(&py.allow_threads(|| study::run(&spec)))
}

/// Runs the study of a slow host (`groupflow_tree::study::slow`), from JSON to JSON. Raises a ValueError that
/// names the wrong parameter.
#[pyfunction]
pub fn slow_host_study(py: Python<'_>, spec: &str) -> PyResult<String> {
    let spec: study::slow::SlowStudySpec = parse("spec", spec)?;
    text(&py.allow_threads(|| study::slow::run(&spec)))
}

/// A certificate signed by its own key, and the key; both PEM. Raises a ValueError for an invalid name.
#[pyfunction]
pub fn make_certificate(name: String) -> PyResult<(String, String)> {
    let made = rcgen::generate_simple_self_signed([name]);
    let made = made.map_err(|error| PyValueError::new_err(format!("name: {error}")))?;
    Ok((made.cert.pem(), made.key_pair.serialize_pem()))
}
