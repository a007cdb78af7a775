//! Struct declarations, with the operators that adjoints and tiles need.

use std::collections::HashSet;
use std::fmt::Write;

use super::buffer::Buffer;
use warpsmith_ir::Module;
use warpsmith_ir::types::{StructId, Type, TypeId};

/// Appends the structs that a module uses.
pub(super) fn emit(module: &Module, out: &mut Buffer) {
    let in_tiles = structs_of_tiles(module);
    for id in &module.structs {
        let def = module.types.struct_def(*id);
        emit_one(module, def, in_tiles.contains(id), out);
    }
}

/// The structs that tiles are made of, and those that lie in them.
fn structs_of_tiles(module: &Module) -> HashSet<StructId> {
    let functions = module.functions.iter().chain([&module.kernel]);
    let variables = functions.flat_map(|function| &function.vars);
    let mut open: Vec<TypeId> = variables
        .filter_map(|variable| {
            let ty = module.types.value_of(variable.ty);
            match module.types.get(ty) {
                Type::TileStack { element, .. } => Some(element),
                _ => module.types.tile_of(ty).map(|tile| tile.element),
            }
        })
        .collect();
    let mut found = HashSet::new();
    while let Some(ty) = open.pop() {
        if let Type::Struct(id) = module.types.get(ty)
            && found.insert(id)
        {
            open.extend(
                module
                    .types
                    .struct_def(id)
                    .fields
                    .iter()
                    .map(|field| field.ty),
            );
        }
    }
    found
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

/// A field: its name, its type as text and as such, and whether it is a handle.
type Field<'m> = (&'m str, &'m str, TypeId, bool);

fn emit_one(
    module: &Module,
    def: &warpsmith_ir::types::StructDef,
    in_tiles: bool,
    out: &mut Buffer,
) {
    let name = module.names.get(def.native);
    let fields: Vec<Field<'_>> = def
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
    out.push_str("\n        return *this;}\n");
    if in_tiles {
        tile_operators(module, name, &fields, out);
    }
    let _ = write!(out, "\n}};\n\nstatic CUDA_CALLABLE void adj_{name}(");
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
    let sum = match in_tiles {
        true => format!("    {name} ret = a;\n    ret += b;\n    return ret;"),
        false => format!("    return {name}();"),
    };
    let _ = write!(
        out,
        "}}\n\n// Required when compiling adjoints.\nCUDA_CALLABLE {name} add(const {name}& a, const {name}& b)\n{{\n{sum}\n}}\n\nCUDA_CALLABLE void adj_atomic_add({name}* p, {name} t)\n{{\n"
    );
    for (label, ty, ..) in &fields {
        let namespace = namespace(ty);
        let _ = writeln!(
            out,
            "    {namespace}adj_atomic_add(&p->{label}, t.{label});"
        );
    }
    out.push_str("}\n\n");
    if in_tiles {
        tile_helpers(module, name, &fields, out);
    }
    out.push_str("\n\n");
}

/// Where the functions of a field's type are.
fn namespace(ty: &str) -> &'static str {
    if ty.starts_with("wp::") || ty == "bool" {
        "wp::"
    } else {
        ""
    }
}

/// The operators that tiles of a struct need besides `+=`.
fn tile_operators(module: &Module, name: &str, fields: &[Field<'_>], out: &mut Buffer) {
    let added: Vec<&str> = fields
        .iter()
        .filter(|(_, _, ty, is_handle)| accumulates(module, *ty) && !is_handle)
        .map(|(label, ..)| *label)
        .collect();
    let _ = write!(
        out,
        "\n\n    CUDA_CALLABLE {name}& operator -= (const {name}& rhs)\n    {{"
    );
    for label in &added {
        let _ = writeln!(out, "    {label} -= rhs.{label};");
    }
    let _ = write!(
        out,
        "\n        return *this;}}\n\n    CUDA_CALLABLE {name} operator - () const\n    {{\n        {name} ret = *this;\n"
    );
    for label in &added {
        let _ = writeln!(out, "    ret.{label} = -ret.{label};");
    }
    out.push_str("\n        return ret;\n    }\n");
}

/// What the templates of tiles call with a struct.
fn tile_helpers(module: &Module, name: &str, fields: &[Field<'_>], out: &mut Buffer) {
    let mut body = TILE_SUMS.replace("NAME", name);
    for (label, spelling, ty, _) in fields {
        let added = accumulates(module, *ty) && !is_array(module, *ty);
        let _ = match added {
            true => writeln!(
                body,
                "    old.{label} = {}atomic_add(&p->{label}, t.{label});",
                namespace(spelling)
            ),
            false => writeln!(body, "    old.{label} = p->{label};"),
        };
    }
    body += &TILE_ATOMICS.replace("NAME", name);
    for (function, parameters, given) in [
        ("down", "int offset, int mask", "offset, mask"),
        ("xor", "int lane_mask", "lane_mask"),
    ] {
        let _ = write!(
            body,
            "CUDA_CALLABLE {name} warp_shuffle_{function}({name} val, {parameters})\n{{\n    {name} ret {{}};\n"
        );
        for (label, _, ty, _) in fields {
            let namespace = match module.types.get(*ty) {
                Type::Struct(_) => "",
                _ => "wp::",
            };
            let _ = match has_shuffle(module, *ty) {
                true => writeln!(
                    body,
                    "    ret.{label} = {namespace}warp_shuffle_{function}(val.{label}, {given});"
                ),
                false => writeln!(body, "    ret.{label} = val.{label};"),
            };
        }
        body.push_str("\n    return ret;\n}\n");
        if function == "down" {
            body.push('\n');
        }
    }
    body.push_str("#endif\n");
    out.push_str(&body);
}

fn is_array(module: &Module, ty: TypeId) -> bool {
    matches!(
        module.types.get(ty),
        Type::Array { .. } | Type::MappedArray { .. }
    )
}

/// Whether a field can be handed from thread to thread: numbers and what is made of them, structs, arrays.
fn has_shuffle(module: &Module, ty: TypeId) -> bool {
    is_array(module, ty)
        || matches!(module.types.get(ty), Type::Struct(_))
        || module.types.scalar_of(ty).is_some()
}

const TILE_SUMS: &str = "
// Required by tile templates. The overloads are found by ADL when tile.h is
// instantiated with a generated struct type.
CUDA_CALLABLE void adj_add(const NAME& a, const NAME& b, NAME& adj_a, NAME& adj_b, const NAME& adj_ret)
{
    adj_a += adj_ret;
    adj_b += adj_ret;
}

CUDA_CALLABLE NAME sub(const NAME& a, const NAME& b)
{
    NAME ret = a;
    ret -= b;
    return ret;
}

CUDA_CALLABLE void adj_sub(const NAME& a, const NAME& b, NAME& adj_a, NAME& adj_b, const NAME& adj_ret)
{
    adj_a += adj_ret;
    adj_b -= adj_ret;
}

CUDA_CALLABLE NAME atomic_add(NAME* p, NAME t)
{
    NAME old {};
";

const TILE_ATOMICS: &str = "
    return old;
}

CUDA_CALLABLE NAME tile_atomic_add_value(NAME* p, NAME t)
{
    return atomic_add(p, t);
}

CUDA_CALLABLE NAME tile_adj_atomic_add_value(NAME* p, NAME t)
{
    // Tile adjoint struct atomics accumulate only for side effects; callers
    // currently ignore the returned old value, so avoid a second atomic here.
    NAME old {};
    adj_atomic_add(p, t);
    return old;
}

#if defined(__CUDA_ARCH__)
";
