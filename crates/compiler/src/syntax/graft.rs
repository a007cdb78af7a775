//! Puts a copy of one tree behind the nodes of another.

use warpsmith_ir::names::{Name, Names};

use super::{
    Alias, ClassNode, Expr, ExprId, ExprKind, FunctionNode, Keyword, List, Parameter, Stmt, StmtId,
    StmtKind, Tree,
};

impl Tree {
    /// Copies everything of a tree, whose names are those of `from` and whose text stands `bytes` and `lines` further
    /// down here; says how far its statements' lists have moved.
    pub(crate) fn graft(
        &mut self,
        other: &Self,
        from: &Names,
        to: &mut Names,
        (bytes, lines): (u32, u32),
    ) -> u32 {
        let moved = Moved {
            names: from.entered_into(to),
            exprs: self.exprs.len() as u32,
            stmts: self.stmts.len() as u32,
            expr_lists: self.expr_lists.len() as u32,
            stmt_lists: self.stmt_lists.len() as u32,
            keywords: self.keywords.len() as u32,
            compares: self.compares.len() as u32,
            aliases: self.aliases.len() as u32,
            parameters: self.parameters.len() as u32,
            functions: self.functions.len() as u32,
            classes: self.classes.len() as u32,
            bytes,
            lines,
        };
        let exprs = other.exprs.iter().map(|expr| moved.expression(*expr));
        self.exprs.extend(exprs);
        let stmts = other.stmts.iter().map(|stmt| moved.statement(*stmt));
        self.stmts.extend(stmts);
        let ids = other.expr_lists.iter().map(|id| moved.expr(*id));
        self.expr_lists.extend(ids);
        let ids = other.stmt_lists.iter();
        self.stmt_lists
            .extend(ids.map(|id| StmtId(id.0 + moved.stmts)));
        let keywords = other.keywords.iter().map(|keyword| Keyword {
            name: keyword.name.map(|name| moved.name(name)),
            value: moved.expr(keyword.value),
        });
        self.keywords.extend(keywords);
        self.compares.extend_from_slice(&other.compares);
        let aliases = other.aliases.iter().map(|alias| Alias {
            name: moved.name(alias.name),
            bound: alias.bound.map(|name| moved.name(name)),
        });
        self.aliases.extend(aliases);
        let parameters = other.parameters.iter().map(|parameter| Parameter {
            name: moved.name(parameter.name),
            annotation: parameter.annotation.map(|id| moved.expr(id)),
            default: parameter.default.map(|id| moved.expr(id)),
            start: parameter.start + bytes,
            end: parameter.end + bytes,
        });
        self.parameters.extend(parameters);
        let functions = other.functions.iter().map(|node| moved.function(*node));
        self.functions.extend(functions);
        let classes = other.classes.iter().map(|node| ClassNode {
            name: moved.name(node.name),
            decorators: moved.exprs_in(node.decorators),
            bases: moved.exprs_in(node.bases),
            has_keywords: node.has_keywords,
            body: moved.stmts_in(node.body),
        });
        self.classes.extend(classes);
        moved.stmt_lists
    }
}

/// Where the copies stand.
struct Moved {
    /// By the positions of the other tree's names.
    names: Vec<Name>,
    exprs: u32,
    stmts: u32,
    expr_lists: u32,
    stmt_lists: u32,
    keywords: u32,
    compares: u32,
    aliases: u32,
    parameters: u32,
    functions: u32,
    classes: u32,
    bytes: u32,
    lines: u32,
}

fn shifted(list: List, by: u32) -> List {
    List {
        start: list.start + by,
        len: list.len,
    }
}

impl Moved {
    fn name(&self, name: Name) -> Name {
        self.names[name.index()]
    }

    fn expr(&self, id: ExprId) -> ExprId {
        ExprId(id.0 + self.exprs)
    }

    fn exprs_in(&self, list: List) -> List {
        shifted(list, self.expr_lists)
    }

    fn stmts_in(&self, list: List) -> List {
        shifted(list, self.stmt_lists)
    }

    fn span(&self, (start, end): (u32, u32)) -> (u32, u32) {
        (start + self.bytes, end + self.bytes)
    }

