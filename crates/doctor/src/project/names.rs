//! What the project's own macros and functions do, from their bodies: names prove nothing.
//!
//! The same `CHECK_CUDA` checks a status in one project and a tensor's device in another. Every body
//! of a name counts, wherever it is defined, and bodies that use other names are followed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::facts::ProjectFacts;
use super::parse::cuda::{Macro, word_hash};
use super::parse::cuda_api::{asks_last_error, is_success};
use super::parse::cuda_function::Function;

/// How deep macros may use macros.
const LEVELS: usize = 8;
/// How far up a caller's check counts for what it calls.
const CALLER_LEVELS: usize = 4;
/// A helper is small: a function that calls more does its own work.
const HELPER_CALLS: usize = 12;

/// A macro, and the file that has it.
type Definition = (Arc<str>, Arc<Macro>);

/// What the names of a project do.
#[derive(Debug, Default)]
pub(crate) struct Names {
    defined: HashSet<String>,
    asks: HashSet<String>,
    layout: HashSet<String>,
    guards: HashSet<String>,
    status_functions: HashSet<String>,
    /// Small functions that wait and read the status.
    waits: HashSet<String>,
    /// Each name's bodies, with the file that has them.
    macros: HashMap<String, Vec<Definition>>,
    /// Functions that a caller checks or guards for.
    checked_callees: HashSet<String>,
    /// Hashes of words used as values.
    taken: HashSet<u32>,
}

fn layout_word(word: &str) -> bool {
    matches!(
        word,
        "is_contiguous"
            | "contiguous"
            | "expect_contiguous"
            | "is_non_overlapping_and_dense"
            | "stride"
            | "strides"
    )
}

fn guard_word(word: &str) -> bool {
    matches!(
        word,
        "CUDAGuard" | "OptionalCUDAGuard" | "DeviceGuard" | "OptionalDeviceGuard" | "cudaSetDevice"
    )
}

impl Names {
    /// Reads every definition of the project.
    pub(crate) fn of(facts: &ProjectFacts) -> Self {
        let files = || facts.cuda.iter().chain(&facts.cxx).chain(&facts.vendored);
        let mut names = Self::default();
        for file in files() {
            let path: Arc<str> = file.path.as_str().into();
            for one in &file.macros {
                let bodies = names.macros.entry(one.name.clone()).or_default();
                bodies.push((path.clone(), one.clone()));
            }
            // `#define cudaFree hipFree` in a header for AMD defines nothing in a CUDA build.
            if !file.foreign {
                let macros = file.macros.iter().map(|one| &one.name);
                let functions = file.functions.iter().map(|one| &one.name);
                names.defined.extend(macros.chain(functions).cloned());
            }
            names.taken.extend(&file.values);
            for function in &file.functions {
                if function.takes_status && function.compares_status {
                    names.status_functions.insert(function.name.clone());
                }
            }
        }
        let helpers: Vec<&Function> = files()
            .flat_map(|file| &file.functions)
            .filter(|f| !f.is_kernel && f.launches.is_empty() && f.calls.len() <= HELPER_CALLS)
            .collect();
        let waiting = helpers.iter().filter(|f| f.last_wait.is_some());
        names.waits = waiting.map(|f| f.name.clone()).collect();
        names.asks = names.reaching(&helpers, asks_last_error, |_| false);
        names.layout = names.reaching(&helpers, layout_word, |f| f.checks_layout);
        names.guards = names.reaching(&helpers, guard_word, |f| f.guards_device);
        let functions: Vec<&Function> = files().flat_map(|file| &file.functions).collect();
        names.find_checked_callees(&functions);
        names
    }

    /// Names whose body has such a word, or uses a name that has.
    fn reaching(
        &self,
        helpers: &[&Function],
        word: fn(&str) -> bool,
        is_one: impl Fn(&Function) -> bool,
    ) -> HashSet<String> {
        let mut found: HashSet<String> = HashSet::new();
        for _ in 0..LEVELS {
            let before = found.len();
            for (name, bodies) in &self.macros {
                let has = |one: &Macro| one.words.iter().any(|w| word(w) || found.contains(w));
                if !found.contains(name) && bodies.iter().any(|(_, one)| has(one)) {
                    found.insert(name.clone());
                }
            }
            for function in helpers {
                let has = |name: &String| word(name) || found.contains(name);
                if !found.contains(&function.name)
                    && (is_one(function) || function.calls.keys().any(has))
                {
                    found.insert(function.name.clone());
                }
            }
            if found.len() == before {
                break;
            }
        }
        found
    }

