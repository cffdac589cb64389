//! A client and a server of one stream, with connections that carry what they like, die and come again.

mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use world::{Step, World};

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..6000_usize).prop_map(Step::Read),
        2 => Just(Step::Open),
        8 => any::<usize>().prop_map(Step::Give),
        16 => (any::<usize>(), 1..9000_usize).prop_map(|(stripe, bytes)| Step::CarryUp(stripe, bytes)),
        8 => (any::<usize>(), 1..90_usize).prop_map(|(stripe, bytes)| Step::CarryDown(stripe, bytes)),
        3 => (0..30_000_usize).prop_map(Step::Appetite),
        1 => (1..8_u16).prop_map(Step::Want),
        2 => Just(Step::Retire),
        1 => any::<usize>().prop_map(Step::Kill),
        1 => any::<usize>().prop_map(Step::Stall),
        1 => any::<usize>().prop_map(Step::Progress),
        1 => Just(Step::Forget),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever happens, the server delivers the bytes that the client read, each once and in order, and
    /// neither side holds more than it may. When nothing happens any more, all bytes are delivered.
    #[test]
    fn no_byte_is_lost_or_doubled(
        steps in vec(step(), 0..400), room in 2000..40_000_u64, capacity in 1000..40_000_usize,
    ) {
        let mut world = World::new(room, capacity);
        for step in steps {
            world.step(step);
            world.check();
        }
        world.settle();
        prop_assert!(world.client.complete);
        prop_assert_eq!(world.out.len() as u64, world.client.read());
        world.check();
    }

    /// N goes up and down again and again in the middle of a stream that is not short of anything else.
    #[test]
    fn the_number_of_stripes_follows_what_is_wanted(wanted in vec(1..9_u16, 1..20)) {
        let mut world = World::new(1 << 20, 1 << 16);
        for number in wanted {
            world.step(Step::Want(number));
            world.step(Step::Read(20_000));
            world.turn();
            world.turn();
            prop_assert_eq!(world.active(), usize::from(number));
            prop_assert_eq!(world.live(), usize::from(number), "those that left are closed");
            world.check();
        }
        world.settle();
        prop_assert!(world.client.complete);
    }
}

/// A stripe that is found to carry nothing holds up nothing any more; bytes that it brings later do no harm.
#[test]
fn what_a_stalled_stripe_had_goes_over_others_too() {
    let mut world = World::new(1 << 20, 1 << 20);
    world.step(Step::Appetite(usize::MAX));
    world.step(Step::Want(3));
    world.turn();
    world.turn();
    world.step(Step::Read(200_000));
    world.turn_without(Some(0));
    let before = world.out.len();
    assert!(before < 200_000, "the first stripe has a part of it");
    world.step(Step::Stall(0));
    world.turn_without(Some(0));
    assert_eq!(world.out.len(), 200_000);
    world.settle();
    assert_eq!(world.out.len(), 200_000);
    world.check();
}

/// A server that is started again has nothing but what it delivered; the client has the rest.
#[test]
fn a_restart_goes_on_behind_what_was_delivered() {
    let mut world = World::new(1 << 20, 1 << 20);
    world.step(Step::Want(3));
    world.step(Step::Read(100_000));
    world.turn();
    world.step(Step::Appetite(40_000));
    world.turn();
    let before = world.out.len();
    assert!(before > 0 && before < 100_000);
    world.step(Step::Restart);
    assert_eq!(world.out.len(), before);
    world.settle();
    assert_eq!(world.out.len(), 100_000);
    world.check();
}

/// A stripe that carries nothing holds up the stream as long as it lives, and no longer.
#[test]
fn a_stripe_that_dies_holds_up_nothing() {
    let mut world = World::new(64 << 10, 1 << 20);
    world.step(Step::Want(2));
    world.step(Step::Read(1 << 20));
    world.step(Step::Appetite(usize::MAX));
    world.step(Step::Open);
    world.step(Step::Open);
    for stripe in 0..2 {
        world.step(Step::CarryDown(stripe, usize::MAX));
        world.step(Step::Give(stripe));
    }
    let held = (0..200).fold(0, |most: u64, _| {
        world.step(Step::CarryUp(1, usize::MAX));
        world.step(Step::CarryDown(1, usize::MAX));
        world.step(Step::Give(1));
        world.check();
        most.max(world.held())
    });
    assert_eq!(world.out.len(), 0, "the first block is on the other stripe");
    assert!(held > 32 << 10 && held <= 64 << 10, "{held} bytes held, as many as there is room for");
    world.step(Step::Kill(0));
    world.settle();
    assert_eq!(world.out.len(), 1 << 20);
}
