//! Orders: `{"id": ..., "buffer": ..., "max_connections": ..., "clients": [{"client": ..., "token": ...}],
//! "tune": [{"client": ..., "window": ..., "connections": ...}]}`, of which all but one may be left out.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::AsFd;

use groupflow_host::json::{FieldError, ObjectReader};
use groupflow_host::sockopt::{option, set_option};
use groupflow_host::tcp::TcpInfo;
use serde_json::Value;

use super::clients::{self, ClientList, MOST};
use crate::machine::ClientName;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// W: the sum of its connections' windows in bytes; `None`: the kernel tunes them.
    pub window: Option<u64>,
    /// N: the number of connections.
    pub connections: u16,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { window: None, connections: 1 }
    }
}

impl Setting {
    /// The window of one of `connections`: the least window plus whole segments of the rest, as evenly as
    /// possible. A TCP sender waits until it may send a whole segment, so any smaller remainder of a window
    /// is of no use. `segment` is in bytes; 0: not known yet.
    pub fn share(self, index: usize, connections: usize, segment: u64) -> Option<u64> {
        let window = self.window?;
        let (index, count) = (index as u64, connections.max(1) as u64);
        let least = segment.max(LEAST_WINDOW);
        match window.checked_sub(least * count) {
            Some(rest) if segment > 0 => {
                let segments = rest / segment;
                Some(least + segment * (segments / count + u64::from(index < segments % count)))
            }
            _ => Some((window / count).max(LEAST_WINDOW)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections of a client.
    pub connections: u16,
    /// The most bytes of all windows together.
    pub buffer: Option<u64>,
}

/// An order from stdin: all of it is carried out, in this order, or nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    /// From now on.
    pub bounds: Bounds,
    /// The clients that may send from now on.
    pub clients: Option<ClientList>,
    pub tune: Vec<(ClientName, Setting)>,
}

/// The state that an order refers to.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub settings: &'a BTreeMap<ClientName, Setting>,
    pub bounds: Bounds,
    pub max_clients: usize,
}

/// Parses a line: its id, and the order, or why nothing of it is carried out.
pub fn parse(line: &[u8], known: Known) -> (Value, Result<Order, FieldError>) {
    match serde_json::from_slice::<Value>(line) {
        Ok(line) => (line.get("id").cloned().unwrap_or_default(), order(&line, known)),
        Err(error) => {
            let (field, text) = ("request".to_owned(), format!("is no JSON: {error}"));
            (Value::Null, Err(FieldError { field, text }))
        }
    }
}

fn order(line: &Value, known: Known) -> Result<Order, FieldError> {
    let mut fields = ObjectReader::new("request", line)?;
    fields.value("id");
    let buffer = fields.optional_number("buffer", LEAST_WINDOW..=u64::MAX)?;
    let connections = fields.optional_number("max_connections", 1..=u16::MAX.into())?;
    let bounds = Bounds {
        buffer: buffer.or(known.bounds.buffer),
        connections: connections.map_or(known.bounds.connections, |count| count as u16),
    };
    let clients = match fields.value("clients") {
        None => None,
        Some(Value::Array(list)) if list.len() <= known.max_clients => Some(clients::parse(list)?),
        Some(_) => {
            let rule = format!("a list of at most {} clients, as --max-clients has it", known.max_clients);
            return Err(fields.wrong("clients", &rule));
        }
    };
    let changes = fields.list("tune", MOST)?;
    let missing = fields.wrong("tune", &format!("a list of at most {MOST}"));
    fields.finish()?;
    let has = |field| line.get(field).is_some_and(|value| !value.is_null());
    if !["buffer", "max_connections", "clients", "tune"].into_iter().any(has) {
        return Err(missing);
    }
    let known = Known { bounds, ..known };
    let tune = settings(changes, clients.as_ref(), known)?;
    let of = |name: &ClientName| tune.get(name).copied().unwrap_or(known.setting(name)).window.unwrap_or(0);
    let total: u64 = match &clients {
        Some(list) => list.keys().map(of).sum(),
        None => known.settings.keys().map(of).sum(),
    };
    match bounds.buffer {
        Some(most) if total > most => Err(FieldError {
            field: "tune".to_owned(),
            text: format!("makes windows of {total} bytes together, where --buffer allows {most}"),
        }),
        _ => Ok(Order { bounds, clients, tune: tune.into_iter().collect() }),
    }
}

/// The settings of the clients that are changed.
fn settings(
    changes: &[Value], clients: Option<&ClientList>, known: Known,
) -> Result<HashMap<ClientName, Setting>, FieldError> {
    let mut changed: HashMap<ClientName, Setting> = HashMap::new();
    let is_listed = |name: &ClientName| match clients {
        Some(list) => list.contains_key(name),
        None => known.settings.contains_key(name),
    };
    for (index, value) in changes.iter().enumerate() {
        let mut fields = ObjectReader::new(format!("tune[{index}]"), value)?;
        let name = ClientName::parse(fields.text("client", 255)?).filter(is_listed);
        let name = name.ok_or_else(|| fields.wrong("client", "one of the server's list"))?;
        let mut setting = changed.get(&name).copied().unwrap_or(known.setting(&name));
        if let Some(connections) =
            fields.optional_number("connections", 1..=known.bounds.connections.into())?
        {
            setting.connections = connections as u16;
        }
        if value.get("window").is_some() {
            // A null window goes back to the kernel's tuning.
            setting.window = fields.optional_number("window", LEAST_WINDOW..=LARGEST_WINDOW)?;
        }
        let least = LEAST_WINDOW * u64::from(setting.connections);
        if setting.window.is_some_and(|window| window < least) {
            return Err(fields.wrong("window", &format!("at least {least}, 1152 for each connection")));
        }
        fields.finish()?;
        changed.insert(name, setting);
    }
    Ok(changed)
}

impl Known<'_> {
    fn setting(self, name: &ClientName) -> Setting {
        self.settings.get(name).copied().unwrap_or_default()
    }
}

