//! The nodes.

use warpsmith_ir::names::Name;

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExprId(pub(crate) u32);

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StmtId(pub(crate) u32);

/// A run of ids in one of the tree's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Minus,
    Plus,
    Not,
    Invert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    MatMul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl BinaryOp {
    /// All operators, in order.
    pub(crate) const ALL: [Self; 13] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::MatMul,
        Self::Div,
        Self::FloorDiv,
        Self::Mod,
        Self::Pow,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::ShiftLeft,
        Self::ShiftRight,
    ];

    /// The builtin that the operator calls.
    pub(crate) fn builtin(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul | Self::MatMul => "mul",
            Self::Div => "div",
            Self::FloorDiv => "floordiv",
            Self::Mod => "mod",
            Self::Pow => "pow",
            Self::BitAnd => "bit_and",
            Self::BitOr => "bit_or",
            Self::BitXor => "bit_xor",
            Self::ShiftLeft => "lshift",
            Self::ShiftRight => "rshift",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Known(warpsmith_ir::Comparison),
    /// `is`, `in` and their negations.
    Unsupported(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Name(Name),
    Attribute(ExprId, Name),
    Int(i128),
    Float(f64),
    Bool(bool),
    Str(Name),
    None,
    Unary(UnaryOp, ExprId),
    Binary(BinaryOp, ExprId, ExprId),
    /// Operands (one more than comparisons) and the first comparison in `Tree::compares`.
    Compare(List, u32),
    BoolOp {
        and: bool,
        values: List,
    },
    IfElse {
        test: ExprId,
        body: ExprId,
        orelse: ExprId,
    },
    Call {
        func: ExprId,
        args: List,
        keywords: List,
    },
    Subscript(ExprId, ExprId),
    Slice([Option<ExprId>; 3]),
    Tuple(List),
    ListDisplay(List),
    SetDisplay(List),
    /// Keys and values in turn; of `**other` a starred expression is both.
    Dict(List),
    /// What one item is, a pair of a dictionary as a display of one; then for each clause its target, what it goes
    /// over, and a tuple of its conditions.
    Comprehension {
        kind: ComprehensionKind,
        parts: List,
    },
    /// An f-string: its texts, and the values between them.
    Formatted(List),
    Starred(ExprId),
    Unsupported(&'static str),
}

/// What a comprehension makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComprehensionKind {
    List,
    Set,
    Dict,
    /// What gives its items one after the other, to whoever goes over it once.
    Generator,
}

impl ComprehensionKind {
    /// The display of what it makes.
    pub(crate) fn display(self, items: List) -> ExprKind {
        match self {
            Self::List => ExprKind::ListDisplay(items),
            Self::Generator => ExprKind::Tuple(items),
            Self::Set => ExprKind::SetDisplay(items),
            Self::Dict => ExprKind::Dict(items),
        }
    }
}

/// An expression with its place; `line` 0 means that it stands for no source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) line: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyword {
    /// `None` for `**mapping`.
    pub(crate) name: Option<Name>,
    pub(crate) value: ExprId,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum StmtKind {
    Expr(ExprId),
    Assign {
        targets: List,
        value: ExprId,
    },
    AugAssign {
        target: ExprId,
        op: BinaryOp,
        value: ExprId,
    },
    If {
        test: ExprId,
        body: List,
        orelse: List,
    },
    For {
        target: ExprId,
        iter: ExprId,
        body: List,
    },
    While {
        test: ExprId,
        body: List,
    },
    Return(Option<ExprId>),
    Assert(ExprId),
    Break,
    Continue,
    Pass,
    /// `target: annotation`, with or without a value.
    AnnAssign {
        target: ExprId,
        annotation: ExprId,
        value: Option<ExprId>,
    },
    /// `import a, b as c`: a run of `Tree::aliases`. No part of a kernel, as all that follow.
    Import(List),
    /// `from ..module import a, b as c`.
    ImportFrom {
        module: Option<Name>,
        /// How many dots come first.
        level: u32,
        aliases: List,
    },
    /// `with`, `try` and `match`: all their suites in order, and what the statement is called.
    Block {
        what: &'static str,
        body: List,
    },
    /// `del a, b`.
    Delete(List),
    /// `global a, b`.
    Global(List),
    /// Position in `Tree::functions`.
    Function(u32),
    /// Position in `Tree::classes`.
    Class(u32),
    Unsupported(&'static str),
}

/// A name that an import binds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alias {
    /// What is imported, with its dots.
    pub(crate) name: Name,
    /// The name after `as`.
    pub(crate) bound: Option<Name>,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Name,
    pub(crate) annotation: Option<ExprId>,
    pub(crate) default: Option<ExprId>,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionNode {
    pub(crate) name: Name,
    /// Where the name stands.
    pub(crate) name_span: (u32, u32),
    /// The decorators' expressions.
    pub(crate) decorators: List,
    /// From the first `@` to the end of that decorator; zeros without one.
    pub(crate) decorator_span: (u32, u32),
    /// A run of `Tree::parameters`.
    pub(crate) parameters: List,
    pub(crate) parameters_span: (u32, u32),
    /// Whether all parameters may be given by position or by name, none of them `*` or `**`.
    pub(crate) plain: bool,
    pub(crate) returns: Option<ExprId>,
    pub(crate) body: List,
    pub(crate) is_async: bool,
}

/// A class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassNode {
    pub(crate) name: Name,
    /// The decorators' expressions.
    pub(crate) decorators: List,
    /// The base classes.
    pub(crate) bases: List,
    /// Whether the class has keyword arguments.
    pub(crate) has_keywords: bool,
    pub(crate) body: List,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) line: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// How much of each kind a tree had at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    exprs: usize,
    stmts: usize,
    expr_lists: usize,
    stmt_lists: usize,
    keywords: usize,
    compares: usize,
    aliases: usize,
    parameters: usize,
    functions: usize,
    classes: usize,
}

