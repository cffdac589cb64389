//! The report of `gfswitch stats`: the switch's counters with those of its interfaces and its clock.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::lateness::LatenessStats;
use super::shared::Shared;
use crate::core::SwitchStats;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchReport {
    pub version: &'static str,
    pub device_id: u64,
    pub uptime_ns: u64,
    /// The program that p4c compiled.
    pub program: Option<String>,
    /// Whether figures measured with this switch are about the machine, not the network.
    pub cpu_bound: bool,
    pub problem: Option<String>,
    /// Frames that the kernel dropped since the last reset.
    pub kernel_drops: u64,
    pub lateness: LatenessStats,
    #[serde(flatten)]
    pub switch: SwitchStats,
}

/// The report as of now. `reset` starts new lateness figures and high-water marks after it.
pub fn report(shared: &Shared, device_id: u64, reset: bool) -> SwitchReport {
    let mut switch = shared.switch();
    let mut stats = switch.stats();
    let program =
        switch.forwarding().map(|f| f.pipeline.program().source.as_deref().unwrap_or("unknown").to_string());
    if reset {
        switch.reset_high_water();
    }
    drop(switch);
    for (port, (name, counters)) in stats.ports.iter_mut().zip(&shared.interfaces) {
        port.interface = Some(name.clone());
        port.inbound.drops.kernel = counters.kernel_drops.load(Ordering::Relaxed);
        port.inbound.drops.link.oversize += counters.oversize.load(Ordering::Relaxed);
        port.outbound.drops.interface = counters.refused.load(Ordering::Relaxed);
    }
    stats.cpu.drops.queue_full += shared.control_plane_full.load(Ordering::Relaxed);
    stats.cpu.drops.no_primary = shared.no_primary.load(Ordering::Relaxed);
    let now = shared.clock.now();
    let mut lateness = shared.lateness();
    let report = SwitchReport {
        version: env!("CARGO_PKG_VERSION"),
        device_id,
        uptime_ns: now.0,
        program,
        cpu_bound: lateness.cpu_bound(),
        problem: shared.problem.get().cloned(),
        kernel_drops: lateness.kernel_drops(),
        lateness: lateness.stats(),
        switch: stats,
    };
    if reset {
        lateness.reset(now);
    }
    report
}

/// The report for people. It is made from the JSON form, as `gfswitch stats` has no other.
pub fn render(report: &serde_json::Value) -> String {
    let mut text = String::new();
    let late = &report["lateness"];
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "device {}  up {} s  program {}  cpu_bound {}",
        number(&report["device_id"]),
        number(&report["uptime_ns"]) / 1_000_000_000,
        report["program"].as_str().unwrap_or("none"),
        report["cpu_bound"],
    );
    let _ = writeln!(
        text,
        "lateness  p50 {} us  p99 {} us  max {} us  of {} packets; kernel dropped {}",
        number(&late["p50_ns"]) / 1000,
        number(&late["p99_ns"]) / 1000,
        number(&late["max_ns"]) / 1000,
        number(&late["packets"]),
        number(&report["kernel_drops"]),
    );
    let _ = writeln!(
        text,
        "{:>5} {:<16} {:<4} {:>12} {:>15} {:>7} {:>7}  drops",
        "port", "interface", "", "packets", "bytes", "queued", "most"
    );
    for port in report["ports"].as_array().into_iter().flatten() {
        for direction in ["in", "out"] {
            let _ = writeln!(text, "{}", port_line(port, direction));
        }
        for queue in port["out"]["queues"].as_array().into_iter().flatten().filter(|queue| is_used(queue)) {
            let _ = writeln!(text, "{}", queue_line(queue));
        }
    }
    let _ = writeln!(text, "controller {}", nonzero(&report["cpu"]));
    let _ = writeln!(text, "drops {}", nonzero(&report["drops"]));
    let _ = writeln!(text, "absorbed {}", report["absorbed"]);
    let _ = writeln!(text, "pipeline {}", nonzero(&report["pipeline"]));
    if let Some(problem) = report["problem"].as_str() {
        let _ = writeln!(text, "problem {problem}");
    }
    text
}

fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn port_line(port: &serde_json::Value, direction: &str) -> String {
    let side = &port[direction];
    let queues: Vec<&serde_json::Value> = match side["queues"].as_array() {
        Some(queues) => queues.iter().collect(),
        None => vec![&side["queue"]],
    };
    let sum = |key: &str| queues.iter().filter_map(|queue| queue[key].as_u64()).sum::<u64>();
    let most = queues.iter().filter_map(|queue| queue["high_water_packets"].as_u64()).max().unwrap_or(0);
    let down = if port["up"] == serde_json::Value::Bool(false) { " (down)" } else { "" };
    format!(
        "{:>5} {:<16} {:<4} {:>12} {:>15} {:>7} {:>7}  {}{down}",
        number(&port["port"]),
        port["interface"].as_str().unwrap_or("-"),
        direction,
        number(&side["packets"]),
        number(&side["bytes"]),
        sum("packets"),
        most,
        nonzero(&side["drops"]),
    )
}

/// Whether a queue had packets or has a rate: others would be lines of zeros.
fn is_used(queue: &serde_json::Value) -> bool {
    let counts = ["enqueued", "dropped"].iter().any(|key| queue[*key].as_u64() != Some(0));
    counts || queue["paused"] == true || !queue["rate"].is_null() || !queue["demand"].is_null()
}

/// A queue's line, below its port's: settings, J~ and L of eq. 13 in packets/s, counters.
fn queue_line(queue: &serde_json::Value) -> String {
    let number = |key: &str| number(&queue[key]);
    let packets = |key: &str| match queue[key].as_u64() {
        // Two digits show a 64th.
        Some(units) => format!("{}.{:02}", units / 64, units % 64 * 100 / 64),
        None => "-".into(),
    };
    let rate = if queue["paused"] == true { "paused" } else { queue["rate"].as_str().unwrap_or("-") };
    format!(
        "      queue {:<2} level {:<3} weight {:<3} rate {rate} J {} L {}  \
         enqueued {} sent {} ({} bytes) queued {} most {}  {}",
        number("priority"),
        number("level"),
        number("weight"),
        packets("demand"),
        packets("share"),
        number("enqueued"),
        number("sent"),
        number("sent_bytes"),
        number("packets"),
        number("high_water_packets"),
        nonzero(&queue["drops"]),
    )
}

/// `key=value` of the counters that are not zero, or `-`.
fn nonzero(object: &serde_json::Value) -> String {
    let part = |(key, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::Object(_) => match nonzero(value) {
            inner if inner == "-" => None,
            inner => Some(format!("{key}: {inner}")),
        },
        value => (value.as_u64() != Some(0)).then(|| format!("{key}={value}")),
    };
    let parts: Vec<String> = object.as_object().into_iter().flatten().filter_map(part).collect();
    if parts.is_empty() {
        "-".into()
    } else {
        parts.join(" ")
    }
}
