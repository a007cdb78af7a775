//! Machines that nobody has: each description states what `check` must say about it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::MachineDescription;
use warpsmith_core::{Report, Severity};
use warpsmith_doctor::{
    Capability, CheckBody, DirectoryHost, Outcome, RecordingHost, Version, check_machine,
    collect_machine, database,
};

fn check(directory: &Path) -> Report<CheckBody> {
    check_machine(&collect_machine(&DirectoryHost::open(directory).unwrap()))
}

fn written(machine: &MachineDescription) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    machine.write(directory.path());
    directory
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Warn => "warn",
        Outcome::Info => "info",
        Outcome::Unknown => "unknown",
        Outcome::NotApplicable => "na",
    }
}

#[test]
fn gpus_of_other_makers_are_named_and_pointed_to_what_reads_them() {
    let machines: BTreeMap<_, _> = MachineDescription::all().into_iter().collect();
    let report = check(written(&machines["radeon_desktop"]).path());
    assert_eq!(
        report.machine.gpus,
        ["Intel GPU 0xa780 (i915)", "AMD GPU 0x744c (amdgpu)"]
    );
    let finding = report.findings.iter().find(|found| found.code == "GPU001");
    let finding = serde_json::to_string(finding.unwrap()).unwrap();
    assert!(finding.contains("AMD GPU 0x744c (amdgpu)"), "{finding}");
    assert!(finding.contains("warpsmith watch"), "{finding}");
    let plain = check(written(&machines["no_gpu"]).path());
    let finding = plain.findings.iter().find(|found| found.code == "GPU001");
    let finding = serde_json::to_string(finding.unwrap()).unwrap();
    assert!(!finding.contains("warpsmith watch"), "{finding}");
}

