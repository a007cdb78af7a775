//! The launch ABI in Rust is the layout that a C++ compiler gives the runtime header's types.

use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::launch_abi::{
    Argument, ArgumentBuffer, ArrayArgument, LaunchBounds, ParameterType, ScalarType,
};
use warpsmith_compiler::runtime_header::prologue;

pub(crate) fn trials() -> Vec<Trial> {
    let missing = Command::new("g++").arg("--version").output().is_err();
    vec![
        Trial::test("sizes and alignments", sizes_and_alignments).with_ignored_flag(missing),
        Trial::test("fields of arrays and bounds", fields).with_ignored_flag(missing),
        Trial::test("a packed buffer, read by C++", packed_buffer).with_ignored_flag(missing),
    ]
}

/// Compiles a program with the prologue that it needs, runs it, and gives the numbers that it prints.
fn run(program: &str) -> Result<Vec<usize>, Failed> {
    let folder = tempfile::tempdir()?;
    let (source, binary) = (
        folder.path().join("layout.cpp"),
        folder.path().join("layout"),
    );
    std::fs::write(&source, prologue(program) + program)?;
    let built = Command::new("g++")
        .args(["-std=c++17", "-w"])
        .arg(&source)
        .arg("-o")
        .arg(&binary)
        .output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    let output = Command::new(&binary).output()?;
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .map(|number| Ok(number.parse()?))
        .collect()
}

fn expect(found: &[usize], expected: &[usize]) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("C++ has {found:?}, Rust has {expected:?}").into())
    }
}

fn structure() -> ParameterType {
    use ParameterType::{Array, Scalar, Struct, Vector};
    let inner = Struct(vec![Scalar(ScalarType::Uint8), Scalar(ScalarType::Int16)]);
    Struct(vec![
        Scalar(ScalarType::Bool),
        Vector {
            length: 3,
            scalar: ScalarType::Float32,
        },
        Scalar(ScalarType::Float64),
        inner,
        Array,
        Scalar(ScalarType::Float16),
    ])
}

const STRUCTURE: &str = "struct Inner { wp::uint8 a; wp::int16 b; };
struct S { bool a; wp::vec_t<3, wp::float32> b; wp::float64 c; Inner d; wp::array_t<wp::int8> e; wp::float16 f; };
";

fn sizes_and_alignments() -> Result<(), Failed> {
    use ParameterType::{Array, Matrix, Quaternion, Scalar, Transform, Vector};
    let types = [
        ("bool", Scalar(ScalarType::Bool)),
        ("wp::int64", Scalar(ScalarType::Int64)),
        ("wp::uint16", Scalar(ScalarType::Uint16)),
        ("wp::float16", Scalar(ScalarType::Float16)),
        ("wp::bfloat16", Scalar(ScalarType::Bfloat16)),
        (
            "wp::vec_t<5, wp::float64>",
            Vector {
                length: 5,
                scalar: ScalarType::Float64,
            },
        ),
        (
            "wp::mat_t<3, 2, wp::int8>",
            Matrix {
                rows: 3,
                columns: 2,
                scalar: ScalarType::Int8,
            },
        ),
        ("wp::quat_t<wp::float32>", Quaternion(ScalarType::Float32)),
        (
            "wp::transform_t<wp::float64>",
            Transform(ScalarType::Float64),
        ),
        ("wp::array_t<wp::float32>", Array),
        ("S", structure()),
    ];
    let mut program = format!("{STRUCTURE}int main() {{\n");
    for (name, _) in &types {
        program += &format!("printf(\"%zu %zu\\n\", sizeof({name}), alignof({name}));\n");
    }
    program += "}\n";
    let expected: Vec<usize> = types
        .iter()
        .flat_map(|(_, kind)| [kind.bytes(), kind.alignment()])
        .collect();
    expect(&run(&program)?, &expected)
}

fn fields() -> Result<(), Failed> {
    let ParameterType::Struct(fields) = structure() else {
        return Err("not a structure".into());
    };
    let program = format!(
        "{STRUCTURE}using A = wp::array_t<wp::float64>; using B = wp::launch_bounds_t<3>;
int main() {{
    printf(\"%zu %zu %zu %zu %zu %zu \", offsetof(A, data), offsetof(A, grad), offsetof(A, shape), offsetof(A, strides), offsetof(A, ndim), offsetof(A, flags));
    printf(\"%zu %zu %zu %zu \", offsetof(B, shape), offsetof(B, size), offsetof(B, coord_mult), sizeof(B));
    printf(\"%zu %zu %zu %zu %zu %zu\", offsetof(S, a), offsetof(S, b), offsetof(S, c), offsetof(S, d), offsetof(S, e), offsetof(S, f));
}}\n"
    );
    let mut expected = vec![0, 8, 16, 32, 48, 50, 0, 16, 24, 32];
    expected.extend(ParameterType::field_offsets(&fields).map(|(offset, _)| offset));
    expect(&run(&program)?, &expected)
}

fn packed_buffer() -> Result<(), Failed> {
    let bounds = LaunchBounds::new(&[5, 6, 7])?;
    let parameters = [
        ParameterType::Scalar(ScalarType::Uint8),
        ParameterType::Array,
        structure(),
    ];
    let array = ArrayArgument::contiguous(0x1000, 0x2000, &[2, 3], 8)?;
    let arguments = [
        Argument::Value(vec![9]),
        Argument::Array(array.clone()),
        Argument::Struct(vec![
            Argument::Zero,
            Argument::Value(
                [1.0_f32, 2.0, 3.0]
                    .iter()
                    .flat_map(|x| x.to_ne_bytes())
                    .collect(),
            ),
            Argument::Zero,
            Argument::Struct(vec![
                Argument::Value(vec![4]),
                Argument::Value(500_i16.to_ne_bytes().to_vec()),
            ]),
            Argument::Array(array),
            Argument::Zero,
        ]),
    ];
    let buffer = ArgumentBuffer::pack(&bounds, &parameters, &arguments, None)?;
    let bytes: Vec<String> = buffer.bytes().iter().map(u8::to_string).collect();
    // A structure with the parameters as members has them where a parameter buffer has them.
    let program = format!(
        "{STRUCTURE}struct P {{ wp::launch_bounds_t<3> dim; wp::uint8 x; wp::array_t<wp::float64> a; S s; }};
alignas(P) const unsigned char bytes[] = {{ {} }};
int main() {{
    const P& p = *reinterpret_cast<const P*>(bytes);
    printf(\"%zu %zu %u %zu \", sizeof(bytes), sizeof(P), p.dim.shape[2], p.dim.size);
    printf(\"%d %zu %zu %d %d %d \", p.x, (size_t)p.a.data, (size_t)p.a.grad, p.a.shape[1], p.a.strides[0], p.a.ndim);
    printf(\"%d %d %d %zu\", (int)p.s.b.c[2], p.s.d.a, p.s.d.b, (size_t)p.s.e.grad);
}}\n",
        bytes.join(", ")
    );
    let size = buffer.bytes().len();
    expect(
        &run(&program)?,
        &[
            size, size, 7, 210, 9, 0x1000, 0x2000, 3, 24, 2, 3, 4, 500, 0x2000,
        ],
    )
}
