//! The quick parser against the full one: where it does not give up, both trees are the same.

use proptest::prelude::*;
use ruff_python_parser::parse_module;

use super::{Scratch, parse};
use crate::syntax::convert::Converter;
use crate::syntax::{ExprId, ExprKind, List, SourceText, StmtId, StmtKind, Tree};
use warpsmith_ir::names::Names;

/// Writes a tree out, ids resolved and places included.
struct Outline<'a> {
    tree: &'a Tree,
    names: &'a Names,
    out: String,
}

impl Outline<'_> {
    fn word(&mut self, text: impl std::fmt::Display) {
        self.out.push_str(&format!("{text} "));
    }

    fn exprs(&mut self, list: List) {
        self.word(format_args!("[{}", list.len));
        for id in self.tree.exprs_in(list) {
            self.expr(*id);
        }
        self.word("]");
    }

    fn optional(&mut self, id: Option<ExprId>) {
        match id {
            Some(id) => self.expr(id),
            None => self.word("-"),
        }
    }

    fn expr(&mut self, id: ExprId) {
        let node = self.tree.expr(id);
        self.word(format_args!("@{}:{}..{}", node.line, node.start, node.end));
        match node.kind {
            ExprKind::Name(name) | ExprKind::Str(name) => {
                self.word(format_args!("name {:?}", self.names.get(name)));
            }
            ExprKind::Attribute(value, name) => {
                self.expr(value);
                self.word(format_args!(".{}", self.names.get(name)));
            }
            ExprKind::Unary(op, operand) => {
                self.word(format_args!("{op:?}"));
                self.expr(operand);
            }
            ExprKind::Binary(op, left, right) => {
                self.word(format_args!("{op:?}"));
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Compare(operands, first) => {
                self.exprs(operands);
                for at in 1..operands.len {
                    let op = self.tree.compares[(first + at - 1) as usize];
                    self.word(format_args!("{op:?}"));
                }
            }
            ExprKind::BoolOp { and, values } => {
                self.word(and);
                self.exprs(values);
            }
            ExprKind::IfElse { test, body, orelse } => {
                for part in [test, body, orelse] {
                    self.expr(part);
                }
            }
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                self.word("call");
                self.expr(func);
                self.exprs(args);
                for keyword in self.tree.keywords_in(keywords) {
                    let name = keyword.name.map_or("**", |name| self.names.get(name));
                    self.word(name);
                    self.expr(keyword.value);
                }
            }
            ExprKind::Subscript(value, index) => {
                self.word("sub");
                self.expr(value);
                self.expr(index);
            }
            ExprKind::Slice(parts) => {
                self.word("slice");
                for part in parts {
                    self.optional(part);
                }
            }
            ExprKind::Tuple(list)
            | ExprKind::ListDisplay(list)
            | ExprKind::SetDisplay(list)
            | ExprKind::Dict(list)
            | ExprKind::Formatted(list) => {
                let kind = format!("{:?}", node.kind);
                self.word(kind.split('(').next().unwrap_or(""));
                self.exprs(list);
            }
            ExprKind::Comprehension { kind, parts } => {
                self.word(format_args!("{kind:?} comprehension"));
                self.exprs(parts);
            }
            ExprKind::Starred(value) => {
                self.word("*");
                self.expr(value);
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            | ExprKind::Unsupported(_) => self.word(format_args!("{:?}", node.kind)),
        }
    }

    fn suite(&mut self, list: List) {
        self.word(format_args!("{{{}", list.len));
        for id in self.tree.stmts_in(list) {
            self.stmt(*id);
        }
        self.word("}\n");
    }

    fn stmt(&mut self, id: StmtId) {
        let node = self.tree.stmt(id);
        self.word(format_args!("\n#{}:{}", node.line, node.start));
        match node.kind {
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Assign { targets, value } => {
                self.word("=");
                self.exprs(targets);
                self.expr(value);
            }
            StmtKind::AugAssign { target, op, value } => {
                self.word(format_args!("{op:?}="));
                self.expr(target);
                self.expr(value);
            }
            StmtKind::If { test, body, orelse } => {
                self.word("if");
                self.expr(test);
                self.suite(body);
                self.suite(orelse);
            }
            StmtKind::For { target, iter, body } => {
                self.word("for");
                self.expr(target);
                self.expr(iter);
                self.suite(body);
            }
            StmtKind::While { test, body } => {
                self.word("while");
                self.expr(test);
                self.suite(body);
            }
            StmtKind::Return(value) => {
                self.word("return");
                self.optional(value);
            }
            StmtKind::Assert(test) => {
                self.word("assert");
                self.expr(test);
            }
            StmtKind::AnnAssign {
                target,
                annotation,
                value,
            } => {
                self.word("annotated");
                self.expr(target);
                self.expr(annotation);
                self.optional(value);
            }
            StmtKind::Import(aliases) | StmtKind::ImportFrom { aliases, .. } => {
                if let StmtKind::ImportFrom {
                    module: Some(module),
                    ..
                } = node.kind
                {
                    self.word(format_args!("from {}", self.names.get(module)));
                }
                for alias in &self.tree.aliases[aliases.start as usize..][..aliases.len as usize] {
                    let bound = alias.bound.map_or("-", |name| self.names.get(name));
                    self.word(format_args!("{} as {bound}", self.names.get(alias.name)));
                }
            }
            StmtKind::Block { what, body } => {
                self.word(what);
                self.suite(body);
            }
            StmtKind::Delete(list) | StmtKind::Global(list) => self.exprs(list),
            StmtKind::Function(index) => self.function(index),
            StmtKind::Class(index) => {
                let node = self.tree.classes[index as usize];
                self.word(format_args!("class {}", self.names.get(node.name)));
                self.exprs(node.decorators);
                self.exprs(node.bases);
                self.word(node.has_keywords);
                self.suite(node.body);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Pass | StmtKind::Unsupported(_) => {
                self.word(format_args!("{:?} {}", node.kind, node.end));
            }
        }
    }

    fn function(&mut self, index: u32) {
        let node = self.tree.functions[index as usize];
        self.word(format_args!(
            "def {} {:?} {:?} {:?} {} {}",
            self.names.get(node.name),
            node.name_span,
            node.decorator_span,
            node.parameters_span,
            node.plain,
            node.is_async
        ));
        self.exprs(node.decorators);
        let list = node.parameters;
        for parameter in &self.tree.parameters[list.start as usize..][..list.len as usize] {
            self.word(format_args!(
                "{} {}..{}",
                self.names.get(parameter.name),
                parameter.start,
                parameter.end
            ));
            self.optional(parameter.annotation);
            self.optional(parameter.default);
        }
        self.optional(node.returns);
        self.suite(node.body);
    }
}

pub(in crate::syntax) fn outline(tree: &Tree, names: &Names, body: List) -> String {
    let mut outline = Outline {
        tree,
        names,
        out: String::new(),
    };
    outline.suite(body);
    outline.out
}

/// The outline by the quick parser, where it reads the text, which must then be the full parser's.
fn compare(text: &str) -> Option<String> {
    let mut names = Names::new();
    let mut tree = Tree::default();
    let body = parse(text, &mut tree, &mut names, &mut Scratch::default())?;
    let quick = outline(&tree, &names, body);
    let parsed = parse_module(text)
        .unwrap_or_else(|error| panic!("only the quick parser reads {text:?}: {error}"));
    let mut tree = Tree::default();
    let mut source = SourceText::default();
    source.index(text);
    let body = Converter {
        tree: &mut tree,
        names: &mut names,
        source: &source,
        text,
        depth: 0,
    }
    .module(parsed.suite());
    assert_eq!(quick, outline(&tree, &names, body), "{text}");
    Some(quick)
}

#[test]
fn plain_sources_are_read_as_the_full_parser_reads_them() {
    for text in [
        "",
        "\n\n# nothing\n",
        "x = 1",
        "import warp as wp\nimport a.b.c, math\nfrom typing import Any as T, Dict\nfrom a.b import (c,\n  d,)\n",
        "x = (1 + 2) * -3 ** -2 @ y // 4 % 5 << 1 | 2 & ~3 ^ 4\n",
        "a, b = c, (d, e), ()\na = b = (c,)\n(a) = 1\na[1:2, ::3, :, x:] = [1, 2,]\n",
        "x = a if b and not c or d else e < f <= g != h\n",
        "x += 1\nx.y -= 2\nx[i] @= 3\nx: int\ny: float = 2.5e-3\nz //= 1; \n"
            .replace("; ", "")
            .as_str(),
        "f(a, *b, c=1, d = 2,)(3)[4].e\nf(\n  a,  # one\n  b\n)\n",
        "x = 'a' \ny = \"b\"\nz = '''c\nd'''\nw = 0x1F + 1. + .5 + 1e3 + 0\n",
        "d = {1: 2, 'a': b,}\ne = {}\n",
        "@wp.kernel\ndef f(x: int, y: wp.array(dtype=float) = 3) -> None:\n    '''doc'''\n    return\n",
        "@a\n@b(c=1)\ndef f():\n  if x: pass\n  elif y:\n    return 1, 2\n  else:\n    for i in range(3):\n      break\n    else:\n      pass\n    while x < 3:\n      continue\n\n# end\n",
        "@wp.struct\nclass A:\n    x: int\n    y: wp.vec3\n\nclass B(A, k=1):\n    pass\n",
        "def f(a):\n    import b\n    @c\n    def g(d: int, e=1):\n        return a\n    class H:\n        def i(self): pass\n    return g\n",
        "def f():\n    assert x == 1, 'message'\n    return (a\n            + b)\n        # odd comment\n    x = 1\n",
    ] {
        assert!(compare(text).is_some(), "gives up on {text:?}");
    }
}

#[test]
fn the_kernel_files_are_read_without_the_full_parser() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let mut read = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        read += u32::from(compare(&text).is_some());
    }
    assert!(read >= 20, "only {read}");
}

