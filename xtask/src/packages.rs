//! What the tests use from the system: a browser for the pages; in full also a Prometheus for the
//! exporter.
//!
//! Installed where that is possible without asking (root on Debian, as in CI); elsewhere the trials
//! that need them count as ignored.

use std::process::{Command, Stdio};

use crate::workspace::run;

/// Programs; Debian packages of the same names bring them.
const BROWSER: &[&str] = &["chromium"];
const PROMETHEUS: &[&str] = &["prometheus", "prometheus-alertmanager"];

/// Installs what is missing, as far as that can be done.
pub(crate) fn install(full: bool) {
    let wanted = BROWSER.iter().chain(PROMETHEUS.iter().filter(|_| full));
    let missing: Vec<&str> = wanted
        .copied()
        .filter(|program| !installed(program))
        .collect();
    if missing.is_empty() {
        return;
    }
    if !(installed("apt-get") && is_root()) {
        eprintln!("ignored: trials that need {}", missing.join(", "));
        return;
    }
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(missing);
    // A mirror that does not answer must not fail the tests that need none of this.
    if let Err(error) = run("apt-get", &["update"]).and_then(|()| run("apt-get", &arguments)) {
        eprintln!("ignored: trials that need them: {error:#}");
    }
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.stdout.starts_with(b"0"))
}
