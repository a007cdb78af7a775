//! IR as text. The grammar is line-oriented: one declaration, variable or operation per line.
//!
//! ```text
//! module "kernels.py" suffix "_HASH"
//! kernel saxpy line 4 rank 1 tid short backward stride cluster 1 (x: array<1, float32>, a: float32) {
//!   var 0: int32
//!   line 6 "i = wp.tid()"
//!   %0 = call tid#0()
//!   %1 = call address#0(%x, %0)
//! }
//! ```
//! Parameters are `%name`, other variables `%number`. A call prints the variables whose duals its
//! operands feed only where they are not the operands themselves (`by (…)`).

use std::fmt::Write;

use super::{
    Call, Callee, Constant, CountedRange, Function, FunctionKind, LoopKind, Module, Number, Op,
    Origin, Piece, Place, Slot, SlotStep, Step, Template, VarId,
};
use crate::builtin::BUILTINS;
use crate::types::{Extent, Tile, Type, TypeId};

/// Prints a module.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    let names = &module.names;
    let _ = writeln!(
        out,
        "module {} suffix {}",
        quoted(names.get(module.file)),
        quoted(names.get(module.suffix))
    );
    // Every struct that any type mentions is declared; the ones that C++ declares are marked.
    for (index, def) in module.types.structs().iter().enumerate() {
        let order = module.structs.iter().position(|id| id.index() == index);
        let _ = write!(
            out,
            "struct {} {}",
            names.get(def.native),
            quoted(names.get(def.key))
        );
        if let Some(order) = order {
            let _ = write!(out, " declared {order}");
        }
        out.push_str(" {\n");
        for field in &def.fields {
            let ty = if field.is_handle {
                "handle".to_owned()
            } else {
                type_text(module, field.ty).to_string()
            };
            let _ = writeln!(out, "  {}: {ty}", names.get(field.name));
        }
        out.push_str("}\n");
    }
    for function in module.functions.iter().chain([&module.kernel]) {
        Printer {
            module,
            function,
            out: &mut out,
        }
        .function();
    }
    out
}

/// A string in double quotes, with `\\`, `\"` and control characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A type.
fn type_text(module: &Module, ty: TypeId) -> String {
    if let Some(which) = module.types.python_types(ty) {
        let plain = type_text(module, module.types.plain(ty));
        return format!("python<{which}, {plain}>");
    }
    match module.types.get(ty) {
        Type::Scalar(scalar) => scalar.name().to_owned(),
        Type::Range => "range".to_owned(),
        Type::Slice => "slice".to_owned(),
        Type::Shape => "shape".to_owned(),
        Type::Str => "str".to_owned(),
        Type::Vector { length, scalar } => format!("vec<{length}, {}>", scalar.name()),
        Type::Matrix { rows, cols, scalar } => format!("mat<{rows}, {cols}, {}>", scalar.name()),
        Type::Quat(scalar) => format!("quat<{}>", scalar.name()),
        Type::Transform(scalar) => format!("transform<{}>", scalar.name()),
        Type::Array { element, rank } => format!("array<{rank}, {}>", type_text(module, element)),
        Type::MappedArray {
            mapping,
            element,
            rank,
        } => format!(
            "{}<{rank}, {}>",
            mapping.class(),
            type_text(module, element)
        ),
        Type::FixedArray {
            element,
            rank,
            dims,
        } => {
            let dims: Vec<String> = dims[..usize::from(rank)]
                .iter()
                .map(ToString::to_string)
                .collect();
            format!(
                "fixedarray<[{}], {}>",
                dims.join(", "),
                type_text(module, element)
            )
        }
        Type::Struct(id) => {
            format!(
                "struct {}",
                module.names.get(module.types.struct_def(id).native)
            )
        }
        Type::Query(query) => format!("query<{}>", query.code()),
        Type::Tuple(index) => {
            let parts: Vec<String> = module
                .types
                .tuple_parts(index)
                .iter()
                .map(|part| type_text(module, *part))
                .collect();
            format!("tuple<{}>", parts.join(", "))
        }
        Type::Reference(value) => format!("ref<{}>", type_text(module, value)),
        Type::TileStack { element, capacity } => {
            format!("tilestack<{capacity}, {}>", type_text(module, element))
        }
        Type::Tile(_) => module
            .types
            .tile_of(ty)
            .map_or_else(String::new, |tile| tile_text(module, tile)),
    }
}

