//! Attributes: components, fields, shapes.

use super::body::Body;
use super::value::{Res, Value, fail};
use crate::globals::{Global, attribute, field_of};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Constant, Op, Step, VarId};

impl Body<'_, '_> {
    /// Reads an attribute of something evaluated.
    pub(super) fn attribute(&mut self, aggregate: Value, attr: Name) -> Res<Value> {
        let var = match aggregate {
            Value::Var(var) => var,
            Value::Module(_) | Value::Class(_) => {
                let owner = match aggregate {
                    Value::Module(module) => Global::Module(module),
                    Value::Class(class) => Global::Class(class),
                    other => return self.single(other).map(Value::Var),
                };
                let global = attribute(
                    owner,
                    attr,
                    self.shared.scope,
                    self.shared.names,
                    self.shared.types,
                );
                return match global {
                    Some(global) => self.global(global, attr),
                    None => fail(
                        "K012",
                        format!("the module has no `{}`", self.shared.names.get(attr)),
                    ),
                };
            }
            Value::Type(ty) => {
                return match self.type_number(ty, attr) {
                    Some(value) => Ok(value),
                    None => fail("K012", "a type has no such attribute here"),
                };
            }
            other => return self.single(other).map(Value::Var),
        };
        if let Some(instance) = self.constant(var)
            && let Some((ty, field)) = field_of(
                instance,
                attr,
                &self.shared.scope.elements,
                self.shared.types,
            )
        {
            return Ok(Value::Var(self.add_typed_constant(ty, field)));
        }
        match self.constant(var) {
            None | Some(Constant::Compound { .. }) => {}
            // An attribute of a number is the number itself.
            Some(_) => return Ok(Value::Var(var)),
        }
        let value_ty = self.value_ty(var);
        match self.shared.types.get(value_ty) {
            Type::Vector { .. } | Type::Quat(_) => {
                if let Some(value) = self.type_number(value_ty, attr) {
                    return Ok(value);
                }
                let index = self.component_index(value_ty, attr)?;
                let extract = self.shared.operators.extract;
                self.index_call(extract, var, &[index]).map(Value::Var)
            }
            Type::Transform(_) => {
                if let Some(value) = self.type_number(value_ty, attr) {
                    return Ok(value);
                }
                let getters = ["transform_get_translation", "transform_get_rotation"];
                let name = self.transform_part(attr, getters)?;
                self.call_named(name, &[var])
            }
            _ => self.field(var, attr),
        }
    }

    /// The builtin for the part of a transform that `attr` names.
    pub(super) fn transform_part(
        &self,
        attr: Name,
        [translation, rotation]: [&'static str; 2],
    ) -> Res<&'static str> {
        match self.shared.names.get(attr) {
            "p" => Ok(translation),
            "q" => Ok(rotation),
            other => fail(
                "K012",
                format!("a transform has `p` and `q`, not `{other}`"),
            ),
        }
    }

    /// The constant index of a vector's component.
    pub(super) fn component_index(&mut self, ty: TypeId, attr: Name) -> Res<VarId> {
        let length = match self.shared.types.get(ty) {
            Type::Vector { length, .. } => length as usize,
            _ => 4,
        };
        let text = self.shared.names.get(attr);
        let letters = &"xyzw"[..length.min(4)];
        if text.len() != 1 {
            return fail(
                "K012",
                format!("components are read one letter at a time, not `{text}`"),
            );
        }
        match letters.find(text) {
            Some(index) => Ok(self.add_int(index as i64)),
            None => fail(
                "K012",
                format!("this vector has the components `{letters}`, not `{text}`"),
            ),
        }
    }

    /// A reference to a field of a struct or to an array's shape.
    fn field(&mut self, aggregate: VarId, attr: Name) -> Res<Value> {
        let value_ty = self.value_ty(aggregate);
        let is_array = self.shared.types.array_parts(value_ty).is_some();
        let ty = match self.shared.types.get(value_ty) {
            Type::Struct(id) => self.shared.types.struct_def(id).field(attr),
            Type::Query(query) => query.field(self.shared.names.get(attr), self.shared.types),
            _ if is_array && self.shared.names.get(attr) == "shape" => Some(TypeId::SHAPE),
            _ if is_array && self.shared.names.get(attr) == "ptr" => {
                return fail("K021", "the address of an array is not supported");
            }
            _ => None,
        };
        let Some(ty) = ty else {
            if let Some(value) = self.type_number(value_ty, attr) {
                return Ok(value);
            }
            let text = self.shared.names.get(attr);
            return fail(
                "K012",
                format!("{} has no `{text}`", self.describe(aggregate)),
            );
        };
        let reference = self.shared.types.reference(ty);
        let dst = self.add_var(reference);
        let place = if is_array {
            None
        } else {
            self.place_of(aggregate)
        };
        let place = place.map(|mut place| {
            place.steps.push(Step::Field(attr));
            if self.needs_place(ty) {
                self.trace(dst, place.clone());
            }
            self.places.push(place);
            self.places.len() as u32 - 1
        });
        let accumulates = self.shared.types.is_differentiable_value(ty);
        self.ops.push(Op::FieldAddress {
            dst,
            aggregate,
            field: attr,
            place,
            accumulates,
        });
        Ok(Value::Var(dst))
    }
}
