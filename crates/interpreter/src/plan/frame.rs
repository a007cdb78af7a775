//! A function as it is laid into its caller: where its variables lie.

use super::builder::{Builder, number_bits};
use super::initialised;
use super::reference::Reference;
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::small_keys::Map;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Function, Number, VarId};

/// Which pass over the operations is laid out forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    Replay,
}

/// One function, laid out once.
pub(super) struct Frame<'m> {
    pub(super) function: &'m Function,
    primal: Vec<Cell>,
    dual: Vec<Option<Cell>>,
    /// Cells of variables that the adjoint begins with zeroes in.
    zeroed: (Cell, u32),
    pub(super) references: Map<VarId, Reference>,
    /// Where gradients lie that are named as values.
    pub(super) aliases: Map<VarId, Cell>,
    /// Array variables that are parameters of the kernel, by position.
    pub(super) arrays: Map<VarId, u16>,
    /// Slices whose three numbers are constants.
    pub(super) slices: Map<VarId, [i64; 3]>,
    /// Variables that hold the thread's coordinates, in order.
    pub(super) coordinates: Vec<VarId>,
    /// Where results go, and where their duals come from.
    pub(super) results: Vec<Cell>,
    pub(super) result_duals: Vec<Option<Cell>>,
    /// The tiles that results are copied to, where the caller has memory for them.
    pub(super) result_tiles: Vec<Option<Tile>>,
    pub(super) labels: Map<u32, u32>,
    /// Loops that are open, innermost last.
    pub(super) loops: Vec<u32>,
    /// Variables that may be read without a value, with their marks.
    pub(super) marks: Map<VarId, u32>,
}

/// The leaves of a constant, as bits.
pub(super) fn constant_bits(
    builder: &mut Builder<'_>,
    ty: TypeId,
    constant: Constant,
) -> Vec<(Scalar, u64)> {
    let layout = builder.layout(ty);
    let leaf = layout
        .leaves
        .first()
        .map_or(Scalar::I32, |leaf| leaf.scalar);
    match constant {
        Constant::Bool(value) => {
            vec![(leaf, number_bits(leaf, Number::Int(i128::from(value))))]
        }
        Constant::Number(number) | Constant::Typed(_, number) => {
            vec![(leaf, number_bits(leaf, number))]
        }
        Constant::Str(name) => vec![(Scalar::I32, name.index() as u64)],
        Constant::Compound { start, len, .. } => {
            let elements = &builder.module.elements[start as usize..][..len as usize];
            let leaves = layout.leaves.iter().zip(elements);
            leaves
                .map(|(leaf, element)| (leaf.scalar, number_bits(leaf.scalar, *element)))
                .collect()
        }
    }
}

impl<'m> Frame<'m> {
    /// Gives every variable its cells; the parameters lie where the caller says.
    pub(super) fn new(
        builder: &mut Builder<'m>,
        function: &'m Function,
        parameters: &[Cell],
        backward: bool,
    ) -> Self {
        let mut primal = parameters.to_vec();
        let start = builder.cells_for(0);
        let mut constants = Vec::new();
        for (var, variable) in function.locals() {
            let leaves = builder.layout(variable.ty).leaves.len();
            if variable.constant.is_some() {
                constants.push(var);
                primal.push(Cell(u32::MAX));
            } else {
                primal.push(builder.cells_for(leaves));
            }
        }
        let mut dual = vec![None; function.vars.len()];
        if backward {
            for (var, variable) in function.locals() {
                let layout = builder.layout(variable.ty);
                if Builder::has_floats(&layout) {
                    dual[var.index()] = Some(builder.cells_for(layout.leaves.len()));
                }
            }
        }
        let count = builder.cells_for(0).0 - start.0;
        // Constants lie outside the range that is zeroed, one run of cells for each.
        for var in constants {
            let variable = function.var(var);
            let Some(constant) = variable.constant else {
                continue;
            };
            let bits = constant_bits(builder, variable.ty, constant);
            primal[var.index()] = match *bits {
                [(ty, bits)] => builder.bits(ty, bits),
                _ => builder.constant_run(&bits),
            };
        }
        Self {
            function,
            primal,
            dual,
            zeroed: (start, count),
            references: Map::default(),
            aliases: Map::default(),
            arrays: Map::default(),
            slices: Map::default(),
            coordinates: Vec::new(),
            results: Vec::new(),
            result_duals: Vec::new(),
            result_tiles: Vec::new(),
            labels: Map::default(),
            loops: Vec::new(),
            marks: Map::default(),
        }
    }

    /// Zeroes every variable and its dual, as an adjoint begins.
    pub(super) fn zero(&self, builder: &mut Builder<'_>) {
        let (first, count) = self.zeroed;
        if count > 0 {
            builder.emit(Instruction::Zero { first, count });
        }
    }

    /// Finds the variables that may be read without a value and gives them marks.
    pub(super) fn find_unassigned(&mut self, builder: &mut Builder<'_>) {
        for var in initialised::unassigned(&builder.module.names, self.function) {
            self.marks.insert(var, builder.marks.len() as u32);
            let name = self.function.var(var).name;
            let name = name.map_or_else(
                || "a variable".to_owned(),
                |name| format!("`{}`", builder.module.names.get(name)),
            );
            builder.marks.push(name);
        }
    }

    /// The first cell of a variable.
    pub(super) fn cell(&self, var: VarId) -> Cell {
        match var.alias() {
            None => self.primal[var.index()],
            Some(_) => self.aliases.get(&var).copied().unwrap_or(Cell(u32::MAX)),
        }
    }

    /// The first cell of a variable's dual, where it can carry a gradient.
    pub(super) fn dual(&self, var: VarId) -> Option<Cell> {
        self.dual.get(var.index()).copied().flatten()
    }

    pub(super) fn set_dual(&mut self, var: VarId, dual: Cell) {
        self.dual[var.index()] = Some(dual);
    }

    /// The type of a variable's value: behind the reference, if it is one.
    pub(super) fn value_type(&self, builder: &Builder<'_>, var: VarId) -> TypeId {
        builder.module.types.value_of(self.function.var(var).ty)
    }

    pub(super) fn kind(&self, builder: &Builder<'_>, var: VarId) -> Type {
        builder.module.types.get(self.value_type(builder, var))
    }

    /// The variable's value, if it is a constant integer.
    pub(super) fn constant_int(&self, var: VarId) -> Option<i64> {
        let value = self.function.var(var).constant?.as_int()?;
        i64::try_from(value).ok()
    }
}
