//! Calls of what the source defines: functions, their overloads and instances, and structs.

use super::body::Body;
use super::call::{Item, constant_type};
use super::callable::FUNCTION;
use super::value::{Res, Value, fail, hinted};
use crate::globals::{FunctionDef, Global, ParamDef, Returns};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, StructId, Type, TypeId};
use warpsmith_ir::{Call, Callee, Origin, VarId};

impl Body<'_, '_> {
    /// The overload of a function that takes the arguments; generic ones are instantiated.
    pub(super) fn find_overload(
        &mut self,
        set: u32,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Option<u32>> {
        let mut types = Vec::with_capacity(positional.len());
        for value in positional {
            types.push(self.given_type(*value)?);
        }
        let mut named_types = Vec::with_capacity(named.len());
        for (name, value) in named {
            named_types.push((*name, self.given_type(*value)?));
        }
        self.overload_by_types(set, &types, &named_types)
    }

    /// The type of an argument of a function, which may be a function itself.
    fn given_type(&self, value: Value) -> Res<TypeId> {
        match value {
            Value::Function(_) | Value::Builtin(_) => Ok(FUNCTION),
            other => self.argument_type(other),
        }
    }

    /// The overload of a function that takes arguments of these types.
    pub(super) fn overload_by_types(
        &mut self,
        set: u32,
        types: &[TypeId],
        named_types: &[(Name, TypeId)],
    ) -> Res<Option<u32>> {
        for at in 0..self.shared.scope.sets[set as usize].overloads.len() {
            let index = self.shared.scope.sets[set as usize].overloads[at];
            if self.signature_fits(index, types, named_types)? {
                return Ok(Some(index));
            }
        }
        for at in 0..self.shared.scope.sets[set as usize].templates.len() {
            let index = self.shared.scope.sets[set as usize].templates[at];
            if self.signature_fits(index, types, named_types)?
                && let Some(instance) = self.instantiate(set, index, types, named_types)?
            {
                return Ok(Some(instance));
            }
        }
        Ok(None)
    }

    pub(super) fn params_of(&self, index: u32) -> Res<&[ParamDef]> {
        match &self.shared.scope.functions[index as usize].params {
            Ok(params) => Ok(params),
            Err(problem) => Err(problem.clone().into()),
        }
    }

    /// Whether a function's parameters take the arguments, defaults filling in.
    fn signature_fits(
        &self,
        index: u32,
        positional: &[TypeId],
        named: &[(Name, TypeId)],
    ) -> Res<bool> {
        let params = self.params_of(index)?;
        if positional.len() > params.len()
            || named
                .iter()
                .any(|(name, _)| !params.iter().any(|param| param.name == *name))
        {
            return Ok(false);
        }
        for (at, param) in params.iter().enumerate() {
            let keyword = named.iter().find(|(name, _)| *name == param.name);
            let have = match (positional.get(at), keyword, param.default) {
                (Some(_), Some(_), _) => return Ok(false),
                (Some(ty), None, _) | (None, Some((_, ty)), _) => *ty,
                (None, None, Some(Global::Function(_) | Global::Builtin(_)))
                    if param.takes_function =>
                {
                    continue;
                }
                (None, None, Some(Global::Value(constant))) => {
                    let ty = constant_type(constant);
                    if !self.generic_equal(param.ty, ty) {
                        return Ok(false);
                    }
                    continue;
                }
                (None, None, Some(_)) => {
                    return fail("K023", "a default value is not understood");
                }
                (None, None, None) => return Ok(false),
            };
            let fits = match param.takes_function {
                true => have == FUNCTION,
                false => have != FUNCTION && self.generic_equal(param.ty, have),
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Type equality in which a placeholder equals what it stands for, blind to the rank of arrays.
    fn generic_equal(&self, wanted: TypeId, have: TypeId) -> bool {
        let types = &self.shared.types;
        let wanted = types.value_of(wanted);
        if types.equal(wanted, have) {
            return true;
        }
        match (types.get(wanted), types.get(have)) {
            (Type::Scalar(Scalar::Any), _) => true,
            (Type::Query(want), Type::Query(have)) => have.erased() == want,
            (Type::Scalar(want), Type::Scalar(have))
            | (Type::Quat(want), Type::Quat(have))
            | (Type::Transform(want), Type::Transform(have)) => want.accepts(have),
            (
                Type::Vector {
                    length: n,
                    scalar: want,
                },
                Type::Vector { length, scalar },
            ) => (n == 0 || n == length) && want.accepts(scalar),
            (
                Type::Matrix {
                    rows: r,
                    cols: c,
                    scalar: want,
                },
                Type::Matrix { rows, cols, scalar },
            ) => (r == 0 || r == rows) && (c == 0 || c == cols) && want.accepts(scalar),
            (
                Type::Array { element: want, .. },
                Type::Array { element: have, .. } | Type::FixedArray { element: have, .. },
            ) => self.generic_equal(want, have),
            (
                Type::MappedArray {
                    mapping,
                    element: want,
                    ..
                },
                Type::MappedArray {
                    mapping: other,
                    element: have,
                    ..
                },
            ) => mapping == other && self.generic_equal(want, have),
            (Type::Tile(_), Type::Tile(_)) => match (types.tile_of(wanted), types.tile_of(have)) {
                (Some(want), Some(have)) => self.generic_equal(want.element, have.element),
                _ => false,
            },
            _ => false,
        }
    }

    /// Makes the instance of a generic function for these arguments, if its template takes them.
    fn instantiate(
        &mut self,
        set: u32,
        index: u32,
        positional: &[TypeId],
        named: &[(Name, TypeId)],
    ) -> Res<Option<u32>> {
        if !named.is_empty() {
            return fail(
                "K021",
                "keyword arguments of a generic function are not supported",
            );
        }
        let mut params = self.params_of(index)?.to_vec();
        for (at, param) in params.iter_mut().enumerate() {
            match positional.get(at) {
                Some(ty) => {
                    if let (
                        Type::Array { rank, .. } | Type::MappedArray { rank, .. },
                        Some((_, have)),
                    ) = (
                        self.shared.types.get(param.ty),
                        self.shared.types.array_parts(*ty),
                    ) && rank != have
                    {
                        return Ok(None);
                    }
                    param.ty = *ty;
                    param.is_python = false;
                }
                None => {
                    if let Some(Global::Value(constant)) = param.default {
                        param.ty = constant_type(constant);
                    }
                }
            }
        }
        let template = &self.shared.scope.functions[index as usize];
        let instance = FunctionDef {
            key: template.key,
            native: template.native,
            params: Ok(params),
            returns: Ok(Returns::Inferred),
            body: template.body,
            decorator_line: template.decorator_line,
            def_line: template.def_line,
            span: template.span,
            inline_hint: template.inline_hint,
            numbered: false,
            instance: true,
            statics: Vec::new(),
            library: template.library,
            module: template.module,
            closure: template.closure.clone(),
            origin: template.origin,
            gradient: None,
            replay: None,
            reading: template.reading,
            built: None,
            building: false,
        };
        self.shared.scope.functions.push(instance);
        let index = self.shared.scope.functions.len() as u32 - 1;
        self.shared.scope.sets[set as usize].overloads.push(index);
        Ok(Some(index))
    }

    /// Calls a function of the module.
    pub(super) fn call_function(
        &mut self,
        index: u32,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Value> {
        let params = self.params_of(index)?.to_vec();
        if let Some((index, positional, named)) =
            self.specialised(index, &params, positional, named)?
        {
            return self.call_function(index, &positional, &named);
        }
        let mut items = Vec::with_capacity(params.len());
        for (at, param) in params.iter().enumerate() {
            let given = positional.get(at).copied().or_else(|| {
                named
                    .iter()
                    .find(|(name, _)| *name == param.name)
                    .map(|(_, v)| *v)
            });
            items.push(match (given, param.default) {
                (Some(value), _) => self.item(value)?,
                (None, Some(Global::Value(constant))) => {
                    Item::Constant(constant_type(constant), constant)
                }
                _ => return fail("K023", "a default value is not understood"),
            });
        }
        let built = self.shared.build_called(index)?;
        let function = &self.shared.functions[built as usize];
        let refers = (function.parameters()).any(|(_, v)| self.shared.types.is_reference(v.ty));
        let has_adjoint = matches!(
            function.custom().origin,
            Origin::Native {
                adjoint: Some(_),
                ..
            }
        );
        if refers && self.shared.backward && !has_adjoint {
            return Err(hinted(
                "K021",
                "a function with a `wp.ref` parameter has no adjoint",
                "compile with `enable_backward=False`, or write its adjoint in native code",
            ));
        }
        let mut returns = self.shared.functions[built as usize].returns.clone();
        // A tile that a function gives is the one that its annotation names, wherever it lies within.
        if let Ok(Returns::Types(annotated, _)) =
            &self.shared.scope.functions[index as usize].returns
        {
            for (ty, named) in returns.iter_mut().zip(annotated) {
                if self.shared.types.tile_of(*named).is_some() {
                    *ty = *named;
                }
            }
        }
        if returns.iter().any(|ty| self.shared.types.is_generic(*ty)) {
            return fail(
                "K021",
                "a function that returns a tile of any shape is not supported",
            );
        }
        let outs: Vec<VarId> = returns.iter().map(|ty| self.add_var(*ty)).collect();
        self.emit_call(Callee::Function(built), &items, &outs)?;
        Ok(self.result_value(&outs))
    }

    /// Constructs a struct from nothing or from its fields.
    pub(super) fn call_struct(
        &mut self,
        id: StructId,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Value> {
        let def = self.shared.types.struct_def(id).clone();
        let mut items = Vec::with_capacity(def.fields.len());
        if !(positional.is_empty() && named.is_empty()) {
            let key = format!("`{}`", self.shared.names.get(def.key));
            let unknown = named
                .iter()
                .any(|(name, _)| !def.fields.iter().any(|field| field.name == *name));
            if positional.len() > def.fields.len() || unknown {
                return Err(self.no_overload(&key, positional, named));
            }
            for (at, field) in def.fields.iter().enumerate() {
                let keyword = named
                    .iter()
                    .find(|(name, _)| *name == field.name)
                    .map(|(_, value)| *value);
                let value = match (positional.get(at).copied(), keyword) {
                    (Some(value), None) | (None, Some(value)) => value,
                    _ => return Err(self.no_overload(&key, positional, named)),
                };
                let ty = self.argument_type(value)?;
                if !self.generic_equal(field.ty, ty) {
                    return Err(self.no_overload(&key, positional, named));
                }
                items.push(self.item(value)?);
            }
        }
        let ty = self.shared.types.intern(Type::Struct(id));
        let out = self.add_var(ty);
        self.emit_call(Callee::Struct(id), &items, &[out])?;
        Ok(Value::Var(out))
    }

    /// Whether a function's parameter is a `wp.ref[T]`.
    fn takes_reference(&self, callee: Callee, at: usize) -> bool {
        match callee {
            Callee::Function(index) => {
                let function = &self.shared.functions[index as usize];
                (function.vars.get(at)).is_some_and(|var| self.shared.types.is_reference(var.ty))
            }
            _ => false,
        }
    }

    /// Whether what is called has no adjoint, since it takes gradients itself.
    fn takes_gradients(&self, callee: Callee) -> bool {
        match callee {
            Callee::Function(index) => {
                self.shared.functions[index as usize].takes_gradients(self.shared.names)
            }
            _ => false,
        }
    }

    /// Numbers defaults, loads references, and emits a call that has its results.
    fn emit_call(&mut self, callee: Callee, items: &[Item], outs: &[VarId]) -> Res<()> {
        let mut originals = Vec::with_capacity(items.len());
        for item in items {
            originals.push(match *item {
                Item::Var(var) => var,
                Item::Constant(ty, constant) => self.add_typed_constant(ty, constant),
                Item::Type(..) => return fail("K016", "a type stands where a value is needed"),
            });
        }
        let mut loaded = Vec::with_capacity(items.len());
        for (at, var) in originals.iter_mut().enumerate() {
            if self.takes_reference(callee, at) {
                let (pointer, gradient) = self.pointer_to(*var)?;
                loaded.push(pointer);
                *var = gradient;
            } else {
                loaded.push(self.load(*var));
            }
        }
        let operands = self.operands(&loaded, &originals, outs);
        self.push_call(Call {
            callee,
            operands,
            template: None,
            braces: false,
            has_adjoint: !items.is_empty() && !self.takes_gradients(callee),
        });
        Ok(())
    }
}
