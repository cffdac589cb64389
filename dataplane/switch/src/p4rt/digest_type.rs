//! The type of a digest's data, by which the values that the program has in a row become P4Data.
//!
//! P4Runtime specification, section "Representation of Arbitrary P4 Types".

use groupflow_pipeline::{part_widths, DigestInfo, Program};

use super::bytestring::encode_signed;
use super::translation::{encode, Names};
use crate::proto::p4::config::v1 as info;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::{P4Data, P4Header, P4StructLike};
use info::p4_bitstring_like_type_spec::TypeSpec as Bits;
use info::p4_data_type_spec::TypeSpec;
use info::p4_new_type_spec::Representation;

/// The most types within a digest's: P4Info may put a type into itself.
const LIMIT: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// `bit<W>` with the number of its parts, or a string that stands for it.
    Bits(usize, Option<Names>),
    Signed(u32),
    Bool,
    EnumValue,
    /// An enum, by the names of its values.
    Enum(Vec<String>),
    /// `error`, by the names of its values.
    Error(Vec<String>),
    Struct(Vec<DataType>),
    Tuple(Vec<DataType>),
    /// A header, which is valid.
    Header(Vec<DataType>),
}

pub struct Types<'a> {
    pub info: Option<&'a info::P4TypeInfo>,
    pub names: &'a dyn Fn(&info::P4NamedType) -> Option<Names>,
}

/// The program's digest of one in P4Info. Without a type of its own it is called `digest_0` in P4Info and
/// `tuple_0` in the program: where each has one that the other does not name, these two belong together if
/// they have as many values.
pub fn partner<'a>(
    digest: &info::Digest, p4info: &info::P4Info, program: &'a Program, types: &Types<'_>,
) -> Option<&'a DigestInfo> {
    let name = |digest: &info::Digest| digest.preamble.as_ref().map_or(String::new(), |p| p.name.clone());
    if let Some(found) = program.digest(&name(digest)) {
        return Some(found);
    }
    let named = |known: &&DigestInfo| p4info.digests.iter().any(|digest| name(digest) == known.name);
    let mut unnamed = program.digests.iter().filter(|known| !named(known));
    let mut unknown = p4info.digests.iter().filter(|digest| program.digest(&name(digest)).is_none());
    let (Some(found), None, Some(_), None) = (unnamed.next(), unnamed.next(), unknown.next(), unknown.next())
    else {
        return None;
    };
    let declared = digest.type_spec.as_ref().and_then(|spec| types.find(spec, &mut LIMIT.clone()));
    declared.map_or(true, |declared| declared.values() == found.widths.len()).then_some(found)
}

impl DataType {
    /// The type of a digest that has this many values in the program. One that cannot be told, as of a stack
    /// of headers, is a struct of bit strings.
    pub fn of(spec: Option<&info::P4DataTypeSpec>, types: &Types<'_>, values: usize) -> DataType {
        let found = spec.and_then(|spec| types.find(spec, &mut LIMIT.clone()));
        let fits = found.filter(|found| found.values() == values);
        fits.unwrap_or_else(|| DataType::Struct(vec![DataType::Bits(1, None); values]))
    }

    fn values(&self) -> usize {
        match self {
            DataType::Struct(members) | DataType::Tuple(members) | DataType::Header(members) => {
                members.iter().map(DataType::values).sum()
            }
            DataType::Bits(parts, _) => *parts,
            DataType::Signed(width) => part_widths(*width).count(),
            _ => 1,
        }
    }

    pub fn data(&self, values: &mut dyn Iterator<Item = u128>) -> P4Data {
        let mut all = |members: &[DataType]| P4StructLike {
            members: members.iter().map(|member| member.data(values)).collect(),
        };
        let data = match self {
            DataType::Struct(members) => Data::Struct(all(members)),
            DataType::Tuple(members) => Data::Tuple(all(members)),
            DataType::Header(members) => {
                let fields = all(members).members.into_iter().filter_map(|member| match member.data {
                    Some(Data::Bitstring(bytes)) => Some(bytes),
                    _ => None,
                });
                Data::Header(P4Header { is_valid: true, bitstrings: fields.collect() })
            }
            value => value.scalar(&values.take(value.values()).collect::<Vec<_>>()),
        };
        P4Data { data: Some(data) }
    }

    fn scalar(&self, parts: &[u128]) -> Data {
        let value = parts.last().copied().unwrap_or(0);
        let name = |names: &[String]| {
            let name = usize::try_from(value).ok().and_then(|place| names.get(place));
            name.cloned().unwrap_or_else(|| value.to_string())
        };
        match self {
            DataType::Bool => Data::Bool(value != 0),
            DataType::Signed(width) => Data::Bitstring(encode_signed(parts, *width)),
            DataType::EnumValue => Data::EnumValue(encode(parts, None)),
            DataType::Enum(names) => Data::Enum(name(names)),
            DataType::Error(names) => Data::Error(name(names)),
            DataType::Bits(_, names) => Data::Bitstring(encode(parts, names.as_ref())),
            _ => Data::Bitstring(encode(parts, None)),
        }
    }
}

impl Types<'_> {
    fn find(&self, spec: &info::P4DataTypeSpec, room: &mut usize) -> Option<DataType> {
        *room = room.checked_sub(1)?;
        let types = self.info;
        Some(match spec.type_spec.as_ref()? {
            TypeSpec::Bitstring(bits) => of_bits(bits)?,
            TypeSpec::Bool(_) => DataType::Bool,
            TypeSpec::SerializableEnum(_) => DataType::EnumValue,
            TypeSpec::Enum(named) => {
                let members = &types?.enums.get(&named.name)?.members;
                DataType::Enum(members.iter().map(|member| member.name.clone()).collect())
            }
            TypeSpec::Error(_) => DataType::Error(types?.error.as_ref()?.members.clone()),
            TypeSpec::Struct(named) => {
                let members = types?.structs.get(&named.name)?.members.iter();
                let members = members.map(|member| self.find(member.type_spec.as_ref()?, room));
                DataType::Struct(members.collect::<Option<_>>()?)
            }
            TypeSpec::Tuple(tuple) => {
                let members = tuple.members.iter().map(|member| self.find(member, room));
                DataType::Tuple(members.collect::<Option<_>>()?)
            }
            TypeSpec::Header(named) => {
                let members = types?.headers.get(&named.name)?.members.iter();
                let members = members.map(|member| of_bits(member.type_spec.as_ref()?));
                DataType::Header(members.collect::<Option<_>>()?)
            }
            TypeSpec::NewType(named) => match types?.new_types.get(&named.name)?.representation.as_ref()? {
                Representation::OriginalType(original) => self.find(original, room)?,
                Representation::TranslatedType(_) => DataType::Bits(1, (self.names)(named)),
            },
            TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_) => {
                return None
            }
        })
    }
}

fn of_bits(bits: &info::P4BitstringLikeTypeSpec) -> Option<DataType> {
    match bits.type_spec.as_ref()? {
        Bits::Bit(bit) => {
            Some(DataType::Bits(part_widths(u32::try_from(bit.bitwidth).ok()?).count().max(1), None))
        }
        Bits::Int(int) => Some(DataType::Signed(u32::try_from(int.bitwidth).ok()?.max(1))),
        Bits::Varbit(_) => None,
    }
}

#[cfg(test)]
#[path = "tests/digest_type.rs"]
mod tests;
