//! CUDA kernels on a GPU: right ones, wrong ones, and one that never ends.
//!
//! The reference is a second kernel, so that nothing but the GPU is needed.

use std::time::Duration;

use warpsmith_case::{Program, Settings, Verdict, Verifier};
use warpsmith_device::{CudaDevice, Device, DeviceChoice};

use crate::folder::{Folder, from_x_to_y};

/// Host code around it, no `extern "C"`, a template: what people's files are like.
const SCALE: &str = "#include <stdio.h>\n#include <math.h>\n\
    template <typename T>\n__device__ T twice(T x) { return x + x; }\n\
    __global__ void scale(const float* x, float* y, int n) {\n\
    __shared__ float part[64];\n\
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
    part[threadIdx.x] = i < n ? x[i] : 0.0f;\n    __syncthreads();\n\
    if (i < n) y[i] = twice(part[threadIdx.x]) + 1.0f;\n}\n\
    int main() { printf(\"host\\n\"); return 0; }\n";

const CASE: &str = concat!(
    r#"source = "scale.cu"
kernel = "scale"
reference = { kernel = "reference.cu:scale" }
[sizes]
n = [1000, 4096]
"#,
    from_x_to_y!(),
    r#"[[arguments]]
name = "n"
type = "i32"
value = "n"
[launch]
grid = "ceil_div(n, block_x)"
block = 64
"#
);

pub(crate) fn is_missing() -> bool {
    let required = std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some_and(|value| value == "1");
    !required && CudaDevice::open(0).is_err()
}

/// The first verdict that is not right, over all sizes and two inputs.
fn first_wrong(source: &str) -> Option<Verdict> {
    let folder = Folder::new(&[
        ("scale.cu", source),
        ("reference.cu", SCALE),
        ("scale.toml", CASE),
    ]);
    let case = folder.case("scale.toml");
    let device = Device::open(DeviceChoice::Cuda(0)).unwrap();
    let settings = Settings {
        limit: Duration::from_secs(5),
        ..Settings::default()
    };
    let mut verifier = Verifier::prepare(&case, &[], &device, settings).unwrap();
    for size in &case.verification_sizes(&[]).unwrap().sizes {
        for round in 0..2 {
            let verdict = verifier
                .check(size, 7 + round as u64, round, false)
                .unwrap()
                .verdict;
            if !verdict.is_right() {
                return Some(verdict);
            }
        }
    }
    None
}

pub(crate) fn a_right_kernel_with_host_code_is_right() {
    assert_eq!(first_wrong(SCALE), None);
}

pub(crate) fn wrong_kernels_are_found_on_the_gpu() {
    let mutant = |from: &str, to: &str| {
        let source = SCALE.replacen(from, to, 1);
        assert_ne!(source, SCALE);
        first_wrong(&source)
    };
    let verdict = mutant("if (i < n) y[i]", "y[i]");
    assert!(
        matches!(verdict, Some(Verdict::OutOfBounds { .. })),
        "{verdict:?}"
    );
    let verdict = mutant("if (i < n) y[i]", "if (i < n - 1) y[i]");
    assert!(
        matches!(verdict, Some(Verdict::Wrong { .. })),
        "{verdict:?}"
    );
    let verdict = mutant("+ 1.0f;", "+ 1.0f, ((float*)x)[i] = 0.0f;");
    assert!(
        matches!(verdict, Some(Verdict::InputChanged { .. })),
        "{verdict:?}"
    );
    // Shared memory that nobody wrote holds no zeros.
    let verdict = mutant(
        "part[threadIdx.x] = i < n ? x[i] : 0.0f;",
        "if (threadIdx.x > 0) part[threadIdx.x] = i < n ? x[i] : 0.0f;",
    );
    assert!(
        matches!(verdict, Some(Verdict::Wrong { .. })),
        "{verdict:?}"
    );
}

pub(crate) fn a_case_is_measured_on_the_gpu() {
    let folder = Folder::new(&[
        ("scale.cu", SCALE),
        ("reference.cu", SCALE),
        ("scale.toml", CASE),
    ]);
    let case = folder.case("scale.toml");
    let device = Device::open(DeviceChoice::Cuda(0)).unwrap();
    let program = Program::prepare(&case, &[], &device, Settings::default()).unwrap();
    let instance = case.instance(&case.sizes.listed[1], &[]).unwrap();
    let contents = instance.contents(1, 0, false).unwrap();
    let mut prepared = program.prepared(&instance, &contents).unwrap();
    prepared.run_once().unwrap();
    prepared.stream().unwrap().synchronize().unwrap();
    let warpsmith_workload::Output::U8(bytes) = prepared.output().unwrap() else {
        panic!();
    };
    let x = contents[0].as_ref().unwrap();
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes[..4].try_into().unwrap());
    assert_eq!(number(&bytes), number(x) * 2.0 + 1.0);
}
