//! The target's writes to `standard_metadata`, and the fields that packets keep on another round.

use groupflow_base::Nanos;

use crate::packet::{Arrival, Departure, Instance, Preserved};
use crate::port::Port;
use crate::program::phv::Field;
use crate::program::Program;

/// Writes a field that the program may lack.
pub(crate) fn set(field: Option<Field>, phv: &mut [u128], value: u128) {
    if let Some(field) = field {
        field.write(phv, value);
    }
}

/// Sets the metadata of a packet that comes to ingress.
pub(crate) fn arrive(program: &Program, phv: &mut [u128], now: Nanos, arrival: &Arrival, length: usize) {
    let standard = &program.standard;
    standard.ingress_port.write(phv, u128::from(arrival.port.0));
    set(standard.ingress_global_timestamp, phv, u128::from(now.as_micros()));
    if let Some(preserved) = &arrival.restored {
        restore(phv, preserved);
    }
    standard.instance_type.write(phv, arrival.instance as u128);
    standard.packet_length.write(phv, length as u128);
}

/// Sets the metadata of a packet that comes to egress.
pub(crate) fn depart(
    program: &Program, phv: &mut [u128], now: Nanos, departure: &Departure, length: u32, drop_port: Port,
) {
    let standard = &program.standard;
    standard.egress_port.write(phv, u128::from(departure.port.0));
    // Anything but the drop port, as in BMv2: the program may still mark the packet.
    standard.egress_spec.write(phv, u128::from(drop_port.0) + 1);
    standard.instance_type.write(phv, departure.instance as u128);
    standard.packet_length.write(phv, u128::from(length));
    set(standard.egress_rid, phv, u128::from(departure.rid));
    set(standard.egress_global_timestamp, phv, u128::from(now.as_micros()));
    set(standard.enq_timestamp, phv, u128::from(departure.enq_timestamp.as_micros()));
    set(standard.enq_qdepth, phv, u128::from(departure.enq_qdepth));
    set(standard.deq_qdepth, phv, u128::from(departure.deq_qdepth));
    set(standard.deq_timedelta, phv, u128::from(departure.deq_timedelta.as_micros()));
}

/// Clears all metadata but the fields that the clone keeps.
pub(crate) fn become_clone(program: &Program, phv: &mut [u128], preserved: &Preserved, instance: Instance) {
    program.layout.clear_metadata(phv);
    restore(phv, preserved);
    program.standard.instance_type.write(phv, instance as u128);
}

/// The values of a field list.
pub(crate) fn preserve(program: &Program, list: u32, phv: &[u128]) -> Preserved {
    Preserved(program.field_lists[list as usize].iter().map(|field| (field.slot, field.bits(phv))).collect())
}

fn restore(phv: &mut [u128], preserved: &Preserved) {
    for &(slot, value) in &preserved.0 {
        if let Some(place) = phv.get_mut(slot as usize) {
            *place = value;
        }
    }
}