#[test]
fn every_machine_gets_every_outcome_it_states() {
    let mut wrong = Vec::new();
    let machines = MachineDescription::all();
    assert!(machines.len() >= 23);
    for (name, machine) in &machines {
        let report = check(written(machine).path());
        let outcomes: BTreeMap<_, _> = report
            .body
            .outcomes
            .iter()
            .map(|o| (o.code.as_str(), o))
            .collect();
        for (code, expected) in &machine.expect {
            let seen = outcomes[code.as_str()];
            if word(seen.outcome) != expected {
                wrong.push(format!(
                    "{name}: {code} is {} ({:?}), expected {expected}",
                    word(seen.outcome),
                    seen.why
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_failure_has_evidence_and_a_fix() {
    for (name, machine) in MachineDescription::all() {
        for finding in check(written(&machine).path()).findings {
            assert!(
                !finding.evidence.is_empty(),
                "{name}: {} has no evidence",
                finding.code
            );
            if finding.severity > Severity::Info {
                assert!(
                    finding.hint.is_some(),
                    "{name}: {} has no fix",
                    finding.code
                );
            }
        }
    }
}

/// A machine from documents states all that is wrong with it, and what the advice must and must not say.
#[test]
fn machines_from_documents_get_the_advice_that_they_state_and_no_other() {
    let mut wrong = Vec::new();
    let machines = MachineDescription::all();
    assert!(machines.len() >= 40, "{} machines", machines.len());
    for (name, machine) in machines.iter().filter(|(_, m)| m.written_from.is_some()) {
        let report = check(written(machine).path());
        for finding in &report.findings {
            let stated = machine.expect.get(&finding.code).map(String::as_str);
            if finding.severity > Severity::Info && !matches!(stated, Some("fail" | "warn")) {
                wrong.push(format!("{name}: {finding}"));
            }
        }
        for (code, words) in &machine.advice {
            let found = report.findings.iter().find(|f| f.code == *code);
            let hint = found.and_then(|f| f.hint.clone()).unwrap_or_default();
            for word in words {
                let fits = match word.strip_prefix('!') {
                    Some(word) => !hint.contains(word),
                    None => hint.contains(word.as_str()),
                };
                if !fits {
                    wrong.push(format!("{name}: {code} lacks `{word}`: {hint}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A driver is advised only where it drives the machine's GPU and still gets fixes.
#[test]
fn a_driver_is_advised_only_to_gpus_that_it_drives_and_while_it_gets_fixes() {
    let machines: BTreeMap<String, MachineDescription> =
        MachineDescription::all().into_iter().collect();
    let hint = |name: &str| {
        let report = check(written(&machines[name]).path());
        let found = report.findings.into_iter().find(|f| f.code == "DRV007");
        found.unwrap().hint.unwrap()
    };
    let kepler = hint("k80_ended");
    assert!(
        kepler.contains("R470 (470.256.02) is the last one") && !kepler.contains("install"),
        "{kepler}"
    );
    let pascal = hint("gtx1060_r535");
    assert!(
        pascal.contains("R580") && !pascal.contains("R595") && !pascal.contains("R535"),
        "{pascal}"
    );
    let ampere = hint("a100_r570");
    assert!(
        ampere.contains("R580") && ampere.contains("R595") && !ampere.contains("R570"),
        "{ampere}"
    );
}

/// Advice names versions; each of them must be in the database and fit the machine.
#[test]
fn advice_agrees_with_the_database() {
    let mut checked = 0;
    for (name, machine) in MachineDescription::all() {
        let report = check(written(&machine).path());
        let driver = report.machine.driver.as_deref().and_then(Version::parse);
        let device = report
            .body
            .gpus
            .iter()
            .filter_map(|gpu| Capability::parse(gpu.compute_capability.as_deref()?))
            .min();
        for finding in &report.findings {
            let hint = finding.hint.clone().unwrap_or_default();
            for word in hint.split([' ', '"']) {
                if let Some(version) = word.strip_prefix("torch==").and_then(Version::parse) {
                    let row = database()
                        .torch(&version)
                        .unwrap_or_else(|| panic!("{name}: {hint}"));
                    let cuda = Version::parse(row.pypi_cuda.as_deref().unwrap()).unwrap();
                    if let Some(driver) = &driver {
                        assert!(
                            driver >= database().driver_floor(cuda.major()).unwrap(),
                            "{name}: {hint}"
                        );
                    }
                    if let Some(device) = device {
                        let covers = row
                            .arch_list
                            .iter()
                            .filter_map(|sm| warpsmith_doctor::Target::parse(sm))
                            .any(|target| target.runs_on(device));
                        assert!(covers, "{name}: {hint}");
                    }
                    checked += 1;
                }
                let cuda_major = ["cupy-cuda", "numba-cuda[cu", "jax[cuda"]
                    .iter()
                    .find_map(|stem| word.strip_prefix(stem))
                    .and_then(|rest| rest.get(..2)?.parse::<u64>().ok());
                // What is to be removed may be anything.
                if let (Some(major), Some(driver), false) =
                    (cuda_major, &driver, hint.contains("uninstall"))
                {
                    assert!(
                        driver >= database().driver_floor(major).unwrap(),
                        "{name}: {hint}"
                    );
                    checked += 1;
                }
                if let Some(most) = word
                    .strip_prefix("g++-")
                    .and_then(|n| n.parse::<u64>().ok())
                {
                    assert!(most <= 16, "{name}: {hint}");
                    checked += 1;
                }
            }
            if let Some(range) = hint.strip_prefix("use a toolkit from CUDA ") {
                let device = device.unwrap();
                for bound in range.split(" to ") {
                    let row = database().toolkit(&Version::parse(bound).unwrap()).unwrap();
                    let has = row
                        .sm_targets
                        .as_ref()
                        .unwrap()
                        .contains(&format!("sm_{}", device.sm()));
                    assert!(has, "{name}: {hint}");
                    checked += 1;
                }
            }
            if let Some(floor) = hint
                .strip_prefix("upgrade the driver to ")
                .and_then(|h| Version::parse(h.split(' ').next()?))
            {
                assert!(
                    (11..=13).any(|major| database().driver_floor(major) == Some(&floor)),
                    "{name}: {hint}"
                );
                checked += 1;
            }
        }
    }
    assert!(
        checked >= 10,
        "only {checked} pieces of advice were checked"
    );
}

#[test]
fn one_cause_explains_the_machine_with_a_toolkit_for_newer_gpus() {
    let machines: BTreeMap<_, _> = MachineDescription::all().into_iter().collect();
    let report = check(written(&machines["gtx1080_cuda13"]).path());
    let cause = &report.body.causes[0];
    assert_eq!(cause.finding.code, "TKT006");
    let below: Vec<_> = cause.consequences.iter().map(|f| f.code.as_str()).collect();
    for code in ["TKT005", "DRV005", "PYE008"] {
        assert!(below.contains(&code), "{code} is not among {below:?}");
    }
}

#[test]
fn a_captured_machine_gives_the_same_answer() {
    for (name, machine) in MachineDescription::all() {
        let original = written(&machine);
        let host = DirectoryHost::open(original.path()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        let recording = RecordingHost::new(&host, copy.path()).unwrap();
        let first = check_machine(&collect_machine(&recording));
        recording.finish().unwrap();
        let second = check(copy.path());
        assert_eq!(first.findings, second.findings, "{name}");
        assert_eq!(first.body.outcomes, second.body.outcomes, "{name}");
    }
}

/// A capture must not write through a link into the machine that it captures.
#[test]
fn a_capture_makes_no_links_and_leaves_the_machine_alone() {
    let machines: BTreeMap<_, _> = MachineDescription::all().into_iter().collect();
    let original = written(&machines["h200_server"]);
    let root = original.path().join("root/usr/local");
    std::os::unix::fs::symlink("cuda-13.0", root.join("cuda")).unwrap();
    let kept = root.join("cuda-13.0/version.json");
    let before = std::fs::read(&kept).unwrap();
    let host = DirectoryHost::open(original.path()).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let recording = RecordingHost::new(&host, copy.path()).unwrap();
    let first = check_machine(&collect_machine(&recording));
    recording.finish().unwrap();
    assert_eq!(std::fs::read(kept).unwrap(), before);
    let mut folders = vec![copy.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            assert!(
                !entry.file_type().unwrap().is_symlink(),
                "{:?}",
                entry.path()
            );
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert_eq!(first.findings, check(copy.path()).findings);
}

#[test]
fn facts_survive_json_and_give_the_same_answer() {
    for (name, machine) in MachineDescription::all() {
        let facts = collect_machine(&DirectoryHost::open(written(&machine).path()).unwrap());
        let json = serde_json::to_string(&facts).unwrap();
        let back = serde_json::from_str(&json).unwrap();
        assert_eq!(facts, back, "{name}");
        assert_eq!(
            check_machine(&facts).findings,
            check_machine(&back).findings,
            "{name}"
        );
    }
}

/// Metamorphic: what has nothing to do with GPUs changes nothing.
#[test]
fn an_unrelated_file_and_a_missing_path_entry_change_nothing() {
    for (name, machine) in MachineDescription::all() {
        let directory = written(&machine);
        let before = check(directory.path()).findings;
        std::fs::write(directory.path().join("root/unrelated.txt"), "nothing").unwrap();
        assert_eq!(check(directory.path()).findings, before, "{name}");
    }
}

/// Metamorphic: a newer driver never adds a driver failure other than "too new for this GPU".
#[test]
fn raising_the_driver_never_adds_a_floor_failure() {
    let machines: BTreeMap<_, _> = MachineDescription::all().into_iter().collect();
    let directory = written(&machines["gtx1080_cuda13"]);
    let version = directory.path().join("root/proc/driver/nvidia/version");
    let text = std::fs::read_to_string(&version)
        .unwrap()
        .replace("566.36", "580.159.03");
    std::fs::write(version, text).unwrap();
    let report = check(directory.path());
    let outcome = |code: &str| {
        report
            .body
            .outcomes
            .iter()
            .find(|o| o.code == code)
            .unwrap()
            .outcome
    };
    assert_eq!(
        (outcome("DRV005"), outcome("TKT005")),
        (Outcome::Pass, Outcome::Pass)
    );
    assert_eq!(outcome("TKT006"), Outcome::Fail);
}

#[test]
fn removing_the_gpu_makes_gpu_rules_inapplicable() {
    let machines: BTreeMap<_, _> = MachineDescription::all().into_iter().collect();
    let report = check(written(&machines["no_gpu"]).path());
    assert!(
        report.findings.iter().all(|f| f.severity == Severity::Info),
        "{:?}",
        report.findings
    );
    for outcome in report
        .body
        .outcomes
        .iter()
        .filter(|o| o.code.starts_with("PYE0"))
    {
        assert_ne!(outcome.outcome, Outcome::Pass, "{}", outcome.code);
    }
}
