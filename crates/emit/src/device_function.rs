//! Functions and their adjoints.

use super::Target;
use super::body::{self, Forward, Frame};
use super::buffer::Buffer;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Function, FunctionKind, Module, Origin};

const SEPARATOR: &str = ",\n    ";

fn comment(module: &Module, function: &Function, out: &mut Buffer) {
    out.push_str("\n// ");
    let file = match function.kind {
        FunctionKind::Device { file, .. } => file,
        FunctionKind::Kernel { .. } => None,
    };
    out.push_str(module.names.get(file.unwrap_or(module.file)));
    out.push_ascii(b':');
    out.number(function.first_line);
    out.push_ascii(b'\n');
}

/// Whether a parameter's type is a template argument: tiles lie in registers or in shared memory.
fn is_templated(module: &Module, ty: TypeId) -> bool {
    matches!(module.types.get(ty), Type::Tile(_) | Type::TileStack { .. })
}

/// The template arguments of a function that takes tiles.
fn template(module: &Module, function: &Function, out: &mut Buffer) {
    let mut any = false;
    for (_, variable) in function.parameters() {
        if is_templated(module, variable.ty) {
            let name = variable.name.map_or("", |name| module.names.get(name));
            let start = if any { ", " } else { "template<" };
            out.parts(&[start, "typename tile_", name]);
            any = true;
        }
    }
    if any {
        out.push_str(">\n");
    }
}

fn head(function: &Function, target: Target, out: &mut Buffer) {
    out.push_str("static ");
    if let FunctionKind::Device { inline_hint, .. } = function.kind {
        out.push_str(inline_hint);
    }
    if target == Target::Cuda {
        out.push_str("CUDA_CALLABLE ");
    }
}

fn spelling(module: &Module, ty: TypeId, target: Target) -> &str {
    match target {
        Target::Cuda => module.types.spelling(ty),
        Target::Cpu => module.types.cpu_spelling(ty),
    }
}

/// Separates list items.
struct Items<'a> {
    out: &'a mut Buffer,
    any: bool,
}

impl Items<'_> {
    fn item(&mut self, parts: &[&str]) {
        if self.any {
            self.out.push_str(SEPARATOR);
        }
        self.any = true;
        for part in parts {
            self.out.push_str(part);
        }
    }
}

fn primal_params(module: &Module, function: &Function, target: Target, items: &mut Items<'_>) {
    for (_, variable) in function.parameters() {
        let name = variable.name.map_or("", |name| module.names.get(name));
        if is_templated(module, variable.ty) {
            items.item(&["tile_", name, "& var_", name]);
            continue;
        }
        items.item(&[module.types.spelling(variable.ty), " var_", name]);
    }
    if function.returns.len() > 1 {
        for (at, ty) in function.returns.iter().enumerate() {
            items.item(&[spelling(module, *ty, target), " & ret_", &at.to_string()]);
        }
    }
}

/// A native function's parameter as its author names it: Warp takes its own prefix off, wherever it stands.
fn native_name(name: &str) -> String {
    format!("var_{name}").replace("var_", "")
}

/// Appends a definition of a native function's text: the forward one, the one of a replay, or the adjoint.
fn native(
    module: &Module,
    function: &Function,
    prefix: &str,
    body: Option<Name>,
    out: &mut Buffer,
) {
    let adjoint = prefix == "adj_";
    comment(module, function, out);
    // Native text is the same on the CPU.
    out.push_str("static CUDA_CALLABLE ");
    match *function.returns {
        [ty] if !adjoint => out.push_str(module.types.spelling(ty)),
        _ => out.push_str("void"),
    }
    out.parts(&[" ", prefix, module.names.get(function.native), "(\n    "]);
    // Native text names what a reference points at.
    let mut aliases = String::new();
    let mut items = Items { out, any: false };
    for (_, variable) in function.parameters() {
        let name = native_name(variable.name.map_or("", |name| module.names.get(name)));
        let spelling = module.types.spelling(variable.ty);
        if let Type::Reference(value) = module.types.get(variable.ty) {
            items.item(&[spelling, " _wp_ref_", &name]);
            let value = module.types.spelling(value);
            aliases.push_str(&format!("    {value}& {name} = *_wp_ref_{name};\n"));
        } else {
            items.item(&[spelling, " ", &name]);
        }
    }
    if adjoint {
        for (_, variable) in function.parameters() {
            let name = variable.name.map_or("", |name| module.names.get(name));
            if let Type::Reference(value) = module.types.get(variable.ty) {
                items.item(&[module.types.spelling(variable.ty), " _wp_ref_adj_", name]);
                let value = module.types.spelling(value);
                aliases.push_str(&format!("    {value}& adj_{name} = *_wp_ref_adj_{name};\n"));
                continue;
            }
            items.item(&[]);
            body::push_dual_type(module, variable.ty, items.out);
            items.out.parts(&[" & adj_", name]);
        }
        if let [ty] = *function.returns {
            items.item(&[module.types.spelling(ty), " & adj_ret"]);
        }
    }
    out.push_str(")\n{\n");
    out.push_str(&aliases);
    out.push_str(body.map_or("", |body| module.names.get(body)));
    out.push_str("}\n\n");
}

