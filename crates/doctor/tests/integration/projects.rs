//! Small projects, each written to show a pattern: what must be reported where, what must not, and
//! what `--fix` changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::project::{Project, small};
use warpsmith_core::{Finding, Report, Severity};
use warpsmith_doctor::{
    AuditBody, AuditOptions, Baseline, FixOptions, Include, Outcome, apply_patches, audit_html,
    audit_junit, audit_markdown, audit_project, audit_sarif, audit_text, fixable, plan_fixes,
    rule_info, unified_diff,
};

fn findings(root: &Path) -> Vec<Finding> {
    let options = AuditOptions {
        every_place: true,
        ..AuditOptions::default()
    };
    audit_project(root, &options).unwrap().findings
}

fn stands(finding: &Finding, code: &str, place: Option<&(String, u32)>) -> bool {
    finding.code == code
        && place.is_none_or(|(file, line)| {
            finding
                .span
                .as_ref()
                .is_some_and(|s| s.file == *file && s.line == *line)
        })
}

#[test]
fn every_project_is_judged_as_it_says() {
    let mut wrong = Vec::new();
    for project in Project::all() {
        let found = findings(project.write().path());
        for (code, place) in &project.expect {
            if !found.iter().any(|f| stands(f, code, place.as_ref())) {
                let other: Vec<_> = found
                    .iter()
                    .filter(|f| f.code == *code)
                    .map(|f| f.span.clone())
                    .collect();
                wrong.push(format!(
                    "{}: {code} is missing at {place:?}, found at {other:?}",
                    project.name
                ));
            }
        }
        for code in &project.silent {
            if let Some(finding) = found.iter().find(|f| f.code == *code) {
                wrong.push(format!("{}: {code} must not fire: {finding}", project.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_fix_ends_its_finding_and_a_second_plan_is_empty() {
    let mut wrong = Vec::new();
    let mut fixed = BTreeSet::new();
    for project in Project::all() {
        let directory = project.write();
        let before: BTreeSet<String> = findings(directory.path())
            .into_iter()
            .map(|f| f.code)
            .collect();
        let all = FixOptions {
            suggested: true,
            ..FixOptions::default()
        };
        let plan = plan_fixes(directory.path(), &all).unwrap();
        assert!(
            plan.refused.is_empty(),
            "{}: {:?}",
            project.name,
            plan.refused
        );
        let patches = plan.patches;
        assert!(patches.is_empty() || unified_diff(&patches).contains("+++ b/"));
        apply_patches(directory.path(), &patches).unwrap();
        let after = findings(directory.path());
        let again = plan_fixes(directory.path(), &all).unwrap().patches;
        assert!(
            again.is_empty(),
            "{}: {}",
            project.name,
            unified_diff(&again)
        );
        for code in &project.fixes {
            fixed.insert(code.clone());
            if !before.contains(code) {
                wrong.push(format!(
                    "{}: {code} does not fire before the fix",
                    project.name
                ));
            }
            if let Some(left) = after.iter().find(|f| f.code == *code) {
                wrong.push(format!("{}: {code} is still there: {left}", project.name));
            }
            if again.iter().any(|p| p.codes.contains(code)) {
                wrong.push(format!(
                    "{}: a second plan fixes {code} again",
                    project.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unproven: Vec<_> = fixable()
        .into_iter()
        .filter(|code| !fixed.contains(*code))
        .collect();
    assert!(
        unproven.is_empty(),
        "no project proves the fix of {unproven:?}"
    );
    assert!(fixed.len() >= 40, "{} fixes", fixed.len());
}

#[test]
fn every_finding_has_evidence_and_what_to_do() {
    for project in Project::all() {
        for finding in findings(project.write().path()) {
            assert!(!finding.evidence.is_empty(), "{}: {finding}", project.name);
            assert!(finding.hint.is_some(), "{}: {finding}", project.name);
            assert!(rule_info(&finding.code).is_some(), "{finding}");
        }
    }
}

#[test]
fn views_are_made_of_every_report() {
    for project in Project::all() {
        let report = audit_project(project.write().path(), &AuditOptions::default()).unwrap();
        assert!(audit_text(&report, true).contains("score"));
        assert!(audit_markdown(&report).starts_with("# Audit"));
        assert!(audit_html(&report).ends_with("</html>\n"));
        let junit = audit_junit(&report);
        assert_eq!(
            junit.matches("<testcase").count(),
            report.body.outcomes.len()
        );
        check_sarif(&audit_sarif(&report, &[]));
        let json = serde_json::to_string(&report).unwrap();
        let back: warpsmith_core::Report<warpsmith_doctor::AuditBody> =
            serde_json::from_str(&json).unwrap();
        assert!(back == report, "{}: JSON changed the report", project.name);
    }
}

/// The demands of SARIF 2.1.0 on the objects that we write (sections 3.13, 3.14, 3.27, 3.35, 3.49).
fn check_sarif(log: &serde_json::Value) {
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(run["tool"]["driver"]["name"].is_string());
        for result in run["results"].as_array().unwrap() {
            assert!(
                result["message"]["text"]
                    .as_str()
                    .is_some_and(|t| !t.is_empty())
            );
            assert!(
                ["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap())
            );
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            for location in result["locations"].as_array().unwrap() {
                let physical = &location["physicalLocation"];
                let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
                assert!(!uri.starts_with('/') && !uri.contains(' '));
                assert!(physical["region"]["startLine"].as_u64().unwrap() >= 1);
            }
            for suppression in result["suppressions"].as_array().into_iter().flatten() {
                assert!(["inSource", "external"].contains(&suppression["kind"].as_str().unwrap()));
            }
        }
    }
}

#[test]
fn a_comment_with_a_reason_accepts_a_finding_and_one_without_does_not() {
    let directory = small(&[(
        "Dockerfile",
        "# warpsmith: allow DKR001 runs rootless here\nFROM debian:12@sha256:0\nCMD x\n",
    )]);
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    assert!(report.findings.iter().all(|f| f.code != "DKR001"));
    assert_eq!(report.body.suppressed[0].reason, "runs rootless here");
    let sarif = audit_sarif(&report, &[]);
    assert!(
        sarif["runs"][0]["results"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["suppressions"][0]["justification"] == "runs rootless here")
    );
    let directory = small(&[(
        "Dockerfile",
        "# warpsmith: allow DKR001\nFROM debian:12@sha256:0\nCMD x\n",
    )]);
    assert!(
        findings(directory.path())
            .iter()
            .any(|f| f.code == "DKR001")
    );
    let directory = small(&[
        ("Dockerfile", "FROM debian:12\n"),
        (
            ".warpsmith.toml",
            "[audit.allow]\nDKR001 = \"a build image\"\n",
        ),
    ]);
    assert!(
        findings(directory.path())
            .iter()
            .all(|f| f.code != "DKR001")
    );
}

#[test]
fn a_baseline_leaves_only_what_is_new() {
    let directory = small(&[("Dockerfile", "FROM debian:12\nCMD x\n")]);
    let baseline = Baseline::of(&findings(directory.path()));
    fs::write(
        directory.path().join("Dockerfile.gpu"),
        "FROM ubuntu:18.04\nCMD x\n",
    )
    .unwrap();
    let options = AuditOptions {
        baseline: Some(baseline),
        every_place: true,
        ..AuditOptions::default()
    };
    let report = audit_project(directory.path(), &options).unwrap();
    assert!(report.body.known > 0);
    assert!(report.findings.iter().any(|f| f.code == "DKR005"));
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.span.as_ref().is_none_or(|s| s.file == "Dockerfile.gpu"))
    );
}

#[test]
fn bad_input_gives_findings_or_clear_errors() {
    assert!(audit_project(Path::new("/nonexistent"), &AuditOptions::default()).is_err());
    let empty = tempfile::tempdir().unwrap();
    assert!(audit_project(empty.path(), &AuditOptions::default()).is_err());
    let directory = small(&[
        ("a.cu", "\u{0}\u{1}binary"),
        ("pyproject.toml", "[project\nx = "),
        (".github/workflows/x.yml", "a:\n\tb: [1\n"),
        ("setup.py", "\u{feff}if not"),
        ("README.md", "]( ](x"),
    ]);
    std::os::unix::fs::symlink(".", directory.path().join("loop")).unwrap();
    fs::write(directory.path().join("huge.cu"), vec![b'x'; 3 << 20]).unwrap();
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    assert_eq!(report.body.unread, ["a.cu", "huge.cu"]);
    assert_eq!(report.body.faults.len(), 3);
    // What rests on a file that could not be read is unknown, and never passed.
    for code in ["SRC001", "CIA004", "DEP004"] {
        let outcome = report
            .body
            .outcomes
            .iter()
            .find(|o| o.code == code)
            .unwrap();
        assert_ne!(outcome.outcome, Outcome::Pass, "{code}");
    }
    let sources = report
        .body
        .outcomes
        .iter()
        .find(|o| o.code == "SRC001")
        .unwrap();
    assert_eq!(sources.outcome, Outcome::Unknown);
    let text = audit_text(&report, false);
    assert!(text.contains("no CUDA code"), "{text}");
}

#[test]
fn a_warning_speaks_once_and_its_other_places_are_listed() {
    let directory = small(&[
        ("Dockerfile", "FROM debian:12\n"),
        ("Dockerfile.b", "FROM debian:12\n"),
    ]);
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    let loud = report
        .findings
        .iter()
        .filter(|f| f.code == "DKR001" && f.severity == Severity::Warning)
        .count();
    assert_eq!(
        (
            loud,
            report
                .findings
                .iter()
                .filter(|f| f.code == "DKR001")
                .count()
        ),
        (1, 2)
    );
    let outcome = report
        .body
        .outcomes
        .iter()
        .find(|o| o.code == "DKR001")
        .unwrap();
    assert_eq!((outcome.outcome, outcome.findings), (Outcome::Warn, 2));
}

#[test]
fn fixtures_vendored_code_and_examples_are_counted_apart() {
    let image = "FROM ubuntu:18.04\nCMD x\n";
    let directory = small(&[
        ("src/k.cu", "__global__ void k() {}\n"),
        ("examples/a/Dockerfile", image),
        ("third_party/lib/Dockerfile", image),
        ("tests/fixtures/Dockerfile", image),
        ("ext/sub/Dockerfile", image),
        (".gitmodules", "[submodule \"sub\"]\n\tpath = ext/sub\n"),
    ]);
    let audit = |include: Include| {
        let options = AuditOptions {
            every_place: true,
            include,
            ..AuditOptions::default()
        };
        audit_project(directory.path(), &options).unwrap()
    };
    let errors = |report: &Report<AuditBody>| {
        let found = report.findings.iter().filter(|f| f.code == "DKR005");
        found.count()
    };
    let plain = audit(Include::default());
    assert_eq!(errors(&plain), 0, "{:?}", plain.findings);
    let text = audit_text(&plain, false);
    for line in [
        "apart: 1 file of inputs of tests, not judged: --include fixtures",
        "apart: 2 files of other people's code, not judged: --include vendored",
        "apart: 1 file of examples with 0 errors and ",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let outcome = |report: &Report<AuditBody>| {
        let mut outcomes = report.body.outcomes.iter();
        outcomes.find(|o| o.code == "DKR005").unwrap().outcome
    };
    assert_eq!(outcome(&plain), Outcome::Pass);
    for (include, expected) in [
        (
            Include {
                examples: true,
                ..Include::default()
            },
            1,
        ),
        (
            Include {
                vendored: true,
                ..Include::default()
            },
            2,
        ),
        (
            Include {
                fixtures: true,
                ..Include::default()
            },
            1,
        ),
        (
            Include {
                fixtures: true,
                vendored: true,
                examples: true,
            },
            4,
        ),
    ] {
        let report = audit(include);
        assert_eq!(errors(&report), expected, "{include:?}");
        // Of all these only vendored code counts as what the project ships.
        let worst = if include.vendored {
            Outcome::Fail
        } else {
            Outcome::Warn
        };
        assert_eq!(outcome(&report), worst, "{include:?}");
    }
    let plan = plan_fixes(
        directory.path(),
        &FixOptions {
            suggested: true,
            ..FixOptions::default()
        },
    );
    let touched = plan.unwrap().patches;
    assert!(
        touched.iter().all(|p| !p.file.contains("Dockerfile")),
        "{touched:?}"
    );
}

#[test]
fn examples_are_the_project_where_it_has_no_other_cuda_code() {
    let directory = small(&[
        ("samples/k.cu", "__global__ void k() {}\n"),
        ("samples/Dockerfile", "FROM ubuntu:18.04\nCMD x\n"),
    ]);
    assert!(
        findings(directory.path())
            .iter()
            .any(|f| f.code == "DKR005")
    );
    let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
    assert!(report.body.apart.is_empty());
}

/// Severities of a rule's findings, with the file of each.
fn severities(root: &Path, code: &str) -> Vec<(String, Severity)> {
    let found = findings(root).into_iter().filter(|f| f.code == code);
    found
        .map(|f| (f.span.map_or(String::new(), |s| s.file), f.severity))
        .collect()
}

const EXTENSION: &str = "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\nsetup(name='own-kernels', ext_modules=[CUDAExtension('k', ['k.cu'])])\n";

#[test]
fn an_image_that_builds_somebody_elses_clone_is_not_judged_by_this_setup() {
    let image = "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\n\
                 RUN git clone https://github.com/a/other.git \\\n && cd other \\\n && python setup.py install\n\
                 RUN git clone --depth 1 https://github.com/a/later\nWORKDIR /later\nRUN pip install .\n";
    let own = "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\nRUN git clone https://github.com/me/own_kernels && cd own_kernels && pip install .\n";
    let directory = small(&[
        ("setup.py", EXTENSION),
        ("k.cu", "__global__ void k() {}\n"),
        ("Dockerfile", image),
        ("Dockerfile.own", own),
    ]);
    let found = severities(directory.path(), "DKR006");
    // Whether the base image brings a list is not known.
    assert_eq!(found, [("Dockerfile.own".to_owned(), Severity::Warning)]);
}

#[test]
fn a_proposed_list_has_blackwell_where_toolkit_and_torch_have_it() {
    let hint = |files: &[(&str, &str)], code: &str| -> String {
        let found = findings(small(files).path());
        let found = found.iter().find(|f| f.code == code).unwrap();
        found.hint.clone().unwrap()
    };
    let image = "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\nCOPY . .\nRUN pip install .\n";
    let files = [("setup.py", EXTENSION), ("k.cu", ""), ("Dockerfile", image)];
    for code in ["BLD001", "DKR006"] {
        let hint = hint(&files, code);
        assert!(hint.contains("9.0;10.0;12.0+PTX"), "{hint}");
        assert!(
            hint.contains("CUDA 12.8 of Dockerfile") && hint.contains("database of"),
            "{hint}"
        );
    }
    let old = image.replace("12.8.0", "11.8.0");
    let files = [
        ("setup.py", EXTENSION),
        ("k.cu", ""),
        ("Dockerfile", old.as_str()),
    ];
    assert!(hint(&files, "DKR006").contains("8.9;9.0+PTX"));
    let old_torch = [
        ("setup.py", EXTENSION),
        ("k.cu", ""),
        ("requirements.txt", "torch==2.0.0\n"),
    ];
    let hint = hint(&old_torch, "BLD001");
    assert!(
        hint.contains("8.6;8.9;9.0+PTX") || hint.contains("8.6+PTX"),
        "{hint}"
    );
    assert!(
        !hint.contains("10.0") && hint.contains("of torch 2.0.0"),
        "{hint}"
    );
}

#[test]
fn a_branch_of_others_is_an_error_where_it_gets_a_secret() {
    let workflow = "on: push\njobs:\n  a:\n    uses: lab/shared/.github/workflows/b.yml@main\n  c:\n    uses: other/thing/.github/workflows/b.yml@main\n  d:\n    uses: third/thing/.github/workflows/b.yml@main\n    secrets: inherit\n";
    let readme =
        "# x\n[docs](https://github.com/lab/x/docs) [bugs](https://github.com/lab/x/issues)\n";
    let directory = small(&[("README.md", readme), (".github/workflows/a.yml", workflow)]);
    let found = severities(directory.path(), "CIA004");
    let mut found: Vec<Severity> = found.into_iter().map(|(_, severity)| severity).collect();
    found.sort();
    assert_eq!(found, [Severity::Info, Severity::Warning, Severity::Error]);
}

#[test]
fn a_header_is_gone_for_sure_where_every_torch_that_is_named_is_without_it() {
    let source = "#include <torch/extension.h>\n#include <THC/THC.h>\n";
    let judged = |image: &str, requirements: &str| {
        let files = [
            ("docker/Dockerfile", image),
            ("requirements.txt", requirements),
            ("csrc/a.cu", source),
        ];
        severities(small(&files).path(), "BLD009").pop().unwrap().1
    };
    let (old, new) = (
        "FROM nvcr.io/nvidia/pytorch:21.12-py3\n",
        "FROM nvcr.io/nvidia/pytorch:25.01-py3\n",
    );
    let pinned = "FROM debian:13\nRUN pip install torch==1.1.0\n";
    assert_eq!(judged(new, ""), Severity::Error);
    assert_eq!(judged("FROM debian:13\n", "torch>=2.0\n"), Severity::Error);
    assert_eq!(judged(old, ""), Severity::Warning);
    assert_eq!(judged(pinned, ""), Severity::Warning);
    assert_eq!(judged(new, "torch>=1.0\n"), Severity::Warning);
    assert_eq!(judged("FROM debian:13\n", "torch\n"), Severity::Warning);
}

#[test]
fn tensorflows_own_flags_win_over_those_before_them() {
    let setup = |flags: &str| {
        format!(
            "from setuptools import setup, Extension\nimport tensorflow as tf\nargs = ['-std=c++11']\n{flags}setup(name='x', ext_modules=[Extension('k', ['k.cc'], extra_compile_args=args)])\n"
        )
    };
    let judged = |flags: &str| {
        let directory = small(&[("setup.py", &setup(flags)), ("k.cu", "")]);
        severities(directory.path(), "BLD008").len()
    };
    assert_eq!(judged(""), 1);
    assert_eq!(judged("args += tf.sysconfig.get_compile_flags()\n"), 0);
}

#[test]
fn a_repository_of_projects_with_their_own_licences_is_not_without_one() {
    let directory = small(&[
        ("a/LICENSE", "MIT"),
        (
            "a/setup.py",
            "from setuptools import setup\nsetup(\n    license='MIT',\n)\n",
        ),
        ("a/k.cu", ""),
        ("b/LICENSE.txt", "MIT"),
    ]);
    assert_eq!(
        severities(directory.path(), "DOC005"),
        [(String::new(), Severity::Info)]
    );
    let without = small(&[("a/k.cu", "")]);
    assert_eq!(
        severities(without.path(), "DOC005"),
        [(String::new(), Severity::Error)]
    );
}

#[test]
fn sudo_is_wanted_where_people_develop_and_void_where_all_are_root() {
    let root = "FROM debian:13\nRUN echo 'me ALL=(ALL) NOPASSWD:ALL' >> /etc/sudoers\n";
    let user = format!("{root}USER me\n");
    let directory = small(&[
        (".devcontainer/Dockerfile", &user),
        ("Dockerfile", &user),
        ("Dockerfile.root", root),
    ]);
    let mut found = severities(directory.path(), "DKR010");
    found.sort();
    let expected = [
        (".devcontainer/Dockerfile".to_owned(), Severity::Info),
        ("Dockerfile".to_owned(), Severity::Warning),
        ("Dockerfile.root".to_owned(), Severity::Info),
    ];
    assert_eq!(found, expected);
}

#[test]
fn torch_that_is_imported_only_on_request_is_information() {
    let setup =
        |head: &str| format!("import os\n{head}from setuptools import setup\nsetup(name='x')\n");
    let judged = |head: &str| {
        let directory = small(&[("setup.py", &setup(head)), ("k.cu", "")]);
        severities(directory.path(), "BLD006")
            .pop()
            .map(|(_, severity)| severity)
    };
    let asked = "if os.getenv('EXT') == '1':\n    import torch\n    from torch.utils.cpp_extension import CUDAExtension\n";
    assert_eq!(judged(asked), Some(Severity::Info));
    let main = "if __name__ == '__main__':\n    import torch\n";
    assert_eq!(judged(main), Some(Severity::Error));
    assert_eq!(judged("import torch\n"), Some(Severity::Error));
}

#[test]
fn a_cmake_library_without_torch_may_have_any_standard() {
    let flags = "set(CMAKE_CXX_FLAGS \"${CMAKE_CXX_FLAGS} -std=c++14\")\n";
    let judged = |cmake: &str| {
        let files = [
            ("setup.py", EXTENSION),
            ("k.cu", ""),
            ("CMakeLists.txt", cmake),
        ];
        severities(small(&files).path(), "BLD008").len()
    };
    assert_eq!(judged(flags), 0);
    assert_eq!(judged(&format!("find_package(Torch REQUIRED)\n{flags}")), 1);
}

#[test]
fn a_runtime_image_is_not_judged_by_the_compiler_it_lacks() {
    let judged = |kind: &str| {
        let image = format!(
            "FROM nvidia/cuda:10.2-cudnn7-{kind}-ubuntu18.04\nRUN pip3 install torch==1.13.1\n"
        );
        let files = [
            ("setup.py", EXTENSION),
            ("k.cu", ""),
            ("Dockerfile", image.as_str()),
        ];
        severities(small(&files).path(), "DEP001").len()
    };
    assert_eq!((judged("devel"), judged("runtime")), (1, 0));
}

#[test]
fn an_image_without_the_switch_builds_no_cuda_code() {
    let setup = EXTENSION.replace(
        "setup(",
        "import os\nforced = os.getenv('FORCE_CUDA') == '1'\nsetup(",
    );
    let judged = |line: &str| {
        let image = format!(
            "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\n{line}COPY . .\nRUN pip install .\n"
        );
        let files = [
            ("setup.py", setup.as_str()),
            ("k.cu", ""),
            ("Dockerfile", image.as_str()),
        ];
        severities(small(&files).path(), "DKR006").len()
    };
    assert_eq!((judged(""), judged("ENV FORCE_CUDA=1\n")), (0, 1));
    let seen = "import torch\nif torch.cuda.is_available():\n    pass\nsetup(";
    let seen = EXTENSION.replace("setup(", seen);
    let image = "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\nCOPY . .\nRUN pip install .\n";
    let files = [
        ("setup.py", seen.as_str()),
        ("k.cu", ""),
        ("Dockerfile", image),
    ];
    assert!(severities(small(&files).path(), "DKR006").is_empty());
}

#[test]
fn a_licence_that_setup_py_names_is_said_so() {
    let setup = "from setuptools import setup\nsetup(\n    name='x',\n    license='MIT',\n)\n";
    let found = findings(small(&[("setup.py", setup), ("k.cu", "")]).path());
    let found = found.iter().find(|f| f.code == "DOC005").unwrap();
    assert!(
        found.message.starts_with("setup.py names a licence"),
        "{found}"
    );
    let readme = "# x\n\n## License\n\nFree for research.\n";
    let found = findings(small(&[("README.md", readme), ("k.cu", "")]).path());
    let found = found.iter().find(|f| f.code == "DOC005").unwrap();
    assert!(
        found.message.starts_with("README.md names a licence"),
        "{found}"
    );
}

#[test]
fn an_extension_of_paddle_is_not_judged_by_torch() {
    let judged = |framework: &str| {
        let setup = format!(
            "from {framework}.utils.cpp_extension import CUDAExtension, setup\nflags = ['-std=c++14']\nsetup(name='k', ext_modules=CUDAExtension(sources=['k.cu'], extra_compile_args=flags))\n"
        );
        let files = [("setup.py", setup.as_str()), ("k.cu", "")];
        severities(small(&files).path(), "BLD008").len()
    };
    assert_eq!((judged("paddle"), judged("torch")), (0, 1));
}

#[test]
fn a_template_s_branch_for_amd_is_not_cuda_code() {
    let judged = |condition: &str| {
        let kernel = format!(
            "{{%- if {condition} %}}\n__device__ float sum(float v) {{ return v + __shfl_xor(v, 1, 8); }}\n{{%- endif %}}\n"
        );
        let files = [("k_template.cu", kernel.as_str())];
        severities(small(&files).path(), "SRC007").len()
    };
    assert_eq!((judged("is_rocm"), judged("dense")), (0, 1));
}

#[test]
fn a_function_is_gone_for_sure_where_the_pinned_cudnn_is_without_it() {
    let kernel =
        "#include <cudnn.h>\nvoid f(cudnnHandle_t h) { check(cudnnSetRNNDescriptor_v6(h)); }\n";
    let judged = |images: &[&str]| {
        let paths = ["a/Dockerfile", "b/Dockerfile"];
        let mut files = vec![("k.cu", kernel)];
        files.extend(paths.into_iter().zip(images.iter().copied()));
        severities(small(&files).path(), "SRC008").pop().unwrap().1
    };
    let eight = "ARG CUDNN=8\nFROM nvidia/cuda:12.0.1-cudnn${CUDNN}-devel-ubuntu22.04\n";
    let nine = "FROM nvidia/cuda:12.8.0-cudnn9-devel-ubuntu24.04\n";
    assert_eq!(judged(&[eight]), Severity::Warning);
    assert_eq!(judged(&[eight, nine]), Severity::Warning);
    assert_eq!(judged(&[]), Severity::Warning);
    assert_eq!(judged(&[nine]), Severity::Error);
}
