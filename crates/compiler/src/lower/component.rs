//! Parts of vectors and matrices: what indices and slices select, read and assigned.

use super::body::Body;
use super::call::Item;
use super::constructor::{Dispatched, Out, fail};
use crate::overload::Outcome;
use warpsmith_ir::builtin::{Row, Rule};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Template, VarId};

impl Body<'_, '_> {
    /// The length of a slice of something `length` long.
    fn slice_length(&self, index: VarId, length: u32) -> Out<i64> {
        let bounds = self
            .slice_of
            .iter()
            .find(|(var, _)| *var == index)
            .map(|(_, bounds)| *bounds);
        let Some([Some(start), Some(stop), Some(step)]) = bounds else {
            return fail("K020", "the bounds of this slice must be constants");
        };
        let length = i64::from(length);
        let clamp = |value: i64| value.clamp(-length, length);
        let (start, stop) = (clamp(start), clamp(stop));
        Ok(if step > 0 && start < stop {
            1 + (stop - start - 1) / step
        } else if step < 0 && start > stop {
            1 + (start - stop - 1) / -step
        } else {
            0
        })
    }

    /// The shape of what indices select from a compound: -1 for a plain index.
    fn selected_shape(&self, dims: &[u32], indices: &[VarId]) -> Out<(Vec<i64>, bool)> {
        if indices.len() > dims.len() {
            return fail(
                "K011",
                format!("{} indices for {} dimensions", indices.len(), dims.len()),
            );
        }
        let mut shape = Vec::with_capacity(dims.len());
        let mut sliced = false;
        for (at, dim) in dims.iter().enumerate() {
            match indices.get(at) {
                None => shape.push(i64::from(*dim)),
                Some(index) => {
                    if self.value_ty(*index) == TypeId::SLICE {
                        sliced = true;
                        shape.push(self.slice_length(*index, *dim)?);
                    } else if self.shared.types.is_int(self.value_ty(*index)) {
                        shape.push(-1);
                    } else {
                        return fail(
                            "K027",
                            format!("an index of type {}", self.describe(*index)),
                        );
                    }
                }
            }
        }
        Ok((shape, sliced))
    }

    fn item_vars(items: &[(usize, Item)]) -> Out<Vec<VarId>> {
        items
            .iter()
            .map(|(_, item)| match item {
                Item::Var(var) => Ok(*var),
                _ => fail("K016", "a value is expected"),
            })
            .collect()
    }

    pub(super) fn extract(&mut self, row: &Row, items: Vec<(usize, Item)>) -> Out<Dispatched> {
        let vars = Self::item_vars(&items)?;
        let (dims, scalar): (Vec<u32>, Scalar) = match self.kind(vars[0]) {
            Type::Vector { length, scalar } => (vec![length], scalar),
            Type::Quat(scalar) => (vec![4], scalar),
            Type::Transform(scalar) => (vec![7], scalar),
            Type::Matrix { rows, cols, scalar } => (vec![rows, cols], scalar),
            _ => return fail("K016", "a vector or matrix is expected"),
        };
        let (shape, sliced) = self.selected_shape(&dims, &vars[1..])?;
        let mut kept: Vec<i64> = shape.iter().copied().filter(|dim| *dim >= 0).collect();
        if kept.len() == 2 && kept.contains(&0) {
            kept = vec![0, 0];
        }
        let result = match *kept {
            [] => TypeId::scalar(scalar),
            [length] => self.shared.types.intern(Type::Vector {
                length: length as u32,
                scalar,
            }),
            [rows, cols, ..] => self.shared.types.intern(Type::Matrix {
                rows: rows as u32,
                cols: cols as u32,
                scalar,
            }),
        };
        let is_vector = row.rule == Rule::VectorExtract;
        let template = if sliced || (is_vector && !kept.is_empty()) {
            kept.into_iter().map(Template::Int).collect()
        } else {
            Vec::new()
        };
        let args = vars.into_iter().map(Item::Var).collect();
        Ok(Dispatched::one(result, args, template))
    }

    pub(super) fn vector_assign(&mut self, items: Vec<(usize, Item)>) -> Out<Dispatched> {
        let vars = Self::item_vars(&items)?;
        let [target, index, value] = *vars else {
            return fail("K011", "a vector takes one index");
        };
        let (length, scalar) = match self.kind(target) {
            Type::Vector { length, scalar } => (length, scalar),
            Type::Quat(scalar) => (4, scalar),
            Type::Transform(scalar) => (7, scalar),
            _ => return fail("K016", "a vector is expected"),
        };
        let (shape, sliced) = self.selected_shape(&[length], &[index])?;
        let fits = if sliced {
            let wanted = Type::Vector {
                length: shape[0] as u32,
                scalar,
            };
            self.kind(value) == wanted
        } else {
            self.value_ty(value) == TypeId::scalar(scalar)
        };
        if !fits {
            return fail(
                "K019",
                format!("a value of type {} does not fit", self.describe(value)),
            );
        }
        Ok(Self::assigned(vars, if sliced { &shape[..1] } else { &[] }))
    }

    /// The assignment of a component, or of a slice whose lengths are `slice`.
    fn assigned(vars: Vec<VarId>, slice: &[i64]) -> Dispatched {
        Dispatched {
            outcome: Outcome::Void,
            args: vars.into_iter().map(Item::Var).collect(),
            template: slice.iter().copied().map(Template::Int).collect(),
        }
    }

    pub(super) fn matrix_assign(&mut self, items: Vec<(usize, Item)>) -> Out<Dispatched> {
        let vars = Self::item_vars(&items)?;
        let (target, value) = (vars[0], vars[vars.len() - 1]);
        let Type::Matrix { rows, cols, scalar } = self.kind(target) else {
            return fail("K016", "a matrix is expected");
        };
        let (shape, sliced) = self.selected_shape(&[rows, cols], &vars[1..vars.len() - 1])?;
        let mut kept: Vec<i64> = shape.into_iter().filter(|dim| *dim >= 0).collect();
        if kept.len() == 2 && kept.contains(&0) {
            kept = vec![0, 0];
        }
        let wanted = match *kept {
            [] => Type::Scalar(scalar),
            [length] => Type::Vector {
                length: length as u32,
                scalar,
            },
            [rows, cols, ..] => Type::Matrix {
                rows: rows as u32,
                cols: cols as u32,
                scalar,
            },
        };
        if self.kind(value) != wanted {
            return fail(
                "K019",
                format!("a value of type {} does not fit", self.describe(value)),
            );
        }
        Ok(Self::assigned(vars, if sliced { &kept } else { &[] }))
    }
}
