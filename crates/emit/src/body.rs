//! Function bodies: declarations, the forward pass, its replay, and the backward walk.
//!
//! The replay is the forward pass but for a few operations, and the adjoint declares the same variables:
//! both are copied from the forward function's text, of which [`Forward`] keeps the layout.

use std::ops::Range;

use super::Target;
use super::buffer::Buffer;
use super::literal;
use super::writer::Writer;
use warpsmith_ir::types::{CPU_BLOCK, Mapping, Type, TypeId};
use warpsmith_ir::{Function, FunctionKind, Module, Op, VarId};

/// Where a body stands.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) target: Target,
    /// Whether `return` leaves an iteration of the grid-stride loop.
    pub(super) strided: bool,
}

impl Frame {
    fn base(self, function: &Function) -> usize {
        match (self.target, &function.kind) {
            (Target::Cuda, FunctionKind::Kernel { .. }) => 8,
            _ => 4,
        }
    }
}

/// An operation that a replay writes differently.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exception {
    pub(super) op: u32,
    pub(super) level: u32,
}

/// Where the parts of a forward function's body stand in the text.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// The first operation that is written.
    pub(super) first: usize,
    /// The declarations of the variables.
    declarations: (usize, usize),
    /// Where each operation begins, and where the last ends.
    pub(super) offsets: Vec<usize>,
    /// The operations that a replay writes differently, in order.
    pub(super) exceptions: Vec<Exception>,
}

impl Forward {
    /// The lines from the declarations of the variables on.
    pub(super) fn lines(&self) -> Range<usize> {
        let (begin, end) = self.declarations;
        begin..self.offsets.last().copied().unwrap_or(end)
    }
}

/// Where a kernel's text stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernels {
    /// Where the backward kernel begins; where the text ends if there is none.
    pub(super) backward_start: usize,
    /// The lines of the forward body, from the declarations of the variables on.
    pub(super) forward: Range<usize>,
    /// The same of the backward body, without its last line.
    pub(super) backward: Range<usize>,
}

fn writer<'a>(
    module: &'a Module,
    function: &'a Function,
    frame: Frame,
    out: &'a mut Buffer,
) -> Writer<'a> {
    Writer {
        out,
        module,
        function,
        target: frame.target,
        base: frame.base(function),
        level: 0,
    }
}

/// Appends the body of the forward function.
pub(super) fn forward(
    module: &Module,
    function: &Function,
    frame: Frame,
    out: &mut Buffer,
) -> Forward {
    let mut writer = writer(module, function, frame, out);
    writer.argument_vars(frame, false);
    let begin = writer.out.len();
    writer.primal_vars(false);
    let mut layout = Forward {
        first: first_written(module, function, frame.target),
        declarations: (begin, writer.out.len()),
        offsets: Vec::with_capacity(function.ops.len() + 1),
        exceptions: Vec::new(),
    };
    writer.section("forward");
    writer.walk(frame.strided, &mut layout);
    layout
}

/// Appends the body of the adjoint function; `layout` is that of the forward function, which stands in
/// the same frame. Gives where its lines stand, from the declarations of the variables to before the last.
pub(super) fn backward(
    module: &Module,
    function: &Function,
    frame: Frame,
    layout: &Forward,
    out: &mut Buffer,
) -> Range<usize> {
    let mut writer = writer(module, function, frame, out);
    writer.argument_vars(frame, true);
    let begin = writer.out.len();
    if function.has_tiles(&module.types) {
        // Tiles in shared memory need room for their gradients.
        writer.primal_vars(true);
    } else {
        let (from, to) = layout.declarations;
        writer.out.repeat(from, to);
    }
    writer.section("dual vars");
    for (var, variable) in function.locals() {
        writer.start();
        if writer.tile_dual(var, variable.ty) {
            continue;
        }
        let ty = module.types.value_of(variable.ty);
        writer.out.push_short(module.types.spelling(ty));
        writer.text(" ");
        writer.adj(var);
        writer.text(" = {};\n");
    }
    writer.section("forward");
    writer.replay(0, function.ops.len(), layout);
    writer.section("reverse");
    writer.walk_back(layout.first, function.ops.len(), layout);
    let end = writer.out.len();
    writer.leave(frame.strided);
    begin..end
}

/// Appends the body of a CPU kernel whose lines the CUDA kernel has too, one level further in.
pub(super) fn same_lines(
    module: &Module,
    function: &Function,
    frame: Frame,
    backward: bool,
    lines: &str,
    out: &mut Buffer,
) {
    let mut writer = writer(module, function, frame, out);
    writer.argument_vars(frame, backward);
    writer.out.lines_further_out(lines);
    if backward {
        writer.leave(frame.strided);
    }
}

