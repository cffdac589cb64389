"""Bids to be a switch's primary, as an exercise's controller does: bid.py ADDRESS DEVICE_ID ELECTION_ID."""

import queue
import sys

import grpc
from finsy.proto import U128, p4r, p4r_grpc, rpc_code


def main(address: str, device_id: int, election_id: int) -> None:
    requests = queue.Queue[p4r.StreamMessageRequest]()
    update = p4r.MasterArbitrationUpdate(device_id=device_id, election_id=U128.encode(election_id))
    requests.put(p4r.StreamMessageRequest(arbitration=update))
    with grpc.insecure_channel(address) as channel:
        reply = next(iter(p4r_grpc.P4RuntimeStub(channel).StreamChannel(iter(requests.get, None))))
        print("primary" if reply.arbitration.status.code == rpc_code.OK else reply, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
