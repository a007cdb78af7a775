//! `warpsmith bench --list`: the workloads and what can be set.

use anyhow::Result;
use serde::Serialize;
use warpsmith_workload::{ParameterKind, Workload};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::output;

#[derive(Serialize)]
struct Listed {
    id: &'static str,
    summary: &'static str,
    parameters: Vec<ListedParameter>,
    techniques: Vec<&'static str>,
}

#[derive(Serialize)]
struct ListedParameter {
    name: &'static str,
    meaning: &'static str,
    default: String,
    range: String,
}

pub(super) fn list(global: &Global, workloads: &[Box<dyn Workload>]) -> Result<Outcome> {
    let listed: Vec<Listed> = workloads
        .iter()
        .map(|workload| describe_one(workload.as_ref()))
        .collect();
    let report = output::report("bench --list", listed);
    output::print(global, &report, |listed| {
        let mut text = String::new();
        for workload in listed {
            text.push_str(&format!("{}\n  {}\n", workload.id, workload.summary));
            for parameter in &workload.parameters {
                text.push_str(&format!(
                    "    {}={}  {} ({})\n",
                    parameter.name, parameter.default, parameter.meaning, parameter.range
                ));
            }
            if !workload.techniques.is_empty() {
                text.push_str(&format!(
                    "    techniques: {}\n",
                    workload.techniques.join(", ")
                ));
            }
        }
        text
    })?;
    if global.format == Format::Human {
        output::note(global, &format!("{} workloads", workloads.len()));
    }
    Ok(Outcome::Fine)
}

fn describe_one(workload: &dyn Workload) -> Listed {
    let parameters = workload.parameters().iter().map(|spec| ListedParameter {
        name: spec.name,
        meaning: spec.meaning,
        default: spec.kind.default().to_string(),
        range: match spec.kind {
            ParameterKind::Integer { min, max, .. } => format!("{min} to {max}"),
            ParameterKind::Choice(words) => words.join(", "),
        },
    });
    Listed {
        id: workload.id(),
        summary: workload.summary(),
        parameters: parameters.collect(),
        techniques: workload
            .techniques()
            .iter()
            .map(|technique| technique.name)
            .collect(),
    }
}
