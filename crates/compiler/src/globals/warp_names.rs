//! The names of the `warp` module and of the few others that kernels use.

use std::sync::OnceLock;

use super::{Global, PythonModule};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::{Name, Names};
use warpsmith_ir::types::{Query, Scalar, Type, TypeId, TypeTable};
use warpsmith_ir::{Constant, Number};

fn float(value: f64) -> Global {
    Global::Value(Constant::Number(Number::Float(value)))
}

/// A name of the `warp` module: types and constants first, then builtins.
pub(crate) fn warp_attribute(name: Name, names: &Names, types: &mut TypeTable) -> Option<Global> {
    if plain_builtins().get(name.index()) == Some(&true) {
        return Some(Global::Builtin(name.index() as u16));
    }
    look_up(name, names, types)
}

/// For each builtin, whether its name in the `warp` module is that and nothing else: looked up once, since
/// a source names them over and over.
fn plain_builtins() -> &'static [bool] {
    static PLAIN: OnceLock<Vec<bool>> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let (names, mut types) = (Names::new(), TypeTable::new());
        let plain = |index: usize| {
            let index = index as u16;
            let found = look_up(Name::of_builtin(index), &names, &mut types);
            matches!(found, Some(Global::Builtin(same)) if same == index)
        };
        (0..BUILTINS.len()).map(plain).collect()
    })
}

fn look_up(name: Name, names: &Names, types: &mut TypeTable) -> Option<Global> {
    let text = names.get(name);
    if let Some(ty) = type_of_name(text, types) {
        return Some(Global::Type(ty));
    }
    if let Some(value) = constant(text) {
        return Some(float(value));
    }
    Some(match text {
        "Any" => return None,
        "Float" => Global::Type(TypeId::scalar(Scalar::AnyFloat)),
        "Int" => Global::Type(TypeId::scalar(Scalar::AnyInt)),
        "Scalar" => Global::Type(TypeId::scalar(Scalar::AnyScalar)),
        "types" => Global::Module(PythonModule::WarpTypes),
        "Volume" => Global::Module(PythonModule::Volume),
        "_src" => Global::Module(PythonModule::WarpSource),
        "handle" => Global::Handle,
        // Functions and classes of the host side that share a name with a builtin; a call resolves
        // them by that name.
        "zeros" | "copy" | "matrix_from_cols" | "matrix_from_rows" | "array" | "tile" => {
            Global::WarpCallable(name)
        }
        _ if name.index() < BUILTINS.len() => {
            // Builtins that the host module does not export are still found by name.
            Global::Builtin(name.index() as u16)
        }
        _ if is_host_name(text) => Global::WarpCallable(name),
        _ => return None,
    })
}

/// Whether a builtin is found as `wp.name` only, and not by its bare name.
pub(crate) fn needs_module(text: &str) -> bool {
    text.ends_with("_inplace")
        || matches!(
            text,
            "inverse_approx"
                | "vector"
                | "matrix"
                | "identity"
                | "quaternion"
                | "transformation"
                | "transform_set_translation_copy"
                | "transform_set_rotation_copy"
                | "spatial_adjoint"
                | "assign"
                | "assign_copy"
                | "closest_point_edge_edge"
                | "iter_next"
                | "tid"
                | "extract"
                | "expect_neq"
                | "div_approx"
                | "cast"
        )
}

/// A name of `warp.types`.
pub(crate) fn warp_types_attribute(
    name: Name,
    names: &Names,
    types: &mut TypeTable,
) -> Option<Global> {
    match names.get(name) {
        "vector" | "matrix" | "quaternion" | "transformation" | "array" => {
            Some(Global::WarpCallable(name))
        }
        "Float" => Some(Global::Type(TypeId::scalar(Scalar::AnyFloat))),
        "Int" => Some(Global::Type(TypeId::scalar(Scalar::AnyInt))),
        "Scalar" => Some(Global::Type(TypeId::scalar(Scalar::AnyScalar))),
        text => type_of_name(text, types).map(Global::Type),
    }
}

/// An attribute of `wp.Volume`: how voxels are sampled.
pub(crate) fn volume_attribute(text: &str) -> Global {
    let mode = match text {
        "CLOSEST" => 0,
        "LINEAR" => 1,
        _ => return Global::Opaque("an attribute of a volume"),
    };
    Global::Value(Constant::Number(Number::Int(mode)))
}

/// A member of `wp.DeterministicMode`.
pub(crate) fn determinism(text: &str) -> Global {
    match text {
        "NOT_GUARANTEED" => Global::Determinism(false),
        "RUN_TO_RUN" | "GPU_TO_GPU" => Global::Determinism(true),
        _ => Global::Opaque("not a member of `DeterministicMode`"),
    }
}

