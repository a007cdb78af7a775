//! Building functions and the kernel.

use std::sync::OnceLock;

use super::body::Body;
use super::value::{Binding, Res, fail, placed, problem};
use crate::diagnostic::Problem;
use crate::globals::{FunctionDef, KernelDef, ParamDef, ProjectModule, Returns, Scope};
use crate::syntax::{BinaryOp, ExprId, ExprKind, List, SourceText, StmtKind, Tree};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::{Name, Names};
use warpsmith_ir::types::{StructId, Type, TypeId, TypeTable};
use warpsmith_ir::{Custom, Function, FunctionKind, Line, Origin, VarId, Variable};

/// What all functions of a module share while they are built.
pub(crate) struct Shared<'s> {
    pub(crate) scope: &'s mut Scope,
    pub(crate) names: &'s mut Names,
    pub(crate) types: &'s mut TypeTable,
    pub(crate) tree: &'s mut Tree,
    pub(crate) source: &'s SourceText,
    pub(crate) text: &'s str,
    /// The project's modules.
    pub(crate) modules: &'s [ProjectModule],
    /// How many lines stand before the library's.
    pub(crate) library_line: u32,
    /// The file of the library's text, as comments name it.
    pub(crate) library_file: &'static str,
    pub(crate) functions: Vec<Function>,
    pub(crate) structs: Vec<StructId>,
    /// Structs of which constants are written, which alone does not declare them.
    pub(crate) static_structs: Vec<StructId>,
    pub(crate) lines: Vec<Line>,
    pub(crate) max_unroll: i64,
    pub(crate) backward: bool,
    pub(crate) depth: u32,
    /// Adjoints and stand-ins of functions that are called, which are built last.
    pub(crate) deferred: Vec<u32>,
    pub(crate) is_deferred: bool,
    pub(crate) operators: &'static Operators,
    /// Functions that are done with, for their memory.
    pub(crate) spare: &'s mut Vec<Function>,
    /// Likewise for the notes on lines that a body keeps.
    pub(crate) spare_lines: &'s mut Vec<Vec<u32>>,
}

/// Positions of builtins that the compiler itself calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operators {
    pub(crate) copy: u16,
    pub(crate) assign: u16,
    pub(crate) select: u16,
    pub(crate) address: u16,
    pub(crate) view: u16,
    pub(crate) extract: u16,
    pub(crate) array_store: u16,
    /// In the order of [`BinaryOp`].
    pub(crate) binary: [u16; 13],
    /// In the order of [`UnaryOp`](crate::syntax::UnaryOp).
    pub(crate) unary: [u16; 4],
}

impl Operators {
    /// The positions, looked up once.
    pub(crate) fn table() -> &'static Self {
        static TABLE: OnceLock<Operators> = OnceLock::new();
        TABLE.get_or_init(|| {
            let find = |name: &str| {
                BUILTINS
                    .iter()
                    .position(|builtin| builtin.name == name)
                    .unwrap_or(0) as u16
            };
            Self {
                copy: find("copy"),
                assign: find("assign"),
                select: find("where"),
                address: find("address"),
                view: find("view"),
                extract: find("extract"),
                array_store: find("array_store"),
                binary: BinaryOp::ALL.map(|op| find(op.builtin())),
                unary: ["neg", "pos", "unot", "invert"].map(find),
            }
        })
    }
}

impl Shared<'_> {
    /// Notes that a struct is used, after the structs it is made of.
    pub(crate) fn use_struct(&mut self, id: StructId) {
        let mut found = Vec::new();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            found.push(id);
            for field in &self.types.struct_def(id).fields {
                let ty = match self.types.get(field.ty) {
                    Type::Array { element, .. }
                    | Type::FixedArray { element, .. }
                    | Type::MappedArray { element, .. } => element,
                    _ => field.ty,
                };
                if let Type::Struct(inner) = self.types.get(ty) {
                    stack.push(inner);
                }
            }
        }
        for id in found.into_iter().rev() {
            if !self.structs.contains(&id) {
                self.structs.push(id);
            }
        }
    }
}

/// The deepest chain of functions that call each other.
const MAX_CALL_DEPTH: u32 = 40;

