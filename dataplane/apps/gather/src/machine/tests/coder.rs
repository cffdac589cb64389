use super::*;

const BYTES: [u8; 2048] = [7; 2048];

fn coder(code: &str) -> Coder {
    let mut coder = Coder::new(ErasureCode::parse(code).expect("a code"));
    coder.begin(0, &BYTES);
    coder
}

fn count(coder: &mut Coder, stripe: u32, stripes: usize) -> usize {
    std::iter::from_fn(|| coder.block(StripeId(stripe), stripes)).count()
}

#[test]
fn a_stripe_has_no_more_of_a_group_than_can_be_made_up_for() {
    let mut coder = coder("4+2");
    assert_eq!([0, 1, 2, 3].map(|stripe| count(&mut coder, stripe, 4)), [2, 2, 2, 0]);
    // Two stripes cannot make up for each other.
    let mut coder = self::coder("4+2");
    assert_eq!([0, 1].map(|stripe| count(&mut coder, stripe, 2)), [3, 3]);
}

#[test]
fn a_fast_stripe_goes_on_with_the_next_group() {
    let mut coder = coder("4+1");
    assert_eq!(coder.block(StripeId(0), 5), Some(StripeBlock::Piece(0..512)));
    assert_eq!(coder.block(StripeId(0), 5), None);
    assert!(coder.may_begin());
    coder.begin(2048, &BYTES);
    assert!(!coder.may_begin());
    assert_eq!(coder.block(StripeId(0), 5), Some(StripeBlock::Piece(2048..2560)));
    assert_eq!(coder.block(StripeId(0), 5), None);
    // The other stripes are gone.
    assert_eq!(coder.block(StripeId(0), 1), Some(StripeBlock::Piece(512..1024)));
}

#[test]
fn parity_that_no_stripe_may_have_is_bounded_and_ends_with_its_group() {
    let mut coder = Coder::new(ErasureCode::parse("1+1").expect("a code"));
    for start in 0..20 {
        coder.begin(start * 512, &BYTES[..512]);
        assert_eq!(coder.block(StripeId(0), 2), Some(StripeBlock::Piece(start * 512..start * 512 + 512)));
    }
    let blocks = |coder: &Coder| coder.groups.iter().map(|begun| begun.parity.len()).sum::<usize>();
    assert_eq!(blocks(&coder), WAITING + 1);
    coder.acknowledge(19 * 512);
    assert_eq!((blocks(&coder), coder.groups.len()), (1, 1));
}
