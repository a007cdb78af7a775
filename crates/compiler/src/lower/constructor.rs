//! Constructors and the other builtins whose result or C++ arguments depend on constants: what type
//! results, which arguments are passed on, and with which template arguments.

use super::body::Body;
use super::call::Item;
use crate::overload::{CallError, Outcome, common_scalar};
use warpsmith_ir::builtin::{Braces, Dispatch, Row, Rule};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Number, Template, VarId};

/// How a call goes on to C++.
pub(super) struct Dispatched {
    pub(super) outcome: Outcome,
    pub(super) args: Vec<Item>,
    pub(super) template: Vec<Template>,
}

impl Dispatched {
    /// A call with one result.
    pub(super) fn one(result: TypeId, args: Vec<Item>, template: Vec<Template>) -> Self {
        Self {
            outcome: Outcome::One(result),
            args,
            template,
        }
    }
}

pub(super) type Out<T> = Result<T, CallError>;

pub(super) use crate::overload::PYTHON_SCALAR;

pub(super) fn fail<T>(code: &'static str, message: impl Into<String>) -> Out<T> {
    Err(CallError(code, message.into()))
}

impl Body<'_, '_> {
    /// Works a call out: `items` are bound to parameters of `row` by position, `variadic` to its
    /// variadic one; `ty` is the compound type through which a constructor was named.
    pub(super) fn dispatch(
        &mut self,
        row: &Row,
        items: Vec<(usize, Item)>,
        variadic: Vec<Item>,
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        match row.dispatch {
            Dispatch::Plain | Dispatch::ReferenceFirst => {
                let mut args: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
                args.extend(variadic);
                let outcome = self.plain_outcome(row, &args)?;
                Ok(Dispatched {
                    outcome,
                    args,
                    template: Vec::new(),
                })
            }
            Dispatch::Vector => self.vector(row, &items, variadic, ty),
            Dispatch::Matrix => self.matrix(row, &items, variadic, ty),
            Dispatch::Quaternion => self.quaternion(row, &items, ty),
            Dispatch::Transformation => self.transformation(row, &items, variadic, ty),
            Dispatch::SpatialVector => self.spatial_vector(row, &items, ty),
            Dispatch::ScalarOnly => self.scalar_only(row, &items),
            Dispatch::Identity => self.identity(row, &items),
            Dispatch::FromVectors => {
                let types: Vec<TypeId> =
                    variadic.iter().map(|item| self.item_type(*item)).collect();
                let outcome = crate::overload::result_type(row.rule, self.shared.types, &types)?;
                let Outcome::One(result) = outcome else {
                    return fail("K016", "a matrix is expected");
                };
                let mut template = self.shape_template(result);
                if let Type::Matrix { rows, cols, .. } = self.shared.types.get(result)
                    && rows == cols
                    && (2..=4).contains(&rows)
                {
                    template.drain(..2);
                }
                Ok(Dispatched {
                    outcome,
                    args: variadic,
                    template,
                })
            }
            Dispatch::Zeros => self.zeros(row, &items),
            Dispatch::ArrayFromPointer => {
                fail("K021", "arrays over raw pointers are not supported")
            }
            Dispatch::Extract => self.extract(row, items),
            Dispatch::VectorAssign => self.vector_assign(items),
            Dispatch::MatrixAssign => self.matrix_assign(items),
            Dispatch::Cast => {
                let [(_, value), (_, Item::Type(result, python))] = *items else {
                    return fail("K016", "a value and a type are expected");
                };
                let written = self.as_written(result, python);
                Ok(Dispatched::one(
                    result,
                    vec![value],
                    vec![Template::Type(written)],
                ))
            }
            Dispatch::Volume => self.voxel(row, items),
            Dispatch::TupleExtract => {
                let [(_, Item::Var(tuple)), (_, Item::Var(index))] = *items else {
                    return fail("K016", "a tuple and an index are expected");
                };
                let Type::Tuple(parts) = self.kind(tuple) else {
                    return fail("K016", "a tuple is expected");
                };
                let Some(at) = self.constant_int(index) else {
                    return fail("K020", "the index of a tuple must be a constant");
                };
                let parts = self.shared.types.tuple_parts(parts);
                let Some(part) = usize::try_from(at).ok().and_then(|at| parts.get(at)) else {
                    return fail("K011", "the index is out of the tuple's bounds");
                };
                Ok(Dispatched::one(
                    *part,
                    vec![Item::Var(tuple)],
                    vec![Template::Int(at)],
                ))
            }
        }
    }

