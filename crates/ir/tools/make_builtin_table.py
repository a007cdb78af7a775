#!/usr/bin/env python3
"""Writes `src/builtin/table.rs` from the overload facts of warp-lang 1.19.0.

    python3 crates/ir/tools/make_builtin_table.py builtins.json > crates/ir/src/builtin/table.rs
    rustfmt crates/ir/src/builtin/table.rs

`builtins.json` maps each builtin's name to its overload rows in resolution order.  Rows over types
that the compiler does not know (tiles, textures, fabric and indexed arrays) are left out:
no value of such a type can exist in an accepted program, so they could never match.
"""
import json
import re
import sys

SCALARS = {"b": "Bool", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "u2": "U16",
           "u4": "U32", "u8": "U64", "f2": "F16", "f4": "F32", "f8": "F64", "bf2": "BF16",
           "s?": "AnyScalar", "f?": "AnyFloat", "i?": "AnyInt"}
QUERIES = {"bvhq": "Bvh", "bvhqa": "BvhAabb", "bvhqc": "BvhCapsule", "bvhqr": "BvhRay", "bvhqs": "BvhSphere",
           "hgq": "HashGrid", "hgqd": "HashGridDouble", "hgqh": "HashGridHalf", "Mesh": "Mesh", "mqab": "MeshAabb",
           "mqa": "MeshBoxes", "mqp": "MeshPoint", "mqr": "MeshRay", "mqs": "MeshSphere"}
SC = "(b|i1|i2|i4|i8|u1|u2|u4|u8|f2|f4|f8|bf2|s\\?|f\\?|i\\?)"

LAMBDAS = {"argmin": "FixedU32", "argmax": "FixedU32", "skew": "Matrix33OfScalar", "transpose": "Transpose",
           "quat_from_axis_angle": "QuatOfScalar", "quat_from_matrix": "QuatOfScalar", "quat_rpy": "QuatOfScalar",
           "quat_inverse": "QuatOfScalar", "quat_rotate": "Vector3OfScalar", "quat_rotate_inv": "Vector3OfScalar",
           "quat_slerp": "QuatOfScalar", "quat_to_matrix": "Matrix33OfScalar",
           "transform_get_translation": "Vector3OfScalar", "transform_get_rotation": "QuatOfScalar",
           "transform_multiply": "TransformOfScalar", "transform_point": "Vector3OfScalar",
           "transform_vector": "Vector3OfScalar", "spatial_adjoint": "Matrix66OfScalar",
           "spatial_top": "Vector3OfScalar", "spatial_bottom": "Vector3OfScalar", "load": "First"}
RULES = {"sametypes_create_value_func.fn": "SameTypes", "scalar_sametypes_value_func": "ScalarOfSameTypes",
         "float_sametypes_value_func": "ScalarOfSameTypes", "outer_value_func": "Outer",
         "inverse_value_func": "First", "determinant_value_func": "ScalarOfFirst", "trace_value_func": "Trace",
         "diag_value_func": "Diag", "get_diag_value_func": "GetDiag", "vector_value_func": "VectorConstructor",
         "matrix_value_func": "MatrixConstructor", "matrix_transform_value_func": "Removed",
         "identity_value_func": "Identity", "svd3_value_func": "Svd3", "svd2_value_func": "Svd2",
         "qr3_value_func": "Qr3", "eig3_value_func": "Eig3", "quaternion_value_func": "QuaternionConstructor",
         "quat_identity_value_func": "QuatIdentity", "quat_to_axis_angle_value_func": "QuatToAxisAngle",
         "transformation_pq_value_func": "TransformPq", "transformation_value_func": "TransformConstructor",
         "transform_identity_value_func": "TransformIdentity", "spatial_vector_value_func": "SpatialVector",
         "printf_value_func": "Void", "copy_value_func": "First", "select_value_func": "Removed",
         "where_value_func": "Where", "array_value_func": "ArrayFromPointer", "zeros_value_func": "Zeros",
         "address_value_func": "Address", "view_value_func": "View", "array_store_value_func": "ArrayStore",
         "store_value_func": "Store", "create_atomic_op_value_func.fn": "Atomic",
         "vector_extract_value_func": "VectorExtract", "matrix_extract_value_func": "MatrixExtract",
         "tuple_extract_value_func": "TupleExtract", "vector_index_value_func": "ScalarReference",
         "matrix_index_row_value_func": "RowReference", "matrix_index_value_func": "ScalarReference",
         "matrix_ij_value_func": "ScalarReference", "expect_eq_value_func": "ExpectEqual",
         "lerp_create_value_func.fn": "Lerp", "scalar_mul_create_value_func.fn": "ScalarTimesCompound",
         "matvec_mul_value_func": "MatrixTimesVector", "mul_vecmat_value_func": "VectorTimesMatrix",
         "matmat_mul_value_func": "MatrixTimesMatrix", "static_len_value_func": "StaticLength",
         "cast_value_func": "Cast",
         "volume_value_func": "Cast", "volume_lookup_value_func": "Cast", "volume_sample_grad_value_func": "Cast",
         "volume_store_value_func": "Void", "volume_sample_index_value_func": "VoxelElement",
         "volume_sample_grad_index_value_func": "VoxelElement", "tuple_value_func": "Tuple", "slice_value_func": "Slice"}
