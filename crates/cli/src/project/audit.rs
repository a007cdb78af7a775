//! `warpsmith audit PATH`: what is wrong with a CUDA project, with evidence.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_core::{Report, Severity};
use warpsmith_doctor::{
    AuditBody, AuditOptions, Baseline, Evaluation, FixOptions, Include, Label, apply_patches,
    audit_github, audit_html, audit_junit, audit_markdown, audit_project, audit_sarif, audit_text,
    evaluate, plan_fixes, unified_diff,
};
use warpsmith_formats::{check_distinct, write_output};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::output;

use super::since;

/// Audit a CUDA project: build, sources, image, CI, tests, docs.
///
/// A finding is accepted with a comment `warpsmith: allow CODE reason` on its line or the line
/// above, or in `.warpsmith.toml` under `[audit.allow]`. `exclude` under `[audit]` in the same file names
/// paths that are not judged, as in `.gitignore`, and with `!` those that are, whatever their folder is
/// called. Examples are counted apart; vendored code and inputs of tests are not judged. `--fix`
/// pins actions to the commits that the file gives under `[audit.pins]`.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith audit .\n  warpsmith audit . --as sarif > audit.sarif\n  \
                  warpsmith audit . --write-baseline known.json\n  \
                  warpsmith audit . --baseline known.json --fail-on warning\n  \
                  warpsmith audit . --since main --as github\n  \
                  warpsmith audit . --fix | git apply\n  \
                  warpsmith audit . --fix --unsafe --apply\n  \
                  warpsmith audit checkouts --evaluate labels.json"
)]
pub(crate) struct Audit {
    /// The project's root; with `--evaluate`, the folder of checkouts.
    path: PathBuf,
    /// The form of the report on stdout.
    #[arg(long = "as", alias = "output", value_name = "FORM", value_enum, default_value_t = View::Human)]
    output: View,
    /// Exit with 1 for findings of this severity or a higher one.
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    /// Leave out findings that this file knows.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    baseline: Option<PathBuf>,
    /// Write the findings of today as a baseline.
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Keep the severity of every place; by default a rule warns once, and its other places are information.
    #[arg(long)]
    every_place: bool,
    /// Judge this too, like the project's own code; examples are counted apart, the others not judged.
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        value_delimiter = ',',
        conflicts_with = "evaluate"
    )]
    include: Vec<Included>,
    /// Leave out what was there at this revision: only what changes since then introduced.
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["baseline", "fix", "evaluate"])]
    since: Option<String>,
    /// Print a patch of safe fixes instead of the report.
    ///
    /// Safe fixes change nothing that runs, or what the project itself has written down. The patch is
    /// a fixed point: after it, a second run prints nothing.
    #[arg(long)]
    fix: bool,
    /// Fix what needs a look too: sources, images, workflows, dependencies.
    #[arg(long = "unsafe", requires = "fix")]
    suggested: bool,
    /// Write the patch into the project; its git tree must be clean.
    #[arg(long, requires = "fix")]
    apply: bool,
    /// Measure precision and recall against labelled places of the checkouts in PATH.
    #[arg(long, value_name = "LABELS", conflicts_with = "fix", value_parser = inputs::file())]
    evaluate: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum View {
    Human,
    Json,
    Sarif,
    Markdown,
    Html,
    Junit,
    Github,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Included {
    /// Folders such as `examples`, `samples`, `demo`, `tutorials`.
    Examples,
    /// Other people's code: `third_party`, `external`, `vendor` and the like, submodules, copied releases.
    Vendored,
    /// Inputs of tests: `fixtures`, `testdata`.
    Fixtures,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

impl Audit {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_folder(&self.path)?;
        let global = &self.check_outputs(global)?;
        if let Some(labels) = &self.evaluate {
            return measure(global, labels, &self.path);
        }
        if self.fix {
            return self.print_or_apply_fixes(global);
        }
        let baseline = match &self.since {
            Some(revision) => Some(since::findings_at(&self.path, revision, self.include())?),
            None => self.baseline.as_deref().map(read_json).transpose()?,
        };
        let report = audit_project(
            &self.path,
            &AuditOptions {
                baseline,
                every_place: self.every_place || self.write_baseline.is_some(),
                include: self.include(),
            },
        )?;
        if let Some(path) = &self.write_baseline {
            let baseline = Baseline::of(&report.findings);
            write_output(path, &serde_json::to_vec_pretty(&baseline)?)?;
            output::note(
                global,
                &format!("{} findings written", report.findings.len()),
            );
        }
        self.print(global, &report)?;
        let worst = report.worst();
        let fails = match self.fail_on {
            FailOn::Error => worst >= Some(Severity::Error),
            FailOn::Warning => worst >= Some(Severity::Warning),
            FailOn::Info => worst.is_some(),
            FailOn::Never => false,
        };
        Ok(Outcome::fine_if(!fails))
    }

    fn include(&self) -> Include {
        let has = |kind| self.include.contains(&kind);
        Include {
            fixtures: has(Included::Fixtures),
            vendored: has(Included::Vendored),
            examples: has(Included::Examples),
        }
    }

    fn print(&self, global: &Global, report: &Report<AuditBody>) -> Result<()> {
        let view = match (self.output, global.format) {
            (View::Human, Format::Json) => View::Json,
            (view, _) => view,
        };
        let text = match view {
            View::Human => audit_text(report, global.verbose),
            View::Json => serde_json::to_string_pretty(report)? + "\n",
            View::Sarif => {
                let fixes = plan_fixes(
                    &self.path,
                    &FixOptions {
                        suggested: true,
                        include: self.include(),
                        compile: false,
                    },
                )?;
                serde_json::to_string_pretty(&audit_sarif(report, &fixes.patches))? + "\n"
            }
            View::Markdown => audit_markdown(report),
            View::Html => audit_html(report),
            View::Junit => audit_junit(report),
            View::Github => audit_github(report),
        };
        output::writer(global).write_all(text.as_bytes())?;
        Ok(())
    }

    /// A report for programs cannot share the standard output with the baseline.
    fn check_outputs(&self, global: &Global) -> Result<Global> {
        let baseline = ("--write-baseline", self.write_baseline.as_deref());
        if let (name, Some(path)) = baseline
            && self.output != View::Human
        {
            check_distinct(&[(name, path), ("--output", Path::new("-"))])?;
        }
        output::check_outputs(global, &[baseline])
    }

    fn print_or_apply_fixes(&self, global: &Global) -> Result<Outcome> {
        let options = FixOptions {
            suggested: self.suggested,
            include: self.include(),
            compile: true,
        };
        let plan = plan_fixes(&self.path, &options)?;
        let patches = plan.patches;
        if self.apply {
            require_clean_tree(&self.path)?;
            apply_patches(&self.path, &patches)?;
            for patch in &patches {
                output::note(
                    global,
                    &format!("{}: {}", patch.file, patch.codes.join(", ")),
                );
            }
        } else {
            stdout()
                .lock()
                .write_all(unified_diff(&patches).as_bytes())?;
        }
        for (file, why) in &plan.refused {
            output::note(global, &format!("{file}: no fix offered: {why}"));
        }
        if global.verbose {
            output::note(
                global,
                &format!("{} patched sources still compile", plan.compiled),
            );
            for (file, why) in &plan.uncompiled {
                output::note(global, &format!("{file}: not compiled: {why}"));
            }
        }
        output::note(global, &format!("fixed {} files", patches.len()));
        if plan.suggestions > 0 {
            let count = plan.suggestions;
            output::note(
                global,
                &format!("{count} findings have a suggested fix: look at `--fix --unsafe`"),
            );
        }
        Ok(Outcome::Fine)
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("`{}` has another form than expected", path.display()))
}

/// A patch that cannot be told from the user's own work could not be taken back.
fn require_clean_tree(root: &Path) -> Result<()> {
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(root)
        .output()
        .context("cannot run `git status`: --apply needs a git checkout")?;
    if !status.status.success() {
        bail!(
            "`{}` is not a git checkout: print the patch with --fix alone",
            root.display()
        );
    }
    if !status.stdout.is_empty() {
        bail!("the git tree is not clean: commit or stash first");
    }
    Ok(())
}

fn measure(global: &Global, labels: &Path, checkouts: &Path) -> Result<Outcome> {
    let labels: Vec<Label> = read_json(labels)?;
    let evaluation = evaluate(&labels, checkouts);
    let mut out = stdout().lock();
    if global.format == Format::Json {
        serde_json::to_writer_pretty(&mut out, &evaluation)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&evaluation, global.verbose))?;
    }
    Ok(if evaluation.projects.is_empty() {
        Outcome::CannotHere
    } else {
        Outcome::Fine
    })
}

