//! A folder with a kernel, its reference and its case.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use warpsmith_case::{Case, Plan, Settings, Verification, Verifier};
use warpsmith_device::{Device, DeviceChoice};

/// The arguments of a case that reads `n` floats and writes as many, as a literal for [`concat!`].
macro_rules! from_x_to_y {
    () => {
        r#"[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = "n"
[[arguments]]
name = "y"
direction = "out"
type = "f32"
shape = "n"
"#
    };
}
pub(crate) use from_x_to_y;

pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn case(&self, name: &str) -> Case {
        Case::open(&self.path(name)).unwrap()
    }
}

/// Whether there is a Python with NumPy.
pub(crate) fn has_numpy() -> bool {
    let python = std::env::var_os("WARPSMITH_PYTHON")
        .or_else(|| {
            let prefix = std::env::var_os("VIRTUAL_ENV")?;
            Some(PathBuf::from(prefix).join("bin/python3").into())
        })
        .unwrap_or_else(|| "python3".into());
    std::process::Command::new(python)
        .args(["-c", "import numpy"])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Checks a case on the interpreter.
pub(crate) fn verify(case: &Case, seed: u64, inputs: usize) -> Result<Verification, String> {
    let device = Device::open(DeviceChoice::Cpu).unwrap();
    let plan = Plan {
        inputs,
        seed,
        special: false,
    };
    let choice = case.first_choice();
    let mut verifier = Verifier::prepare(case, &choice, &device, Settings::default())
        .map_err(|fault| fault.to_string())?;
    let mut verification = Verification {
        compared: verifier.compares(),
        ..Verification::default()
    };
    let sizes = case.verification_sizes(&choice).unwrap().sizes;
    let rounds = Verifier::rounds(&plan);
    let jobs = || {
        let of = |size| rounds.iter().map(move |round| (size, *round));
        sizes.iter().flat_map(of)
    };
    verifier
        .look_ahead(jobs())
        .map_err(|fault| fault.to_string())?;
    for (size, (seed, round, special)) in jobs() {
        let check = verifier.check(size, seed, round, special);
        verification
            .checks
            .push(check.map_err(|fault| fault.to_string())?);
    }
    Ok(verification)
}
