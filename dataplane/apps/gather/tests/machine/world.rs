//! Both ends of a stream, and the stripes between them.

use std::collections::VecDeque;

use groupflow_base::reassembly::Reassembly;
use groupflow_gather::machine::frame::data_header;
use groupflow_gather::machine::{
    Epoch, GatherFrame, Item, Outgoing, RefusalCode, Send, Side, StripeDecoder, StripeId,
};

/// An event. Stripes are taken modulo their number.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Read(usize),
    Open,
    Give(usize),
    CarryUp(usize, usize),
    CarryDown(usize, usize),
    /// The sink takes so many bytes more.
    Appetite(usize),
    Want(u16),
    /// The client gives up a stripe if it has more than are wanted.
    Retire,
    Kill(usize),
    /// The client finds that a stripe carries nothing.
    Stall(usize),
    /// It carries something again.
    Progress(usize),
    /// The server forgets a stream without stripes.
    Forget,
    Restart,
}

struct StripeModel {
    id: StripeId,
    up: VecDeque<u8>,
    down: VecDeque<u8>,
    at_server: StripeDecoder,
    at_client: StripeDecoder,
    welcome: bool,
    /// The server has read all, up to LEAVE.
    left: bool,
}

pub struct World {
    pub client: Outgoing,
    /// The bytes that the server delivered, which survive all faults.
    pub out: Vec<u8>,
    server: Option<Reassembly>,
    epoch: u64,
    room: u64,
    capacity: usize,
    wanted: u16,
    appetite: usize,
    stripes: Vec<StripeModel>,
    next: u32,
}

fn byte(offset: usize) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8).wrapping_mul(17)) as u8
}

impl World {
    pub fn new(room: u64, capacity: usize) -> World {
        World {
            client: Outgoing::new(capacity),
            out: Vec::new(),
            server: None,
            epoch: 1,
            room,
            capacity,
            wanted: 1,
            appetite: 0,
            stripes: Vec::new(),
            next: 0,
        }
    }

    pub fn live(&self) -> usize {
        self.stripes.len()
    }

    /// Stripes that are given bytes.
    pub fn active(&self) -> usize {
        self.stripes.iter().filter(|stripe| stripe.welcome).count()
    }

    pub fn held(&self) -> u64 {
        self.server.as_ref().map_or(0, |server| server.held())
    }

    pub fn check(&self) {
        assert!(self.out.iter().enumerate().all(|(at, &b)| b == byte(at)), "what goes out is what was read");
        assert!(self.client.acknowledged() <= self.out.len() as u64);
        assert!(self.out.len() as u64 <= self.client.read());
        assert!(self.client.read() - self.client.acknowledged() <= self.capacity as u64);
        assert!(self.held() <= self.room);
        if let Some(server) = &self.server {
            // A gap has the rest of two pages.
            let (gaps, memory) = (self.room / 512 + 1, server.memory() as u64);
            assert!(memory <= self.room + gaps * 2 * 4096, "{memory} bytes");
            assert!(server.limit() - server.delivered <= self.room);
        }
    }

    pub fn step(&mut self, step: Step) {
        let count = self.stripes.len();
        match step {
            Step::Read(bytes) => {
                let at = self.client.read() as usize;
                let data: Vec<u8> = (at..at + bytes).map(byte).collect();
                self.client.push(&data);
            }
            Step::Open if count < 12 => self.open(),
            Step::Give(stripe) if count > 0 => self.give(stripe % count),
            Step::CarryUp(stripe, bytes) if count > 0 => self.carry_up(stripe % count, bytes),
            Step::CarryDown(stripe, bytes) if count > 0 => self.carry_down(stripe % count, bytes),
            Step::Appetite(bytes) => {
                self.appetite = self.appetite.saturating_add(bytes);
                self.feed(None);
            }
            Step::Want(wanted) => {
                self.wanted = wanted;
                self.stripes.iter_mut().for_each(|s| GatherFrame::Want { wanted }.encode_into(&mut s.down));
            }
            Step::Retire => {
                // The youngest that may.
                let surplus = self.active() > usize::from(self.client.wanted);
                if let Some(stripe) = self.stripes.iter_mut().rev().find(|s| surplus && s.welcome) {
                    stripe.welcome = false;
                    self.client.retire(stripe.id);
                    GatherFrame::Leave.encode_into(&mut stripe.up);
                }
            }
            Step::Stall(stripe) if count > 0 => self.client.on_stalled(self.stripes[stripe % count].id),
            Step::Progress(stripe) if count > 0 => self.client.on_progress(self.stripes[stripe % count].id),
            Step::Kill(stripe) if count > 0 => self.kill(stripe % count),
            Step::Forget if self.stripes.is_empty() => self.server = None,
            Step::Restart => {
                while !self.stripes.is_empty() {
                    self.kill(0);
                }
                self.server = None;
            }
            _ => {}
        }
    }

    /// Everybody does what there is to do: stripes are as many as are wanted, all is carried.
    pub fn turn(&mut self) {
        self.turn_without(None);
    }

    /// The same, but nothing is carried by one stripe.
    pub fn turn_without(&mut self, silent: Option<usize>) {
        for _ in 0..2 {
            while self.stripes.iter().filter(|s| !s.left).count() < usize::from(self.client.wanted) {
                self.open();
            }
            for _ in 0..8 {
                let mut stripe = 0;
                while stripe < self.stripes.len() {
                    let before = self.stripes.len();
                    self.carry_down(stripe, usize::MAX);
                    if self.stripes.len() == before {
                        self.give(stripe);
                        if silent != Some(stripe) {
                            self.carry_up(stripe, usize::MAX);
                        }
                        stripe += 1;
                    }
                }
                self.step(Step::Retire);
            }
        }
    }

