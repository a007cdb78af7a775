//! A planned kernel.

use std::rc::Rc;

use super::access::Access;
use super::builder::{Builder, Planned};
use super::frame::{Frame, Pass};
use crate::interpret::instruction::Instruction;
use crate::interpret::lanes::Cell;
use crate::interpret::layout::Layout;
use crate::interpret::machine::DenseCall;
use crate::interpret::text::Piece;
use crate::ir::{FunctionKind, Module};
use crate::types::{Scalar, TypeId};

/// A parameter of the kernel and where its value lies in the registers.
#[derive(Clone, Debug)]
pub(in crate::interpret) struct Parameter {
    pub(in crate::interpret) name: String,
    pub(in crate::interpret) ty: TypeId,
    pub(in crate::interpret) first: Cell,
}

/// An array that each thread has for itself.
#[derive(Clone, Debug)]
pub(in crate::interpret) struct OwnArray {
    pub(in crate::interpret) layout: Layout,
    pub(in crate::interpret) rank: u8,
    pub(in crate::interpret) dims: [u32; 4],
}

impl OwnArray {
    /// Elements of one thread.
    pub(in crate::interpret) fn count(&self) -> usize {
        let dims = self.dims[..usize::from(self.rank)].iter();
        dims.map(|dim| *dim as usize).product()
    }
}

/// One pass over a kernel, forward or backward.
#[derive(Debug)]
pub(in crate::interpret) struct Program {
    pub(in crate::interpret) code: Vec<Instruction>,
    /// For each instruction, the source line that it belongs to.
    pub(in crate::interpret) lines: Vec<u32>,
    /// The cells in use are those from here to `cells`.
    pub(in crate::interpret) first_cell: u32,
    pub(in crate::interpret) cells: u32,
    pub(in crate::interpret) constants: Vec<(Cell, Scalar, u64)>,
    pub(in crate::interpret) parameters: Vec<Parameter>,
    pub(in crate::interpret) labels: u32,
    /// Variables that are watched for reads without a value, by name.
    pub(in crate::interpret) marks: Vec<String>,
    /// What expectations say when they fail.
    pub(in crate::interpret) messages: Vec<String>,
    /// What is printed.
    pub(in crate::interpret) printed: Vec<Vec<Piece>>,
    /// Types whose bytes are read as others.
    pub(in crate::interpret) reinterpreted: Vec<(Layout, Layout)>,
    /// Calls on matrices in arrays.
    pub(in crate::interpret) dense: Vec<DenseCall>,
    /// Arrays that each thread has for itself.
    pub(in crate::interpret) own_arrays: Vec<OwnArray>,
    /// How each parameter's memory is used.
    pub(in crate::interpret) access: Vec<Access>,
    /// Where `block_dim()` lies, if the kernel asks.
    pub(in crate::interpret) block_dim: Option<Cell>,
    /// Whether something else asks for thread order.
    pub(in crate::interpret) ordered: bool,
}

/// Plans one pass of the module's kernel.
pub(in crate::interpret) fn plan(module: &Module, backward: bool) -> Planned<Program> {
    let kernel = &module.kernel;
    let rank = match kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => launch_rank as u8,
        FunctionKind::Device { .. } => 1,
    };
    let mut builder = Builder::new(module, rank);
    let mut parameters = Vec::new();
    let mut firsts = Vec::new();
    for (_, variable) in kernel.parameters() {
        let leaves = builder.layout(variable.ty).leaves.len();
        let first = builder.cells_for(leaves);
        firsts.push(first);
        let name = variable
            .name
            .map_or("", |name| module.names.get(name))
            .to_owned();
        parameters.push(Parameter {
            name,
            ty: variable.ty,
            first,
        });
    }
    builder.access = vec![Access::default(); parameters.len()];
    let mut frame = Frame::new(&mut builder, kernel, &firsts, backward);
    for (n, (var, variable)) in kernel.parameters().enumerate() {
        if module.types.array_parts(variable.ty).is_some() {
            frame.arrays.insert(var, n as u16);
        }
        if backward {
            let leaves = Rc::<Layout>::clone(&builder.layout(variable.ty));
            if Builder::has_floats(&leaves) {
                let dual = builder.cells_for(leaves.leaves.len());
                frame.set_dual(var, dual);
                builder.emit(Instruction::Zero {
                    first: dual,
                    count: leaves.leaves.len() as u32,
                });
            }
        }
    }
    let end = kernel.ops.len();
    builder.emit(Instruction::Enter);
    if backward {
        frame.zero(&mut builder);
        builder.walk(&mut frame, 0, end, Pass::Replay)?;
        builder.walk_back(&mut frame, 0, end)?;
    } else {
        frame.find_unassigned(&mut builder);
        builder.walk(&mut frame, 0, end, Pass::Forward)?;
    }
    builder.emit(Instruction::Leave);
    Ok(builder.finish(parameters))
}