fn table(evaluation: &Evaluation, verbose: bool) -> String {
    let percent = |value: Option<(f64, f64, f64)>| {
        value.map_or("-".to_owned(), |(p, low, high)| {
            format!(
                "{:.0} % [{:.0}, {:.0}]",
                100.0 * p,
                100.0 * low,
                100.0 * high
            )
        })
    };
    let mut text = format!(
        "{:<8} {:>5} {:>6} {:>6} {:>6} {:>10}  {:<18} {:<18}\n",
        "rule", "right", "wrong", "missed", "silent", "unlabelled", "precision", "recall"
    );
    for (rule, measured) in &evaluation.rules {
        text += &format!(
            "{rule:<8} {:>5} {:>6} {:>6} {:>6} {:>10}  {:<18} {:<18}\n",
            measured.true_positive,
            measured.false_positive,
            measured.missed,
            measured.true_negative,
            measured.unlabelled,
            percent(measured.precision()),
            percent(measured.recall())
        );
        if verbose {
            for place in &measured.wrong {
                text += &format!("         {place}\n");
            }
        }
    }
    text += "\nfindings above information, by project\n";
    for (project, count) in &evaluation.projects {
        text += &format!("{count:>5}  {project}\n");
    }
    for project in &evaluation.skipped {
        text += &format!("skipped: no checkout of {project}\n");
    }
    text
}