    /// The input ends, and nothing fails any more.
    pub fn settle(&mut self) {
        self.client.finish();
        self.stripes.iter().for_each(|stripe| self.client.on_progress(stripe.id));
        self.step(Step::Appetite(usize::MAX));
        for _ in 0..1000 {
            if self.client.complete {
                break;
            }
            self.turn();
        }
    }

    fn open(&mut self) {
        let delivered = self.out.len() as u64;
        if self.server.is_none() {
            self.epoch += 1;
            self.server = Some(Reassembly::new(delivered, self.room));
        }
        let limit = self.server.as_ref().map_or(0, |server| server.limit());
        let mut down = VecDeque::new();
        GatherFrame::Welcome { epoch: Epoch(self.epoch), delivered, limit, wanted: self.wanted }
            .encode_into(&mut down);
        self.stripes.push(StripeModel {
            id: StripeId(self.next),
            up: VecDeque::new(),
            down,
            at_server: StripeDecoder::new(Side::Client),
            at_client: StripeDecoder::new(Side::Server),
            welcome: false,
            left: false,
        });
        self.next += 1;
    }

    fn give(&mut self, index: usize) {
        let stripe = &mut self.stripes[index];
        // A connection takes no more than its buffer has room for.
        while stripe.up.len() < 20_000 {
            match self.client.give(stripe.id) {
                Some(Send::Data(range)) => {
                    let (front, back) = self.client.bytes(&range);
                    assert_eq!((front.len() + back.len()) as u64, range.end - range.start);
                    stripe.up.extend(data_header(range.start, front.len() + back.len()));
                    stripe.up.extend(front);
                    stripe.up.extend(back);
                }
                Some(Send::End(length)) => GatherFrame::End { length }.encode_into(&mut stripe.up),
                None => break,
            }
        }
    }

    fn carry_up(&mut self, index: usize, bytes: usize) {
        let stripe = &mut self.stripes[index];
        let bytes: Vec<u8> = stripe.up.drain(..bytes.min(stripe.up.len())).collect();
        let (mut input, server) = (&bytes[..], self.server.as_mut().expect("a stream has a server"));
        let (out, appetite) = (&mut self.out, &mut self.appetite);
        let mut sink = |bytes: &[u8]| {
            let taken = bytes.len().min(*appetite);
            out.extend(&bytes[..taken]);
            *appetite -= taken;
            taken
        };
        while let Some(item) = stripe.at_server.next_item(&mut input).expect("frames") {
            match item {
                Item::Data { offset, bytes } => {
                    server.receive(offset, bytes, &mut sink).expect("within the limit");
                }
                Item::Frame(GatherFrame::End { length }) => server.end(length).expect("the end"),
                Item::Frame(GatherFrame::Leave) => stripe.left = true,
                Item::Frame(other) => panic!("{other:?}"),
            }
        }
        self.feed(Some(index));
    }

    /// The server offers what it holds, and tells how far it is.
    fn feed(&mut self, tell: Option<usize>) {
        let Some(server) = self.server.as_mut() else { return };
        let (out, appetite) = (&mut self.out, &mut self.appetite);
        server.drain(&mut |bytes| {
            let taken = bytes.len().min(*appetite);
            out.extend(&bytes[..taken]);
            *appetite -= taken;
            taken
        });
        let (delivered, limit) = (server.delivered, server.limit());
        let complete = server.is_complete();
        for (index, stripe) in self.stripes.iter_mut().enumerate() {
            if tell.is_none() || tell == Some(index) {
                GatherFrame::Delivered { delivered, limit }.encode_into(&mut stripe.down);
            }
            if complete {
                GatherFrame::Complete { length: delivered }.encode_into(&mut stripe.down);
            }
        }
    }

    /// A stripe whose LEAVE was read is closed by the server, after what it has to say.
    fn carry_down(&mut self, index: usize, bytes: usize) {
        let stripe = &mut self.stripes[index];
        let bytes: Vec<u8> = stripe.down.drain(..bytes.min(stripe.down.len())).collect();
        let (mut input, id) = (&bytes[..], stripe.id);
        let mut stale = Vec::new();
        while let Some(item) = stripe.at_client.next_item(&mut input).expect("frames") {
            match item {
                Item::Frame(GatherFrame::Welcome { epoch, delivered, limit, wanted }) => {
                    stripe.welcome = true;
                    let news = (delivered, limit);
                    stale.extend(self.client.on_welcome(id, epoch, news, wanted).expect("welcome"));
                }
                Item::Frame(GatherFrame::Delivered { delivered, limit }) => {
                    self.client.on_delivered(id, delivered, limit).expect("news");
                }
                Item::Frame(GatherFrame::Want { wanted }) => self.client.on_want(wanted),
                Item::Frame(GatherFrame::Complete { length }) => {
                    self.client.on_complete(length).expect("complete")
                }
                Item::Frame(GatherFrame::Refusal { code: RefusalCode::Late, .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        if stripe.left && stripe.down.is_empty() {
            self.client.on_left(id);
            self.stripes.remove(index);
        }
        self.stripes.retain(|stripe| !stale.contains(&stripe.id));
    }

    fn kill(&mut self, index: usize) {
        let stripe = self.stripes.remove(index);
        self.client.on_lost(stripe.id);
    }
}
