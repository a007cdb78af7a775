//! Assignments.

use super::body::Body;
use super::value::{Binding, Res, Value, fail, hinted};
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Op, VarId};

/// What an attribute is stored into.
#[derive(Clone, Copy)]
pub(super) enum Aggregate {
    Var(VarId),
    /// A struct that is a field of a local struct: the local, the dotted path, the type.
    Member(VarId, Name, TypeId),
}

impl Body<'_, '_> {
    pub(super) fn assign(&mut self, targets: List, value: ExprId) -> Res<()> {
        let [target] = *self.shared.tree.exprs_in(targets) else {
            return fail("K017", "an assignment has several targets");
        };
        if let ExprKind::ListDisplay(_) = self.shared.tree.expr(value).kind {
            return Err(hinted(
                "K005",
                "a list has no place in a kernel",
                "use a vector, or `wp.zeros(shape=N, dtype=…)`",
            ));
        }
        match self.shared.tree.expr(target).kind {
            ExprKind::Tuple(list) => self.assign_tuple(list, value),
            ExprKind::Name(name) => self.assign_name(name, value),
            ExprKind::Subscript(base, slice) if self.is_adjoint(base) => {
                let value = self.eval_var(value)?;
                let gradient = self.gradient_of(slice)?;
                self.set_gradient(gradient, value)
            }
            ExprKind::Subscript(..) => {
                let value = self.eval_var(value)?;
                let value = if self.is_reference(value) {
                    self.copy(value)?
                } else {
                    value
                };
                let (target, indices) = self.subscript_parts(target, true)?;
                let indices = self.eval_indices(target, &indices)?;
                if let Some(slot) = self.select_slot(target, &indices)? {
                    return self.write_slot(slot, value, None);
                }
                self.store_subscript(target, &indices, value)
            }
            ExprKind::Attribute(base, attr) => {
                let value = self.eval_var(value)?;
                let value = if self.is_reference(value) {
                    self.copy(value)?
                } else {
                    value
                };
                let aggregate = self.store_aggregate(base)?;
                if let Aggregate::Var(var) = aggregate
                    && let Some(slot) = self.select_field_slot(var, attr)?
                {
                    return self.write_slot(slot, value, None);
                }
                self.store_attribute(aggregate, attr, value)
            }
            _ => fail("K005", "this cannot be assigned to"),
        }
    }