/// The least bytes to which the kernel lets a window be clamped (half of SOCK_MIN_RCVBUF).
pub const LEAST_WINDOW: u64 = 1152;
/// The most bytes to which a window is set.
pub const LARGEST_WINDOW: u64 = 1 << 30;
/// Memory that the kernel counts for a segment of up to 1,500 bytes: 2 KiB, and its descriptor.
const FRAME: u64 = 2304;
/// Gives SO_RCVBUF back to the kernel; not in libc (asm-generic/socket.h, since Linux 5.15).
const SO_BUF_LOCK: libc::c_int = 72;
/// A buffer of up to this many times the bytes needed stays as it is, so that a window that goes up and down
/// costs one call.
const ROOMY: u64 = 2;
/// The buffer with which the kernel's autotuning begins (the default of tcp_rmem[1], 128 KiB), before it is
/// doubled.
const START: libc::c_int = 64 << 10;

/// Makes it possible to set the windows of accepted connections as exactly as windows up to `most` can be
/// set: a clamp on the listener makes the kernel choose the smallest window scale that reaches `most`.
pub fn clamp(listener: &impl AsFd, most: u64) -> io::Result<()> {
    set_option(listener, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &in_bounds(most))
}

/// The window of a connection: its current setting, so that nothing is set twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdvertisedWindow {
    /// SO_RCVBUF and TCP_WINDOW_CLAMP in bytes; 0: the kernel's choice.
    buffer: u64,
    clamp: u64,
}

impl AdvertisedWindow {
    /// Lets the connection advertise `window` bytes from now on; `None`: as the kernel sees fit. `segment` is
    /// the size of the received segments in bytes; 0: not known.
    ///
    /// SO_RCVBUF switches off the kernel's autotuning, which would lift the clamp again, and bounds memory;
    /// the clamp makes the window exact. A window grows as soon as segments arrive; it shrinks as the bytes
    /// promised earlier arrive.
    pub fn set(&mut self, stream: &impl AsFd, window: Option<u64>, segment: u64) -> io::Result<()> {
        match window {
            Some(window) => {
                let needed = buffer(window, segment);
                if !(needed..=ROOMY * needed).contains(&self.buffer) {
                    set_option(stream, libc::SOL_SOCKET, libc::SO_RCVBUF, &in_bounds(needed))?;
                    self.buffer = needed;
                }
                if self.clamp != window {
                    set_option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &in_bounds(window))?;
                    self.clamp = window;
                }
            }
            None if *self == AdvertisedWindow::default() => {}
            None => {
                // From a small buffer, autotuning would never notice that a larger one would help.
                set_option(stream, libc::SOL_SOCKET, libc::SO_RCVBUF, &START)?;
                set_option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &libc::c_int::MAX)?;
                set_option(stream, libc::SOL_SOCKET, SO_BUF_LOCK, &0)?;
                *self = AdvertisedWindow::default();
            }
        }
        Ok(())
    }

    /// Repeats the setting, to be called regularly: the kernel moves the clamp when segments of another size
    /// arrive. If the peer was told the window that was set, the kernel did not move it.
    pub fn keep(&mut self, stream: &impl AsFd, window: u64, segment: u64, known: &TcpInfo) -> io::Result<()> {
        if self.clamp == window && !known.advertises(window) {
            let clamp: libc::c_int = option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP)?;
            self.clamp = clamp.unsigned_abs().into();
        }
        self.set(stream, Some(window), segment)
    }
}

/// The SO_RCVBUF, which the kernel doubles, for a window of such segments: if they take more than twice their
/// payload in memory, the kernel would advertise less.
fn buffer(window: u64, segment: u64) -> u64 {
    match segment {
        0 => window,
        _ => window.max((window / 2).saturating_mul(FRAME) / segment),
    }
}

/// A window in bytes, at most LARGEST_WINDOW.
fn in_bounds(window: u64) -> libc::c_int {
    window.clamp(LEAST_WINDOW, LARGEST_WINDOW) as libc::c_int
}

#[cfg(test)]
#[path = "tests/tune.rs"]
mod tests;
#[cfg(test)]
#[path = "tests/window.rs"]
mod window_tests;
