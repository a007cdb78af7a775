//! `warpsmith new`: a case from a kernel's own signature.
//!
//! What the signature says is written down; what it cannot say (which pointer has which shape, how
//! many blocks) is a guess, and a comment that begins with `check:` says so.

use std::fmt::Write;

use warpsmith_compiler::Type;
use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_measure::kernel_file::Scalar;

use crate::element::is_float;
use crate::signature::{KernelParameter, KernelSignature};
use crate::warp_element::WarpElement;

/// The text of a case for a kernel of the CUDA file `file`.
pub fn case_of_cuda(file: &str, kernel: &KernelSignature) -> String {
    let dims: Vec<&KernelParameter> = kernel
        .parameters
        .iter()
        .filter(|parameter| !parameter.pointer && parameter.scalar.is_some_and(is_size))
        .collect();
    let names: Vec<&str> = match dims.is_empty() {
        true => vec!["n"],
        false => dims
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect(),
    };
    let block = kernel.launch_bounds.unwrap_or(256);
    let mut text = head(file, &kernel.instance);
    if !kernel.template.is_empty() {
        let parameters = kernel.template.join(", ");
        let _ = writeln!(
            text,
            "# check: the kernel is a template of {parameters}; `kernel` names an instance."
        );
    }
    sizes(&mut text, &names);
    for parameter in &kernel.parameters {
        argument(&mut text, parameter, &names, kernel);
    }
    text.push_str(
        "\n# check: blocks and threads of a launch; whole numbers or expressions.\n[launch]\n",
    );
    let total = names.join(" * ");
    if kernel.two_dimensional && names.len() >= 2 {
        let _ = writeln!(
            text,
            "grid = [\"ceil_div({}, block_x)\", \"ceil_div({}, block_y)\"]\nblock = [16, 16]",
            names[1], names[0]
        );
    } else if kernel.block_per_row {
        let _ = writeln!(text, "grid = \"{}\"\nblock = {block}", names[0]);
    } else {
        let _ = writeln!(
            text,
            "grid = \"ceil_div({total}, block_x)\"\nblock = {block}"
        );
    }
    if kernel.dynamic_shared {
        text.push_str("# check: bytes of `extern __shared__`.\nshared = \"4 * block_x\"\n");
    }
    text.push_str(TAIL);
    text
}

/// The text of a case for a Warp-style kernel of `file`; `Err` names a parameter that has no form here.
pub fn case_of_warp(file: &str, kernel: &str, module: &Module) -> Result<String, String> {
    let rank = match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => (*launch_rank as usize).clamp(1, 4),
        FunctionKind::Device { .. } => 1,
    };
    let function = &module.kernel;
    let parameters = &function.vars[..function.params as usize];
    let mut arrays = rank;
    for var in parameters {
        if let Type::Array { rank, .. } = module.types.get(var.ty) {
            arrays = arrays.max(usize::from(rank));
        }
    }
    let names = &["n", "m", "k", "l"][..arrays];
    let mut text = head(file, kernel);
    sizes(&mut text, names);
    for var in parameters {
        let name = var.name.map_or("argument", |name| module.names.get(name));
        let described = module.types.describe(var.ty, &module.names);
        let refuse = || format!("`{name}` is {described}, which a case cannot describe");
        match module.types.get(var.ty) {
            Type::Array { element, rank } => {
                let element = WarpElement::of(&module.types, element).ok_or_else(refuse)?;
                let dimensions = names[..usize::from(rank)].iter();
                let shape: Vec<String> = dimensions
                    .map(|name| format!("\"{name}\""))
                    .chain(element.extents.iter().map(usize::to_string))
                    .collect();
                let _ = write!(
                    text,
                    "\n[[arguments]]\nname = \"{name}\"\ndirection = \"inout\" # check: in, out or inout\n\
                     type = \"{}\"\nshape = [{}] # check\n",
                    element.scalar.name(),
                    shape.join(", ")
                );
            }
            _ => {
                let WarpElement { scalar, extents } =
                    WarpElement::of(&module.types, var.ty).ok_or_else(refuse)?;
                let one = if is_float(scalar) { "1.0" } else { "1" };
                let value = match extents[..] {
                    [] if is_size(scalar) => format!("\"{}\"", names[0]),
                    [] => one.to_owned(),
                    _ => {
                        let count = extents.iter().product();
                        format!("[{}]", vec![one; count].join(", "))
                    }
                };
                let _ = write!(
                    text,
                    "\n[[arguments]]\nname = \"{name}\"\ntype = \"{}\"\nvalue = {value} # check\n",
                    scalar.name()
                );
            }
        }
    }
    let dims: Vec<String> = names[..rank]
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let _ = write!(
        text,
        "\n[launch]\ndim = [{}] # check: threads\n",
        dims.join(", ")
    );
    text.push_str(TAIL);
    Ok(text)
}