/// The type that `warp` calls by this name.
fn type_of_name(text: &str, types: &mut TypeTable) -> Option<TypeId> {
    if let Some(scalar) = Scalar::from_name(text) {
        return Some(TypeId::scalar(scalar));
    }
    let query = Query::ALL
        .into_iter()
        .find(|query| query.class() == Some(text));
    if let Some(query) = query {
        return Some(types.intern(Type::Query(query)));
    }
    let float_suffix = |suffix: &str| match suffix {
        "" | "f" => Some(Scalar::F32),
        "h" => Some(Scalar::F16),
        "d" => Some(Scalar::F64),
        _ => None,
    };
    let ty = if let Some(suffix) = text.strip_prefix("quat") {
        Type::Quat(float_suffix(suffix)?)
    } else if let Some(suffix) = text.strip_prefix("transform") {
        Type::Transform(float_suffix(suffix)?)
    } else if let Some(suffix) = text.strip_prefix("spatial_vector") {
        Type::Vector {
            length: 6,
            scalar: float_suffix(suffix)?,
        }
    } else if let Some(suffix) = text.strip_prefix("spatial_matrix") {
        Type::Matrix {
            rows: 6,
            cols: 6,
            scalar: float_suffix(suffix)?,
        }
    } else if let Some(rest) = text.strip_prefix("mat") {
        let (n, suffix) = match rest.as_bytes() {
            [a @ b'2'..=b'4', b, ..] if a == b => (u32::from(a - b'0'), &rest[2..]),
            _ => return None,
        };
        Type::Matrix {
            rows: n,
            cols: n,
            scalar: float_suffix(suffix)?,
        }
    } else if let Some(rest) = text.strip_prefix("vec") {
        let length = match rest.as_bytes() {
            [digit @ b'2'..=b'4', ..] => u32::from(digit - b'0'),
            _ => return None,
        };
        let scalar = match &rest[1..] {
            "b" => Scalar::I8,
            "ub" => Scalar::U8,
            "s" => Scalar::I16,
            "us" => Scalar::U16,
            "i" => Scalar::I32,
            "ui" => Scalar::U32,
            "l" => Scalar::I64,
            "ul" => Scalar::U64,
            suffix => float_suffix(suffix)?,
        };
        Type::Vector { length, scalar }
    } else {
        return None;
    };
    Some(types.intern(ty))
}

/// The numerical constants of the `warp` module.
fn constant(text: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match text {
        "e" | "E" => consts::E,
        "pi" | "PI" => consts::PI,
        "half_pi" | "HALF_PI" => consts::FRAC_PI_2,
        "tau" | "TAU" => consts::TAU,
        "inf" | "INF" => f64::INFINITY,
        "nan" | "NAN" => f64::NAN,
        "phi" | "PHI" => 1.618_033_988_749_895,
        "ln2" | "LN2" => consts::LN_2,
        "ln10" | "LN10" => consts::LN_10,
        "log2e" | "LOG2E" => consts::LOG2_E,
        "log10e" | "LOG10E" => consts::LOG10_E,
        _ => return None,
    })
}

/// Names of the host module that module-level code and decorators use, or that shadow a bare name.
fn is_host_name(text: &str) -> bool {
    matches!(
        text,
        "kernel"
            | "get_module"
            | "func"
            | "func_native"
            | "func_grad"
            | "func_replay"
            | "struct"
            | "overload"
            | "constant"
            | "static"
            | "grad"
            | "map"
            | "ref"
            | "address_of"
            | "adjoint"
            | "array1d"
            | "array2d"
            | "array3d"
            | "array4d"
            | "indexedarray"
            | "indexedarray1d"
            | "indexedarray2d"
            | "indexedarray3d"
            | "indexedarray4d"
            | "fabricarray"
            | "fabricarrayarray"
            | "indexedfabricarrayarray"
            | "indexedfabricarray"
            | "fixedarray"
            | "set_module_options"
            | "init"
            | "config"
            | "Function"
            | "Mesh"
            | "Bvh"
            | "HashGrid"
            | "Texture"
            | "Texture1D"
            | "Texture2D"
            | "Texture3D"
            | "MeshQuery"
            | "MeshQueryPoint"
            | "MeshQueryRay"
            | "MeshQueryAABB"
            | "BvhQuery"
            | "HashGridQuery"
            | "DeterministicMode"
            | "empty"
            | "ones"
            | "full"
            | "launch"
            | "utils"
            | "tile_stack"
            | "transform_expand"
            | "clone"
    )
}

/// A name of Python's `math`.
pub(crate) fn math_attribute(text: &str) -> Global {
    match text {
        "pi" | "e" | "tau" | "inf" | "nan" => constant(text).map_or(Global::Callable, float),
        _ => Global::Callable,
    }
}

/// A name of NumPy; its types have no place in a kernel.
pub(crate) fn numpy_attribute(text: &str) -> Global {
    match text {
        "pi" | "e" | "inf" | "nan" => constant(text).map_or(Global::Callable, float),
        _ => Global::Opaque("a NumPy object"),
    }
}

/// A name of `typing`.
pub(crate) fn typing_attribute(text: &str) -> Global {
    match text {
        "Any" => Global::Type(TypeId::scalar(Scalar::Any)),
        "TYPE_CHECKING" => Global::Value(Constant::Bool(false)),
        "Tuple" => Global::Tuple,
        _ => Global::Opaque("a typing construct"),
    }
}

/// One of Python's own names.
pub(crate) fn python_builtin(text: &str) -> Option<Global> {
    Some(match text {
        "float" => Global::PythonType(TypeId::F32),
        "int" => Global::PythonType(TypeId::I32),
        "bool" => Global::PythonType(TypeId::BOOL),
        "abs" | "len" | "max" | "min" | "pow" | "print" | "range" | "reversed" | "round"
        | "sum" | "tuple" | "type" | "list" | "dict" | "set" | "str" | "zip" | "enumerate"
        | "map" | "any" | "all" | "divmod" | "isinstance" | "slice" | "sorted" | "filter"
        | "iter" | "next" | "getattr" | "hasattr" | "hash" | "id" | "input" | "object" | "open"
        | "ord" | "repr" | "super" | "vars" | "bin" | "hex" | "oct" | "chr" | "complex"
        | "bytes" => Global::Callable,
        _ => return None,
    })
}
