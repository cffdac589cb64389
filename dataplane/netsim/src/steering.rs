//! Settings and readings while the network runs: windows of TCP receivers, whether a sender has anything to
//! send, delays of links.

use groupflow_base::Nanos;

use crate::host::tcp_end::TcpEnd;
use crate::ids::{FlowId, NodeId};
use crate::network::Network;
use crate::node::SimNode;
use crate::spec::LinkSpec;
use crate::tcp::{Reading, TcpReceiver, TcpSender};

impl Network {
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let found = self.spec().flows.iter().position(|flow| flow.name == name)?;
        u32::try_from(found).ok().map(FlowId)
    }

    /// Lets the receiver of a flow with `receive_window` advertise so many bytes, from its next
    /// acknowledgement on. `None`: the flow has no TCP receiver at a host.
    pub fn set_receive_window(&mut self, flow: FlowId, bytes: u64) -> Option<()> {
        self.with_receiver(flow, |receiver| receiver.set_window(bytes))
    }

    /// The measurements of the receiver of a flow with `receive_window`; round trips since the last reading.
    pub fn read_receiver(&mut self, flow: FlowId) -> Option<Reading> {
        self.with_receiver(flow, TcpReceiver::read)
    }

    /// Lets a greedy TCP flow begin now, or go on after a pause; delivered bytes stay delivered.
    pub fn resume_flow(&mut self, flow: FlowId) -> Option<()> {
        self.with_sender(flow, |sender, now| sender.resume(now))
    }

    /// Lets a greedy TCP flow send nothing new from now on; data in flight is still delivered.
    pub fn pause_flow(&mut self, flow: FlowId) -> Option<()> {
        self.with_sender(flow, |sender, _| sender.pause())
    }

    /// Gives the link between two nodes this delay from now on, in both directions; frames that are on the
    /// link arrive as they would have. False: the delay is shorter than before, and nothing changes. `None`:
    /// there is no such link.
    pub fn lengthen_link(&mut self, a: NodeId, b: NodeId, delay: Nanos) -> Option<bool> {
        let name = |node: NodeId| self.spec().nodes.get(node.index()).map(|node| node.name.as_str());
        let (a_name, b_name) = (name(a)?, name(b)?);
        let joins = |link: &LinkSpec| {
            let ends = (link.a.node.as_str(), link.b.node.as_str());
            ends == (a_name, b_name) || ends == (b_name, a_name)
        };
        let place = self.spec().links.iter().position(joins)?;
        let there = self.wiring.links[2 * place].lengthen(delay);
        let back = self.wiring.links[2 * place + 1].lengthen(delay);
        Some(there && back)
    }

    fn with_sender<R>(&mut self, flow: FlowId, act: impl FnOnce(&mut TcpSender, Nanos) -> R) -> Option<R> {
        let ((from, _), now) = (*self.ends.get(flow.index())?, self.now());
        self.with_tcp(from, flow, |end| end.with_sender(now, |sender| act(sender, now))).flatten()
    }

    fn with_receiver<R>(&mut self, flow: FlowId, act: impl FnOnce(&mut TcpReceiver) -> R) -> Option<R> {
        let ((_, to), now) = (*self.ends.get(flow.index())?, self.now());
        self.with_tcp(to, flow, |end| end.with_receiver(now, act)).flatten()
    }

    fn with_tcp<R>(&mut self, node: NodeId, flow: FlowId, act: impl FnOnce(&mut TcpEnd) -> R) -> Option<R> {
        self.with_node(node, |node| match node {
            SimNode::Host(host) => host.place_of(flow).and_then(|place| host.with_tcp(place, act)),
            _ => None,
        })
    }
}
