//! The library's front door.

use std::borrow::Cow;
use std::sync::Arc;

use warpsmith_core::Finding;

mod reading;

use crate::diagnostic::{LIBRARY_FUNCTION, Problem};
use crate::globals::{Global, Place, ProjectModule, Scope, Tables};
use crate::lower::{Operators, Shared, build_kernel};
use crate::refused_text;
use crate::syntax::{Scratch, SourceText, Tree};
use warpsmith_ir::names::Names;
use warpsmith_ir::types::{GPU_BLOCK, TypeTable};
use warpsmith_ir::{Function, Line, Module, Number};

/// What to compile and how to name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The kernel, by its Python name; needed only where a source has several.
    pub kernel: Option<String>,
    /// The file name that comments and findings show.
    pub file: String,
    /// What follows a kernel's or struct's key in its native name; empty for nothing.
    pub suffix: String,
    /// The text of `warp/_src/math.py` of warp-lang 1.19.0, from which the functions are compiled that
    /// Warp's library writes in Python; without it they are refused.
    pub library: Option<Arc<str>>,
    /// What functions around kernels are called with.
    pub bind: Vec<Binding>,
}

/// A value that calls give a parameter of a function in which kernels are defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `parameter`, `parameter.attribute`, or one of these behind the function's name and a dot.
    pub name: String,
    /// An expression of Python, which sees the names of the function's module.
    pub value: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kernel: None,
            file: "kernels.py".into(),
            suffix: "_HASH".into(),
            library: None,
            bind: Vec::new(),
        }
    }
}

/// Takes a kernel's name and what became of it.
pub type EachKernel<'a> = dyn FnMut(&str, Result<&Module, Vec<Finding>>) + 'a;

/// Compiles one kernel of `source`.
///
/// # Errors
/// Findings with codes `K…` that say what is wrong with the source or outside the language.
pub fn compile(source: &str, options: &Options) -> Result<Module, Vec<Finding>> {
    Compiler::new().compile(source, options)
}

/// The names of the kernels that a source defines, in order.
///
/// # Errors
/// Findings, where the source cannot be read at all.
pub fn kernels(source: &str, options: &Options) -> Result<Vec<String>, Vec<Finding>> {
    Compiler::new().kernels_in(source, options, None)
}

/// A compiler that keeps its tables from one source to the next; compiling many small kernels is much
/// faster with one of these than with [`compile`].
#[derive(Debug, Default)]
pub struct Compiler {
    names: Names,
    types: TypeTable,
    tree: Tree,
    scope: Scope,
    source: SourceText,
    /// The texts of all modules, the source's first and the library's last.
    text: String,
    modules: Vec<ProjectModule>,
    /// How many lines `text` has.
    lines_before: u32,
    /// Where the library's text begins; the largest number where there is none.
    library_start: u32,
    scratch: Scratch,
    /// Whether kernels of other modules are read, too.
    with_kernels: bool,
    /// Functions of earlier modules, for their memory.
    spare: Vec<Function>,
    spare_lines: Vec<Vec<u32>>,
    lines: Vec<Line>,
}

/// Where Warp's library keeps the functions that it writes in Python.
const LIBRARY_FILE: &str = "warp/_src/math.py";

/// Functions that give the numbers of those, for [`Options::library`] where kernels are to run. Their text is not
/// Warp's, and names another file.
pub const RUNTIME_LIBRARY: &str = include_str!("../runtime_library.py");

/// How many functions are kept for their memory.
const MAX_SPARE: usize = 8;

impl Compiler {
    /// A new compiler.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles one kernel of `text`.
    ///
    /// # Errors
    /// Findings with codes `K…` that say what is wrong with the source or outside the language.
    pub fn compile(&mut self, text: &str, options: &Options) -> Result<Module, Vec<Finding>> {
        self.compile_in(text, options, None)
    }

