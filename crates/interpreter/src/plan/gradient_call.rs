//! What `wp.grad` makes of a call: gradients that begin with zero, those of the results with one, and the adjoint,
//! which is given the arguments, then the results where it takes them, then both kinds of gradients.

use super::builder::{Builder, LaidOut, Planned};
use super::call::Operand;
use super::frame::Frame;
use super::statement::Statement;
use super::tile::{Application, Mapped};
use crate::factorisation::Factorisation;
use crate::lanes::Cell;
use crate::noise::Noise;
use warpsmith_ir::VarId;
use warpsmith_ir::builtin::{BUILTINS, Builtin};
use warpsmith_ir::types::Type;

/// The arguments of an adjoint.
struct Given<'a> {
    args: &'a [VarId],
    /// The results, where the adjoint takes them.
    results: &'a [VarId],
    gradients: &'a [VarId],
    seeds: &'a [VarId],
}

impl<'a> Given<'a> {
    /// What is given to the adjoint of a function of so many parameters and results; `None` if that is not it.
    fn of(
        vars: &'a [VarId],
        parameters: usize,
        results: usize,
        takes_results: bool,
    ) -> Option<Self> {
        let given = if takes_results { results } else { 0 };
        if results == 0 || vars.len() != 2 * parameters + given + results {
            return None;
        }
        let (args, rest) = vars.split_at(parameters);
        let (outs, rest) = rest.split_at(given);
        let (gradients, seeds) = rest.split_at(parameters);
        Some(Self {
            args,
            results: outs,
            gradients,
            seeds,
        })
    }

    /// The same for a builtin, whose overloads may have several numbers of parameters.
    fn of_builtin(vars: &'a [VarId], builtin: &Builtin, adjoint: &str) -> Option<Self> {
        let rows = builtin.rows.iter();
        let mut rows = rows.filter(|row| row.adjoint.trim_start_matches("wp::") == adjoint);
        rows.find_map(|row| {
            let results = row.rule.several_results().unwrap_or(1);
            let takes_results = row.adjoint_takes_output || results > 1;
            Self::of(vars, row.params.len(), results, takes_results)
        })
    }
}

impl<'m> Builder<'m> {
    /// `out = {}` and `out = T(1)`; false if it is neither.
    pub(super) fn gradient_start(&mut self, frame: &Frame<'m>, out: VarId, value: &str) -> LaidOut {
        let ty = frame.value_type(self, out);
        let leaves = self.layout(ty).leaves.clone();
        if value == " = {}" {
            for (n, leaf) in leaves.iter().enumerate() {
                let zero = self.bits(leaf.scalar, 0);
                self.copy(leaf.scalar, frame.cell(out).at(n), zero);
            }
            return Ok(true);
        }
        if !value.starts_with(" = ") || !value.ends_with("(1)") {
            return Ok(false);
        }
        let ones = match frame.kind(self, out) {
            Type::Scalar(_) | Type::Vector { .. } | Type::Matrix { .. } | Type::Transform(_) => {
                leaves.len()
            }
            // The constructor gives one number to the first component.
            Type::Quat(_) => 1,
            _ => return self.unknown("`wp.grad` of a function that gives a struct"),
        };
        for (n, leaf) in leaves.iter().enumerate() {
            let value = self.number(leaf.scalar, if n < ones { 1.0 } else { 0.0 });
            self.copy(leaf.scalar, frame.cell(out).at(n), value);
        }
        Ok(true)
    }

