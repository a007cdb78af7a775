//! Builtins on rigid transforms: a translation (three cells) after a rotation (four).

use super::builder::{Builder, Expanded};
use super::call::Operand;
use super::quaternion::{conjugate, product, rotate};
use super::vector::Math;
use crate::lanes::Cell;
use warpsmith_ir::types::Type;

fn compose(m: &mut Math<'_, '_>, a: &[Cell], b: &[Cell]) -> Vec<Cell> {
    let moved = rotate(m, &a[3..], &b[..3]);
    let translation = m.add_all(&moved, &a[..3]);
    [translation, product(m, &a[3..], &b[3..])].concat()
}

/// The operations of a builtin on transforms; `None` if it is none.
pub(super) fn expand(b: &mut Builder<'_>, name: &str, args: &[Operand], out: Type) -> Expanded {
    if name == "transform_identity" {
        let Type::Transform(scalar) = out else {
            return Ok(None);
        };
        let (zero, one) = (b.number(scalar, 0.0), b.number(scalar, 1.0));
        return Ok(Some(vec![zero, zero, zero, zero, zero, zero, one]));
    }
    let Some(first) = args.first() else {
        return Ok(None);
    };
    if !matches!(first.ty, Type::Transform(_)) {
        return Ok(None);
    }
    let mut m = Math {
        b,
        ty: first.scalar,
    };
    let m = &mut m;
    let cells: Vec<Vec<Cell>> = args.iter().map(Operand::cells).collect();
    let result = match (name, cells.as_slice()) {
        ("transform_get_translation", [t]) => t[..3].to_vec(),
        ("transform_get_rotation", [t]) => t[3..].to_vec(),
        ("transform_multiply" | "mul", [s, t]) if t.len() == 7 => compose(m, s, t),
        ("transform_inverse", [t]) => {
            let inverse = conjugate(m, &t[3..]);
            let moved = rotate(m, &inverse, &t[..3]);
            [m.neg_all(&moved), inverse].concat()
        }
        ("transform_point", [t, x]) => {
            let turned = rotate(m, &t[3..], x);
            m.add_all(&t[..3], &turned)
        }
        ("transform_vector", [t, x]) => rotate(m, &t[3..], x),
        ("transform_set_translation_copy", [t, p]) => [p.clone(), t[3..].to_vec()].concat(),
        ("transform_set_rotation_copy", [t, q]) => [t[..3].to_vec(), q.clone()].concat(),
        _ => return Ok(None),
    };
    Ok(Some(result))
}
