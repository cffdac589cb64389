//! Messages between hosts and dispatchers, as they are on their way, and dispatchers that are replaced.

use super::*;

impl Grove {
    /// A host joins a cluster.
    pub(super) fn ask(&mut self, host: HostId, cluster: ClusterId) {
        if let Some(found) = self.nodes.get_mut(&host) {
            (found.cluster, found.order, found.attached, found.again) = (cluster, 0, false, None);
            found.joins += 1;
            let join = TreeJoin {
                peer: peer(host),
                router: None,
                capacity: found.capacity,
                token: token(),
                name: host.to_string(),
            };
            self.tell(host, FromHost::Join(join));
        }
    }

    pub fn tell(&mut self, host: HostId, message: FromHost) {
        let Some(found) = self.nodes.get_mut(&host) else { return };
        match message {
            FromHost::Attached { order, .. } => {
                (found.attached, found.placed) = (order == found.order, true);
            }
            FromHost::Lost { .. } => found.attached = false,
            _ => {}
        }
        let (cluster, joins) = (found.cluster, found.joins);
        self.told.push_back(Upward { host, cluster, joins, message: Some(message) });
    }

    /// Delivers this many messages each way; those of one host always in order.
    pub fn deliver(&mut self, most: usize) -> bool {
        let may_tell = |up: &Upward| !is_away(&self.nodes, up.host) || up.message.is_none();
        let told = take_of(&mut self.told, most, |up| self.are_present && may_tell(up));
        let orders = take_of(&mut self.orders, most, |down| !is_away(&self.nodes, down.told.host));
        let some = !told.is_empty() || !orders.is_empty();
        for up in told {
            self.hear(up);
        }
        for down in orders {
            self.obey(down);
        }
        some
    }

    /// Delivers one host's next messages before all others.
    pub fn hurry(&mut self, host: HostId) {
        if let Some(at) = self.orders.iter().position(|down| down.told.host == host) {
            let down = self.orders.remove(at).expect("an order");
            self.obey(down);
        } else if let Some(at) = self.told.iter().position(|up| up.host == host) {
            let up = self.told.remove(at).expect("what it tells");
            self.hear(up);
        }
    }

    pub(super) fn hear(&mut self, Upward { host, cluster, joins, message }: Upward) {
        let told = match message {
            Some(message) => {
                self.heard.insert(host, joins);
                self.dispatchers.on_host(self.now, cluster, host, message)
            }
            None => self.dispatchers.on_gone(self.now, cluster, host),
        };
        self.collect(told);
    }

    pub(super) fn obey(&mut self, Down { told: HostMessage { cluster, host, message }, joins }: Down) {
        let now = self.now;
        let here = |found: &&mut NodeReader| found.joins == joins && found.cluster == cluster;
        let Some(found) = self.nodes.get_mut(&host).filter(here) else { return };
        match &message {
            ToHost::Place { order, .. } => (found.order, found.attached) = (*order, false),
            ToHost::Redirect(_) => self.redirected += usize::from(found.placed),
            // No host has room for one that had no place yet.
            ToHost::Refused { code, .. } if !found.placed && *code != RefusalCode::Ended => {
                return self.kill(host)
            }
            ToHost::Refused { code, .. } => {
                found.node.begin_again(now);
                let again = if *code == RefusalCode::Ended { now } else { now + AGAIN };
                found.refused |= *code != RefusalCode::Ended;
                found.again = Some(again).filter(|_| !found.node.is_leaving());
                return self.act(host);
            }
            _ => {}
        }
        found.node.on_order(now, message);
        self.act(host);
    }

    /// The dispatchers die, and are made again from their stored states: messages between them and the hosts
    /// are lost.
    pub fn replace(&mut self) {
        self.replaced += 1;
        let stored = |dispatcher: &Dispatcher| serde_json::to_string(dispatcher).expect("JSON");
        let restored = |state: String| serde_json::from_str(&state).expect("the same");
        let states = self.dispatchers.iter().map(stored).map(restored).collect();
        // Else there would be two of each name.
        let seed = 1 + self.replaced as u64;
        let again = Dispatchers::resume(states, self.policy, token(), seed, self.now);
        self.dispatchers = again.expect("with the root");
        let lost: Vec<Upward> = self.told.drain(..).filter(|up| up.message.is_none()).collect();
        self.told.extend(lost);
        self.orders.clear();
        let root = self.dispatchers.root;
        self.tell(SOURCE, FromHost::Back { order: 0, attached: true });
        for host in self.nodes.keys().copied().filter(|&host| host != SOURCE).collect::<Vec<_>>() {
            if !is_away(&self.nodes, host) {
                self.introduce(host, root);
            }
        }
    }

    /// A host has a new connection to the dispatchers.
    pub(super) fn introduce(&mut self, host: HostId, root: ClusterId) {
        let NodeReader { order, attached, ref node, .. } = self.nodes[&host];
        let (parent, is_leaving) = (node.parent(), node.is_leaving());
        if node.has_all_read() {
            self.tell(host, FromHost::Complete);
        }
        if is_leaving {
            return self.tell(host, FromHost::Leave);
        }
        if order == 0 {
            return self.ask(host, root);
        }
        self.tell(host, FromHost::Back { order, attached });
        if parent.is_none() {
            self.tell(host, FromHost::Lost { order, gone: false });
        }
    }

    /// Delivers all messages, and those that they cause; connections carry no byte meanwhile.
    pub fn deliver_all(&mut self) -> bool {
        let some = self.deliver(usize::MAX);
        let mut turns = 0;
        while self.deliver(usize::MAX) {
            turns += 1;
            assert!(turns < 10_000, "messages for ever: {}", self.show());
        }
        some
    }
}