    /// A type as a template argument, where Python's own types keep their names.
    fn as_written(&mut self, ty: TypeId, python: bool) -> TypeId {
        match python {
            true => self.shared.types.with_python_types(ty, 1),
            false => ty,
        }
    }

    /// A voxel of a volume, of the type that the last argument names.
    fn voxel(&mut self, row: &Row, mut items: Vec<(usize, Item)>) -> Out<Dispatched> {
        let Some((_, Item::Type(result, python))) = items.pop() else {
            return fail("K016", "`dtype` is a type");
        };
        let written = self.as_written(result, python);
        if let Some(grad) = Self::bound(row, &items, "grad") {
            let wanted = match self.shared.types.get(result) {
                Type::Scalar(scalar) => Type::Vector { length: 3, scalar },
                Type::Vector { length, scalar } => Type::Matrix {
                    rows: length,
                    cols: 3,
                    scalar,
                },
                _ => return fail("K008", "a volume has scalars or vectors"),
            };
            let given = self.shared.types.value_of(self.item_type(grad));
            if self.shared.types.get(given) != wanted {
                return fail("K008", "`grad` must be a gradient of `dtype`");
            }
        }
        let args = items.into_iter().map(|(_, item)| item).collect();
        Ok(Dispatched::one(result, args, vec![Template::Type(written)]))
    }

    /// Whether the arguments stand in braces.
    pub(super) fn braces(&self, row: &Row, args: &[Item], outcome: Outcome) -> bool {
        let shape = match outcome {
            Outcome::One(ty) => match self.shared.types.get(ty) {
                Type::Matrix { rows, cols, .. } => (rows, cols),
                _ => (0, 0),
            },
            _ => (0, 0),
        };
        match row.braces {
            Braces::Never => false,
            Braces::Always => true,
            Braces::MoreThanOne => args.len() > 1,
            Braces::MoreThanFour => args.len() > 4,
            Braces::Matrix => !(args.len() <= 1 || (shape.0 == shape.1 && shape.1 < 5)),
            Braces::FromVectors => shape.0 != shape.1 || shape.0 > 4,
        }
    }

    pub(super) fn constant_int(&self, var: VarId) -> Option<i64> {
        match self.constant(var) {
            Some(Constant::Number(Number::Int(value)) | Constant::Typed(_, Number::Int(value))) => {
                i64::try_from(value).ok()
            }
            _ => None,
        }
    }

    /// The item bound to a parameter by name.
    pub(super) fn bound(row: &Row, items: &[(usize, Item)], name: &str) -> Option<Item> {
        items
            .iter()
            .find(|(at, _)| row.params[*at].name == name)
            .map(|(_, item)| *item)
    }

    /// The scalar type requested: by `dtype`, or by the type that names the constructor.
    pub(super) fn wanted_scalar(
        &self,
        row: &Row,
        items: &[(usize, Item)],
        ty: Option<TypeId>,
    ) -> Out<Option<Scalar>> {
        let of_type = ty.and_then(|ty| self.shared.types.scalar_of(ty));
        match Self::bound(row, items, "dtype") {
            None => Ok(of_type),
            Some(Item::Type(dtype, _)) => match self.shared.types.get(dtype) {
                Type::Scalar(scalar) if of_type.is_none_or(|other| other == scalar) => {
                    Ok(Some(scalar))
                }
                Type::Scalar(_) => fail("K008", "`dtype` contradicts the type"),
                _ => fail("K016", "`dtype` must be a scalar type"),
            },
            Some(_) => fail("K016", "`dtype` must be a type"),
        }
    }

