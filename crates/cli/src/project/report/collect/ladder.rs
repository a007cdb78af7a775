//! The same problem by other programs: NumPy, SciPy, Numba, PyTorch, where a Python has them.

use std::path::PathBuf;

use anyhow::Result;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_report::Facts;
use warpsmith_report::facts::{LadderFacts, PeerTime};

use crate::project::report::job::Job;
use warpsmith_apps::lattice::Speeds;
use warpsmith_console::global::Global;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let global = Global {
        quiet: true,
        device: match &job.device {
            Device::Cuda(gpu) => DeviceChoice::Cuda(gpu.facts().index),
            Device::Vulkan(device) => DeviceChoice::Vulkan(device.facts().index),
            Device::Cpu(_) => DeviceChoice::Cpu,
        },
        ..job.global.clone()
    };
    job.step("peers");
    let python = python();
    let with_peers = Speeds::of_report(python.clone()).time_all(&global);
    let (times, python) = match with_peers {
        Ok((times, _)) => (times, python),
        // A Python without NumPy has no peers; our own times are still worth a ladder.
        Err(_) => (Speeds::of_report(None).time_all(&global)?.0, None),
    };
    facts.ladder = Some(LadderFacts {
        problem: "Reaction-diffusion, 100³ cells, 10 steps".to_owned(),
        python: python.map(|path| path.display().to_string()),
        times: times
            .into_iter()
            .map(|timed| PeerTime {
                name: match timed.own {
                    true => format!("Warpsmith, {}", timed.name),
                    false => timed.name,
                },
                seconds: timed.seconds,
                own: timed.own,
                gpu: timed.gpu,
            })
            .collect(),
    });
    Ok(None)
}

/// The first `python3` on the path.
fn python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("python3"))
        .find(|program| program.is_file())
}
