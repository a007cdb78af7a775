//! The targets by name, each with the words of its format.

mod arrays;
mod audio;
mod compiler;
mod configuration;
mod kernel_case;
mod lattice;
mod machine_code;
mod measurements;
mod molecular;
mod music;
mod project;
mod serving;
mod shards;
mod telemetry;

/// A parser under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What `--target` takes, and the name of the corpus's folder.
    pub name: &'static str,
    /// Gives the parser one input.
    pub run: fn(&[u8]),
    /// Words that a mutation inserts.
    pub dictionary: &'static [&'static str],
}

/// Every target, by name.
pub const TARGETS: &[Target] = &[
    audio::AUDIO,
    kernel_case::CASE,
    project::CMAKE,
    project::COMPOSE,
    configuration::CONFIG,
    shards::MANIFEST,
    shards::ROWS,
    project::CUDA,
    project::DOCKERFILE,
    machine_code::ELF,
    telemetry::FDINFO,
    telemetry::GPU_METRICS,
    measurements::HISTORY,
    measurements::IMPORT,
    kernel_case::INTENT,
    compiler::IR_TEXT,
    lattice::JOURNAL,
    telemetry::KUBELET,
    lattice::MAZE,
    molecular::CHECKPOINT,
    molecular::TRAJECTORY,
    telemetry::METRICS_PAGE,
    measurements::NCU,
    arrays::NPY,
    measurements::NSYS,
    music::PRESET,
    telemetry::PROMETHEUS,
    project::PYPROJECT,
    compiler::PYTHON,
    telemetry::RECORDING,
    measurements::REPORT,
    project::REQUIREMENTS,
    serving::FRAME,
    serving::MESSAGE,
    project::SETUP_PY,
    kernel_case::SIGNATURE,
    telemetry::WEB_CONFIG,
    serving::WEBSOCKET,
    audio::WEIGHTS,
    machine_code::WHEEL,
    telemetry::WISDOM,
    project::WORKFLOW,
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Gives the target of this name one input.
///
/// # Panics
/// Where there is no such target, and where its parser panics.
pub fn run(name: &str, data: &[u8]) {
    let target = target(name).expect("the target exists");
    (target.run)(data);
}

/// Gives a parser of texts the bytes as a text, as a reader that replaces what is not UTF-8 would.
fn text(data: &[u8], see: impl FnOnce(&str)) {
    see(&String::from_utf8_lossy(data));
}
