//! Options of kernels and modules.

use super::evaluate::evaluate;
use super::value::Tables;
use super::{Global, KernelDef, ModuleOptions, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, KernelOptions, Number};

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
        let entries = match node.kind {
            ExprKind::Dict(list) => self.entries(tables, list),
            ExprKind::Name(name) => {
                let mut known = self.dictionaries.iter();
                let found = known.find(|(known, _)| *known == name);
                found.map(|(_, entries)| entries.clone())
            }
            _ => None,
        };
        let Some(entries) = entries else {
            return Err(problem("options must be a dictionary of literals".into()));
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
                ("block_dim", Global::Value(Constant::Number(Number::Int(256)))) => {}
                _ => return Err(problem(format!("module option `{key}` is not supported"))),
            }
        }
        Ok(())
    }

    /// The keys and values of a dictionary that is written out; nothing where a key is no text.
    fn entries(&mut self, tables: &mut Tables<'_>, list: List) -> Option<Vec<(Name, Global)>> {
        let parts = tables.tree.exprs_in(list).to_vec();
        let entry = |pair: &[ExprId]| match evaluate(self, tables, pair[0]) {
            Global::Value(Constant::Str(key)) => Some((key, evaluate(self, tables, pair[1]))),
            _ => None,
        };
        parts.chunks_exact(2).map(entry).collect()
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
                let Some(entries) = self.entries(tables, list) else {
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
        for keyword in keywords {
            let name = keyword
                .name
                .map_or(String::new(), |name| tables.names.get(name).to_owned());
            if name == "module_options" {
                module_options = Some(keyword.value);
                continue;
            }
            let tuple = match tables.tree.expr(keyword.value).kind {
                ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
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
                        kernel.problem = Some(option_problem(self, tables, keyword.value, &name));
                    }
                }
                continue;
            }
            match (name.as_str(), evaluate(self, tables, keyword.value)) {
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
                ("module", Global::Value(Constant::Str(_))) => {
                    kernel.own_module = Some(ModuleOptions::default());
                }
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
                _ => kernel.problem = Some(option_problem(self, tables, keyword.value, &name)),
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
