//! Kernels and functions inside other functions: the factories that programs make their kernels with.
//!
//! A factory that the module itself calls with constants is followed ([`super::host_call`]), and so is one whose
//! arguments can only be few ([`super::variants`]). Of every other function the body is read as far as it means the
//! same in every call; what only a call knows is [`Global::Opaque`], and refused where a kernel uses it.

use super::bindings::{Binding, of_class, of_function};
use super::evaluate::evaluate;
use super::value::Tables;
use super::variants::Variant;
use super::{Global, KernelDef, ParamDef, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ClassNode, ExprId, ExprKind, FunctionNode, List, StmtKind, Tree};
use warpsmith_ir::names::{Name, Names};
use warpsmith_ir::types::TypeId;

/// What a call gives a parameter that may be `None`.
pub(super) const GIVEN: Global =
    Global::Opaque("an argument other than `None`, whose value only Python knows");
const PARAMETER: Global =
    Global::Opaque("a parameter of the enclosing function, whose value only Python knows");
pub(super) const LOCAL: Global =
    Global::Opaque("set by a call of the enclosing function; its value only Python knows");

/// Functions inside functions that are looked into.
const DEEPEST: usize = 16;

/// A function that nobody is known to call.
#[derive(Debug)]
pub(super) struct Uncalled {
    /// Position among the tree's functions.
    node: u32,
    /// What comes before the names of its definitions in their keys.
    qualifier: String,
}

impl Scope {
    /// The key of a definition: its name behind those of the functions and classes around it.
    pub(super) fn key(&self, tables: &mut Tables<'_>, name: Name) -> Name {
        if self.qualifier.is_empty() {
            return name;
        }
        let key = format!("{}{}", self.qualifier, tables.names.get(name));
        tables.names.intern(&key)
    }

    /// What comes before the names that a function defines.
    pub(super) fn qualifier_in(&self, tables: &Tables<'_>, function: Name) -> String {
        let name = tables.names.get(function);
        format!("{}{name}__locals__", self.qualifier)
    }

    /// Says which name of an expression only a call of the function around it knows, if there is one.
    pub(crate) fn captured_in(&self, tree: &Tree, names: &Names, expr: ExprId) -> Option<String> {
        // Only functions around an expression give names such values.
        if self.enclosing.is_empty() {
            return None;
        }
        if let ExprKind::Name(name) = tree.expr(expr).kind {
            return match self.get(name) {
                Some(value @ Global::Opaque(what))
                    if [PARAMETER, LOCAL, GIVEN].contains(&value) =>
                {
                    Some(format!("`{}` is {what}", names.get(name)))
                }
                _ => None,
            };
        }
        let mut parts = tree.parts(expr).into_iter();
        parts.find_map(|part| self.captured_in(tree, names, part))
    }

    /// What to do about a name that functions around an expression capture: a value for each parameter that is open.
    pub(crate) fn how_to_bind(&self, tree: &Tree, names: &Names, at: u32) -> Option<String> {
        let around = |body: List| {
            let statements = tree.stmts_in(body).iter().map(|id| tree.stmt(*id));
            let (start, end) = statements.fold((u32::MAX, 0), |(start, end), stmt| {
                (start.min(stmt.start), end.max(stmt.end))
            });
            start <= at && at < end
        };
        let mut open = Vec::new();
        for node in tree.functions.iter().filter(|node| around(node.body)) {
            let list = node.parameters;
            let parameters = &tree.parameters[list.start as usize..][..list.len as usize];
            for parameter in parameters {
                let known = matches!(self.get(parameter.name), Some(Global::Value(_)));
                if parameter.default.is_none() && !known {
                    let [function, name] = [node.name, parameter.name].map(|name| names.get(name));
                    open.push(format!("`--bind {function}.{name}=VALUE`"));
                }
            }
        }
        (!open.is_empty()).then(|| format!("say what it is called with: {}", open.join(" ")))
    }

