//! Walking a module's statements.

use ruff_python_ast as ast;
use ruff_text_size::Ranged;

use super::annotation::{returns, type_of};
use super::definition::Returns;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{
    FunctionDef, FunctionSet, Global, KernelDef, ModuleOptions, ParamDef, PythonModule, Scope,
};
use crate::builtin::BUILTINS;
use crate::diagnostic::Problem;
use crate::ir::{Constant, KernelOptions, Number};
use crate::names::Name;
use crate::syntax::{Converter, ExprId, ExprKind};
use crate::types::{FieldDef, Scalar, StructDef, TypeId};

impl Scope {
    /// Enters everything that `body` defines.
    pub(crate) fn collect(
        &mut self,
        tables: &mut Tables<'_>,
        body: &[ast::Stmt],
        struct_suffix: &str,
    ) -> Result<(), Problem> {
        // What the reference evaluation environment provides without an import.
        for (name, module) in [
            ("wp", PythonModule::Warp),
            ("warp", PythonModule::Warp),
            ("np", PythonModule::Numpy),
            ("math", PythonModule::Math),
        ] {
            let name = tables.names.intern(name);
            self.set(name, Global::Module(module));
        }
        let any = tables.names.intern("Any");
        self.set(any, Global::Type(TypeId::scalar(Scalar::Any)));
        for stmt in body {
            self.statement(tables, stmt, struct_suffix)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        tables: &mut Tables<'_>,
        stmt: &ast::Stmt,
        struct_suffix: &str,
    ) -> Result<(), Problem> {
        match stmt {
            ast::Stmt::Import(node) => self.import(tables, node),
            ast::Stmt::ImportFrom(node) => self.import_from(tables, node),
            ast::Stmt::Assign(node) => {
                let value = convert(tables, &node.value);
                let overload = self.overload(tables, value)?;
                let result = match overload {
                    Some(kernel) => Global::Kernel(kernel),
                    None => evaluate(self, tables, value),
                };
                for target in &node.targets {
                    let ast::Expr::Name(name) = target else {
                        return Err(unsupported(stmt, "an assignment to something but a name"));
                    };
                    let name = tables.names.intern(name.id.as_str());
                    self.set(name, result);
                }
            }
            ast::Stmt::AnnAssign(node) => {
                if let (ast::Expr::Name(name), Some(value)) = (&*node.target, &node.value) {
                    let value = convert(tables, value);
                    let value = evaluate(self, tables, value);
                    let name = tables.names.intern(name.id.as_str());
                    self.set(name, value);
                }
            }
            ast::Stmt::FunctionDef(node) => self.function(tables, node)?,
            ast::Stmt::ClassDef(node) => self.class(tables, node, struct_suffix)?,
            ast::Stmt::Expr(node) => self.expression(tables, stmt, &node.value)?,
            ast::Stmt::Pass(_) => {}
            _ => return Err(unsupported(stmt, "this statement")),
        }
        Ok(())
    }

    fn import(&mut self, tables: &mut Tables<'_>, node: &ast::StmtImport) {
        for alias in &node.names {
            let module = alias.name.as_str();
            let bound = match &alias.asname {
                Some(name) => name.as_str(),
                None => module.split('.').next().unwrap_or(module),
            };
            let whole = alias.asname.is_some() || !module.contains('.');
            let value = match module {
                "warp" => Global::Module(PythonModule::Warp),
                "math" => Global::Module(PythonModule::Math),
                "numpy" => Global::Module(PythonModule::Numpy),
                "typing" => Global::Module(PythonModule::Typing),
                _ if module.starts_with("warp.") && !whole => Global::Module(PythonModule::Warp),
                _ => Global::Opaque("a module that is not known"),
            };
            let bound = tables.names.intern(bound);
            self.set(bound, value);
        }
    }

    fn import_from(&mut self, tables: &mut Tables<'_>, node: &ast::StmtImportFrom) {
        let module = node.module.as_ref().map_or("", |name| name.as_str());
        let module = match module {
            "warp" => Some(PythonModule::Warp),
            "warp.types" => Some(PythonModule::WarpTypes),
            "math" => Some(PythonModule::Math),
            "typing" => Some(PythonModule::Typing),
            "numpy" => Some(PythonModule::Numpy),
            _ => None,
        };
        for alias in &node.names {
            let attr = tables.names.intern(alias.name.as_str());
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            let bound = tables.names.intern(bound);
            let value = module
                .and_then(|module| {
                    super::value::attribute(
                        Global::Module(module),
                        attr,
                        tables.names,
                        tables.types,
                    )
                })
                .unwrap_or(Global::Opaque("something imported from another module"));
            self.set(bound, value);
        }
    }

    fn expression(
        &mut self,
        tables: &mut Tables<'_>,
        stmt: &ast::Stmt,
        value: &ast::Expr,
    ) -> Result<(), Problem> {
        if value.is_string_literal_expr() {
            return Ok(());
        }
        let expr = convert(tables, value);
        if self.overload(tables, expr)?.is_some() {
            return Ok(());
        }
        if let ExprKind::Call {
            func,
            args,
            keywords,
        } = tables.tree.expr(expr).kind
            && let Global::WarpCallable(name) = path(self, tables, func)
        {
            match tables.names.get(name) {
                "init" if args.len == 0 && keywords.len == 0 => return Ok(()),
                "set_module_options" if args.len == 1 && keywords.len == 0 => {
                    let dict = tables.tree.exprs_in(args)[0];
                    let mut options = self.options;
                    self.module_options(tables, dict, &mut options)?;
                    self.options = options;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(unsupported(stmt, "this expression"))
    }

    /// Reads a dictionary of module options.
    fn module_options(
        &mut self,
        tables: &mut Tables<'_>,
        dict: ExprId,
        options: &mut ModuleOptions,
    ) -> Result<(), Problem> {
        let node = tables.tree.expr(dict);
        let problem =
            |what: String| Problem::at("K025", node.start, node.end, what).hint("leave it out");
        let ExprKind::Dict(list) = node.kind else {
            return Err(problem("options must be a dictionary of literals".into()));
        };
        let parts = tables.tree.exprs_in(list).to_vec();
        for pair in parts.chunks_exact(2) {
            let Global::Value(Constant::Str(key)) = evaluate(self, tables, pair[0]) else {
                return Err(problem("an option's name must be a string".into()));
            };
            let value = evaluate(self, tables, pair[1]);
            let key = tables.names.get(key).to_owned();
            match (key.as_str(), value) {
                ("enable_backward", Global::Value(Constant::Bool(value))) => {
                    options.backward = value;
                }
                ("max_unroll", Global::Value(Constant::Number(Number::Int(value)))) => {
                    options.max_unroll = i64::try_from(value).unwrap_or(i64::MAX);
                }
                ("default_grid_stride", Global::Value(Constant::Bool(value))) => {
                    options.grid_stride = value;
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

    /// `wp.overload(kernel, [types…])`: enters the overload and says which kernel.
    fn overload(&mut self, tables: &mut Tables<'_>, expr: ExprId) -> Result<Option<u32>, Problem> {
        let node = tables.tree.expr(expr);
        let ExprKind::Call {
            func,
            args,
            keywords,
        } = node.kind
        else {
            return Ok(None);
        };
        let Global::WarpCallable(name) = path(self, tables, func) else {
            return Ok(None);
        };
        if tables.names.get(name) != "overload" {
            return Ok(None);
        }
        let problem = |what: &str| Problem::at("K003", node.start, node.end, what);
        let [kernel, arg_types] = *tables.tree.exprs_in(args) else {
            return Err(problem("an overload names a kernel and its argument types"));
        };
        if keywords.len != 0 {
            return Err(problem("an overload names a kernel and its argument types"));
        }
        let Global::Kernel(kernel) = evaluate(self, tables, kernel) else {
            return Err(problem("an overload must name a kernel of this source"));
        };
        let mut params: Vec<TypeId> = {
            let def = &self.functions[self.kernels[kernel as usize].function as usize];
            match &def.params {
                Ok(params) => params.iter().map(|param| param.ty).collect(),
                Err(_) => return Err(problem("the kernel's own signature is not understood")),
            }
        };
        let given = tables.tree.expr(arg_types).kind;
        match given {
            ExprKind::ListDisplay(list) => {
                let items = tables.tree.exprs_in(list).to_vec();
                if items.len() != params.len() {
                    return Err(problem("an overload gives a type for every argument"));
                }
                for (param, item) in params.iter_mut().zip(items) {
                    *param = type_of(self, tables, item)?;
                }
            }
            ExprKind::Dict(list) => {
                let items = tables.tree.exprs_in(list).to_vec();
                for pair in items.chunks_exact(2) {
                    let Global::Value(Constant::Str(key)) = evaluate(self, tables, pair[0]) else {
                        return Err(problem("an overload's keys are argument names"));
                    };
                    let function = self.kernels[kernel as usize].function;
                    let at = match &self.functions[function as usize].params {
                        Ok(defs) => defs.iter().position(|def| def.name == key),
                        Err(_) => None,
                    };
                    let Some(at) = at else {
                        return Err(problem("an overload's keys are argument names"));
                    };
                    params[at] = type_of(self, tables, pair[1])?;
                }
            }
            _ => return Err(problem("an overload's types are a list or a dictionary")),
        }
        self.kernels[kernel as usize].overloads.push(params);
        Ok(Some(kernel))
    }

    fn class(
        &mut self,
        tables: &mut Tables<'_>,
        node: &ast::StmtClassDef,
        struct_suffix: &str,
    ) -> Result<(), Problem> {
        let key = tables.names.intern(node.name.as_str());
        let is_struct = node.decorator_list.len() == 1 && {
            let decorator = convert(tables, &node.decorator_list[0].expression);
            matches!(path(self, tables, decorator), Global::WarpCallable(name)
                if tables.names.get(name) == "struct")
        };
        let plain = node
            .arguments
            .as_ref()
            .is_none_or(|arguments| arguments.is_empty());
        if !is_struct || !plain {
            self.set(key, Global::Opaque("a class that is not a `@wp.struct`"));
            return Ok(());
        }
        let mut fields = Vec::new();
        for stmt in &node.body {
            match stmt {
                ast::Stmt::AnnAssign(field) => {
                    let ast::Expr::Name(name) = &*field.target else {
                        return Err(unsupported(stmt, "this field"));
                    };
                    let annotation = convert(tables, &field.annotation);
                    let Ok(ty) = type_of(self, tables, annotation) else {
                        self.set(
                            key,
                            Global::Opaque("a struct with a field that is not supported"),
                        );
                        return Ok(());
                    };
                    let name = tables.names.intern(name.id.as_str());
                    if tables.types.is_generic(ty) {
                        self.set(key, Global::Opaque("a struct with a generic field"));
                        return Ok(());
                    }
                    fields.push(FieldDef { name, ty });
                }
                ast::Stmt::Pass(_) => {}
                ast::Stmt::Expr(doc) if doc.value.is_string_literal_expr() => {}
                _ => {
                    self.set(key, Global::Opaque("a struct with more than fields"));
                    return Ok(());
                }
            }
        }
        let mut def = StructDef {
            key,
            native: key,
            fields,
        };
        let native = format!("{}{struct_suffix}", tables.names.get(key));
        def.native = tables.names.intern(&native);
        // An equal struct under the same name is the same C++ type.
        let known = tables.types.structs().contains(&def);
        let ty = tables.types.define_struct(def, tables.names);
        self.set(
            key,
            if known {
                Global::Opaque("a struct that is defined twice")
            } else {
                Global::Type(ty)
            },
        );
        Ok(())
    }

    fn function(
        &mut self,
        tables: &mut Tables<'_>,
        node: &ast::StmtFunctionDef,
    ) -> Result<(), Problem> {
        let key = tables.names.intern(node.name.as_str());
        let [decorator] = &*node.decorator_list else {
            self.set(key, Global::Opaque("a Python function"));
            return Ok(());
        };
        let expression = convert(tables, &decorator.expression);
        let (callee, keywords) = match tables.tree.expr(expression).kind {
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                let Global::WarpCallable(role) = path(self, tables, func) else {
                    self.set(key, Global::Opaque("a function with another decorator"));
                    return Ok(());
                };
                if args.len != 0 {
                    let range = decorator.range();
                    let role = tables.names.get(role);
                    return Err(Problem::at(
                        "K021",
                        range.start().to_u32(),
                        range.end().to_u32(),
                        format!("`@wp.{role}` with arguments is not supported"),
                    ));
                }
                (func, tables.tree.keywords_in(keywords).to_vec())
            }
            _ => (expression, Vec::new()),
        };
        let Global::WarpCallable(role) = path(self, tables, callee) else {
            self.set(key, Global::Opaque("a function with another decorator"));
            return Ok(());
        };
        let role = tables.names.get(role).to_owned();
        if !matches!(role.as_str(), "func" | "kernel") || node.is_async {
            let range = decorator.range();
            return Err(Problem::at(
                "K021",
                range.start().to_u32(),
                range.end().to_u32(),
                format!("`@wp.{role}` is not supported"),
            ));
        }
        let decorator_line = tables.source.line_of(decorator.range().start().to_u32());
        let name_range = node.name.range();
        let span = (name_range.start().to_u32(), name_range.end().to_u32());
        let def_line = tables.source.line_of(span.0);
        let params = self.params(tables, node);
        let returns = match &node.returns {
            None => Ok(Returns::Inferred),
            Some(annotation) => {
                let annotation = convert(tables, annotation);
                returns(self, tables, annotation)
            }
        };
        let body = Converter {
            tree: tables.tree,
            names: tables.names,
            source: tables.source,
            text: tables.text,
            depth: 0,
        }
        .suite(&node.body);
        let index = self.functions.len() as u32;
        self.functions.push(FunctionDef {
            key,
            native: key,
            params,
            returns,
            body,
            decorator_line,
            def_line,
            span,
            inline_hint: "",
            numbered: role == "func",
            instance: false,
            built: None,
            building: false,
        });
        if role == "func" {
            self.enter_function(tables, key, index, &keywords, span)
        } else {
            self.enter_kernel(tables, key, index, &keywords);
            Ok(())
        }
    }

    fn enter_function(
        &mut self,
        tables: &mut Tables<'_>,
        key: Name,
        index: u32,
        keywords: &[crate::syntax::Keyword],
        span: (u32, u32),
    ) -> Result<(), Problem> {
        for keyword in keywords {
            let name = keyword.name.map_or("", |name| tables.names.get(name));
            match (
                name.to_owned().as_str(),
                evaluate(self, tables, keyword.value),
            ) {
                ("inline", Global::Value(Constant::Bool(inline))) => {
                    self.functions[index as usize].inline_hint = if inline {
                        "WP_FORCEINLINE "
                    } else {
                        "WP_NOINLINE "
                    };
                }
                (name, _) => {
                    return Err(Problem::at(
                        "K025",
                        span.0,
                        span.1,
                        format!("option `{name}` of `@wp.func` is not supported"),
                    ));
                }
            }
        }
        // Native names are numbered per key; functions that the library itself defines in Python own
        // the first number of theirs.
        let taken = BUILTINS
            .get(key.index())
            .is_some_and(|builtin| builtin.python);
        let earlier = self.functions[..index as usize]
            .iter()
            .filter(|def| def.key == key && def.numbered)
            .count();
        let native = format!("{}_{}", tables.names.get(key), earlier + usize::from(taken));
        self.functions[index as usize].native = tables.names.intern(&native);
        let set = match self.get(key) {
            Some(Global::Function(set)) => set,
            _ => {
                self.sets.push(FunctionSet::default());
                let set = self.sets.len() as u32 - 1;
                self.set(key, Global::Function(set));
                set
            }
        };
        let signature: Option<Vec<TypeId>> = signature(&self.functions[index as usize]);
        let generic = signature
            .as_ref()
            .is_some_and(|types| types.iter().any(|ty| tables.types.is_generic(*ty)));
        let functions = &self.functions;
        let set = &mut self.sets[set as usize];
        let list = if generic {
            &mut set.templates
        } else {
            &mut set.overloads
        };
        // A second definition with the same signature takes the place of the first.
        let same = list.iter().position(|other| {
            signature.is_some() && self::signature(&functions[*other as usize]) == signature
        });
        match same {
            Some(at) => list[at] = index,
            None => list.push(index),
        }
        Ok(())
    }

    fn enter_kernel(
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
                        kernel.problem = Some(option_problem(tables, keyword.value, &name));
                    }
                }
                continue;
            }
            match (name.as_str(), evaluate(self, tables, keyword.value)) {
                ("name", Global::Value(Constant::Str(text))) => {
                    self.functions[index as usize].native = text;
                }
                ("enable_backward", Global::Value(Constant::Bool(value))) => {
                    kernel.backward = Some(value);
                }
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
                ("cuda_max_registers", value) if int(value).is_some() => {
                    kernel.options.max_registers = int(value);
                }
                ("cluster_dim", value) if int(value).is_some() => {
                    kernel.options.cluster_dim = int(value).unwrap_or(1);
                }
                _ => kernel.problem = Some(option_problem(tables, keyword.value, &name)),
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

    fn params(
        &mut self,
        tables: &mut Tables<'_>,
        node: &ast::StmtFunctionDef,
    ) -> Result<Vec<ParamDef>, Problem> {
        let parameters = &node.parameters;
        let range = parameters.range();
        if parameters.vararg.is_some()
            || parameters.kwarg.is_some()
            || !parameters.posonlyargs.is_empty()
            || !parameters.kwonlyargs.is_empty()
        {
            return Err(Problem::at(
                "K005",
                range.start().to_u32(),
                range.end().to_u32(),
                "only plain parameters are supported",
            ));
        }
        let mut params = Vec::with_capacity(parameters.args.len());
        for arg in &parameters.args {
            let name = tables.names.intern(arg.parameter.name.as_str());
            let Some(annotation) = &arg.parameter.annotation else {
                let range = arg.range();
                return Err(Problem::at(
                    "K004",
                    range.start().to_u32(),
                    range.end().to_u32(),
                    format!("parameter `{}` has no type", arg.parameter.name.as_str()),
                )
                .hint("annotate it, e.g. `x: float` or `x: wp.array(dtype=float)`"));
            };
            let annotation = convert(tables, annotation);
            let ty = type_of(self, tables, annotation)?;
            let default = arg.default.as_ref().map(|default| {
                let default = convert(tables, default);
                evaluate(self, tables, default)
            });
            params.push(ParamDef { name, ty, default });
        }
        Ok(params)
    }
}

fn signature(def: &FunctionDef) -> Option<Vec<TypeId>> {
    def.params
        .as_ref()
        .ok()
        .map(|params| params.iter().map(|param| param.ty).collect())
}

fn int(value: Global) -> Option<i64> {
    match value {
        Global::Value(Constant::Number(Number::Int(value))) => i64::try_from(value).ok(),
        _ => None,
    }
}

fn option_problem(tables: &Tables<'_>, expr: ExprId, name: &str) -> Problem {
    let node = tables.tree.expr(expr);
    Problem::at(
        "K025",
        node.start,
        node.end,
        format!("option `{name}` is not supported"),
    )
}

fn convert(tables: &mut Tables<'_>, expr: &ast::Expr) -> ExprId {
    Converter {
        tree: tables.tree,
        names: tables.names,
        source: tables.source,
        text: tables.text,
        depth: 0,
    }
    .expr(expr)
}

fn unsupported(stmt: &ast::Stmt, what: &str) -> Problem {
    let range = stmt.range();
    Problem::at(
        "K002",
        range.start().to_u32(),
        range.end().to_u32(),
        format!("{what} is not understood at module level"),
    )
    .hint("keep to imports, constants, type aliases, structs, functions and kernels")
}