    /// Variables must have the scalar type; constants are converted.
    pub(super) fn check_scalars(&self, args: &[Item], scalar: Scalar) -> Out<()> {
        for arg in args {
            if let Item::Var(var) = *arg
                && self.constant(var).is_none()
                && self.shared.types.scalar_of(self.value_ty(var)) != Some(scalar)
            {
                return fail(
                    "K008",
                    format!(
                        "a value of type {} where {} is needed",
                        self.describe(var),
                        scalar.name()
                    ),
                );
            }
        }
        Ok(())
    }

    /// A scalar constant of another type is declared again with the type that is needed.
    fn cast_constants(&self, args: Vec<Item>, scalar: Scalar) -> Out<Vec<Item>> {
        let wanted = TypeId::scalar(scalar);
        args.into_iter()
            .map(|arg| {
                let Item::Var(var) = arg else { return Ok(arg) };
                let Some(constant) = self.constant(var) else {
                    return Ok(arg);
                };
                if self.ty(var) == wanted
                    || !matches!(self.shared.types.get(self.ty(var)), Type::Scalar(_))
                {
                    return Ok(arg);
                }
                match constant {
                    Constant::Number(number) | Constant::Typed(_, number)
                        if scalar != Scalar::Bool =>
                    {
                        Ok(Item::Constant(wanted, Constant::Typed(scalar, number)))
                    }
                    _ => fail("K005", "a boolean constant among numbers"),
                }
            })
            .collect()
    }

    /// The scalar type that all the values share.
    pub(super) fn shared_scalar(&self, args: &[Item]) -> Out<Scalar> {
        let types: Vec<TypeId> = args.iter().map(|item| self.item_type(*item)).collect();
        common_scalar(self.shared.types, &types)
    }

    pub(super) fn shape_template(&self, ty: TypeId) -> Vec<Template> {
        let scalar = |scalar| Template::Type(TypeId::scalar(scalar));
        match self.shared.types.get(ty) {
            Type::Vector { length, scalar: s } => {
                vec![Template::Int(i64::from(length)), scalar(s)]
            }
            Type::Matrix {
                rows,
                cols,
                scalar: s,
            } => {
                vec![
                    Template::Int(i64::from(rows)),
                    Template::Int(i64::from(cols)),
                    scalar(s),
                ]
            }
            Type::Quat(s) | Type::Transform(s) => vec![scalar(s)],
            _ => Vec::new(),
        }
    }

    fn vector(
        &mut self,
        row: &Row,
        items: &[(usize, Item)],
        args: Vec<Item>,
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        let mut scalar = self.wanted_scalar(row, items, ty)?;
        let of_type = match ty.map(|ty| self.shared.types.get(ty)) {
            Some(Type::Vector { length, .. }) => Some(i64::from(length)),
            _ => None,
        };
        let mut length = match Self::bound(row, items, "length") {
            None => of_type,
            Some(Item::Var(var)) => match self.constant_int(var) {
                Some(value) if of_type.is_none_or(|other| other == value) => Some(value),
                Some(_) => return fail("K008", "`length` contradicts the type"),
                None => return fail("K020", "`length` must be a constant"),
            },
            Some(_) => return fail("K020", "`length` must be a constant"),
        };
        match args.len() {
            0 => scalar = Some(scalar.unwrap_or(Scalar::F32)),
            1 => {
                if let Type::Vector {
                    length: n,
                    scalar: s,
                } = self.shared.types.get(self.item_type(args[0]))
                {
                    if length.is_some_and(|length| length != i64::from(n)) {
                        return fail("K008", "the vector that is copied has another length");
                    }
                    length = Some(i64::from(n));
                    scalar = Some(scalar.unwrap_or(s));
                } else {
                    scalar = Some(self.fill_scalar(&args, scalar)?);
                }
            }
            count => {
                if length.is_some_and(|length| length != count as i64) {
                    return fail(
                        "K008",
                        format!(
                            "{count} values for a vector of length {}",
                            length.unwrap_or(0)
                        ),
                    );
                }
                length = Some(count as i64);
                scalar = Some(self.value_scalar(&args, scalar)?);
            }
        }
        let (Some(length), Some(scalar)) = (length, scalar) else {
            return fail("K020", "the length must be given");
        };
        let length = u32::try_from(length)
            .ok()
            .filter(|n| (1..=1 << 16).contains(n));
        let Some(length) = length else {
            return fail("K020", "the length is out of range");
        };
        let result = self.shared.types.intern(Type::Vector { length, scalar });
        self.constructed(result, args, scalar)
    }

