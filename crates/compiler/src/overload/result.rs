//! The type of a call's result, for the rules that need types alone. Constructors, whose result also
//! depends on constant arguments, are worked out where calls are lowered.

use warpsmith_ir::builtin::{Pattern, Row, Rule};
use warpsmith_ir::types::{Mapping, Scalar, Type, TypeId, TypeTable};

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Void,
    One(TypeId),
    Many([TypeId; 4], usize),
    /// No call at all: a constant of this value.
    Constant(i64),
}

/// Why a call that fits an overload's shapes is still wrong: code and message.
#[derive(Debug)]
pub(crate) struct CallError(pub(crate) &'static str, pub(crate) String);

fn fail<T>(code: &'static str, message: impl Into<String>) -> Result<T, CallError> {
    Err(CallError(code, message.into()))
}

/// The scalar that all arguments share.
pub(crate) fn common_scalar(types: &TypeTable, args: &[TypeId]) -> Result<Scalar, CallError> {
    let mut found = None;
    for arg in args {
        if let Some(scalar) = types.scalar_of(*arg) {
            match found {
                None => found = Some(scalar),
                Some(first) if first == scalar => {}
                Some(first) => {
                    return fail(
                        "K008",
                        format!(
                            "arguments of several precisions: {} and {}",
                            first.name(),
                            scalar.name()
                        ),
                    );
                }
            }
        }
    }
    found.map_or_else(|| fail("K008", "no argument has a scalar type"), Ok)
}

fn matrix(types: &mut TypeTable, rows: u32, cols: u32, scalar: Scalar) -> TypeId {
    types.intern(Type::Matrix { rows, cols, scalar })
}

fn vector(types: &mut TypeTable, length: u32, scalar: Scalar) -> TypeId {
    types.intern(Type::Vector { length, scalar })
}

/// The type that a fixed result pattern names.
fn fixed(types: &mut TypeTable, pattern: Pattern) -> Option<TypeId> {
    Some(match pattern {
        Pattern::Scalar(scalar) if !scalar.is_placeholder() => TypeId::scalar(scalar),
        Pattern::Vector(length, scalar) if length > 0 => vector(types, length, scalar),
        Pattern::Matrix(rows, cols, scalar) if rows > 0 => matrix(types, rows, cols, scalar),
        Pattern::Quat(scalar) if !scalar.is_placeholder() => types.intern(Type::Quat(scalar)),
        Pattern::Transform(scalar) if !scalar.is_placeholder() => {
            types.intern(Type::Transform(scalar))
        }
        Pattern::Query(query) => types.intern(Type::Query(query)),
        Pattern::Range => TypeId::RANGE,
        Pattern::Shape => TypeId::SHAPE,
        Pattern::Str => TypeId::STR,
        _ => return None,
    })
}

/// Quaternions and transforms keep Python's `float` apart from `float32` in their C++ spelling.
pub(crate) const PYTHON_SCALAR: &str = "write the scalar type as `wp.float32`";

/// The result of a plain call of `row`. Where arguments have Python's `float` in their type, it is handed on as it
/// is or becomes `wp::float32`; of calls that are not named here it is not known.
pub(crate) fn call_result(
    row: &Row,
    types: &mut TypeTable,
    args: &[TypeId],
) -> Result<Outcome, CallError> {
    let outcome = result_type(row.rule, types, args)?;
    match outcome {
        Outcome::One(result)
            if args.iter().any(|arg| {
                let is_array = matches!(types.get(*arg), Type::MappedArray { .. });
                types.python_types(*arg).is_some() && !is_array
            }) =>
        {
            match row.native {
                "wp::copy" | "wp::where" => Ok(outcome),
                "wp::add"
                | "wp::sub"
                | "wp::mul"
                | "wp::div"
                | "wp::neg"
                | "wp::dot"
                | "wp::length"
                | "wp::normalize"
                | "wp::extract"
                | "wp::quat_inverse"
                | "wp::quat_rotate"
                | "wp::quat_rotate_inv"
                | "wp::quat_to_matrix"
                | "wp::transform_get_translation"
                | "wp::transform_get_rotation"
                | "wp::transform_inverse"
                | "wp::transform_multiply"
                | "wp::transform_point"
                | "wp::transform_vector" => Ok(Outcome::One(types.plain(result))),
                _ => fail("K021", PYTHON_SCALAR),
            }
        }
        outcome => Ok(outcome),
    }
}

/// The result of a call under `rule`, with the types of the arguments (references taken off) in order.
pub(crate) fn result_type(
    rule: Rule,
    types: &mut TypeTable,
    args: &[TypeId],
) -> Result<Outcome, CallError> {
    let one = |ty| Ok(Outcome::One(ty));
    match rule {
        Rule::Void => Ok(Outcome::Void),
        Rule::Fixed(patterns) => {
            let mut results = [TypeId::BOOL; 4];
            for (slot, pattern) in results.iter_mut().zip(patterns) {
                let Some(ty) = fixed(types, *pattern) else {
                    return fail("K021", "a result type that is not supported");
                };
                *slot = ty;
            }
            match patterns.len() {
                0 => Ok(Outcome::Void),
                1 => one(results[0]),
                count => Ok(Outcome::Many(results, count)),
            }
        }
        Rule::FixedU32 => one(TypeId::U32),
        Rule::First => one(args[0]),
        Rule::SameTypes => {
            if args.iter().any(|arg| !types.equal(args[0], *arg)) {
                return fail("K008", "all arguments must have the same type");
            }
            one(args[0])
        }
        Rule::ScalarOfSameTypes => {
            if args.iter().any(|arg| !types.equal(args[0], *arg)) {
                return fail("K008", "all arguments must have the same type");
            }
            one(TypeId::scalar(common_scalar(types, args)?))
        }
        Rule::ScalarOfFirst => one(TypeId::scalar(common_scalar(types, &args[..1])?)),
        Rule::Outer => match (types.get(args[0]), types.get(args[1])) {
            (Type::Vector { length: rows, .. }, Type::Vector { length: cols, .. }) => {
                let scalar = common_scalar(types, args)?;
                one(matrix(types, rows, cols, scalar))
            }
            _ => fail("K008", "two vectors are expected"),
        },
        Rule::Trace | Rule::GetDiag => match types.get(args[0]) {
            Type::Matrix { rows, cols, scalar } if rows == cols => one(if rule == Rule::Trace {
                TypeId::scalar(scalar)
            } else {
                vector(types, rows, scalar)
            }),
            _ => fail("K008", "a square matrix is expected"),
        },
        Rule::Diag => match types.get(args[0]) {
            Type::Vector { length, scalar } => one(matrix(types, length, length, scalar)),
            _ => fail("K008", "a vector is expected"),
        },
        Rule::Transpose => match types.get(args[0]) {
            Type::Matrix { rows, cols, scalar } => one(matrix(types, cols, rows, scalar)),
            _ => fail("K008", "a matrix is expected"),
        },
        Rule::Matrix33OfScalar => {
            let scalar = common_scalar(types, args)?;
            one(matrix(types, 3, 3, scalar))
        }
        Rule::Matrix66OfScalar => {
            let scalar = common_scalar(types, args)?;
            one(matrix(types, 6, 6, scalar))
        }
        Rule::QuatOfScalar => {
            let scalar = common_scalar(types, args)?;
            one(types.intern(Type::Quat(scalar)))
        }
        Rule::TransformOfScalar => {
            let scalar = common_scalar(types, args)?;
            one(types.intern(Type::Transform(scalar)))
        }
        Rule::Vector3OfScalar => {
            let scalar = common_scalar(types, args)?;
            one(vector(types, 3, scalar))
        }
        Rule::FromColumns | Rule::FromRows => {
            let Some(Type::Vector { length, scalar }) = args.first().map(|arg| types.get(*arg))
            else {
                return fail("K008", "all arguments are expected to be vectors");
            };
            if args.iter().any(|arg| *arg != args[0]) {
                return fail(
                    "K008",
                    "all vectors must have the same length and scalar type",
                );
            }
            let count = args.len() as u32;
            one(if rule == Rule::FromColumns {
                matrix(types, length, count, scalar)
            } else {
                matrix(types, count, length, scalar)
            })
        }
        Rule::Svd3 | Rule::Svd2 | Rule::Qr3 | Rule::Eig3 => {
            let scalar = common_scalar(types, args)?;
            let n = if rule == Rule::Svd2 { 2 } else { 3 };
            let (m, v) = (matrix(types, n, n, scalar), vector(types, n, scalar));
            Ok(match rule {
                Rule::Qr3 => Outcome::Many([m, m, m, m], 2),
                Rule::Eig3 => Outcome::Many([m, v, m, m], 2),
                _ => Outcome::Many([m, v, m, m], 3),
            })
        }
        Rule::QuatToAxisAngle => {
            let scalar = common_scalar(types, args)?;
            let axis = vector(types, 3, scalar);
            Ok(Outcome::Many([axis, TypeId::scalar(scalar), axis, axis], 2))
        }
        Rule::Where => {
            // Searches of two kinds become one of their common kind.
            if let (Type::Query(a), Type::Query(b)) = (types.get(args[1]), types.get(args[2]))
                && a != b
                && a.erased() == b.erased()
            {
                return one(types.intern(Type::Query(a.erased())));
            }
            if !types.equal(args[1], args[2]) {
                return fail("K008", "both values must have the same type");
            }
            one(args[1])
        }
        Rule::Address => {
            let Some((element, rank)) = types.array_parts(args[0]) else {
                return fail("K016", "an array is expected");
            };
            if args.len() - 1 != usize::from(rank) {
                return fail(
                    "K011",
                    format!(
                        "{} indices for an array of {rank} dimensions",
                        args.len() - 1
                    ),
                );
            }
            // What points into a Fabric array is written as its elements are.
            let element = match types.python_types(args[0]) {
                Some(which) => types.with_python_types(element, which),
                None => element,
            };
            one(types.reference(element))
        }
        Rule::View => {
            let Some((element, rank)) = types.array_parts(args[0]) else {
                return fail("K016", "an array is expected");
            };
            let indices = &args[1..];
            if indices.len() > usize::from(rank) {
                return fail(
                    "K011",
                    format!(
                        "{} indices for an array of {rank} dimensions",
                        indices.len()
                    ),
                );
            }
            if indices
                .iter()
                .any(|index| !types.is_int(*index) && *index != TypeId::SLICE)
            {
                return fail("K027", "an index must be an integer or a slice");
            }
            let ints = indices.iter().filter(|index| types.is_int(**index)).count() as u8;
            let rank = rank - ints;
            // What a view of a Fabric array leaves is one of its own, plain arrays.
            one(types.intern(match types.get(args[0]) {
                Type::MappedArray {
                    mapping: Mapping::Indexed,
                    ..
                } => Type::MappedArray {
                    mapping: Mapping::Indexed,
                    element,
                    rank,
                },
                _ => Type::Array { element, rank },
            }))
        }
        Rule::ArrayStore | Rule::Atomic | Rule::AtomicCompare => {
            let Some((element, rank)) = types.array_parts(args[0]) else {
                return fail("K016", "an array is expected");
            };
            let values = if rule == Rule::AtomicCompare { 2 } else { 1 };
            let indices = args.len() - 1 - values;
            if indices != usize::from(rank) {
                return fail(
                    "K011",
                    format!("{indices} indices for an array of {rank} dimensions"),
                );
            }
            if args[args.len() - values..]
                .iter()
                .any(|value| !types.equal(element, *value))
            {
                return fail("K019", "the value must have the array's element type");
            }
            if rule == Rule::ArrayStore {
                Ok(Outcome::Void)
            } else {
                one(element)
            }
        }
        Rule::Store => {
            if !types.equal(args[0], args[1]) {
                return fail("K019", "the value must have the type of the place");
            }
            Ok(Outcome::Void)
        }
        Rule::ScalarReference => match types.scalar_of(args[0]) {
            Some(scalar) => one(types.reference(TypeId::scalar(scalar))),
            None => fail("K016", "a vector or matrix is expected"),
        },
        Rule::RowReference => match types.get(args[0]) {
            Type::Matrix { cols, scalar, .. } => {
                let row = vector(types, cols, scalar);
                one(types.reference(row))
            }
            _ => fail("K016", "a matrix is expected"),
        },
        Rule::ExpectEqual => {
            if !types.equal(args[0], args[1]) {
                return fail("K008", "values of different types are never equal");
            }
            Ok(Outcome::Void)
        }
        Rule::Lerp => {
            let t = match types.get(args[2]) {
                Type::Scalar(scalar) => Some(scalar),
                _ => None,
            };
            if !types.equal(args[0], args[1]) || types.scalar_of(args[0]) != t {
                return fail(
                    "K008",
                    "both ends and the parameter must have the same scalar type",
                );
            }
            one(args[0])
        }
        Rule::ScalarTimesCompound => {
            let is_scalar = |ty: TypeId| matches!(types.get(ty), Type::Scalar(_));
            let (scalar, compound) = if is_scalar(args[0]) {
                (args[0], args[1])
            } else {
                (args[1], args[0])
            };
            if types.scalar_of(scalar) != types.scalar_of(compound) {
                return fail(
                    "K008",
                    "the factor must have the scalar type of the other operand",
                );
            }
            one(compound)
        }
        Rule::MatrixTimesVector => match (types.get(args[0]), types.get(args[1])) {
            (
                Type::Matrix { rows, cols, scalar },
                Type::Vector {
                    length,
                    scalar: other,
                },
            ) if cols == length && scalar == other => one(vector(types, rows, scalar)),
            _ => fail("K008", "the sizes or scalar types do not fit"),
        },
        Rule::VectorTimesMatrix => match (types.get(args[0]), types.get(args[1])) {
            (
                Type::Vector {
                    length,
                    scalar: other,
                },
                Type::Matrix { rows, cols, scalar },
            ) if rows == length && scalar == other => one(vector(types, cols, scalar)),
            _ => fail("K008", "the sizes or scalar types do not fit"),
        },
        Rule::MatrixTimesMatrix => match (types.get(args[0]), types.get(args[1])) {
            (
                Type::Matrix {
                    rows,
                    cols: inner,
                    scalar,
                },
                Type::Matrix {
                    rows: other_inner,
                    cols,
                    scalar: other,
                },
            ) if inner == other_inner && scalar == other => one(matrix(types, rows, cols, scalar)),
            _ => fail("K008", "the sizes or scalar types do not fit"),
        },
        Rule::StaticLength => match types.fixed_length(args[0]) {
            Some(length) => Ok(Outcome::Constant(i64::from(length))),
            None => fail("K016", "a value of fixed size is expected"),
        },
        Rule::Removed => fail("K021", "this overload was taken out of the language"),
        Rule::VoxelElement => match types.array_parts(args[3]) {
            Some((element, _)) if types.equal(element, args[4]) => one(element),
            _ => fail("K008", "the background must have the type of the voxels"),
        },
        Rule::Tuple => one(types.tuple(args)),
        Rule::Slice => one(TypeId::SLICE),
        Rule::VectorConstructor
        | Rule::MatrixConstructor
        | Rule::Identity
        | Rule::QuaternionConstructor
        | Rule::QuatIdentity
        | Rule::TransformPq
        | Rule::TransformConstructor
        | Rule::TransformIdentity
        | Rule::SpatialVector
        | Rule::ArrayFromPointer
        | Rule::Zeros
        | Rule::VectorExtract
        | Rule::MatrixExtract
        | Rule::TupleExtract
        | Rule::Cast => fail("K016", "this call needs its constant arguments"),
    }
}