/// Whether a kernel's bodies have the same lines on both targets but for their indentation.
pub(super) fn has_same_lines(module: &Module, function: &Function) -> bool {
    let leaves = |op: &Op| matches!(op, Op::Return { .. } | Op::ReturnDefault);
    function.texts.is_empty()
        && function.aliases.is_empty()
        && !function.has_tiles(&module.types)
        && first_written(module, function, Target::Cpu) == 0
        && !function.ops.iter().any(leaves)
}

/// The first operation that is written: Warp quotes a line only when it comes from another, and it builds
/// the CPU's text second, so that a function on one line begins where it ended the first time.
fn first_written(module: &Module, function: &Function, target: Target) -> usize {
    let number = |op: &Op| match op {
        Op::Line(line) => Some(module.lines[*line as usize].number),
        _ => None,
    };
    let first = function.ops.first().and_then(number);
    let again = target == Target::Cpu
        && first.is_some()
        && first == function.ops.iter().rev().find_map(number);
    usize::from(again)
}

impl Writer<'_> {
    /// The last line of an adjoint.
    fn leave(&mut self, strided: bool) {
        self.start();
        self.text(if strided { "continue;\n" } else { "return;\n" });
    }

    /// On the CPU a kernel unpacks its arguments.
    fn argument_vars(&mut self, frame: Frame, backward: bool) {
        let is_kernel = matches!(self.function.kind, FunctionKind::Kernel { .. });
        if frame.target != Target::Cpu || !is_kernel {
            return;
        }
        self.section("argument vars");
        for dual in [false, true] {
            if dual && !backward {
                break;
            }
            for (var, variable) in self.function.parameters() {
                self.start();
                self.out.push_short(self.module.types.spelling(variable.ty));
                self.text(" ");
                if dual {
                    self.adj(var);
                    self.text(" = _wp_adj_args->");
                } else {
                    self.var(var);
                    self.text(" = _wp_args->");
                }
                self.label(var);
                self.text(";\n");
            }
        }
    }

    fn primal_vars(&mut self, gradients: bool) {
        self.section("primal vars");
        for (var, variable) in self.function.locals() {
            self.start();
            if variable.constant.is_some() {
                self.text("const ");
            }
            self.out.push_short(self.spelling(variable.ty));
            self.text(" ");
            self.var(var);
            self.tile_value(variable.ty, gradients);
            if let Some(constant) = variable.constant {
                self.text(" = ");
                literal::constant(self.module, constant, self.out);
            }
            self.text(";\n");
        }
    }
}

impl Writer<'_> {
    /// What a tile or a stack is declared with.
    fn tile_value(&mut self, ty: TypeId, gradients: bool) {
        let types = &self.module.types;
        match types.get(ty) {
            Type::TileStack { element, capacity } => {
                let element = self.spelling(element);
                let text = format!(" = wp::tile_stack_alloc<{element}, {capacity}>()");
                self.text(&text);
            }
            Type::Tile(_) => {
                let Some(tile) = types.tile_of(ty) else {
                    return;
                };
                self.text(" = ");
                if !tile.shared {
                    self.text(self.spelling(ty));
                    self.text("{}");
                } else if tile.owner {
                    let threads = match self.target {
                        Target::Cuda => types.gpu_block(),
                        Target::Cpu => CPU_BLOCK,
                    };
                    let element = self.spelling(tile.element);
                    self.text(&tile.allocation(element, threads, gradients));
                } else {
                    self.text("nullptr");
                }
            }
            _ => {}
        }
    }

    /// The dual of a tile or a stack: one in shared memory holds its own gradients.
    fn tile_dual(&mut self, var: VarId, ty: TypeId) -> bool {
        let types = &self.module.types;
        let is_stack = matches!(types.get(ty), Type::TileStack { .. });
        let tile = types.tile_of(ty);
        if tile.is_none() && !is_stack {
            return false;
        }
        let shared = tile.is_some_and(|tile| tile.shared);
        self.text(self.spelling(ty));
        self.text(if shared { "& " } else { " " });
        self.adj(var);
        if shared {
            self.text(" = ");
            self.var(var);
        } else if !is_stack {
            self.text("{}");
        }
        self.text(";\n");
        true
    }
}

/// Appends the type of a parameter's dual: the gradients of an indexed array are a plain array.
pub(super) fn push_dual_type(module: &Module, ty: TypeId, out: &mut Buffer) {
    match module.types.get(ty) {
        Type::MappedArray {
            mapping: Mapping::Indexed,
            element,
            ..
        } => out.parts(&["wp::array_t<", module.types.spelling(element), ">"]),
        _ => out.push_str(module.types.spelling(ty)),
    }
}

/// Whether a parameter is a plain array of one dimension, whose stride a CPU kernel may fix.
pub(super) fn is_vector_array(module: &Module, ty: TypeId) -> bool {
    matches!(module.types.get(ty), Type::Array { rank: 1, .. })
}
