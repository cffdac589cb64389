//! Header types from JSON.

use super::json::Json;
use crate::error::LoadError;

/// The most bytes of a header: bounds the memory a file can ask for.
const MOST_BYTES: u32 = 1 << 14;

pub(crate) struct FieldType {
    pub name: String,
    /// The most bits, where they vary.
    pub width: u32,
    pub signed: bool,
    pub variable: bool,
}

/// A header type, with its bits but for a field of variable length.
pub(crate) struct HeaderType {
    pub fields: Vec<FieldType>,
    pub bits: u32,
}

pub(crate) fn header_type(node: &Json<'_>) -> Result<HeaderType, LoadError> {
    let mut fields: Vec<FieldType> = Vec::new();
    let mut bits = 0u32;
    for field in node.get("fields")?.items()? {
        let parts = field.items()?;
        let (Some(name), Some(width)) = (parts.first(), parts.get(1)) else {
            return Err(field.invalid("expected a name and a width"));
        };
        let variable = width.str() == Ok("*");
        let width = match variable {
            true => 0,
            false => width.int::<u16>()?.into(),
        };
        // p4c writes the sign as a boolean, for booleans as the number 0.
        let signed = parts.get(2).is_some_and(|sign| sign.bool() == Ok(true));
        bits = bits.saturating_add(width);
        fields.push(FieldType { name: name.str()?.to_owned(), width, signed, variable });
    }
    let too_long = |bytes| format!("a header of {bytes} bytes (the most is {MOST_BYTES})");
    if bits > 8 * MOST_BYTES {
        return Err(node.unsupported(too_long(bits / 8)));
    }
    let mut variable = fields.iter_mut().filter(|field| field.variable);
    if let Some(field) = variable.next() {
        let most = node.get("max_length")?;
        let bytes = most.int::<u32>()?;
        if bytes > MOST_BYTES {
            return Err(most.unsupported(too_long(bytes)));
        }
        field.width = (8 * bytes).saturating_sub(bits);
        if variable.next().is_some() {
            return Err(node.invalid("two fields of variable length"));
        }
    }
    Ok(HeaderType { fields, bits })
}
