//! A host's standing with the dispatchers: its cluster, how often it has joined one, and its last order.

use super::messages::{ClusterId, ClusterLine, FromHost, ToHost, TreeJoin};
use super::node::TreeNode;

#[derive(Debug, Clone, Default)]
pub struct Standing {
    is_source: bool,
    pub root: Option<ClusterId>,
    pub(crate) cluster: Option<ClusterId>,
    /// How often the host has joined a cluster: answers to an earlier join are not for it any more.
    pub(crate) joins: u32,
    order: u32,
    /// Whether the host is connected to the parent that its last order named.
    pub attached: bool,
}

impl Standing {
    pub fn new(is_source: bool) -> Standing {
        Standing { is_source, ..Standing::default() }
    }

    /// Whether the host has a parent, or is the source and was let in.
    pub fn is_in(&self) -> bool {
        self.attached || self.is_source && self.root.is_some()
    }

    /// The line that carries a host's message; `None`: the host has not joined a cluster yet.
    pub fn line(&mut self, message: FromHost) -> Option<ClusterLine<FromHost>> {
        match message {
            FromHost::Attached { order, .. } if order == self.order => self.attached = true,
            FromHost::Lost { .. } => self.attached = false,
            _ => {}
        }
        Some(ClusterLine { cluster: self.cluster?, joins: self.joins, message })
    }

    /// The line by which the host joins a cluster.
    pub fn join(&mut self, cluster: ClusterId, card: TreeJoin) -> ClusterLine<FromHost> {
        self.cluster = Some(cluster);
        self.order = 0;
        self.attached = false;
        self.joins += 1;
        ClusterLine { cluster, joins: self.joins, message: FromHost::Join(card) }
    }

    /// The order that a dispatcher's line has for the node; `None`: the line answers an earlier join.
    pub fn order(&mut self, line: ClusterLine<ToHost>) -> Option<ToHost> {
        if line.joins != self.joins || Some(line.cluster) != self.cluster {
            return None;
        }
        if let ToHost::Place { order, .. } = line.message {
            self.order = order;
            self.attached = false;
        }
        Some(line.message)
    }

    /// The lines for dispatchers that have welcomed the host: they may have been replaced, and are told again
    /// where it stands. `is_dialling`: it connects to a parent at the moment. `None`: they have another tree.
    pub fn welcomed(
        &mut self, root: ClusterId, node: &TreeNode, is_dialling: bool, card: TreeJoin,
    ) -> Option<Vec<ClusterLine<FromHost>>> {
        if self.root.replace(root).is_some_and(|before| before != root) {
            return None;
        }
        let (order, attached) = (self.order, self.attached);
        let mut messages = Vec::new();
        if self.is_source {
            self.cluster = Some(root);
            messages.push(FromHost::Back { order: 0, attached: true });
        }
        // These dispatchers may not have heard it before.
        if node.has_all_read() {
            messages.push(FromHost::Complete);
        }
        if node.is_leaving() {
            messages.push(FromHost::Leave);
        } else if !self.is_source && order != 0 {
            messages.push(FromHost::Back { order, attached });
            if node.parent().is_none() && !is_dialling {
                messages.push(FromHost::Lost { order, gone: false });
            }
        }
        let mut lines: Vec<_> = messages.into_iter().filter_map(|message| self.line(message)).collect();
        if !node.is_leaving() && !self.is_source && order == 0 {
            // The host may have been sent to another cluster before the connection was lost.
            lines.push(self.join(self.cluster.unwrap_or(root), card));
        }
        Some(lines)
    }
}
