//! The messages between a host and the dispatchers.

use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use groupflow_host::error::{exit, AgentError};
use serde_json::{json, Value};

use super::Host;
use crate::agent::control::Said;
use crate::agent::router;
use crate::agent::shared::Shared;
use crate::machine::{ClusterId, FromHost, Join, Peer, RefusalCode, ToHost};

/// Pause before a refused host tries again, and its number of attempts.
const AGAIN: Duration = Duration::from_millis(300);
const ATTEMPTS: u32 = 40;
/// Dispatchers that are silent for this many of their signs of life are gone.
const SIGNS_MISSED: u32 = 4;

impl Host<'_> {
    pub(super) fn on_refusal(&mut self, code: RefusalCode, text: &str) -> Result<(), AgentError> {
        self.attempts += 1;
        if code == RefusalCode::WrongToken || self.attempts > ATTEMPTS {
            return Err(refused(text));
        }
        self.node.begin_again(self.nanos());
        let again = self.now + if code == RefusalCode::Ended { Duration::ZERO } else { AGAIN };
        self.again = Some(again).filter(|_| !self.node.is_leaving());
        self.act()
    }

    pub(super) fn tell(&mut self, message: &FromHost) {
        match message {
            FromHost::Attached { order, .. } if *order == self.order => {
                (self.attached, self.attempts) = (true, 0);
            }
            FromHost::Lost { .. } => self.attached = false,
            _ => {}
        }
        let (Some(cluster), Ok(Value::Object(mut line))) = (self.cluster, serde_json::to_value(message))
        else {
            return;
        };
        line.insert("cluster".to_owned(), json!(cluster));
        line.insert("joins".to_owned(), json!(self.joins));
        self.control.say(&Value::Object(line));
    }

    pub(super) fn join(&mut self, cluster: Option<ClusterId>) {
        if cluster.is_some() {
            (self.cluster, self.order, self.attached) = (cluster, 0, false);
            self.joins += 1;
            self.tell(&FromHost::Join(self.card()));
        }
    }

    /// The host's introduction to a cluster.
    fn card(&self) -> Join {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        let own = *self.args.listen.ip();
        let ip = if own.is_unspecified() { self.control.own_address().unwrap_or(own) } else { own };
        let peer = Peer { host: self.id, address: SocketAddr::V4(SocketAddrV4::new(ip, port)) };
        Join { peer, router: router::own(), capacity: self.args.children, token: self.args.token.clone() }
    }

    /// Takes the dispatchers' messages.
    pub(super) fn hear(&mut self) -> Result<(), AgentError> {
        for said in self.control.work(self.now, &mut self.poller)? {
            match said {
                Said::Connected => {
                    let (key, lost) = (format!("{:032x}", self.key), self.control.failed());
                    let hello = json!({
                        "join": self.card(), "key": key, "source": self.source, "root": self.root, "lost": lost,
                    });
                    self.control.say(&json!({"hello": hello}));
                    self.control.work(self.now, &mut self.poller)?;
                }
                Said::Lost => {}
                Said::Line(line) => {
                    if !self.on_line(line)? {
                        // Further messages are not for a host that goes elsewhere.
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one message; false: the host goes elsewhere.
    fn on_line(&mut self, mut line: Value) -> Result<bool, AgentError> {
        if let Some(welcome) = line.get_mut("welcome") {
            return self.on_welcome(welcome.take()).map(|()| true);
        }
        if let Some(elsewhere) = line.get("elsewhere") {
            match serde_json::from_value(elsewhere["at"].clone()) {
                Ok(address) => self.control.go_to(self.now, &mut self.poller, address)?,
                Err(_) => self.control.leave(self.now, &mut self.poller, "they sent it to no address"),
            }
            return Ok(false);
        }
        if let Some(refusal) = line.get("refused") {
            let text = refusal["text"].as_str().unwrap_or("no reason was given").to_owned();
            match refusal["code"].as_str() {
                Some("ended") => {
                    self.ended = true;
                    self.control.lose(&mut self.poller);
                }
                Some("no_tree") => return Err(another_tree()),
                // Another tree's dispatchers may have room, or these when hosts have left.
                Some("full") => self.control.leave(self.now, &mut self.poller, &text),
                _ => return Err(refused(&text)),
            }
            return Ok(false);
        }
        if let Some(dispatchers) = line.get("dispatchers") {
            // Processes have come or gone: all that this host knew may be replaced before this one is.
            self.control.know(self.now, &addresses(dispatchers));
            return Ok(true);
        }
        if let Some(hosts) = line.get("hosts").and_then(Value::as_u64) {
            self.hosts = usize::try_from(hosts).unwrap_or(usize::MAX);
            return Ok(true);
        }
        let now_here = line["joins"] == json!(self.joins) && line["cluster"] == json!(self.cluster);
        // An order that this version does not know comes from a later one, and is not for this host.
        if let (true, Ok(order)) = (now_here, serde_json::from_value::<ToHost>(line)) {
            self.control.is_served();
            if let ToHost::Place { order, .. } = &order {
                (self.order, self.attached) = (*order, false);
            }
            self.node.on_order(self.nanos(), order);
            self.act()?;
        }
        Ok(true)
    }

    fn on_welcome(&mut self, mut welcome: Value) -> Result<(), AgentError> {
        let version = || {
            AgentError::new(
                "dispatchers",
                "the dispatchers' welcome makes no sense",
                "check that they are of this version",
            )
        };
        let root: ClusterId = serde_json::from_value(welcome["root"].take()).map_err(|_| version())?;
        if !self.args.secure.plain {
            self.shared = Some(Shared::parse(&welcome["identity"])?);
            self.serve_quic()?;
        }
        self.control.know(self.now, &addresses(&welcome["dispatchers"]));
        self.control.is_welcome();
        self.node.conns.on_dispatchers(self.control.round_trip());
        let signs = welcome["alive_ms"].as_u64().map(Duration::from_millis);
        self.control.expect_signs(signs.map(|every| SIGNS_MISSED * every));
        let before = self.root.replace(root);
        if before.is_some_and(|before| before != root) {
            return Err(another_tree());
        }
        if self.source {
            self.cluster = Some(root);
            self.tell(&FromHost::Back { order: 0, attached: true });
            if self.node.is_leaving() {
                self.tell(&FromHost::Leave);
            }
        } else if self.node.is_leaving() {
            self.tell(&FromHost::Leave);
        } else if self.order == 0 {
            // This host may have been sent to a cluster, and then here, where that cluster's dispatcher is.
            self.again = None;
            self.join(self.cluster.or(self.root));
        } else {
            self.tell(&FromHost::Back { order: self.order, attached: self.attached });
            if self.node.parent().is_none() && self.dials.is_empty() {
                self.tell(&FromHost::Lost { order: self.order, gone: false });
            }
        }
        Ok(())
    }
}

fn another_tree() -> AgentError {
    let cure = "start it again to be in the new tree";
    AgentError::new("ended", "the tree has ended, and another has begun, or will", cure)
}

fn addresses(told: &Value) -> Vec<SocketAddrV4> {
    told.as_array().into_iter().flatten().filter_map(|at| at.as_str()?.parse().ok()).collect()
}

fn refused(text: &str) -> AgentError {
    let cause = format!("refused by the dispatchers: {}", text.replace('\n', " "));
    AgentError { exit: exit::REFUSED, ..AgentError::new("refused", cause, "check --token and --to") }
}
