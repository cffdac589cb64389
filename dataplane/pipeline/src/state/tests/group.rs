use super::*;
use crate::program::info::ActionId;

#[test]
fn choices_are_those_of_the_group_written_out() {
    let call = |id| ActionCall { action: ActionId(id), arguments: Vec::new() };
    let group = |weights: &[u32], down: &[Port]| {
        let weighted = (0..).zip(weights).map(|(id, weight)| (call(id), *weight, Some(Port(id as u16))));
        Group::new(weighted.collect(), down)
    };
    let chosen = |group: &Group, hash| group.choose(hash).map(|call| call.action.0);
    let order = |group: &Group| (0..8).filter_map(|hash| chosen(group, hash)).collect::<Vec<_>>();
    let mut four = group(&[1, 3, 1, 2], &[]);
    assert_eq!(order(&four), [0, 1, 2, 3, 1, 1, 3, 0]);
    assert!(four.watches(Port(3)) && !four.watches(Port(4)));
    four.weigh(&[Port(0), Port(2)]);
    assert_eq!(order(&four), [1, 3, 1, 1, 3, 1, 3, 1], "as if there were only 1 and 3");
    four.weigh(&[0, 1, 2, 3].map(Port));
    assert_eq!((order(&four), four.len()), (vec![], 4), "all are left out");
    assert_eq!(chosen(&group(&[], &[]), 7), None);
    let heavy = group(&[u32::MAX, u32::MAX], &[]);
    assert_eq!(chosen(&heavy, u64::MAX), Some(0), "hash % (2^33 - 2) = 3");
}