    /// The scalar of a value that fills a compound.
    pub(super) fn fill_scalar(&self, args: &[Item], scalar: Option<Scalar>) -> Out<Scalar> {
        let Type::Scalar(have) = self.shared.types.get(self.item_type(args[0])) else {
            return fail("K007", "a scalar is expected");
        };
        match scalar {
            None => Ok(have),
            Some(scalar) => {
                if have != scalar {
                    self.check_scalars(args, scalar)?;
                }
                Ok(scalar)
            }
        }
    }

    /// The scalar of values that make up a compound.
    pub(super) fn value_scalar(&self, args: &[Item], scalar: Option<Scalar>) -> Out<Scalar> {
        if args
            .iter()
            .any(|arg| !matches!(self.shared.types.get(self.item_type(*arg)), Type::Scalar(_)))
        {
            return fail("K007", "scalars are expected");
        }
        match scalar {
            None => self.shared_scalar(args),
            Some(scalar) => {
                self.check_scalars(args, scalar)?;
                Ok(scalar)
            }
        }
    }

    pub(super) fn constructed(
        &mut self,
        result: TypeId,
        args: Vec<Item>,
        scalar: Scalar,
    ) -> Out<Dispatched> {
        let template = self.shape_template(result);
        let args = self.cast_constants(args, scalar)?;
        Ok(Dispatched::one(result, args, template))
    }

    fn matrix(
        &mut self,
        row: &Row,
        items: &[(usize, Item)],
        args: Vec<Item>,
        ty: Option<TypeId>,
    ) -> Out<Dispatched> {
        let mut scalar = self.wanted_scalar(row, items, ty)?;
        let of_type = match ty.map(|ty| self.shared.types.get(ty)) {
            Some(Type::Matrix { rows, cols, .. }) => Some((i64::from(rows), i64::from(cols))),
            _ => None,
        };
        let mut shape = match Self::bound(row, items, "shape") {
            None => of_type,
            Some(Item::Var(var)) => {
                let dims = self.constant_tuple(var)?;
                let [rows, cols] = *dims else {
                    return fail("K020", "`shape` must be two constants");
                };
                if of_type.is_some_and(|other| other != (rows, cols)) {
                    return fail("K008", "`shape` contradicts the type");
                }
                Some((rows, cols))
            }
            Some(_) => return fail("K020", "`shape` must be two constants"),
        };
        match args.len() {
            0 => scalar = Some(scalar.unwrap_or(Scalar::F32)),
            1 => {
                if let Type::Matrix {
                    rows,
                    cols,
                    scalar: s,
                } = self.shared.types.get(self.item_type(args[0]))
                {
                    let copied = (i64::from(rows), i64::from(cols));
                    if shape.is_some_and(|shape| shape != copied) {
                        return fail("K008", "the matrix that is copied has another shape");
                    }
                    shape = Some(copied);
                    scalar = Some(scalar.unwrap_or(s));
                } else {
                    scalar = Some(self.fill_scalar(&args, scalar)?);
                }
            }
            count => {
                let Some((rows, cols)) = shape else {
                    return fail("K020", "`shape` must be given");
                };
                if rows * cols != count as i64 {
                    return fail("K008", format!("{count} values for a {rows}x{cols} matrix"));
                }
                scalar = Some(self.value_scalar(&args, scalar)?);
            }
        }
        let (Some((rows, cols)), Some(scalar)) = (shape, scalar) else {
            return fail("K020", "`shape` must be given");
        };
        let dimension = |n: i64| u32::try_from(n).ok().filter(|n| (1..=1 << 12).contains(n));
        let (Some(rows), Some(cols)) = (dimension(rows), dimension(cols)) else {
            return fail("K020", "the shape is out of range");
        };
        let result = self
            .shared
            .types
            .intern(Type::Matrix { rows, cols, scalar });
        self.constructed(result, args, scalar)
    }

