//! The kernels of the conformance suite: whether each that is accepted is valid SPIR-V, and how many run on
//! the Vulkan device that is here and agree with the interpreter. Needs the suite (`cargo xtask
//! conformance`); tries a sample, or all of it with `WARPSMITH_SUITE_STRIDE=1`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use rayon::prelude::*;
use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::{Options, compile};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanParity, verify_on_vulkan};
use warpsmith_interpreter::Interpreter;
use warpsmith_spirv::Spirv;

use crate::spirv::{every, validate};

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

pub(crate) fn trials(device_is_missing: bool, validator_is_missing: bool) -> Vec<Trial> {
    let full = std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1");
    let missing = !full || file().is_none();
    vec![
        Trial::test("kernels of the suite agree", agree)
            .with_ignored_flag(missing || device_is_missing),
        Trial::test("kernels of the suite are valid SPIR-V", all_are_valid)
            .with_ignored_flag(missing || validator_is_missing),
    ]
}

/// What is read of a line of the suite.
#[derive(serde::Deserialize)]
struct Row {
    id: String,
    kernel: String,
    source: String,
}

/// A kernel of the suite that compiles.
struct Kernel {
    /// Where it is from, and its name.
    name: String,
    module: Module,
}

impl Kernel {
    fn of(row: &Row) -> Option<Self> {
        let named = Options {
            kernel: Some(row.kernel.clone()),
            ..Options::default()
        };
        let module = compile(&row.source, &Options::default());
        let module = module.or_else(|_| compile(&row.source, &named));
        module.ok().map(|module| Self {
            name: format!("{} ({})", row.id, row.kernel),
            module,
        })
    }

    fn has_adjoint(&self) -> bool {
        match &self.module.kernel.kind {
            FunctionKind::Kernel { options, .. } => options.backward,
            FunctionKind::Device { .. } => false,
        }
    }
}

/// What `judge` says of each kernel that compiles.
fn each_kernel<T: Send>(
    judge: impl Fn(&Kernel) -> Result<T, Failed> + Sync,
) -> Result<Vec<T>, Failed> {
    let stride = std::env::var("WARPSMITH_SUITE_STRIDE").ok();
    let stride = stride.and_then(|text| text.parse().ok());
    let suite = std::fs::File::open(file().ok_or("the suite is missing")?)?;
    let lines = BufReader::new(flate2::read::GzDecoder::new(suite)).lines();
    let rows: Vec<Row> = lines
        .step_by(stride.unwrap_or(SAMPLE_STRIDE))
        .map(|line| -> Result<Row, Failed> { Ok(serde_json::from_str(&line?)?) })
        .collect::<Result<_, Failed>>()?;
    (rows.par_iter())
        .filter_map(|row| Kernel::of(row).map(|kernel| judge(&kernel)))
        .collect()
}

fn all_are_valid() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let validated = each_kernel(|kernel| {
        let thread = rayon::current_thread_index().unwrap_or_default();
        let file = folder.path().join(format!("{thread}.spv"));
        let directions = [
            Interpreter::forward(&kernel.module),
            Interpreter::adjoint(&kernel.module),
        ];
        let mut count = 0;
        for interpreter in directions.into_iter().flatten() {
            let Ok(spirv) = Spirv::of(&interpreter, every()) else {
                continue;
            };
            count += 1;
            if let Err(failed) = validate(&file, &spirv) {
                let words = failed.message().unwrap_or_default();
                return Ok(Err(format!("{}: {words}", kernel.name)));
            }
        }
        Ok(Ok(count))
    })?;
    let wrong: Vec<&String> = validated.iter().filter_map(|r| r.as_ref().err()).collect();
    if let [first, ..] = wrong[..] {
        return Err(format!("{} kernels are not valid, first {first}", wrong.len()).into());
    }
    let modules: usize = validated.iter().flatten().sum();
    eprintln!("{modules} modules of {} kernels are valid", validated.len());
    assert!(modules > validated.len(), "most kernels are written");
    Ok(())
}

fn agree() -> Result<(), Failed> {
    let device = VulkanDevice::open(0)?;
    let judged = each_kernel(|kernel| {
        let parity = verify_on_vulkan(&device, &kernel.module, 8, 7);
        Ok((kernel.name.clone(), kernel.has_adjoint(), parity))
    })?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut forward, mut adjoints, mut backward) = (0, 0, 0);
    let mut wrong = String::new();
    for (name, has_adjoint, parity) in &judged {
        adjoints += usize::from(*has_adjoint);
        let word = match parity {
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
                wrong.push_str(&format!("{name}: {other:?}\n"));
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
        "{} compile; {forward} run and agree forward ({:.1} %); of {adjoints} with an adjoint, \
         {backward} run and agree backward ({:.1} %)",
        judged.len(),
        share(forward, judged.len()),
        share(backward, adjoints),
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}
