//! Options of kernels and modules.

use super::display::{is_changed, named};
use super::evaluate::{MODULE, TEXT, evaluate};
use super::value::Tables;
use super::{Global, KernelDef, ModuleOptions, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, KernelOptions, Number};

/// Dictionaries inside dictionaries, and entries of one: bounds on what a module can make us do.
const DEEPEST: u32 = 8;
const MOST_ENTRIES: usize = 1_000;

/// An option of a decorator: its name, where its value is written, and the value where a dictionary has it.
type Given = (String, ExprId, Option<Global>);

impl Scope {
    /// Reads a dictionary of module options.
    pub(super) fn module_options(
        &mut self,
        tables: &mut Tables<'_>,
        dict: ExprId,
        options: &mut ModuleOptions,
    ) -> Result<(), Problem> {
        let node = tables.tree.expr(dict);
        let problem =
            |what: String| Problem::at("K025", node.start, node.end, what).hint("leave it out");
        let Some(entries) = self.entries(tables, dict, DEEPEST) else {
            let hint =
                "write the dictionary out, or give it a name at module level and do not change it";
            return Err(problem("options are not a dictionary that is known".into()).hint(hint));
        };
        for (key, value) in entries {
            let key = tables.names.get(key).to_owned();
            match (key.as_str(), value) {
                ("enable_backward", Global::Value(Constant::Bool(value))) => {
                    options.backward = Some(value);
                }
                ("max_unroll", Global::Value(Constant::Number(Number::Int(value)))) => {
                    options.max_unroll = Some(i64::try_from(value).unwrap_or(i64::MAX));
                }
                ("default_grid_stride", Global::Value(Constant::Bool(value))) => {
                    options.grid_stride = Some(value);
                }
                (
                    "enable_mathdx_gemm" | "enable_mathdx_solver" | "enable_mathdx_fft",
                    Global::Value(Constant::Bool(true)),
                ) => {
                    let what =
                        format!("module option `{key}`: the text with MathDx is its linker's");
                    return Err(problem(what).hint("leave it out, or set it to `False`"));
                }
                (
                    "fast_math"
                    | "fuse_fp"
                    | "optimization_level"
                    | "cuda_output"
                    | "cpu_compiler_flags"
                    | "deterministic_max_records"
                    | "compile_time_trace"
                    | "enable_mathdx_gemm"
                    | "enable_mathdx_solver"
                    | "enable_mathdx_fft"
                    | "verify_fp",
                    _,
                ) => {}
                ("mode", Global::Value(Constant::Str(mode)))
                    if tables.names.get(mode) == "release" => {}
                ("lineinfo" | "strip_hash", Global::Value(Constant::Bool(false))) => {}
                ("block_dim", value)
                    if int(value).is_some_and(|value| (1..=1024).contains(&value)) =>
                {
                    options.block = int(value);
                }
                ("deterministic", Global::Determinism(false)) => {}
                ("deterministic", Global::Determinism(true)) => {
                    let what = "module option `deterministic`: such a kernel adds into buffers that only Warp's own \
                                launch makes";
                    let hint = "leave it out, or use `wp.DeterministicMode.NOT_GUARANTEED`";
                    return Err(problem(what.into()).hint(hint));
                }
                _ => return Err(problem(format!("module option `{key}` is not supported"))),
            }
        }
        Ok(())
    }

    /// The keys and values of a dictionary that is written out or named; nothing where a key is not a known text, or
    /// something may have changed the dictionary.
    fn entries(
        &mut self,
        tables: &mut Tables<'_>,
        dict: ExprId,
        depth: u32,
    ) -> Option<Vec<(Name, Global)>> {
        let depth = depth.checked_sub(1)?;
        match tables.tree.expr(dict).kind {
            ExprKind::Dict(list) => self.written_entries(tables, list, depth),
            ExprKind::Name(name) => {
                let mut known = self.dictionaries.iter();
                if let Some((_, entries)) = known.find(|(known, _)| *known == name) {
                    return Some(entries.clone());
                }
                let Some((module, original)) = self.foreign_display(name) else {
                    let found = named(self, tables, name)?;
                    return self.entries(tables, found, depth);
                };
                if is_changed(tables, name, false) {
                    return None;
                }
                let outer = self.enter_closure(module, &[]);
                let found = named(self, tables, original);
                let entries = found.and_then(|found| self.entries(tables, found, depth));
                self.leave_closure(outer);
                entries
            }
            _ => None,
        }
    }

