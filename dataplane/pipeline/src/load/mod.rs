//! From p4c's JSON to a [`Program`]: every name becomes an index, every oddity an error with its place.

mod action;
mod controls;
mod entries;
mod expr;
mod externs;
mod json;
mod names;
mod parser;
mod scope;
mod tables;
mod types;

use std::sync::OnceLock;

use serde_json::Value;

use self::json::Json;
use self::scope::Scope;
use crate::error::LoadError;
use crate::program::action::Op;
use crate::program::field::Field;
use crate::program::{Program, Standard};

impl Program {
    /// Loads the JSON that `p4c --target bmv2 --arch v1model` writes.
    ///
    /// # Errors
    /// The error names the place in the text that cannot be run. A program that is loaded runs any packet.
    pub fn from_json(text: &str) -> Result<Program, LoadError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| LoadError(format!("not JSON: {error}")))?;
        let root = Json::root(&value);
        check_version(&root)?;
        check_architecture(&root)?;
        if let Some(extern_instance) = root.list("extern_instances")?.first() {
            let (name, kind) = (extern_instance.get("name")?.str()?, extern_instance.opt("type"));
            let kind = kind.map_or(Ok(""), |kind| kind.str())?;
            let at = action::placed(extern_instance);
            return Err(extern_instance.unsupported(format!("the extern {name:?} of type {kind:?}{at}")));
        }
        let mut scope = Scope::load(&root)?;
        let standard = standard(&scope)?;
        let registers = externs::registers(&root, &mut scope)?;
        let counters = externs::counters(&root, &mut scope)?;
        let (meters, direct_meters) = externs::meters(&root, &mut scope)?;
        let mut calculations = externs::calculations(&root, &mut scope)?;
        let field_lists = externs::field_lists(&root, &mut scope)?;
        let (digests, learn_lists) = externs::digests(&root, &mut scope)?;
        let (mut actions, mut bodies) = action::actions(&root, &mut scope)?;
        for (info, body, calculation) in
            externs::selectors(&root, &mut scope, actions.len(), calculations.len())?
        {
            actions.push(info);
            bodies.push(body);
            calculations.push(calculation);
        }
        let (verified, updated) = externs::checksums(&root, &scope)?;
        let (parser, value_sets) = parser::parser(&root, &scope)?;
        let deparser = parser::deparser(&root, &scope)?;
        tables::computed_keys(&root, &mut scope)?;
        let controls = controls::controls(&root, &scope, &actions, &direct_meters)?;
        scope.layout.complete();
        let mut names = names::names(&root, std::mem::take(&mut scope.field_names))?;
        // The bodies that call a selector's member have no source.
        names.primitives.resize(bodies.len(), Vec::new());
        for (op, at) in bodies.iter_mut().zip(&names.primitives).flat_map(|(b, at)| b.ops.iter_mut().zip(at))
        {
            if let Op::MarkToDrop { place, .. } | Op::Assert { place, .. } = op {
                names.drops.push(at.clone());
                *place = names.drops.len() as u32;
            }
        }
        let source = root.opt("program").map(|name| name.str().map(str::to_owned)).transpose()?;
        Ok(Program {
            source,
            layout: scope.layout,
            standard,
            parser,
            deparser,
            verified,
            updated,
            calculations,
            bodies,
            nodes: controls.nodes,
            ingress: controls.ingress,
            egress: controls.egress,
            match_tables: controls.match_tables,
            field_lists,
            learn_lists,
            tables: controls.tables,
            actions,
            registers,
            counters,
            meters,
            digests,
            names,
            value_sets,
            derived: OnceLock::new(),
        })
    }
}

/// BMv2 reads every format with the major version 2, and programs that do not tell theirs.
fn check_version(root: &Json<'_>) -> Result<(), LoadError> {
    let Some(meta) = root.opt("__meta__") else {
        let programs = root.opt("pipelines").and(root.opt("header_types")).map(|_| ());
        return programs.ok_or_else(|| not_bmv2("there is no __meta__"));
    };
    let [major, _minor] = meta.get("version")?.array()?;
    match major.int::<u64>()? {
        2 => Ok(()),
        other => Err(not_bmv2(&format!("__meta__.version is {other}, 2 is needed"))),
    }
}

fn not_bmv2(problem: &str) -> LoadError {
    LoadError(format!("not p4c's BMv2 JSON: {problem}"))
}

/// Programs of other architectures come in the same form, for other switches of BMv2's.
fn check_architecture(root: &Json<'_>) -> Result<(), LoadError> {
    for header in root.list("headers")? {
        let name = header.opt("name").and_then(|name| name.str().ok());
        let architecture = match name {
            Some("psa_ingress_parser_input_metadata") => "PSA",
            Some("pna_main_parser_input_metadata") => "PNA",
            _ => continue,
        };
        return Err(LoadError(format!(
            "the program is for {architecture}, which is not supported; its architecture must be v1model"
        )));
    }
    Ok(())
}

fn standard(scope: &Scope) -> Result<Standard, LoadError> {
    let metadata = |name| scope.standard("standard_metadata", name);
    let intrinsic = |name| scope.standard("intrinsic_metadata", name);
    let queueing = |name| scope.standard("queueing_metadata", name);
    let required = |name: &'static str| -> Result<Field, LoadError> {
        metadata(name).ok_or(LoadError(format!("headers: standard_metadata.{name}: missing")))
    };
    Ok(Standard {
        ingress_port: required("ingress_port")?,
        egress_spec: required("egress_spec")?,
        egress_port: required("egress_port")?,
        instance_type: required("instance_type")?,
        packet_length: required("packet_length")?,
        parser_error: metadata("parser_error"),
        checksum_error: metadata("checksum_error"),
        ingress_global_timestamp: intrinsic("ingress_global_timestamp"),
        egress_global_timestamp: intrinsic("egress_global_timestamp"),
        mcast_grp: intrinsic("mcast_grp"),
        egress_rid: intrinsic("egress_rid"),
        priority: intrinsic("priority"),
        enq_timestamp: queueing("enq_timestamp"),
        enq_qdepth: queueing("enq_qdepth"),
        deq_timedelta: queueing("deq_timedelta"),
        deq_qdepth: queueing("deq_qdepth"),
    })
}
