//! What describes a user's kernel: the case, and the kernel's own signature.

use std::path::Path;

use warpsmith_case::{Case, case_of_cuda, kernel_signatures};
use warpsmith_intent::{Language, Specification};

use super::{Target, text};

pub(super) const CASE: Target = Target {
    name: "case",
    run: |data| {
        text(data, |text| {
            if let Ok(case) = Case::parse(Path::new("fuzz.toml"), text) {
                for size in case.sizes.listed.iter().take(8) {
                    let _ = case.instance(size, &case.first_choice());
                }
                let _ = case.verification_sizes(&case.first_choice());
            }
        });
    },
    dictionary: &[
        "source = \"a.cu\"\n",
        "[sizes]\nn = [1, 2]\n",
        "[[arguments]]\n",
        "name = \"x\"\n",
        "direction = \"inout\"\n",
        "type = \"bf16\"\n",
        "shape = [\"n\"]\n",
        "fill = { uniform = [0, 1] }\n",
        "value = \"n\"\n",
        "[launch]\ngrid = \"ceil_div(n, 256)\"\nblock = 256\n",
        "constraints = [\"n % 4 == 0\"]\n",
        "[reference]\n",
        "[tolerance]\n",
        "because = \"\"\n",
        "[tunables]\n",
        "9223372036854775807",
        " ? 1 : ",
        "min(",
    ],
};

pub(super) const INTENT: Target = Target {
    name: "intent",
    run: |data| {
        text(data, |text| {
            for language in [Language::Warp, Language::Cuda] {
                if let Some(found) = Specification::of_code(text, language) {
                    assert_eq!(found.number().and_then(Specification::at), Some(found));
                }
            }
        });
    },
    dictionary: &[
        "@wp.kernel\ndef ",
        "wp.array(dtype=float)",
        "    i = wp.tid()\n",
        "extern \"C\" __global__ void ",
        "1e-",
        "\"\"\"",
    ],
};

pub(super) const SIGNATURE: Target = Target {
    name: "signature",
    run: |data| {
        text(data, |text| {
            for kernel in kernel_signatures(text) {
                // What is written must be read again, whatever the kernel's names are.
                let _ = Case::parse(Path::new("fuzz.toml"), &case_of_cuda("fuzz.cu", &kernel));
            }
        });
    },
    dictionary: &[
        "__global__ void ",
        "template <typename T, int N = 4> ",
        "__launch_bounds__(256, 2) ",
        "const float4* __restrict__ ",
        "unsigned long long ",
        "typedef float real;",
        "using real = double;",
        "/*",
        "*/",
        "//",
        "\"",
        "#define A \\\n",
        "threadIdx.y",
    ],
};
