//! What goes through tiles element by element: functions, operators, conversions, constants.

use super::super::builder::{Builder, LaidOut, Planned};
use super::super::call::Operand;
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use crate::instruction::{Binary, Space, Unary};
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::VarId;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::types::{Scalar, Type};

/// What is applied to elements.
#[derive(Clone, Copy)]
pub(in crate::plan) enum Mapped<'m> {
    Builtin(&'m str),
    /// A function of the module, by position.
    Function(usize),
    /// A conversion of scalars.
    Cast,
}

/// Where an argument comes from: an element of a tile, or one value for all.
pub(super) enum Source {
    Tile(Tile, Type),
    Value(Operand, Option<Cell>),
}

/// Arguments of one application, and its result.
pub(in crate::plan) struct Application<'a> {
    pub(in crate::plan) mapped: Mapped<'a>,
    pub(in crate::plan) args: Vec<Operand>,
    /// The result's type, and its scalars.
    pub(in crate::plan) out: (Type, Vec<Scalar>),
}

/// A function, where its arguments come from, and the tile of its results with their type.
type Mapping<'m> = (Mapped<'m>, Vec<Source>, Tile, Type);

/// The builtin that an operator on tiles applies to their elements.
fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "tile_neg" => "neg",
        "tile_add" => "add",
        "tile_sub" => "sub",
        "tile_mul" | "tile_mul_elementwise" => "mul",
        "tile_div" | "tile_div_elementwise" => "div",
        "tile_bit_and" => "bit_and",
        "tile_bit_or" => "bit_or",
        "tile_bit_xor" => "bit_xor",
        _ => return None,
    })
}

/// The builtin that an operator in place applies.
fn operator_in_place(name: &str) -> Option<&'static str> {
    Some(match name {
        "tile_add_inplace" => "add",
        "tile_sub_inplace" => "sub",
        "tile_bit_and_inplace" => "bit_and",
        "tile_bit_or_inplace" => "bit_or",
        "tile_bit_xor_inplace" => "bit_xor",
        _ => return None,
    })
}