    fn expression(&self, expr: Expr) -> Expr {
        let kind = match expr.kind {
            ExprKind::Name(name) => ExprKind::Name(self.name(name)),
            ExprKind::Attribute(of, name) => ExprKind::Attribute(self.expr(of), self.name(name)),
            ExprKind::Str(text) => ExprKind::Str(self.name(text)),
            ExprKind::Unary(op, of) => ExprKind::Unary(op, self.expr(of)),
            ExprKind::Binary(op, left, right) => {
                ExprKind::Binary(op, self.expr(left), self.expr(right))
            }
            ExprKind::Compare(operands, first) => {
                ExprKind::Compare(self.exprs_in(operands), first + self.compares)
            }
            ExprKind::BoolOp { and, values } => ExprKind::BoolOp {
                and,
                values: self.exprs_in(values),
            },
            ExprKind::IfElse { test, body, orelse } => ExprKind::IfElse {
                test: self.expr(test),
                body: self.expr(body),
                orelse: self.expr(orelse),
            },
            ExprKind::Call {
                func,
                args,
                keywords,
            } => ExprKind::Call {
                func: self.expr(func),
                args: self.exprs_in(args),
                keywords: shifted(keywords, self.keywords),
            },
            ExprKind::Subscript(of, index) => ExprKind::Subscript(self.expr(of), self.expr(index)),
            ExprKind::Slice(parts) => {
                ExprKind::Slice(parts.map(|part| part.map(|id| self.expr(id))))
            }
            ExprKind::Tuple(list) => ExprKind::Tuple(self.exprs_in(list)),
            ExprKind::ListDisplay(list) => ExprKind::ListDisplay(self.exprs_in(list)),
            ExprKind::SetDisplay(list) => ExprKind::SetDisplay(self.exprs_in(list)),
            ExprKind::Dict(list) => ExprKind::Dict(self.exprs_in(list)),
            ExprKind::Comprehension { kind, parts } => ExprKind::Comprehension {
                kind,
                parts: self.exprs_in(parts),
            },
            ExprKind::Formatted(list) => ExprKind::Formatted(self.exprs_in(list)),
            ExprKind::Starred(of) => ExprKind::Starred(self.expr(of)),
            plain @ (ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            | ExprKind::Unsupported(_)) => plain,
        };
        Expr {
            kind,
            line: expr.line + self.lines,
            start: expr.start + self.bytes,
            end: expr.end + self.bytes,
        }
    }

    fn statement(&self, stmt: Stmt) -> Stmt {
        let kind = match stmt.kind {
            StmtKind::Expr(of) => StmtKind::Expr(self.expr(of)),
            StmtKind::Assign { targets, value } => StmtKind::Assign {
                targets: self.exprs_in(targets),
                value: self.expr(value),
            },
            StmtKind::AugAssign { target, op, value } => StmtKind::AugAssign {
                target: self.expr(target),
                op,
                value: self.expr(value),
            },
            StmtKind::If { test, body, orelse } => StmtKind::If {
                test: self.expr(test),
                body: self.stmts_in(body),
                orelse: self.stmts_in(orelse),
            },
            StmtKind::For { target, iter, body } => StmtKind::For {
                target: self.expr(target),
                iter: self.expr(iter),
                body: self.stmts_in(body),
            },
            StmtKind::While { test, body } => StmtKind::While {
                test: self.expr(test),
                body: self.stmts_in(body),
            },
            StmtKind::Return(value) => StmtKind::Return(value.map(|id| self.expr(id))),
            StmtKind::Assert(test) => StmtKind::Assert(self.expr(test)),
            StmtKind::AnnAssign {
                target,
                annotation,
                value,
            } => StmtKind::AnnAssign {
                target: self.expr(target),
                annotation: self.expr(annotation),
                value: value.map(|id| self.expr(id)),
            },
            StmtKind::Import(aliases) => StmtKind::Import(shifted(aliases, self.aliases)),
            StmtKind::ImportFrom {
                module,
                level,
                aliases,
            } => StmtKind::ImportFrom {
                module: module.map(|name| self.name(name)),
                level,
                aliases: shifted(aliases, self.aliases),
            },
            StmtKind::Block { what, body } => StmtKind::Block {
                what,
                body: self.stmts_in(body),
            },
            StmtKind::Delete(list) => StmtKind::Delete(self.exprs_in(list)),
            StmtKind::Global(list) => StmtKind::Global(self.exprs_in(list)),
            StmtKind::Function(at) => StmtKind::Function(at + self.functions),
            StmtKind::Class(at) => StmtKind::Class(at + self.classes),
            plain @ (StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Pass
            | StmtKind::Unsupported(_)) => plain,
        };
        Stmt {
            kind,
            line: stmt.line + self.lines,
            start: stmt.start + self.bytes,
            end: stmt.end + self.bytes,
        }
    }

    fn function(&self, node: FunctionNode) -> FunctionNode {
        FunctionNode {
            name: self.name(node.name),
            name_span: self.span(node.name_span),
            decorators: self.exprs_in(node.decorators),
            decorator_span: match node.decorators.len {
                0 => node.decorator_span,
                _ => self.span(node.decorator_span),
            },
            parameters: shifted(node.parameters, self.parameters),
            parameters_span: self.span(node.parameters_span),
            plain: node.plain,
            returns: node.returns.map(|id| self.expr(id)),
            body: self.stmts_in(node.body),
            is_async: node.is_async,
        }
    }
}
