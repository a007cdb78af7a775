//! Files of a project that `audit` reads: each is the only file of a project.

use std::path::Path;

use warpsmith_doctor::{AuditOptions, FixOptions, audit_project, plan_fixes};

use super::Target;
use crate::scratch;

/// Audits a project, and plans what would fix its findings.
fn audit(root: &Path) {
    let _ = audit_project(root, &AuditOptions::default());
    for suggested in [false, true] {
        let _ = plan_fixes(
            root,
            &FixOptions {
                suggested,
                ..FixOptions::default()
            },
        );
    }
}

pub(super) const CMAKE: Target = Target {
    name: "cmake",
    run: |data| scratch::tree("CMakeLists.txt", data, audit),
    dictionary: &[
        "project(a LANGUAGES CUDA)\n",
        "set(CMAKE_CUDA_ARCHITECTURES ",
        "target_link_libraries(",
        "[==[",
        "]==]",
        "#[[",
        "${A}",
        "$<BUILD_INTERFACE:",
        ";",
        "find_package(CUDA)\n",
    ],
};

pub(super) const COMPOSE: Target = Target {
    name: "compose",
    run: |data| scratch::tree("docker-compose.yml", data, audit),
    dictionary: &[
        "services:\n",
        "  a:\n",
        "image: ",
        "deploy:",
        "resources:",
        "- driver: nvidia\n",
        "|\n",
        ">-\n",
        "&a",
        "*a",
        "<<: ",
        "---\n",
        "? ",
        "!!str",
        "{a: [b, c]}",
    ],
};

pub(super) const WORKFLOW: Target = Target {
    name: "workflow",
    run: |data| scratch::tree(".github/workflows/ci.yml", data, audit),
    dictionary: &[
        "on:\n",
        "jobs:\n",
        "steps:\n",
        "- uses: actions/checkout@v4\n",
        "run: |\n",
        "${{ a }}",
        "strategy:",
        "matrix:",
        "permissions:",
        "secrets.",
        "---\n",
        "&a",
        "*a",
    ],
};

pub(super) const CUDA: Target = Target {
    name: "cuda",
    run: |data| scratch::tree("kernel.cu", data, audit),
    dictionary: &[
        "__global__ void k(",
        "<<<1, 2>>>(",
        "__shared__ ",
        "extern \"C\"",
        "#include <",
        "#if 0\n",
        "#endif\n",
        "//",
        "/*",
        "*/",
        "R\"(",
        ")\"",
        "'\\''",
        "cudaMalloc(",
        "template <",
        "::",
        "__syncthreads();",
    ],
};

pub(super) const DOCKERFILE: Target = Target {
    name: "dockerfile",
    run: |data| scratch::tree("Dockerfile", data, audit),
    dictionary: &[
        "FROM ",
        "RUN ",
        "ARG A=",
        "ENV A=",
        "COPY --from=",
        "<<EOF\n",
        "EOF\n",
        "\\\n",
        "${A:-b}",
        "# syntax=",
        "# escape=`\n",
        "CMD [\"",
        "USER ",
        "HEALTHCHECK ",
        "AS b\n",
    ],
};

pub(super) const PYPROJECT: Target = Target {
    name: "pyproject",
    run: |data| scratch::tree("pyproject.toml", data, audit),
    dictionary: &[
        "[project]\n",
        "dependencies = [",
        "[tool.",
        "[[",
        "]]",
        "requires-python = ",
        "'''",
        "\"torch>=2\"",
        "= {",
        "1979-05-27T07:32:00Z",
    ],
};

pub(super) const REQUIREMENTS: Target = Target {
    name: "requirements",
    run: |data| scratch::tree("requirements.txt", data, audit),
    dictionary: &[
        "torch==2.5.1+cu124\n",
        "--extra-index-url ",
        "-r other.txt\n",
        "-e .",
        "; python_version < ",
        "[cuda12]",
        "~=",
        "===",
        "!=",
        " @ file:///",
        "--hash=sha256:",
        "\\\n",
    ],
};

pub(super) const SETUP_PY: Target = Target {
    name: "setup_py",
    run: |data| scratch::tree("setup.py", data, audit),
    dictionary: &[
        "setup(",
        "CUDAExtension(",
        "extra_compile_args={",
        "'nvcc': [",
        "-gencode=arch=",
        "install_requires=[",
        "\"\"\"",
        "f\"{",
        "os.environ.get(",
        "lambda: ",
    ],
};