    /// Compiles one kernel of `text`, which imports modules of its project.
    ///
    /// # Errors
    /// Findings with codes `K…` that say what is wrong with the source or outside the language.
    pub fn compile_in(
        &mut self,
        text: &str,
        options: &Options,
        place: Option<&Place<'_>>,
    ) -> Result<Module, Vec<Finding>> {
        let mut problem = match self.compile_with(text, None, options, place) {
            Ok(module) => return Ok(module),
            Err(problem) => problem,
        };
        if let Some(library) = &options.library
            && problem.code == LIBRARY_FUNCTION
        {
            match self.compile_with(text, Some(library), options, place) {
                Ok(module) => return Ok(module),
                Err(found) if found.start < self.library_start => problem = found,
                Err(found) => {
                    problem.message = format!("the library is not the one known: {}", found.message)
                }
            }
        }
        Err(vec![self.finding(*problem)])
    }

    /// The names of the kernels that a source defines, in order.
    ///
    /// # Errors
    /// Findings, where the source cannot be read at all.
    pub fn kernels_in(
        &mut self,
        text: &str,
        options: &Options,
        place: Option<&Place<'_>>,
    ) -> Result<Vec<String>, Vec<Finding>> {
        match self.collect(text, None, options, place) {
            Ok(()) => Ok(self
                .own_kernels()
                .map(|(_, name)| name.into_owned())
                .collect()),
            Err(problem) => Err(vec![self.finding(*problem)]),
        }
    }

    /// Compiles every kernel of `text` and hands each over with its name; what they share is read once.
    ///
    /// # Errors
    /// Findings, where the source cannot be read at all.
    pub fn compile_each(
        &mut self,
        text: &str,
        options: &Options,
        place: Option<&Place<'_>>,
        done: &mut EachKernel<'_>,
    ) -> Result<(), Vec<Finding>> {
        if let Err(problem) = self.collect(text, options.library.as_deref(), options, place) {
            return Err(vec![self.finding(*problem)]);
        }
        let kernels: Vec<(usize, String)> = self
            .own_kernels()
            .map(|(at, name)| (at, name.into_owned()))
            .collect();
        let read = (self.tree.mark(), self.scope.mark());
        for (at, name) in kernels {
            match self.build_kernel(at, options) {
                Ok(module) => {
                    done(&name, Ok(&module));
                    self.recycle(module);
                }
                Err(problem) => done(&name, Err(vec![self.finding(*problem)])),
            }
            self.tree.cut(read.0);
            self.scope.cut(&read.1);
        }
        Ok(())
    }

    /// The bindings that what was read last has no use for.
    pub fn unused_bindings(&self) -> impl Iterator<Item = String> {
        let unused = self.scope.binds.iter().filter(|bind| !bind.is_used);
        unused.map(|bind| {
            let parts: Vec<&str> = bind.path.iter().map(|part| self.names.get(*part)).collect();
            parts.join(".")
        })
    }

    /// A problem where a user finds it: in its own file, by that file's lines.
    fn finding(&self, problem: Problem) -> Finding {
        let at = self
            .modules
            .iter()
            .rposition(|module| module.start <= problem.start);
        let mut finding = problem.into_finding("", &self.text, &self.source);
        if let (Some(span), Some(at)) = (&mut finding.span, at) {
            let module = &self.modules[at];
            span.file.clone_from(&module.file);
            span.line -= module.lines_before;
        }
        finding
    }

    fn compile_with(
        &mut self,
        text: &str,
        library: Option<&str>,
        options: &Options,
        place: Option<&Place<'_>>,
    ) -> Result<Module, Box<Problem>> {
        self.collect(text, library, options, place)?;
        if let Some(name) = self.unused_bindings().next() {
            let what = format!(
                "no function around a kernel has a parameter `{name}`, and no module such a name without a value"
            );
            return Err(Problem::at("K003", 0, 0, what)
                .hint("a binding names a parameter of a function that the source does not call, or what only Python can work out")
                .into());
        }
        let index = self.choose_kernel(options)?;
        let function = self.scope.kernels[index].function;
        // Another module's, which this one has by a name of its own.
        if self.scope.functions[function as usize].module != 0 && !self.with_kernels {
            self.with_kernels = true;
            let module = self.compile_with(text, library, options, place);
            self.with_kernels = false;
            return module;
        }
        self.build_kernel(index, options)
    }