DISPATCH = {None: "Plain", "atomic_op_dispatch_func": "Plain", "vector_dispatch_func": "Vector",
            "matrix_dispatch_func": "Matrix", "matrix_from_vecs_dispatch_func": "FromVectors",
            "identity_dispatch_func": "Identity", "quaternion_dispatch_func": "Quaternion",
            "quat_identity_dispatch_func": "ScalarOnly", "transform_identity_dispatch_func": "ScalarOnly",
            "transformation_dispatch_func": "Transformation", "spatial_vector_dispatch_func": "SpatialVector",
            "printf_dispatch_func": "Plain", "array_dispatch_func": "ArrayFromPointer",
            "zeros_dispatch_func": "Zeros", "store_dispatch_func": "ReferenceFirst",
            "load_dispatch_func": "ReferenceFirst", "vector_extract_dispatch_func": "Extract",
            "matrix_extract_dispatch_func": "Extract", "vector_index_dispatch_func": "ReferenceFirst",
            "matrix_ij_dispatch_func": "ReferenceFirst", "matrix_index_row_dispatch_func": "ReferenceFirst",
            "vector_assign_dispatch_func": "VectorAssign", "matrix_assign_dispatch_func": "MatrixAssign",
            "cast_dispatch_func": "Cast", "volume_dispatch_func": "Volume",
            "volume_lookup_dispatch_func": "Volume", "volume_sample_grad_dispatch_func": "Volume", "tuple_dispatch_func": "Plain",
            "tuple_extract_dispatch_func": "TupleExtract"}
INIT_LIST = {("vector", True): "MoreThanFour", ("transformation", True): "MoreThanOne",
             ("spatial_vector", False): "Always"}


def pattern(code):
    if code in SCALARS:
        return f"Pattern::Scalar(Scalar::{SCALARS[code]})"
    fixed = {"?": "Any", "str": "Str", "rg": "Range", "sh": "Shape", "tuple": "AnyTuple",
             "tpl2i4?": "IntTuple", "tpl2i4i4": "IntPair"}
    if code in fixed:
        return f"Pattern::{fixed[code]}"
    if code in QUERIES:
        return f"Pattern::Query(Query::{QUERIES[code]})"
    if m := re.fullmatch(r"v(\d|\?)" + SC, code):
        return f"Pattern::Vector({0 if m[1] == '?' else m[1]}, Scalar::{SCALARS[m[2]]})"
    if m := re.fullmatch(r"m(\d|\?)(\d|\?)" + SC, code):
        r, c = (0 if x == "?" else x for x in (m[1], m[2]))
        return f"Pattern::Matrix({r}, {c}, Scalar::{SCALARS[m[3]]})"
    if m := re.fullmatch("q" + SC, code):
        return f"Pattern::Quat(Scalar::{SCALARS[m[1]]})"
    if m := re.fullmatch("t" + SC, code):
        return f"Pattern::Transform(Scalar::{SCALARS[m[1]]})"
    if code == "a1?":
        return "Pattern::Array(Scalar::Any)"
    if m := re.fullmatch("a1" + SC, code):
        return f"Pattern::Array(Scalar::{SCALARS[m[1]]})"
    return None