    /// Notes a function in which kernels may stand.
    pub(super) fn note_uncalled(&mut self, tables: &Tables<'_>, index: u32) {
        let node = tables.tree.functions[index as usize];
        if defines(tables, node.body) && self.qualifier.matches("__locals__").count() < DEEPEST {
            let qualifier = self.qualifier_in(tables, node.name);
            self.uncalled.push(Uncalled {
                node: index,
                qualifier,
            });
        }
    }

    /// Reads the functions that were noted since there were `first`, but for those that the module calls.
    pub(super) fn read_uncalled(
        &mut self,
        tables: &mut Tables<'_>,
        first: usize,
    ) -> Result<(), Problem> {
        for function in self.uncalled.split_off(first) {
            if !self.calls.iter().any(|call| call.node == function.node) {
                self.read_function(tables, function)?;
            }
        }
        Ok(())
    }

    fn read_function(
        &mut self,
        tables: &mut Tables<'_>,
        function: Uncalled,
    ) -> Result<(), Problem> {
        let node = tables.tree.functions[function.node as usize];
        let before = std::mem::replace(&mut self.qualifier, function.qualifier);
        let variants = self.variants(tables, function.node);
        let first = self.kernels.len();
        let count = variants.len();
        let mut read = Ok(());
        for variant in variants {
            read = read.and_then(|()| self.read_variant(tables, &node, variant));
        }
        if count > 1 {
            self.join_equal_kernels(first, count);
        }
        self.qualifier = before;
        read
    }

    /// Reads a function as it is with these arguments: step by step where all that decides its steps is known,
    /// else what it is in every call.
    fn read_variant(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        variant: Variant,
    ) -> Result<(), Problem> {
        let is_named = !variant.label.is_empty();
        let label = match self.label.is_empty() || !is_named {
            true => format!("{}{}", self.label, variant.label),
            false => format!("{}, {}", self.label, variant.label),
        };
        let label = std::mem::replace(&mut self.label, label);
        let reading = self.reading;
        if is_named {
            self.readings += 1;
            self.reading = self.readings;
        }
        let inner = self.uncalled.len();
        let read = match is_named && self.follow(tables, node, &variant.values) {
            true => self.read_uncalled(tables, inner),
            false => {
                let bound = of_function(tables, node);
                let outer = self.enter_locals(node, tables, &bound);
                for (name, value) in &variant.values {
                    if bound
                        .iter()
                        .any(|bound| bound.name == *name && bound.is_sure)
                    {
                        self.set(*name, *value);
                    }
                }
                let first = self.functions.len();
                let read = self
                    .nested_statements(tables, node.body, &bound, true)
                    // What stands further inside is called later.
                    .and_then(|()| self.read_uncalled(tables, inner));
                self.capture(tables, first);
                self.leave_closure(outer);
                read
            }
        };
        self.reading = reading;
        self.label = label;
        read
    }

    /// Of kernels since `first` that are the same in all readings of a function one remains, without arguments.
    fn join_equal_kernels(&mut self, first: usize, readings: usize) {
        let mut at = first;
        while at < self.kernels.len() {
            let body = self.functions[self.kernels[at].function as usize]
                .body
                .start;
            let of_body = |kernel: &KernelDef| {
                let def = &self.functions[kernel.function as usize];
                def.body.start == body
            };
            let same: Vec<usize> = (first..self.kernels.len())
                .filter(|other| of_body(&self.kernels[*other]))
                .collect();
            if same[0] == at
                && same.len() == readings
                && same.iter().all(|other| self.is_equal(at, *other))
            {
                self.kernels[at].label.clear();
                for other in &same[1..] {
                    self.kernels[*other].is_repeated = true;
                }
            }
            at += 1;
        }
    }