    fn assign_tuple(&mut self, list: List, value: ExprId) -> Res<()> {
        let targets = self.shared.tree.exprs_in(list).to_vec();
        let values: Vec<Value> = match self.shared.tree.expr(value).kind {
            ExprKind::Tuple(items) => {
                let items = self.shared.tree.exprs_in(items).to_vec();
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.eval(item)?);
                }
                values
            }
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                self.enter_line(self.shared.tree.expr(value).line);
                let result = self.call_expression(func, args, keywords, Some(targets.len()))?;
                self.unpack(result, targets.len())?
            }
            _ => {
                let result = self.eval(value)?;
                self.unpack(result, targets.len())?
            }
        };
        let mut names = Vec::with_capacity(targets.len());
        for target in targets {
            match self.shared.tree.expr(target).kind {
                ExprKind::Name(name) => names.push(name),
                _ => return fail("K018", "several values are unpacked into plain names"),
            }
        }
        if names.len() != values.len() {
            return fail(
                "K018",
                format!("{} names for {} values", names.len(), values.len()),
            );
        }
        let mut vars = Vec::with_capacity(values.len());
        for value in values {
            vars.push(self.single(value)?);
        }
        // Everything is read before anything is stored.
        if (names.iter()).any(|name| self.reference_parameter(*name).is_some()) {
            for var in &mut vars {
                *var = self.load(*var);
            }
        }
        for (name, var) in names.into_iter().zip(vars) {
            if let Some(parameter) = self.reference_parameter(name) {
                self.store_through(parameter, var)?;
                continue;
            }
            self.check_rebinding(name, var, self.ty(var))?;
            // Two references have two types to Warp, whatever they refer to.
            if let Some(Binding::Var(old)) = self.symbols.get(name)
                && old != var
                && self.is_reference(var)
            {
                return Err(hinted(
                    "K009",
                    format!(
                        "`{}` refers to an element of an array and cannot refer to another",
                        self.shared.names.get(name)
                    ),
                    "copy the elements first, each by an assignment of its own",
                ));
            }
            self.symbols.set(name, Binding::Var(var));
        }
        Ok(())
    }

    /// The values of a call's results or of a tuple.
    fn unpack(&mut self, value: Value, count: usize) -> Res<Vec<Value>> {
        match value {
            Value::Many { start, len } => Ok(self.many[start as usize..][..len as usize]
                .iter()
                .map(|var| Value::Var(*var))
                .collect()),
            Value::Var(var) if matches!(self.shared.types.get(self.ty(var)), Type::Tuple(_)) => {
                if let Type::Tuple(index) = self.shared.types.get(self.ty(var))
                    && self.shared.types.tuple_parts(index).len() != count
                {
                    return fail("K018", "the number of values to unpack does not fit");
                }
                let extract = self.shared.operators.extract;
                let mut values = Vec::with_capacity(count);
                for at in 0..count {
                    let index = self.add_int(at as i64);
                    values.push(Value::Var(self.index_call(extract, var, &[index])?));
                }
                Ok(values)
            }
            _ => fail("K018", "a single value cannot be unpacked"),
        }
    }

    /// Refuses `var`, of type `ty`, for a name that is bound to something else already.
    fn check_rebinding(&self, name: Name, var: VarId, ty: TypeId) -> Res<()> {
        match self.symbols.get(name) {
            None => Ok(()),
            Some(Binding::Var(old)) if self.shared.types.equal(ty, self.ty(old)) => Ok(()),
            Some(Binding::Var(old)) => Err(self.changed_type(name, old, var)),
            Some(_) => fail(
                "K009",
                "a name bound to a function cannot be bound to a value",
            ),
        }
    }

    fn changed_type(&self, name: Name, old: VarId, new: VarId) -> Box<crate::diagnostic::Problem> {
        hinted(
            "K009",
            format!(
                "`{}` is of type {} and is assigned a value of type {}",
                self.shared.names.get(name),
                self.describe(old),
                self.describe(new)
            ),
            "use another name, or convert the value",
        )
    }

    fn assign_name(&mut self, name: Name, value: ExprId) -> Res<()> {
        let is_name = matches!(self.shared.tree.expr(value).kind, ExprKind::Name(_));
        let result = self.eval(value)?;
        if let Some(parameter) = self.reference_parameter(name) {
            let value = self.single(result)?;
            return self.store_through(parameter, value);
        }
        if let Value::Gradient(of) = result {
            self.symbols.set(name, Binding::Gradient(of));
            return Ok(());
        }
        let function = match result {
            Value::Function(set) => Some(Binding::Function(set)),
            Value::Builtin(index) => Some(Binding::Builtin(index)),
            _ => None,
        };
        if let Some(binding) = function {
            if self.symbols.get(name).is_some_and(|old| old != binding) {
                return fail("K009", "a name cannot be bound to another function");
            }
            self.symbols.set(name, binding);
            return Ok(());
        }
        let var = match result {
            Value::Many { start, len } if len > 1 => {
                if self.symbols.contains(name) {
                    return fail("K009", "several results are assigned to a known name");
                }
                let vars = self.many[start as usize..][..len as usize].to_vec();
                let tuple = self.make_tuple(&vars)?;
                self.symbols.set(name, Binding::Var(tuple));
                return Ok(());
            }
            other => self.single(other)?,
        };
        self.check_rebinding(name, var, self.value_ty(var))?;
        let out = if is_name || self.is_reference(var) {
            self.copy(var)?
        } else {
            var
        };
        if out != var && self.shared.types.array_parts(self.ty(out)).is_some() {
            let place = self
                .traced
                .iter()
                .rev()
                .find(|entry| entry.0 == var)
                .map(|entry| entry.1.clone());
            if let Some(place) = place {
                self.trace(out, place);
            }
        }
        if let Some(values) = self
            .tuple_of
            .iter()
            .find(|entry| entry.0 == var)
            .map(|e| e.1.clone())
            && out != var
        {
            self.tuple_of.push((out, values));
        }
        self.symbols.set(name, Binding::Var(out));
        Ok(())
    }

    /// Stores into a subscript whose indices are evaluated.
    pub(super) fn store_subscript(
        &mut self,
        target: VarId,
        indices: &[VarId],
        value: VarId,
    ) -> Res<()> {
        if self.tile_of(target).is_some() {
            return self.tile_store_subscript(target, indices, value);
        }
        let mut args = vec![target];
        args.extend_from_slice(indices);
        args.push(value);
        if self
            .shared
            .types
            .array_parts(self.value_ty(target))
            .is_some()
        {
            let store = self.shared.operators.array_store;
            self.call_builtin_vars(store, &args)
                .map_err(|mut problem| {
                    if problem.code == "K007" {
                        problem.hint = Some(
                            "an index is an integer; an array takes values of its own type".into(),
                        );
                    }
                    problem
                })?;
            return Ok(());
        }
        if target.alias().is_some() {
            return fail("K021", "a component of a gradient is added to, not set");
        }
        if !self.shared.types.is_compound(self.value_ty(target)) {
            return fail(
                "K005",
                format!("{} cannot be indexed", self.describe(target)),
            );
        }
        if self.is_reference(target) {
            args.pop();
            let place = self.call_named("indexref", &args)?;
            let place = self.single(place)?;
            self.call_named("store", &[place, value])?;
        } else {
            self.call_named("assign_inplace", &args)?;
        }
        Ok(())
    }

    /// The aggregate that an attribute is stored into: a struct within a local struct is addressed by
    /// its dotted path, anything else by its place.
    pub(super) fn store_aggregate(&mut self, base: ExprId) -> Res<Aggregate> {
        if let Some(Aggregate::Member(root, path, ty)) = self.member(base)?
            && matches!(self.shared.types.get(ty), Type::Struct(_))
        {
            return Ok(Aggregate::Member(root, path, ty));
        }
        self.store_target(base).map(Aggregate::Var)
    }

    /// A chain of struct fields that begins at a local struct.
    fn member(&mut self, expr: ExprId) -> Res<Option<Aggregate>> {
        let ExprKind::Attribute(base, attr) = self.shared.tree.expr(expr).kind else {
            return Ok(None);
        };
        let base = match self.shared.tree.expr(base).kind {
            ExprKind::Name(_) => match self.eval(base)? {
                Value::Var(var) => Some(Aggregate::Var(var)),
                _ => None,
            },
            _ => self.member(base)?,
        };
        let (root, prefix, ty) = match base {
            Some(Aggregate::Var(var)) => (var, None, self.ty(var)),
            Some(Aggregate::Member(root, path, ty)) => (root, Some(path), ty),
            None => return Ok(None),
        };
        let Type::Struct(id) = self.shared.types.get(ty) else {
            return Ok(None);
        };
        let Some(field) = self.shared.types.struct_def(id).field(attr) else {
            return Ok(None);
        };
        let path = self.dotted(prefix, attr);
        Ok(Some(Aggregate::Member(root, path, field)))
    }

    /// `prefix.attr`.
    pub(super) fn dotted(&mut self, prefix: Option<Name>, attr: Name) -> Name {
        match prefix {
            None => attr,
            Some(prefix) => {
                let text = format!(
                    "{}.{}",
                    self.shared.names.get(prefix),
                    self.shared.names.get(attr)
                );
                self.shared.names.intern(&text)
            }
        }
    }

    /// Stores into an attribute.
    pub(super) fn store_attribute(
        &mut self,
        aggregate: Aggregate,
        attr: Name,
        value: VarId,
    ) -> Res<()> {
        let (root, prefix, ty) = match aggregate {
            Aggregate::Var(var) => (var, None, self.ty(var)),
            Aggregate::Member(root, path, ty) => (root, Some(path), ty),
        };
        if matches!(self.kind(root), Type::Struct(_)) && self.constant(root).is_some() {
            return fail(
                "K010",
                "what `wp.static` gives is a constant, which cannot be changed",
            );
        }
        let value_ty = self.shared.types.value_of(ty);
        let is_reference = self.shared.types.is_reference(ty);
        match self.shared.types.get(value_ty) {
            Type::Vector { .. } | Type::Quat(_) => {
                let index = self.component_index(value_ty, attr)?;
                if is_reference {
                    let place = self.call_named("indexref", &[root, index])?;
                    let place = self.single(place)?;
                    self.call_named("store", &[place, value])?;
                } else {
                    self.call_named("assign_inplace", &[root, index, value])?;
                }
                Ok(())
            }
            Type::Transform(_) => {
                if is_reference {
                    return fail("K005", "a part of a transform in an array is assigned");
                }
                let setters = ["transform_set_translation", "transform_set_rotation"];
                let name = self.transform_part(attr, setters)?;
                self.call_named(name, &[root, value])?;
                Ok(())
            }
            Type::Struct(id) if !is_reference => {
                let Some(field) = self.shared.types.struct_def(id).field(attr) else {
                    let text = self.shared.names.get(attr);
                    return fail("K012", format!("the struct has no field `{text}`"));
                };
                let value = if self.is_reference(value) {
                    self.copy(value)?
                } else {
                    value
                };
                if !self.shared.types.equal(self.value_ty(value), field) {
                    return fail(
                        "K019",
                        format!(
                            "field `{}` is of type {} and is assigned a value of type {}",
                            self.shared.names.get(attr),
                            self.shared.types.describe(field, self.shared.names),
                            self.describe(value)
                        ),
                    );
                }
                let path = self.dotted(prefix, attr);
                let accumulates = self.shared.types.is_differentiable_value(field);
                self.ops.push(Op::FieldStore {
                    root,
                    path,
                    value,
                    accumulates,
                });
                Ok(())
            }
            Type::Struct(_) => {
                let place = self.attribute(Value::Var(root), attr)?;
                let place = self.single(place)?;
                self.call_named("store", &[place, value])?;
                Ok(())
            }
            _ => fail(
                "K012",
                format!(
                    "{} has no attribute that can be assigned",
                    self.shared.types.describe(value_ty, self.shared.names)
                ),
            ),
        }
    }
}
