//! The kernel's queueing discipline HTB with a class a flow, set with `tc` of iproute2.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Child, Command, Stdio};

use groupflow_host::error::{one_line, plain, AgentError};

use crate::args::Flow;
use crate::rates::Change;

/// The discipline's number, by which it is known as this program's ("gf").
const HANDLE: &str = "6766:";
/// Bytes a second of a flow without limit: 400 Gbit/s.
const UNLIMITED: u64 = 50_000_000_000;
/// A class may send at once the bytes of 1 ms, by which the kernel's timers may be late, or two packets.
const BURSTS_PER_SECOND: u64 = 1000;

/// The classes of an interface; they end when this is dropped.
#[derive(Debug)]
pub struct Htb {
    interface: String,
    packet: u32,
    /// Takes orders, one a line, and ends at the first that fails.
    tc: Child,
    /// Keeps other processes from the interface until the discipline is removed.
    _alone: UnixDatagram,
}

impl Htb {
    /// Makes a class without limit for each flow; other packets pass. Fails if another process shapes there,
    /// there is no `tc`, or the kernel refuses: it has no HTB, or another discipline was set up there.
    pub fn new(interface: &str, flows: &[Flow], packet: u32) -> Result<Htb, AgentError> {
        let alone = alone(interface)?;
        let htb = Htb { interface: interface.to_owned(), packet, tc: start()?, _alone: alone };
        htb.remove(); // one that a killed process left
        let mut orders = vec![format!("qdisc add dev {interface} root handle {HANDLE} htb")];
        for (place, flow) in flows.iter().enumerate() {
            orders.push(htb.class("add", Change { place, rate: None }));
            orders.push(htb.filter(place, flow));
        }
        htb.all(&orders)?;
        Ok(htb)
    }

    /// Sets the rates of flows. Fails if `tc` has ended: the interface or its discipline is gone.
    pub fn set(&mut self, changes: &[Change]) -> Result<(), AgentError> {
        let orders: String = changes.iter().map(|&change| self.class("change", change) + "\n").collect();
        match self.tc.stdin.as_mut().map(|stdin| stdin.write_all(orders.as_bytes())) {
            Some(Ok(())) => Ok(()),
            _ => Err(refused(&mut self.tc)),
        }
    }

    fn class(&self, verb: &str, change: Change) -> String {
        let (interface, packet, number) = (&self.interface, self.packet, change.place + 1);
        let rate = change.rate.unwrap_or(UNLIMITED);
        let burst = (rate / BURSTS_PER_SECOND).max(2 * u64::from(packet));
        format!(
            "class {verb} dev {interface} parent {HANDLE} classid {HANDLE}{number:x} htb rate {rate}bps \
             burst {burst}b cburst {burst}b quantum {packet}"
        )
    }

    fn filter(&self, place: usize, flow: &Flow) -> String {
        let (interface, number) = (&self.interface, place + 1);
        let protocol = flow.protocol.map(|number| format!(" match ip protocol {number} 0xff"));
        let port = flow.port.map(|port| format!(" match ip dport {port} 0xffff"));
        format!(
            "filter add dev {interface} parent {HANDLE} protocol ip prio 1 u32 match ip dst {}/32{}{} \
             flowid {HANDLE}{number:x}",
            flow.destination,
            protocol.unwrap_or_default(),
            port.unwrap_or_default(),
        )
    }

    /// Has all orders carried out.
    fn all(&self, orders: &[String]) -> Result<(), AgentError> {
        let mut tc = start()?;
        if let Some(mut stdin) = tc.stdin.take() {
            // If `tc` ends before, its reason says more than this error.
            let _ = stdin.write_all((orders.join("\n") + "\n").as_bytes());
        }
        match tc.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(refused(&mut tc)),
        }
    }

    /// Removes the discipline with this program's number, if it is there.
    fn remove(&self) {
        let _ = self.all(&[format!("qdisc del dev {} root handle {HANDLE}", self.interface)]);
    }
}

impl Drop for Htb {
    fn drop(&mut self) {
        drop(self.tc.stdin.take());
        let _ = self.tc.wait();
        self.remove();
    }
}

/// A socket of a name that one process has at a time. Like the interface's, the name is one of the network
/// namespace, and the kernel frees it however the process ends.
fn alone(interface: &str) -> Result<UnixDatagram, AgentError> {
    let name = SocketAddr::from_abstract_name(format!("groupflow-shape-{interface}"));
    name.and_then(|name| UnixDatagram::bind_addr(&name)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let cause = format!("another gfagent shapes on {interface}");
            AgentError::new("in_use", cause, "stop it, and give one gfagent all flows (--flow)")
        }
        _ => {
            AgentError::new("in_use", format!("no lock for {interface}: {}", plain(&error)), "check --iface")
        }
    })
}

fn start() -> Result<Child, AgentError> {
    let mut command = Command::new("tc");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|error: io::Error| {
        AgentError::new("tc", format!("cannot start tc: {}", plain(&error)), "install iproute2")
    })
}

/// The error of a `tc` that has ended, with its own first line.
fn refused(tc: &mut Child) -> AgentError {
    drop(tc.stdin.take());
    let mut text = String::new();
    if let Some(mut stderr) = tc.stderr.take() {
        let _ = stderr.read_to_string(&mut text);
    }
    let cause = format!("tc: {}", one_line(text.lines().next().unwrap_or("it ended")));
    let cure = "run as root on a kernel with sch_htb and cls_u32, on an interface without a discipline of \
                its own (`tc qdisc show`)";
    AgentError::new("tc", cause, cure)
}

#[cfg(test)]
#[path = "tests/htb.rs"]
mod tests;
