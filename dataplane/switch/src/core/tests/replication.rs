use super::*;

fn replica(port: u16, instance: u16) -> Replica {
    Replica { port: Port(port), instance }
}

#[test]
fn groups_come_change_and_go() {
    let mut engine = ReplicationEngine::default();
    let (one, two) = (vec![replica(1, 0)], vec![replica(1, 0), replica(1, 1)]);
    assert_eq!(engine.set_group(5, one.clone()), Ok(()));
    assert_eq!(engine.group(5).map(|g| &g[..]), Some(&one[..]));
    assert_eq!(engine.set_group(5, two.clone()), Ok(()));
    assert_eq!(engine.group(5).map(|g| &g[..]), Some(&two[..]));
    engine.remove_group(5);
    engine.remove_group(6);
    assert_eq!(engine.group(5), None);
}

#[test]
fn a_replica_is_there_once() {
    let mut engine = ReplicationEngine::default();
    let twice = vec![replica(1, 7), replica(2, 7), replica(1, 7)];
    let error = engine.set_group(1, twice.clone()).expect_err("duplicate");
    assert_eq!(error.to_string(), "port 1 with instance 7 is there twice");
    let session = CloneSession { replicas: twice, ..CloneSession::default() };
    assert_eq!(engine.set_session(1, session), Err(error));
    assert_eq!(engine.session(1), None);
}

#[test]
fn sizes_are_bounded() {
    let mut engine = ReplicationEngine::default();
    let many = (0..=REPLICA_LIMIT as u16).map(|n| replica(1, n)).collect();
    assert_eq!(engine.set_group(1, many), Err(ReplicationError::TooManyReplicas));
    (0..SESSION_LIMIT as u32)
        .for_each(|n| assert_eq!(engine.set_session(n, CloneSession::default()), Ok(())));
    assert_eq!(engine.set_session(u32::MAX, CloneSession::default()), Err(ReplicationError::Full));
}