    /// `out = wp::tuple_t<…>(a, b)`: the gradients together; false if it is something else.
    pub(super) fn tuple_of_gradients(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let Some(out) = statement
            .out
            .filter(|_| statement.name.starts_with("tuple_t<"))
        else {
            return Ok(false);
        };
        let mut next = 0;
        for part in statement.args.iter().filter_map(|arg| arg.var()) {
            let ty = frame.value_type(self, part);
            for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                self.copy(
                    leaf.scalar,
                    frame.cell(out).at(next + n),
                    frame.cell(part).at(n),
                );
            }
            next += self.layout(ty).leaves.len();
        }
        Ok(true)
    }

    /// Lays out a call of an adjoint; false if the statement is none.
    pub(super) fn gradient_call(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let Some(native) = statement.name.strip_prefix("adj_") else {
            return Ok(false);
        };
        let vars: Vec<VarId> = statement.args.iter().filter_map(|arg| arg.var()).collect();
        if vars.len() != statement.args.len() || statement.out.is_some() {
            return Ok(false);
        }
        let module = self.module;
        // Instances of a generic function share a name.
        let mut own = module.functions.iter();
        let own = own.position(|function| {
            let mut pairs = function.parameters().zip(&vars);
            module.names.get(function.native) == native
                && pairs.all(|((_, variable), var)| {
                    let given = frame.value_type(self, *var);
                    module.types.equal(variable.ty, given)
                })
        });
        if let Some(index) = own.filter(|_| !statement.is_builtin) {
            let function = &module.functions[index];
            let results = function.returns.len();
            let given = Given::of(&vars, function.params as usize, results, results > 1);
            let Some(given) = given else {
                return self.unknown(format!("the gradient of `{native}` in this form"));
            };
            self.function_gradient(frame, index, &given)?;
            return Ok(true);
        }
        for builtin in BUILTINS.iter() {
            if let Some(given) = Given::of_builtin(&vars, builtin, statement.name) {
                self.builtin_gradient(frame, builtin.name, &given)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn function_gradient(
        &mut self,
        frame: &Frame<'m>,
        index: usize,
        given: &Given<'_>,
    ) -> Planned<()> {
        let function = &self.module.functions[index];
        let mut callee = self.frame_of(frame, function, given.args, true)?;
        for ((param, variable), gradient) in function.parameters().zip(given.gradients) {
            let layout = self.layout(variable.ty);
            if Self::has_floats(&layout) {
                callee.set_dual(param, frame.cell(*gradient));
            }
        }
        for seed in given.seeds {
            let floats = self.operand(frame, *seed).scalar.is_float();
            callee.result_duals.push(floats.then(|| frame.cell(*seed)));
            callee.result_tiles.push(None);
        }
        self.lay_out_adjoint(callee)
    }

    fn builtin_gradient(
        &mut self,
        frame: &Frame<'m>,
        name: &'m str,
        given: &Given<'_>,
    ) -> Planned<()> {
        // In cells of their own: an argument may be given twice, or be a constant that the rule uses, too.
        let mut args = Vec::with_capacity(given.args.len());
        for var in given.args {
            let operand = self.operand(frame, *var);
            let first = self.cells_for(operand.len);
            for n in 0..operand.len {
                self.copy(operand.scalar, first.at(n), operand.first.at(n));
            }
            args.push(Operand { first, ..operand });
        }
        let duals: Vec<Cell> = (given.gradients.iter())
            .map(|var| frame.cell(*var))
            .collect();
        let mut seeds = Vec::new();
        for var in given.seeds {
            let seed = self.operand(frame, *var);
            seeds.extend(seed.cells().into_iter().map(|cell| (seed.scalar, cell)));
        }
        if let Some(kind) = Factorisation::of(name) {
            let mut results = Vec::new();
            for var in given.results {
                results.extend(self.operand(frame, *var).cells());
            }
            let pairs: Vec<(Cell, Cell)> = (results.iter().zip(&seeds))
                .map(|(factor, (_, seed))| (*factor, *seed))
                .collect();
            self.factor_shares(kind, args[0].scalar, &pairs, duals[0]);
            return Ok(());
        }
        if let Some(noise) = args.get(1).and_then(|point| Noise::of(name, point.len)) {
            let seeds: Vec<Cell> = seeds.iter().map(|(_, seed)| *seed).collect();
            self.noise_shares(noise, &args, &seeds, duals[1]);
            return Ok(());
        }
        let first = frame.kind(self, given.seeds[0]);
        if let [seed] = *given.seeds {
            let scalars = seeds.iter().map(|(ty, _)| *ty).collect();
            let application = Application {
                mapped: Mapped::Builtin(name),
                args,
                out: (first, scalars),
            };
            return self.apply_adjoint(&application, &duals, frame.cell(seed));
        }
        let start = self.code.len();
        let results = self.expand_cells(name, &args, first, seeds.len())?;
        let variables = (args.iter().zip(&duals))
            .filter(|(arg, _)| arg.scalar.is_float())
            .flat_map(|(arg, dual)| (0..arg.len).map(move |n| (arg.first.at(n), dual.at(n))))
            .collect();
        let seeds = (seeds.iter())
            .map(|(ty, seed)| (*ty, ty.is_float().then_some(*seed)))
            .collect();
        self.derive_cells(start, variables, &results, seeds)
    }
}