#[test]
fn everything_out_of_the_ordinary_is_left_to_the_full_parser() {
    for text in [
        "x = 1\ty",
        "x = 'é'",
        "x = a \\\n + b\n",
        "x = lambda: 1\n",
        "x = [a for a in b]\n",
        "x = f'{a}'\n",
        "x = 'a' 'b'\n",
        "x = 1_000\n",
        "x = 3j\n",
        "x = a is b\n",
        "f() = 1\n",
        "x = (1\n",
        "  x = 1\n",
        "if a:\nb\n",
        "f(a=1, b)\n",
        "def f(a, a): pass\n",
        "def f(*, a): pass\n",
        "match x:\n  case 1: pass\n",
        "x = 1; y = 2\n",
        "with a: pass\n",
        "x = y := 1\n",
        "for a, b in c: pass\n",
    ] {
        assert!(compare(text).is_none(), "{text:?}");
    }
}

#[test]
fn a_chain_is_left_to_the_full_parser_before_it_gets_deep() {
    for link in [" + 1", ".b", "[0]", "(1)", " ** 1"] {
        let text = format!("x = a{}\n", link.repeat(200));
        assert!(compare(&text).is_none(), "{link}");
    }
}

proptest! {
    #[test]
    fn arbitrary_token_strings_are_never_read_differently(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b.c", "1", "2.5", "'s'", "(", ")", "[", "]", "{", "}", ",", ":", "=", "==", "<", "+",
                "-", "*", "**", "//", "@", "~", "not", "and", "or", "if", "else", "in", "for", "def f",
                "return", "\n", "\n    ", "\n  ", "# c\n", "class A", "pass", "x = ", "while", "elif",
                "True", "None", "->", "+=", ".", "\"\"\"", "f(", "a[", "import a", "assert",
            ]),
            0..24,
        ),
        spaces in any::<u32>(),
    ) {
        let mut text = String::new();
        for (at, token) in tokens.iter().enumerate() {
            text.push_str(token);
            if spaces >> (at % 32) & 1 == 1 {
                text.push(' ');
            }
        }
        compare(&text);
    }
}