    /// The constant values of a tuple, or of a single number.
    fn constant_tuple(&self, var: VarId) -> Out<Vec<i64>> {
        let values = match self.tuple_of.iter().find(|(tuple, _)| *tuple == var) {
            Some((_, values)) => values.clone(),
            None => vec![var],
        };
        values
            .into_iter()
            .map(|value| {
                self.constant_int(value)
                    .map_or_else(|| fail("K020", "every dimension must be a constant"), Ok)
            })
            .collect()
    }

    fn scalar_only(&mut self, row: &Row, items: &[(usize, Item)]) -> Out<Dispatched> {
        let scalar = match Self::bound(row, items, "dtype") {
            None => Scalar::F32,
            Some(Item::Type(ty, true)) if ty != TypeId::F32 => return fail("K021", PYTHON_SCALAR),
            Some(Item::Type(ty, _)) => match self.shared.types.get(ty) {
                Type::Scalar(scalar) => scalar,
                _ => return fail("K016", "`dtype` must be a scalar type"),
            },
            Some(_) => return fail("K016", "`dtype` must be a type"),
        };
        let result = self.shared.types.intern(if row.rule == Rule::QuatIdentity {
            Type::Quat(scalar)
        } else {
            Type::Transform(scalar)
        });
        let template = self.shape_template(result);
        // Python's `float` keeps its name in the type of the result.
        let result = match Self::bound(row, items, "dtype") {
            Some(Item::Type(_, true)) => self.shared.types.with_python_types(result, 1),
            _ => result,
        };
        Ok(Dispatched::one(result, Vec::new(), template))
    }

    fn identity(&mut self, row: &Row, items: &[(usize, Item)]) -> Out<Dispatched> {
        let n = match Self::bound(row, items, "n") {
            Some(Item::Var(var)) => self.constant_int(var),
            Some(Item::Constant(_, constant)) => constant
                .as_int()
                .and_then(|value| i64::try_from(value).ok()),
            _ => None,
        };
        let Some(n) = n
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| (1..=1 << 12).contains(n))
        else {
            return fail("K020", "`n` must be a constant");
        };
        let Some(Item::Type(dtype, _)) = Self::bound(row, items, "dtype") else {
            return fail("K016", "`dtype` must be a type");
        };
        let Type::Scalar(scalar) = self.shared.types.get(dtype) else {
            return fail("K016", "`dtype` must be a scalar type");
        };
        let result = self.shared.types.intern(Type::Matrix {
            rows: n,
            cols: n,
            scalar,
        });
        let template = vec![
            Template::Int(i64::from(n)),
            Template::Type(TypeId::scalar(scalar)),
        ];
        Ok(Dispatched::one(result, Vec::new(), template))
    }

    fn zeros(&mut self, row: &Row, items: &[(usize, Item)]) -> Out<Dispatched> {
        let Some(Item::Var(shape)) = Self::bound(row, items, "shape") else {
            return fail("K020", "`shape` must be a constant");
        };
        let Some(Item::Type(element, _)) = Self::bound(row, items, "dtype") else {
            return fail("K016", "`dtype` must be a type");
        };
        let shape = self.constant_tuple(shape)?;
        if shape.is_empty() || shape.len() > 4 {
            return fail("K020", "an array has one to four dimensions");
        }
        let mut dims = [0_u32; 4];
        let mut size = 1_i64;
        for (slot, dim) in dims.iter_mut().zip(&shape) {
            *slot = match u32::try_from(*dim) {
                Ok(dim) if dim < 1 << 31 => dim,
                _ => return fail("K020", "a dimension is out of range"),
            };
            size = size.saturating_mul(*dim);
        }
        let rank = shape.len() as u8;
        let result = self.shared.types.intern(Type::FixedArray {
            element,
            rank,
            dims,
        });
        let args = shape
            .iter()
            .map(|dim| Item::Constant(TypeId::I32, Constant::Number(Number::Int(i128::from(*dim)))))
            .collect();
        let template = vec![Template::Int(size), Template::Type(element)];
        Ok(Dispatched::one(result, args, template))
    }
}
