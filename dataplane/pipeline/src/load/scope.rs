//! Header types, header instances, stacks and aliases: the names that everything else refers to.

use std::collections::{HashMap, HashSet};

use super::json::Json;
use super::types::{header_type, FieldType, HeaderType};
use crate::error::LoadError;
use crate::program::action::Op;
use crate::program::expr::{Binary, Expr};
use crate::program::field::{host_bytes, Field, Location, Wide};
use crate::program::phv::{Header, Layout, Stack};

/// A field: one of at most 128 bits, or another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Narrow(Field),
    Wide(Wide),
}

impl Place {
    /// The number of its parts.
    pub fn count(self) -> u32 {
        self.parts().len() as u32
    }

    /// The fields of at most 128 bits that it is made of.
    pub fn parts(self) -> Vec<Field> {
        match self {
            Place::Narrow(field) => vec![field],
            Place::Wide(field) => field.parts(field.width).collect(),
        }
    }
}

/// All names of a program and their meanings.
#[derive(Default)]
pub(crate) struct Scope {
    pub layout: Layout,
    headers: HashMap<String, u32>,
    stacks: HashMap<String, u32>,
    /// The headers of each union, and the stacks that a stack of unions consists of, one a kind of header.
    unions: HashMap<String, Vec<u32>>,
    union_stacks: HashMap<String, Vec<u32>>,
    /// By stack of unions, the names of its kinds of headers.
    kinds: HashMap<String, Vec<String>>,
    /// By header, in the order of its type.
    places: Vec<Vec<Place>>,
    /// By header, the names of its fields of at most 128 bits and of the parts of wider ones.
    pub field_names: Vec<Vec<String>>,
    /// By header, then by field.
    fields: HashMap<String, HashMap<String, Place>>,
    /// A target's name such as `intrinsic_metadata.mcast_grp` for a field of the program.
    aliases: HashMap<String, Field>,
    /// By table and place in its key: the parts of the field of a key that is computed, and what sets them.
    pub computed: HashMap<(String, usize), Vec<(Field, Op)>>,
    pub registers: HashMap<String, u32>,
    pub counters: HashMap<String, u32>,
    pub meters: HashMap<String, u32>,
    pub calculations: HashMap<String, u32>,
    /// By the id the JSON gives it.
    pub field_lists: HashMap<u128, u32>,
    /// By the id the JSON gives it.
    pub learn_lists: HashMap<u128, u32>,
    /// By the id the JSON gives it.
    pub actions: HashMap<u64, u32>,
    /// The actions that select one of a group, by the names of the tables with a selector.
    pub selects: HashMap<String, u32>,
}

impl Scope {
    /// Reads `header_types`, `headers`, `header_stacks`, unions and `field_aliases`.
    pub fn load(root: &Json<'_>) -> Result<Scope, LoadError> {
        let mut types = Vec::new();
        let mut type_names = HashMap::new();
        for node in root.get("header_types")?.items()? {
            type_names.insert(node.get("name")?.str()?.to_owned(), types.len());
            types.push(header_type(&node)?);
        }
        let mut scope = Scope::default();
        let mut ids = HashMap::new();
        let headers = root.get("headers")?.items()?;
        scope.layout.take(headers.len() as u32, 1);
        for node in headers {
            let index = scope.add_header(&node, &types, &type_names)?;
            ids.insert(node.get("id")?.int::<u64>()?, index);
            scope.bounded(&node)?;
        }
        for node in root.list("header_stacks")? {
            scope.add_stack(&node, &ids)?;
        }
        scope.add_unions(root, &ids)?;
        scope.bounded(root)?;
        for node in root.list("field_aliases")? {
            let [name, target] = node.array()?;
            let field = scope.field(&target)?;
            scope.aliases.insert(name.str()?.to_owned(), field);
        }
        Ok(scope)
    }