    /// Gives a module's tables back, so that the next compilation need not make them again.
    pub fn recycle(&mut self, module: Module) {
        self.names = module.names;
        self.types = module.types;
        self.scope.elements = module.elements;
        self.lines = module.lines;
        self.lines.clear();
        for mut function in module.functions.into_iter().chain([module.kernel]) {
            if self.spare.len() < MAX_SPARE {
                function.clear();
                self.spare.push(function);
            }
        }
    }

    /// Builds a kernel by its position. One that has no text for Warp's usual block is built for the block with which
    /// the source launches it.
    fn build_kernel(&mut self, index: usize, options: &Options) -> Result<Module, Box<Problem>> {
        let read = (self.tree.mark(), self.scope.mark());
        let module = self.build_for_block(index, options, GPU_BLOCK)?;
        let kernel = &self.scope.kernels[index];
        let given = kernel.own_module.unwrap_or(self.scope.options).block;
        if given.is_some() || refused_text(&module).is_none() {
            return Ok(module);
        }
        let name = self.scope.functions[kernel.function as usize].key;
        self.recycle(module);
        self.tree.cut(read.0);
        self.scope.cut(&read.1);
        let mut tables = Tables {
            names: &mut self.names,
            types: &mut self.types,
            tree: &mut self.tree,
            source: &self.source,
            text: &self.text,
            modules: &self.modules,
            known: Vec::new(),
        };
        let block = self.scope.launched_block(&mut tables, name);
        self.build_for_block(index, options, block.unwrap_or(GPU_BLOCK))
    }

    /// Builds a kernel for blocks of so many threads where its module says nothing else.
    fn build_for_block(
        &mut self,
        index: usize,
        options: &Options,
        block: i64,
    ) -> Result<Module, Box<Problem>> {
        let mut kernel = self.scope.kernels[index].clone();
        if let Some(problem) = self.scope.setting.as_ref().or(kernel.problem.as_ref()) {
            return Err(problem.clone().into());
        }
        let def = &self.scope.functions[kernel.function as usize];
        let span = def.span;
        let mut params = def.params.clone()?;
        let generic = params.iter().any(|param| self.types.is_generic(param.ty));
        if generic {
            let [overload] = kernel.overloads.as_slice() else {
                return Err(Problem::at(
                    "K003",
                    span.0,
                    span.1,
                    format!(
                        "a generic kernel needs one overload, not {}",
                        kernel.overloads.len()
                    ),
                )
                .hint("add `wp.overload(kernel, [types])` once")
                .into());
            };
            for (param, ty) in params.iter_mut().zip(overload) {
                param.ty = *ty;
            }
        }
        let module_options = kernel.own_module.unwrap_or(self.scope.options);
        let config = self.scope.config;
        let grid_stride = kernel.grid_stride.or(module_options.grid_stride);
        kernel.options.grid_stride = grid_stride.or(config.grid_stride).unwrap_or(true);
        let backward = kernel.backward.or(module_options.backward);
        let max_unroll = module_options.max_unroll.or(config.max_unroll);
        let block = module_options.block.unwrap_or(block);
        self.types.set_gpu_block(block);
        let library_line = match self.library_start {
            u32::MAX => 0,
            start => self.source.line_of(start) - 1,
        };
        let mut shared = Shared {
            scope: &mut self.scope,
            names: &mut self.names,
            types: &mut self.types,
            tree: &mut self.tree,
            source: &self.source,
            text: &self.text,
            modules: &self.modules,
            library_line,
            library_file: match options.library.as_deref() {
                Some(RUNTIME_LIBRARY) => "warpsmith/runtime_library.py",
                _ => LIBRARY_FILE,
            },
            functions: Vec::new(),
            structs: Vec::new(),
            static_structs: Vec::new(),
            lines: std::mem::take(&mut self.lines),
            max_unroll: max_unroll.unwrap_or(16),
            backward: backward.or(config.backward).unwrap_or(true),
            depth: 0,
            deferred: Vec::new(),
            is_deferred: false,
            operators: Operators::table(),
            spare: &mut self.spare,
            spare_lines: &mut self.spare_lines,
        };
        let built = build_kernel(&mut shared, &kernel, params, generic)?;
        let Shared {
            functions,
            structs,
            lines,
            ..
        } = shared;
        let file = self.names.intern(&options.file);
        let suffix = self.names.intern(&options.suffix);
        let elements: Vec<Number> = std::mem::take(&mut self.scope.elements);
        Ok(Module {
            names: std::mem::replace(&mut self.names, Names::empty()),
            types: std::mem::replace(&mut self.types, TypeTable::empty()),
            structs,
            functions,
            kernel: built,
            lines,
            elements,
            file,
            suffix,
        })
    }

