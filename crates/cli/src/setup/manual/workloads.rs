//! The workloads as a page: what each takes, its switches, and how far a GPU may be from the CPU.

use warpsmith_core::Tolerance;
use warpsmith_workload::{ParameterKind, Parameters, Workload};

use super::page::{Page, cell};
use warpsmith_console::catalogue;

pub(super) fn page() -> Page {
    let workloads = catalogue::workloads();
    let mut text = format!(
        "# Workloads\n\nThe {} workloads that `bench`, `verify`, `ablate`, `scale` and `leak` take. \
         `warpsmith bench --list` prints them.\n\n| workload | what it does |\n|---|---|\n",
        workloads.len()
    );
    for workload in &workloads {
        let anchor = workload.id().replace('/', "");
        text.push_str(&format!(
            "| [`{}`](#{anchor}) | {} |\n",
            workload.id(),
            cell(workload.summary())
        ));
    }
    for workload in &workloads {
        describe(workload.as_ref(), &mut text);
    }
    Page::generated("reference/workloads.md", &text)
}

fn describe(workload: &dyn Workload, text: &mut String) {
    text.push_str(&format!(
        "\n## {}\n\n{}.\n",
        workload.id(),
        workload.summary()
    ));
    text.push_str("\n| parameter | default | values | what it sets |\n|---|---|---|---|\n");
    for parameter in workload.parameters() {
        let (default, values) = match parameter.kind {
            ParameterKind::Integer { default, min, max } => {
                (default.to_string(), format!("{min} to {max}"))
            }
            ParameterKind::Choice(words) => (words[0].to_owned(), words.join(", ")),
        };
        text.push_str(&format!(
            "| `{}` | {default} | {values} | {} |\n",
            parameter.name,
            cell(parameter.meaning)
        ));
    }
    if let Some(sizes) = workload.sizes() {
        text.push_str(&format!(
            "\nStudied over `{}`: {}.\n",
            sizes.parameter,
            sizes.values.join(", ")
        ));
    }
    if !workload.techniques().is_empty() {
        text.push_str("\n| technique | switch | what it changes | effort, risk (judged) |\n|---|---|---|---|\n");
        for technique in workload.techniques() {
            text.push_str(&format!(
                "| {} | `{}` from `{}` to `{}` | {} | {}, {} |\n",
                cell(technique.name),
                technique.parameter,
                technique.off,
                technique.on,
                cell(technique.meaning),
                technique.effort,
                technique.risk
            ));
        }
    }
    // Defaults are inside their own ranges, so this cannot be refused.
    if let Ok(parameters) = Parameters::resolve(workload.parameters(), &[]) {
        let argued = workload.tolerance(&parameters);
        let bounds = argued.tolerance;
        text.push_str(&format!(
            "\nGPU and CPU agree {}: {}.\n",
            within(bounds),
            argued.because
        ));
    }
}

/// How closely results agree, by the bounds that allow anything.
fn within(bounds: Tolerance) -> String {
    let mut parts = Vec::new();
    if bounds.abs > 0.0 {
        parts.push(format!("{:e} absolute", bounds.abs));
    }
    if bounds.rel > 0.0 {
        parts.push(format!("{:e} relative", bounds.rel));
    }
    if bounds.ulp > 0 {
        parts.push(format!("{} ULP", bounds.ulp));
    }
    match parts.is_empty() {
        true => "bit for bit".to_owned(),
        false => format!("within {}", parts.join(" or ")),
    }
}
