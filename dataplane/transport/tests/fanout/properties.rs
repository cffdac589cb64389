//! Random interleavings beside a model that has the bytes: bytes that should be in the cache by its offsets
//! are there, every branch gets the stream in order from where it began, and the capacity holds.

use std::collections::{BTreeMap, VecDeque};

use groupflow_transport::fanout::{BranchId, BranchStart, Fanout, Mode};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Receive(u64),
    Send(usize, u64),
    Acknowledge(usize, u64),
    Join(BranchStart),
    Leave(usize),
    End,
    TellEnd(usize),
    AcknowledgeEnd(usize),
    Lose(usize),
    Forget,
    Isolate(usize),
    TakeBack,
    RemoveOvertaken,
}

fn step() -> impl Strategy<Value = Step> {
    let branch = 0..5_usize;
    let from = prop_oneof![
        Just(BranchStart::Now),
        Just(BranchStart::Start),
        (0..400_u64).prop_map(BranchStart::Offset)
    ];
    prop_oneof![
        6 => (0..80_u64).prop_map(Step::Receive),
        6 => (branch.clone(), 0..80_u64).prop_map(|(b, n)| Step::Send(b, n)),
        6 => (branch.clone(), 0..400_u64).prop_map(|(b, n)| Step::Acknowledge(b, n)),
        2 => from.prop_map(Step::Join),
        1 => branch.clone().prop_map(Step::Leave),
        1 => Just(Step::End),
        1 => branch.clone().prop_map(Step::TellEnd),
        1 => branch.clone().prop_map(Step::AcknowledgeEnd),
        1 => branch.clone().prop_map(Step::Lose),
        1 => Just(Step::Forget),
        1 => branch.prop_map(Step::Isolate),
        1 => Just(Step::TakeBack),
        1 => Just(Step::RemoveOvertaken),
    ]
}

/// Byte `offset` of the stream.
fn byte(offset: u64) -> u8 {
    (offset * 31 % 251) as u8
}

/// The shell's part: bytes in a cache that is cut where the stream says, and the bytes of each branch.
struct FanoutShell {
    stream: Fanout,
    base: u64,
    bytes: VecDeque<u8>,
    got: BTreeMap<BranchId, (u64, Vec<u8>)>,
    acknowledged: u64,
}

impl FanoutShell {
    fn new(mode: Mode, capacity: u64, allowance: u64, history: u64) -> FanoutShell {
        let stream = Fanout::new(mode, capacity).with_allowance(allowance).with_history(history);
        FanoutShell { stream, base: 0, bytes: VecDeque::new(), got: BTreeMap::new(), acknowledged: 0 }
    }

    fn nth(&self, index: usize) -> Option<BranchId> {
        self.stream.branches().nth(index)
    }

    fn act(&mut self, step: Step) {
        match step {
            Step::Receive(wanted) => {
                let bytes = wanted.min(self.stream.intake());
                let at = self.stream.received;
                self.bytes.extend((at..at + bytes).map(byte));
                self.stream.on_received(bytes).expect("no more than the intake");
            }
            Step::Send(index, wanted) => {
                let Some(branch) = self.nth(index) else { return };
                let range = self.stream.sendable(branch);
                let bytes = wanted.min(range.end - range.start);
                let from = (range.start - self.base) as usize;
                let copy: Vec<u8> = self.bytes.range(from..from + bytes as usize).copied().collect();
                self.got.get_mut(&branch).expect("known").1.extend(copy);
                self.stream.on_sent(branch, bytes).expect("no more than is sendable");
            }
            Step::Acknowledge(index, offset) => {
                let Some(branch) = self.nth(index) else { return };
                let known = self.stream.sent(branch).is_some_and(|sent| offset <= sent);
                assert_eq!(self.stream.on_acked(branch, offset).is_ok(), known);
            }
            Step::Join(from) => {
                let (base, received) = (self.stream.base, self.stream.received);
                let wanted = match from {
                    BranchStart::Now => received,
                    BranchStart::Start => 0,
                    BranchStart::Offset(offset) => offset,
                };
                let added = self.stream.add_branch(from);
                assert_eq!(added.is_ok(), (base..=received).contains(&wanted));
                if let Ok(branch) = added {
                    self.got.insert(branch, (wanted, Vec::new()));
                }
            }
            Step::Leave(index) => {
                if let Some(branch) = self.nth(index) {
                    self.stream.remove_branch(branch);
                }
            }
            Step::End => self.stream.on_upstream_end(),
            Step::TellEnd(index) => {
                let Some(branch) = self.nth(index) else { return };
                let due = self.stream.end_due(branch);
                assert_eq!(self.stream.on_end_sent(branch).is_ok(), due);
            }
            Step::AcknowledgeEnd(index) => {
                if let Some(branch) = self.nth(index) {
                    let _ = self.stream.on_end_acked(branch);
                }
            }
            Step::Lose(index) => {
                let Some(branch) = self.nth(index) else { return };
                self.stream.on_lost(branch).expect("there");
                // The successor of the connection has the bytes that were acknowledged.
                let acked = self.stream.acked(branch).expect("there");
                let (start, got) = self.got.get_mut(&branch).expect("known");
                got.truncate((acked - *start) as usize);
            }
            Step::Forget => self.stream.forget_history(),
            Step::Isolate(index) => {
                if let Some(branch) = self.nth(index) {
                    self.stream.isolate(branch).expect("there");
                }
            }
            Step::TakeBack => {
                for branch in self.stream.take_back() {
                    assert!(!self.stream.is_isolated(branch));
                }
            }
            Step::RemoveOvertaken => {
                for branch in self.stream.overtaken() {
                    assert!(self.stream.is_isolated(branch), "nobody else is overtaken");
                    self.stream.remove_branch(branch);
                }
            }
        }
        // The shell forgets what it is told it may.
        let drop = self.stream.base - self.base;
        self.bytes.drain(..drop as usize);
        self.base += drop;
    }