impl<'m> Builder<'m> {
    /// The function that a word of the text names.
    pub(in crate::plan) fn mapped(&self, word: &str) -> Planned<Mapped<'m>> {
        let module = self.module;
        if let Some(native) = word.strip_prefix("wp::") {
            let builtin = BUILTINS.iter().find(|builtin| {
                let mut rows = builtin.rows.iter();
                rows.any(|row| row.native.trim_start_matches("wp::") == native)
            });
            if let Some(builtin) = builtin {
                return Ok(Mapped::Builtin(builtin.name));
            }
        }
        let own = module.functions.iter();
        match own
            .map(|f| module.names.get(f.native))
            .position(|n| n == word)
        {
            Some(index) => Ok(Mapped::Function(index)),
            None => self.unknown(format!("`{word}` as an argument")),
        }
    }

    pub(super) fn element_type(&self, frame: &Frame<'m>, var: VarId) -> Type {
        let types = &self.module.types;
        let ty = frame.value_type(self, var);
        let element = types.tile_of(ty).map_or(ty, |tile| tile.element);
        types.get(element)
    }

    /// The result of an application, in cells.
    pub(super) fn apply(&mut self, application: &Application<'m>) -> Planned<Vec<Cell>> {
        let Application { mapped, args, out } = application;
        match *mapped {
            Mapped::Builtin(name) => self.expand_cells(name, args, out.0, out.1.len()),
            Mapped::Cast => Ok(vec![self.cast(args[0].scalar, out.1[0], args[0].first)]),
            Mapped::Function(index) => {
                let module = self.module;
                let function = &module.functions[index];
                let firsts = self.copied_arguments(args);
                let mut callee = Frame::new(self, function, &firsts, false);
                let result = self.cells_for(out.1.len());
                callee.results = vec![result];
                callee.find_unassigned(self);
                self.lay_out(callee)?;
                Ok((0..out.1.len()).map(|n| result.at(n)).collect())
            }
        }
    }

    /// Results in cells behind one another.
    fn together(&mut self, results: &[Cell], ty: Scalar) -> Cell {
        let first = self.cells_for(results.len());
        for (n, result) in results.iter().enumerate() {
            self.copy(ty, first.at(n), *result);
        }
        first
    }

    /// Copies of arguments: the function may change its own, and the next element needs them again.
    fn copied_arguments(&mut self, args: &[Operand]) -> Vec<Cell> {
        let mut firsts = Vec::with_capacity(args.len());
        for arg in args {
            let first = self.cells_for(arg.len);
            for n in 0..arg.len {
                self.copy(arg.scalar, first.at(n), arg.first.at(n));
            }
            firsts.push(first);
        }
        firsts
    }

    /// Adds what each argument receives of the result's gradient at `seed` to the duals.
    pub(in crate::plan) fn apply_adjoint(
        &mut self,
        application: &Application<'m>,
        duals: &[Cell],
        seed: Cell,
    ) -> Planned<()> {
        let Application { mapped, args, out } = application;
        let Mapped::Function(index) = *mapped else {
            let start = self.code.len();
            let results = self.apply(application)?;
            if let Mapped::Builtin(name) = *mapped
                && out.1.first().is_some_and(|ty| ty.is_float())
            {
                let made = self.code.len();
                let result = Operand {
                    ty: out.0,
                    scalar: out.1[0],
                    first: self.together(&results, out.1[0]),
                    len: results.len(),
                };
                let duals: Vec<Option<Cell>> = duals.iter().copied().map(Some).collect();
                if self.derive_stated(name, args, &duals, result, seed) {
                    return Ok(());
                }
                self.take_code(made);
            }
            let pairs = args.iter().zip(duals);
            let variables = pairs
                .filter(|(arg, _)| arg.scalar.is_float())
                .flat_map(|(arg, dual)| (0..arg.len).map(move |n| (arg.first.at(n), dual.at(n))))
                .collect();
            let seeds = out.1.iter().enumerate();
            let seeds = seeds.map(|(n, ty)| (*ty, ty.is_float().then(|| seed.at(n))));
            return self.derive_cells(start, variables, &results, seeds.collect());
        };
        let module = self.module;
        let function = &module.functions[index];
        let firsts = self.copied_arguments(args);
        let mut callee = Frame::new(self, function, &firsts, true);
        for ((param, _), (arg, dual)) in function.parameters().zip(args.iter().zip(duals)) {
            if arg.scalar.is_float() {
                callee.set_dual(param, *dual);
            }
        }
        let floats = out.1.iter().any(|ty| ty.is_float());
        callee.result_duals = vec![floats.then_some(seed)];
        self.lay_out_adjoint(callee)
    }

    /// The arguments of a statement as sources; the adjoints say where gradients of values go.
    fn sources(
        &mut self,
        frame: &Frame<'m>,
        args: &[Arg<'m>],
        adjoints: &[Option<VarId>],
    ) -> Planned<Vec<Source>> {
        let mut sources = Vec::with_capacity(args.len());
        for (n, arg) in args.iter().enumerate() {
            let var = self.needed_var("tile_map", Some(arg))?;
            sources.push(match self.tile(frame, var) {
                Some(tile) => Source::Tile(tile, self.element_type(frame, var)),
                None => {
                    let dual = adjoints.get(n).copied().flatten();
                    let dual = dual.and_then(|var| frame.dual(var));
                    Source::Value(self.operand(frame, var), dual)
                }
            });
        }
        Ok(sources)
    }

    /// Loads what each source has at the element of this number.
    fn load_sources(&mut self, sources: &[Source], number: Cell) -> Vec<Operand> {
        let mut args = Vec::with_capacity(sources.len());
        for source in sources {
            args.push(match source {
                Source::Value(operand, _) => *operand,
                Source::Tile(tile, ty) => {
                    let at = self.tile_place(tile, number);
                    Operand {
                        ty: *ty,
                        scalar: tile.scalars[0],
                        first: self.load_element(tile, at, Space::Value),
                        len: tile.scalars.len(),
                    }
                }
            });
        }
        args
    }

    /// The function, the sources and the result of a statement that goes element by element.
    fn mapping(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> Planned<Option<Mapping<'m>>> {
        let none = Vec::new();
        let adjoints = statement.adjoints.as_ref().unwrap_or(&none);
        let args = statement.args.as_slice();
        let (mapped, args, adjoints, out) = match (statement.name, args) {
            ("tile_unary_map" | "tile_binary_map" | "tile_map", [Arg::Word(word), rest @ ..]) => {
                let after = adjoints.get(1..).unwrap_or_default();
                (self.mapped(word)?, rest, after, statement.out)
            }
            ("tile_astype", args) => (Mapped::Cast, args, &adjoints[..], statement.out),
            (name, args) if operator(name).is_some() => {
                let builtin = operator(name).unwrap_or_default();
                (Mapped::Builtin(builtin), args, &adjoints[..], statement.out)
            }
            (name, args @ [Arg::Var(target), _]) if operator_in_place(name).is_some() => {
                let builtin = operator_in_place(name).unwrap_or_default();
                (Mapped::Builtin(builtin), args, &adjoints[..], Some(*target))
            }
            _ => return Ok(None),
        };
        let out = out.map(Arg::Var);
        let tile = self.needed_tile(frame, statement.name, out.as_ref())?;
        let ty = match out {
            Some(Arg::Var(var)) => self.element_type(frame, var),
            _ => Type::Str,
        };
        let sources = self.sources(frame, args, adjoints)?;
        Ok(Some((mapped, sources, tile, ty)))
    }

    /// Lays out a statement that goes element by element; false if it does not.
    pub(super) fn tile_map(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        if self.tile_constants(frame, statement)? || self.tile_axpy(frame, statement)? {
            return Ok(true);
        }
        let Some((mapped, sources, tile, ty)) = self.mapping(frame, statement)? else {
            return Ok(false);
        };
        self.each(0, tile.count(), |this, number| {
            let args = this.load_sources(&sources, number);
            let out = (ty, tile.scalars.clone());
            let results = this.apply(&Application { mapped, args, out })?;
            let at = this.tile_place(&tile, number);
            this.store_element(&tile, at, &results);
            Ok(())
        })?;
        Ok(true)
    }

    /// The factor of `tile_axpy`, what it multiplies, and what the products are added to.
    fn axpy_operands(
        &mut self,
        frame: &Frame<'m>,
        [alpha, src, dest]: [&Arg<'m>; 3],
    ) -> Planned<(Cell, Tile, Tile)> {
        let alpha = self.needed_var("tile_axpy", Some(alpha))?;
        let factor = frame.cell(alpha);
        let src = self.needed_tile(frame, "tile_axpy", Some(src))?;
        let dest = self.needed_tile(frame, "tile_axpy", Some(dest))?;
        Ok((factor, src, dest))
    }

    /// `tile_axpy`: a multiple of one tile is added to another.
    fn tile_axpy(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let ("tile_axpy", [alpha, src, dest]) = (statement.name, statement.args.as_slice()) else {
            return Ok(false);
        };
        let (factor, src, dest) = self.axpy_operands(frame, [alpha, src, dest])?;
        self.each(0, dest.count(), |this, number| {
            let from = this.tile_place(&src, number);
            let to = this.tile_place(&dest, number);
            let x = this.load_element(&src, from, Space::Value);
            let y = this.load_element(&dest, to, Space::Value);
            let mut sums = Vec::with_capacity(dest.scalars.len());
            for (n, ty) in dest.scalars.iter().enumerate() {
                let product = this.binary(Binary::Mul, *ty, factor, x.at(n));
                sums.push(this.binary(Binary::Add, *ty, y.at(n), product));
            }
            this.store_element(&dest, to, &sums);
            Ok(())
        })?;
        Ok(true)
    }

    /// Tiles of constants and of one value; they have no adjoint.
    fn tile_constants(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let filled = match (statement.name, statement.args.as_slice()) {
            ("tile_zeros" | "tile_empty", []) => 0.0,
            ("tile_ones", []) => 1.0,
            ("tile_full" | "tile_from_thread", [value, ..]) => {
                let value = self.needed_var(statement.name, Some(value))?;
                let operand = self.operand(frame, value);
                let tile = self.out_tile(frame, statement)?;
                let mut cells = operand.cells();
                if let ([cell], [ty]) = (cells.as_mut_slice(), tile.scalars.as_slice()) {
                    *cell = self.cast(operand.scalar, *ty, *cell);
                }
                self.each(0, tile.count(), |this, number| {
                    let at = this.tile_place(&tile, number);
                    this.store_element(&tile, at, &cells);
                    Ok(())
                })?;
                return Ok(true);
            }
            ("tile_arange", [start, _, step]) => {
                let start = self.needed_var("tile_arange", Some(start))?;
                let step = self.needed_var("tile_arange", Some(step))?;
                let (start, step) = (self.operand(frame, start), self.operand(frame, step));
                let tile = self.out_tile(frame, statement)?;
                let ty = tile.scalars[0];
                self.each(0, tile.count(), |this, number| {
                    let (first, by) = (
                        this.cast(start.scalar, ty, start.first),
                        this.cast(step.scalar, ty, step.first),
                    );
                    let n = this.cast(Scalar::I32, ty, number);
                    let far = this.binary(Binary::Mul, ty, n, by);
                    let value = this.binary(Binary::Add, ty, first, far);
                    let at = this.tile_place(&tile, number);
                    this.store_element(&tile, at, &[value]);
                    Ok(())
                })?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let tile = self.out_tile(frame, statement)?;
        let cells: Vec<Cell> = (tile.scalars.iter())
            .map(|ty| self.number(*ty, filled))
            .collect();
        self.each(0, tile.count(), |this, number| {
            let at = this.tile_place(&tile, number);
            this.store_element(&tile, at, &cells);
            Ok(())
        })?;
        Ok(true)
    }

    /// Lays out the adjoint of such a statement; false if it is none.
    pub(super) fn tile_map_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        if statement.name == "tile_axpy" {
            return self.tile_axpy_adjoint(frame, statement);
        }
        if let (Some(_), [target, source]) =
            (operator_in_place(statement.name), statement.args.as_slice())
        {
            return self.in_place_adjoint(frame, statement.name, target, source);
        }
        let Some((mapped, sources, tile, ty)) = self.mapping(frame, statement)? else {
            return Ok(false);
        };
        if !tile.scalars[0].is_float() {
            return Ok(true);
        }
        self.each(0, tile.count(), |this, number| {
            let args = this.load_sources(&sources, number);
            let at = this.tile_place(&tile, number);
            let seed = this.load_element(&tile, at, Space::Gradient);
            let mut duals = Vec::with_capacity(args.len());
            for arg in &args {
                let dual = this.cells_for(arg.len);
                let zero = this.bits(arg.scalar, 0);
                for n in 0..arg.len {
                    this.copy(arg.scalar, dual.at(n), zero);
                }
                duals.push(dual);
            }
            let out = (ty, tile.scalars.clone());
            this.apply_adjoint(&Application { mapped, args, out }, &duals, seed)?;
            for (source, dual) in sources.iter().zip(duals) {
                match source {
                    Source::Tile(tile, _) => {
                        let at = this.tile_place(tile, number);
                        let share: Vec<Cell> =
                            (0..tile.scalars.len()).map(|n| dual.at(n)).collect();
                        this.add_to_element(tile, at, &share);
                    }
                    Source::Value(operand, Some(to)) if operand.scalar.is_float() => {
                        for n in 0..operand.len {
                            this.add_to(operand.scalar, to.at(n), dual.at(n));
                        }
                    }
                    Source::Value(..) => {}
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// `a += b`: the gradient of `a` goes to `b` too.
    fn in_place_adjoint(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        target: &Arg<'m>,
        source: &Arg<'m>,
    ) -> LaidOut {
        let target = self.needed_tile(frame, name, Some(target))?;
        let source = self.needed_tile(frame, name, Some(source))?;
        let negative = name == "tile_sub_inplace";
        self.each(0, target.count(), |this, number| {
            let from = this.tile_place(&target, number);
            let gradient = this.load_element(&target, from, Space::Gradient);
            let mut share = Vec::with_capacity(target.scalars.len());
            for (n, ty) in target.scalars.iter().enumerate() {
                share.push(match negative && ty.is_float() {
                    true => this.unary(Unary::Neg, *ty, gradient.at(n)),
                    false => gradient.at(n),
                });
            }
            let to = this.tile_place(&source, number);
            this.add_to_element(&source, to, &share);
            Ok(())
        })?;
        Ok(true)
    }

    fn tile_axpy_adjoint(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let [alpha, src, dest] = statement.args.as_slice() else {
            return Ok(false);
        };
        let adjoint = statement
            .adjoints
            .as_ref()
            .and_then(|all| all.first().copied().flatten());
        let dual = adjoint.and_then(|var| frame.dual(var));
        let (factor, src, dest) = self.axpy_operands(frame, [alpha, src, dest])?;
        self.each(0, dest.count(), |this, number| {
            let from = this.tile_place(&src, number);
            let to = this.tile_place(&dest, number);
            let x = this.load_element(&src, from, Space::Value);
            let g = this.load_element(&dest, to, Space::Gradient);
            let mut share = Vec::with_capacity(dest.scalars.len());
            for (n, ty) in dest.scalars.iter().enumerate() {
                share.push(this.binary(Binary::Mul, *ty, factor, g.at(n)));
                if let Some(dual) = dual.filter(|_| ty.is_float()) {
                    let product = this.binary(Binary::Mul, *ty, x.at(n), g.at(n));
                    this.add_to(*ty, dual, product);
                }
            }
            this.add_to_element(&src, from, &share);
            Ok(())
        })?;
        Ok(true)
    }
}
