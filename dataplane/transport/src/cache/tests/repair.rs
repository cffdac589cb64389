use super::*;
use std::net::Ipv4Addr;

fn host(n: u8) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 26470)
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn drain(repairs: &mut Repairs, now: Nanos) -> Vec<(Seq, Recipient)> {
    std::iter::from_fn(|| repairs.poll(now, BitRate(0))).collect()
}

#[test]
fn one_requester_is_answered_alone_several_together() {
    let mut repairs = Repairs::default();
    repairs.request(ms(0), Seq(1), host(1), true, BitRate(0));
    repairs.request(ms(0), Seq(2), host(1), true, BitRate(0));
    repairs.request(ms(1), Seq(2), host(1), true, BitRate(0));
    repairs.request(ms(2), Seq(1), host(2), true, BitRate(0));
    assert!(drain(&mut repairs, ms(2)).is_empty(), "held for others");
    let sent = drain(&mut repairs, ms(3));
    assert_eq!(sent, [(Seq(1), Recipient::All), (Seq(2), Recipient::One(host(1)))]);
    assert_eq!(repairs.next_deadline(), None);
}

#[test]
fn what_just_went_to_the_group_is_not_repeated() {
    let mut repairs = Repairs::default();
    for n in 1..=2 {
        repairs.request(ms(0), Seq(1), host(n), true, BitRate(0));
    }
    assert_eq!(drain(&mut repairs, ms(3)).len(), 1);
    repairs.request(ms(22), Seq(1), host(3), true, BitRate(0));
    assert_eq!(repairs.next_deadline(), None);
    repairs.request(ms(23), Seq(1), host(3), true, BitRate(0));
    assert_eq!(drain(&mut repairs, ms(26)), [(Seq(1), Recipient::One(host(3)))]);
}

#[test]
fn a_fetched_packet_goes_out_at_once() {
    let mut repairs = Repairs::default();
    repairs.request(ms(0), Seq(7), host(1), false, BitRate(0));
    assert!(drain(&mut repairs, ms(50)).is_empty());
    repairs.fetched(ms(50), Seq(7));
    assert_eq!(drain(&mut repairs, ms(50)), [(Seq(7), Recipient::One(host(1)))]);
    repairs.request(ms(60), Seq(8), host(1), false, BitRate(0));
    repairs.seen_by_all(ms(60), Seq(8));
    repairs.fetched(ms(61), Seq(8));
    assert!(drain(&mut repairs, ms(70)).is_empty(), "the group has it");
}

#[test]
fn repairs_are_paced_per_requester() {
    let mut repairs = Repairs::default();
    for seq in 1..=3 {
        repairs.request(ms(0), Seq(seq), host(1), true, BitRate(0));
    }
    repairs.request(ms(0), Seq(9), host(2), true, BitRate(0));
    let rate = BitRate(8 * FULL_PACKET * 1000); // about a packet a millisecond
    let at = |repairs: &mut Repairs, now: Nanos| {
        std::iter::from_fn(|| repairs.poll(now, rate)).map(|(seq, _)| seq.0).collect::<Vec<_>>()
    };
    assert_eq!(at(&mut repairs, ms(3)), [1, 9]);
    assert_eq!(at(&mut repairs, ms(4)), [0_u32; 0]);
    assert_eq!(at(&mut repairs, ms(5)), [2]);
}

/// Shares of one and of two packets a millisecond, with room for so many packets, and twice as many.
fn shared(room: u32) -> Repairs {
    let mut repairs = Repairs::default();
    let share = |n: u32| Share {
        to: host(n as u8),
        rate: BitRate(8 * MAX_PAYLOAD as u64 * 1000 * u64::from(n)),
        bytes: room * n * MAX_PAYLOAD as u32,
    };
    repairs.set_shares(&[share(1), share(2)]);
    repairs
}

#[test]
fn each_share_is_kept_whatever_the_others_ask_for() {
    let mut repairs = shared(8);
    let mut sent = [0; 3];
    for now in (0..1000).map(ms) {
        for seq in 1..=64 {
            for n in 1..=2 {
                repairs.request(now, Seq(seq), host(n), true, BitRate(0));
            }
        }
        // A packet that went to the group is none of an isolated requester's.
        repairs.seen_by_all(now, Seq(1));
        while let Some((_, recipient)) = repairs.poll(now, BitRate(0)) {
            let place = (1..=2).find(|&n| recipient == Recipient::One(host(n)));
            sent[place.map_or(0, usize::from)] += 1;
        }
    }
    let near = |count, wanted| (wanted - 10..=wanted).contains(&count);
    assert!(sent[0] == 0 && near(sent[1], 1000) && near(sent[2], 2000), "{sent:?}");
}

#[test]
fn a_share_bounds_what_waits_and_may_change_meanwhile() {
    let mut repairs = shared(2);
    let mut taken =
        |n| (1..=9).filter(|&seq| repairs.request(ms(0), Seq(seq), host(n), true, BitRate(0))).count();
    assert_eq!((taken(1), taken(2), taken(3)), (2, 4, 9));
    repairs.set_shares(&[]);
    let sent = drain(&mut repairs, ms(3));
    let to = |n| sent.iter().filter(|(_, to)| *to == Recipient::One(host(n))).count();
    assert_eq!((to(1), to(2), to(3)), (2, 4, 9), "what waited is sent");
}

#[test]
fn a_flood_of_requests_brings_no_more_than_the_budget() {
    let (mut repairs, rate) = (Repairs::default(), BitRate(8 * FULL_PACKET * 1000));
    let mut sent = 0;
    for now in (0..1000).map(ms) {
        for seq in 1..=1024 {
            repairs.request(now, Seq(seq), host(1), true, rate);
        }
        // The link could take them all.
        sent += std::iter::from_fn(|| repairs.poll(now, BitRate(0))).count();
    }
    assert!((1024..=1024 + 1000).contains(&sent), "{sent} packets in a second");
    assert!(repairs.request(ms(999), Seq(1), host(2), true, rate), "each has a budget of its own");
}

#[test]
fn what_cannot_be_answered_expires() {
    let mut repairs = Repairs::default();
    repairs.request(ms(0), Seq(7), host(1), false, BitRate(0));
    assert!(repairs.expire(ms(3000)).is_empty());
    assert_eq!(repairs.expire(ms(3001)), [Seq(7)]);
    assert!(!repairs.awaits(Seq(7)));
}

#[test]
fn the_number_of_requests_is_bounded() {
    let mut repairs = Repairs::default();
    for seq in 1..=WAITING_BOUND as u32 + 1 {
        repairs.request(ms(0), Seq(seq), host((seq / 1000) as u8), true, BitRate(0));
    }
    let last = WAITING_BOUND as u32;
    assert!(repairs.awaits(Seq(last)) && !repairs.awaits(Seq(last + 1)));
}