    /// Whether two kernels of one text mean the same.
    fn is_equal(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.kernels[one], &self.kernels[other]);
        let settings =
            |kernel: &KernelDef| (kernel.backward, kernel.grid_stride, kernel.own_module);
        settings(one) == settings(other)
            && one.options == other.options
            && one.problem.is_none()
            && other.problem.is_none()
            && self.is_equal_function(one.function, other.function, DEEPEST)
    }

    fn is_equal_function(&self, one: u32, other: u32, depth: usize) -> bool {
        if one == other || depth == 0 {
            return one == other;
        }
        let (one, other) = (
            &self.functions[one as usize],
            &self.functions[other as usize],
        );
        let (Ok(params), Ok(others)) = (&one.params, &other.params) else {
            return false;
        };
        let types = |params: &[ParamDef]| -> Vec<TypeId> { params.iter().map(|p| p.ty).collect() };
        let mut closures = one.closure.iter().zip(&other.closure);
        types(params) == types(others)
            && (one.body.start, one.native, one.inline_hint)
                == (other.body.start, other.native, other.inline_hint)
            && one.closure.len() == other.closure.len()
            && closures.all(|((name, value), (other_name, other_value))| {
                name == other_name && self.is_equal_value(*value, *other_value, depth - 1)
            })
    }

    fn is_equal_value(&self, one: Global, other: Global, depth: usize) -> bool {
        match (one, other) {
            (Global::Function(one), Global::Function(other)) => {
                let sets = [one, other].map(|set| &self.sets[set as usize]);
                match sets.map(|set| (set.overloads.as_slice(), set.templates.len())) {
                    [([one], 0), ([other], 0)] => self.is_equal_function(*one, *other, depth),
                    _ => one == other,
                }
            }
            (one, other) => one == other,
        }
    }

    /// Hides what the module says of names that a function binds itself, until they are set.
    pub(super) fn enter_locals(
        &mut self,
        node: &FunctionNode,
        tables: &Tables<'_>,
        bound: &[Binding],
    ) -> super::closure::Outer {
        let list = node.parameters;
        let parameters = &tables.tree.parameters[list.start as usize..][..list.len as usize];
        let own = bound.iter().map(|binding| {
            let is_parameter = parameters.iter().any(|known| known.name == binding.name);
            match is_parameter && binding.is_sure {
                true => (binding.name, PARAMETER),
                false => (binding.name, LOCAL),
            }
        });
        let mut names: Vec<(Name, Global)> = own.collect();
        for (name, value) in self.enclosing_values() {
            if !names.iter().any(|(known, _)| *known == name) {
                names.push((name, value));
            }
        }
        self.enter_closure(self.module(), &names)
    }

    /// Gives the functions since `first` those names around them that they use.
    pub(super) fn capture(&mut self, tables: &Tables<'_>, first: usize) {
        let around = self.enclosing_values();
        if around.is_empty() {
            return;
        }
        let mut used = Vec::new();
        for def in &mut self.functions[first..] {
            used.clear();
            let mut nodes = tables.tree.functions.iter();
            if let Some(node) = nodes.find(|node| node.name_span == def.span) {
                tables.tree.names_of_function(node, &mut used);
            }
            for (name, value) in &around {
                if used.contains(name) && !def.closure.iter().any(|(known, _)| known == name) {
                    def.closure.push((*name, *value));
                }
            }
        }
    }

    /// Enters what statements of a function define. Where it is not `certain` that they run once, what they
    /// bind is not known.
    fn nested_statements(
        &mut self,
        tables: &mut Tables<'_>,
        body: List,
        bound: &[Binding],
        certain: bool,
    ) -> Result<(), Problem> {
        let is_sure = |name: Name| {
            let mut sure = bound.iter().filter(|binding| binding.is_sure);
            certain && sure.any(|binding| binding.name == name)
        };
        for at in body.start..body.start + body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            match stmt.kind {
                StmtKind::Function(index) => {
                    self.function(tables, index)?;
                    let name = tables.tree.functions[index as usize].name;
                    if !is_sure(name) {
                        self.set(name, LOCAL);
                    }
                }
                StmtKind::Class(index) => {
                    self.class(tables, index)?;
                    let name = tables.tree.classes[index as usize].name;
                    if !is_sure(name) {
                        self.set(name, LOCAL);
                    }
                }
                StmtKind::Assign { targets, value } => {
                    if let [target] = *tables.tree.exprs_in(targets)
                        && let ExprKind::Name(name) = tables.tree.expr(target).kind
                        && is_sure(name)
                    {
                        let value = match evaluate(self, tables, value) {
                            Global::Opaque(_) => LOCAL,
                            known => known,
                        };
                        self.set(name, value);
                    }
                }
                StmtKind::Expr(value) => {
                    self.overload(tables, value);
                }
                StmtKind::Import(aliases) if certain => self.import(tables, aliases)?,
                StmtKind::ImportFrom {
                    module,
                    level,
                    aliases,
                } if certain => self.import_from(tables, module, level, aliases)?,
                StmtKind::If { test, body, orelse } => {
                    let truth = match evaluate(self, tables, test) {
                        Global::Value(constant) => constant.truth(),
                        _ => None,
                    };
                    if truth != Some(false) {
                        self.nested_statements(tables, body, bound, certain)?;
                    }
                    if truth != Some(true) {
                        self.nested_statements(tables, orelse, bound, certain)?;
                    }
                }
                StmtKind::For { body, .. }
                | StmtKind::While { body, .. }
                | StmtKind::Block { body, .. } => {
                    self.nested_statements(tables, body, bound, false)?;
                }
                _ => {}
            }
        }
        // An import binds several names.
        for binding in bound.iter().filter(|binding| !binding.is_sure) {
            self.set(binding.name, LOCAL);
        }
        Ok(())
    }

    /// Enters the functions and kernels of a class, each an attribute under its dotted name; says whether there
    /// are any.
    pub(super) fn class_functions(
        &mut self,
        tables: &mut Tables<'_>,
        node: &ClassNode,
        class: Name,
    ) -> Result<bool, Problem> {
        if !defines(tables, node.body) {
            return Ok(false);
        }
        let bound = of_class(tables, node.body);
        let attribute = |tables: &mut Tables<'_>, name: Name| {
            let dotted = format!("{}.{}", tables.names.get(class), tables.names.get(name));
            tables.names.intern(&dotted)
        };
        let mut names = self.enclosing_values();
        for binding in &bound {
            names.retain(|(name, _)| *name != binding.name);
            let dotted = attribute(tables, binding.name);
            let value = self.attribute(dotted).unwrap_or(LOCAL);
            names.push((binding.name, value));
        }
        let qualifier = format!("{}{}__", self.qualifier, tables.names.get(node.name));
        let before = std::mem::replace(&mut self.qualifier, qualifier);
        let outer = self.enter_closure(self.module(), &names);
        let mut read = Ok(());
        let mut found = false;
        for at in node.body.start..node.body.start + node.body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            let StmtKind::Function(index) = stmt.kind else {
                continue;
            };
            read = read.and_then(|()| self.function(tables, index));
            let name = tables.tree.functions[index as usize].name;
            let sure = bound
                .iter()
                .any(|binding| binding.name == name && binding.is_sure);
            if let (true, Some(value @ (Global::Function(_) | Global::Kernel(_)))) =
                (sure, self.get(name))
            {
                let dotted = attribute(tables, name);
                self.set_attribute(dotted, value);
                found = true;
            }
        }
        self.leave_closure(outer);
        self.qualifier = before;
        read.map(|()| found)
    }
}

/// Whether statements define decorated functions, further inside or not.
pub(super) fn defines(tables: &Tables<'_>, body: List) -> bool {
    let mut statements = tables.tree.stmts_in(body).iter();
    statements.any(|id| match tables.tree.stmt(*id).kind {
        StmtKind::Function(index) => {
            let node = &tables.tree.functions[index as usize];
            node.decorators.len > 0 || defines(tables, node.body)
        }
        StmtKind::Class(index) => defines(tables, tables.tree.classes[index as usize].body),
        StmtKind::If { body, orelse, .. } => defines(tables, body) || defines(tables, orelse),
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::Block { body, .. } => defines(tables, body),
        _ => false,
    })
}