/// A tile: its elements, its shape and strides (`3*1` is three times a block's threads), where it lies.
fn tile_text(module: &Module, tile: &Tile) -> String {
    let list = |extents: &[Extent]| {
        let parts: Vec<String> = extents
            .iter()
            .map(|extent| match extent.parts() {
                (factor, 0) => factor.to_string(),
                (factor, power) => format!("{factor}*{power}"),
            })
            .collect();
        parts.join(", ")
    };
    format!(
        "tile<{}, [{}], [{}], {}, {}, {}>",
        type_text(module, tile.element),
        list(&tile.shape),
        list(&tile.strides),
        if tile.shared { "shared" } else { "register" },
        if tile.column_major { "columns" } else { "rows" },
        if tile.owner { "owner" } else { "view" },
    )
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    out: &'a mut String,
}

impl Printer<'_> {
    fn function(&mut self) {
        let names = &self.module.names;
        match &self.function.kind {
            FunctionKind::Kernel {
                launch_rank,
                scalar_tid,
                long_constant_loop,
                options,
            } => {
                let _ = write!(
                    self.out,
                    "kernel {} line {} rank {launch_rank} {} {} {} {} cluster {}",
                    names.get(self.function.native),
                    self.function.first_line,
                    if *scalar_tid { "tid" } else { "notid" },
                    if *long_constant_loop { "long" } else { "short" },
                    if options.backward {
                        "backward"
                    } else {
                        "forward"
                    },
                    if options.grid_stride {
                        "stride"
                    } else {
                        "lean"
                    },
                    options.cluster_dim,
                );
                if let Some((threads, blocks)) = options.launch_bounds {
                    let _ = write!(self.out, " bounds {threads}");
                    if let Some(blocks) = blocks {
                        let _ = write!(self.out, ", {blocks}");
                    }
                }
                if let Some(registers) = options.max_registers {
                    let _ = write!(self.out, " registers {registers}");
                }
                if options.smem_spilling {
                    self.out.push_str(" spill");
                }
            }
            FunctionKind::Device {
                inline_hint,
                adjoint,
                file,
                custom,
            } => {
                let _ = write!(
                    self.out,
                    "func {} line {} {}",
                    names.get(self.function.native),
                    self.function.first_line,
                    if *adjoint { "adjoint" } else { "forward" }
                );
                match inline_hint.trim_end() {
                    "" => {}
                    hint => {
                        let _ = write!(self.out, " hint {}", quoted(hint));
                    }
                }
                if let Some(file) = file {
                    let _ = write!(self.out, " file {}", quoted(names.get(*file)));
                }
                match custom.origin {
                    Origin::Compiled => {}
                    Origin::Native {
                        forward,
                        adjoint,
                        replay,
                    } => {
                        let _ = write!(self.out, " native {}", quoted(names.get(forward)));
                        for (word, text) in [("reverse", adjoint), ("again", replay)] {
                            if let Some(text) = text {
                                let _ = write!(self.out, " {word} {}", quoted(names.get(text)));
                            }
                        }
                    }
                    Origin::Gradient { inputs } => {
                        let _ = write!(self.out, " gradient {inputs}");
                    }
                    Origin::Replay => self.out.push_str(" replay"),
                }
                if custom.has_gradient {
                    self.out.push_str(" has_gradient");
                }
                if custom.has_replay {
                    self.out.push_str(" has_replay");
                }
            }
        }
        self.out.push_str(" (");
        for (at, (_, variable)) in self.function.parameters().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            let name = variable.name.map_or("", |name| names.get(name));
            let _ = write!(self.out, "{name}: {}", type_text(self.module, variable.ty));
        }
        self.out.push(')');
        for (at, ty) in self.function.returns.iter().enumerate() {
            self.out.push_str(if at > 0 { ", " } else { " -> " });
            self.out.push_str(&type_text(self.module, *ty));
        }
        self.out.push_str(" {\n");
        for (var, variable) in self.function.locals() {
            let number = var.0 - self.function.params;
            let _ = write!(
                self.out,
                "  var {number}: {}",
                type_text(self.module, variable.ty)
            );
            if let Some(constant) = variable.constant {
                self.out.push_str(" = ");
                self.constant(constant);
            }
            self.out.push('\n');
        }
        for alias in &self.function.aliases {
            let ty = type_text(self.module, alias.variable.ty);
            let _ = write!(self.out, "  alias {ty} ");
            self.pieces(&alias.pieces);
            self.out.push('\n');
        }
        let mut level = 1;
        for at in 0..self.function.ops.len() {
            let op = self.function.ops[at];
            if matches!(op, Op::EndIf { .. } | Op::EndLoop { .. }) {
                level -= 1;
            }
            for _ in 0..level {
                self.out.push_str("  ");
            }
            self.op(op);
            self.out.push('\n');
            if matches!(op, Op::If { .. } | Op::Loop { .. }) {
                level += 1;
            }
        }
        self.out.push_str("}\n");
    }

    fn var(&mut self, var: VarId) {
        let params = self.function.params;
        if let Some(alias) = var.alias() {
            let _ = write!(self.out, "%&{alias}");
        } else if var.0 >= params {
            let _ = write!(self.out, "%{}", var.0 - params);
        } else {
            let name = self
                .function
                .var(var)
                .name
                .map_or("", |name| self.module.names.get(name));
            let _ = write!(self.out, "%{name}");
        }
    }

    fn vars(&mut self, vars: &[VarId]) {
        for (at, var) in vars.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.var(*var);
        }
    }

    fn number(&mut self, number: Number) {
        match number {
            Number::Int(value) => {
                let _ = write!(self.out, "int {value}");
            }
            // The bits, so that every float reads back as itself.
            Number::Float(value) => {
                let _ = write!(self.out, "float {value:?} bits {:#x}", value.to_bits());
            }
        }
    }

    fn constant(&mut self, constant: Constant) {
        match constant {
            Constant::Bool(value) => {
                let _ = write!(self.out, "{value}");
            }
            Constant::Number(number) => self.number(number),
            Constant::Typed(scalar, number) => {
                let _ = write!(self.out, "typed {} ", scalar.name());
                self.number(number);
            }
            Constant::Str(text) => {
                let text = quoted(self.module.names.get(text));
                let _ = write!(self.out, "str {text}");
            }
            Constant::Compound { ty, start, len } => {
                let _ = write!(self.out, "compound {} [", type_text(self.module, ty));
                for at in start..start + len {
                    if at > start {
                        self.out.push_str(", ");
                    }
                    self.number(self.module.elements[at as usize]);
                }
                self.out.push(']');
            }
        }
    }

    fn op(&mut self, op: Op) {
        let function = self.function;
        match op {
            Op::Line(line) => {
                let line = &self.module.lines[line as usize];
                let text = quoted(self.module.names.get(line.text));
                let _ = write!(self.out, "line {} {text}", line.number);
            }
            Op::Call(call) => self.call(&call),
            Op::Load { dst, src } => self.unary(dst, "load", src),
            Op::Set { dst, src } => self.unary(dst, "set", src),
            Op::Accumulate { dst, src, or } => self.unary(dst, if or { "or" } else { "and" }, src),
            Op::SetInt { dst, value } => {
                self.var(dst);
                let _ = write!(self.out, " = count {value}");
            }
            Op::Literal { dst, literal } => {
                self.var(dst);
                self.out.push_str(" = literal ");
                self.constant(function.literals[literal as usize]);
            }
            Op::Compare { dst, chain } => {
                self.var(dst);
                self.out.push_str(" = compare ");
                let operands = chain.operands(function);
                self.var(operands[0]);
                for (comparison, operand) in chain.comparisons(function).iter().zip(&operands[1..])
                {
                    let _ = write!(self.out, " {} ", comparison.symbol());
                    self.var(*operand);
                }
            }
            Op::If { cond, negated, .. } => {
                self.out.push_str(if negated { "if not " } else { "if " });
                self.var(cond);
                self.out.push_str(" {");
            }
            Op::EndIf { cond, .. } => {
                self.out.push_str("} back ");
                self.var(cond);
            }
            Op::Loop { index, .. } => self.loop_head(index),
            Op::Test { cond, .. } => {
                self.out.push_str("test ");
                self.var(cond);
            }
            Op::EndLoop { .. } => self.out.push_str("} again"),
            Op::Break { index } => {
                let _ = write!(self.out, "break {index}");
            }
            Op::Continue { index } => {
                let _ = write!(self.out, "continue {index}");
            }
            Op::Return {
                values,
                count,
                label,
            } => {
                let _ = write!(self.out, "return {label} (");
                self.vars(&function.pool[values as usize..][..count as usize]);
                self.out.push(')');
            }
            Op::ReturnDefault => self.out.push_str("return default"),
            Op::FieldAddress {
                dst,
                aggregate,
                field,
                place,
                accumulates,
            } => {
                self.var(dst);
                self.out.push_str(" = field ");
                self.var(aggregate);
                let field = quoted(self.module.names.get(field));
                let _ = write!(self.out, " {field} {}", flow(accumulates));
                if let Some(place) = place {
                    self.out.push_str(" at ");
                    self.place(&function.places[place as usize]);
                }
            }
            Op::FieldStore {
                root,
                path,
                value,
                accumulates,
            } => {
                self.out.push_str("store ");
                self.var(root);
                let path = quoted(self.module.names.get(path));
                let _ = write!(self.out, " {path} {} ", flow(accumulates));
                self.var(value);
            }
            Op::SlotAddress { dst, slot } => {
                self.var(dst);
                self.out.push_str(" = slot ");
                self.slot(&function.slots[slot as usize]);
            }
            Op::SlotStore { slot, value } => {
                self.out.push_str("slotstore ");
                self.var(value);
                self.out.push_str(" into ");
                self.slot(&function.slots[slot as usize]);
            }
            Op::SlotAtomic {
                slot,
                value,
                update,
            } => {
                let _ = write!(self.out, "slotatomic {} ", update.word());
                self.var(value);
                self.out.push_str(" into ");
                self.slot(&function.slots[slot as usize]);
            }
            Op::Text { text, replayed } => {
                self.out.push_str(if replayed {
                    "text replayed "
                } else {
                    "text once "
                });
                let text = &function.texts[text as usize];
                self.pieces(&text.forward);
                self.out.push(' ');
                self.pieces(&text.reverse);
            }
            Op::Assert { cond, text } => {
                self.out.push_str("assert ");
                self.var(cond);
                let text = quoted(self.module.names.get(text));
                let _ = write!(self.out, " {text}");
            }
        }
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        self.out.push('[');
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            let names = &self.module.names;
            match *piece {
                Piece::Text(text) => self.out.push_str(&quoted(names.get(text))),
                Piece::Either(cuda, cpu) => {
                    let (cuda, cpu) = (quoted(names.get(cuda)), quoted(names.get(cpu)));
                    let _ = write!(self.out, "either {cuda} {cpu}");
                }
                Piece::Var(var) => self.var(var),
                Piece::Dual(var) => {
                    self.out.push_str("dual ");
                    self.var(var);
                }
                Piece::Type(ty) => {
                    let ty = type_text(self.module, ty);
                    let _ = write!(self.out, "type {ty}");
                }
            }
        }
        self.out.push(']');
    }

    fn unary(&mut self, dst: VarId, word: &str, src: VarId) {
        self.var(dst);
        let _ = write!(self.out, " = {word} ");
        self.var(src);
    }

    fn call(&mut self, call: &Call) {
        let function = self.function;
        let (args, adjoints, outs) = (
            call.operands.args(&function.pool),
            call.operands.adjoints(&function.pool),
            call.operands.outs(&function.pool),
        );
        if !outs.is_empty() {
            self.vars(outs);
            self.out.push_str(" = ");
        }
        let _ = match call.callee {
            Callee::Builtin(index, row) => {
                write!(self.out, "call {}#{row}", BUILTINS[usize::from(index)].name)
            }
            Callee::Function(index) => write!(self.out, "call func {index}"),
            Callee::Struct(id) => {
                let native = self.module.types.struct_def(id).native;
                write!(self.out, "call struct {}", self.module.names.get(native))
            }
        };
        self.out.push('(');
        self.vars(args);
        self.out.push(')');
        if args != adjoints {
            self.out.push_str(" by (");
            self.vars(adjoints);
            self.out.push(')');
        }
        if let Some(template) = call.template {
            self.out.push_str(" with (");
            for (at, arg) in function.templates[template as usize].iter().enumerate() {
                if at > 0 {
                    self.out.push_str(", ");
                }
                match *arg {
                    Template::Int(value) => {
                        let _ = write!(self.out, "{value}");
                    }
                    Template::Type(ty) => self.out.push_str(&type_text(self.module, ty)),
                }
            }
            self.out.push(')');
        }
        if call.braces {
            self.out.push_str(" braces");
        }
        if !call.has_adjoint {
            self.out.push_str(" constant");
        }
    }

    fn loop_head(&mut self, index: u32) {
        let function = self.function;
        let this = &function.loops[index as usize];
        match this.kind {
            LoopKind::Range { iter, value } => {
                self.out.push_str("loop range ");
                self.vars(&[iter, value]);
            }
            LoopKind::Counted {
                counter,
                value,
                range,
            } => {
                self.out.push_str("loop counted ");
                self.vars(&[counter, value]);
                let CountedRange { start, stop, step } = range;
                let _ = write!(self.out, " from {start} to {stop} step {step}");
            }
            LoopKind::While => self.out.push_str("loop while"),
        }
        let _ = write!(self.out, " label {} zero (", this.label);
        self.vars(&this.zeroed);
        self.out.push_str(") {");
    }

    fn place(&mut self, place: &Place) {
        self.var(place.root);
        for step in &place.steps {
            match step {
                Step::Field(field) => {
                    let _ = write!(self.out, " .{}", self.module.names.get(*field));
                }
                Step::Element(indices) => {
                    self.out.push_str(" element (");
                    self.vars(indices);
                    self.out.push(')');
                }
                Step::View(indices) => {
                    self.out.push_str(" view (");
                    self.vars(indices);
                    self.out.push(')');
                }
            }
        }
    }

    fn slot(&mut self, slot: &Slot) {
        self.var(slot.array);
        self.out.push_str(" (");
        self.vars(&slot.indices);
        self.out.push(')');
        for step in &slot.steps {
            match *step {
                SlotStep::Component(index) => {
                    self.out.push_str(" component (");
                    self.var(index);
                    self.out.push(')');
                }
                SlotStep::Element(row, col) => {
                    self.out.push_str(" element (");
                    self.vars(&[row, col]);
                    self.out.push(')');
                }
                SlotStep::Row(row) => {
                    self.out.push_str(" row (");
                    self.var(row);
                    self.out.push(')');
                }
                SlotStep::Field(field) => {
                    let _ = write!(self.out, " .{}", self.module.names.get(field));
                }
            }
        }
        let _ = write!(self.out, " : {}", type_text(self.module, slot.ty));
        if let Some(place) = &slot.place {
            self.out.push_str(" at ");
            self.place(place);
        }
    }
}

fn flow(accumulates: bool) -> &'static str {
    if accumulates { "adds" } else { "sets" }
}