    /// The kernels that the source itself defines, with their names. One that a factory makes for some arguments
    /// has these behind its name, in brackets.
    fn own_kernels(&self) -> impl DoubleEndedIterator<Item = (usize, Cow<'_, str>)> {
        let kernels = self.scope.kernels.iter().enumerate();
        kernels.filter_map(|(at, kernel)| {
            let def = &self.scope.functions[kernel.function as usize];
            let key = self.names.get(def.key);
            (def.module == 0 && !kernel.is_repeated).then(|| match kernel.label.as_str() {
                "" => (at, key.into()),
                label => (at, format!("{key}[{label}]").into()),
            })
        })
    }

    fn choose_kernel(&self, options: &Options) -> Result<usize, Problem> {
        let kernels: Vec<(usize, Cow<'_, str>)> = self.own_kernels().collect();
        let mut outside = kernels
            .iter()
            .filter(|(_, name)| !name.contains("__locals__"));
        let found = match (&options.kernel, kernels.as_slice()) {
            (Some(name), _) => {
                let exactly = kernels.iter().find(|(_, known)| known == name);
                // Without its arguments where there is but one.
                let bracket = format!("{name}[");
                let mut begin = kernels
                    .iter()
                    .filter(|(_, known)| known.starts_with(&bracket));
                exactly.or_else(|| begin.next().filter(|_| begin.next().is_none()))
            }
            (None, [one]) => Some(one),
            // Kernels inside functions are not what a file is about.
            (None, _) => outside.next().filter(|_| outside.next().is_none()),
        };
        let found = found.map(|(at, _)| *at).or_else(|| {
            // What a factory has made is known by the name that it was given.
            let name = self.names.find(options.kernel.as_deref()?)?;
            match self.scope.get(name) {
                Some(Global::Kernel(kernel)) => Some(kernel as usize),
                _ => None,
            }
        });
        found.ok_or_else(|| {
            let known: Vec<String> = kernels
                .iter()
                .map(|(_, name)| format!("`{name}`"))
                .collect();
            match (&options.kernel, known.is_empty()) {
                (_, true) => Problem::at("K003", 0, 0, "the source defines no kernel")
                    .hint("decorate a function with `@wp.kernel`"),
                (Some(name), false) => {
                    Problem::at("K003", 0, 0, format!("there is no kernel `{name}`"))
                        .hint(format!("the source defines {}", known.join(", ")))
                }
                (None, false) => Problem::at("K003", 0, 0, "the source defines several kernels")
                    .hint(format!("name one of {}", known.join(", "))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit_cuda;

    /// A library of our own, built as Warp's is: a generic function, and a factory of functions.
    const LIBRARY: &str = "\
from typing import Any
import warp as wp


@wp.func
def norm_l1(v: Any):
    return wp.abs(v[0])


def make(dtype):
    mat44 = wp._src.types.matrix((4, 4), dtype)
    quat = wp._src.types.quaternion(dtype)

    def transform_to_matrix(q: quat) -> mat44:
        return mat44(dtype(2.0))

    return transform_to_matrix


transform_to_matrix = wp.func(make(wp.float32), name=\"transform_to_matrix\")
wp.func(make(wp.float64), name=\"transform_to_matrix\")
";

    fn with_library(call: &str) -> Result<String, Vec<Finding>> {
        let source = format!("import warp as wp\n\n\n@wp.kernel\ndef k():\n    r = {call}\n");
        let options = Options {
            library: Some(LIBRARY.into()),
            ..Options::default()
        };
        compile(&source, &options).map(|module| emit_cuda(&module))
    }

    #[test]
    fn a_library_function_is_refused_without_the_library() {
        let source = "import warp as wp\n\n\n@wp.kernel\ndef k():\n    r = wp.norm_l1(wp.vec3())\n";
        let findings = compile(source, &Options::default()).unwrap_err();
        assert_eq!(findings[0].code, LIBRARY_FUNCTION);
        assert_eq!(findings[0].span.as_ref().map(|span| span.line), Some(6));
    }

    #[test]
    fn a_generic_library_function_counts_its_own_lines() {
        let text = with_library("wp.norm_l1(wp.vec3())").unwrap();
        let head = "// warp/_src/math.py:0\nstatic CUDA_CALLABLE wp::float32 norm_l1_0(";
        assert!(text.contains(head), "{text}");
        assert!(text.contains("// def norm_l1(v: Any):"), "{text}");
        assert!(text.contains("<L 2>"), "{text}");
    }

    #[test]
    fn a_factory_makes_one_function_for_each_type() {
        for (call, number, scalar) in [("wp.quat()", 0, "float32"), ("wp.quatd()", 1, "float64")] {
            let text = with_library(&format!("wp.transform_to_matrix({call})")).unwrap();
            let head = format!(
                "// warp/_src/math.py:14\nstatic CUDA_CALLABLE wp::mat_t<4, 4, wp::{scalar}> transform_to_matrix_{number}("
            );
            assert!(text.contains(&head), "{text}");
        }
    }

    #[test]
    fn every_function_of_the_library_has_a_form_to_run() {
        let options = Options {
            library: Some(RUNTIME_LIBRARY.into()),
            ..Options::default()
        };
        for call in [
            "norm_l1(v)",
            "norm_l2(v)",
            "norm_huber(v)",
            "norm_pseudo_huber(v, 2.0)",
            "smooth_normalize(v)",
            "velocity_at_point(wp.spatial_vector(), v)",
            "quat_twist(v, q)",
            "quat_twist_angle(v, q)",
            "quat_twist_angle_signed(v, q)",
            "quat_to_rpy(q)",
            "quat_to_euler(q, 0, 1, 2)",
            "quat_from_euler(v, 0, 1, 2)",
            "transform_twist(t, wp.spatial_vector())",
            "transform_wrench(t, wp.spatial_vector())",
            "transform_from_matrix(wp.mat44())",
            "transform_to_matrix(t)",
            "transform_compose(v, q, v)",
            "transform_decompose(wp.mat44d())",
        ] {
            let source = format!(
                "import warp as wp\n\n\n@wp.kernel\ndef k():\n    v = wp.vec3()\n    q = wp.quat()\n    t = wp.transform()\n    r = wp.{call}\n"
            );
            let module = compile(&source, &options).unwrap_or_else(|found| panic!("{found:?}"));
            let text = emit_cuda(&module);
            assert!(text.contains("// warpsmith/runtime_library.py:"), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_source_is_found_there() {
        let findings = with_library("wp.norm_l1(wp.vec3(), 1.0)").unwrap_err();
        assert_eq!(findings[0].span.as_ref().map(|span| span.line), Some(6));
    }
}
