//! Products, factors, solves and transforms of tiles, in the form that Warp writes without MathDx.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{CPU_BLOCK, Extent, Scalar, Tile, Type, TypeId};
use warpsmith_ir::{Constant, Number, Piece};

/// What stands where MathDx has a function.
const NO_FUNCTION: Arg = Arg::Int(0);

impl Body<'_, '_> {
    fn float_tile(&self, value: Option<Value>, name: &str) -> Res<(warpsmith_ir::VarId, Tile)> {
        let (var, tile) = self.needed_tile(value, name)?;
        match self.shared.types.get(tile.element) {
            Type::Scalar(Scalar::F32 | Scalar::F64) => Ok((var, tile)),
            Type::Scalar(Scalar::F16) => Ok((var, tile)),
            _ => fail(
                "K008",
                format!("`{name}` must be a tile of floating-point numbers"),
            ),
        }
    }

    pub(super) fn tile_matmul(&mut self, (positional, named): Given<'_>) -> Res<Value> {
        let has_out = positional
            .get(2)
            .is_some_and(|value| matches!(value, Value::Var(var) if self.tile_of(*var).is_some()))
            || named
                .iter()
                .any(|(name, _)| self.shared.names.get(*name) == "out");
        let given = (positional, named);
        let [a, b, out, alpha, beta, precision] = if has_out {
            let params = ["a", "b", "out", "alpha", "beta", "precision"];
            self.bind("tile_matmul", params, given)?
        } else {
            let params = ["a", "b", "alpha", "precision"];
            let [a, b, alpha, precision] = self.bind("tile_matmul", params, given)?;
            [a, b, None, alpha, None, precision]
        };
        self.word(precision, "default", ["default", "tf32"])?;
        let (a, x) = self.float_tile(a, "a")?;
        let (b, y) = self.float_tile(b, "b")?;
        let ([m, k], [inner, n]) = (&x.shape[..], &y.shape[..]) else {
            return fail("K008", "`tile_matmul` takes tiles of two dimensions");
        };
        let one = Constant::Number(Number::Float(1.0));
        let factor = |value: Option<Value>| match value {
            None => Ok(Arg::Constant(TypeId::F32, one)),
            Some(value) => self.single(value).map(Arg::Var),
        };
        let (alpha, beta) = (factor(alpha)?, factor(beta)?);
        for factor in [alpha, beta] {
            if let Arg::Var(var) = factor
                && !matches!(self.kind(var), Type::Scalar(scalar) if scalar.is_float())
            {
                return fail("K008", "`tile_matmul`: a factor must be a float");
            }
        }
        if k != inner {
            return fail("K008", "`tile_matmul`: the sizes of the tiles do not fit");
        }
        let (m, n) = (*m, *n);
        let (name, c, beta, outs) = match out {
            Some(_) => {
                let (c, z) = self.float_tile(out, "out")?;
                if z.shape != [m, n] {
                    return fail("K008", "`tile_matmul`: the sizes of the tiles do not fit");
                }
                ("tile_matmul_acc", c, beta, Vec::new())
            }
            None => {
                let c = self.tile_var(Tile::dense(x.element, vec![m, n], true));
                let zero = Constant::Number(Number::Float(0.0));
                ("tile_matmul", c, Arg::Constant(TypeId::F32, zero), vec![c])
            }
        };
        for var in [a, b, c] {
            self.share(var);
        }
        let mut args = vec![NO_FUNCTION; 3];
        args.extend([a, b, c].map(Arg::Var));
        args.extend([alpha, beta]);
        self.emit_native(Native::new(name), &args, &outs);
        Ok(self.result_value(&outs))
    }

    /// `tile_fft`, `tile_ifft`.
    pub(super) fn tile_fft(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [inout] = self.bind(name, ["inout"], given)?;
        let (var, tile) = self.needed_tile(inout, "inout")?;
        let (element, bytes) = match self.shared.types.get(tile.element) {
            Type::Vector {
                length: 2,
                scalar: Scalar::F32,
            } => ("wp::vec2f", 8),
            Type::Vector {
                length: 2,
                scalar: Scalar::F64,
            } => ("wp::vec2d", 16),
            _ => return fail("K008", format!("`{name}` takes a tile of vec2f or vec2d")),
        };
        let numbers: Option<Vec<i64>> = tile.shape.iter().map(|extent| extent.number()).collect();
        let Some([batches @ .., size]) = numbers.as_deref() else {
            return fail(
                "K021",
                format!("`{name}` along a block's threads is not supported"),
            );
        };
        if tile.shared || batches.is_empty() {
            return fail(
                "K008",
                format!("`{name}` takes a tile in registers, of at least two dimensions"),
            );
        }
        if size.count_ones() != 1 {
            return fail(
                "K021",
                format!("`{name}` of {size} elements: a power of two is supported"),
            );
        }
        let batch: i64 = batches.iter().product();
        let either = |cuda: i64, cpu: i64, body: &mut Self| {
            let [cuda, cpu] = [cuda, cpu].map(|n| body.shared.names.intern(&n.to_string()));
            Arg::Raw(Piece::Either(cuda, cpu))
        };
        let placeholder = Arg::Raw(self.piece("/* scalar */ 0"));
        let threads = self.shared.types.gpu_block();
        let args = [
            placeholder,
            placeholder,
            Arg::Raw(self.piece(element)),
            either(size * bytes, 0, self),
            Arg::Raw(self.number_piece(batch)),
            either((size / threads).max(1), size / CPU_BLOCK, self),
            Arg::Var(var),
        ];
        self.emit_native(Native::new(name).a_macro(), &args, &[]);
        Ok(self.result_value(&[]))
    }

