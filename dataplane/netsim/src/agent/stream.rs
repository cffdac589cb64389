//! One stream at an agent: `groupflow_transport::fanout` over the TCP endpoints of its interfaces.

use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout, FanoutError};

use super::Spot;
use crate::host::tcp_end::TcpEnd;
use crate::host::HostInterface;
use crate::relays::Relay;
use crate::tcp::TcpSender;

/// A cache without bound (Table I of the paper).
const UNBOUNDED: u64 = u64::MAX;

/// A stream, and the connections that carry it.
#[derive(Debug)]
pub struct Split {
    stream: Fanout,
    /// The most bytes by which upstream's acknowledgement may be beyond that of the branches; `None`: no
    /// bound.
    ahead: Option<u64>,
    /// Whether all branches are connected, and upstream has been told.
    open: bool,
    /// The length of the stream in bytes, if it ends.
    length: Option<u64>,
    upstream: Spot,
    branches: Vec<(Spot, BranchId)>,
}

impl Split {
    /// A stream whose branches begin with its first byte.
    pub fn new(relay: &Relay, upstream: Spot, branches: Vec<Spot>) -> Split {
        let mut stream = Fanout::new(relay.mode, UNBOUNDED);
        // No byte has come yet, so no branch is refused.
        let added = |spot| stream.add_branch(BranchStart::Start).ok().map(|branch| (spot, branch));
        let branches = branches.into_iter().filter_map(added).collect();
        Split { stream, ahead: relay.ahead, open: false, length: relay.length, upstream, branches }
    }

    /// Bytes that some branch has not acknowledged.
    pub fn cached(&self) -> u64 {
        self.stream.cached()
    }

    /// Takes the data that upstream's TCP has in order, and hands it to the TCP of each branch.
    pub fn receive(
        &mut self, now: Nanos, interfaces: &mut [Option<HostInterface>], touched: &mut Vec<u16>,
    ) -> Result<(), FanoutError> {
        let delivered =
            with(interfaces, self.upstream, |tcp| tcp.with_receiver(now, |receiver| receiver.delivered()));
        let delivered = delivered.flatten().unwrap_or(0);
        let news = delivered - self.stream.received();
        if !self.open {
            self.connect(now, interfaces, touched);
        }
        if news == 0 {
            return Ok(());
        }
        self.stream.on_received(news)?;
        let ended = self.length == Some(delivered);
        if ended {
            self.stream.on_upstream_end();
        }
        for &(spot, branch) in &self.branches {
            self.stream.on_sent(branch, news)?;
            let supply = |sender: &mut TcpSender| {
                sender.supply(news);
                if ended {
                    sender.close();
                }
            };
            with(interfaces, spot, |tcp| tcp.with_sender(now, supply));
            touched.push(spot.port);
        }
        self.release(now, interfaces, touched);
        Ok(())
    }

    /// Opens the branches when the stream has come; answers upstream, if answers are held back, when the
    /// branches are connected.
    fn connect(&mut self, now: Nanos, interfaces: &mut [Option<HostInterface>], touched: &mut Vec<u16>) {
        if !with(interfaces, self.upstream, |tcp| tcp.connected()).unwrap_or(false) {
            return;
        }
        self.open = true;
        for &(spot, _) in &self.branches {
            let stands = with(interfaces, spot, |tcp| {
                tcp.open(now);
                tcp.connected()
            });
            self.open &= stands.unwrap_or(false);
            touched.push(spot.port);
        }
        if self.open {
            with(interfaces, self.upstream, |tcp| tcp.open(now));
            touched.push(self.upstream.port);
        }
    }

    /// Lets upstream's TCP acknowledge as much as the mode allows.
    fn release(&mut self, now: Nanos, interfaces: &mut [Option<HostInterface>], touched: &mut Vec<u16>) {
        let Some(ahead) = self.ahead else { return };
        let released = self.stream.received().min(self.stream.floor() + ahead);
        with(interfaces, self.upstream, |tcp| tcp.with_receiver(now, |receiver| receiver.release(released)));
        touched.push(self.upstream.port);
    }

    /// Takes the bytes acknowledged to a branch's TCP. If upstream's acknowledgements are held back,
    /// upstream's TCP may then acknowledge the bytes that all branches have.
    pub fn acknowledge(
        &mut self, now: Nanos, branch: usize, interfaces: &mut [Option<HostInterface>],
        touched: &mut Vec<u16>,
    ) -> Result<(), FanoutError> {
        let (spot, branch) = self.branches[branch];
        let acked = with(interfaces, spot, |tcp| tcp.with_sender(now, |sender| sender.acked()));
        let acked = acked.flatten().unwrap_or(0);
        if !self.open {
            self.connect(now, interfaces, touched);
        }
        if self.stream.acked(branch) == Some(acked) {
            return Ok(());
        }
        let before = self.stream.floor();
        self.stream.on_acked(branch, acked)?;
        if self.stream.floor() > before {
            self.release(now, interfaces, touched);
        }
        Ok(())
    }
}

fn with<R>(
    interfaces: &mut [Option<HostInterface>], spot: Spot, act: impl FnOnce(&mut TcpEnd) -> R,
) -> Option<R> {
    interfaces.get_mut(usize::from(spot.port))?.as_mut()?.with_tcp(spot.place, act)
}