def default(text):
    if text == "None":
        return "Default::Absent"
    if text in ("True", "False"):
        return f"Default::Bool({text.lower()})"
    if m := re.fullmatch(r"uint32\((\d+)\)", text):
        return f"Default::U32({m[1]})"
    if re.fullmatch(r"-?\d+", text):
        return f"Default::Int({text})"
    if text == "inf":
        return "Default::Float(f64::INFINITY)"
    return f"Default::Float({float(text)!r})"


def row(name, r):
    if r.get("lto") or r.get("adjoint_template_args"):
        return None
    rule = r["ret_rule"]
    variadic = r.get("variadic", False)
    if rule == "fixed":
        rets = r["ret"] if isinstance(r["ret"], list) else [] if r["ret"] is None else [r["ret"]]
        rets = [pattern(x) for x in rets]
        if None in rets:
            return None
        ret = f"Rule::Fixed(&[{', '.join(rets)}])"
    elif rule == "<lambda>":
        if name not in LAMBDAS:
            return None
        ret = f"Rule::{LAMBDAS[name]}"
    elif name == "atomic_cas":
        ret = "Rule::AtomicCompare"
    elif rule == "matrix_from_vecs_create_value_func.fn":
        ret = "Rule::FromColumns" if name == "matrix_from_cols" else "Rule::FromRows"
    elif rule in RULES:
        ret = f"Rule::{RULES[rule]}"
    else:
        return None
    if r.get("dispatch") not in DISPATCH:
        return None
    params = []
    for param, code in r["args"].items():
        p = pattern(code)
        if p is None:
            return None
        d = r.get("defaults", {}).get(param)
        params.append(f'Param {{ name: "{param.lstrip("*")}", pattern: {p}, '
                      f'default: {default(d) if d is not None else "Default::Required"} }}')
    init = "Never"
    if r.get("init_list"):
        init = {"matrix_initializer_list_func": "Matrix",
                "matrix_from_vecs_initializer_list_func": "FromVectors"}.get(r["init_list"]) \
            or INIT_LIST[(name, variadic)]
    ns, _, bare = r["native"].rpartition("::")
    adjoint = f"{ns}::adj_{bare}" if ns else f"adj_{bare}"
    return (f'Row {{ native: "{r["native"]}", adjoint: "{adjoint}", params: &[{", ".join(params)}], rule: {ret}, '
            f'dispatch: Dispatch::{DISPATCH[r.get("dispatch")]}, braces: Braces::{init}, '
            f'variadic: {str(variadic).lower()}, differentiable: {str(not r.get("no_adjoint", False)).lower()}, '
            f'adjoint_takes_output: {str(r.get("adjoint_takes_output", False)).lower()}, '
            f'skip_replay: {str(r.get("skip_replay", False)).lower()} }}')


def main():
    facts = json.load(open(sys.argv[1], encoding="utf-8"))
    print("//! Builtins and their overload rows in resolution order.\n//!\n"
          "//! Generated by `crates/ir/tools/make_builtin_table.py`; do not edit by hand.\n")
    print("use super::row::{Braces, Builtin, Default, Dispatch, Param, Pattern, Row, Rule};\n"
          "use crate::types::{Query, Scalar};\n")
    names = sorted(facts)
    print(f"/// Every builtin, sorted by name.\npub static BUILTINS: [Builtin; {len(names)}] = [")
    for name in names:
        rows = facts[name]
        if isinstance(rows, dict):
            print(f'Builtin {{ name: "{name}", rows: &[], python: true }},')
            continue
        out, seen = [], set()
        for r in rows:
            text = row(name, r)
            if text and text not in seen:
                seen.add(text)
                out.append(text)
        print(f'Builtin {{ name: "{name}", rows: &[{", ".join(out)}], python: false }},')
    print("];")


main()
