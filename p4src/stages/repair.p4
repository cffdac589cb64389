// Repair requests go to the cache agent of this switch; what the agent itself lacks, and all requests where there is no
// agent, go on towards the sender.
#ifndef _GROUPFLOW_REPAIR_
#define _GROUPFLOW_REPAIR_

control Repair(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.bridged.agent_port == 0 && meta.stream.repair_group != 0) {
            meta.group = meta.stream.repair_group;
        } else {
            meta.group = meta.stream.upstream_group;
            hdr.group.member = 0;
        }
    }
}

#endif
