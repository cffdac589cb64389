//! Match keys of table entries, from and to P4Runtime's form.
//!
//! P4Runtime specification, section "Match Format": a field that matches everything is left out.

use groupflow_pipeline::{EntryKey, Match, MatchKind};

use super::bind::kind_name;
use super::binding::{BoundField, BoundTable};
use super::bytestring::{decode, encode, ones};
use super::status::Status;
use super::translation;
use crate::proto::p4::v1::field_match::{self, FieldMatchType};
use crate::proto::p4::v1::FieldMatch;

/// The key of an entry as the pipeline takes it.
pub fn key(table: &BoundTable, fields: &[FieldMatch], priority: i32) -> Result<EntryKey, Status> {
    let priority = u32::try_from(priority).map_err(|_| Status::invalid("priority: it is negative"))?;
    if table.with_priority && priority == 0 {
        let message = "priority: it must be above zero, the table has ternary, range or optional fields";
        return Err(Status::invalid(message));
    }
    if !table.with_priority && priority != 0 {
        return Err(Status::invalid("priority: it must be zero, the table has only exact and LPM fields"));
    }
    Ok(EntryKey { matches: of_fields(&table.fields, fields)?, priority })
}

/// One match a field of a key, in the program's order.
pub fn of_fields(known_fields: &[BoundField], fields: &[FieldMatch]) -> Result<Vec<Match>, Status> {
    let is_known = |field: &&FieldMatch| known_fields.iter().any(|known| known.id == field.field_id);
    if let Some(field) = fields.iter().find(|field| !is_known(field)) {
        return Err(Status::invalid(format!("match: there is no field {}", field.field_id)));
    }
    let values = known_fields.iter().map(|known| {
        part(fields, |field| field.field_id == known.id)
            .and_then(|field| field.map_or_else(|| missing(known), |field| decode_match(known, field)))
            .map_err(|refusal| refusal.within(&format!("match field {}", known.name)))
    });
    values.collect()
}

/// The part that is wanted of an entry's key or of an action, if it is there.
pub fn part<T>(parts: &[T], is_wanted: impl Fn(&T) -> bool) -> Result<Option<&T>, Status> {
    let mut found = parts.iter().filter(|part| is_wanted(part));
    match (found.next(), found.next()) {
        (part, None) => Ok(part),
        _ => Err(Status::invalid("it is there twice")),
    }
}

/// P4Runtime's form of a key.
pub fn fields(table: &BoundTable, key: &EntryKey) -> Vec<FieldMatch> {
    let encoded = key.matches.iter().zip(&table.fields).filter_map(|(value, field)| {
        let kind = encode_match(field, value)?;
        Some(FieldMatch { field_id: field.id, field_match_type: Some(kind) })
    });
    encoded.collect()
}

fn missing(field: &BoundField) -> Result<Match, Status> {
    match field.kind {
        MatchKind::Exact => Err(Status::invalid("it is missing")),
        MatchKind::Lpm => Ok(Match::Lpm { value: 0, prefix: 0 }),
        MatchKind::Ternary => Ok(Match::Ternary { value: 0, mask: 0 }),
        MatchKind::Range => Ok(Match::Range { low: 0, high: ones(field.width) }),
        MatchKind::Optional => Ok(optional(field, None)),
    }
}

/// An optional match in the program's form, so that keys compare equal with those read back.
fn optional(field: &BoundField, value: Option<u128>) -> Match {
    match (field.program_kind, value) {
        (MatchKind::Ternary, Some(value)) => Match::Ternary { value, mask: ones(field.width) },
        (MatchKind::Ternary, None) => Match::Ternary { value: 0, mask: 0 },
        (_, value) => Match::Optional(value),
    }
}

fn decode_match(field: &BoundField, given: &FieldMatch) -> Result<Match, Status> {
    let width = field.width;
    let dont_care = || Err(Status::invalid("it matches everything, and must be left out then"));
    match (field.kind, &given.field_match_type) {
        (_, None) => Err(Status::invalid("it has no value")),
        (MatchKind::Exact, Some(FieldMatchType::Exact(exact))) => {
            Ok(Match::Exact(translation::decode(&exact.value, width, field.names.as_ref())?))
        }
        (MatchKind::Lpm, Some(FieldMatchType::Lpm(lpm))) => {
            let value = decode(&lpm.value, width)?;
            let prefix = u32::try_from(lpm.prefix_len).ok().filter(|prefix| *prefix <= width);
            let prefix = prefix.ok_or_else(|| {
                Status::invalid(format!("prefix_len {} is not between 1 and {width}", lpm.prefix_len))
            })?;
            if prefix == 0 {
                return dont_care();
            }
            if value & ones(width - prefix) != 0 {
                return Err(Status::invalid(format!("it has bits set beyond its prefix of {prefix}")));
            }
            Ok(Match::Lpm { value, prefix: prefix as u8 })
        }
        (MatchKind::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let (value, mask) = (decode(&ternary.value, width)?, decode(&ternary.mask, width)?);
            if mask == 0 {
                return dont_care();
            }
            if value & !mask != 0 {
                return Err(Status::invalid("it has bits set that its mask leaves out"));
            }
            Ok(Match::Ternary { value, mask })
        }
        (MatchKind::Range, Some(FieldMatchType::Range(range))) => {
            let (low, high) = (decode(&range.low, width)?, decode(&range.high, width)?);
            if low > high {
                return Err(Status::invalid("its low end is above its high end"));
            }
            if low == 0 && high == ones(width) {
                return dont_care();
            }
            Ok(Match::Range { low, high })
        }
        (MatchKind::Optional, Some(FieldMatchType::Optional(optional))) => {
            let value = translation::decode(&optional.value, width, field.names.as_ref())?;
            Ok(self::optional(field, Some(value)))
        }
        (kind, Some(_)) => Err(Status::invalid(format!("it must be of kind {}", kind_name(kind)))),
    }
}

fn encode_match(field: &BoundField, value: &Match) -> Option<FieldMatchType> {
    let text = |value| translation::encode(value, field.names.as_ref());
    let optional = |value| FieldMatchType::Optional(field_match::Optional { value: text(value) });
    match *value {
        Match::Exact(value) if field.kind == MatchKind::Optional => Some(optional(value)),
        Match::Exact(value) => Some(FieldMatchType::Exact(field_match::Exact { value: text(value) })),
        Match::Lpm { prefix: 0, .. } | Match::Ternary { mask: 0, .. } | Match::Optional(None) => None,
        Match::Lpm { value, prefix } => {
            let lpm = field_match::Lpm { value: encode(value), prefix_len: prefix.into() };
            Some(FieldMatchType::Lpm(lpm))
        }
        Match::Ternary { value, .. } if field.kind == MatchKind::Optional => Some(optional(value)),
        Match::Ternary { value, mask } => {
            let ternary = field_match::Ternary { value: encode(value), mask: encode(mask) };
            Some(FieldMatchType::Ternary(ternary))
        }
        Match::Range { low: 0, high } if high == ones(field.width) => None,
        Match::Range { low, high } => {
            Some(FieldMatchType::Range(field_match::Range { low: encode(low), high: encode(high) }))
        }
        Match::Optional(Some(value)) => Some(optional(value)),
    }
}