    fn add_header(
        &mut self, node: &Json<'_>, types: &[HeaderType], type_names: &HashMap<String, usize>,
    ) -> Result<u32, LoadError> {
        let name = node.get("name")?;
        let type_node = node.get("header_type")?;
        let kind = *type_node.named(type_names, "header type")?;
        let metadata = node.get("metadata")?.bool()?;
        let header_type = &types[kind];
        if !metadata && header_type.bits % 8 != 0 {
            return Err(
                type_node.invalid(format!("a header of {} bits is not whole bytes", header_type.bits))
            );
        }
        let first = self.layout.take(0, 16);
        let locations = self.locations(&header_type.fields, metadata);
        let (valid, len) = (self.layout.headers.len() as u32, self.layout.len - first);
        let mut header = Header { valid, first, len, metadata, kind, ..Header::default() };
        let (mut places, mut names) = (Vec::new(), Vec::new());
        for (field, location) in header_type.fields.iter().zip(locations) {
            let place = match field.width {
                width @ 1..=128 if !field.variable => {
                    Place::Narrow(Field { location, width: width as u8, signed: field.signed })
                }
                width => {
                    let length = field.variable.then(|| Field::host(self.layout.take(4, 4), 32));
                    Place::Wide(Wide { bit: location.bit(), width, signed: field.signed, length })
                }
            };
            if let (Place::Wide(wide), true) = (place, field.variable) {
                header.variable = Some(wide);
            }
            let parts = place.parts();
            names.extend((0..parts.len()).map(|part| match parts.len() {
                1 => field.name.clone(),
                _ => format!("{}[{part}]", field.name),
            }));
            header.fields.extend(parts);
            places.push(place);
        }
        let by_name = header_type.fields.iter().map(|field| field.name.clone());
        let by_name = by_name.zip(places.iter().copied()).collect();
        let index = self.layout.headers.len() as u32;
        self.layout.headers.push(header);
        self.places.push(places);
        self.field_names.push(names);
        if self.headers.insert(name.str()?.to_owned(), index).is_some() {
            return Err(name.invalid(format!("a second header {:?}", name.str()?)));
        }
        self.fields.insert(name.str()?.to_owned(), by_name);
        Ok(index)
    }

