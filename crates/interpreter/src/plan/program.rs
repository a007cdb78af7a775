//! A planned kernel.

use std::rc::Rc;

use super::access::Access;
use super::builder::{Builder, Planned, Unknown};
use super::frame::{Frame, Pass};
use super::named::text_only;
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::layout::Layout;
use crate::machine::DenseCall;
use crate::text::Piece;
use crate::tile::TileCall;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{FunctionKind, Module};

/// A parameter of the kernel and where its value lies in the registers.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// As the kernel names it.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Its first leaf.
    pub first: Cell,
}

/// An array that each thread has for itself.
#[derive(Clone, Debug)]
pub struct OwnArray {
    /// What an element is.
    pub layout: Layout,
    /// How many dimensions it has.
    pub rank: u8,
    /// Their sizes.
    pub dims: [u32; 4],
}

impl OwnArray {
    /// Elements of one thread.
    pub fn count(&self) -> usize {
        let dims = self.dims[..usize::from(self.rank)].iter();
        dims.map(|dim| *dim as usize).product()
    }
}

/// One pass over a kernel, forward or backward.
#[derive(Debug)]
pub struct Program {
    /// The operations.
    pub code: Vec<Instruction>,
    /// For each instruction, the source line that it belongs to.
    pub lines: Vec<u32>,
    /// The cells in use are those from here to `cells`.
    pub first_cell: u32,
    /// The cell after the last.
    pub cells: u32,
    /// Cells that hold constants, what they are, and their bits.
    pub constants: Vec<(Cell, Scalar, u64)>,
    /// The kernel's parameters.
    pub parameters: Vec<Parameter>,
    /// How many labels jumps have.
    pub labels: u32,
    /// Variables that are watched for reads without a value, by name.
    pub marks: Vec<String>,
    /// What expectations say when they fail.
    pub(crate) messages: Vec<String>,
    /// What is printed.
    pub printed: Vec<Vec<Piece>>,
    /// Types whose bytes are read as others.
    pub reinterpreted: Vec<(Layout, Layout)>,
    /// Calls on matrices in arrays.
    pub dense: Vec<DenseCall>,
    /// Calls on whole tiles.
    pub tiles: Vec<TileCall>,
    /// Arrays that each thread has for itself.
    pub own_arrays: Vec<OwnArray>,
    /// How each parameter's memory is used.
    pub(crate) access: Vec<Access>,
    /// Where `block_dim()` lies, if the kernel asks.
    pub block_dim: Option<Cell>,
    /// Whether something else asks for thread order.
    pub(crate) ordered: bool,
}

/// Whether an index of the parameter is one of its memory.
fn is_bound_directly(module: &Module, ty: TypeId) -> bool {
    match module.types.get(ty) {
        Type::MappedArray { mapping, rank, .. } => mapping.index_lists(rank) == 0,
        _ => module.types.array_parts(ty).is_some(),
    }
}

/// Plans one pass of the module's kernel.
pub(crate) fn plan(module: &Module, backward: bool) -> Planned<Program> {
    if let Some(what) = text_only(module, backward) {
        return Err(Unknown { what, line: 0 });
    }
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
        if is_bound_directly(module, variable.ty) {
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
        builder.take_tiles(&frame)?;
        builder.walk(&mut frame, 0, end, Pass::Replay)?;
        builder.walk_back(&mut frame, 0, end)?;
    } else {
        builder.take_tiles(&frame)?;
        frame.find_unassigned(&mut builder);
        builder.walk(&mut frame, 0, end, Pass::Forward)?;
    }
    builder.emit(Instruction::Leave);
    Ok(builder.finish(parameters))
}

#[cfg(test)]
mod tests {
    use super::plan;
    use warpsmith_compiler::{Options, compile};

    fn refusal(body: &str) -> String {
        let source = format!("import warp as wp\n\n\n@wp.kernel\n{body}");
        let module = compile(&source, &Options::default()).expect("the kernel compiles");
        let forward = plan(&module, false).expect_err("nothing runs it").what;
        assert_eq!(
            plan(&module, true).expect_err("nothing runs it").what,
            forward
        );
        forward
    }

    #[test]
    fn what_only_the_text_knows_is_refused_by_name() {
        let store = "def k(id: wp.uint64, x: wp.array[float]):\n    \
                     wp.volume_store_f(id, 0, 1, 2, x[0])\n";
        assert_eq!(refusal(store), "`volume_store_f`");
        let view = "def k(x: wp.indexedarray2d[float]):\n    y = x[0]\n    y[0] = 1.0\n";
        assert_eq!(refusal(view), "a view of an indexed array");
    }
}
