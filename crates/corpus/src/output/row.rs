//! A record as it is written: plain columns.

use serde::{Deserialize, Serialize};

use crate::record::{GENERATOR_VERSION, Record, WARP_VERSION};
use crate::verify::Check;

/// One row of a data set. The order of the fields is the order of the columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Row {
    pub id: String,
    pub seed: u64,
    pub index: u64,
    pub attempt: u32,
    pub split: String,
    pub category: String,
    pub difficulty: u32,
    pub featured: String,
    pub kernel_name: String,
    pub python: String,
    pub cuda_forward: String,
    pub cuda_backward: String,
    pub cpu_forward: String,
    pub cpu_backward: String,
    pub builtins: Vec<String>,
    pub constructs: Vec<String>,
    pub variables: u32,
    pub operations: u32,
    pub adjoints: u32,
    pub branches: u32,
    pub loops: u32,
    pub nesting: u32,
    pub functions: u32,
    pub parameters: u32,
    pub launch_rank: u32,
    pub python_tokens: u32,
    pub cuda_tokens: u32,
    pub hash_exact: u64,
    pub hash_modulo_names: u64,
    pub hash_shape: u64,
    pub minhash: Vec<u32>,
    pub executed: String,
    pub gradient: String,
    pub compiled: String,
    pub gpu: String,
    /// Sets that were made before there was such a column have none.
    #[serde(default = "not_run")]
    pub vulkan: String,
    pub warp: String,
    pub expected: String,
    pub inputs: String,
    pub gradients: String,
    pub ptx: String,
    pub sass: String,
    pub generator_version: String,
    pub compiler_version: String,
    pub warp_version: String,
}

/// What a column says of a check that nobody made.
pub(crate) fn not_run() -> String {
    Check::NotRun.to_string()
}

impl From<&Record> for Row {
    fn from(record: &Record) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let features = &record.features;
        let checks = &record.verification;
        Self {
            id: record.id(),
            seed: record.origin.seed,
            index: record.origin.index,
            attempt: record.origin.attempt,
            split: record.split.name().to_owned(),
            category: record.draft.category.name().to_owned(),
            difficulty: u32::from(record.draft.difficulty),
            featured: record.draft.featured.to_owned(),
            builtins: owned(&features.builtins),
            constructs: owned(&features.constructs),
            variables: features.variables,
            operations: features.operations,
            adjoints: features.adjoints,
            branches: features.branches,
            loops: features.loops,
            nesting: features.nesting,
            functions: features.functions,
            parameters: features.parameters,
            launch_rank: features.rank,
            python_tokens: record.fingerprint.tokens,
            cuda_tokens: record.cuda_tokens,
            hash_exact: record.fingerprint.exact,
            hash_modulo_names: record.fingerprint.modulo_names,
            hash_shape: record.fingerprint.shape,
            minhash: record.fingerprint.minhash.to_vec(),
            executed: checks.executed.to_string(),
            gradient: checks.gradient.to_string(),
            compiled: checks.compiled.to_string(),
            gpu: checks.gpu.to_string(),
            vulkan: checks.vulkan.to_string(),
            warp: checks.warp.to_string(),
            expected: record.extra.expected.clone(),
            inputs: record.extra.inputs.clone(),
            gradients: record.extra.gradients.clone(),
            ptx: record.extra.ptx.clone(),
            sass: record.extra.sass.clone(),
            cuda_forward: record.cuda_forward().to_owned(),
            cuda_backward: record.cuda_backward().to_owned(),
            cpu_forward: record.cpu_forward().to_owned(),
            cpu_backward: record.cpu_backward().to_owned(),
            kernel_name: record.draft.kernel.clone(),
            python: record.draft.source.clone(),
            generator_version: GENERATOR_VERSION.to_owned(),
            compiler_version: env!("CARGO_PKG_VERSION").to_owned(),
            warp_version: WARP_VERSION.to_owned(),
        }
    }
}
