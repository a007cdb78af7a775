//! Patches that once broke somebody's code: each project here is a shape that was seen in public.

use std::fs;

use crate::project::small;
use warpsmith_doctor::{
    AuditOptions, Baseline, FixOptions, PatchError, apply_patches, audit_project, audit_sarif,
    audit_text, plan_fixes, unified_diff,
};

/// The suggested patch of a project; a second plan on the result must be empty.
fn fixed(files: &[(&str, &str)]) -> String {
    let directory = small(files);
    let all = FixOptions {
        suggested: true,
        ..FixOptions::default()
    };
    let plan = plan_fixes(directory.path(), &all).unwrap();
    apply_patches(directory.path(), &plan.patches).unwrap();
    let again = plan_fixes(directory.path(), &all).unwrap();
    assert!(again.patches.is_empty(), "{}", unified_diff(&again.patches));
    unified_diff(&plan.patches)
}

/// Lines that a patch adds to a file.
fn added(patch: &str) -> Vec<&str> {
    let lines = patch.lines();
    lines
        .filter_map(|l| l.strip_prefix('+'))
        .filter(|l| !l.starts_with("++"))
        .collect()
}

#[test]
fn a_parameter_list_is_not_made_into_a_call() {
    let patch = fixed(&[(
        "half.cu",
        "__device__ at::Half __shfl_up(const at::Half var, unsigned int delta) {\n  return at::Half(__shfl_up(var.x, delta));\n}\n",
    )]);
    assert!(!patch.contains("_sync("), "{patch}");
}

#[test]
fn masks_of_32_lanes_stay_out_of_code_that_amd_compiles() {
    let call = "__device__ int f(int v) { return __shfl(v, 0); }\n";
    let both = format!("#ifdef USE_ROCM\nint w = 64;\n#endif\n{call}");
    let patch = fixed(&[("rocm/a.cu", call), ("both.cu", &both)]);
    assert!(!patch.contains("_sync("), "{patch}");
    let patch = fixed(&[("plain.cu", call)]);
    assert!(patch.contains("__shfl_sync(0xffffffff, v, 0)"), "{patch}");
}

#[test]
fn a_check_without_a_parameter_wraps_nothing() {
    let text = "#define cudaCheckError() { cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) exit(1); }\n\
                void f(float* p) {\n  cudaMemset(p, 0, 4);\n  cudaCheckError();\n  cudaMemset(p, 0, 8);\n}\n";
    let patch = fixed(&[("a.cu", text)]);
    assert!(!patch.contains("+++ b/a.cu"), "{patch}");
}

#[test]
fn a_checker_is_taken_by_what_it_does_also_from_another_file() {
    let header = "void stop(cudaError_t e, const char* f) { if (e != cudaSuccess) exit(1); }\n#define cudaCheck(err) stop((err), __FILE__)\n#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x)\n";
    let source = "#include \"c.h\"\nvoid f(float* p) {\n  cudaCheck(cudaMalloc(&p, 4));\n  cudaMemset(p, 0, 4);\n}\n";
    let patch = fixed(&[("c.h", header), ("a.cu", source)]);
    assert!(
        patch.contains("+  cudaCheck(cudaMemset(p, 0, 4));"),
        "{patch}"
    );
}

#[test]
fn a_launch_check_stays_inside_its_function() {
    let one_line = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nvoid f(float* x) { k<<<1, 1, 0, s>>>(x); }\n";
    let patch = fixed(&[("a.cu", one_line)]);
    assert!(!patch.contains("LAUNCH_CHECK"), "{patch}");
    let with_else = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nvoid f(float* x) {\n  if (x)\n    k<<<1, 1, 0, s>>>(x);\n  else\n    g();\n}\n";
    let patch = fixed(&[("a.cu", with_else)]);
    assert!(!patch.contains("LAUNCH_CHECK"), "{patch}");
    let plain = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nvoid f(float* x) {\n  k<<<1, 1, 0, s>>>(\n    x);\n}\n";
    let patch = fixed(&[("a.cu", plain)]);
    assert!(
        patch.contains("     x);\n+  C10_CUDA_KERNEL_LAUNCH_CHECK();\n }"),
        "{patch}"
    );
}

#[test]
fn a_version_in_a_workflow_stays_text() {
    let workflow = "on: push\npermissions:\n  contents: read\njobs:\n  t:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: actions/setup-python@v5\n        with:\n          python-version: 3.8\n";
    let patch = fixed(&[(".github/workflows/ci.yml", workflow), ("a.cu", "")]);
    assert!(
        patch.contains("+          python-version: '3.11'"),
        "{patch}"
    );
}