    fn solved_tile(&self, value: Option<Value>, name: &str) -> Res<(warpsmith_ir::VarId, Tile)> {
        let (var, tile) = self.float_tile(value, name)?;
        if tile.element != TypeId::F32 && tile.element != TypeId::scalar(Scalar::F64) {
            return fail(
                "K008",
                format!("`{name}` must be a tile of float32 or float64"),
            );
        }
        Ok((var, tile))
    }

    /// `tile_cholesky`, `tile_cholesky_inplace`.
    pub(super) fn tile_cholesky(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [a, mode] = self.bind(name, ["A", "fill_mode"], given)?;
        let (var, tile) = self.solved_tile(a, "A")?;
        if tile.shape.len() != 2 || tile.shape[0] != tile.shape[1] {
            return fail("K008", format!("`{name}` takes a square tile"));
        }
        let upper = self.word(mode, "lower", ["lower", "upper"])? == "upper";
        let template = vec![self.bool_piece(upper)];
        let native = Native::new(name).template(template).templated_adjoint();
        if name.ends_with("_inplace") {
            self.share(var);
            self.emit_native(native.forward_only(), &[NO_FUNCTION, Arg::Var(var)], &[]);
            return Ok(self.result_value(&[]));
        }
        let out = self.tile_var(Tile {
            shared: true,
            owner: true,
            ..tile
        });
        self.share(var);
        let mut args = vec![NO_FUNCTION; 3];
        args.extend([var, out].map(Arg::Var));
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }

    /// `tile_cholesky_solve`, `tile_lower_solve`, `tile_upper_solve`, and their forms in place.
    pub(super) fn tile_solve(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let is_cholesky = name.starts_with("tile_cholesky");
        let is_lower = name.starts_with("tile_lower");
        let (matrix, right, mode) = if is_cholesky {
            let [l, y, mode] = self.bind(name, ["L", "y", "fill_mode"], given)?;
            (l, y, mode)
        } else {
            let params = if is_lower { ["L", "y"] } else { ["U", "z"] };
            let [matrix, right] = self.bind(name, params, given)?;
            (matrix, right, None)
        };
        let (l, x) = self.solved_tile(matrix, "L")?;
        let (y, z) = self.solved_tile(right, "y")?;
        if x.shape.len() != 2
            || x.shape[0] != x.shape[1]
            || z.shape.len() > 2
            || z.shape[0] != x.shape[0]
            || x.element != z.element
        {
            return fail(
                "K008",
                format!("`{name}`: the sizes or elements of the tiles do not fit"),
            );
        }
        let mut native = Native::new(name);
        if is_cholesky {
            let upper = self.word(mode, "lower", ["lower", "upper"])? == "upper";
            let template = vec![self.bool_piece(upper)];
            native = native.template(template).forward_only();
        } else {
            native = native.a_macro();
        }
        let inplace = name.ends_with("_inplace");
        if inplace || !is_lower {
            native = native.forward_only();
        }
        let mut outs = Vec::new();
        if !inplace {
            outs.push(self.tile_var(Tile {
                shared: true,
                owner: true,
                ..z
            }));
        }
        self.share(l);
        self.share(y);
        let mut args = vec![NO_FUNCTION];
        if is_lower && !inplace {
            args.push(NO_FUNCTION);
        }
        args.extend([l, y].map(Arg::Var));
        args.extend(outs.iter().map(|out| Arg::Var(*out)));
        self.emit_native(native, &args, &outs);
        Ok(self.result_value(&outs))
    }

    pub(super) fn tile_diag_add(&mut self, given: Given<'_>) -> Res<Value> {
        let [a, d] = self.bind("tile_diag_add", ["a", "d"], given)?;
        let (a, x) = self.needed_tile(a, "a")?;
        let (d, y) = self.needed_tile(d, "d")?;
        let square: &[Extent] = &[y.shape[0], y.shape[0]];
        if x.shape != square || y.shape.len() != 1 || x.element != y.element {
            return fail(
                "K008",
                "`tile_diag_add` takes a square tile and its diagonal",
            );
        }
        let out = self.tile_var(Tile {
            shared: true,
            owner: true,
            ..x
        });
        self.share(a);
        self.share(d);
        let args = [a, d, out].map(Arg::Var);
        self.emit_native(Native::new("tile_diag_add").forward_only(), &args, &[out]);
        Ok(Value::Var(out))
    }
}
