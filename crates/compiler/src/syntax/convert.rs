//! From the parser's tree to ours.

use ruff_python_ast as ast;
use ruff_text_size::{Ranged, TextRange};

use super::{
    Alias, BinaryOp, ClassNode, CompareOp, ComprehensionKind, Expr, ExprId, ExprKind, FunctionNode,
    Keyword, List, Parameter, SourceText, Stmt, StmtId, StmtKind, Tree, UnaryOp,
};
use warpsmith_ir::Comparison;
use warpsmith_ir::names::Names;

/// Copies nodes into a [`Tree`].
pub(crate) struct Converter<'a> {
    pub(crate) tree: &'a mut Tree,
    pub(crate) names: &'a mut Names,
    pub(crate) source: &'a SourceText,
    pub(crate) text: &'a str,
    /// How deep the node at hand is nested.
    pub(crate) depth: u32,
}

/// Deeper nodes are refused; whoever walks the tree may recurse.
const MAX_DEPTH: u32 = 120;

impl Converter<'_> {
    /// Converts a module.
    pub(crate) fn module(&mut self, body: &[ast::Stmt]) -> List {
        self.suite_here(body)
    }

    /// Converts a suite.
    fn suite(&mut self, body: &[ast::Stmt]) -> List {
        self.depth += 1;
        let list = self.suite_here(body);
        self.depth -= 1;
        list
    }

    fn suite_here(&mut self, body: &[ast::Stmt]) -> List {
        let ids: Vec<StmtId> = body.iter().map(|stmt| self.stmt(stmt)).collect();
        self.tree.push_stmts(&ids)
    }

    fn stmt(&mut self, stmt: &ast::Stmt) -> StmtId {
        let kind = match stmt {
            _ if self.depth > MAX_DEPTH => StmtKind::Unsupported("a statement nested this deeply"),
            ast::Stmt::Expr(node) => StmtKind::Expr(self.expr(&node.value)),
            ast::Stmt::Assign(node) => {
                let targets = self.exprs(node.targets.iter());
                StmtKind::Assign {
                    targets,
                    value: self.expr(&node.value),
                }
            }
            ast::Stmt::AugAssign(node) => StmtKind::AugAssign {
                target: self.expr(&node.target),
                op: binary(node.op),
                value: self.expr(&node.value),
            },
            ast::Stmt::If(node) => {
                let test = self.expr(&node.test);
                let body = self.suite(&node.body);
                let orelse = self.clauses(&node.elif_else_clauses);
                StmtKind::If { test, body, orelse }
            }
            ast::Stmt::For(node) if !node.is_async => StmtKind::For {
                target: self.expr(&node.target),
                iter: self.expr(&node.iter),
                body: self.suite(&node.body),
            },
            ast::Stmt::While(node) => StmtKind::While {
                test: self.expr(&node.test),
                body: self.suite(&node.body),
            },
            ast::Stmt::Return(node) => {
                StmtKind::Return(node.value.as_ref().map(|value| self.expr(value)))
            }
            ast::Stmt::Assert(node) => StmtKind::Assert(self.expr(&node.test)),
            ast::Stmt::Break(_) => StmtKind::Break,
            ast::Stmt::Continue(_) => StmtKind::Continue,
            ast::Stmt::Pass(_) => StmtKind::Pass,
            ast::Stmt::AnnAssign(node) => StmtKind::AnnAssign {
                target: self.expr(&node.target),
                annotation: self.expr(&node.annotation),
                value: node.value.as_ref().map(|value| self.expr(value)),
            },
            ast::Stmt::FunctionDef(node) => self.function(node),
            ast::Stmt::ClassDef(node) => self.class(node),
            ast::Stmt::Import(node) => StmtKind::Import(self.aliases(&node.names)),
            ast::Stmt::ImportFrom(node) => StmtKind::ImportFrom {
                module: node
                    .module
                    .as_ref()
                    .map(|name| self.names.intern(name.as_str())),
                level: node.level,
                aliases: self.aliases(&node.names),
            },
            ast::Stmt::With(node) => self.with(node),
            ast::Stmt::Try(node) => {
                let handlers = node.handlers.iter().map(|handler| match handler {
                    ast::ExceptHandler::ExceptHandler(handler) => handler.body.as_slice(),
                });
                let suites = [node.body.as_slice()].into_iter().chain(handlers);
                let suites = suites.chain([node.orelse.as_slice(), node.finalbody.as_slice()]);
                self.block("`try`", suites)
            }
            ast::Stmt::Match(node) => {
                let suites = node.cases.iter().map(|case| case.body.as_slice());
                self.block("`match`", suites)
            }
            ast::Stmt::Raise(_) => StmtKind::Unsupported("`raise`"),
            ast::Stmt::Delete(node) => StmtKind::Delete(self.exprs(node.targets.iter())),
            ast::Stmt::Global(node) => StmtKind::Global(self.identifiers(&node.names)),
            ast::Stmt::Nonlocal(_) => StmtKind::Unsupported("`nonlocal`"),
            _ => StmtKind::Unsupported("this statement"),
        };
        let range = stmt.range();
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        self.tree.push_stmt(Stmt {
            kind,
            line: self.source.line_of(start),
            start,
            end,
        })
    }

    /// A statement whose suites follow each other, as far as the names go that they bind.
    fn block<'s>(
        &mut self,
        what: &'static str,
        suites: impl Iterator<Item = &'s [ast::Stmt]>,
    ) -> StmtKind {
        self.depth += 1;
        let ids: Vec<StmtId> = suites.flatten().map(|stmt| self.stmt(stmt)).collect();
        self.depth -= 1;
        let body = self.tree.push_stmts(&ids);
        StmtKind::Block { what, body }
    }

    /// `with a as b` binds `b` to something that only Python knows.
    fn with(&mut self, node: &ast::StmtWith) -> StmtKind {
        self.depth += 1;
        let mut ids = Vec::with_capacity(node.body.len() + node.items.len());
        for target in node
            .items
            .iter()
            .filter_map(|item| item.optional_vars.as_ref())
        {
            let (start, end) = span(&**target);
            let line = self.source.line_of(start);
            let target = self.expr(target);
            let targets = self.tree.push_exprs(&[target]);
            let value = self.tree.push_expr(Expr {
                kind: ExprKind::Unsupported("`with`"),
                line,
                start,
                end,
            });
            ids.push(self.tree.push_stmt(Stmt {
                kind: StmtKind::Assign { targets, value },
                line,
                start,
                end,
            }));
        }
        ids.extend(node.body.iter().map(|stmt| self.stmt(stmt)));
        self.depth -= 1;
        StmtKind::Block {
            what: "`with`",
            body: self.tree.push_stmts(&ids),
        }
    }

    fn identifiers(&mut self, nodes: &[ast::Identifier]) -> List {
        let ids: Vec<ExprId> = nodes
            .iter()
            .map(|node| {
                let (start, end) = span(node);
                let name = self.names.intern(node.as_str());
                self.tree.push_expr(Expr {
                    kind: ExprKind::Name(name),
                    line: self.source.line_of(start),
                    start,
                    end,
                })
            })
            .collect();
        self.tree.push_exprs(&ids)
    }

    fn aliases(&mut self, nodes: &[ast::Alias]) -> List {
        let start = self.tree.aliases.len() as u32;
        for node in nodes {
            let alias = Alias {
                name: self.names.intern(node.name.as_str()),
                bound: node
                    .asname
                    .as_ref()
                    .map(|name| self.names.intern(name.as_str())),
            };
            self.tree.aliases.push(alias);
        }
        List {
            start,
            len: nodes.len() as u32,
        }
    }

    fn function(&mut self, node: &ast::StmtFunctionDef) -> StmtKind {
        let name = self.names.intern(node.name.as_str());
        let decorators = self.exprs(node.decorator_list.iter().map(|d| &d.expression));
        let mut parameters = Vec::with_capacity(node.parameters.args.len());
        for arg in &node.parameters.args {
            let (start, end) = span(arg);
            parameters.push(Parameter {
                name: self.names.intern(arg.parameter.name.as_str()),
                annotation: arg
                    .parameter
                    .annotation
                    .as_ref()
                    .map(|annotation| self.expr(annotation)),
                default: arg.default.as_ref().map(|default| self.expr(default)),
                start,
                end,
            });
        }
        // Of the others only the names count: what the function defines may not mean the module's.
        let list = &*node.parameters;
        let by_kind = list.posonlyargs.iter().chain(&list.kwonlyargs);
        let starred = [&list.vararg, &list.kwarg];
        let starred = starred.into_iter().flatten().map(|boxed| &**boxed);
        for other in by_kind.map(|given| &given.parameter).chain(starred) {
            let (start, end) = span(other);
            parameters.push(Parameter {
                name: self.names.intern(other.name.as_str()),
                annotation: None,
                default: None,
                start,
                end,
            });
        }
        let list = List {
            start: self.tree.parameters.len() as u32,
            len: parameters.len() as u32,
        };
        self.tree.parameters.append(&mut parameters);
        let returns = node.returns.as_ref().map(|returns| self.expr(returns));
        let body = self.suite(&node.body);
        self.tree.functions.push(FunctionNode {
            name,
            name_span: span(&node.name),
            decorators,
            decorator_span: node.decorator_list.first().map_or((0, 0), span),
            parameters: list,
            parameters_span: span(&*node.parameters),
            plain: node.parameters.vararg.is_none()
                && node.parameters.kwarg.is_none()
                && node.parameters.posonlyargs.is_empty()
                && node.parameters.kwonlyargs.is_empty(),
            returns,
            body,
            is_async: node.is_async,
        });
        StmtKind::Function(self.tree.functions.len() as u32 - 1)
    }

    fn class(&mut self, node: &ast::StmtClassDef) -> StmtKind {
        let name = self.names.intern(node.name.as_str());
        let decorators = self.exprs(node.decorator_list.iter().map(|d| &d.expression));
        let bases = match &node.arguments {
            Some(arguments) => self.exprs(arguments.args.iter()),
            None => self.exprs(std::iter::empty()),
        };
        let body = self.suite(&node.body);
        self.tree.classes.push(ClassNode {
            name,
            decorators,
            bases,
            has_keywords: node
                .arguments
                .as_ref()
                .is_some_and(|arguments| !arguments.keywords.is_empty()),
            body,
        });
        StmtKind::Class(self.tree.classes.len() as u32 - 1)
    }

    /// `elif` chains nest, as Python's own tree has them.
    fn clauses(&mut self, clauses: &[ast::ElifElseClause]) -> List {
        let Some((first, rest)) = clauses.split_first() else {
            return List { start: 0, len: 0 };
        };
        let Some(test) = &first.test else {
            return self.suite(&first.body);
        };
        if self.depth > MAX_DEPTH {
            let (start, end) = (first.range.start().to_u32(), first.range.end().to_u32());
            let kind = StmtKind::Unsupported("an `elif` chain this long");
            let line = self.source.line_of(start);
            let id = self.tree.push_stmt(Stmt {
                kind,
                line,
                start,
                end,
            });
            return self.tree.push_stmts(&[id]);
        }
        let test = self.expr(test);
        let body = self.suite(&first.body);
        self.depth += 1;
        let orelse = self.clauses(rest);
        self.depth -= 1;
        let (start, end) = (first.range.start().to_u32(), first.range.end().to_u32());
        let id = self.tree.push_stmt(Stmt {
            kind: StmtKind::If { test, body, orelse },
            line: self.source.line_of(start),
            start,
            end,
        });
        self.tree.push_stmts(&[id])
    }

    fn exprs<'e>(&mut self, nodes: impl Iterator<Item = &'e ast::Expr>) -> List {
        let ids: Vec<ExprId> = nodes.map(|node| self.expr(node)).collect();
        self.tree.push_exprs(&ids)
    }

    /// Converts an expression.
    fn expr(&mut self, expr: &ast::Expr) -> ExprId {
        self.depth += 1;
        let id = self.expr_here(expr);
        self.depth -= 1;
        id
    }

    fn expr_here(&mut self, expr: &ast::Expr) -> ExprId {
        let kind = match expr {
            _ if self.depth > MAX_DEPTH => {
                ExprKind::Unsupported("an expression nested this deeply")
            }
            ast::Expr::Name(node) => ExprKind::Name(self.names.intern(node.id.as_str())),
            ast::Expr::Attribute(node) => {
                let value = self.expr(&node.value);
                ExprKind::Attribute(value, self.names.intern(node.attr.as_str()))
            }
            ast::Expr::NumberLiteral(node) => match &node.value {
                ast::Number::Int(value) => match self.int(value, expr) {
                    Some(value) => ExprKind::Int(value),
                    None => ExprKind::Unsupported("an integer of more than 128 bits"),
                },
                ast::Number::Float(value) => ExprKind::Float(*value),
                ast::Number::Complex { .. } => ExprKind::Unsupported("a complex number"),
            },
            ast::Expr::BooleanLiteral(node) => ExprKind::Bool(node.value),
            ast::Expr::NoneLiteral(_) => ExprKind::None,
            ast::Expr::StringLiteral(node) => ExprKind::Str(self.names.intern(node.value.to_str())),
            ast::Expr::UnaryOp(node) => {
                let operand = self.expr(&node.operand);
                ExprKind::Unary(
                    match node.op {
                        ast::UnaryOp::USub => UnaryOp::Minus,
                        ast::UnaryOp::UAdd => UnaryOp::Plus,
                        ast::UnaryOp::Not => UnaryOp::Not,
                        ast::UnaryOp::Invert => UnaryOp::Invert,
                    },
                    operand,
                )
            }
            ast::Expr::BinOp(node) => {
                let left = self.expr(&node.left);
                let right = self.expr(&node.right);
                ExprKind::Binary(binary(node.op), left, right)
            }
            ast::Expr::Compare(node) => {
                let operands =
                    self.exprs(std::iter::once(&*node.left).chain(node.comparators.iter()));
                let first = self.tree.compares.len() as u32;
                self.tree
                    .compares
                    .extend(node.ops.iter().copied().map(compare));
                ExprKind::Compare(operands, first)
            }
            ast::Expr::BoolOp(node) => {
                let values = self.exprs(node.values.iter());
                ExprKind::BoolOp {
                    and: node.op == ast::BoolOp::And,
                    values,
                }
            }
            ast::Expr::If(node) => ExprKind::IfElse {
                test: self.expr(&node.test),
                body: self.expr(&node.body),
                orelse: self.expr(&node.orelse),
            },
            ast::Expr::Call(node) => {
                let func = self.expr(&node.func);
                let args = self.exprs(node.arguments.args.iter());
                let keywords: Vec<Keyword> = node
                    .arguments
                    .keywords
                    .iter()
                    .map(|keyword| Keyword {
                        name: keyword
                            .arg
                            .as_ref()
                            .map(|name| self.names.intern(name.as_str())),
                        value: self.expr(&keyword.value),
                    })
                    .collect();
                let start = self.tree.keywords.len() as u32;
                let len = keywords.len() as u32;
                self.tree.keywords.extend(keywords);
                ExprKind::Call {
                    func,
                    args,
                    keywords: List { start, len },
                }
            }
            ast::Expr::Subscript(node) => {
                let value = self.expr(&node.value);
                ExprKind::Subscript(value, self.expr(&node.slice))
            }
            ast::Expr::Slice(node) => ExprKind::Slice(
                [&node.lower, &node.upper, &node.step]
                    .map(|part| part.as_ref().map(|part| self.expr(part))),
            ),
            ast::Expr::Tuple(node) => ExprKind::Tuple(self.exprs(node.elts.iter())),
            ast::Expr::List(node) => ExprKind::ListDisplay(self.exprs(node.elts.iter())),
            ast::Expr::Dict(node) => self.dict(node),
            ast::Expr::Starred(node) => ExprKind::Starred(self.expr(&node.value)),
            ast::Expr::Lambda(_) => ExprKind::Unsupported("a lambda"),
            ast::Expr::Named(_) => ExprKind::Unsupported("`:=`"),
            ast::Expr::Set(node) => ExprKind::SetDisplay(self.exprs(node.elts.iter())),
            ast::Expr::ListComp(node) => {
                let element = self.expr(&node.elt);
                self.comprehension(ComprehensionKind::List, element, &node.generators)
            }
            ast::Expr::SetComp(node) => {
                let element = self.expr(&node.elt);
                self.comprehension(ComprehensionKind::Set, element, &node.generators)
            }
            ast::Expr::Generator(node) => {
                let element = self.expr(&node.elt);
                self.comprehension(ComprehensionKind::Generator, element, &node.generators)
            }
            ast::Expr::DictComp(node) if let Some(key) = &node.key => {
                let (key, value) = (self.expr(key), self.expr(&node.value));
                let mut pair = self.tree.expr(value);
                pair.kind = ExprKind::Dict(self.tree.push_exprs(&[key, value]));
                let pair = self.tree.push_expr(pair);
                self.comprehension(ComprehensionKind::Dict, pair, &node.generators)
            }
            ast::Expr::FString(node) => self.f_string(&node.value),
            ast::Expr::TString(_) => ExprKind::Unsupported("a t-string"),
            ast::Expr::BytesLiteral(_) => ExprKind::Unsupported("a bytes literal"),
            ast::Expr::EllipsisLiteral(_) => ExprKind::Unsupported("`...`"),
            _ => ExprKind::Unsupported("this expression"),
        };
        let range = expr.range();
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        self.tree.push_expr(Expr {
            kind,
            line: self.source.line_of(start),
            start,
            end,
        })
    }

    fn comprehension(
        &mut self,
        kind: ComprehensionKind,
        element: ExprId,
        clauses: &[ast::Comprehension],
    ) -> ExprKind {
        let mut parts = vec![element];
        for clause in clauses {
            if clause.is_async {
                return ExprKind::Unsupported("an asynchronous comprehension");
            }
            let (target, iter) = (self.expr(&clause.target), self.expr(&clause.iter));
            let mut conditions = self.tree.expr(target);
            conditions.kind = ExprKind::Tuple(self.exprs(clause.ifs.iter()));
            parts.extend([target, iter, self.tree.push_expr(conditions)]);
        }
        let parts = self.tree.push_exprs(&parts);
        ExprKind::Comprehension { kind, parts }
    }

    fn dict(&mut self, node: &ast::ExprDict) -> ExprKind {
        let mut parts = Vec::with_capacity(node.items.len() * 2);
        for item in &node.items {
            let value = self.expr(&item.value);
            if let Some(key) = &item.key {
                parts.extend([self.expr(key), value]);
                continue;
            }
            let mut starred = self.tree.expr(value);
            starred.kind = ExprKind::Starred(value);
            let starred = self.tree.push_expr(starred);
            parts.extend([starred, starred]);
        }
        ExprKind::Dict(self.tree.push_exprs(&parts))
    }

    /// The texts and values of an f-string whose values are shown as `str` shows them.
    fn f_string(&mut self, value: &ast::FStringValue) -> ExprKind {
        let mut parts = Vec::new();
        for part in value.iter() {
            let string = match part {
                ast::FStringPart::Literal(text) => {
                    parts.push(self.text_of(&text.value, text.range()));
                    continue;
                }
                ast::FStringPart::FString(string) => string,
            };
            for element in &string.elements {
                parts.push(match element {
                    ast::InterpolatedStringElement::Literal(text) => {
                        self.text_of(&text.value, text.range())
                    }
                    ast::InterpolatedStringElement::Interpolation(node)
                        if node.debug_text.is_none()
                            && node.format_spec.is_none()
                            && node.conversion == ast::ConversionFlag::None =>
                    {
                        self.expr(&node.expression)
                    }
                    ast::InterpolatedStringElement::Interpolation(_) => {
                        return ExprKind::Unsupported("an f-string with a format");
                    }
                });
            }
        }
        ExprKind::Formatted(self.tree.push_exprs(&parts))
    }

    fn text_of(&mut self, text: &str, range: TextRange) -> ExprId {
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        let kind = ExprKind::Str(self.names.intern(text));
        self.tree.push_expr(Expr {
            kind,
            line: self.source.line_of(start),
            start,
            end,
        })
    }

    /// The parser keeps integers above 64 bits as text; those up to 128 bits are read here.
    fn int(&self, value: &ast::Int, expr: &ast::Expr) -> Option<i128> {
        if let Some(value) = value.as_u64() {
            return Some(i128::from(value));
        }
        let range = expr.range();
        let digits: String = self.text[range.start().to_usize()..range.end().to_usize()]
            .chars()
            .filter(|c| *c != '_')
            .collect();
        let digits = digits.to_ascii_lowercase();
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
            if let Some(rest) = digits.strip_prefix(prefix) {
                return i128::from_str_radix(rest, radix).ok();
            }
        }
        digits.parse().ok()
    }
}