    /// Takes room for the fields of a header: those of metadata as numbers, the widest first, so that there
    /// are no gaps.
    fn locations(&mut self, fields: &[FieldType], metadata: bool) -> Vec<Location> {
        if !metadata {
            let bits = fields.iter().map(|field| field.width).sum::<u32>();
            let mut bit = 8 * self.layout.take(bits / 8, 1);
            let mut next = |field: &FieldType| {
                bit += field.width;
                Location::Wire { bit: bit - field.width }
            };
            return fields.iter().map(&mut next).collect();
        }
        let bytes = |field: &FieldType| match field.width {
            width @ 1..=64 if !field.variable => host_bytes(width as u8).into(),
            width => width.div_ceil(8),
        };
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(bytes(&fields[at])));
        let mut locations = vec![Location::Wire { bit: 0 }; fields.len()];
        for at in order {
            let bytes = bytes(&fields[at]);
            let offset = self.layout.take(bytes, bytes.clamp(1, 8));
            locations[at] = match fields[at].width {
                1..=64 if !fields[at].variable => Location::Host { offset, bytes: bytes as u8 },
                _ => Location::Wire { bit: 8 * offset },
            };
        }
        locations
    }

    fn add_stack(&mut self, node: &Json<'_>, ids: &HashMap<u64, u32>) -> Result<(), LoadError> {
        let mut headers: Vec<u32> = Vec::new();
        for id in node.get("header_ids")?.items()? {
            let index = self.packet_header(&id, ids)?;
            if let Some(&first) = headers.first() {
                if self.layout.header(first).kind != self.layout.header(index).kind {
                    return Err(id.invalid("the headers of a stack have different types"));
                }
            }
            headers.push(index);
        }
        if headers.is_empty() {
            return Err(node.get("header_ids")?.invalid("a stack without headers"));
        }
        let index = self.layout.stacks.len() as u32;
        let next = self.count();
        self.layout.stacks.push(Stack::new(headers, next));
        self.stacks.insert(node.get("name")?.str()?.to_owned(), index);
        Ok(())
    }

    /// The header of an id, which is not metadata.
    fn packet_header(&self, id: &Json<'_>, ids: &HashMap<u64, u32>) -> Result<u32, LoadError> {
        let header = *id.by_id(ids, "header")?;
        match self.layout.header(header).metadata {
            true => Err(id.invalid("metadata in a stack or union")),
            false => Ok(header),
        }
    }

    /// Reads unions and their stacks. A stack of unions is a stack for each kind of header; they share a
    /// count.
    fn add_unions(&mut self, root: &Json<'_>, ids: &HashMap<u64, u32>) -> Result<(), LoadError> {
        let (mut by_id, mut taken) = (HashMap::new(), HashSet::new());
        for node in root.list("header_unions")? {
            let mut members = Vec::new();
            for id in node.get("header_ids")?.items()? {
                let header = self.packet_header(&id, ids)?;
                if !taken.insert(header) {
                    return Err(id.invalid("the header is in a union already"));
                }
                members.push(header);
            }
            if members.len() > MOST_MEMBERS {
                return Err(node.unsupported(format!("a union of more than {MOST_MEMBERS} headers")));
            }
            let valid: Vec<u32> = members.iter().map(|&header| self.layout.header(header).valid).collect();
            for (at, &header) in members.iter().enumerate() {
                let others = valid.iter().enumerate().filter(|(other, _)| *other != at);
                self.layout.headers[header as usize].others = others.map(|(_, &valid)| valid).collect();
            }
            by_id.insert(node.get("id")?.int::<u64>()?, members.clone());
            self.unions.insert(node.get("name")?.str()?.to_owned(), members);
        }
        for node in root.list("header_union_stacks")? {
            let ids = node.get("header_union_ids")?.items()?;
            let unions = ids.iter().map(|id| id.by_id(&by_id, "header union"));
            let unions: Vec<&Vec<u32>> = unions.collect::<Result<_, _>>()?;
            let name = node.get("name")?.str()?.to_owned();
            let union_type = node.get("union_type")?.str()?;
            let mut kinds = Vec::new();
            for kind in root.list("header_union_types")? {
                if kind.get("name")?.str()? == union_type {
                    for member in kind.get("headers")?.items()? {
                        let [name, _] = member.array()?;
                        kinds.push(name.str()?.to_owned());
                    }
                }
            }
            let types = |union: &[u32]| -> Vec<usize> {
                union.iter().map(|&header| self.layout.header(header).kind).collect()
            };
            let first = unions.first().map(|union| types(union)).unwrap_or_default();
            if kinds.is_empty() || kinds.len() != first.len() || unions.iter().any(|u| types(u) != first) {
                return Err(node.invalid("the unions of a stack differ from their type"));
            }
            let first = self.layout.stacks.len() as u32;
            let stacks: Vec<u32> = (first..first + kinds.len() as u32).collect();
            let next = self.count();
            for (kind, own) in stacks.iter().enumerate() {
                let headers = unions.iter().map(|union| union[kind]).collect();
                let others = stacks.iter().copied().filter(|other| other != own).collect();
                self.layout.stacks.push(Stack { others, ..Stack::new(headers, next) });
            }
            self.stacks.insert(name.clone(), first);
            self.union_stacks.insert(name.clone(), stacks);
            self.kinds.insert(name, kinds);
        }
        Ok(())
    }

    /// A field of metadata that the program does not declare.
    pub fn hidden(&mut self, width: u8) -> Field {
        let valid = self.layout.take(1, 1);
        let first = self.layout.take(0, 16);
        let hidden = FieldType { name: String::new(), width: width.into(), signed: false, variable: false };
        let location = self.locations(&[hidden], true)[0];
        let field = Field { location, width, signed: false };
        let (fields, len, kind) = (vec![field], self.layout.len - first, usize::MAX);
        self.layout.headers.push(Header {
            valid,
            first,
            len,
            fields,
            metadata: true,
            kind,
            ..Header::default()
        });
        field
    }

    /// A count of the elements of a stack that are in use.
    fn count(&mut self) -> Field {
        Field::host(self.layout.take(4, 4), 32)
    }

    fn bounded(&self, node: &Json<'_>) -> Result<(), LoadError> {
        match self.layout.len {
            0..=MOST_BYTES => Ok(()),
            _ => Err(node.unsupported(format!("a program whose fields take more than {MOST_BYTES} bytes"))),
        }
    }

    /// The headers of the union that the node, a string, names.
    pub fn union_of(&self, node: &Json<'_>) -> Result<&[u32], LoadError> {
        node.named(&self.unions, "header union").map(Vec::as_slice)
    }

    /// The stacks, one a kind of header, of the stack of unions that the node, a string, names.
    pub fn union_stack(&self, node: &Json<'_>) -> Result<&[u32], LoadError> {
        node.named(&self.union_stacks, "header union stack").map(Vec::as_slice)
    }

    /// The stack of one kind of header: of the union stack and the kind that two strings name.
    pub fn kind(&self, stack: &Json<'_>, kind: &Json<'_>) -> Result<u32, LoadError> {
        let stacks = self.union_stack(stack)?;
        let name = kind.str()?;
        let at = self.kinds[stack.str()?].iter().position(|known| known == name);
        at.map(|at| stacks[at]).ok_or_else(|| kind.dangling("header of the union", name))
    }

    /// The field of a header by its number.
    pub fn numbered(&self, header: u32, number: usize) -> Option<Place> {
        self.places[header as usize].get(number).copied()
    }

    /// The place of a field, or of its first part, within the elements of a stack, given as the first element
    /// has it.
    pub fn offset(&self, node: &Json<'_>, stack: u32, place: Place) -> Result<u32, LoadError> {
        if matches!(place, Place::Wide(Wide { length: Some(_), .. })) {
            return Err(node.unsupported("a field of variable length here"));
        }
        let first = self.layout.header(self.layout.stack(stack).headers[0]);
        let Some(part) = place.parts().first().copied() else { return Ok(0) };
        let offset = first.fields.iter().position(|known| *known == part);
        offset.map(|offset| offset as u32).ok_or_else(|| node.invalid("not a field of the stack"))
    }

    /// The field of at most 128 bits that `["header", "field"]` names; `$valid$` is the header's validity.
    pub fn field(&self, node: &Json<'_>) -> Result<Field, LoadError> {
        narrow(node, self.place(node)?)
    }

    /// The field that `["header", "field"]` names; `$valid$` is the header's validity.
    pub fn place(&self, node: &Json<'_>) -> Result<Place, LoadError> {
        let [header, field] = node.array()?;
        let (header, field) = (header.str()?, field.str()?);
        if let Some(fields) = self.fields.get(header) {
            if let Some(&place) = fields.get(field) {
                return Ok(place);
            }
            if field == "$valid$" {
                return Ok(Place::Narrow(self.layout.header(self.headers[header]).validity()));
            }
        }
        let name = format!("{header}.{field}");
        let alias = self.aliases.get(&name).copied().map(Place::Narrow);
        alias.ok_or_else(|| node.dangling("field", name))
    }

    /// A field the target needs, by its BMv2 name or as a member of `standard_metadata`.
    pub fn standard(&self, bmv2_header: &str, field: &str) -> Option<Field> {
        self.own(bmv2_header, field)
            .or_else(|| self.aliases.get(&format!("{bmv2_header}.{field}")).copied())
            .or_else(|| self.own("standard_metadata", field))
    }

    /// The field of a header, if the header has it.
    pub fn own(&self, header: &str, field: &str) -> Option<Field> {
        match self.fields.get(header)?.get(field)? {
            Place::Narrow(field) => Some(*field),
            Place::Wide(_) => None,
        }
    }

    /// The validity of the field's header; of a validity, itself.
    pub fn validity(&self, field: Field) -> u32 {
        let byte = field.location.bit() / 8;
        // The validities lie before all fields.
        let after = self.layout.headers.partition_point(|header| header.first <= byte);
        after.checked_sub(1).map_or(byte, |header| self.layout.headers[header].valid)
    }

    /// Whether the field is the validity of a header in a union, which makes others invalid.
    pub fn is_of_union(&self, field: Field) -> bool {
        let own = |header: &&Header| 8 * header.valid == field.location.bit();
        self.layout.headers.iter().find(own).is_some_and(|header| !header.others.is_empty())
    }

    pub fn header(&self, node: &Json<'_>) -> Result<u32, LoadError> {
        node.named(&self.headers, "header").copied()
    }

    pub fn stack(&self, node: &Json<'_>) -> Result<u32, LoadError> {
        node.named(&self.stacks, "header stack").copied()
    }

    /// The index of the last element in use, as 32 bits.
    pub fn last_index(&self, stack: u32) -> Expr {
        let binary = |op, a, b| Expr::Binary(op, Box::new((a, Expr::Const(b))));
        let next = Expr::Field(self.layout.stack(stack).next);
        binary(Binary::And, binary(Binary::Sub, next, 1), u32::MAX.into())
    }

    /// The position of a field within a stack's elements, with the field in the first of them.
    pub fn stack_field(&self, node: &Json<'_>) -> Result<(u32, u32, Place), LoadError> {
        let [stack, field] = node.array()?;
        let index = self.stack(&stack)?;
        self.element_field(index, &field)
    }

    /// As [`Scope::stack_field`], of one kind of header of a stack of unions.
    pub fn union_stack_field(&self, node: &Json<'_>) -> Result<(u32, u32, Place), LoadError> {
        let [stack, kind, field] = node.array()?;
        let index = self.kind(&stack, &kind)?;
        self.element_field(index, &field)
    }

    fn element_field(&self, stack: u32, field: &Json<'_>) -> Result<(u32, u32, Place), LoadError> {
        let first = self.layout.stack(stack).headers[0] as usize;
        let name = self.headers.iter().find(|(_, &header)| header as usize == first).map(|(name, _)| name);
        let place = name.and_then(|name| self.fields.get(name)?.get(field.str().unwrap_or_default()));
        let place = place.ok_or_else(|| field.dangling("field", field.str().unwrap_or_default()))?;
        Ok((stack, self.offset(field, stack, *place)?, *place))
    }
}

/// The most headers of a union: each knows the others.
const MOST_MEMBERS: usize = 64;

/// The most bytes of a packet's fields: bounds the memory a file can ask for.
const MOST_BYTES: u32 = 1 << 20;

/// The field, if it has at most 128 bits.
fn narrow(node: &Json<'_>, place: Place) -> Result<Field, LoadError> {
    match place {
        Place::Narrow(field) => Ok(field),
        Place::Wide(_) => Err(node.unsupported("a field of more than 128 bits or of variable length here")),
    }
}