    /// Functions after whose call a caller reads the error, and what those call.
    fn find_checked_callees(&mut self, functions: &[&Function]) {
        let mut checked: HashSet<&str> = HashSet::new();
        for function in functions {
            let Some(last) = self.last_ask(function) else {
                continue;
            };
            let earlier = function.calls.iter().filter(|(_, at)| **at < last);
            checked.extend(earlier.map(|(callee, _)| callee.as_str()));
        }
        for _ in 0..CALLER_LEVELS {
            let more: Vec<&str> = functions
                .iter()
                .filter(|f| checked.contains(f.name.as_str()))
                .flat_map(|f| f.calls.keys().map(String::as_str))
                .collect();
            checked.extend(more);
        }
        self.checked_callees = checked.into_iter().map(str::to_owned).collect();
    }

    /// The last position in a function where an error is read.
    fn last_ask(&self, function: &Function) -> Option<usize> {
        let asked = function
            .calls
            .iter()
            .filter(|(name, _)| self.asks(name))
            .map(|(_, at)| *at);
        asked.max()
    }

    /// Whether a name reads the runtime's last error.
    pub(crate) fn asks(&self, name: &str) -> bool {
        asks_last_error(name) || self.asks.contains(name) || is_torch_launch_check(name)
    }

    /// Whether a name that the project does not define sounds like a launch check: a doubt, no proof.
    pub(crate) fn may_ask(&self, name: &str) -> bool {
        let upper = name.to_ascii_uppercase();
        let parts = |words: &[&str]| words.iter().any(|w| upper.contains(w));
        !self.defined.contains(name)
            && parts(&["CHECK", "ERR", "ASSERT", "TRY"])
            && parts(&["CUDA", "LAUNCH", "KERNEL", "LAST", "GPU"])
            && upper != "CHECK_CUDA"
    }

    /// Whether the error of something at `position` is read later in the same function.
    pub(crate) fn asked_behind(&self, function: &Function, position: usize) -> bool {
        self.last_ask(function).is_some_and(|at| at > position)
    }

    /// Whether the function's address is taken: its callers are then unknown.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(&word_hash(name))
    }

    /// Whether the function, or a helper it calls, waits after `position` and reads the status.
    pub(crate) fn waits_behind(&self, function: &Function, position: usize) -> bool {
        let helper = function
            .calls
            .iter()
            .any(|(name, at)| *at > position && self.waits.contains(name));
        helper || function.last_wait.is_some_and(|at| at > position)
    }

    /// Whether a caller reads the error after its call of this function.
    pub(crate) fn asked_by_caller(&self, name: &str) -> bool {
        self.checked_callees.contains(name)
    }

    /// Whether a function looks at a tensor's layout, by itself or through what it calls.
    pub(crate) fn checks_layout(&self, function: &Function) -> bool {
        let helper = |name: &String| {
            self.layout.contains(name.as_str())
                || (!self.defined.contains(name.as_str())
                    && (name.contains("CHECK_INPUT") || name.contains("CONTIGUOUS")))
        };
        function.checks_layout || function.calls.keys().any(helper)
    }

    /// Whether a function chooses the device of its tensors, by itself or through what it calls.
    pub(crate) fn guards_device(&self, function: &Function) -> bool {
        function.guards_device
            || function
                .calls
                .keys()
                .any(|name| self.guards.contains(name.as_str()))
    }

    /// Whether the project defines this name.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether a macro takes one runtime call and tests its status: every body of the name does.
    pub(crate) fn wraps_status(&self, name: &str) -> bool {
        self.wraps(name, LEVELS) && !self.asks.contains(name)
    }

    fn wraps(&self, name: &str, levels: usize) -> bool {
        let Some(bodies) = self.macros.get(name).filter(|_| levels > 0) else {
            return false;
        };
        bodies.iter().all(|(_, one)| {
            let one_parameter = matches!(one.parameters.as_deref(), Some([_]));
            let uses_it = one.parameters.iter().flatten().all(|parameter| {
                parameter == "..." && one.words.iter().any(|w| w == "__VA_ARGS__")
                    || one.words.contains(parameter)
            });
            let tests = one.words.iter().any(|word| {
                is_success(word)
                    || self.status_functions.contains(word.as_str())
                    || (word != name && self.wraps(word, levels - 1))
            });
            one_parameter && uses_it && tests
        })
    }

    /// Whether a macro is visible in `file` at `line`: not one that the file defines only below.
    pub(crate) fn is_visible(&self, name: &str, file: &str, line: u32) -> bool {
        self.macros.get(name).is_some_and(|bodies| {
            let here: Vec<u32> = bodies
                .iter()
                .filter(|(place, _)| &**place == file)
                .map(|(_, one)| one.line)
                .collect();
            here.is_empty() || here.iter().any(|defined| *defined < line)
        })
    }
}