    fn written_entries(
        &mut self,
        tables: &mut Tables<'_>,
        list: List,
        depth: u32,
    ) -> Option<Vec<(Name, Global)>> {
        let parts = tables.tree.exprs_in(list).to_vec();
        let mut entries = Vec::new();
        for pair in parts.chunks_exact(2) {
            if let ExprKind::Starred(other) = tables.tree.expr(pair[0]).kind {
                entries.extend(self.entries(tables, other, depth)?);
            } else if let Global::Value(Constant::Str(key)) = evaluate(self, tables, pair[0]) {
                entries.push((key, evaluate(self, tables, pair[1])));
            } else {
                return None;
            }
            if entries.len() > MOST_ENTRIES {
                return None;
            }
        }
        Some(entries)
    }

    /// Notes a dictionary that a statement of a function makes, or an element that it sets in one.
    pub(super) fn note_dictionary(
        &mut self,
        tables: &mut Tables<'_>,
        target: ExprId,
        value: ExprId,
    ) -> bool {
        match (tables.tree.expr(target).kind, tables.tree.expr(value).kind) {
            (ExprKind::Name(name), ExprKind::Dict(list)) => {
                let Some(entries) = self.written_entries(tables, list, DEEPEST) else {
                    return false;
                };
                self.dictionaries.retain(|(known, _)| *known != name);
                self.dictionaries.push((name, entries));
                self.set(name, Global::Opaque("a dictionary"));
                true
            }
            (ExprKind::Subscript(base, key), _) => {
                let ExprKind::Name(name) = tables.tree.expr(base).kind else {
                    return false;
                };
                let Some(at) = self
                    .dictionaries
                    .iter()
                    .position(|(known, _)| *known == name)
                else {
                    return false;
                };
                let Global::Value(Constant::Str(key)) = evaluate(self, tables, key) else {
                    return false;
                };
                let value = evaluate(self, tables, value);
                self.dictionaries[at].1.retain(|(known, _)| *known != key);
                self.dictionaries[at].1.push((key, value));
                true
            }
            _ => false,
        }
    }

