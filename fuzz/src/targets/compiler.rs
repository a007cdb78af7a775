//! Kernels as Python source and as IR text.

use warpsmith_compiler::{Options, compile, emit_cpu, emit_cuda, ir, kernels};

use super::{Target, text};

pub(super) const PYTHON: Target = Target {
    name: "python",
    run: |data| {
        text(data, |source| {
            let _ = kernels(source, &Options::default());
            let Ok(module) = compile(source, &Options::default()) else {
                return;
            };
            emit_cuda(&module);
            emit_cpu(&module);
            let violations = ir::verify(&module);
            assert!(violations.is_empty(), "accepted, but {}", violations[0]);
            // What the compiler prints it reads back.
            let printed = ir::print(&module);
            let again = ir::parse(&printed).expect("printed IR is read back");
            assert_eq!(ir::print(&again), printed, "the text changes on the way");
        });
    },
    dictionary: &[
        "wp.",
        "wp.tid()",
        "wp.array(dtype=float)",
        "@wp.kernel\n",
        "@wp.func\n",
        "@wp.struct\n",
        "def ",
        "    ",
        "\n    ",
        "return ",
        "for i in range(",
        "while ",
        "if ",
        "else:",
        "lambda ",
        "wp.vec3(",
        "wp.mat33(",
        "wp.quat(",
        "wp.atomic_add(",
        "wp.static(",
        "Any",
        "+=",
        "**",
        "//",
        "[::-1]",
        "*",
        "not ",
        "is None",
        ".x",
        "int(",
        "float(",
        "wp.zeros(shape=",
    ],
};

pub(super) const IR_TEXT: Target = Target {
    name: "ir_text",
    run: |data| {
        text(data, |source| {
            let Ok(module) = ir::parse(source) else {
                return;
            };
            if ir::verify(&module).is_empty() {
                emit_cuda(&module);
                emit_cpu(&module);
            }
        });
    },
    dictionary: &[
        "module",
        "kernel",
        "func",
        "struct",
        "var",
        "const",
        "%0",
        "%4294967295",
        "->",
        "call",
        "branch",
        "loop",
        "i32",
        "f32",
        "vec",
        "array",
    ],
};
