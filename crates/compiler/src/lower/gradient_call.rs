//! `wp.grad(f)(…)`: the gradients of a function's arguments, by a call of its adjoint in the forward pass.

use super::body::Body;
use super::call::Item;
use super::value::{Binding, Differentiated, Few, Res, Value, fail, hinted, problem};
use crate::globals::{Global, ParamDef, Returns};
use crate::overload::{Bound, CallError, Outcome, select};
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::builtin::{BUILTINS, Dispatch, Param, Pattern};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Call, Callee, FunctionKind, Op, Origin, Piece, VarId};

/// Builtins that give Python's own `float`.
const PYTHON_RESULTS: [&str; 4] = ["noise", "pnoise", "volume_sample_f", "volume_sample_grad_f"];

/// What is differentiated, once its arguments have chosen an overload.
struct Target {
    callee: Callee,
    /// The name of the adjoint, with its namespace.
    adjoint: String,
    /// For each parameter and each result its type, and whether Python's own name for it is written.
    parameters: Vec<(TypeId, bool)>,
    results: Vec<(TypeId, bool)>,
    /// Whether the adjoint is given the results.
    takes_results: bool,
    args: Vec<VarId>,
}

impl Body<'_, '_> {
    /// Whether an expression is `wp.grad`.
    fn is_gradient(&mut self, expr: ExprId) -> bool {
        match self.static_path(expr) {
            Some(Global::WarpCallable(name)) => self.shared.names.get(name) == "grad",
            _ => false,
        }
    }

    /// `wp.grad(f)`, which is called later.
    pub(super) fn differentiated(&mut self, args: List, keywords: List) -> Res<Value> {
        let (&[function], 0) = (self.shared.tree.exprs_in(args), keywords.len) else {
            return fail("K007", "`wp.grad` takes one function");
        };
        Ok(Value::Gradient(match self.argument(function)? {
            Value::Function(set) => Differentiated::Function(set),
            Value::Builtin(index) if BUILTINS[usize::from(index)].python => {
                Differentiated::Function(self.library_set(index)?)
            }
            Value::Builtin(index) => Differentiated::Builtin(index),
            _ => return fail("K016", "`wp.grad` takes a function"),
        }))
    }

    /// What is differentiated where a gradient is called; `None` where something else is.
    pub(super) fn gradient_called(&mut self, func: ExprId) -> Res<Option<Differentiated>> {
        let is_gradient = match self.call_parts(func) {
            Some((inner, _, _)) => self.is_gradient(inner),
            None => match self.shared.tree.expr(func).kind {
                ExprKind::Name(name) => {
                    matches!(self.symbols.get(name), Some(Binding::Gradient(_)))
                }
                _ => false,
            },
        };
        if !is_gradient {
            return Ok(None);
        }
        match self.eval(func)? {
            Value::Gradient(of) => Ok(Some(of)),
            _ => Ok(None),
        }
    }

    /// Calls the adjoint of a function, the gradients of whose results are one.
    pub(super) fn gradient_call(
        &mut self,
        of: Differentiated,
        args: List,
        keywords: List,
    ) -> Res<Value> {
        let mut positional: Few<Value> = Few::new();
        for at in 0..args.len {
            let expr = self.shared.tree.expr_lists[(args.start + at) as usize];
            positional.push(self.argument(expr)?);
        }
        let mut named: Few<(Name, Value)> = Few::new();
        for keyword in self.shared.tree.keywords_in(keywords).to_vec() {
            let Some(name) = keyword.name else {
                return fail("K005", "`**` has no place in a call in a kernel");
            };
            named.push((name, self.argument(keyword.value)?));
        }
        let target = match of {
            Differentiated::Function(set) => {
                let Some(index) = self.find_overload(set, &positional, &named)? else {
                    return Err(self.no_overload("this function", &positional, &named));
                };
                self.gradient_of_function(index, &positional, &named)?
            }
            Differentiated::Builtin(index) => {
                self.gradient_of_builtin(index, &positional, &named)?
            }
        };
        self.emit_gradient(target)
    }

