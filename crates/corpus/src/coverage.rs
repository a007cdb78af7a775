//! How much of the kernel language a data set uses.

/// The builtins that the kernels of the tiers S0 to S5 call: scalars of all types, arrays, control flow,
/// mathematics, atomic operations, vectors, matrices, quaternions, transforms, functions and structs, as
/// counted over the kernels of Warp's own tests and examples.
#[rustfmt::skip]
pub const CORE_BUILTINS: [&str; 162] = [
    "abs", "acos", "add", "add_inplace", "address", "array_store", "asin", "assign",
    "assign_inplace", "atan", "atan2", "atomic_add", "atomic_and", "atomic_cas", "atomic_exch",
    "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "bfloat16", "bit_and",
    "bit_or", "block_dim", "bool", "cast", "cbrt", "ceil", "clamp", "copy", "copysign", "cos",
    "cosh", "cross", "cw_div", "cw_mul", "ddot", "degrees", "dense_chol", "dense_gemm",
    "dense_solve", "dense_subs", "determinant", "diag", "div", "div_approx", "dot", "eig3", "erf",
    "erfc", "erfcinv", "erfinv", "exp", "expect_eq", "expect_near", "expect_neq", "extract",
    "float", "float16", "float32", "float64", "floor", "floordiv", "frac", "identity", "indexref",
    "int", "int16", "int32", "int64", "int8", "inverse", "inverse_approx", "invert", "isfinite",
    "isinf", "isnan", "iter_next", "len", "length", "length_sq", "lerp", "load", "log", "log10",
    "log2", "lower_bound", "lshift", "matrix", "matrix_from_cols", "matrix_from_rows", "max", "min",
    "mod", "mul", "neg", "nonzero", "normalize", "outer", "pos", "pow", "print", "printf", "qr3",
    "quat_from_axis_angle", "quat_from_matrix", "quat_identity", "quat_inverse", "quat_rotate",
    "quat_rotate_inv", "quat_rpy", "quat_slerp", "quat_to_axis_angle", "quat_to_matrix",
    "quaternion", "radians", "range", "rint", "round", "rshift", "sign", "sin", "sinh", "skew",
    "smoothstep", "spatial_adjoint", "spatial_bottom", "spatial_cross", "spatial_cross_dual",
    "spatial_dot", "spatial_top", "spatial_vector", "sqrt", "step", "store", "sub", "sub_inplace",
    "svd2", "svd3", "tan", "tanh", "tid", "trace", "transform_get_rotation",
    "transform_get_translation", "transform_identity", "transform_inverse", "transform_multiply",
    "transform_point", "transform_set_rotation", "transform_set_translation", "transform_vector",
    "transformation", "transpose", "trunc", "uint16", "uint32", "uint64", "uint8", "unot", "vector",
    "where",
];

/// Those of [`CORE_BUILTINS`] that `used` has not.
pub fn unused_builtins<'u>(used: impl Fn(&str) -> bool + 'u) -> Vec<&'static str> {
    CORE_BUILTINS
        .into_iter()
        .filter(|name| !used(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_builtin() {
        let known: Vec<&str> = (0..)
            .map_while(warpsmith_compiler::builtin)
            .map(|builtin| builtin.name)
            .collect();
        for name in CORE_BUILTINS {
            assert!(known.contains(&name), "{name}");
        }
    }
}
