//! What all calls on tiles share: arguments by name, constants, and the statement itself.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{CPU_BLOCK, Extent, Tile, Type, TypeId};
use warpsmith_ir::{Constant, Number, Op, Piece, Text, VarId};

/// The arguments of a call: by position, and by name.
pub(super) type Given<'g> = (&'g [Value], &'g [(Name, Value)]);

/// An operand of the C++ call.
#[derive(Clone, Copy)]
pub(super) enum Arg {
    Var(VarId),
    /// Becomes a constant once the result has its number.
    Int(i64),
    Constant(TypeId, Constant),
    /// Text that stands in the call and in its adjoint.
    Raw(Piece),
    /// A function and its adjoint.
    Function(Name, Name),
}

/// The C++ function of a call.
pub(super) struct Native {
    name: String,
    namespace: &'static str,
    template: Vec<Piece>,
    template_in_adjoint: bool,
    replayed: bool,
    differentiable: bool,
}

impl Native {
    /// A function with an adjoint, and without template arguments.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: "wp::",
            template: Vec::new(),
            template_in_adjoint: false,
            replayed: true,
            differentiable: true,
        }
    }

    pub(super) fn template(mut self, template: Vec<Piece>) -> Self {
        self.template = template;
        self
    }

    /// The adjoint takes the template arguments too.
    pub(super) fn templated_adjoint(mut self) -> Self {
        self.template_in_adjoint = true;
        self
    }

    /// There is no adjoint.
    pub(super) fn forward_only(mut self) -> Self {
        self.differentiable = false;
        self
    }

    /// A replay leaves the call out.
    pub(super) fn once(mut self) -> Self {
        self.replayed = false;
        self
    }

    /// A macro, which has no namespace.
    pub(super) fn a_macro(mut self) -> Self {
        self.namespace = "";
        self
    }
}

impl Body<'_, '_> {
    /// Binds arguments to parameters.
    pub(super) fn bind<const N: usize>(
        &self,
        what: &str,
        params: [&str; N],
        (positional, named): Given<'_>,
    ) -> Res<[Option<Value>; N]> {
        let mut bound = [None; N];
        if positional.len() > N {
            return fail("K007", format!("`{what}` takes at most {N} arguments"));
        }
        for (slot, value) in bound.iter_mut().zip(positional) {
            *slot = Some(*value);
        }
        for (name, value) in named {
            let name = self.shared.names.get(*name);
            let Some(at) = params.iter().position(|param| *param == name) else {
                return fail("K007", format!("`{what}` has no parameter `{name}`"));
            };
            if bound[at].is_some() {
                return fail("K007", format!("`{name}` of `{what}` is given twice"));
            }
            bound[at] = Some(*value);
        }
        Ok(bound)
    }

    /// Arguments in the order of the parameters, none of which is left out before another.
    pub(super) fn in_order(
        &self,
        what: &str,
        params: &[&str],
        (positional, named): Given<'_>,
    ) -> Res<Vec<Value>> {
        let mut values = positional.to_vec();
        if values.len() + named.len() > params.len() {
            return fail(
                "K007",
                format!("`{what}` takes at most {} arguments", params.len()),
            );
        }
        for (name, _) in named {
            let name = self.shared.names.get(*name);
            if !params[positional.len()..].contains(&name) {
                return fail("K007", format!("`{what}` has no parameter `{name}` here"));
            }
        }
        for param in &params[positional.len()..] {
            let mut given = named.iter();
            let Some((_, value)) = given.find(|(name, _)| self.shared.names.get(*name) == *param)
            else {
                break;
            };
            values.push(*value);
        }
        if values.len() < positional.len() + named.len() {
            return fail(
                "K007",
                format!("`{what}` lacks an argument before the last"),
            );
        }
        Ok(values)
    }