/// torch's own launch checks: its headers are not part of the project.
fn is_torch_launch_check(name: &str) -> bool {
    matches!(
        name,
        "C10_CUDA_KERNEL_LAUNCH_CHECK"
            | "TORCH_CUDA_KERNEL_LAUNCH_CHECK"
            | "STD_CUDA_KERNEL_LAUNCH_CHECK"
            | "C10_HIP_KERNEL_LAUNCH_CHECK"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::cuda::CudaFile;

    fn facts(files: &[(&str, &str)]) -> ProjectFacts {
        ProjectFacts {
            cuda: files
                .iter()
                .map(|(path, text)| CudaFile::parse(path, text))
                .collect(),
            ..ProjectFacts::default()
        }
    }

    #[test]
    fn checkers_are_known_by_what_they_do_in_any_file() {
        let facts = facts(&[
            (
                "common.h",
                "inline void cudaCheck(cudaError_t error, const char* file, int line) {\n  if (error != cudaSuccess) exit(1);\n}\n\
                 #define cudaCheck(err) (cudaCheck(err, __FILE__, __LINE__))\n\
                 #define GEN(err, ok, text) do { auto e = (err); if (e != (ok)) stop(text(e)); } while (0)\n\
                 #define CHECK2(x) GEN(x, cudaSuccess, cudaGetErrorString)\n\
                 #define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x)\n\
                 #define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_LAYOUT(x)\n\
                 #define CHECK_LAYOUT(x) TORCH_CHECK(x.is_contiguous(), #x)\n\
                 #define getLastCudaError(msg) __getLastCudaError(msg, __FILE__)\n\
                 inline void __getLastCudaError(const char* m, const char* f) { cudaError_t e = cudaGetLastError(); if (cudaSuccess != e) exit(1); }\n",
            ),
            (
                "k.cu",
                "void f(at::Tensor x) { CHECK_INPUT(x); g<<<1, 1>>>(x.data_ptr<float>()); getLastCudaError(\"g\"); }\n",
            ),
        ]);
        let names = Names::of(&facts);
        assert!(names.wraps_status("cudaCheck") && names.wraps_status("CHECK2"));
        assert!(!names.wraps_status("CHECK_CUDA") && !names.wraps_status("GEN"));
        assert!(!names.wraps_status("getLastCudaError") && names.asks("getLastCudaError"));
        assert!(!names.asks("CHECK_CUDA") && !names.asks("cudaCheck"));
        let function = &facts.cuda[1].functions[0];
        assert!(names.checks_layout(function));
        assert!(names.asked_behind(function, function.launches[0].position));
    }

    #[test]
    fn a_macro_alone_on_its_line_checks_through_an_alias() {
        let facts = facts(&[
            (
                "gpu.h",
                "#define gpuGetLastError cudaGetLastError\n\
                 #define AFTER_KERNEL { CHECK(gpuGetLastError()); }\n",
            ),
            (
                "k.cu",
                "void f() {\n  g<<<1, 1>>>();\n  AFTER_KERNEL\n\n  int x = 0;\n}\n\
                 void h() {\n  g<<<1, 1>>>();\n  int x = AFTER_KERNEL_COUNT\n  + 1;\n}\n",
            ),
        ]);
        let names = Names::of(&facts);
        let asked = |n: usize| {
            let function = &facts.cuda[1].functions[n];
            names.asked_behind(function, function.launches[0].position)
        };
        assert!(asked(0) && !asked(1));
    }

    #[test]
    fn a_header_of_another_platform_defines_nothing_for_cuda() {
        let facts = facts(&[
            ("vendors/hip.h", "#define cudaFree hipFree\n"),
            ("shim.h", "#define cudaMalloc traced_malloc\n"),
        ]);
        let names = Names::of(&facts);
        assert!(!names.defines("cudaFree") && names.defines("cudaMalloc"));
    }
}