/// Appends an adjoint that its author wrote.
fn gradient(module: &Module, function: &Function, inputs: usize, target: Target, out: &mut Buffer) {
    comment(module, function, out);
    head(function, target, out);
    out.parts(&["void adj_", module.names.get(function.native), "(\n    "]);
    let mut items = Items { out, any: false };
    let name_of = |name: Option<Name>| name.map_or("", |name| module.names.get(name));
    for (_, variable) in function.parameters().take(inputs) {
        items.item(&[
            module.types.spelling(variable.ty),
            " var_",
            name_of(variable.name),
        ]);
    }
    for (_, variable) in function.parameters().take(inputs) {
        items.item(&[]);
        body::push_dual_type(module, variable.ty, items.out);
        items.out.parts(&[" & adj_", name_of(variable.name)]);
    }
    for (_, variable) in function.parameters().skip(inputs) {
        items.item(&[
            module.types.spelling(variable.ty),
            " & var_",
            name_of(variable.name),
        ]);
    }
    out.push_str(")\n{\n\t// user-defined adjoint code\n");
    let frame = Frame {
        target,
        strided: false,
    };
    body::forward(module, function, frame, out);
    out.push_str("}\n\n");
}

/// Appends the forward function.
pub(super) fn emit_forward(
    module: &Module,
    function: &Function,
    target: Target,
    out: &mut Buffer,
) -> Forward {
    match function.custom().origin {
        Origin::Native {
            forward, replay, ..
        } => {
            native(module, function, "", Some(forward), out);
            if replay.is_some() {
                native(module, function, "replay_", replay, out);
            }
            return Forward::default();
        }
        Origin::Gradient { .. } => return Forward::default(),
        Origin::Compiled | Origin::Replay => {}
    }
    template(module, function, out);
    comment(module, function, out);
    head(function, target, out);
    match *function.returns {
        [ty] => out.push_str(spelling(module, ty, target)),
        _ => out.push_str("void"),
    }
    out.push_ascii(b' ');
    out.push_str(module.names.get(function.native));
    out.push_str("(\n    ");
    primal_params(module, function, target, &mut Items { out, any: false });
    out.push_str(")\n{\n");
    let layout = body::forward(
        module,
        function,
        Frame {
            target,
            strided: false,
        },
        out,
    );
    out.push_str("}\n\n");
    layout
}

/// Appends the adjoint function; a stub if no kernel with an adjoint reaches it.
pub(super) fn emit_adjoint(
    module: &Module,
    function: &Function,
    target: Target,
    layout: &Forward,
    out: &mut Buffer,
) {
    let custom = function.custom();
    if let Origin::Native { adjoint, .. } = custom.origin {
        return native(module, function, "adj_", adjoint, out);
    }
    if let Origin::Gradient { inputs } = custom.origin {
        return gradient(module, function, inputs as usize, target, out);
    }
    if custom.has_gradient || custom.origin == Origin::Replay {
        return;
    }
    template(module, function, out);
    comment(module, function, out);
    head(function, target, out);
    out.push_str("void adj_");
    out.push_str(module.names.get(function.native));
    out.push_str("(\n    ");
    let mut items = Items { out, any: false };
    primal_params(module, function, target, &mut items);
    for (_, variable) in function.parameters() {
        let name = variable.name.map_or("", |name| module.names.get(name));
        if is_templated(module, variable.ty) {
            items.item(&["tile_", name, " & adj_", name]);
            continue;
        }
        items.item(&[]);
        body::push_dual_type(module, variable.ty, items.out);
        let refers = module.types.is_reference(variable.ty);
        items
            .out
            .parts(&[if refers { " adj_" } else { " & adj_" }, name]);
    }
    match *function.returns {
        [] => {}
        [ty] => items.item(&[spelling(module, ty, target), " & adj_ret"]),
        _ => {
            for (at, ty) in function.returns.iter().enumerate() {
                items.item(&[
                    spelling(module, *ty, target),
                    " & adj_ret_",
                    &at.to_string(),
                ]);
            }
        }
    }
    out.push_str(")\n{\n");
    if let FunctionKind::Device { adjoint: true, .. } = function.kind {
        body::backward(
            module,
            function,
            Frame {
                target,
                strided: false,
            },
            layout,
            out,
        );
    } else {
        out.push_str(
            "\t// reverse mode disabled (no backward-enabled kernel depends on this function)\n",
        );
    }
    out.push_str("}\n\n");
}
