//! A packet that goes through the switch at once is treated as one that stops between ingress and egress.

use crate::common::{queues_config, request, set_rate, switch_config, QUEUES_JSON, QUEUES_P4INFO};
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::core::{parse_port_link, Emitted, SentFrame, Switch, SwitchConfig, SwitchStats};
use groupflow_switch::p4rt::{PipelineConfig, Runtime};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::{Arc, OnceLock};

const PORT: u16 = 2;
const QUEUES: u8 = 8;
const LINKS: [&str; 5] = [
    "2:dir=out",
    "2:rate=12mbit,dir=out",
    "2:delay=1ms,dir=out",
    "2:loss=30%,dir=out",
    "2:rate=1gbit,queue=3",
];
const CHANGES: [&str; 8] =
    ["level=1", "weight=7", "rate=2000pps", "rate=unlimited", "packets=1", "bytes=900", "pause", "resume"];

/// queues.p4, which besides clones each packet to a session that is not there: that makes no clone, and yet
/// the packet is not done with when ingress ends, so that it takes the general way.
fn general() -> Arc<PipelineConfig> {
    static CONFIG: OnceLock<Arc<PipelineConfig>> = OnceLock::new();
    let load = || {
        let clone = r#"{"op": "clone_ingress_pkt_to_egress", "parameters": [
            {"type": "hexstr", "value": "0x63"}, {"type": "hexstr", "value": "0x1"}]}, "#;
        let list = r#""field_lists" : [{"id": 1, "name": "none", "elements": []}]"#;
        let (before, after) = QUEUES_JSON.split_once(r#""name" : "queues57""#).unwrap();
        let after = after.replacen(r#""primitives" : ["#, &format!(r#""primitives" : [{clone}"#), 1);
        let json = format!("{before}\"name\" : \"queues57\"{after}").replace(r#""field_lists" : []"#, list);
        assert_eq!(json.matches(clone).count() + json.matches(list).count(), 2);
        Arc::new(PipelineConfig::from_files(&json, QUEUES_P4INFO).unwrap())
    };
    Arc::clone(CONFIG.get_or_init(load))
}

struct SwitchRun {
    switch: Switch,
    left: Vec<SentFrame>,
    next: Option<Nanos>,
}

impl SwitchRun {
    fn new(config: Arc<PipelineConfig>, link: &str, eager: bool) -> SwitchRun {
        let links = vec![parse_port_link(link).unwrap()];
        let config_of = SwitchConfig { priorities: QUEUES, links, eager, ..switch_config(&[]) };
        let mut switch = Switch::new(config_of).unwrap();
        Runtime::new(1).install(&mut switch, config);
        SwitchRun { switch, left: Vec::new(), next: None }
    }

    fn step(&mut self, now: Nanos, step: &Step) {
        match step {
            Step::Packet { queue, length } => {
                self.switch.inject(now, Port(1), &request(PORT, *queue, *length as u16, *length));
            }
            Step::Rate { queue, units } => self.switch.inject(now, Port(1), &set_rate(PORT, *queue, *units)),
            Step::Queue { queue, change } => {
                self.switch.catch_up(now);
                self.switch.change_queue(Port(PORT), *queue, &CHANGES[*change].parse().unwrap()).unwrap();
            }
        }
        let mut emitted = Emitted::default();
        self.next = self.switch.advance(now, &mut emitted);
        self.left.append(&mut emitted.outputs);
    }

    /// The last values of the queue in the program's egress: its depth twice, and its share.
    fn seen(&self) -> Vec<u64> {
        let pipeline = &self.switch.forwarding().unwrap().pipeline;
        let seen = pipeline.program().register("QueueEgress.seen").unwrap().id;
        (0..3).map(|cell| pipeline.register_read(seen, cell).unwrap() as u64).collect()
    }

    fn outcome(&self) -> (&[SentFrame], Option<Nanos>, SwitchStats, Vec<u64>) {
        (&self.left, self.next, self.switch.stats(), self.seen())
    }
}

#[derive(Debug, Clone)]
enum Step {
    Packet { queue: u8, length: usize },
    Rate { queue: u8, units: u32 },
    Queue { queue: u8, change: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Two queues more often than others, and one that the port does not have.
        8 => (prop_oneof![4 => 1u8..3, 1 => 0u8..=QUEUES], 14usize..1514)
            .prop_map(|(queue, length)| Step::Packet { queue, length }),
        1 => (1u8..3, prop_oneof![Just(u32::MAX), 0u32..200_000])
            .prop_map(|(queue, units)| Step::Rate { queue, units }),
        1 => (1u8..3, 0..CHANGES.len()).prop_map(|(queue, change)| Step::Queue { queue, change }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_way_through_at_once_equals_the_general_way(
        link in 0..LINKS.len(),
        eager: bool,
        steps in proptest::collection::vec((prop_oneof![Just(0), 0u64..2_000_000], step()), 1..80),
    ) {
        let mut at_once = SwitchRun::new(queues_config(), LINKS[link], eager);
        let mut stopped = SwitchRun::new(general(), LINKS[link], eager);
        let mut now = Nanos::ZERO;
        for (span, step) in steps {
            now += Nanos(span);
            at_once.step(now, &step);
            stopped.step(now, &step);
            prop_assert_eq!(at_once.outcome(), stopped.outcome(), "at {:?}, {:?}", now, step);
        }
    }
}
