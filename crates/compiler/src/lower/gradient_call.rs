//! `wp.grad(f)(x)`: the gradient of a function, by a call of its adjoint.

use super::body::Body;
use super::value::{Few, Res, Value, fail};
use crate::globals::Global;
use crate::syntax::{ExprId, List};
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Callee, FunctionKind, Op, Piece};

impl Body<'_, '_> {
    /// The function in `wp.grad(f)`; `None` where the expression is no such call.
    pub(super) fn differentiated(&mut self, expr: ExprId) -> Res<Option<ExprId>> {
        let Some((func, args, keywords)) = self.call_parts(expr) else {
            return Ok(None);
        };
        match self.static_path(func) {
            Some(Global::WarpCallable(name)) if self.shared.names.get(name) == "grad" => {}
            _ => return Ok(None),
        }
        if args.len != 1 || keywords.len != 0 {
            return fail("K007", "`wp.grad` takes one function");
        }
        Ok(Some(self.shared.tree.expr_lists[args.start as usize]))
    }

    /// Calls the adjoint of a function of one parameter and one result, whose gradient is one.
    pub(super) fn gradient_call(
        &mut self,
        function: ExprId,
        args: List,
        keywords: List,
    ) -> Res<Value> {
        let set = match self.static_path(function) {
            Some(Global::Function(set)) => set,
            Some(Global::Builtin(_)) => {
                return fail(
                    "K021",
                    "`wp.grad` of a builtin is not supported in a kernel",
                );
            }
            _ => return fail("K016", "`wp.grad` takes a function"),
        };
        if args.len != 1 || keywords.len != 0 {
            return fail(
                "K021",
                "`wp.grad` of a function with other than one parameter is not supported",
            );
        }
        let expr = self.shared.tree.expr_lists[args.start as usize];
        let mut positional: Few<Value> = Few::new();
        positional.push(self.argument(expr)?);
        let Some(index) = self.find_overload(set, &positional, &[])? else {
            return Err(self.no_overload("this function", &positional, &[]));
        };
        let def = &self.shared.scope.functions[index as usize];
        if def.gradient.is_some() || def.replay.is_some() {
            return fail(
                "K021",
                "`wp.grad` of a function with a gradient of its own is not supported",
            );
        }
        let built = self.shared.build_called(index)?;
        self.needs_adjoint(built);
        let function = &self.shared.functions[built as usize];
        let [result] = *function.returns else {
            return fail(
                "K021",
                "`wp.grad` of a function with other than one result is not supported",
            );
        };
        let seed = match self.shared.types.get(result) {
            Type::Scalar(scalar @ (Scalar::F16 | Scalar::F32 | Scalar::F64)) => scalar,
            _ => {
                return fail(
                    "K021",
                    "`wp.grad` of a function whose result is no float is not supported",
                );
            }
        };
        let native = function.native;
        let parameter = match function.parameters().next() {
            Some((_, variable)) if function.params == 1 => variable.ty,
            _ => {
                return fail(
                    "K021",
                    "`wp.grad` of a function with other than one parameter is not supported",
                );
            }
        };
        let argument = self.single(positional[0])?;
        let argument = self.load(argument);
        let gradient = self.add_var(parameter);
        let one = self.add_var(result);
        let zero = self.piece(" = {}");
        self.push_text(vec![Piece::Var(gradient), zero]);
        let unit = self.piece(&format!(" = wp::{}(1)", seed.name()));
        self.push_text(vec![Piece::Var(one), unit]);
        let name = format!("adj_{}", self.shared.names.get(native));
        let [name, open, comma, close] =
            [name.as_str(), "(", ", ", ")"].map(|text| self.piece(text));
        self.push_text(vec![
            name,
            open,
            Piece::Var(argument),
            comma,
            Piece::Var(gradient),
            comma,
            Piece::Var(one),
            close,
        ]);
        Ok(Value::Var(gradient))
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
