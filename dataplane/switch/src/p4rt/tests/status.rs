use super::*;

#[test]
fn a_batch_without_failures_is_a_success() {
    assert_eq!(Status::of_batch("update", &[Ok(()), Ok(())]), Ok(()));
    assert_eq!(Status::of_batch("update", &[]), Ok(()));
}

#[test]
fn a_failed_batch_has_one_error_an_entity_in_order() {
    let results = [Ok(()), Err(Status::not_found("no such group")), Ok(())];
    let status = Status::of_batch("update", &results).expect_err("one failed");
    assert_eq!(status.code, Code::Unknown);
    assert_eq!(status.message, "1 of 3 updates failed, first update 2: no such group");
    let details = rpc::Status::decode(&status.details()[..]).expect("a status");
    assert_eq!(details.code, 2);
    let codes: Vec<i32> = details
        .details
        .iter()
        .map(|any| v1::Error::decode(&any.value[..]).expect("an error").canonical_code)
        .collect();
    assert_eq!(codes, [0, 5, 0]);
}