    /// The value of a parameter, by position or by name.
    pub(super) fn given_as(
        &self,
        at: usize,
        name: &str,
        (positional, named): Given<'_>,
    ) -> Option<Value> {
        let mut by_name = named.iter();
        positional.get(at).copied().or_else(|| {
            by_name
                .find(|(known, _)| self.shared.names.get(*known) == name)
                .map(|(_, value)| *value)
        })
    }

    /// An argument that must be there.
    pub(super) fn needed(&self, value: Option<Value>, name: &str) -> Res<Value> {
        value.map_or_else(|| fail("K007", format!("`{name}` must be given")), Ok)
    }

    /// A variable that must be there.
    pub(super) fn needed_var(&self, value: Option<Value>, name: &str) -> Res<VarId> {
        let value = self.needed(value, name)?;
        self.single(value)
    }

    /// A tile that must be there.
    pub(super) fn needed_tile(&self, value: Option<Value>, name: &str) -> Res<(VarId, Tile)> {
        let var = self.needed_var(value, name)?;
        match self.tile_of(var) {
            Some(tile) => Ok((var, tile)),
            None => fail("K008", format!("`{name}` must be a tile")),
        }
    }

    pub(in super::super) fn tile_of(&self, var: VarId) -> Option<Tile> {
        self.shared.types.tile_of(self.value_ty(var)).cloned()
    }

    /// Puts a tile into shared memory.
    pub(super) fn share(&mut self, var: VarId) {
        let ty = self.value_ty(var);
        self.shared.types.share_tile(ty, true);
    }

    /// The values of a tuple.
    pub(super) fn tuple_values(&self, var: VarId) -> Option<Vec<VarId>> {
        let found = self.tuple_of.iter().find(|(tuple, _)| *tuple == var);
        found.map(|(_, values)| values.clone())
    }

    /// A shape of constants, by a tuple or by one number.
    pub(super) fn tile_shape(&mut self, value: Option<Value>) -> Res<Vec<Extent>> {
        let numbers = self.constant_numbers(value, "shape")?;
        if numbers.is_empty() || numbers.len() > 6 {
            return fail("K020", "a tile has between one and six dimensions");
        }
        // Templates of C++ take 32 bits, and a tile lies in registers or in shared memory.
        let mut elements = 1_i64;
        for number in &numbers {
            elements = elements.saturating_mul(*number);
            if *number < 1 || elements > i64::from(i32::MAX) {
                return fail("K020", "a dimension of the tile's shape is out of range");
            }
        }
        Ok(numbers.into_iter().map(Extent::fixed).collect())
    }

    /// Constant integers, by a tuple or by one number.
    pub(super) fn constant_numbers(&mut self, value: Option<Value>, name: &str) -> Res<Vec<i64>> {
        let var = match self.needed(value, name)? {
            Value::Int(number) => return Ok(vec![number]),
            other => self.single(other)?,
        };
        let values = self.tuple_values(var).unwrap_or_else(|| vec![var]);
        let mut numbers = Vec::with_capacity(values.len());
        for value in values {
            match self.constant_int(value) {
                Some(number) => numbers.push(number),
                None => return fail("K020", format!("`{name}` must be a constant")),
            }
        }
        Ok(numbers)
    }

    /// Whether `shape` and `offset` are both tuples or both numbers, as the overloads have them.
    pub(super) fn same_form(&self, shape: Option<Value>, offset: Option<Value>) -> Res<()> {
        let is_tuple = |value: Option<Value>| match value {
            Some(Value::Var(var)) => Some(matches!(self.kind(var), Type::Tuple(_))),
            Some(_) => Some(false),
            None => None,
        };
        match (is_tuple(shape), is_tuple(offset)) {
            (Some(a), Some(b)) if a != b => fail(
                "K007",
                "the shape and the offset must both be tuples or both be integers",
            ),
            _ => Ok(()),
        }
    }