/// Builds the kernel and everything it reaches.
pub(crate) fn build_kernel(
    shared: &mut Shared<'_>,
    kernel: &KernelDef,
    params: Vec<ParamDef>,
    instance: bool,
) -> Res<Function> {
    let index = kernel.function;
    let def = &shared.scope.functions[index as usize];
    let (body, native, span) = (def.body, def.native, def.span);
    if let Ok(Returns::Types(..)) = def.returns {
        return Err(Problem::at("K013", span.0, span.1, "a kernel has a return annotation").into());
    }
    if params
        .iter()
        .any(|param| shared.types.is_reference(param.ty))
    {
        let what = "a kernel takes no `wp.ref`";
        return Err(Problem::at("K004", span.0, span.1, what).into());
    }
    let line_base = if instance { def.decorator_line } else { 0 };
    let (first_line, def_line) = if instance {
        (0, def.def_line)
    } else {
        (def.decorator_line, def.def_line)
    };
    let launch_rank = launch_rank(shared, body);
    let mut options = kernel.options.clone();
    options.backward = shared.backward;
    let (closure, module, statics) = (def.closure.clone(), def.module, def.statics.clone());
    let outer = shared.scope.enter_closure(module, &closure);
    let mut state = Body::new(shared, true, line_base);
    state.statics = statics;
    let lowered = state.function(&params, body, def_line);
    state.shared.scope.leave_closure(outer);
    lowered.map_err(|p| placed(p, span.0, span.1))?;
    let kind = FunctionKind::Kernel {
        launch_rank,
        scalar_tid: state.scalar_tid,
        long_constant_loop: state.long_constant_loop,
        options,
    };
    let built = state.finish(native, first_line, kind);
    shared.use_parameter_structs(&params);
    shared.is_deferred = true;
    let mut at = 0;
    while let Some(&index) = shared.deferred.get(at) {
        let own = shared.build_function(index)? as usize;
        let def = &shared.scope.functions[index as usize];
        if let (Origin::Gradient { .. }, [_, ..]) = (def.origin, &*shared.functions[own].returns) {
            let what = "a gradient returns nothing";
            return Err(Problem::at("K013", def.span.0, def.span.1, what).into());
        }
        at += 1;
    }
    let declared = |id: &StructId| shared.structs.contains(id);
    if !shared.static_structs.iter().all(declared) {
        let what = "Warp does not declare a struct that a kernel uses through `wp.static` only";
        return Err(Problem::at("K021", span.0, span.1, what)
            .hint("give it to a function or an array, or read its fields: `wp.static(p.x)`")
            .into());
    }
    Ok(built)
}

