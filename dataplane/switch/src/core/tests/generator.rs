use super::*;
use proptest::prelude::*;

fn generator(first: u64, period: u64) -> Generator {
    Generator {
        period: Nanos(period),
        first: Nanos(first),
        frame: vec![first as u8],
        port: Port(0),
        enabled: true,
    }
}

fn ticks(generators: &mut Generators, until: u64) -> Vec<(u64, u8)> {
    let mut frame = Vec::new();
    let mut ticks = Vec::new();
    while let Some((time, _)) = generators.tick(Nanos(until), &mut frame) {
        ticks.push((time.0, frame[0]));
    }
    ticks
}

#[test]
fn ticks_come_at_exact_times_and_by_number_at_the_same() {
    let mut generators = Generators::default();
    assert_eq!(generators.insert(Nanos(0), 9, generator(10, 2000)), Ok(()));
    assert_eq!(generators.insert(Nanos(0), 3, generator(4010, 3000)), Ok(()));
    assert_eq!(generators.due(), Some(Nanos(10)));
    assert_eq!(
        ticks(&mut generators, 7010),
        [(10, 10), (2010, 10), (4010, 170), (4010, 10), (6010, 10), (7010, 170)]
    );
    assert_eq!(generators.due(), Some(Nanos(8010)));
}

#[test]
fn what_was_missed_is_not_made_up_for_and_keeps_the_raster() {
    let mut generators = Generators::default();
    assert_eq!(generators.insert(Nanos(5500), 0, generator(0, 1000)), Ok(()));
    assert_eq!(generators.due(), Some(Nanos(6000)));
    let off = Generator { enabled: false, ..generator(0, 1000) };
    assert_eq!(generators.modify(Nanos(6000), 0, off), Ok(()));
    assert_eq!((generators.due(), ticks(&mut generators, u64::MAX)), (None, vec![]));
    assert_eq!(generators.modify(Nanos(9000), 0, generator(0, 1000)), Ok(()));
    assert_eq!(generators.due(), Some(Nanos(9000)));
    assert_eq!(generators.delete(0), Ok(()));
    assert_eq!(generators.due(), None);
}

#[test]
fn nonsense_is_named() {
    let mut generators = Generators::default();
    let cases = [
        (64, generator(0, 1000), "id: 64 is not between 0 and 63"),
        (0, generator(0, 999), "period_ns: 999 is below 1000 ns"),
        (0, Generator { frame: vec![], ..generator(0, 1000) }, "frame: 0 bytes, of at most 9216, at least 1"),
        (0, Generator { port: Port(512), ..generator(0, 1000) }, "port: 512 is above the highest, 511"),
    ];
    for (id, generator, message) in cases {
        let error = generators.insert(Nanos(0), id, generator).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(generators.modify(Nanos(0), 0, generator(0, 1000)), Err(GeneratorError::NotFound));
    assert_eq!(generators.delete(0), Err(GeneratorError::NotFound));
    assert_eq!(generators.insert(Nanos(0), 0, generator(0, 1000)), Ok(()));
    assert_eq!(generators.insert(Nanos(0), 0, generator(0, 1000)), Err(GeneratorError::AlreadyExists));
}

proptest! {
    #[test]
    fn the_nth_tick_is_at_first_plus_n_periods(
        first in 0u64..10_000, period in 1000u64..5000, set_at in 0u64..20_000,
    ) {
        let mut generators = Generators::default();
        prop_assert_eq!(generators.insert(Nanos(set_at), 0, generator(first, period)), Ok(()));
        let expected: Vec<u64> = (0..).map(|n| first + n * period)
            .skip_while(|time| *time < set_at).take_while(|time| *time <= 60_000).collect();
        let times: Vec<u64> = ticks(&mut generators, 60_000).iter().map(|(time, _)| *time).collect();
        prop_assert_eq!(times, expected);
    }
}
