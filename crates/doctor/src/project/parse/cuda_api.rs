//! Functions of NVIDIA's libraries, from the table of their headers: which return a status, and which
//! versions declare them. A name that only looks like CUDA's is the project's own.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The table that `cargo xtask api` writes.
static TABLE: &str = include_str!("../../../data/api.txt");

static FUNCTIONS: LazyLock<HashMap<&'static str, ApiFunction>> = LazyLock::new(|| parse(TABLE));

/// A function of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ApiFunction {
    /// `cudart`, `cublas` …
    pub(crate) library: &'static str,
    pub(crate) returns_status: bool,
    /// The first version without it; `None` where the newest still declares it.
    pub(crate) removed_in: Option<&'static str>,
    /// The newest version that the table knows.
    pub(crate) newest: &'static str,
}

fn parse(table: &'static str) -> HashMap<&'static str, ApiFunction> {
    let mut functions = HashMap::with_capacity(5000);
    let (mut library, mut versions) = ("", Vec::new());
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let Some(name) = words.next() else { continue };
        if name == "library" {
            library = words.next().unwrap_or("");
            versions = words.collect();
            continue;
        }
        let kind = words.next().unwrap_or("s");
        let last = words.nth(1).and_then(|last| last.parse::<usize>().ok());
        // A name of two libraries (both cuSPARSE's) keeps its first row.
        functions.entry(name).or_insert(ApiFunction {
            library,
            returns_status: kind == "s",
            removed_in: last.and_then(|last| versions.get(last + 1).copied()),
            newest: versions.last().copied().unwrap_or(""),
        });
    }
    functions
}

/// The row of a function, where one of the libraries declares it.
pub(crate) fn api(name: &str) -> Option<&'static ApiFunction> {
    // Every name starts with one of these letters, so most words of a file need no lookup.
    if !name.starts_with(['c', 'n', 'p', '_']) || name.len() < 6 {
        return None;
    }
    FUNCTIONS.get(name)
}

/// Whether a name is a host function whose status must be read.
pub(crate) fn returns_status(name: &str) -> bool {
    // These two are how a status is read, or cleared on purpose.
    !asks_last_error(name) && api(name).is_some_and(|function| function.returns_status)
}

/// Whether a call reads the error that the runtime keeps.
pub(crate) fn asks_last_error(name: &str) -> bool {
    matches!(
        name,
        "cudaGetLastError" | "cudaPeekAtLastError" | "hipGetLastError" | "hipPeekAtLastError"
    )
}

/// Calls that wait: their status also reports failures of earlier launches.
pub(crate) fn waits(name: &str) -> bool {
    matches!(
        name,
        "cudaDeviceSynchronize"
            | "cudaStreamSynchronize"
            | "cudaEventSynchronize"
            | "cudaMemcpy"
            | "cudaMemcpyFromSymbol"
            | "cuCtxSynchronize"
            | "cuStreamSynchronize"
    )
}

/// Constants that mean success, in the libraries of the table.
pub(crate) fn is_success(word: &str) -> bool {
    matches!(
        word,
        "cudaSuccess"
            | "CUDA_SUCCESS"
            | "CUBLAS_STATUS_SUCCESS"
            | "CUDNN_STATUS_SUCCESS"
            | "CUFFT_SUCCESS"
            | "CURAND_STATUS_SUCCESS"
            | "CUSOLVER_STATUS_SUCCESS"
            | "CUSPARSE_STATUS_SUCCESS"
            | "ncclSuccess"
            | "NVRTC_SUCCESS"
            | "NVML_SUCCESS"
            | "NVJITLINK_SUCCESS"
            | "CUPTI_SUCCESS"
            | "NVJPEG_STATUS_SUCCESS"
            | "hipSuccess"
    )
}

/// Calls that end something: their status is often ignored on purpose.
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
        "Close",
        "Shutdown",
        "ProfilerStop",
    ]
    .iter()
    .any(|w| name.contains(w))
}

/// Calls that only ask or hint: a lost failure shows at once, or costs speed, not correctness.
pub(crate) fn is_query(name: &str) -> bool {
    name.contains("Get")
        || name.contains("FuncSetAttribute")
        || name.contains("FuncSetCache")
        || name.contains("FuncSetSharedMem")
        || name.contains("Occupancy")
        || name.contains("Query")
        || name.contains("Version")
        || name.contains("CanAccessPeer")
        || name.contains("EnablePeerAccess")
        || name.contains("MemAdvise")
        || name.contains("Prefetch")
        || name.contains("ProfilerStart")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_headers_and_never_from_prefixes() {
        assert!(returns_status("cudaMalloc") && returns_status("cublasSgemm"));
        for own in [
            "cudaCheck",
            "cudaCheckError",
            "cublasCheck",
            "ncclCheck",
            "cudaFreeCheck",
            "cudaGetErrorString",
            "cudaGetLastError",
            "cudaCreateChannelDesc",
        ] {
            assert!(!returns_status(own), "{own}");
        }
        assert!(FUNCTIONS.len() > 4000, "{}", FUNCTIONS.len());
    }

    #[test]
    fn what_is_removed_says_since_when_and_what_is_deprecated_is_not_removed() {
        assert_eq!(api("cudaBindTexture").unwrap().removed_in, Some("12.0"));
        assert_eq!(
            api("cudaThreadSynchronize").unwrap().removed_in,
            Some("13.0")
        );
        assert_eq!(api("cudaMemcpyToArray").unwrap().removed_in, None);
        assert_eq!(api("cudaMalloc").unwrap().library, "cudart");
    }
}
