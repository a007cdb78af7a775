//! Rules that single builtins have for their arguments: 64-bit literals, atomics.

use super::body::Body;
use super::call::Item;
use super::value::{Res, fail};
use warpsmith_ir::builtin::{Row, Rule};
use warpsmith_ir::types::{Scalar, TypeId};
use warpsmith_ir::{Constant, Number, Op, VarId};

impl Body<'_, '_> {
    /// A 64-bit constructor of a constant: no call, the constant's own variable changes its type and is
    /// set to the literal.
    pub(super) fn wide_literal(
        &mut self,
        name: &str,
        row: &Row,
        items: &[(usize, Item)],
    ) -> Res<Option<VarId>> {
        let scalar = match name {
            "float64" => Scalar::F64,
            "int64" => Scalar::I64,
            "uint64" => Scalar::U64,
            _ => return Ok(None),
        };
        let [(_, Item::Var(var))] = *items else {
            return Ok(None);
        };
        if row.params.len() != 1 {
            return Ok(None);
        }
        let number = match self.constant(var) {
            Some(Constant::Number(number) | Constant::Typed(_, number)) => number,
            Some(Constant::Bool(_)) => {
                return fail("K005", "a 64-bit conversion of a boolean constant");
            }
            _ => return Ok(None),
        };
        if matches!(number, Number::Float(value) if value.is_nan()) {
            return Ok(None);
        }
        let variable = &mut self.vars[var.index()];
        variable.ty = TypeId::scalar(scalar);
        variable.constant = None;
        let literal = self.literals.len() as u32;
        self.literals.push(Constant::Typed(scalar, number));
        self.ops.push(Op::Literal { dst: var, literal });
        Ok(Some(var))
    }

    /// Atomic operations exist for some scalar types only.
    pub(super) fn check_atomic(&self, name: &str, row: &Row, items: &[(usize, Item)]) -> Res<()> {
        if !matches!(row.rule, Rule::Atomic | Rule::AtomicCompare) {
            return Ok(());
        }
        let Some((_, Item::Var(array))) = items.first() else {
            return Ok(());
        };
        let Some((element, _)) = self.shared.types.array_parts(self.value_ty(*array)) else {
            return Ok(());
        };
        let scalar = self.shared.types.scalar_of(element);
        let fits = scalar.is_some_and(|scalar| match name {
            "atomic_add" | "atomic_sub" => scalar.adds_atomically(),
            "atomic_min" | "atomic_max" => scalar.adds_atomically() && scalar != Scalar::F16,
            "atomic_cas" | "atomic_exch" => {
                scalar.adds_atomically() && !matches!(scalar, Scalar::F16 | Scalar::BF16)
            }
            _ => scalar.has_bitwise_atomics(),
        });
        if fits {
            Ok(())
        } else {
            fail(
                "K007",
                format!(
                    "`{name}` does not work on arrays of {}",
                    self.describe(*array)
                ),
            )
        }
    }
}

/// Whether a builtin converts to a 64-bit scalar, which treats constants in its own way.
pub(super) fn is_wide(name: &str) -> bool {
    matches!(name, "float64" | "int64" | "uint64")
}