#[test]
fn a_flag_for_an_older_torch_is_left_alone() {
    let setup = "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\nif torch.__version__ <= '1.12.1':\n    flags = ['-std=c++14']\nelse:\n    flags = ['-std=c++14']\n";
    let patch = fixed(&[("setup.py", setup), ("a.cu", "")]);
    let changed: Vec<_> = added(&patch)
        .into_iter()
        .filter(|l| l.contains("-std="))
        .collect();
    assert_eq!(changed.len(), 1, "{patch}");
    assert!(
        patch.contains(" if torch.__version__ <= '1.12.1':\n     flags = ['-std=c++14']"),
        "{patch}"
    );
}

#[test]
fn nothing_is_put_into_a_readme_that_nobody_wrote_down() {
    let patch = fixed(&[
        ("README.md", "# Kernels\n\nThey need CUDA.\n"),
        ("a.cu", "__global__ void k() {}\n"),
    ]);
    assert!(!patch.contains("+++ b/README.md"), "{patch}");
}

#[test]
fn a_list_that_a_fix_wrote_is_no_promise_of_the_readme() {
    let setup = "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\nsetup(ext_modules=[CUDAExtension('a', ['a.cu'])])\n";
    let patch = fixed(&[
        ("README.md", "# Kernels\n\nThey need CUDA.\n"),
        ("setup.py", setup),
        ("a.cu", "__global__ void k() {}\n"),
    ]);
    assert!(patch.contains("TORCH_CUDA_ARCH_LIST"), "{patch}");
    assert!(!patch.contains("+++ b/README.md"), "{patch}");
}

#[test]
fn lines_keep_their_ends_in_a_file_that_mixes_them() {
    let text = "# A\r\n\nnvidia-docker run a\r\nnvidia-docker run --gpus all b\nlast";
    let patch = fixed(&[("README.md", text), ("a.cu", "")]);
    assert!(
        patch.contains("+docker run --gpus all a\r\n+docker run --gpus all b\n last"),
        "{patch:?}"
    );
}

#[test]
fn a_file_that_also_compiles_without_torch_gets_no_names_of_torch() {
    let body = "__global__ void k(float* x) {}\nvoid f(float* x) {\n  k<<<1, 1>>>(x);\n}\n";
    let optional = format!(
        "#include <vector>\n#ifdef WITH_TORCH\n#include <torch/extension.h>\n#endif\n{body}"
    );
    let patch = fixed(&[("a.cu", &optional)]);
    assert!(!patch.contains("+++ b/a.cu"), "{patch}");
    let guarded = format!(
        "#ifndef A_H\n#define A_H\n#ifdef FAST\n#include <vector>\n#endif\n#include <torch/extension.h>\n{body}#endif\n"
    );
    let patch = fixed(&[("a.cuh", &guarded)]);
    assert!(
        patch.contains("CUDAException.h>\n #include <torch/extension.h>")
            || patch.contains("CUDAContext.h>\n #include <torch/extension.h>"),
        "{patch}"
    );
}

#[test]
fn a_module_that_is_called_setup_builds_nothing() {
    let patch = fixed(&[
        (
            "demo/utils/setup.py",
            "import torch\n\ndef seed(n):\n    torch.manual_seed(n)\n",
        ),
        ("a.cu", ""),
    ]);
    assert!(!patch.contains("pyproject.toml"), "{patch}");
}

#[test]
fn images_of_windows_and_for_the_cpu_get_nothing_of_a_linux_gpu() {
    let windows = "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nCMD cmd\n";
    let patch = fixed(&[
        ("tools/windows/Dockerfile", windows),
        ("docker/Dockerfile.cpu", "FROM ubuntu:24.04\nUSER 1000\n"),
        ("a.cu", "__global__ void k() {}\n"),
    ]);
    assert!(
        !patch.contains("useradd") && !patch.contains("NVIDIA_"),
        "{patch}"
    );
}

#[test]
fn a_workflow_runs_only_tests_that_are_there() {
    let workflow = "on: push\npermissions:\n  contents: read\njobs:\n  t:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: make\n";
    let library = [
        (".github/workflows/ci.yml", workflow),
        (
            "docker/Dockerfile",
            "FROM nvidia/cuda:12.9.1-devel-ubuntu24.04\nUSER 1000\n",
        ),
        ("src/a.cu", "__global__ void k() {}\n"),
    ];
    let patch = fixed(&library);
    assert!(
        !patch.contains("pytest") && !patch.contains("pip"),
        "{patch}"
    );
    assert!(patch.contains("+      - '/docker'"), "{patch}");
    let tested = [
        &library[..],
        &[("tests/test_a.py", "def test_a():\n    pass\n")],
    ]
    .concat();
    assert!(fixed(&tested).contains("pytest"));
}