    fn check(&mut self, mode: Mode) -> Result<(), TestCaseError> {
        let stream = &self.stream;
        prop_assert_eq!(self.bytes.len() as u64, stream.held());
        prop_assert!(stream.held() <= stream.capacity && stream.peak <= stream.capacity);
        prop_assert!(stream.base <= stream.floor && stream.cached() <= stream.held());
        for branch in stream.branches() {
            let (acked, sent) = (stream.acked(branch).expect("there"), stream.sent(branch).expect("there"));
            let isolated = stream.is_isolated(branch);
            prop_assert!((isolated || stream.floor <= acked) && acked <= sent && sent <= stream.received);
            prop_assert_eq!(stream.lag(branch), Some(stream.received - acked));
        }
        let counting = stream.branches().filter(|&b| !stream.is_isolated(b));
        let least = counting.filter_map(|b| stream.acked(b)).min();
        prop_assert!(least.is_none() || least == Some(stream.floor));
        if mode == Mode::EndToEnd {
            prop_assert!(least.is_none() || stream.acknowledged() >= stream.floor);
        }
        prop_assert!(stream.acknowledged() >= self.acknowledged, "an acknowledgement went back");
        self.acknowledged = stream.acknowledged();
        for (start, got) in self.got.values() {
            prop_assert!(got.iter().zip(*start..).all(|(&b, at)| b == byte(at)), "order");
        }
        if stream.finished() {
            let all = stream.branches().all(|b| stream.acked(b) == Some(stream.received));
            prop_assert!(all && stream.cached() == 0);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_beyond_the_bound(
        end_to_end in any::<bool>(),
        capacity in 1..200_u64,
        allowance in 1..100_u64,
        history in 0..200_u64,
        steps in vec(step(), 0..200),
    ) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let mut shell = FanoutShell::new(mode, capacity, allowance, history);
        for step in steps {
            let unneeded = shell.stream.cached();
            shell.act(step);
            if let (Mode::EndToEnd, Step::Receive(_)) = (mode, step) {
                prop_assert!(shell.stream.cached() <= allowance.max(unneeded));
            }
            shell.check(mode)?;
        }
    }

    /// Branches that read and acknowledge at all get all of the stream, however slow they are.
    #[test]
    fn every_branch_gets_everything(
        end_to_end in any::<bool>(),
        capacity in 1..200_u64,
        paces in vec(1..50_u64, 1..5),
        length in 0..1000_u64,
    ) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let mut shell = FanoutShell::new(mode, capacity, 1 + capacity / 3, 0);
        for _ in &paces {
            shell.act(Step::Join(BranchStart::Start));
        }
        let mut rounds = 0;
        while !shell.stream.finished() {
            rounds += 1;
            prop_assert!(rounds < 10_000, "no progress");
            match length - shell.stream.received {
                0 => shell.act(Step::End),
                left => shell.act(Step::Receive(left)),
            }
            for (index, &pace) in paces.iter().enumerate() {
                shell.act(Step::Send(index, pace));
                let sent = shell.nth(index).and_then(|b| shell.stream.sent(b)).expect("there");
                shell.act(Step::Acknowledge(index, sent));
                shell.act(Step::TellEnd(index));
                shell.act(Step::AcknowledgeEnd(index));
            }
            shell.check(mode)?;
        }
        prop_assert!(shell.got.values().all(|(start, got)| *start == 0 && got.len() as u64 == length));
    }

    /// However slow one branch is, the others are not stopped by it; it gets all in order, or is overtaken,
    /// and that not before it is a whole cache behind.
    #[test]
    fn an_isolated_branch_stops_nobody_and_gets_what_the_cache_permits(
        end_to_end in any::<bool>(),
        capacity in 8..200_u64,
        fast in 1..50_u64,
        percent in 0..=100_u64,
        length in 0..1000_u64,
    ) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let mut shell = FanoutShell::new(mode, capacity, capacity / 4, 0);
        let slow = fast * percent / 100;
        let patience = if end_to_end { capacity / 4 } else { capacity / 2 };
        shell.stream = shell.stream.clone().with_patience(patience);
        for _ in 0..2 {
            shell.act(Step::Join(BranchStart::Start));
        }
        let (quick, tardy) = (shell.nth(0).expect("joined"), shell.nth(1).expect("joined"));
        let mut rounds = 0;
        while shell.stream.acked(quick) != Some(length) {
            rounds += 1;
            prop_assert!(rounds <= length + 1, "the quick one moves in each round");
            match length - shell.stream.received {
                0 => shell.act(Step::End),
                left => shell.act(Step::Receive(left)),
            }
            for (index, pace) in [(0, fast), (1, slow)] {
                let Some(branch) = shell.nth(index) else { continue };
                shell.act(Step::Send(index, pace));
                let sent = shell.stream.sent(branch).expect("there");
                shell.act(Step::Acknowledge(index, sent));
            }
            for branch in shell.stream.laggards() {
                prop_assert_eq!(branch, tardy);
                shell.stream.isolate(branch).expect("there");
            }
            for branch in shell.stream.overtaken() {
                prop_assert!(shell.stream.lag(branch) > Some(capacity));
            }
            shell.act(Step::RemoveOvertaken);
            shell.act(Step::TakeBack);
            shell.check(mode)?;
        }
        if shell.stream.branches().any(|b| b == tardy) {
            shell.act(Step::Send(1, length));
            prop_assert_eq!(shell.got[&tardy].1.len() as u64, length);
        }
    }
}
