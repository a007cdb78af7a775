//! Builtins on scalars, and on other values component by component.

use super::builder::{Builder, Expanded};
use super::call::Operand;
use crate::instruction::{Binary, Class, Instruction, Unary};
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::{Scalar, Type};

fn unary_of(name: &str) -> Option<Unary> {
    Some(match name {
        "neg" => Unary::Neg,
        "abs" => Unary::Abs,
        "sign" => Unary::Sign,
        "step" => Unary::Step,
        "nonzero" => Unary::NonZero,
        "invert" => Unary::Invert,
        "sqrt" => Unary::Sqrt,
        "cbrt" => Unary::Cbrt,
        "sin" => Unary::Sin,
        "cos" => Unary::Cos,
        "tan" => Unary::Tan,
        "asin" => Unary::Asin,
        "acos" => Unary::Acos,
        "atan" => Unary::Atan,
        "sinh" => Unary::Sinh,
        "cosh" => Unary::Cosh,
        "tanh" => Unary::Tanh,
        "exp" => Unary::Exp,
        "log" => Unary::Log,
        "log2" => Unary::Log2,
        "log10" => Unary::Log10,
        "erf" => Unary::Erf,
        "erfc" => Unary::Erfc,
        "erfinv" => Unary::ErfInv,
        "erfcinv" => Unary::ErfcInv,
        "floor" => Unary::Floor,
        "ceil" => Unary::Ceil,
        "round" => Unary::Round,
        "rint" => Unary::Rint,
        "trunc" => Unary::Trunc,
        "frac" => Unary::Frac,
        _ => return None,
    })
}

fn binary_of(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "floordiv" => Binary::FloorDiv,
        "mod" => Binary::Mod,
        "min" => Binary::Min,
        "max" => Binary::Max,
        "pow" => Binary::Pow,
        "atan2" => Binary::Atan2,
        "copysign" => Binary::CopySign,
        "bit_and" => Binary::And,
        "bit_or" => Binary::Or,
        "bit_xor" => Binary::Xor,
        "lshift" => Binary::Shl,
        "rshift" => Binary::Shr,
        "cw_mul" => Binary::Mul,
        "cw_div" => Binary::Div,
        _ => return None,
    })
}

/// The operations of a builtin on scalars; `None` if it is none.
pub(super) fn expand(b: &mut Builder<'_>, name: &str, args: &[Operand], out: Type) -> Expanded {
    let every_cell = || args.iter().flat_map(Operand::cells).collect::<Vec<_>>();
    if matches!(name, "copy" | "pos" | "tuple") {
        return Ok(Some(every_cell()));
    }
    let Some(first) = args.first() else {
        return Ok(None);
    };
    let ty = first.scalar;
    if let ([operand], Some(op)) = (args, unary_of(name)) {
        let cells = operand.cells();
        return Ok(Some(
            cells
                .into_iter()
                .map(|cell| b.unary(op, ty, cell))
                .collect(),
        ));
    }
    if let ([x, y], Some(op)) = (args, binary_of(name))
        && x.len == y.len
    {
        let pairs = x.cells().into_iter().zip(y.cells());
        return Ok(Some(pairs.map(|(x, y)| b.binary(op, ty, x, y)).collect()));
    }
    if let Type::Scalar(to) = out
        && let [operand] = args
        && matches!(operand.ty, Type::Scalar(_))
        && (Scalar::from_name(name).is_some() || matches!(name, "float" | "int"))
    {
        return Ok(Some(vec![b.cast(ty, to, operand.first)]));
    }
    let result = match (name, args) {
        ("unot", [x]) if matches!(x.ty, Type::Array { .. } | Type::MappedArray { .. }) => {
            // An array that was not given has no buffer.
            let zero = b.integer(0);
            b.compare(Comparison::Less, Scalar::I32, x.first, zero)
        }
        ("unot", [x]) => {
            let truth = b.truth(ty, x.first);
            let zero = b.bits(Scalar::Bool, 0);
            b.compare(Comparison::Equal, Scalar::Bool, truth, zero)
        }
        ("isnan" | "isinf" | "isfinite", [x]) => classify(b, name, x),
        ("mul", [x, y]) if x.len == 1 && y.len == 1 => b.binary(Binary::Mul, ty, x.first, y.first),
        ("div" | "div_approx", [x, y]) if x.len == 1 && y.len == 1 => {
            b.binary(Binary::Div, ty, x.first, y.first)
        }
        ("bit_count" | "popc", [x]) => b.unary(Unary::BitCount, ty, x.first),
        ("clamp", [x, low, high]) => {
            let raised = b.binary(Binary::Max, ty, low.first, x.first);
            b.binary(Binary::Min, ty, raised, high.first)
        }
        ("degrees" | "radians", [x]) => {
            let factor = if name == "degrees" {
                180.0 / std::f64::consts::PI
            } else {
                std::f64::consts::PI / 180.0
            };
            let factor = b.number(ty, factor);
            b.binary(Binary::Mul, ty, x.first, factor)
        }
        ("smoothstep", [low, high, x]) => smoothstep(b, ty, low.first, high.first, x.first),
        ("rand_init", [seed]) => pcg(b, seed.first),
        ("rand_init", [seed, offset]) => {
            let mixed = pcg(b, offset.first);
            let sum = b.binary(Binary::Add, Scalar::U32, seed.first, mixed);
            pcg(b, sum)
        }
        ("lerp", [from, to, t]) => return Ok(Some(lerp(b, from, to, t.first))),
        _ => return Ok(None),
    };
    Ok(Some(vec![result]))
}