#[test]
fn a_list_over_several_lines_gets_a_line() {
    let setup = "import torch\nfrom setuptools import setup\nsetup()\n";
    let pyproject = "[build-system]\nrequires = [\n    \"setuptools\",\n]\n";
    let patch = fixed(&[
        ("setup.py", setup),
        ("pyproject.toml", pyproject),
        ("a.cu", ""),
    ]);
    assert!(patch.contains("+    \"torch\",\n"), "{patch}");
}

#[test]
fn a_guard_takes_a_tensor_of_torch_and_no_other() {
    let text = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nvoid f(my::ParallelTensor &p, at::Tensor x) {\n  k<<<1, 1, 0, s>>>(x.data_ptr<float>());\n}\n";
    let patch = fixed(&[("a.cu", text)]);
    assert!(patch.contains("at::device_of(x)"), "{patch}");
    let text = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nat::Tensor f(\n    at::Tensor x) {\n  k<<<1, 1, 0, s>>>(x.data_ptr<float>());\n  return x;\n}\n";
    let patch = fixed(&[("a.cu", text)]);
    assert!(patch.contains("at::device_of(x)"), "{patch}");
}

#[test]
fn sarif_carries_the_fix_of_a_finding_with_the_header_it_needs() {
    let text = "#include <vector>\n#include <torch/extension.h>\n__global__ void k(float* x) {}\nint a;\nint b;\nint c;\nvoid f(float* x) {\n  k<<<1, 1, 0, s>>>(x);\n}\n";
    let directory = small(&[("a.cu", text)]);
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    let plan = plan_fixes(
        directory.path(),
        &FixOptions {
            suggested: true,
            ..FixOptions::default()
        },
    )
    .unwrap();
    let sarif = audit_sarif(&report, &plan.patches);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let launch = results.iter().find(|r| r["ruleId"] == "SRC002").unwrap();
    let changes = &launch["fixes"][0]["artifactChanges"][0]["replacements"];
    let inserted: Vec<_> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["deletedRegion"]["startLine"].as_u64(),
                c["insertedContent"]["text"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        inserted,
        [
            (Some(2), Some("#include <c10/cuda/CUDAException.h>\n")),
            (Some(9), Some("  C10_CUDA_KERNEL_LAUNCH_CHECK();\n")),
        ]
    );
    let whole = results.iter().find(|r| r["ruleId"] == "DOC005").unwrap();
    assert!(whole.get("fixes").is_none());
}

/// The findings of a project above information, as `CODE file`.
fn reported(files: &[(&str, &str)]) -> Vec<String> {
    let every = AuditOptions {
        every_place: true,
        ..AuditOptions::default()
    };
    let report = audit_project(small(files).path(), &every).unwrap();
    let loud = report
        .findings
        .into_iter()
        .filter(|f| f.severity != warpsmith_core::Severity::Info);
    loud.map(|f| format!("{} {}", f.code, f.span.map_or(String::new(), |s| s.file)))
        .collect()
}

#[test]
fn what_the_rest_of_the_project_says_counts() {
    let setup = "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\nsetup(ext_modules=[CUDAExtension('a', ['a.cu'])])\n";
    let source = "#include <torch/extension.h>\n__global__ void k(float* x) {}\nvoid f(at::Tensor x) {\n  k<<<1, 1, 0, s>>>(x.contiguous().data_ptr<float>());\n}\n";
    let image = "FROM ubuntu:24.04\nUSER 1000\nRUN pip install .\n";
    let plain = [("setup.py", setup), ("a.cu", source), ("Dockerfile", image)];
    let found = reported(&plain);
    for code in [
        "BLD001 setup.py",
        "DKR006 Dockerfile",
        "SRC004 a.cu",
        "DOC005 ",
    ] {
        assert!(found.iter().any(|f| f == code), "{code}: {found:?}");
    }
    let found = reported(&[
        ("setup.py", setup),
        ("a.cu", source),
        ("ci/env.sh", "export TORCH_CUDA_ARCH_LIST=\"8.0+PTX\"\n"),
        (
            "ops.py",
            "import torch\ndef f(x):\n    with torch.cuda.device_of(x):\n        a.f(x)\n",
        ),
        (
            "Dockerfile",
            "FROM ubuntu:24.04\nENV BUILD_CUDA=0\nUSER 1000\nRUN pip install .\n",
        ),
        (
            "ngc/Dockerfile",
            "FROM nvcr.io/nvidia/pytorch:25.06-py3\nUSER 1000\nRUN pip install .\n",
        ),
        ("task/Dockerfile", "FROM mine:0.1\nUSER 1000\n"),
        (".devcontainer/Dockerfile", "FROM ubuntu:24.04\n"),
        (
            "README.md",
            "# A\n\nMIT license, see [the texts](legal/Licenses.txt).\n\n    docker build -t mine:0.1 .\n",
        ),
        ("legal/Licenses.txt", "MIT\n"),
    ]);
    for wrong in [
        "BLD001",
        "DKR006",
        "SRC004",
        "DOC005",
        "DKR001 .dev",
        "DKR003 task",
    ] {
        assert!(
            !found.iter().any(|f| f.starts_with(wrong)),
            "{wrong}: {found:?}"
        );
    }
}