fn span(node: &impl Ranged) -> (u32, u32) {
    let range = node.range();
    (range.start().to_u32(), range.end().to_u32())
}

fn binary(op: ast::Operator) -> BinaryOp {
    match op {
        ast::Operator::Add => BinaryOp::Add,
        ast::Operator::Sub => BinaryOp::Sub,
        ast::Operator::Mult => BinaryOp::Mul,
        ast::Operator::MatMult => BinaryOp::MatMul,
        ast::Operator::Div => BinaryOp::Div,
        ast::Operator::FloorDiv => BinaryOp::FloorDiv,
        ast::Operator::Mod => BinaryOp::Mod,
        ast::Operator::Pow => BinaryOp::Pow,
        ast::Operator::BitAnd => BinaryOp::BitAnd,
        ast::Operator::BitOr => BinaryOp::BitOr,
        ast::Operator::BitXor => BinaryOp::BitXor,
        ast::Operator::LShift => BinaryOp::ShiftLeft,
        ast::Operator::RShift => BinaryOp::ShiftRight,
    }
}

fn compare(op: ast::CmpOp) -> CompareOp {
    match op {
        ast::CmpOp::Eq => CompareOp::Known(Comparison::Equal),
        ast::CmpOp::NotEq => CompareOp::Known(Comparison::NotEqual),
        ast::CmpOp::Lt => CompareOp::Known(Comparison::Less),
        ast::CmpOp::LtE => CompareOp::Known(Comparison::LessEqual),
        ast::CmpOp::Gt => CompareOp::Known(Comparison::Greater),
        ast::CmpOp::GtE => CompareOp::Known(Comparison::GreaterEqual),
        ast::CmpOp::Is => CompareOp::Unsupported("`is`"),
        ast::CmpOp::IsNot => CompareOp::Unsupported("`is not`"),
        ast::CmpOp::In => CompareOp::Unsupported("`in`"),
        ast::CmpOp::NotIn => CompareOp::Unsupported("`not in`"),
    }
}