    fn gradient_of_function(
        &mut self,
        index: u32,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Target> {
        let params: Vec<ParamDef> = self.params_of(index)?.to_vec();
        if let Some((index, positional, named)) =
            self.specialised(index, &params, positional, named)?
        {
            return self.gradient_of_function(index, &positional, &named);
        }
        let mut args = Vec::with_capacity(params.len());
        for (at, param) in params.iter().enumerate() {
            let keyword = named.iter().find(|(name, _)| *name == param.name);
            let Some(value) = positional.get(at).or(keyword.map(|(_, value)| value)) else {
                return Err(no_default(self.shared.names.get(param.name)));
            };
            args.push(self.single(*value)?);
        }
        let def = &self.shared.scope.functions[index as usize];
        if def.gradient.is_some() {
            return Err(hinted(
                "K021",
                "`wp.grad` of a function with a gradient of its own: Warp calls the gradient and does not write it",
                "call a function that computes the same as its gradient",
            ));
        }
        if let Origin::Native { adjoint: None, .. } = def.origin {
            return fail("K021", "native code without an adjoint has no gradient");
        }
        // A replay of its own is that of a call, which this is not.
        let built = self.shared.build_function(index)?;
        self.needs_adjoint(built);
        let function = &self.shared.functions[built as usize];
        if function.takes_gradients(self.shared.names) {
            return fail(
                "K021",
                "a function that calls `wp.grad` has no gradient itself",
            );
        }
        let parameters: Vec<(TypeId, bool)> = (function.parameters().zip(&params))
            .map(|((_, variable), param)| (variable.ty, param.is_python))
            .collect();
        let adjoint = format!("adj_{}", self.shared.names.get(function.native));
        let python = match self.shared.scope.functions[index as usize].returns {
            Ok(Returns::Types(_, python)) => python,
            _ => 0,
        };
        let results: Vec<(TypeId, bool)> = (function.returns.iter().enumerate())
            .map(|(at, ty)| (*ty, at < 64 && python >> at & 1 == 1))
            .collect();
        Ok(Target {
            callee: Callee::Function(built),
            adjoint,
            parameters,
            takes_results: results.len() > 1,
            results,
            args,
        })
    }

    fn gradient_of_builtin(
        &mut self,
        index: u16,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Target> {
        let builtin = &BUILTINS[usize::from(index)];
        let mut types = Vec::with_capacity(positional.len());
        for value in positional {
            types.push(self.argument_type(*value)?);
        }
        let mut named_types = Vec::with_capacity(named.len());
        for (name, value) in named {
            named_types.push((self.shared.names.get(*name), self.argument_type(*value)?));
        }
        let selected = select(builtin.rows, self.shared.types, &types, &named_types, None);
        let Some(selected) = selected else {
            if builtin.rows.is_empty() {
                let what = format!("`wp.grad` of `wp.{}` is not supported", builtin.name);
                return fail("K021", what);
            }
            return Err(self.no_overload(&format!("`{}`", builtin.name), positional, named));
        };
        let row = &builtin.rows[selected.row];
        if !row.differentiable {
            return Err(hinted(
                "K021",
                format!("`wp.{}` has no gradient", builtin.name),
                "write the derivative that is meant",
            ));
        }
        let is_open = |param: &Param| param.pattern == Pattern::Any;
        if row.variadic || row.dispatch != Dispatch::Plain || row.params.iter().any(is_open) {
            let what = format!("`wp.grad` of `wp.{}` is not supported", builtin.name);
            return fail("K021", what);
        }
        let mut args = Vec::with_capacity(row.params.len());
        for (param, bound) in row.params.iter().zip(selected.bound) {
            let Bound::Arg(at) = bound else {
                return Err(no_default(param.name));
            };
            let at = usize::from(at);
            let value = match positional.get(at) {
                Some(value) => *value,
                None => named[at - positional.len()].1,
            };
            args.push(self.single(value)?);
        }
        let items: Vec<Item> = args.iter().map(|var| Item::Var(*var)).collect();
        let outcome = self.plain_outcome(row, &items).map_err(|error| {
            let CallError(code, message) = error;
            problem(code, format!("`{}`: {message}", builtin.name))
        })?;
        let results = match outcome {
            Outcome::One(ty) => vec![(ty, PYTHON_RESULTS.contains(&builtin.name))],
            Outcome::Many(types, count) => types[..count].iter().map(|ty| (*ty, false)).collect(),
            Outcome::Void | Outcome::Constant(_) => Vec::new(),
        };
        let parameters = args
            .iter()
            .map(|var| (self.value_ty(*var), false))
            .collect();
        Ok(Target {
            callee: Body::builtin_row(index, selected.row),
            adjoint: row.adjoint.to_owned(),
            parameters,
            takes_results: row.adjoint_takes_output || results.len() > 1,
            results,
            args,
        })
    }

    /// Writes the call: gradients that begin with zero, those of the results with one, the adjoint.
    fn emit_gradient(&mut self, target: Target) -> Res<Value> {
        self.check_gradient_types(&target)?;
        let mut loaded = Vec::with_capacity(target.args.len());
        for arg in &target.args {
            loaded.push(self.load(*arg));
        }
        let mut given = loaded.clone();
        if target.takes_results {
            let outs: Vec<VarId> = target
                .results
                .iter()
                .map(|(ty, _)| self.add_var(*ty))
                .collect();
            let operands = self.operands(&loaded, &target.args, &outs);
            self.push_call(Call {
                callee: target.callee,
                operands,
                template: None,
                braces: false,
                has_adjoint: false,
            });
            given.extend(outs);
        }
        let zero = self.piece(" = {}");
        let mut gradients = Vec::with_capacity(target.parameters.len());
        for (ty, _) in &target.parameters {
            let gradient = self.add_var(*ty);
            self.push_text(vec![Piece::Var(gradient), zero]);
            gradients.push(gradient);
        }
        given.extend(&gradients);
        for (ty, python) in &target.results {
            let seed = self.add_var(*ty);
            let written = match python {
                true => self.shared.types.with_python_types(*ty, 1),
                false => *ty,
            };
            let one = format!(" = {}(1)", self.shared.types.spelling(written));
            let one = self.piece(&one);
            self.push_text(vec![Piece::Var(seed), one]);
            given.push(seed);
        }
        let call = self.gradient_text(&target.adjoint, &given);
        self.push_text(call);
        if let [gradient] = *gradients {
            return Ok(Value::Var(gradient));
        }
        let types: Vec<TypeId> = target.parameters.iter().map(|(ty, _)| *ty).collect();
        let plain = self.shared.types.tuple(&types);
        let python = target.parameters.iter().take(64).enumerate();
        let which = python.fold(0, |bits, (at, (_, own))| bits | u64::from(*own) << at);
        let ty = match which {
            0 => plain,
            _ => self.shared.types.with_python_types(plain, which),
        };
        let tuple = self.add_var(ty);
        let mut pieces = vec![Piece::Var(tuple), self.piece(" = ")];
        let constructor = self.shared.types.spelling(ty).to_owned();
        pieces.extend(self.gradient_text(&constructor, &gradients));
        self.push_text(pieces);
        Ok(Value::Var(tuple))
    }

    /// `name(a, b)`.
    fn gradient_text(&mut self, name: &str, args: &[VarId]) -> Vec<Piece> {
        let [name, open, comma, close] = [name, "(", ", ", ")"].map(|text| self.piece(text));
        let mut pieces = vec![name, open];
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                pieces.push(comma);
            }
            pieces.push(Piece::Var(*arg));
        }
        pieces.push(close);
        pieces
    }

