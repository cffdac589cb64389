//! Match keys of table entries, from and to P4Runtime's form.
//!
//! P4Runtime specification, section "Match Format": a field that matches everything is left out.

use groupflow_pipeline::{part_prefixes, part_widths, EntryKey, Match, MatchKind};

use super::bind::kind_name;
use super::binding::{BoundField, BoundTable};
use super::bytestring::{decode_parts, encode_parts, ones};
use super::status::Status;
use crate::proto::p4::v1::field_match::{self, FieldMatchType};
use crate::proto::p4::v1::FieldMatch;

pub fn key(table: &BoundTable, fields: &[FieldMatch], priority: i32) -> Result<EntryKey, Status> {
    let priority = u32::try_from(priority).map_err(|_| Status::invalid("priority: it is negative"))?;
    let (wanted, given) = (table.with_priority, priority != 0);
    let above = "priority: it must be above zero, the table has ternary, range or optional fields";
    refuse_if!(wanted && !given, "{above}");
    refuse_if!(given && !wanted, "priority: it must be zero, the table has only exact and LPM fields");
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

pub fn fields(known_fields: &[BoundField], matches: &[Match]) -> Vec<FieldMatch> {
    let encoded = matches.iter().zip(known_fields).filter_map(|(value, field)| {
        let kind = encode_match(field, value)?;
        Some(FieldMatch { field_id: field.id, field_match_type: Some(kind) })
    });
    encoded.collect()
}

fn missing(field: &BoundField) -> Result<Match, Status> {
    let of_parts = |part: fn(u128) -> Match| Ok(Match::of_parts(ones_of(field.width).map(part).collect()));
    match field.kind {
        MatchKind::Exact => Err(Status::invalid("it is missing")),
        MatchKind::Lpm => of_parts(|_| Match::Lpm { value: 0, prefix: 0 }),
        MatchKind::Range => of_parts(|high| Match::Range { low: 0, high }),
        // In the program's form, so that keys compare equal with those read back.
        MatchKind::Optional if field.program_kind != MatchKind::Ternary => {
            of_parts(|_| Match::Optional(None))
        }
        MatchKind::Ternary | MatchKind::Optional => of_parts(|_| Match::Ternary { value: 0, mask: 0 }),
    }
}

/// All ones in each part of a number.
fn ones_of(width: u32) -> impl Iterator<Item = u128> {
    part_widths(width).map(|width| ones(width.into()))
}

fn decode_match(field: &BoundField, given: &FieldMatch) -> Result<Match, Status> {
    let width = field.width;
    let in_order = field.names.is_some() && matches!(field.kind, MatchKind::Lpm | MatchKind::Range);
    refuse_if!(in_order, "a string has no prefixes and no ranges: leave it out");
    let dont_care = || Err(Status::invalid("it matches everything, and must be left out then"));
    let parts = |bytes: &[u8]| decode_parts(bytes, width);
    Ok(Match::of_parts(match (field.kind, &given.field_match_type) {
        (_, None) => return Err(Status::invalid("it has no value")),
        (MatchKind::Exact, Some(FieldMatchType::Exact(exact))) => {
            field.decode(&exact.value)?.into_iter().map(Match::Exact).collect()
        }
        (MatchKind::Lpm, Some(FieldMatchType::Lpm(lpm))) => {
            let value = parts(&lpm.value)?;
            let prefix = u32::try_from(lpm.prefix_len).ok().filter(|prefix| *prefix <= width);
            let prefix = prefix.ok_or_else(|| {
                Status::invalid(format!("prefix_len {} is not between 1 and {width}", lpm.prefix_len))
            })?;
            if prefix == 0 {
                return dont_care();
            }
            let parts = || value.iter().zip(part_prefixes(width, prefix));
            let beyond = parts().any(|(value, (width, prefix))| value & ones(u32::from(width - prefix)) != 0);
            refuse_if!(beyond, "it has bits set beyond its prefix of {prefix}");
            parts().map(|(value, (_, prefix))| Match::Lpm { value: *value, prefix }).collect()
        }
        (MatchKind::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let (value, mask) = match &field.names {
                None => (parts(&ternary.value)?, parts(&ternary.mask)?),
                Some(_) => {
                    let whole = ternary.mask.iter().all(|byte| *byte == 0xff);
                    let whole = whole || parts(&ternary.mask)?.into_iter().eq(ones_of(width));
                    refuse_if!(!whole, "a string has no bits that could be left out");
                    (field.decode(&ternary.value)?, ones_of(width).collect())
                }
            };
            if mask.iter().all(|mask| *mask == 0) {
                return dont_care();
            }
            let parts = || value.iter().zip(&mask);
            refuse_if!(
                parts().any(|(value, mask)| value & !mask != 0),
                "it has bits set that its mask leaves out"
            );
            parts().map(|(&value, &mask)| Match::Ternary { value, mask }).collect()
        }
        (MatchKind::Range, Some(FieldMatchType::Range(range))) => {
            let (low, high) = (parts(&range.low)?, parts(&range.high)?);
            refuse_if!(low > high, "its low end is above its high end");
            if low.iter().all(|low| *low == 0) && ones_of(width).eq(high.iter().copied()) {
                return dont_care();
            }
            low.into_iter().zip(high).map(|(low, high)| Match::Range { low, high }).collect()
        }
        (MatchKind::Optional, Some(FieldMatchType::Optional(optional))) => {
            let values = field.decode(&optional.value)?.into_iter();
            match field.program_kind {
                MatchKind::Ternary => {
                    values.zip(ones_of(width)).map(|(value, mask)| Match::Ternary { value, mask }).collect()
                }
                _ => values.map(|value| Match::Optional(Some(value))).collect(),
            }
        }
        (kind, Some(_)) => return Err(Status::invalid(format!("it must be of kind {}", kind_name(kind)))),
    }))
}

/// The match in P4Runtime's form; none of one that matches everything.
fn encode_match(field: &BoundField, found: &Match) -> Option<FieldMatchType> {
    let (values, seconds): (Vec<u128>, Vec<u128>) = found.parts().iter().map(Match::numbers).unzip();
    let number = encode_parts;
    let any = |parts: &[u128]| parts.iter().any(|part| *part != 0);
    let sought = match field.kind {
        MatchKind::Exact => true,
        MatchKind::Range => any(&values) || !ones_of(field.width).eq(seconds.iter().copied()),
        _ => any(&seconds),
    };
    sought.then(|| match field.kind {
        MatchKind::Exact => FieldMatchType::Exact(field_match::Exact { value: field.encode(&values) }),
        MatchKind::Optional => {
            FieldMatchType::Optional(field_match::Optional { value: field.encode(&values) })
        }
        MatchKind::Lpm => {
            let prefix_len = seconds.iter().sum::<u128>() as i32;
            FieldMatchType::Lpm(field_match::Lpm { value: number(&values), prefix_len })
        }
        MatchKind::Ternary => FieldMatchType::Ternary(field_match::Ternary {
            value: field.encode(&values),
            mask: number(&seconds),
        }),
        MatchKind::Range => {
            FieldMatchType::Range(field_match::Range { low: number(&values), high: number(&seconds) })
        }
    })
}
