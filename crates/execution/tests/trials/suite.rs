//! The kernels of the conformance suite on the Vulkan device that is here: how many run there and agree
//! with the interpreter. Needs the suite (`cargo xtask conformance`); tries a sample, or all of it with
//! `WARPSMITH_SUITE_STRIDE=1`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::{Options, compile};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanParity, verify_on_vulkan};

const SAMPLE_STRIDE: usize = 25;

/// The suite's file: `WARPSMITH_CONFORMANCE`, else what `cargo xtask conformance` made.
fn file() -> Option<PathBuf> {
    let made = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join("target/oracle/conformance-1.19.0.jsonl.gz")
    };
    let path = std::env::var_os("WARPSMITH_CONFORMANCE").map_or_else(made, PathBuf::from);
    path.canonicalize().ok()
}

pub(crate) fn trials(device_is_missing: bool) -> Vec<Trial> {
    let full = std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1");
    let missing = device_is_missing || !full || file().is_none();
    let trial = Trial::test("kernels of the suite agree", agree);
    vec![trial.with_ignored_flag(missing)]
}

fn has_adjoint(module: &Module) -> bool {
    match &module.kernel.kind {
        FunctionKind::Kernel { options, .. } => options.backward,
        FunctionKind::Device { .. } => false,
    }
}

fn agree() -> Result<(), Failed> {
    let device = VulkanDevice::open(0)?;
    let stride = std::env::var("WARPSMITH_SUITE_STRIDE").ok();
    let stride = stride.and_then(|text| text.parse().ok());
    let suite = std::fs::File::open(file().ok_or("the suite is missing")?)?;
    let lines = BufReader::new(flate2::read::GzDecoder::new(suite)).lines();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut compiled, mut forward, mut adjoints, mut backward) = (0, 0, 0, 0);
    let mut wrong = String::new();
    for line in lines.step_by(stride.unwrap_or(SAMPLE_STRIDE)) {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let named = Options {
            kernel: Some(text("kernel").to_owned()),
            ..Options::default()
        };
        let module = compile(text("source"), &Options::default())
            .or_else(|_| compile(text("source"), &named));
        let Ok(module) = module else { continue };
        compiled += 1;
        adjoints += usize::from(has_adjoint(&module));
        let word = match verify_on_vulkan(&device, &module, 8, 7) {
            VulkanParity::Agrees {
                forward: how,
                backward: back,
                backward_refused,
                ..
            } => {
                forward += 1;
                backward += usize::from(back.is_some());
                if let Some(reason) = backward_refused {
                    *counts.entry(format!("backward: {reason}")).or_default() += 1;
                }
                format!("agrees: {how:?} forward, {back:?} backward")
            }
            VulkanParity::Refused { reason } => format!("refused: {reason}"),
            VulkanParity::NotExecutable { reason } => {
                let kind: String = reason.chars().take(70).collect();
                format!("not executable: {kind}")
            }
            other => {
                wrong.push_str(&format!("{} ({}): {other:?}\n", text("id"), text("kernel")));
                "WRONG".to_owned()
            }
        };
        *counts.entry(word).or_default() += 1;
    }
    for (word, count) in &counts {
        eprintln!("{count:>5}  {word}");
    }
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    eprintln!(
        "{compiled} compile; {forward} run and agree forward ({:.1} %); of {adjoints} with an adjoint, \
         {backward} run and agree backward ({:.1} %)",
        share(forward, compiled),
        share(backward, adjoints),
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}
