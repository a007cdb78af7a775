//! Constructors of quaternions, transforms and spatial vectors.

use super::body::Body;
use super::call::Item;
use super::constructor::{Dispatched, Out, PYTHON_SCALAR, fail};
use warpsmith_ir::builtin::{Row, Rule};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Number};

impl Body<'_, '_> {
    pub(super) fn quaternion(
        &mut self,
        row: &Row,
        items: &[(usize, Item)],
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        let scalar = self.wanted_scalar(row, items, ty)?;
        if let Some(Item::Type(_, true)) = Self::bound(row, items, "dtype") {
            return fail("K021", PYTHON_SCALAR);
        }
        let args: Vec<Item> = items
            .iter()
            .filter(|(at, _)| row.params[*at].name != "dtype")
            .map(|(_, item)| *item)
            .collect();
        let scalar = match (args.len(), scalar) {
            (0, scalar) => scalar.unwrap_or(Scalar::F32),
            (1, Some(scalar)) => scalar,
            (1, None) => self.shared_scalar(&args)?,
            (_, Some(scalar)) => {
                self.check_scalars(&args, scalar)?;
                scalar
            }
            (_, None) => self.shared_scalar(&args)?,
        };
        if !scalar.is_float() {
            return fail("K008", "a quaternion is made of floats");
        }
        let result = self.shared.types.intern(Type::Quat(scalar));
        self.constructed(result, args, scalar)
    }

    pub(super) fn transformation(
        &mut self,
        row: &Row,
        items: &[(usize, Item)],
        variadic: Vec<Item>,
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        let wanted = self.wanted_scalar(row, items, ty)?;
        if let Some(Item::Type(_, true)) = Self::bound(row, items, "dtype") {
            return fail("K021", PYTHON_SCALAR);
        }
        if row.rule == Rule::TransformPq {
            let mut args: Vec<Item> = items
                .iter()
                .filter(|(at, _)| row.params[*at].name != "dtype")
                .map(|(_, item)| *item)
                .collect();
            let scalar = self.shared_scalar(&args)?;
            if wanted.is_some_and(|wanted| wanted != scalar) {
                return fail("K008", "the parts have another scalar type");
            }
            if args.len() == 1 {
                let quat = self.shared.types.intern(Type::Quat(scalar));
                let start = self.shared.scope.elements.len() as u32;
                for value in [0.0, 0.0, 0.0, 1.0] {
                    self.shared.scope.elements.push(Number::Float(value));
                }
                let constant = Constant::Compound {
                    ty: quat,
                    start,
                    len: 4,
                };
                args.push(Item::Constant(quat, constant));
            }
            let result = self.shared.types.intern(Type::Transform(scalar));
            let template = self.shape_template(result);
            return Ok(Dispatched::one(result, args, template));
        }
        let scalar = match variadic.len() {
            0 => wanted.unwrap_or(Scalar::F32),
            1 => match self.shared.types.get(self.item_type(variadic[0])) {
                Type::Transform(scalar) => {
                    if wanted.is_some_and(|wanted| wanted != scalar) {
                        return fail(
                            "K008",
                            "the transform that is copied has another scalar type",
                        );
                    }
                    scalar
                }
                _ => self.fill_scalar(&variadic, wanted)?,
            },
            7 => self.value_scalar(&variadic, wanted)?,
            count => return fail("K007", format!("{count} values for a transform")),
        };
        let result = self.shared.types.intern(Type::Transform(scalar));
        self.constructed(result, variadic, scalar)
    }

    pub(super) fn spatial_vector(
        &mut self,
        row: &Row,
        items: &[(usize, Item)],
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        let wanted = self.wanted_scalar(row, items, ty)?;
        let args: Vec<Item> = items
            .iter()
            .filter(|(at, _)| row.params[*at].name != "dtype")
            .map(|(_, item)| *item)
            .collect();
        let scalar = if args.is_empty() {
            wanted.unwrap_or(Scalar::F32)
        } else {
            let scalar = self.shared_scalar(&args)?;
            if wanted.is_some_and(|wanted| wanted != scalar) {
                return fail("K008", "the parts have another scalar type");
            }
            scalar
        };
        let result = self.shared.types.intern(Type::Vector { length: 6, scalar });
        let template = self.shape_template(result);
        Ok(Dispatched::one(result, args, template))
    }
}