    /// Offsets, one per dimension; a constant in a tuple becomes a constant of its own.
    pub(super) fn offsets(&mut self, value: Option<Value>, rank: usize) -> Res<Vec<Arg>> {
        let args = match value {
            None => vec![Arg::Int(0); rank],
            Some(Value::Int(number)) => vec![Arg::Int(number)],
            Some(value) => {
                let var = self.single(value)?;
                match self.tuple_values(var) {
                    None => vec![self.index_arg(var)?],
                    Some(values) => {
                        let mut args = Vec::with_capacity(values.len());
                        for value in values {
                            args.push(match self.constant(value) {
                                Some(Constant::Number(Number::Int(number))) => {
                                    match i64::try_from(number) {
                                        Ok(number) => Arg::Int(number),
                                        Err(_) => return fail("K020", "an offset is out of range"),
                                    }
                                }
                                None => self.index_arg(value)?,
                                Some(_) => return fail("K027", "an offset must be an integer"),
                            });
                        }
                        args
                    }
                }
            }
        };
        if args.len() != rank {
            return fail(
                "K011",
                format!("{} offsets for {rank} dimensions", args.len()),
            );
        }
        Ok(args)
    }

    /// A 32-bit integer.
    pub(super) fn index_arg(&self, var: VarId) -> Res<Arg> {
        if self.value_ty(var) != TypeId::I32 {
            return fail("K027", "an offset must be a 32-bit integer");
        }
        Ok(Arg::Var(var))
    }

    /// A string of a few known ones.
    pub(super) fn word(
        &self,
        value: Option<Value>,
        default: &'static str,
        known: [&'static str; 2],
    ) -> Res<&'static str> {
        let Some(value) = value else {
            return Ok(default);
        };
        let var = self.single(value)?;
        if let Some(Constant::Str(text)) = self.constant(var) {
            let text = self.shared.names.get(text);
            if let Some(word) = known.into_iter().find(|word| *word == text) {
                return Ok(word);
            }
        }
        fail(
            "K020",
            format!(
                "one of the strings {:?} and {:?} is expected",
                known[0], known[1]
            ),
        )
    }

    /// Whether a new tile lies in shared memory.
    pub(super) fn storage(&self, value: Option<Value>) -> Res<bool> {
        Ok(self.word(value, "register", ["register", "shared"])? == "shared")
    }

    /// A constant `True` or `False`.
    pub(super) fn flag(&self, value: Option<Value>, default: bool) -> Res<bool> {
        let Some(value) = value else {
            return Ok(default);
        };
        match self.constant(self.single(value)?) {
            Some(Constant::Bool(flag)) => Ok(flag),
            _ => fail("K020", "a constant `True` or `False` is expected"),
        }
    }

    /// The type that `dtype` names, and how a template spells it: Python's own keep their names.
    pub(super) fn element_type(&mut self, value: Option<Value>) -> Res<(TypeId, Piece)> {
        let python = match value {
            None => TypeId::F32,
            Some(Value::PythonType(ty)) => ty,
            Some(Value::Type(ty)) => {
                if !self.is_element(ty) {
                    return fail(
                        "K021",
                        "tiles are made of numbers, vectors, matrices and structs",
                    );
                }
                return Ok((ty, Piece::Type(ty)));
            }
            Some(_) => return fail("K016", "`dtype` must be a type"),
        };
        let word = match python {
            TypeId::F32 => "float",
            TypeId::I32 => "int",
            _ => "bool",
        };
        Ok((python, self.piece(word)))
    }

    pub(super) fn is_element(&self, ty: TypeId) -> bool {
        let types = &self.shared.types;
        let is_value =
            types.is_compound(ty) || matches!(types.get(ty), Type::Scalar(_) | Type::Struct(_));
        !types.is_generic(ty) && is_value
    }

    pub(in crate::lower) fn piece(&mut self, text: &str) -> Piece {
        Piece::Text(self.shared.names.intern(text))
    }

    pub(super) fn bool_piece(&mut self, flag: bool) -> Piece {
        self.piece(if flag { "true" } else { "false" })
    }

    pub(super) fn number_piece(&mut self, number: i64) -> Piece {
        self.piece(&number.to_string())
    }

