//! Names of CUDA's libraries: which calls return a status, which of them clean up, which words check.

/// Calls that return nothing or that report by themselves.
const NOT_A_STATUS: [&str; 10] = [
    "cudaGridDependencySynchronize",
    "cudaTriggerProgrammaticLaunchCompletion",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaGetErrorString",
    "cudaGetErrorName",
    "cudaCreateChannelDesc",
    "cudaGetParameterBuffer",
    "cudaGetParameterBufferV2",
    "cudaDeviceSynchronizeDeprecationAvoidance",
];

/// Whether a name is a host function that returns a status.
pub(crate) fn returns_status(name: &str) -> bool {
    let after = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    if NOT_A_STATUS.contains(&name) || name.ends_with("_t") || name.ends_with("GetErrorString") {
        return false;
    }
    [
        "cuda", "cublas", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nccl", "nvrtc",
    ]
    .iter()
    .any(|p| after(p))
        || [
            "cuMem",
            "cuModule",
            "cuCtx",
            "cuLaunch",
            "cuStream",
            "cuEvent",
            "cuDevice",
            "cuFunc",
            "cuGraph",
            "cuInit",
            "cuLink",
            "cuTensorMap",
        ]
        .iter()
        .any(|p| name.starts_with(p))
}

/// Calls that end something: their status is often lost on purpose.
pub(crate) fn is_cleanup(name: &str) -> bool {
    [
        "Destroy",
        "Free",
        "Unload",
        "Unregister",
        "Unmap",
        "Deregister",
        "Finalize",
        "Abort",
        "Reset",
    ]
    .iter()
    .any(|w| name.contains(w))
}

/// Calls that only ask or hint: a lost failure shows at once, or costs speed, not correctness.
pub(crate) fn is_query(name: &str) -> bool {
    name.contains("Get")
        || name.contains("FuncSetAttribute")
        || name.contains("FuncSetCache")
        || name.contains("Occupancy")
        || name.contains("Query")
        || name.contains("Version")
}

/// Words that mean that an error is checked.
pub(crate) fn is_check(word: &str) -> bool {
    if matches!(
        word,
        "cudaGetLastError" | "cudaPeekAtLastError" | "hipGetLastError"
    ) {
        return true;
    }
    let upper = word.to_ascii_uppercase();
    let asks = upper.contains("CHECK")
        || upper.contains("ASSERT")
        || upper.contains("TRY")
        || upper.contains("SAFE")
        || upper.contains("CALL");
    asks && ["CUDA", "LAUNCH", "KERNEL", "ERROR", "LAST", "GPU", "CU_"].iter().any(|w| upper.contains(w))
        // `CHECK_CUDA(tensor)` asks where a tensor lies, not whether something failed; it is learnt
        // from its definition.
        && upper != "CHECK_CUDA"
}