    /// Refuses what has no gradient that is a value.
    fn check_gradient_types(&self, target: &Target) -> Res<()> {
        let types = &self.shared.types;
        if target.results.is_empty() {
            return fail("K007", "a function without a result has no gradient");
        }
        let mut results = target.results.iter();
        if results.any(|(ty, _)| !types.is_plain_value(*ty)) {
            return fail(
                "K021",
                "`wp.grad` of a function that returns a struct or an array is not supported",
            );
        }
        let is_value = |ty: TypeId| types.is_plain_value(ty);
        let is_array = |ty: TypeId| matches!(types.get(ty), Type::Array { .. });
        match *target.parameters {
            // Warp names the array, too, and its gradient is nowhere.
            [(ty, _)] if is_array(ty) => Ok(()),
            [] => fail("K007", "a function without parameters has no gradient"),
            ref parameters if parameters.iter().all(|(ty, _)| is_value(*ty)) => Ok(()),
            _ => Err(hinted(
                "K021",
                "`wp.grad` of a function with an array among other parameters: Warp 1.19.0 cannot compile it either",
                "give the function numbers, vectors, matrices or structs instead of arrays",
            )),
        }
    }

    /// Has the adjoints of a function and of what it calls written.
    fn needs_adjoint(&mut self, built: u32) {
        let mut open = vec![built];
        while let Some(index) = open.pop() {
            let function = &mut self.shared.functions[index as usize];
            let FunctionKind::Device { adjoint, .. } = &mut function.kind else {
                continue;
            };
            *adjoint = true;
            open.extend(function.ops.iter().filter_map(|op| match op {
                Op::Call(call) => match call.callee {
                    Callee::Function(callee) => Some(callee),
                    _ => None,
                },
                _ => None,
            }));
        }
    }
}

fn no_default(parameter: &str) -> Box<crate::diagnostic::Problem> {
    hinted(
        "K021",
        format!("`wp.grad` needs `{parameter}`: Warp's text for a default does not compile"),
        "give every argument",
    )
}
