//! Traced packets: they run in the interpreter, which records their steps.

use groupflow_base::Nanos;

use crate::error::FieldMatchError;
use crate::packet::{Arrival, Departure, DropReason, EgressOutcome, Frame, Ingress, Packet};
use crate::pipeline::Pipeline;
use crate::program::field::mask;
use crate::trace::{masked, FieldMatch, Step};

impl Pipeline {
    /// Runs ingress, as [`Pipeline::ingress`], and records its steps.
    pub fn trace_ingress(&mut self, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> (Ingress, Vec<Step>) {
        self.externs.recording = Some(Box::default());
        let done = self.arrive(now, arrival, bytes).hold();
        (done, self.recorded())
    }

    /// Runs egress, as [`Pipeline::egress_into`], and records its steps.
    pub fn trace_egress(
        &mut self, now: Nanos, packet: Packet, departure: &Departure, frame: &mut Frame,
    ) -> (EgressOutcome, Vec<Step>) {
        self.externs.recording = Some(Box::default());
        let done = self.egress_into(now, packet, *departure, frame);
        (done, self.recorded())
    }

    fn recorded(&mut self) -> Vec<Step> {
        self.externs.recording.take().unwrap_or_default().steps
    }

    /// The reason why the last packet goes nowhere, in the program's words where it has any, and the place.
    pub fn drop_text(&self, reason: DropReason) -> String {
        let word = match reason {
            DropReason::Marked => self.runner.reason(&self.program),
            DropReason::Absorbed | DropReason::Assertion => None,
            _ => return reason.to_string(),
        };
        let text = word.map_or_else(|| reason.to_string(), |word| word.replace('_', " "));
        let dropped_at = self.runner.context.dropped_at;
        let place = dropped_at.checked_sub(1).map(|place| &self.program.names.drops[place as usize]);
        place.filter(|at| !at.is_empty()).map_or_else(|| text.clone(), |at| format!("{text} ({at})"))
    }

    /// Whether a packet's fields have these values.
    pub fn packet_matches(
        &mut self, now: Nanos, arrival: &Arrival, bytes: &[u8], wanted: &[FieldMatch],
    ) -> bool {
        let (mut parts, runner) = self.parts();
        wanted.is_empty() || runner.matches(&mut parts, now, arrival, bytes, wanted)
    }

    /// Reads `header.field=value` or `header.field=value/mask`: numbers in decimal or hexadecimal digits,
    /// IPv4 addresses and prefixes, MAC addresses.
    pub fn field_match(&self, text: &str) -> Result<FieldMatch, FieldMatchError> {
        let wrong = |reason: String| FieldMatchError { text: text.to_owned(), reason };
        let shape = || {
            wrong("write header.field=VALUE, as ipv4.dst=10.0.2.0/24, ethernet.type=0x800/0xff00".to_owned())
        };
        let (name, value) = text.split_once('=').ok_or_else(shape)?;
        let (value, bits) = masked(value).ok_or_else(shape)?;
        let unknown = || {
            let headers = self.program.names.headers.iter().zip(&self.program.layout.headers);
            let packet = headers.filter(|(_, header)| !header.metadata).map(|((name, _), _)| name.as_str());
            wrong(format!(
                "the program extracts no such field; its headers are {}",
                packet.collect::<Vec<_>>().join(", ")
            ))
        };
        let (header, field) = self.program.names.field(name).ok_or_else(unknown)?;
        let header = &self.program.layout.headers[header];
        let (valid, field) = (header.validity(), header.fields[field]);
        let all = mask(field.width);
        if value & !all != 0 {
            return Err(wrong(format!("the value does not fit the field's {} bits", all.count_ones())));
        }
        Ok(FieldMatch { valid, field, value: value & bits & all, mask: bits & all })
    }
}