impl Shared<'_> {
    fn use_parameter_structs(&mut self, params: &[ParamDef]) {
        for param in params {
            let ty = match self.types.get(param.ty) {
                Type::Array { element, .. } | Type::MappedArray { element, .. } => element,
                Type::Reference(value) => value,
                _ => param.ty,
            };
            if let Type::Struct(id) = self.types.get(ty) {
                self.use_struct(id);
            }
        }
    }

    /// Builds a function that is called if it is new, and says where it stands.
    pub(super) fn build_called(&mut self, index: u32) -> Res<u32> {
        let built = self.build_function(index)?;
        let FunctionDef {
            gradient, replay, ..
        } = self.scope.functions[index as usize];
        if let Some(gradient) = gradient {
            self.check_gradient(built, gradient)?;
        }
        for own in [gradient, replay].into_iter().flatten() {
            if !self.deferred.contains(&own) {
                self.deferred.push(own);
            }
        }
        Ok(built)
    }

    /// An adjoint takes what its function takes, then a gradient for each result.
    fn check_gradient(&self, function: u32, gradient: u32) -> Res<()> {
        let function = &self.functions[function as usize];
        let def = &self.scope.functions[gradient as usize];
        let params = match &def.params {
            Ok(params) => params,
            Err(problem) => return Err(problem.clone().into()),
        };
        let taken = function.parameters().map(|(_, variable)| variable.ty);
        let wanted: Vec<TypeId> = taken.chain(function.returns.iter().copied()).collect();
        let fits = wanted.len() == params.len()
            && (wanted.iter().zip(params)).all(|(ty, param)| self.types.equal(*ty, param.ty));
        let has_tiles = function.has_tiles(self.types);
        if fits && !has_tiles {
            return Ok(());
        }
        let what = match has_tiles {
            true => "a gradient of a function with tiles is not supported",
            false => "a gradient takes what its function takes, then one for each result",
        };
        Err(Problem::at("K021", def.span.0, def.span.1, what).into())
    }

    /// Builds a function if it is new, and says where it stands.
    pub(super) fn build_function(&mut self, index: u32) -> Res<u32> {
        let def = &mut self.scope.functions[index as usize];
        if let Some(built) = def.built {
            return Ok(built);
        }
        if def.building {
            return fail(
                "K026",
                format!("`{}` calls itself", self.names.get(def.key)),
            );
        }
        if self.depth >= MAX_CALL_DEPTH {
            return fail("K022", "functions call each other too deeply");
        }
        let params = match &mut def.params {
            Ok(params) => params.clone(),
            Err(problem) => return Err(problem.clone().into()),
        };
        let returns = match &mut def.returns {
            Ok(returns) => returns.clone(),
            Err(problem) => return Err(problem.clone().into()),
        };
        def.building = true;
        let FunctionDef {
            native,
            body,
            decorator_line,
            def_line,
            span,
            instance,
            inline_hint,
            library,
            module,
            origin,
            gradient,
            replay,
            ..
        } = *def;
        let (closure, statics) = (def.closure.clone(), def.statics.clone());
        let own = &self.modules[usize::from(module)];
        let (file, before) = match (library, module) {
            (true, _) => (Some(self.library_file), self.library_line),
            (false, 0) => (None, 0),
            (false, _) => (Some(own.file.as_str()), own.lines_before),
        };
        let file = file.map(|file| self.names.intern(file));
        let (first_line, line_base) = match instance {
            true => (0, decorator_line),
            false => (decorator_line - before, before),
        };
        let outer = self.scope.enter_closure(module, &closure);
        self.depth += 1;
        // What only an author's own adjoint calls needs no adjoint itself.
        let adjoint = self.backward && !self.is_deferred;
        let function = {
            let kind = FunctionKind::Device {
                inline_hint,
                adjoint,
                file,
                custom: Custom {
                    origin,
                    has_gradient: gradient.is_some(),
                    has_replay: replay.is_some(),
                },
            };
            let mut state = Body::new(self, false, line_base);
            state.statics = statics;
            if let (Origin::Native { .. }, true) = (origin, instance) {
                fail("K021", "generic native code is not supported")
            } else if let Origin::Native { .. } = origin {
                let declared = state.declare(&params);
                let given = declared.and_then(|()| state.native_returns(returns));
                given.map(|returns| Function {
                    returns,
                    ..state.finish(native, first_line, kind)
                })
            } else {
                if let Origin::Gradient { inputs } = origin {
                    state.gradient_inputs = Some(inputs);
                }
                let lowered = state.function(&params, body, def_line);
                let checked = lowered.and_then(|()| state.check_returns(&returns));
                checked.map(|()| state.finish(native, first_line, kind))
            }
            .map_err(|p| placed(p, span.0, span.1))
        };
        self.depth -= 1;
        self.scope.leave_closure(outer);
        self.use_parameter_structs(&params);
        self.functions.push(function?);
        let built = self.functions.len() as u32 - 1;
        let def = &mut self.scope.functions[index as usize];
        def.building = false;
        def.built = Some(built);
        Ok(built)
    }
}

impl Body<'_, '_> {
    /// Lowers a whole function.
    fn function(&mut self, params: &[ParamDef], body: List, def_line: u32) -> Res<()> {
        self.declare(params)?;
        self.statements_of(body, def_line)
    }

    /// What a function of native code gives back.
    fn native_returns(&self, annotation: Returns) -> Res<Vec<TypeId>> {
        let types = match annotation {
            Returns::Inferred => Vec::new(),
            Returns::Types(types, _) => types,
        };
        let is_plain = |ty: TypeId| {
            !self.shared.types.is_generic(ty) && self.shared.types.tile_of(ty).is_none()
        };
        let params = self.vars.iter().map(|variable| variable.ty);
        if types.len() > 1 || !types.iter().copied().chain(params).all(is_plain) {
            return fail(
                "K021",
                "native code with tiles or several results is not supported",
            );
        }
        let table = &self.shared.types;
        let is_given = |ty: &TypeId| match table.get(*ty) {
            Type::Struct(_) => false,
            _ => table.is_plain_value(*ty) || table.array_parts(*ty).is_some(),
        };
        if !types.iter().all(is_given) {
            return fail("K015", "native code gives numbers, vectors or arrays back");
        }
        Ok(types)
    }

    /// Declares the parameters.
    fn declare(&mut self, params: &[ParamDef]) -> Res<()> {
        for param in params {
            if self.shared.types.is_generic(param.ty) {
                return fail("K004", "a generic parameter has no concrete type here");
            }
            let id = VarId(self.vars.len() as u32);
            self.vars.push(Variable {
                ty: param.ty,
                constant: None,
                name: Some(param.name),
            });
            self.symbols.set(param.name, Binding::Var(id));
            if let Type::Array { .. } | Type::MappedArray { .. } | Type::Reference(_) =
                self.shared.types.get(param.ty)
            {
                self.trace(
                    id,
                    warpsmith_ir::Place {
                        root: id,
                        steps: Vec::new(),
                    },
                );
            }
        }
        self.params = self.vars.len() as u32;
        Ok(())
    }

