//! Calls: finding the callee, matching arguments, emitting the operation.

use super::argument_rules::is_wide;
use super::body::Body;
use super::constructor::Dispatched;
use super::value::{Few, Res, Value, fail, hinted, placed, problem};
use crate::diagnostic::LIBRARY_FUNCTION;
use crate::globals::Global;
use crate::overload::{
    Bound, CallError, Outcome, call_result, describe_types, select, select_plain,
};
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::builtin::{BUILTINS, Default, Dispatch, Row, Rule};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, StructId, Type, TypeId};
use warpsmith_ir::{Call, Constant, Number, VarId};

/// What is bound to a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Var(VarId),
    /// A type, and whether it was written as one of Python's own.
    Type(TypeId, bool),
    /// A default, which becomes a constant once the results have their numbers.
    Constant(TypeId, Constant),
}

/// The callee of a call expression.
enum Target {
    Builtin(u16, Option<TypeId>),
    Function(u32),
    Struct(StructId),
}

impl Body<'_, '_> {
    /// A call as it stands in the source; `expects` is the number of names it is unpacked into.
    pub(super) fn call_expression(
        &mut self,
        func: ExprId,
        args: List,
        keywords: List,
        expects: Option<usize>,
    ) -> Res<Value> {
        let node = self.shared.tree.expr(func);
        match self.static_path(func) {
            Some(Global::WarpCallable(name)) if self.shared.names.get(name) == "address_of" => {
                return self.address_of(args, keywords);
            }
            Some(Global::WarpCallable(name)) if self.shared.names.get(name) == "grad" => {
                return self.differentiated(args, keywords);
            }
            Some(Global::Builtin(index)) if BUILTINS[usize::from(index)].name == "static" => {
                return self.static_value(args, keywords);
            }
            _ => {}
        }
        if let Some(function) = self.gradient_called(func)? {
            return self.gradient_call(function, args, keywords);
        }
        let target = self
            .callee(func)
            .map_err(|problem| placed(problem, node.start, node.end))?;
        if let Target::Builtin(index, _) = target
            && BUILTINS[usize::from(index)].name == "tid"
        {
            if !self.is_kernel {
                return Err(hinted(
                    "K014",
                    "`tid()` may only be called in a kernel",
                    "pass the index as an argument",
                ));
            }
            if expects.is_none_or(|count| count <= 1) {
                self.scalar_tid = true;
            }
        }
        let mut positional: Few<Value> = Few::new();
        for at in 0..args.len {
            let expr = self.shared.tree.expr_lists[(args.start + at) as usize];
            match self.shared.tree.expr(expr).kind {
                ExprKind::Starred(inner) => self.starred(inner, &mut positional)?,
                _ => positional.push(self.argument(expr)?),
            }
        }
        let mut named: Few<(Name, Value)> = Few::new();
        for at in 0..keywords.len {
            let keyword = self.shared.tree.keywords[(keywords.start + at) as usize];
            let Some(name) = keyword.name else {
                return fail("K005", "`**` has no place in a call in a kernel");
            };
            named.push((name, self.argument(keyword.value)?));
        }
        match target {
            Target::Builtin(index, ty) => {
                self.call_builtin(index, &positional, &named, ty, expects)
            }
            Target::Function(set) => match self.find_overload(set, &positional, &named)? {
                Some(index) => {
                    self.refuse_tuple_of_literals(index, args)?;
                    self.call_function(index, &positional, &named)
                }
                None => Err(self.no_overload("this function", &positional, &named)),
            },
            Target::Struct(id) => self.call_struct(id, &positional, &named),
        }
    }

