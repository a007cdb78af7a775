//! The conformance suite and the oracles that tests of the runtime header need, where they are.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The end of the fixed prologue in the suite's texts; what follows is the emitted text.
const PROLOGUE_END: &str = "#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)\n\n";

/// One kernel of the suite.
pub struct Kernel {
    pub id: String,
    pub name: String,
    pub tier: u32,
    pub source: String,
    /// The whole CUDA module, with Warp's prologue.
    pub cuda_module: String,
    /// Emitted text alone, without a prologue.
    pub cuda: String,
    pub cpu: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace exists")
}

/// Where `cargo xtask test` unpacks an NVRTC.
pub fn nvrtc_wheel(version: &str) -> PathBuf {
    root().join(format!("target/wheels/nvidia-cuda-nvrtc-cu12-{version}"))
}

/// Where set-up puts the oracles.
pub fn oracle(name: &str) -> PathBuf {
    root().join("target/oracle").join(name)
}

/// The suite's file: `WARPSMITH_CONFORMANCE`, else what `cargo xtask conformance` made; `None` if there is none.
pub fn file() -> Option<PathBuf> {
    std::env::var_os("WARPSMITH_CONFORMANCE")
        .map_or_else(|| oracle("conformance-1.19.0.jsonl.gz"), PathBuf::from)
        .canonicalize()
        .ok()
}

/// Every how many kernels of a tier one is tried: `WARPSMITH_SUITE_STRIDE`, 1 for all.
pub fn stride(default: usize) -> usize {
    std::env::var("WARPSMITH_SUITE_STRIDE")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The suite's kernels up to a tier.
pub fn kernels(path: &Path, last_tier: u32) -> Vec<Kernel> {
    let file = std::fs::File::open(path).expect("the suite opens");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    let mut kernels = Vec::new();
    for line in lines {
        let row: serde_json::Value =
            serde_json::from_str(&line.expect("the suite is gzip")).expect("a row is JSON");
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let emitted = |key: &str| {
            let module = text(key);
            module
                .split_once(PROLOGUE_END)
                .map_or(module.clone(), |(_, emitted)| emitted.to_owned())
        };
        let tier = text("tier")
            .trim_start_matches('S')
            .parse()
            .expect("a tier is S and a number");
        if tier <= last_tier {
            kernels.push(Kernel {
                id: text("id"),
                name: text("kernel"),
                tier,
                source: text("source"),
                cuda_module: text("cuda_module"),
                cuda: emitted("cuda_module"),
                cpu: emitted("cpu_module"),
            });
        }
    }
    kernels
}
