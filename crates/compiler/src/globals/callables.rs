//! Functions and kernels: decorators, signatures, overload sets.

use super::annotation::{returns, type_of};
use super::definition::Returns;
use super::evaluate::{evaluate, path};
use super::library::library_overloads;
use super::value::Tables;
use super::{FunctionDef, FunctionSet, Global, ParamDef, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, FunctionNode, List, StmtKind};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;
use warpsmith_ir::{Constant, Origin};

impl Scope {
    /// Enters a function or a kernel.
    pub(super) fn function(&mut self, tables: &mut Tables<'_>, index: u32) -> Result<(), Problem> {
        let node = tables.tree.functions[index as usize];
        let key = node.name;
        let parameters = node.parameters.start..node.parameters.start + node.parameters.len;
        let parameters =
            &tables.tree.parameters[parameters.start as usize..parameters.end as usize];
        for (at, parameter) in parameters.iter().enumerate() {
            if parameters[..at]
                .iter()
                .any(|other| other.name == parameter.name)
            {
                return Err(Problem::at(
                    "K001",
                    parameter.start,
                    parameter.end,
                    format!(
                        "`{}` is a parameter already",
                        tables.names.get(parameter.name)
                    ),
                ));
            }
        }
        let decorators = tables.tree.exprs_in(node.decorators).to_vec();
        // A class gives what `@staticmethod` holds as it is.
        let decorators = match *decorators {
            [first, ref rest @ ..] if self.is_static_method(tables, first) => rest,
            _ => &decorators,
        };
        let [expression] = *decorators else {
            self.forget_globals(tables, node.body);
            self.set(key, Global::Opaque("a Python function"));
            if node.decorators.len == 0 && self.qualifier.is_empty() {
                self.set_host_function(key, index);
            }
            self.note_uncalled(tables, index);
            return Ok(());
        };
        let (callee, keywords) = match tables.tree.expr(expression).kind {
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                let Global::WarpCallable(role) = path(self, tables, func) else {
                    self.set(key, Global::Opaque("a function with another decorator"));
                    self.note_uncalled(tables, index);
                    return Ok(());
                };
                if tables.names.get(role) == "func_native" {
                    return self.native_function(tables, &node, args, keywords);
                }
                if args.len != 0 {
                    let is_gradient = tables.names.get(role) == "func_grad";
                    let made = made_by(tables.names.get(role));
                    let of = tables.tree.exprs_in(args)[0];
                    if let Global::Function(set) = path(self, tables, of)
                        && !self.attach(tables, &node, set, is_gradient)
                    {
                        self.refuse_function(set, node.decorator_span, made);
                    }
                    self.set(key, made);
                    return Ok(());
                }
                (func, tables.tree.keywords_in(keywords).to_vec())
            }
            _ => (expression, Vec::new()),
        };
        let Global::WarpCallable(role) = path(self, tables, callee) else {
            self.set(key, Global::Opaque("a function with another decorator"));
            self.note_uncalled(tables, index);
            return Ok(());
        };
        let role = tables.names.get(role).to_owned();
        if !matches!(role.as_str(), "func" | "kernel") || node.is_async {
            self.set(key, made_by(&role));
            return Ok(());
        }
        let index = self.push_function(tables, &node, role == "func", Origin::Compiled);
        let statics = self.defining_statics(tables, &node, index);
        self.functions[index as usize].statics = statics;
        if role == "func" {
            self.enter_function(tables, key, index, &keywords, node.name_span);
            Ok(())
        } else {
            self.enter_kernel(tables, key, index, &keywords);
            Ok(())
        }
    }

    /// Whether a decorator in a class is Python's `staticmethod`.
    fn is_static_method(&self, tables: &Tables<'_>, decorator: ExprId) -> bool {
        match tables.tree.expr(decorator).kind {
            ExprKind::Name(name) => {
                let is_in_class =
                    self.qualifier.ends_with("__") && !self.qualifier.ends_with("__locals__");
                is_in_class && tables.names.get(name) == "staticmethod" && self.get(name).is_none()
            }
            _ => false,
        }
    }

    /// Enters a function whose body its decorator holds, in C++.
    fn native_function(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        args: List,
        keywords: List,
    ) -> Result<(), Problem> {
        let mut snippets = [None; 3];
        let mut given = Vec::new();
        for (at, value) in tables.tree.exprs_in(args).iter().enumerate() {
            given.push((at, *value));
        }
        for keyword in tables.tree.keywords_in(keywords) {
            let name = keyword.name.map_or("", |name| tables.names.get(name));
            let at = ["snippet", "adj_snippet", "replay_snippet"]
                .iter()
                .position(|known| *known == name);
            given.push((at.unwrap_or(usize::MAX), keyword.value));
        }
        let mut understood = !node.is_async;
        for (at, value) in given {
            let is_none = matches!(tables.tree.expr(value).kind, ExprKind::None);
            match (snippets.get_mut(at), evaluate(self, tables, value)) {
                (Some(slot), Global::Value(Constant::Str(text))) => *slot = Some(text),
                (Some(_), _) if is_none => {}
                _ => understood = false,
            }
        }
        let [Some(forward), adjoint, replay] = snippets else {
            self.set(node.name, NOT_TEXT);
            return Ok(());
        };
        // What the body itself says is compiled as well, for its mistakes and for what it returns.
        if !understood || !is_empty_body(tables, node.body) {
            self.set(node.name, NOT_TEXT);
            return Ok(());
        }
        let origin = Origin::Native {
            forward,
            adjoint,
            replay,
        };
        let index = self.push_function(tables, node, true, origin);
        self.enter_function(tables, node.name, index, &[], node.name_span);
        Ok(())
    }

    /// Makes a function the adjoint of another, or its stand-in in replays, where it is clear of which.
    fn attach(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        set: u32,
        is_gradient: bool,
    ) -> bool {
        let index = self.push_function(tables, node, false, Origin::Replay);
        let Some(types) = signature(&self.functions[index as usize]) else {
            return false;
        };
        let set = &self.sets[set as usize];
        let takes = |def: &FunctionDef| match signature(def) {
            Some(own) if is_gradient => types.starts_with(&own),
            own => own.as_ref() == Some(&types),
        };
        let mut fitting = set.overloads.iter().copied();
        let mut fitting = fitting
            .by_ref()
            .filter(|of| takes(&self.functions[*of as usize]));
        let (Some(of), None, true) = (fitting.next(), fitting.next(), set.templates.is_empty())
        else {
            return false;
        };
        let def = &self.functions[of as usize];
        let is_open = |ty: &TypeId| tables.types.is_generic(*ty) || tables.types.is_reference(*ty);
        if def.origin != Origin::Compiled || types.iter().any(is_open) {
            return false;
        }
        let (native, inline_hint, inputs) = (
            def.native,
            def.inline_hint,
            signature(def).map_or(0, |own| own.len() as u32),
        );
        let text = tables.names.get(native).to_owned();
        if is_gradient {
            self.functions[of as usize].gradient = Some(index);
        } else if text.ends_with("_0") && def.replay.is_none() {
            self.functions[of as usize].replay = Some(index);
        } else {
            return false;
        }
        let own = &mut self.functions[index as usize];
        own.inline_hint = inline_hint;
        (own.origin, own.native) = match is_gradient {
            true => (Origin::Gradient { inputs }, native),
            false => (
                Origin::Replay,
                tables.names.intern(&format!("replay_{text}")),
            ),
        };
        true
    }

    /// Notes a function, and says where.
    fn push_function(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        numbered: bool,
        origin: Origin,
    ) -> u32 {
        let params = self.params(tables, node);
        let returns = match node.returns {
            None => Ok(Returns::Inferred),
            Some(annotation) => returns(self, tables, annotation),
        };
        let key = self.key(tables, node.name);
        self.functions.push(FunctionDef {
            key,
            native: key,
            params,
            returns,
            body: node.body,
            decorator_line: tables.source.line_of(node.decorator_span.0),
            def_line: tables.source.line_of(node.name_span.0),
            span: node.name_span,
            inline_hint: "",
            numbered,
            instance: false,
            library: false,
            module: self.module(),
            closure: Vec::new(),
            statics: Vec::new(),
            origin,
            gradient: None,
            replay: None,
            reading: self.reading,
            built: None,
            building: false,
        });
        self.functions.len() as u32 - 1
    }

    pub(super) fn enter_function(
        &mut self,
        tables: &mut Tables<'_>,
        name: Name,
        index: u32,
        keywords: &[crate::syntax::Keyword],
        span: (u32, u32),
    ) {
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
                    let what = format!("option `{name}` of `@wp.func` is not supported");
                    let problem = Problem::at("K025", span.0, span.1, what);
                    self.functions[index as usize].params = Err(problem);
                }
            }
        }
        // Native names are numbered per key; functions that the library itself defines in Python own
        // the first numbers of theirs.
        let key = self.functions[index as usize].key;
        let taken = BUILTINS
            .get(key.index())
            .filter(|builtin| builtin.python)
            .map_or(0, |builtin| library_overloads(builtin.name));
        let reading = self.functions[index as usize].reading;
        let earlier = self.functions[..index as usize]
            .iter()
            .filter(|def| def.key == key && def.numbered && [0, reading].contains(&def.reading))
            .count();
        let native = format!("{}_{}", tables.names.get(key), earlier + taken);
        self.functions[index as usize].native = tables.names.intern(&native);
        let set = match self.get(name) {
            Some(Global::Function(set)) => set,
            _ => {
                self.sets.push(FunctionSet::default());
                let set = self.sets.len() as u32 - 1;
                self.set(name, Global::Function(set));
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
    }

    /// Refuses a function wherever it is used, because something else changes what it means.
    fn refuse_function(&mut self, set: u32, (start, end): (u32, u32), because: Global) {
        let Global::Opaque(what) = because else {
            return;
        };
        let set = &self.sets[set as usize];
        for index in set.overloads.iter().chain(&set.templates) {
            let what = format!("this function has {what}");
            self.functions[*index as usize].params = Err(Problem::at("K021", start, end, what));
        }
    }

    /// What stands in `wp.ref[…]`.
    fn referred(&self, tables: &mut Tables<'_>, annotation: ExprId) -> Option<ExprId> {
        let ExprKind::Subscript(base, value) = tables.tree.expr(annotation).kind else {
            return None;
        };
        let is_ref = matches!(path(self, tables, base), Global::WarpCallable(name)
            if tables.names.get(name) == "ref");
        is_ref.then_some(value)
    }

    pub(super) fn params(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
    ) -> Result<Vec<ParamDef>, Problem> {
        if !node.plain {
            return Err(Problem::at(
                "K005",
                node.parameters_span.0,
                node.parameters_span.1,
                "only plain parameters are supported",
            ));
        }
        let list = node.parameters;
        let mut params = Vec::with_capacity(list.len as usize);
        for at in list.start..list.start + list.len {
            let parameter = tables.tree.parameters[at as usize];
            let name = parameter.name;
            let Some(annotation) = parameter.annotation else {
                return Err(Problem::at(
                    "K004",
                    parameter.start,
                    parameter.end,
                    format!("parameter `{}` has no type", tables.names.get(name)),
                )
                .hint("annotate it, e.g. `x: float` or `x: wp.array(dtype=float)`"));
            };
            let takes_function = matches!(path(self, tables, annotation), Global::WarpCallable(name)
                if tables.names.get(name) == "Function");
            let ty = match self.referred(tables, annotation) {
                // No value has this type.
                None if takes_function => TypeId::SLICE,
                Some(value) => {
                    // Warp writes the pointers of these by their Python names.
                    if let Global::PythonType(_) = evaluate(self, tables, value) {
                        let what = "a `wp.ref` of one of Python's own types is not supported";
                        return Err(Problem::at("K004", parameter.start, parameter.end, what)
                            .hint("write Warp's type, e.g. `wp.ref[wp.float32]`"));
                    }
                    let value = type_of(self, tables, value)?;
                    if !tables.types.is_plain_value(value) {
                        let what = "a `wp.ref` of this type is not supported";
                        return Err(Problem::at("K004", parameter.start, parameter.end, what));
                    }
                    tables.types.reference(value)
                }
                None => type_of(self, tables, annotation)?,
            };
            let is_python = matches!(evaluate(self, tables, annotation), Global::PythonType(_));
            let default = parameter
                .default
                .map(|default| evaluate(self, tables, default));
            params.push(ParamDef {
                name,
                ty,
                default,
                takes_function,
                is_python,
            });
        }
        Ok(params)
    }
}

const NOT_TEXT: Global = Global::Opaque(
    "a function of native code (`@wp.func_native`) whose text or body is not understood",
);

/// Whether a body says nothing: texts, `...` and `pass`.
fn is_empty_body(tables: &Tables<'_>, body: List) -> bool {
    let says_nothing = |value| {
        matches!(
            tables.tree.expr(value).kind,
            ExprKind::Str(_) | ExprKind::Unsupported("`...`")
        )
    };
    let mut statements = tables.tree.stmts_in(body).iter();
    statements.all(|id| match tables.tree.stmt(*id).kind {
        StmtKind::Pass => true,
        StmtKind::Expr(value) => says_nothing(value),
        _ => false,
    })
}

/// A function with a decorator of Warp's that is not supported.
fn made_by(role: &str) -> Global {
    Global::Opaque(match role {
        "func_grad" => "a gradient (`@wp.func_grad`) that is not supported",
        "func_replay" => "a replay (`@wp.func_replay`) that is not supported",
        _ => "a function with a decorator that is not supported",
    })
}

fn signature(def: &FunctionDef) -> Option<Vec<TypeId>> {
    def.params
        .as_ref()
        .ok()
        .map(|params| params.iter().map(|param| param.ty).collect())
}