const TAIL: &str = r#"
# How far a result may be from the reference; without this it follows from rounding.
# [tolerance]
# rel = 1e-5
# because = "sums of at most 4096 terms"

# What one launch must at least move and compute, for rates.
# [cost]
# flops = "…"

# What `warpsmith tune` may choose: macros by name, compiler options by `-`.
# [tunables]
# BLOCK = [64, 128, 256, 512]
"#;

fn head(file: &str, kernel: &str) -> String {
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.split('.').next().unwrap_or(stem);
    let plain = kernel.split('<').next().unwrap_or(kernel);
    format!(
        "# What `{plain}` is to do; `warpsmith verify`, `bench` and `tune` read this file.\n\
         source = {file:?}\nkernel = {kernel:?}\n\
         # A NumPy or PyTorch function that gives the right answer; its parameters are named as below.\n\
         # reference = \"{stem}_reference.py:{plain}\"\n"
    )
}

fn sizes(text: &mut String, names: &[&str]) {
    let values: &[i64] = match names.len() {
        1 => &[1000, 65_536, 1_048_576],
        2 => &[64, 1000, 4096],
        3 => &[64, 250],
        _ => &[4, 16],
    };
    if names.len() > 3 {
        // Every combination of so many would be thousands.
        text.push_str(
            "\n# check: the sizes to measure; `verify` adds awkward ones around them.\nsizes = [\n",
        );
        for value in values {
            let pairs: Vec<String> = names
                .iter()
                .map(|name| format!("{name} = {value}"))
                .collect();
            let _ = writeln!(text, "    {{ {} }},", pairs.join(", "));
        }
        text.push_str("]\n");
        return;
    }
    text.push_str(
        "\n# check: the sizes to measure; `verify` adds awkward ones around them.\n[sizes]\n",
    );
    for name in names {
        let _ = writeln!(text, "{name} = {values:?}");
    }
}

fn argument(
    text: &mut String,
    parameter: &KernelParameter,
    names: &[&str],
    kernel: &KernelSignature,
) {
    let unknown = parameter.scalar.is_none();
    let ty = parameter.scalar.unwrap_or(Scalar::F32).name();
    let guess = if unknown {
        " # check: the file says "
    } else {
        ""
    };
    let written = if unknown {
        parameter.written.as_str()
    } else {
        ""
    };
    let _ = write!(text, "\n[[arguments]]\nname = {:?}\n", parameter.name);
    if parameter.pointer {
        let seen = parameter.body_use;
        let direction = if parameter.constant {
            "direction = \"in\"".to_owned()
        } else if parameter.accumulated {
            "direction = \"inout\" # check: the kernel adds to it\nfill = \"zeros\"".to_owned()
        } else if seen.elsewhere || !(seen.reads || seen.writes) {
            // The body does not tell.
            let other = |other: &KernelParameter| other.pointer && other.constant;
            match kernel.parameters.iter().any(other) {
                true => "direction = \"out\" # check: `inout` where it is also read".to_owned(),
                false => "direction = \"inout\" # check: in, out or inout".to_owned(),
            }
        } else {
            match (seen.reads, seen.writes) {
                (true, true) => "direction = \"inout\" # check: it is read and written".to_owned(),
                (true, false) => "direction = \"in\"".to_owned(),
                (false, _) => "direction = \"out\"".to_owned(),
            }
        };
        let mut shape: Vec<String> = shape(parameter, names, kernel)
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        if parameter.components > 1 {
            shape.push(parameter.components.to_string());
        }
        let _ = writeln!(
            text,
            "{direction}\ntype = \"{ty}\"{guess}{written}\nshape = [{}] # check",
            shape.join(", ")
        );
    } else if names.contains(&parameter.name.as_str()) {
        let _ = writeln!(text, "type = \"{ty}\"\nvalue = {:?}", parameter.name);
    } else {
        let value = if parameter.scalar.is_none_or(is_float) {
            "1.0"
        } else {
            "1"
        };
        let _ = writeln!(
            text,
            "type = \"{ty}\"{guess}{written}\nvalue = {value} # check"
        );
    }
}