/// The arenas.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) exprs: Vec<Expr>,
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) expr_lists: Vec<ExprId>,
    pub(crate) stmt_lists: Vec<StmtId>,
    pub(crate) keywords: Vec<Keyword>,
    pub(crate) compares: Vec<CompareOp>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) functions: Vec<FunctionNode>,
    pub(crate) classes: Vec<ClassNode>,
}

impl Tree {
    pub(crate) fn clear(&mut self) {
        self.exprs.clear();
        self.stmts.clear();
        self.expr_lists.clear();
        self.stmt_lists.clear();
        self.keywords.clear();
        self.compares.clear();
        self.aliases.clear();
        self.parameters.clear();
        self.functions.clear();
        self.classes.clear();
    }

    /// How much there is, so that what comes later can be told apart.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            exprs: self.exprs.len(),
            stmts: self.stmts.len(),
            expr_lists: self.expr_lists.len(),
            stmt_lists: self.stmt_lists.len(),
            keywords: self.keywords.len(),
            compares: self.compares.len(),
            aliases: self.aliases.len(),
            parameters: self.parameters.len(),
            functions: self.functions.len(),
            classes: self.classes.len(),
        }
    }

    /// Forgets what came after a mark.
    pub(crate) fn cut(&mut self, mark: Mark) {
        self.exprs.truncate(mark.exprs);
        self.stmts.truncate(mark.stmts);
        self.expr_lists.truncate(mark.expr_lists);
        self.stmt_lists.truncate(mark.stmt_lists);
        self.keywords.truncate(mark.keywords);
        self.compares.truncate(mark.compares);
        self.aliases.truncate(mark.aliases);
        self.parameters.truncate(mark.parameters);
        self.functions.truncate(mark.functions);
        self.classes.truncate(mark.classes);
    }

    /// Moves the places of what came after a mark, whose text stands `bytes` and `lines` further down.
    pub(crate) fn move_since(&mut self, mark: Mark, bytes: u32, lines: u32) {
        if bytes == 0 {
            return;
        }
        let shift = |(start, end): &mut (u32, u32)| {
            *start += bytes;
            *end += bytes;
        };
        for expr in &mut self.exprs[mark.exprs..] {
            expr.start += bytes;
            expr.end += bytes;
            expr.line += lines;
        }
        for stmt in &mut self.stmts[mark.stmts..] {
            stmt.start += bytes;
            stmt.end += bytes;
            stmt.line += lines;
        }
        for parameter in &mut self.parameters[mark.parameters..] {
            parameter.start += bytes;
            parameter.end += bytes;
        }
        for function in &mut self.functions[mark.functions..] {
            shift(&mut function.name_span);
            if function.decorators.len > 0 {
                shift(&mut function.decorator_span);
            }
            shift(&mut function.parameters_span);
        }
    }

    pub(crate) fn expr(&self, id: ExprId) -> Expr {
        self.exprs[id.0 as usize]
    }

    /// The expressions that one is made of, in order.
    pub(crate) fn parts(&self, id: ExprId) -> Vec<ExprId> {
        match self.expr(id).kind {
            ExprKind::Attribute(of, _) | ExprKind::Unary(_, of) | ExprKind::Starred(of) => vec![of],
            ExprKind::Binary(_, left, right) | ExprKind::Subscript(left, right) => {
                vec![left, right]
            }
            ExprKind::Compare(list, _)
            | ExprKind::BoolOp { values: list, .. }
            | ExprKind::Tuple(list)
            | ExprKind::ListDisplay(list)
            | ExprKind::SetDisplay(list)
            | ExprKind::Dict(list)
            | ExprKind::Comprehension { parts: list, .. }
            | ExprKind::Formatted(list) => self.exprs_in(list).to_vec(),
            ExprKind::IfElse { test, body, orelse } => vec![body, test, orelse],
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                let args = self.exprs_in(args).iter().copied();
                let values = self.keywords_in(keywords).iter();
                let values = values.map(|keyword| keyword.value);
                [func].into_iter().chain(args).chain(values).collect()
            }
            ExprKind::Slice(parts) => parts.into_iter().flatten().collect(),
            ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::None
            | ExprKind::Unsupported(_) => Vec::new(),
        }
    }

    pub(crate) fn stmt(&self, id: StmtId) -> Stmt {
        self.stmts[id.0 as usize]
    }

    pub(crate) fn exprs_in(&self, list: List) -> &[ExprId] {
        &self.expr_lists[list.start as usize..][..list.len as usize]
    }

    pub(crate) fn stmts_in(&self, list: List) -> &[StmtId] {
        &self.stmt_lists[list.start as usize..][..list.len as usize]
    }

    pub(crate) fn keywords_in(&self, list: List) -> &[Keyword] {
        &self.keywords[list.start as usize..][..list.len as usize]
    }

    pub(crate) fn aliases_in(&self, list: List) -> &[Alias] {
        &self.aliases[list.start as usize..][..list.len as usize]
    }

    pub(crate) fn push_expr(&mut self, expr: Expr) -> ExprId {
        self.exprs.push(expr);
        ExprId(self.exprs.len() as u32 - 1)
    }

    pub(crate) fn push_stmt(&mut self, stmt: Stmt) -> StmtId {
        self.stmts.push(stmt);
        StmtId(self.stmts.len() as u32 - 1)
    }

    pub(crate) fn push_stmts(&mut self, ids: &[StmtId]) -> List {
        let start = self.stmt_lists.len() as u32;
        self.stmt_lists.extend_from_slice(ids);
        List {
            start,
            len: ids.len() as u32,
        }
    }

    pub(crate) fn push_exprs(&mut self, ids: &[ExprId]) -> List {
        let start = self.expr_lists.len() as u32;
        self.expr_lists.extend_from_slice(ids);
        List {
            start,
            len: ids.len() as u32,
        }
    }
}
