// A chip's two passes as one, for p4testgen, which lets a packet pass ingress and egress once. tofino.py puts
// it into a copy of groupflow_tna.p4, where the two controls take the places of the program's own.
//
// Egress makes the second pass of a packet that goes to LOOP_PORT: the program's egress, ingress and egress.
// Between them is what deparser, recirculation port and parser do, without headers written and read again.

control ChipIngress(inout headers_t hdr, inout local_t local,
                    in ingress_intrinsic_metadata_t intrinsic,
                    in ingress_intrinsic_metadata_from_parser_t from_parser,
                    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                    inout ingress_intrinsic_metadata_for_tm_t for_tm
#ifdef DIFFUSION
                    , in ghost_intrinsic_metadata_t ghost
#endif
                    ) {
    GroupflowIngress() ingress;

    apply {
        for_deparser.drop_ctl = 0;
        for_tm.mcast_grp_a = 0;
        ingress.apply(hdr, local, intrinsic, from_parser, for_deparser, for_tm
#ifdef DIFFUSION
                      , ghost
#endif
                      );
        local.filler.setValid();
        local.filler = { 0 };
        local.told.setValid();
        local.told = { 0, 0, for_tm.mcast_grp_a };
        // p4testgen drops what is replicated: a group has one replica, which `form.GROUPS` has, too.
        if (for_tm.mcast_grp_a != 0) {
            for_tm.ucast_egress_port = (PortId_t)for_tm.mcast_grp_a;
        }
    }
}

control ChipEgress(inout headers_t hdr, inout local_t local,
                   in egress_intrinsic_metadata_t intrinsic,
                   in egress_intrinsic_metadata_from_parser_t from_parser,
                   inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout egress_intrinsic_metadata_for_output_port_t for_output_port) {
    GroupflowEgress() egress;
    GroupflowIngress() second_ingress;
    GroupflowEgress() second_egress;

    apply {
        for_deparser.drop_ctl = 0;
        local.told.port = intrinsic.egress_port;
        egress.apply(hdr, local, intrinsic, from_parser, for_deparser, for_output_port);
        if (local.loop.isValid()) {
            ingress_intrinsic_metadata_t second = ...;
            ingress_intrinsic_metadata_from_parser_t second_parser = ...;
            ingress_intrinsic_metadata_for_deparser_t second_deparser = ...;
            ingress_intrinsic_metadata_for_tm_t second_tm = ...;
            metadata_t none = ...;
            local.stages = none;
            local.stages.bridged.setValid();
            local.stages.bridged = { 0, 0, 0, 0 };
            local.kind = 0;
#ifdef DIFFUSION
            ghost_intrinsic_metadata_t ghost = ...;
            local.hop.setInvalid();
#endif
            second.setValid();
            second.ingress_port = LOOP_PORT;
            second_ingress.apply(hdr, local, second, second_parser, second_deparser, second_tm
#ifdef DIFFUSION
                                 , ghost
#endif
                                 );
            egress_intrinsic_metadata_t leaving;
            leaving.setValid();
            leaving.egress_port = second_tm.ucast_egress_port;
            leaving.egress_rid = second_tm.mcast_grp_a;
            if (second_tm.mcast_grp_a != 0) {
                leaving.egress_port = (PortId_t)second_tm.mcast_grp_a;
            }
            for_deparser.drop_ctl = second_deparser.drop_ctl;
            if (second_deparser.drop_ctl == 0) {
                local.told.port = leaving.egress_port;
                second_egress.apply(hdr, local, leaving, from_parser, for_deparser, for_output_port);
            }
        }
    }
}
