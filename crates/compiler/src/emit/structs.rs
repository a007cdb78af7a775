//! Struct declarations, with the operators that adjoints need.

use std::fmt::Write;

use super::buffer::Buffer;
use warpsmith_ir::Module;
use warpsmith_ir::types::{Type, TypeId};

/// Appends the structs that a module uses.
pub(super) fn emit(module: &Module, out: &mut Buffer) {
    for id in &module.structs {
        emit_one(module, module.types.struct_def(*id), out);
    }
}

/// Whether `+=` on a struct adds up a field of this type.
fn accumulates(module: &Module, ty: TypeId) -> bool {
    match module.types.get(ty) {
        Type::Struct(_) => true,
        Type::Array { .. } | Type::FixedArray { .. } | Type::MappedArray { .. } => false,
        _ => module
            .types
            .scalar_of(ty)
            .is_some_and(warpsmith_ir::types::Scalar::adds_atomically),
    }
}

fn emit_one(module: &Module, def: &warpsmith_ir::types::StructDef, out: &mut Buffer) {
    let name = module.names.get(def.native);
    let fields: Vec<(&str, &str, TypeId, bool)> = def
        .fields
        .iter()
        .map(|field| {
            (
                module.names.get(field.name),
                module.types.spelling(field.ty),
                field.ty,
                field.is_handle,
            )
        })
        .collect();
    let _ = write!(out, "\nstruct {name}\n{{\n");
    if fields.is_empty() {
        out.push_str("    char _dummy_;\n");
    }
    for (label, ty, ..) in &fields {
        let _ = writeln!(out, "    {ty} {label};");
    }
    out.push_str("\n\n    ");
    if !fields.is_empty() {
        let _ = write!(out, "{name}() = default;");
    }
    let _ = write!(out, "\n    CUDA_CALLABLE {name}(");
    for (at, (label, ty, ..)) in fields.iter().enumerate() {
        let (separator, default) = if at > 0 {
            (",\n    ", " = {}")
        } else {
            ("", "")
        };
        let _ = write!(out, "{separator}{ty} const& {label}{default}");
    }
    out.push_str(")\n    ");
    for (at, (label, ..)) in fields.iter().enumerate() {
        let prefix = if at > 0 { "        ," } else { "    :" };
        let _ = writeln!(out, "{prefix} {label}{{{label}}}");
    }
    let _ = write!(
        out,
        "\n    {{\n    }}\n\n    CUDA_CALLABLE {name}& operator += (const {name}& rhs)\n    {{"
    );
    for (label, _, ty, is_handle) in &fields {
        if accumulates(module, *ty) && !is_handle {
            let _ = writeln!(out, "    {label} += rhs.{label};");
        }
    }
    let _ = write!(
        out,
        "\n        return *this;}}\n\n}};\n\nstatic CUDA_CALLABLE void adj_{name}("
    );
    for (_, ty, ..) in &fields {
        let _ = write!(out, "{ty} const&,\n    ");
    }
    for (label, ty, ..) in &fields {
        let _ = write!(out, "{ty} & adj_{label},\n    ");
    }
    let _ = write!(out, "{name} & adj_ret)\n{{\n");
    for (label, _, ty, _) in &fields {
        let operator = if module.types.array_parts(*ty).is_some() {
            "="
        } else {
            "+="
        };
        let _ = writeln!(out, "    adj_{label} {operator} adj_ret.{label};");
    }
    let _ = write!(
        out,
        "}}\n\n// Required when compiling adjoints.\nCUDA_CALLABLE {name} add(const {name}& a, const {name}& b)\n{{\n    return {name}();\n}}\n\nCUDA_CALLABLE void adj_atomic_add({name}* p, {name} t)\n{{\n"
    );
    for (label, ty, ..) in &fields {
        let namespace = if ty.starts_with("wp::") || *ty == "bool" {
            "wp::"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "    {namespace}adj_atomic_add(&p->{label}, t.{label});"
        );
    }
    out.push_str("}\n\n\n\n");
}
