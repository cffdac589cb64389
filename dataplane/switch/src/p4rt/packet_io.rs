//! Packets from and to the controller: metadata fields on one side, the program's header on the other.
//!
//! P4Runtime specification, section "Packet I/O". BMv2's convention: the header's fields are packed
//! without gaps in front of the packet.

use groupflow_pipeline::{part_widths, read_bits, write_bits};

use super::binding::{BoundField, ControllerHeader};
use super::status::Status;
use crate::core::MAX_FRAME;
use crate::proto::p4::v1::{PacketIn, PacketMetadata, PacketOut};

/// The bytes that go into the pipeline: header and payload.
pub fn packet_out(header: &ControllerHeader, packet: &PacketOut) -> Result<Vec<u8>, Status> {
    let length = packet.payload.len();
    refuse_if!(length > MAX_FRAME, "payload: {length} bytes, more than {MAX_FRAME}");
    let mut values = vec![None; header.len()];
    for field in &packet.metadata {
        let place = header.iter().position(|known| known.id == field.metadata_id);
        let place = place.ok_or_else(|| {
            Status::invalid(format!("metadata: packet_out has no field {}", field.metadata_id))
        })?;
        let name = &header[place].name;
        let wrong = |e: Status| Status::invalid(format!("metadata {name}: {}", e.message));
        let value = header[place].decode(&field.value).map_err(wrong)?;
        refuse_if!(values[place].replace(value).is_some(), "metadata {name}: it is there twice");
    }
    let mut bytes = vec![0; header_bits(header).div_ceil(8)];
    let mut at = 0;
    for (value, BoundField { name, width, .. }) in values.into_iter().zip(header) {
        let value = value.ok_or_else(|| Status::invalid(format!("metadata {name}: it is missing")))?;
        for (value, width) in value.into_iter().zip(part_widths(*width)) {
            write_bits(&mut bytes, at, width.into(), value);
            at += usize::from(width);
        }
    }
    bytes.extend_from_slice(&packet.payload);
    Ok(bytes)
}

/// The message for the controller; `None` if the bytes are shorter than the header.
pub fn packet_in(header: &ControllerHeader, bytes: &[u8]) -> Option<PacketIn> {
    let payload = bytes.get(header_bits(header).div_ceil(8)..)?;
    let mut at = 0;
    let metadata = header.iter().map(|field| {
        let part = |width: u8| {
            at += usize::from(width);
            read_bits(bytes, at - usize::from(width), width.into())
        };
        let parts: Vec<u128> = part_widths(field.width).map(part).collect();
        PacketMetadata { metadata_id: field.id, value: field.encode(&parts) }
    });
    Some(PacketIn { metadata: metadata.collect(), payload: payload.to_vec() })
}

fn header_bits(header: &ControllerHeader) -> usize {
    header.iter().map(|field| field.width as usize).sum()
}

#[cfg(test)]
#[path = "tests/packet_io.rs"]
mod tests;
