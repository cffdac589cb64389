//! Rules of entries and of actions' arguments.

use groupflow_switch::p4rt::Code;
use groupflow_switch::proto::p4::v1::{update::Type, TableEntry};

use crate::common::{changed, exact, info_table, Testbed};

const DESTINATIONS: &str = "TestIngress.destinations";

#[test]
fn an_entry_keeps_the_rules_of_its_table_and_action() {
    let mut bed = Testbed::with(changed(|_, info| {
        let rule = "@entry_restriction(\"hdr.ethernet.dst != 0;\" \"hdr.ethernet.dst < 0x100\")";
        info_table(info, DESTINATIONS).preamble.as_mut().unwrap().annotations.push(rule.into());
        let forward = info.actions.iter_mut().filter_map(|action| action.preamble.as_mut());
        let mut forward = forward.filter(|preamble| preamble.name == "TestIngress.forward");
        forward.next().unwrap().annotations.push("@action_restriction(\"port > 0\")".into());
    }));
    let entry = |bed: &Testbed, mac, port| bed.entry(DESTINATIONS, &[exact(1, mac)], "forward", &[port, 0]);
    let legal = entry(&bed, 1, 2);
    assert_eq!(bed.apply(Type::Insert, legal.clone()), Ok(()));
    let zero = entry(&bed, 0, 2);
    let broken = format!("table {DESTINATIONS}: @entry_restriction: it breaks \"hdr.ethernet.dst != 0\"");
    assert_eq!(bed.refused(Type::Insert, zero), (Code::InvalidArgument, broken));
    let large = entry(&bed, 0x100, 2);
    assert!(bed.refused(Type::Insert, large).1.ends_with("it breaks \"hdr.ethernet.dst < 0x100\""));
    let argument = entry(&bed, 1, 0);
    let broken = format!(
        "table {DESTINATIONS}: action TestIngress.forward: @action_restriction: it breaks \"port > 0\""
    );
    assert_eq!(bed.refused(Type::Modify, argument.clone()), (Code::InvalidArgument, broken.clone()));
    // The default entry has no key, but it has arguments.
    let default = |entry: TableEntry| TableEntry { is_default_action: true, r#match: Vec::new(), ..entry };
    assert_eq!(bed.refused(Type::Modify, default(argument)), (Code::InvalidArgument, broken));
    assert_eq!(bed.apply(Type::Modify, default(legal)), Ok(()));
}