/// The dimensions of an array: all, or what they are in a product of matrices, M × K by K × N.
fn shape<'a>(
    parameter: &KernelParameter,
    names: &[&'a str],
    kernel: &KernelSignature,
) -> Vec<&'a str> {
    let named = |letter: &str| {
        names
            .iter()
            .copied()
            .find(|name| name.eq_ignore_ascii_case(letter))
    };
    let (3, Some(m), Some(n), Some(k)) = (names.len(), named("m"), named("n"), named("k")) else {
        return names.to_vec();
    };
    let factors = kernel
        .parameters
        .iter()
        .filter(|one| one.pointer && one.constant);
    match factors.take(2).position(|one| one.name == parameter.name) {
        Some(0) => vec![m, k],
        Some(_) => vec![k, n],
        None if parameter.constant => vec![n],
        None => vec![m, n],
    }
}

fn is_size(scalar: Scalar) -> bool {
    matches!(
        scalar,
        Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use warpsmith_compiler::{Options, compile};

    use super::*;
    use crate::description::Case;
    use crate::signature::kernel_signatures;

    #[test]
    fn what_is_written_can_be_read() {
        let text = "__global__ void softmax(float* out, const float* x, int rows, int cols, float scale) {\n\
                    extern __shared__ float s[]; int row = blockIdx.x; }\n\
                    template <int T> __global__ void tile(float4* a, const foo_t* b) { int y = threadIdx.y; }\n\
                    __global__ void one(double* x, size_t n) { size_t i = blockIdx.x * blockDim.x; }\n\
                    __global__ void many(float* x, int a, int b, int c, int d, int e, int f, bool g, char h) { atomicAdd(x, 1.0f); }";
        for kernel in kernel_signatures(text) {
            let written = case_of_cuda("softmax.cu", &kernel);
            let case = Case::parse(Path::new("softmax.toml"), &written)
                .unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(case.arguments.len(), kernel.parameters.len());
            assert_eq!(case.kernel.as_deref(), Some(kernel.instance.as_str()));
        }
    }

    #[test]
    fn arrays_of_addresses_and_what_no_compiler_sees_are_told() {
        let text = "__global__ void each(const float** rows, float x[], float m[4][4], int n) {}\n\
                    #if 0\n__global__ void gone(int n) {\n#ifdef A\n#endif\n}\n#else\n\
                    __global__ void there(int n) {}\n#endif\n__global__ void last(int n) {}\n\
                    # if 0 // old\n__global__ void older() {}\n#endif\n";
        let found = kernel_signatures(text);
        let names: Vec<(&str, u32)> = found.iter().map(|k| (k.name.as_str(), k.line)).collect();
        assert_eq!(names, [("each", 1), ("there", 8), ("last", 10)]);
        let case = case_of_cuda("a.cu", &found[0]);
        let told = "type = \"f32\" # check: the file says float**";
        assert_eq!(case.matches(told).count(), 1, "{case}");
    }

    #[test]
    fn a_type_that_branches_give_several_meanings_is_to_be_checked() {
        let text = "#if ENABLE_BF16\ntypedef __nv_bfloat16 floatX;\n#else\ntypedef float floatX;\n#endif\n\
                    typedef float real;\n__global__ void k(floatX* x, real* y) { x[0] = y[0]; }";
        let case = case_of_cuda("a.cu", &kernel_signatures(text)[0]);
        assert!(case.contains("# check: the file says floatX"), "{case}");
        assert_eq!(case.matches("the file says").count(), 1, "{case}");
    }

    #[test]
    fn the_body_says_what_is_read_and_written() {
        let text = "__global__ void transpose(float *odata, float *idata, int width, int height) {\n\
                    odata[1] = idata[0]; }\n\
                    __global__ void sgemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta,\n\
                    float *C) { C += 4 * N; C[0] = alpha * A[0] * B[1] + beta * C[0]; }\n\
                    __global__ void sum(const float* x, float* total, int n) { total[0] += x[0]; }\n\
                    __global__ void hidden(const float* x, float* y, int n) { write(y, x); }";
        let cases: Vec<Case> = kernel_signatures(text)
            .iter()
            .map(|kernel| Case::parse(Path::new("a.toml"), &case_of_cuda("a.cu", kernel)).unwrap())
            .collect();
        let directions = |case: &Case| -> Vec<String> {
            let arguments = case.arguments.iter();
            arguments
                .filter_map(|one| one.direction().map(|direction| format!("{direction:?}")))
                .collect()
        };
        assert_eq!(directions(&cases[0]), ["Out", "In"]);
        assert_eq!(directions(&cases[1]), ["In", "In", "InOut"]);
        assert_eq!(directions(&cases[2]), ["In", "InOut"]);
        assert_eq!(directions(&cases[3]), ["In", "Out"]);
        let written = case_of_cuda("a.cu", &kernel_signatures(text)[1]);
        for shape in [r#"["M", "K"]"#, r#"["K", "N"]"#, r#"["M", "N"]"#] {
            assert!(written.contains(shape), "{written}");
        }
    }

    #[test]
    fn warp_kernels_have_cases_too() {
        let source = "import warp as wp\n\n@wp.kernel\ndef add(a: wp.array2d(dtype=float), \
                      b: wp.array(dtype=wp.int32), n: int, s: float):\n    i, j = wp.tid()\n    \
                      a[i, j] = a[i, j] + s\n";
        let module = compile(source, &Options::default()).unwrap();
        let written = case_of_warp("add.py", "add", &module).unwrap();
        let case = Case::parse(Path::new("add.toml"), &written).unwrap();
        assert_eq!(case.sizes.names, ["n", "m"]);
        assert_eq!(case.arguments.len(), 4);
    }

    #[test]
    fn vectors_and_matrices_are_numbers_with_more_dimensions() {
        let source = "import warp as wp\n\n@wp.kernel\ndef push(x: wp.array(dtype=wp.vec3), \
                      r: wp.array2d(dtype=wp.mat22d), q: wp.array(dtype=wp.quat), g: wp.vec3, \
                      m: wp.mat22, k: wp.vec2i):\n    x[wp.tid()] = x[wp.tid()] + g\n";
        let module = compile(source, &Options::default()).unwrap();
        let written = case_of_warp("push.py", "push", &module).unwrap();
        for line in [
            "type = \"f32\"\nshape = [\"n\", 3] # check",
            "type = \"f64\"\nshape = [\"n\", \"m\", 2, 2] # check",
            "type = \"f32\"\nshape = [\"n\", 4] # check",
            "name = \"g\"\ntype = \"f32\"\nvalue = [1.0, 1.0, 1.0] # check",
            "name = \"m\"\ntype = \"f32\"\nvalue = [1.0, 1.0, 1.0, 1.0] # check",
            "name = \"k\"\ntype = \"i32\"\nvalue = [1, 1] # check",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        let case = Case::parse(Path::new("push.toml"), &written).unwrap();
        assert_eq!(case.arguments.len(), 6);
        let spoilt = |from: &str, to: &str| {
            let text = written.replace(from, to);
            Case::parse(Path::new("push.toml"), &text)
                .unwrap_err()
                .to_string()
        };
        let problem = spoilt("[1, 1]", "[1, 3000000000]");
        assert!(problem.contains("3000000000 does not fit i32"), "{problem}");
        let problem = spoilt("[1, 1]", "[1, 1.5]");
        assert!(problem.contains("1.5 does not fit i32"), "{problem}");
        let problem = spoilt("[1, 1]", "[]");
        assert!(
            problem.contains("a vector has at least one number"),
            "{problem}"
        );
    }
}