    /// A tuple of nothing but literals is a value of Python to Warp, of which a generic function has no instance.
    fn refuse_tuple_of_literals(&self, function: u32, args: List) -> Res<()> {
        let tree = &self.shared.tree;
        let is_literal = |expr: &ExprId| {
            let kind = tree.expr(*expr).kind;
            matches!(
                kind,
                ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_)
            )
        };
        let refused = tree
            .exprs_in(args)
            .iter()
            .any(|expr| match tree.expr(*expr).kind {
                ExprKind::Tuple(list) => list.len > 0 && tree.exprs_in(list).iter().all(is_literal),
                _ => false,
            });
        if refused && self.shared.scope.functions[function as usize].instance {
            return Err(hinted(
                "K007",
                "a generic function does not take a tuple of literals",
                "give the tuple a name first: `pair = (1.0, 2.0)`",
            ));
        }
        Ok(())
    }

    /// A function that Warp's own library defines in Python, where its source was given.
    pub(super) fn library_set(&self, index: u16) -> Res<u32> {
        match self.shared.scope.library_function(index) {
            Some(set) => Ok(set),
            None => Err(hinted(
                LIBRARY_FUNCTION,
                format!(
                    "`wp.{}` is a Python function of Warp's library, whose source the text quotes",
                    BUILTINS[usize::from(index)].name
                ),
                "name `warp/_src/math.py` of an installed warp-lang 1.19.0 as the library",
            )),
        }
    }

    /// Finds out what is called.
    fn callee(&mut self, func: ExprId) -> Res<Target> {
        let value = if let Some(ty) = self.type_expression(func)? {
            Value::Type(ty)
        } else {
            match self.static_path(func) {
                Some(Global::Function(set)) => return Ok(Target::Function(set)),
                Some(Global::Builtin(index)) if BUILTINS[usize::from(index)].python => {
                    return self.library_set(index).map(Target::Function);
                }
                Some(Global::Builtin(index)) => return Ok(Target::Builtin(index, None)),
                Some(Global::Type(ty)) => Value::Type(ty),
                Some(Global::PythonType(ty)) => Value::PythonType(ty),
                Some(Global::WarpCallable(name)) => {
                    let text = self.shared.names.get(name);
                    if name.index() >= BUILTINS.len() {
                        return fail("K021", format!("`wp.{text}` is not supported in a kernel"));
                    }
                    Value::Callable
                }
                Some(Global::Callable) => Value::Callable,
                Some(Global::Opaque(what)) => {
                    let called = self
                        .last_name(func)
                        .map_or("", |name| self.shared.names.get(name));
                    return fail("K023", format!("`{called}` is {what}"));
                }
                Some(
                    Global::Kernel(_)
                    | Global::Module(_)
                    | Global::Tuple
                    | Global::Class(_)
                    | Global::Handle
                    | Global::Member(_)
                    | Global::Nothing
                    | Global::Determinism(_)
                    | Global::Instance(_)
                    | Global::Value(_),
                ) => {
                    return fail("K016", "this is not a function");
                }
                None => self.eval(func)?,
            }
        };
        match value {
            Value::Function(set) => return Ok(Target::Function(set)),
            Value::Builtin(index) => return Ok(Target::Builtin(index, None)),
            Value::Type(_) | Value::PythonType(_) | Value::Callable => {}
            _ => return fail("K016", "this is not a function"),
        }
        // A builtin of the same name as the last part of the path comes first, whatever the path
        // resolved to.
        let last = self.last_name(func);
        let compound = match value {
            Value::Type(ty) if self.shared.types.is_compound(ty) => Some(ty),
            _ => None,
        };
        if let Some(name) = last
            && name.index() < BUILTINS.len()
        {
            return Ok(Target::Builtin(name.index() as u16, compound));
        }
        let (name, ty) = match value {
            Value::Type(ty) => match self.shared.types.get(ty) {
                Type::Struct(id) => {
                    self.use_struct(id);
                    return Ok(Target::Struct(id));
                }
                Type::Vector { .. } => ("vector", Some(ty)),
                Type::Matrix { .. } => ("matrix", Some(ty)),
                Type::Quat(_) => ("quaternion", Some(ty)),
                Type::Transform(_) => ("transformation", Some(ty)),
                Type::Scalar(scalar) if !scalar.is_placeholder() => (scalar.name(), None),
                _ => return fail("K016", "this type cannot be constructed in a kernel"),
            },
            Value::PythonType(TypeId::F32) => ("float", None),
            Value::PythonType(TypeId::I32) => ("int", None),
            Value::PythonType(_) => ("bool", None),
            _ => {
                let called = last.map_or("this", |name| self.shared.names.get(name));
                return fail(
                    "K006",
                    format!("`{called}` is not a function of the kernel language"),
                );
            }
        };
        Ok(Target::Builtin(self.builtin_named(name)?, ty))
    }

    /// Calls a builtin by name on plain variables.
    pub(super) fn call_named(&mut self, name: &str, args: &[VarId]) -> Res<Value> {
        let index = self.builtin_named(name)?;
        self.call_builtin_vars(index, args)
    }

    /// Calls a builtin on plain variables.
    pub(super) fn call_builtin_vars(&mut self, index: u16, args: &[VarId]) -> Res<Value> {
        if let Some(value) = self.call_plain(index, args, None)? {
            return Ok(value);
        }
        let values: Few<Value> = args.iter().map(|arg| Value::Var(*arg)).collect();
        self.call_general(index, &values, &[], None, None)
    }

    /// The common case, without any list on the way: every argument is a variable, bound to the
    /// parameters in order, and passed on as it is. `None` if the call is of another kind.
    fn call_plain(
        &mut self,
        index: u16,
        args: &[VarId],
        expects: Option<usize>,
    ) -> Res<Option<Value>> {
        let builtin = &BUILTINS[usize::from(index)];
        let mut types = [TypeId::BOOL; 8];
        if args.is_empty() || args.len() > types.len() || is_wide(builtin.name) {
            return Ok(None);
        }
        for (slot, arg) in types.iter_mut().zip(args) {
            *slot = self.value_ty(*arg);
        }
        let types = &types[..args.len()];
        let Some(selected) = select_plain(builtin.rows, self.shared.types, types, expects) else {
            return Ok(None);
        };
        let row = &builtin.rows[selected];
        let outcome = match row.dispatch {
            Dispatch::Plain
                if !matches!(row.rule, Rule::Atomic | Rule::AtomicCompare | Rule::Slice)
                    && row.params[args.len()..]
                        .iter()
                        .all(|param| param.default == Default::Absent) =>
            {
                call_result(row, self.shared.types, types).map_err(|error| {
                    let CallError(code, message) = error;
                    problem(code, format!("`{}`: {message}", builtin.name))
                })?
            }
            Dispatch::Extract => match self.component(types[0], &types[1..]) {
                Some(scalar) => Outcome::One(scalar),
                None => return Ok(None),
            },
            Dispatch::VectorAssign | Dispatch::MatrixAssign => {
                let [target, indices @ .., value] = types else {
                    return Ok(None);
                };
                match self.component(*target, indices) {
                    Some(scalar) if scalar == *value => Outcome::Void,
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let (results, count) = match outcome {
            Outcome::Constant(value) => return Ok(Some(Value::Var(self.add_int(value)))),
            Outcome::Void => ([TypeId::BOOL; 4], 0),
            Outcome::One(ty) => ([ty; 4], 1),
            Outcome::Many(types, count) => (types, count),
        };
        let mut outs = [VarId(0); 4];
        for (out, ty) in outs.iter_mut().zip(results).take(count) {
            *out = self.add_var(ty);
        }
        let outs = &outs[..count];
        let mut loaded = [VarId(0); 8];
        for (slot, arg) in loaded.iter_mut().zip(args) {
            *slot = self.load(*arg);
        }
        let operands = self.operands(&loaded[..args.len()], args, outs);
        self.push_call(Call {
            callee: Body::builtin_row(index, selected),
            operands,
            template: None,
            braces: false,
            has_adjoint: row.differentiable,
        });
        Ok(Some(self.result_value(outs)))
    }

    /// The type of one component of a compound, if the indices are integers that choose one.
    fn component(&self, compound: TypeId, indices: &[TypeId]) -> Option<TypeId> {
        let types = &self.shared.types;
        let (scalar, rank) = match types.get(compound) {
            Type::Vector { scalar, .. } | Type::Quat(scalar) | Type::Transform(scalar) => {
                (scalar, 1)
            }
            Type::Matrix { scalar, .. } => (scalar, 2),
            _ => return None,
        };
        let one = indices.len() == rank && indices.iter().all(|index| types.is_int(*index));
        one.then(|| TypeId::scalar(scalar))
    }

    /// The type by which an argument is matched.
    pub(super) fn argument_type(&self, value: Value) -> Res<TypeId> {
        match value {
            Value::Var(var) => Ok(self.value_ty(var)),
            Value::Type(ty) | Value::PythonType(ty) => Ok(ty),
            Value::Int(_) => Ok(TypeId::I32),
            Value::Function(_) | Value::Builtin(_) => {
                fail("K021", "functions as arguments are not supported")
            }
            other => self.single(other).map(|var| self.value_ty(var)),
        }
    }

    pub(super) fn no_overload(
        &self,
        what: &str,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Box<crate::diagnostic::Problem> {
        let types: Vec<TypeId> = positional
            .iter()
            .chain(named.iter().map(|(_, value)| value))
            .filter_map(|value| self.argument_type(*value).ok())
            .collect();
        let scalar = |wanted: fn(Scalar) -> bool| {
            types
                .iter()
                .any(|ty| self.shared.types.scalar_of(*ty).is_some_and(wanted))
        };
        let described = describe_types(self.shared.types, self.shared.names, &types);
        let hint = if scalar(Scalar::is_int) && scalar(Scalar::is_float) {
            "integers and floats are never converted implicitly: write `float(i)`"
        } else {
            "arguments are matched exactly; convert them explicitly"
        };
        hinted("K007", format!("{what} does not take ({described})"), hint)
    }

    /// Calls a builtin; `ty` is the compound type through which it was named.
    pub(super) fn call_builtin(
        &mut self,
        index: u16,
        positional: &[Value],
        named: &[(Name, Value)],
        ty: Option<TypeId>,
        expects: Option<usize>,
    ) -> Res<Value> {
        if named.is_empty() && ty.is_none() && positional.len() <= 8 {
            let mut vars = [VarId(0); 8];
            let mut all = true;
            for (slot, value) in vars.iter_mut().zip(positional) {
                match value {
                    Value::Var(var) => *slot = *var,
                    _ => all = false,
                }
            }
            if all
                && let Some(value) = self.call_plain(index, &vars[..positional.len()], expects)?
            {
                return Ok(value);
            }
        }
        self.call_general(index, positional, named, ty, expects)
    }

    /// Any call of a builtin: keywords, types as arguments, defaults, constructors, slices.
    fn call_general(
        &mut self,
        index: u16,
        positional: &[Value],
        named: &[(Name, Value)],
        ty: Option<TypeId>,
        expects: Option<usize>,
    ) -> Res<Value> {
        let builtin = &BUILTINS[usize::from(index)];
        if builtin.rows.is_empty() {
            return self.tile_builtin(builtin.name, positional, named);
        }
        let mut types = [TypeId::BOOL; 64];
        if positional.len() > types.len() {
            return fail("K022", "a call has too many arguments");
        }
        for (slot, value) in types.iter_mut().zip(positional) {
            *slot = self.argument_type(*value)?;
        }
        let mut named_types = Vec::with_capacity(named.len());
        for (name, value) in named {
            named_types.push((self.shared.names.get(*name), self.argument_type(*value)?));
        }
        let selected = select(
            builtin.rows,
            self.shared.types,
            &types[..positional.len()],
            &named_types,
            expects,
        );
        let Some(selected) = selected else {
            let is_tile =
                |value: &Value| matches!(value, Value::Var(var) if self.tile_of(*var).is_some());
            if positional.iter().any(is_tile) {
                return self.tile_builtin(builtin.name, positional, named);
            }
            return Err(self.no_overload(&format!("`{}`", builtin.name), positional, named));
        };
        let row = &builtin.rows[selected.row];
        let mut items = Vec::with_capacity(positional.len() + named.len());
        let mut variadic = Vec::new();
        for (at, param) in row.params.iter().enumerate() {
            match selected.bound[at] {
                Bound::Arg(arg) => {
                    let arg = usize::from(arg);
                    let value = match positional.get(arg) {
                        Some(value) => *value,
                        None => named[arg - positional.len()].1,
                    };
                    items.push((at, self.item(value)?));
                }
                Bound::Missing if row.variadic && param.name == "args" => {
                    for value in &positional[selected.variadic_start..] {
                        variadic.push(self.item(*value)?);
                    }
                }
                Bound::Missing => {
                    if let Some((ty, constant)) = default_constant(param.default) {
                        items.push((at, Item::Constant(ty, constant)));
                    }
                }
            }
        }
        if let Some(var) = self.wide_literal(builtin.name, row, &items)? {
            return Ok(Value::Var(var));
        }
        self.check_atomic(builtin.name, row, &items)?;
        let Dispatched {
            outcome,
            args,
            template,
        } = self.dispatch(row, items, variadic, ty).map_err(|error| {
            let CallError(code, message) = error;
            problem(code, format!("`{}`: {message}", builtin.name))
        })?;
        if let Outcome::Constant(value) = outcome {
            return Ok(Value::Var(self.add_int(value)));
        }
        let outs = self.results(outcome);
        let mut originals = Vec::with_capacity(args.len());
        for arg in &args {
            originals.push(match *arg {
                Item::Var(var) => var,
                Item::Constant(ty, constant) => self.add_typed_constant(ty, constant),
                Item::Type(..) => return fail("K016", "a type stands where a value is needed"),
            });
        }
        let mut loaded = Vec::with_capacity(args.len());
        for (at, var) in originals.iter().enumerate() {
            let keeps_reference =
                at == 0 && row.dispatch == warpsmith_ir::builtin::Dispatch::ReferenceFirst;
            loaded.push(if keeps_reference {
                *var
            } else {
                self.load(*var)
            });
        }
        let braces = self.braces(row, &args, outcome);
        let operands = self.operands(&loaded, &originals, &outs);
        let template = (!template.is_empty()).then(|| {
            self.templates.push(template);
            self.templates.len() as u32 - 1
        });
        self.push_call(Call {
            callee: Body::builtin_row(index, selected.row),
            operands,
            template,
            braces,
            has_adjoint: row.differentiable && !args.is_empty(),
        });
        let value = self.result_value(&outs);
        if let (Rule::Slice, Value::Var(var)) = (row.rule, value) {
            let mut bounds = [None; 3];
            for (slot, var) in bounds.iter_mut().zip(&originals) {
                *slot = self
                    .constant(*var)
                    .and_then(Constant::as_int)
                    .and_then(|value| i64::try_from(value).ok());
            }
            self.slice_of.push((var, bounds));
        }
        Ok(value)
    }

    /// Makes the variables of a call's results.
    pub(super) fn results(&mut self, outcome: Outcome) -> Vec<VarId> {
        match outcome {
            Outcome::Void | Outcome::Constant(_) => Vec::new(),
            Outcome::One(ty) => vec![self.add_var(ty)],
            Outcome::Many(types, count) => {
                types[..count].iter().map(|ty| self.add_var(*ty)).collect()
            }
        }
    }

    /// The value of a call that has these results.
    pub(super) fn result_value(&mut self, outs: &[VarId]) -> Value {
        if let [one] = outs {
            return Value::Var(*one);
        }
        let start = self.many.len() as u32;
        self.many.extend_from_slice(outs);
        Value::Many {
            start,
            len: outs.len() as u32,
        }
    }

    pub(super) fn item(&self, value: Value) -> Res<Item> {
        match value {
            Value::Type(ty) => Ok(Item::Type(ty, false)),
            Value::PythonType(ty) => Ok(Item::Type(ty, true)),
            Value::Int(value) => Ok(Item::Constant(
                TypeId::I32,
                Constant::Number(Number::Int(i128::from(value))),
            )),
            other => self.single(other).map(Item::Var),
        }
    }

    /// The type of a builtin call that needs nothing but its arguments' types.
    pub(super) fn plain_outcome(&mut self, row: &Row, args: &[Item]) -> Result<Outcome, CallError> {
        let types: Vec<TypeId> = args.iter().map(|item| self.item_type(*item)).collect();
        call_result(row, self.shared.types, &types)
    }

    pub(super) fn item_type(&self, item: Item) -> TypeId {
        match item {
            Item::Var(var) => self.value_ty(var),
            Item::Type(ty, _) | Item::Constant(ty, _) => ty,
        }
    }
}

/// The type that a constant has in the language.
pub(super) fn constant_type(constant: Constant) -> TypeId {
    match constant {
        Constant::Bool(_) => TypeId::BOOL,
        Constant::Number(Number::Int(_)) => TypeId::I32,
        Constant::Number(Number::Float(_)) => TypeId::F32,
        Constant::Typed(scalar, _) => TypeId::scalar(scalar),
        Constant::Str(_) => TypeId::STR,
        Constant::Compound { ty, .. } => ty,
    }
}

/// A builtin parameter's default as a constant.
fn default_constant(default: Default) -> Option<(TypeId, Constant)> {
    Some(match default {
        Default::Required | Default::Absent => return None,
        Default::Bool(value) => (TypeId::BOOL, Constant::Bool(value)),
        Default::Int(value) => (
            TypeId::I32,
            Constant::Number(Number::Int(i128::from(value))),
        ),
        Default::Float(value) => (TypeId::F32, Constant::Number(Number::Float(value))),
        Default::U32(value) => (
            TypeId::U32,
            Constant::Typed(Scalar::U32, Number::Int(i128::from(value))),
        ),
    })
}
