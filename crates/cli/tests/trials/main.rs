//! The program as its texts and its operators have it: transcripts, documentation, deployment, the
//! report's page, the files that it writes. Trials that need what is not installed count as ignored.

mod cuda_files;
mod deployment;
mod documentation;
mod networks;
mod outputs;
mod report;
mod session;
#[path = "../integration/tone.rs"]
mod tone;
mod transcripts;
mod vulkan;
mod vulkan_verbs;

use libtest_mimic::Arguments;

fn main() {
    let kinds = [
        ("transcripts", transcripts::trials()),
        ("documentation", documentation::trials()),
        ("cuda_files", cuda_files::trials()),
        ("deployment", deployment::trials()),
        ("report", report::trials()),
        ("networks", networks::trials()),
        ("outputs", outputs::trials()),
        ("vulkan", vulkan::trials()),
        ("vulkan_verbs", vulkan_verbs::trials()),
    ];
    let trials = kinds
        .into_iter()
        .flat_map(|(kind, trials)| trials.into_iter().map(move |trial| trial.with_kind(kind)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