    /// Enters a kernel with its decorator's options.
    pub(super) fn enter_kernel(
        &mut self,
        tables: &mut Tables<'_>,
        key: Name,
        index: u32,
        keywords: &[crate::syntax::Keyword],
    ) {
        let mut kernel = KernelDef {
            function: index,
            options: KernelOptions::default(),
            backward: None,
            grid_stride: None,
            own_module: None,
            label: self.label.clone(),
            is_repeated: false,
            overloads: Vec::new(),
            problem: None,
        };
        let mut module_options = None;
        let mut given: Vec<Given> = Vec::new();
        for keyword in keywords {
            let value = keyword.value;
            if let Some(name) = keyword.name {
                given.push((tables.names.get(name).to_owned(), value, None));
            } else if let Some(entries) = self.entries(tables, value, DEEPEST) {
                let text = |name| tables.names.get(name).to_owned();
                let entries = entries.into_iter();
                given.extend(entries.map(|(name, known)| (text(name), value, Some(known))));
            } else {
                kernel.problem = Some(option_problem(self, tables, value, "**"));
            }
        }
        for (name, at, known) in given {
            if name == "module_options" && known.is_none() {
                let is_none = tables.tree.expr(at).kind == ExprKind::None;
                module_options = (!is_none).then_some(at);
                continue;
            }
            let tuple = match tables.tree.expr(at).kind {
                ExprKind::Tuple(list) | ExprKind::ListDisplay(list) if known.is_none() => {
                    Some(tables.tree.exprs_in(list).to_vec())
                }
                _ => None,
            };
            if let ("launch_bounds", Some(items)) = (name.as_str(), &tuple) {
                let numbers: Vec<Option<i64>> = items
                    .iter()
                    .map(|item| int(evaluate(self, tables, *item)))
                    .collect();
                match *numbers {
                    [Some(a)] => kernel.options.launch_bounds = Some((a, None)),
                    [Some(a), Some(b)] => kernel.options.launch_bounds = Some((a, Some(b))),
                    _ => {
                        kernel.problem = Some(option_problem(self, tables, at, &name));
                    }
                }
                continue;
            }
            let value = known.unwrap_or_else(|| evaluate(self, tables, at));
            match (name.as_str(), value) {
                ("name", Global::Value(Constant::Str(text)))
                    if is_identifier(tables.names.get(text)) =>
                {
                    self.functions[index as usize].native = text;
                }
                ("enable_backward", Global::Value(Constant::Bool(value))) => {
                    kernel.backward = Some(value);
                }
                // As the module has it.
                ("enable_backward", Global::Nothing) => {}
                ("grid_stride", Global::Value(Constant::Bool(value))) => {
                    kernel.grid_stride = Some(value);
                }
                ("enable_cuda_smem_spilling", Global::Value(Constant::Bool(value))) => {
                    kernel.options.smem_spilling = value;
                }
                ("name" | "module", Global::Nothing) => {}
                ("module", Global::Value(Constant::Str(_))) => {
                    kernel.own_module = Some(ModuleOptions::default());
                }
                // No text says what the module is called.
                // Whoever has the module may change its options.
                ("module", MODULE) if mentions_options(tables) => {
                    kernel.problem = Some(option_problem(self, tables, at, &name));
                }
                ("module", TEXT | MODULE) => kernel.own_module = Some(ModuleOptions::default()),
                ("launch_bounds", value) if int(value).is_some() => {
                    kernel.options.launch_bounds = int(value).map(|value| (value, None));
                }
                ("cuda_max_registers", value) if int(value).is_some_and(|value| value >= 1) => {
                    kernel.options.max_registers = int(value);
                }
                ("cluster_dim", value)
                    if int(value).is_some_and(|value| (1..=16).contains(&value)) =>
                {
                    kernel.options.cluster_dim = int(value).unwrap_or(1);
                }
                _ => kernel.problem = Some(option_problem(self, tables, at, &name)),
            }
        }
        if let Some(dict) = module_options {
            let mut options = ModuleOptions::default();
            match self.module_options(tables, dict, &mut options) {
                Ok(()) => kernel.own_module = Some(options),
                Err(problem) => kernel.problem = Some(problem),
            }
        }
        self.kernels.push(kernel);
        self.set(key, Global::Kernel(self.kernels.len() as u32 - 1));
    }
}

/// Whether anything has its attribute `options` looked at.
fn mentions_options(tables: &Tables<'_>) -> bool {
    let mut exprs = tables.tree.exprs.iter();
    exprs.any(|expr| match expr.kind {
        ExprKind::Attribute(_, name) => tables.names.get(name) == "options",
        _ => false,
    })
}

/// Whether a text can be a name in C++.
fn is_identifier(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn int(value: Global) -> Option<i64> {
    match value {
        Global::Value(Constant::Number(Number::Int(value))) => i64::try_from(value).ok(),
        _ => None,
    }
}

fn option_problem(scope: &Scope, tables: &Tables<'_>, expr: ExprId, name: &str) -> Problem {
    let node = tables.tree.expr(expr);
    if let Some(what) = scope.captured_in(tables.tree, tables.names, expr) {
        return Problem::at("K023", node.start, node.end, what);
    }
    Problem::at(
        "K025",
        node.start,
        node.end,
        format!("option `{name}` is not supported"),
    )
}