    fn statements_of(&mut self, body: List, def_line: u32) -> Res<()> {
        self.enter_line(def_line);
        for at in body.start..body.start + body.len {
            let id = self.shared.tree.stmt_lists[at as usize];
            if let StmtKind::Expr(value) = self.shared.tree.stmt(id).kind
                && self.is_bare_constant(value)
            {
                continue;
            }
            self.statement(id)?;
        }
        let ends_in_return =
            self.shared.tree.stmts_in(body).last().is_some_and(|last| {
                matches!(self.shared.tree.stmt(*last).kind, StmtKind::Return(_))
            });
        if self
            .returned
            .as_ref()
            .is_some_and(|values| values.len() == 1)
            && !ends_in_return
        {
            self.ops.push(warpsmith_ir::Op::ReturnDefault);
        }
        if (self.shared.backward || self.gradient_inputs.is_some())
            && let Some((start, end)) = self.unsupported_adjoint
        {
            return Err(Problem::at(
                "K021",
                start,
                end,
                "this update of a component has no adjoint",
            )
            .hint("write to another array, or compile with `enable_backward=False`")
            .into());
        }
        Ok(())
    }

    fn is_bare_constant(&self, expr: ExprId) -> bool {
        matches!(
            self.shared.tree.expr(expr).kind,
            ExprKind::Int(_)
                | ExprKind::Float(_)
                | ExprKind::Bool(_)
                | ExprKind::Str(_)
                | ExprKind::None
                | ExprKind::Unsupported("`...`" | "a bytes literal")
        )
    }

    /// Holds what is returned against the annotation.
    fn check_returns(&self, annotation: &Returns) -> Res<()> {
        let Returns::Types(wanted, _) = annotation else {
            return Ok(());
        };
        let Some(values) = &self.returned else {
            return fail("K015", "a return type is annotated and nothing is returned");
        };
        if wanted.len() != values.len()
            || wanted.iter().zip(values).any(|(ty, value)| {
                let have = self.ty(*value);
                !self.shared.types.equal(*ty, have)
                    || (self.shared.types.get(*ty) != self.shared.types.get(have)
                        && self.shared.types.tile_of(have).is_none())
            })
        {
            return Err(problem(
                "K015",
                "the values returned do not fit the return annotation",
            ));
        }
        Ok(())
    }

    fn finish(self, native: Name, first_line: u32, kind: FunctionKind) -> Function {
        let returns: Vec<TypeId> = match &self.returned {
            Some(values) => values.iter().map(|value| self.ty(*value)).collect(),
            None => Vec::new(),
        };
        self.shared.spare_lines.push(self.line_slots);
        Function {
            native,
            first_line,
            kind,
            params: self.params,
            vars: self.vars,
            ops: self.ops,
            pool: self.pool,
            comparisons: self.comparisons,
            places: self.places,
            slots: self.slots,
            loops: self.loops,
            templates: self.templates,
            literals: self.literals,
            texts: self.texts,
            aliases: self.aliases,
            returns,
        }
    }
}

/// The rank of the launch: the most names that any assignment binds to a call of `tid()`.
fn launch_rank(shared: &Shared<'_>, body: List) -> u32 {
    let mut rank = 0;
    let mut pending = shared.tree.stmts_in(body).to_vec();
    while let Some(id) = pending.pop() {
        match shared.tree.stmt(id).kind {
            StmtKind::Assign { targets, value } => {
                if is_tid_call(shared, value)
                    && let Some(target) = shared.tree.exprs_in(targets).first()
                {
                    rank = rank.max(match shared.tree.expr(*target).kind {
                        ExprKind::Tuple(list) => list.len,
                        _ => 1,
                    });
                }
            }
            StmtKind::If { body, orelse, .. } => {
                pending.extend_from_slice(shared.tree.stmts_in(body));
                pending.extend_from_slice(shared.tree.stmts_in(orelse));
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => {
                pending.extend_from_slice(shared.tree.stmts_in(body));
            }
            _ => {}
        }
    }
    rank.max(1)
}

fn is_tid_call(shared: &Shared<'_>, expr: ExprId) -> bool {
    let ExprKind::Call { func, .. } = shared.tree.expr(expr).kind else {
        return false;
    };
    match shared.tree.expr(func).kind {
        ExprKind::Attribute(_, name) | ExprKind::Name(name) => shared.names.get(name) == "tid",
        _ => false,
    }
}
