//! Hubs and rims of round multicast, resolved.

use std::collections::HashMap;

use groupflow_base::Nanos;

use crate::error::BuildError;
use crate::flows::{addresses, host_of};
use crate::host::bone_end;
use crate::host::machine_end::MachineEnd;
use crate::host::FlowEnd;
use crate::ids::{FlowId, NodeId};
use crate::spec::{BoneRole, BoneSpec, NetworkSpec};
use crate::wire::{Addresses, PROTOCOL_UDP};

/// The smallest and the largest packet.
const PACKETS: std::ops::RangeInclusive<u16> = 1..=groupflow_bone::machine::message::MAX_PACKET;

/// A hub or a rim at its host.
#[derive(Debug)]
pub(crate) struct Bone {
    pub(crate) host: NodeId,
    spec: BoneSpec,
    addresses: Addresses,
}

impl Bone {
    pub(crate) fn end(&self, flow: FlowId, seed: u64) -> FlowEnd {
        let seed = seed.wrapping_add(u64::from(flow.0));
        let machine = bone_end::bone(&self.spec, self.addresses.source, seed);
        let span = (Nanos(self.spec.start_ns), self.spec.stop_ns.map_or(Nanos::MAX, Nanos));
        let end = MachineEnd::new(self.addresses, span, machine, None);
        FlowEnd::new(flow, PROTOCOL_UDP, self.spec.udp_port, Box::new(end))
    }
}

pub(crate) fn resolve(
    spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>, bone: &BoneSpec,
) -> Result<Bone, BuildError> {
    let refuse =
        |name: &str, problem: String| BuildError::new(format!("bones.{}.{name}", bone.name), problem);
    let unknown = || refuse("host", format!("unknown host {:?}", bone.host));
    let (node, host) = host_of(spec, nodes, &bone.host).ok_or_else(unknown)?;
    if let BoneRole::Hub { config: hub, .. } = &bone.role {
        if !hub.group.ip().is_multicast() {
            return Err(refuse("role.group", format!("{} is no multicast address", hub.group.ip())));
        }
        if !PACKETS.contains(&hub.packet) {
            let problem = format!("{} is not between 1 and {}", hub.packet, PACKETS.end());
            return Err(refuse("role.packet", problem));
        }
        if hub.interval == Nanos::ZERO {
            return Err(refuse("role.interval_ns", "must be above zero".into()));
        }
    }
    let end = (host, bone.udp_port);
    Ok(Bone { host: node, spec: bone.clone(), addresses: addresses(end, end) })
}