fn pcg(b: &mut Builder<'_>, cell: Cell) -> Cell {
    b.unary(Unary::Pcg, Scalar::U32, cell)
}

fn classify(b: &mut Builder<'_>, name: &str, x: &Operand) -> Cell {
    let (class, all) = match name {
        "isnan" => (Class::Nan, false),
        "isinf" => (Class::Inf, false),
        _ => (Class::Finite, true),
    };
    let mut result = b.bits(Scalar::Bool, u64::from(all));
    for a in x.cells() {
        let dst = b.temporary();
        b.emit(Instruction::Classify {
            class,
            ty: x.scalar,
            dst,
            a,
        });
        let op = if all { Binary::And } else { Binary::Or };
        result = b.binary(op, Scalar::Bool, result, dst);
    }
    result
}

fn smoothstep(b: &mut Builder<'_>, ty: Scalar, low: Cell, high: Cell, x: Cell) -> Cell {
    let (zero, one) = (b.number(ty, 0.0), b.number(ty, 1.0));
    let (two, three) = (b.number(ty, 2.0), b.number(ty, 3.0));
    let (part, width) = (
        b.binary(Binary::Sub, ty, x, low),
        b.binary(Binary::Sub, ty, high, low),
    );
    let t = b.binary(Binary::Div, ty, part, width);
    let t = b.binary(Binary::Max, ty, t, zero);
    let t = b.binary(Binary::Min, ty, t, one);
    let (square, double) = (
        b.binary(Binary::Mul, ty, t, t),
        b.binary(Binary::Mul, ty, two, t),
    );
    let rest = b.binary(Binary::Sub, ty, three, double);
    b.binary(Binary::Mul, ty, square, rest)
}

fn lerp(b: &mut Builder<'_>, from: &Operand, to: &Operand, t: Cell) -> Vec<Cell> {
    let ty = from.scalar;
    let one = b.number(ty, 1.0);
    let rest = b.binary(Binary::Sub, ty, one, t);
    let pairs = from.cells().into_iter().zip(to.cells());
    pairs
        .map(|(from, to)| {
            let (from, to) = (
                b.binary(Binary::Mul, ty, from, rest),
                b.binary(Binary::Mul, ty, to, t),
            );
            b.binary(Binary::Add, ty, from, to)
        })
        .collect()
}
