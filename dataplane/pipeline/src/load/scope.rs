//! Header types, header instances, stacks and aliases: the names that everything else refers to.

use std::collections::HashMap;

use super::json::Json;
use crate::error::LoadError;
use crate::program::phv::{Field, HeaderSlots, Layout, Stack};

/// A header type's fields: name, width, signed.
struct HeaderType {
    fields: Vec<(String, u8, bool)>,
    bits: u32,
}

/// All names of a program and their meanings.
#[derive(Default)]
pub(crate) struct Scope {
    pub layout: Layout,
    headers: HashMap<String, u32>,
    stacks: HashMap<String, u32>,
    /// By header, then by field.
    fields: HashMap<String, HashMap<String, Field>>,
    /// A target's name such as `intrinsic_metadata.mcast_grp` for a field of the program.
    aliases: HashMap<String, Field>,
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
    /// Reads `header_types`, `headers`, `header_stacks` and `field_aliases`.
    pub fn load(root: &Json<'_>) -> Result<Scope, LoadError> {
        refuse_unions(root)?;
        let mut types = Vec::new();
        let mut type_names = HashMap::new();
        for node in root.get("header_types")?.items()? {
            type_names.insert(node.get("name")?.str()?.to_owned(), types.len());
            types.push(header_type(&node)?);
        }
        let mut scope = Scope::default();
        let mut slots = 0;
        let mut ids = HashMap::new();
        for node in root.get("headers")?.items()? {
            let index = scope.add_header(&node, &types, &type_names, &mut slots)?;
            ids.insert(node.get("id")?.int::<u64>()?, index);
        }
        for node in root.list("header_stacks")? {
            scope.add_stack(&node, &ids, &mut slots)?;
        }
        let mut initial = vec![0; slots as usize];
        for header in scope.layout.headers.iter().filter(|h| h.metadata) {
            initial[header.valid as usize] = 1;
        }
        scope.layout.initial = initial.into();
        for node in root.list("field_aliases")? {
            let [name, target] = node.array()?;
            let field = scope.field(&target)?;
            scope.aliases.insert(name.str()?.to_owned(), field);
        }
        Ok(scope)
    }

    fn add_header(
        &mut self, node: &Json<'_>, types: &[HeaderType], type_names: &HashMap<String, usize>,
        slots: &mut u32,
    ) -> Result<u32, LoadError> {
        let name = node.get("name")?;
        let type_node = node.get("header_type")?;
        let kind = *type_names
            .get(type_node.str()?)
            .ok_or_else(|| type_node.dangling("header type", type_node.str().unwrap_or_default()))?;
        let metadata = node.get("metadata")?.bool()?;
        let header_type = &types[kind];
        if !metadata && header_type.bits % 8 != 0 {
            return Err(
                type_node.invalid(format!("a header of {} bits is not whole bytes", header_type.bits))
            );
        }
        let valid = *slots;
        let mut by_name = HashMap::new();
        let mut fields = Vec::new();
        for (i, (field, width, signed)) in header_type.fields.iter().enumerate() {
            let place = Field { slot: valid + 1 + i as u32, width: *width, signed: *signed };
            fields.push(place);
            by_name.insert(field.clone(), place);
        }
        *slots += 1 + fields.len() as u32;
        let index = self.layout.headers.len() as u32;
        self.layout.headers.push(HeaderSlots { valid, fields, bits: header_type.bits, metadata, kind });
        if self.headers.insert(name.str()?.to_owned(), index).is_some() {
            return Err(name.invalid(format!("a second header {:?}", name.str()?)));
        }
        self.fields.insert(name.str()?.to_owned(), by_name);
        Ok(index)
    }

