//! Every kernel that is accepted is valid SPIR-V, forward and backward, by `spirv-val`.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::Interpreter;
use warpsmith_spirv::{FloatControl, Prints, Spirv, SpirvTarget};

use crate::kernel_files;

pub(crate) fn trials(validator_is_missing: bool) -> Vec<Trial> {
    let valid = Trial::test("accepted kernels are valid SPIR-V", all_are_valid);
    vec![valid.with_ignored_flag(validator_is_missing)]
}

pub(crate) fn validator_is_missing() -> bool {
    let missing = Command::new("spirv-val").arg("--version").output().is_err();
    if missing {
        eprintln!("no `spirv-val` (Debian: `spirv-tools`): validity is not checked");
    }
    missing
}

/// Whatever can be emitted.
pub(crate) fn every() -> SpirvTarget {
    SpirvTarget {
        floats: [FloatControl {
            denormals: true,
            nearest: true,
            special: true,
        }; 2],
        cuts_loops: true,
        single_words: false,
        prints: Prints::Kept,
        no_float64: false,
    }
}

/// What `spirv-val` says against a module; `file` is overwritten.
pub(crate) fn validate(file: &Path, spirv: &Spirv) -> Result<(), Failed> {
    std::fs::write(file, spirv.bytes())?;
    let said = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.2"])
        .arg(file)
        .output()?;
    match said.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&said.stderr).into_owned().into()),
    }
}

fn all_are_valid() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kernel.spv");
    let (mut written, mut refused) = (0, 0);
    let without_doubles = SpirvTarget {
        no_float64: true,
        ..every()
    };
    for path in kernel_files() {
        let source = std::fs::read_to_string(&path)?;
        let Ok(module) = compile(&source, &Options::default()) else {
            continue;
        };
        for planned in [Interpreter::forward(&module), Interpreter::adjoint(&module)] {
            let Ok(interpreter) = planned else { continue };
            for target in [SpirvTarget::default(), every(), without_doubles] {
                let spirv = match Spirv::of(&interpreter, target) {
                    Ok(spirv) => spirv,
                    Err(findings) => {
                        refused += 1;
                        assert!(
                            findings[0]
                                .message
                                .starts_with("Vulkan kernels do not support ")
                        );
                        continue;
                    }
                };
                written += 1;
                validate(&file, &spirv).map_err(|failed| {
                    let words = failed.message().unwrap_or_default();
                    format!("{}: {words}", path.display())
                })?;
            }
        }
    }
    eprintln!("{written} modules are valid, {refused} were refused by name");
    assert!(written > 2 * refused, "most kernels are written");
    Ok(())
}
