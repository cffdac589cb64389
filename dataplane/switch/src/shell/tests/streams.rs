use super::*;
use crate::proto::p4::v1::{IdleTimeoutNotification, PacketIn};

#[test]
fn few_notifications_wait_for_a_client_that_reads_slowly() {
    let streams = Streams::default();
    let (id, mut receiver, _closed) = streams.open();
    let idle = Update::IdleTimeoutNotification(IdleTimeoutNotification::default());
    let cases = [(idle, 1000, IDLE_WAITING), (Update::Packet(PacketIn::default()), 5000, WAITING)];
    for (update, sent, waiting) in cases {
        let message = StreamMessageResponse { update: Some(update) };
        streams.send(vec![(id, message); sent]);
        assert_eq!(std::iter::from_fn(|| receiver.try_recv().ok()).count(), waiting);
    }
}
