//! A CUDA file without its host code: what NVRTC, which compiles for the device alone, can take.
//!
//! Files that people have hold a `main`, checks and timers around their kernels, and include headers
//! that do the same. Functions that are neither `__global__`, `__device__` nor `constexpr`, and
//! declarations of such, become blanks, so that lines keep their numbers; headers of the host's library
//! become short texts with what kernels use of them.

mod blank;
mod local_headers;

pub(crate) use blank::{exported_kernels, without_host_code};
pub(crate) use local_headers::local_headers;

/// Headers of the host, and what stands in for them.
const HEADERS: &[(&str, &str)] = &[
    ("assert.h", ASSERT),
    ("cassert", ASSERT),
    ("float.h", LIMITS),
    ("cfloat", LIMITS),
    ("limits.h", LIMITS),
    ("climits", LIMITS),
    ("math.h", MATHEMATICS),
    ("cmath", MATHEMATICS),
    ("math_constants.h", LIMITS),
    ("algorithm", include_str!("standard_library.h")),
    ("stdint.h", INTEGERS),
    ("cstdint", INTEGERS),
    ("stddef.h", INTEGERS),
    ("cstddef", INTEGERS),
    ("inttypes.h", INTEGERS),
    ("cinttypes", INTEGERS),
    ("sys/types.h", INTEGERS),
    ("cuda_runtime.h", RUNTIME),
    ("cuda_runtime_api.h", RUNTIME),
    ("driver_types.h", RUNTIME),
    ("cublas_v2.h", LIBRARY),
    ("cublasLt.h", LIBRARY),
    ("cudnn.h", LIBRARY),
    ("curand.h", RUNTIME),
    ("nccl.h", RUNTIME),
    ("cuda.h", RUNTIME),
];

/// Headers of the host that kernels use nothing of.
const EMPTY: &[&str] = &[
    "alloca.h",
    "any",
    "arpa/inet.h",
    "array",
    "atomic",
    "bit",
    "bitset",
    "cctype",
    "cerrno",
    "cfenv",
    "charconv",
    "chrono",
    "clocale",
    "compare",
    "complex",
    "concepts",
    "condition_variable",
    "csignal",
    "cstdarg",
    "cstdio",
    "cstdlib",
    "cstring",
    "ctime",
    "ctype.h",
    "cuda_profiler_api.h",
    "cwchar",
    "deque",
    "device_launch_parameters.h",
    "dirent.h",
    "dlfcn.h",
    "errno.h",
    "exception",
    "execution",
    "fcntl.h",
    "fenv.h",
    "filesystem",
    "format",
    "forward_list",
    "fstream",
    "functional",
    "future",
    "getopt.h",
    "helper_cuda.h",
    "helper_functions.h",
    "helper_math.h",
    "helper_string.h",
    "helper_timer.h",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "libgen.h",
    "list",
    "locale",
    "locale.h",
    "malloc.h",
    "map",
    "memory",
    "memory_resource",
    "mpi.h",
    "mutex",
    "netdb.h",
    "netinet/in.h",
    "new",
    "numbers",
    "numeric",
    "nvToolsExt.h",
    "nvToolsExtCudaRt.h",
    "nvtx3/nvToolsExt.h",
    "nvtx3/nvToolsExtCudaRt.h",
    "nvtx3/nvtx3.hpp",
    "omp.h",
    "optional",
    "ostream",
    "poll.h",
    "pthread.h",
    "queue",
    "random",
    "ranges",
    "ratio",
    "regex",
    "sched.h",
    "set",
    "setjmp.h",
    "shared_mutex",
    "signal.h",
    "source_location",
    "span",
    "sstream",
    "stack",
    "stdarg.h",
    "stdbool.h",
    "stdexcept",
    "stdio.h",
    "stdlib.h",
    "streambuf",
    "string",
    "string.h",
    "string_view",
    "strings.h",
    "sys/ioctl.h",
    "sys/mman.h",
    "sys/resource.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/time.h",
    "sys/utsname.h",
    "sys/wait.h",
    "system_error",
    "thread",
    "time.h",
    "tuple",
    "typeindex",
    "typeinfo",
    "unistd.h",
    "unordered_map",
    "unordered_set",
    "valarray",
    "variant",
    "vector",
    "wchar.h",
    "wctype.h",
];

const ASSERT: &str = "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n";
const LIMITS: &str = include_str!("limits.h");
const INTEGERS: &str = include_str!("integers.h");
const MATHEMATICS: &str = concat!(include_str!("limits.h"), include_str!("standard_library.h"));
/// Types of the runtime's interface that stand in declarations around kernels.
const RUNTIME: &str = concat!(
    include_str!("limits.h"),
    include_str!("integers.h"),
    include_str!("standard_library.h"),
    include_str!("runtime.h")
);

/// What the headers of CUDA's libraries bring along: kernels use the narrow types without including them.
const LIBRARY: &str = concat!(
    include_str!("limits.h"),
    include_str!("integers.h"),
    include_str!("standard_library.h"),
    include_str!("runtime.h"),
    "#if __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\n#endif\n",
    "#if __has_include(<cuda_bf16.h>)\n#include <cuda_bf16.h>\n#endif\n"
);

/// The name under which [`PRELUDE`] is included before everything else.
pub(crate) const PRELUDE_NAME: &str = "warpsmith_prelude.h";
/// What `nvcc` includes without being told: it compiles a file that NVRTC refuses because of this.
const PRELUDE: &str = RUNTIME;

/// What kernels use of CUB: its parts for blocks and warps. The rest of what the name brings along is host code.
const CUB: &str = include_str!("cub.h");

/// Headers of C++ that CUDA's own library (libcu++) has a device side of.
const LIBCUXX: &[&str] = &["limits", "type_traits", "utility"];

/// The headers as NVRTC takes them; `libcuxx` says whether libcu++ is among the include folders.
pub(crate) fn headers(libcuxx: bool) -> Vec<(String, String)> {
    let own = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut all: Vec<(String, String)> =
        HEADERS.iter().map(|(name, text)| own(name, text)).collect();
    all.extend(EMPTY.iter().map(|name| own(name, "")));
    all.extend(LIBCUXX.iter().map(|name| match libcuxx {
        true => (
            (*name).to_owned(),
            format!("#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"),
        ),
        false => own(name, ""),
    }));
    if libcuxx {
        all.push(own("cub/cub.cuh", CUB));
    }
    all.push(own(PRELUDE_NAME, PRELUDE));
    all
}