#[test]
fn safe_fixes_leave_sources_and_images_alone() {
    let directory = small(&[
        (
            "Dockerfile",
            "FROM ubuntu:20.04\nENV TORCH_CUDA_ARCH_LIST=\"80;90\"\n",
        ),
        ("a.cu", "void f() { cudaThreadSynchronize(); }\n"),
    ]);
    let plan = plan_fixes(directory.path(), &FixOptions::default()).unwrap();
    assert!(plan.suggestions > 0);
    let codes: Vec<_> = plan.patches.iter().flat_map(|p| &p.codes).collect();
    assert_eq!(codes, ["BLD003"], "{}", unified_diff(&plan.patches));
}

#[test]
fn a_file_that_changed_meanwhile_is_not_written() {
    let directory = small(&[(
        "Dockerfile",
        "FROM ubuntu:24.04\nENV TORCH_CUDA_ARCH_LIST=\"80;90\"\n",
    )]);
    let plan = plan_fixes(directory.path(), &FixOptions::default()).unwrap();
    let mine = "FROM scratch\n";
    fs::write(directory.path().join("Dockerfile"), mine).unwrap();
    let error = apply_patches(directory.path(), &plan.patches).unwrap_err();
    assert!(matches!(error, PatchError::Changed(_)), "{error}");
    assert_eq!(
        fs::read_to_string(directory.path().join("Dockerfile")).unwrap(),
        mine
    );
}

#[test]
fn a_baseline_changes_what_is_new_and_not_the_score() {
    let directory = small(&[
        (
            "a.cu",
            "void f(float* p) { cudaMemset(p, 0, 4); k<<<1, 1>>>(p); }\n",
        ),
        ("Dockerfile", "FROM ubuntu:18.04\nCMD x\n"),
    ]);
    let every = AuditOptions {
        every_place: true,
        ..AuditOptions::default()
    };
    let first = audit_project(directory.path(), &every).unwrap();
    let options = AuditOptions {
        baseline: Some(Baseline::of(&first.findings)),
        ..every
    };
    let second = audit_project(directory.path(), &options).unwrap();
    assert!(second.findings.is_empty() && second.body.known == first.findings.len());
    assert_eq!(first.body.score, second.body.score);
}

#[test]
fn an_allow_comment_that_accepts_nothing_is_named() {
    let directory = small(&[(
        "Dockerfile",
        "# warpsmith: allow DKR001\n# warpsmith: allow DKR999 why\n# warpsmith: allow CODE reason\nFROM ubuntu:24.04\n",
    )]);
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    let places: Vec<_> = report
        .body
        .faults
        .iter()
        .map(|(place, _)| place.as_str())
        .collect();
    assert_eq!(places, ["Dockerfile:1", "Dockerfile:2"]);
}

#[test]
fn control_characters_of_names_do_not_reach_the_terminal() {
    let directory = small(&[(
        "a\u{1b}[31m.cu",
        "void f(float* p) { cudaMemset(p, 0, 4); }\n",
    )]);
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    let text = audit_text(&report, true);
    assert!(
        text.contains("a\\x1b[31m.cu") && !text.contains('\u{1b}'),
        "{text}"
    );
    let patch = unified_diff(
        &plan_fixes(
            directory.path(),
            &FixOptions {
                suggested: true,
                ..FixOptions::default()
            },
        )
        .unwrap()
        .patches,
    );
    assert!(!patch.contains('\u{1b}'), "{patch}");
}