    /// A length, which may depend on the block.
    pub(super) fn extent_piece(&mut self, extent: Extent) -> Piece {
        match extent.number() {
            Some(number) => self.number_piece(number),
            None => {
                let [cuda, cpu] = [self.shared.types.gpu_block(), CPU_BLOCK]
                    .map(|threads| extent.value(threads).to_string())
                    .map(|text| self.shared.names.intern(&text));
                Piece::Either(cuda, cpu)
            }
        }
    }

    /// A new tile.
    pub(super) fn tile_var(&mut self, tile: Tile) -> VarId {
        let ty = self.shared.types.tile(tile);
        self.add_var(ty)
    }

    /// Writes the call: operands get their numbers, references are loaded.
    pub(super) fn emit_native(&mut self, native: Native, args: &[Arg], outs: &[VarId]) {
        let mut numbered = Vec::with_capacity(args.len());
        for arg in args {
            numbered.push(match *arg {
                Arg::Int(number) => Arg::Var(self.add_int(number)),
                Arg::Constant(ty, constant) => Arg::Var(self.add_typed_constant(ty, constant)),
                other => other,
            });
        }
        let mut loaded = Vec::with_capacity(args.len());
        for arg in &numbered {
            loaded.push(match *arg {
                Arg::Var(var) => Arg::Var(self.load(var)),
                other => other,
            });
        }
        let name = self.piece(&format!("{}{}", native.namespace, native.name));
        let adjoint = self.piece(&format!("{}adj_{}", native.namespace, native.name));
        let [comma, open, close] = [", ", "(", ")"].map(|text| self.piece(text));
        let mut template = Vec::new();
        if !native.template.is_empty() {
            template.push(self.piece("<"));
            join(
                &mut template,
                comma,
                native.template.iter().map(|piece| [*piece].into()),
            );
            template.push(self.piece(">"));
        }
        let primal = |arg: &Arg| match *arg {
            Arg::Var(var) => vec![Piece::Var(var)],
            Arg::Raw(piece) => vec![piece],
            Arg::Function(name, _) => vec![Piece::Text(name)],
            Arg::Int(_) | Arg::Constant(..) => Vec::new(),
        };
        let dual = |arg: &Arg| match *arg {
            Arg::Var(var) => vec![Piece::Dual(var)],
            Arg::Function(_, dual) => vec![Piece::Text(dual)],
            _ => primal(arg),
        };
        let mut forward = Vec::new();
        if let [out] = *outs {
            forward.push(Piece::Var(out));
            forward.push(self.piece(" = "));
        }
        forward.push(name);
        forward.extend_from_slice(&template);
        forward.push(open);
        let several = if outs.len() > 1 { outs } else { &[] };
        let out_vars = |outs: &[VarId]| -> Vec<Vec<Piece>> {
            outs.iter().map(|out| vec![Piece::Var(*out)]).collect()
        };
        join(
            &mut forward,
            comma,
            loaded.iter().map(primal).chain(out_vars(several)),
        );
        forward.push(close);
        let mut reverse = Vec::new();
        if native.differentiable && !args.is_empty() {
            reverse.push(adjoint);
            if native.template_in_adjoint {
                reverse.extend_from_slice(&template);
            }
            reverse.push(open);
            let duals = outs.iter().map(|out| vec![Piece::Dual(*out)]);
            join(
                &mut reverse,
                comma,
                loaded
                    .iter()
                    .map(primal)
                    .chain(out_vars(several))
                    .chain(numbered.iter().map(dual))
                    .chain(duals),
            );
            reverse.push(close);
        }
        self.texts.push(Text { forward, reverse });
        self.ops.push(Op::Text {
            text: self.texts.len() as u32 - 1,
            replayed: native.replayed,
        });
    }
}

/// Appends groups of pieces with `comma` between them.
fn join(out: &mut Vec<Piece>, comma: Piece, groups: impl Iterator<Item = Vec<Piece>>) {
    for (at, group) in groups.enumerate() {
        if at > 0 {
            out.push(comma);
        }
        out.extend(group);
    }
}
