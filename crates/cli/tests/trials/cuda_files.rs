//! CUDA files as people have them, through the oldest and the newest NVRTC that we support: host code around kernels,
//! C++'s standard library in them, templates in namespaces. The wheels are those that `cargo xtask test` unpacks.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

const FILE: &str = r#"#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace gpu {
namespace {
__device__ float half_of(float x) { return 0.5f * x; }
}

template <int BLOCK>
__global__ void soften(float* y, const float* x, int n) {
  std::uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = std::max(std::sqrt(x[i]), half_of(x[i])) + std::exp(-std::abs(x[i]));
}
}  // namespace gpu

__global__ void twice(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = std::min<float>(2.0f * y[i], INFINITY);
}

int main() {
  std::vector<float> y(1024);
  gpu::soften<128><<<8, 128>>>(nullptr, nullptr, 1024);
  std::printf("%f\n", y[0]);
}
"#;

type Run = fn(&Folder) -> Result<(), Failed>;

pub(crate) fn trials() -> Vec<Trial> {
    let kinds: [(&str, Run); 3] = [
        ("a_file_with_host_code_is_ptx_and_costs", compiled),
        ("a_template_in_a_namespace_has_a_case", template),
        ("what_is_wrong_comes_first_and_says_what_to_do", wrong),
    ];
    let versions = ["12.0.140", "12.9.86"].into_iter();
    let trials = versions.flat_map(|version| {
        kinds.map(|(name, run)| {
            let wheel = wheel(version);
            let there = wheel.is_dir();
            let name = format!("{name}_{version}");
            Trial::test(name, move || run(&Folder::new(&wheel)?)).with_ignored_flag(!there)
        })
    });
    trials.collect()
}

fn wheel(version: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/wheels");
    target.join(format!("nvidia-cuda-nvrtc-cu12-{version}/nvidia"))
}

/// A folder to work in, and an environment with one NVRTC.
struct Folder(TempDir);

impl Folder {
    fn new(wheel: &Path) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let packages = folder.path().join("env/lib/python3.11/site-packages");
        std::fs::create_dir_all(&packages)?;
        std::os::unix::fs::symlink(std::fs::canonicalize(wheel)?, packages.join("nvidia"))?;
        Ok(Self(folder))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.0.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(path, text)?)
    }

    fn warpsmith(&self, line: &str) -> Result<Output, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
        command
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env("VIRTUAL_ENV", self.0.path().join("env"))
            .env("WARPSMITH_CACHE_DIR", self.0.path().join("cache"));
        Ok(command.output()?)
    }
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

fn compiled(folder: &Folder) -> Result<(), Failed> {
    folder.write("soften.cu", FILE)?;
    let ptx = folder.warpsmith("compile soften.cu --arch compute_75")?;
    let text = String::from_utf8_lossy(&ptx.stdout);
    let instance = "_ZN3gpu6softenILi128E";
    assert!(
        text.contains(".visible .entry _Z5twicePfi") && text.contains(instance),
        "{}",
        said(&ptx)
    );
    let note = String::from_utf8_lossy(&ptx.stderr);
    assert_eq!(note.trim(), "`soften.cu` compiles without its host code");
    let line = "compile soften.cu --arch sm_75 --emit sass-stats";
    let costs = folder.warpsmith(line)?;
    assert!(
        said(&costs).contains("machine code for sm_75"),
        "{}",
        said(&costs)
    );
    let line = format!("{line} --format json");
    let costs = folder.warpsmith(&line)?;
    let costs: serde_json::Value = serde_json::from_slice(&costs.stdout)?;
    let registers = costs["kernels"][0]["registers"].as_u64();
    assert!(registers.is_some_and(|count| count > 0), "{costs}");
    let refused = folder.warpsmith("compile soften.cu --emit spirv")?;
    assert!(
        said(&refused).contains("`--emit spirv` is for Python kernels"),
        "{}",
        said(&refused)
    );
    Ok(())
}

fn template(folder: &Folder) -> Result<(), Failed> {
    folder.write("soften.cu", FILE)?;
    for kernel in ["soften", "gpu::soften"] {
        let line = format!("new soften.cu --kernel {kernel} --force");
        let new = folder.warpsmith(&line)?;
        assert!(new.status.success(), "{}", said(&new));
        let case = std::fs::read_to_string(folder.0.path().join("soften.toml"))?;
        assert!(case.contains("kernel = \"gpu::soften<128>\""), "{case}");
        let verified = folder.warpsmith("verify soften.toml --device cpu")?;
        let text = said(&verified);
        assert!(text.contains("compiles, without its host code"), "{text}");
    }
    Ok(())
}

fn wrong(folder: &Folder) -> Result<(), Failed> {
    let write = |text: &str| folder.write("a.cu", text);
    write("#include \"ours/shapes.h\"\n__global__ void k() {}\n")?;
    let missing = folder.warpsmith("compile a.cu")?;
    let text = said(&missing);
    assert!(
        text.contains("name its folder, `--flag=-Ifolder`"),
        "{text}"
    );
    folder.write("include/ours/shapes.h", "struct shape { int n; };\n")?;
    let found = folder.warpsmith("compile a.cu --flag=-Iinclude")?;
    assert!(found.status.success(), "{}", said(&found));
    write("#include <climits>\n__global__ void k(int* y) { y[0] = INT_MAX + nothing; }\n")?;
    let text = said(&folder.warpsmith("compile a.cu")?);
    let first = text.find("error: identifier \"nothing\"");
    assert!(first.is_some() && !text.contains("warning #47"), "{text}");
    Ok(())
}