    fn add_stack(
        &mut self, node: &Json<'_>, ids: &HashMap<u64, u32>, slots: &mut u32,
    ) -> Result<(), LoadError> {
        let mut headers: Vec<u32> = Vec::new();
        for id in node.get("header_ids")?.items()? {
            let id_value: u64 = id.int()?;
            let index = *ids.get(&id_value).ok_or_else(|| id.dangling("header", id_value.to_string()))?;
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
        self.layout.stacks.push(Stack { headers, next: *slots });
        *slots += 1;
        self.stacks.insert(node.get("name")?.str()?.to_owned(), index);
        Ok(())
    }

    /// The field that `["header", "field"]` names; `$valid$` is the header's validity.
    pub fn field(&self, node: &Json<'_>) -> Result<Field, LoadError> {
        let [header, field] = node.array()?;
        let (header, field) = (header.str()?, field.str()?);
        if let Some(fields) = self.fields.get(header) {
            if let Some(&place) = fields.get(field) {
                return Ok(place);
            }
            if field == "$valid$" {
                let slot = self.layout.header(self.headers[header]).valid;
                return Ok(Field { slot, width: 1, signed: false });
            }
        }
        let name = format!("{header}.{field}");
        self.aliases.get(&name).copied().ok_or_else(|| node.dangling("field", name))
    }

    /// A field the target needs, by its BMv2 name or as a member of `standard_metadata`.
    pub fn standard(&self, bmv2_header: &str, field: &str) -> Option<Field> {
        self.own(bmv2_header, field)
            .or_else(|| self.aliases.get(&format!("{bmv2_header}.{field}")).copied())
            .or_else(|| self.own("standard_metadata", field))
    }

    /// The field of a header, if the header has it.
    pub fn own(&self, header: &str, field: &str) -> Option<Field> {
        self.fields.get(header)?.get(field).copied()
    }

    /// The header a field belongs to.
    fn owner(&self, field: Field) -> &HeaderSlots {
        let after = self.layout.headers.partition_point(|header| header.valid <= field.slot);
        &self.layout.headers[after.saturating_sub(1)]
    }

    /// The slot of the validity of the field's header.
    pub fn validity(&self, field: Field) -> u32 {
        self.owner(field).valid
    }

    /// Whether the field is a header's validity.
    pub fn is_validity(&self, field: Field) -> bool {
        self.validity(field) == field.slot
    }

    /// The header that the node, a string, names.
    pub fn header(&self, node: &Json<'_>) -> Result<u32, LoadError> {
        let name = node.str()?;
        self.headers.get(name).copied().ok_or_else(|| node.dangling("header", name))
    }

    /// The stack that the node, a string, names.
    pub fn stack(&self, node: &Json<'_>) -> Result<u32, LoadError> {
        let name = node.str()?;
        self.stacks.get(name).copied().ok_or_else(|| node.dangling("header stack", name))
    }

    /// The position of a field within a stack's elements, with the field in the first of them.
    pub fn stack_field(&self, node: &Json<'_>) -> Result<(u32, u32, Field), LoadError> {
        let [stack, field] = node.array()?;
        let index = self.stack(&stack)?;
        let first = self.layout.header(self.layout.stack(index).headers[0]);
        let first_name = format!("{}[0]", stack.str()?);
        let place =
            self.fields.get(&first_name).and_then(|fields| fields.get(field.str().unwrap_or_default()));
        match place {
            Some(&place) => Ok((index, place.slot - first.valid - 1, place)),
            None => Err(field.dangling("field", format!("{}.{}", stack.str()?, field.str()?))),
        }
    }

    /// Looks a name up in one of the maps above.
    pub fn named(map: &HashMap<String, u32>, kind: &'static str, node: &Json<'_>) -> Result<u32, LoadError> {
        let name = node.str()?;
        map.get(name).copied().ok_or_else(|| node.dangling(kind, name))
    }
}

fn header_type(node: &Json<'_>) -> Result<HeaderType, LoadError> {
    let mut fields = Vec::new();
    let mut bits = 0;
    for field in node.get("fields")?.items()? {
        let parts = field.items()?;
        let (Some(name), Some(width)) = (parts.first(), parts.get(1)) else {
            return Err(field.invalid("expected a name and a width"));
        };
        let named =
            |what: &str| format!("{what} (field {}.{})", type_name(node), name.str().unwrap_or_default());
        if width.str() == Ok("*") {
            return Err(width.unsupported(named("varbit")));
        }
        let width = width.width().map_err(|error| match error {
            LoadError::Unsupported(path, what) => LoadError::Unsupported(path, named(&what)),
            other => other,
        })?;
        // p4c writes the sign as a boolean, for booleans as the number 0.
        let signed = parts.get(2).is_some_and(|sign| sign.bool() == Ok(true));
        bits += u32::from(width);
        fields.push((name.str()?.to_owned(), width, signed));
    }
    Ok(HeaderType { fields, bits })
}

fn type_name<'a>(node: &Json<'a>) -> &'a str {
    node.get("name").and_then(|name| name.str()).unwrap_or_default()
}

fn refuse_unions(root: &Json<'_>) -> Result<(), LoadError> {
    for key in ["header_unions", "header_union_stacks"] {
        if let Some(first) = root.list(key)?.first() {
            return Err(first.unsupported(format!("the header union {:?}", type_name(first))));
        }
    }
    Ok(())
}
