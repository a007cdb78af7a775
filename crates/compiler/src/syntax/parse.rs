//! From a module's text to its tree.

use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;
use warpsmith_ir::names::Names;

use super::chunks::chunks;
use super::convert::Converter;
use super::limits::{MAX_BYTES, check_limits};
use super::{ExprKind, FunctionNode, List, Scratch, SourceText, StmtId, StmtKind, Tree, subset};
use crate::diagnostic::Problem;

/// Reads a module's statements into a tree, behind what is there: quickly where they are plain, else by the full
/// parser. `source` then has the lines of some text or other.
pub(crate) fn parse(
    text: &str,
    tree: &mut Tree,
    names: &mut Names,
    source: &mut SourceText,
    scratch: &mut Scratch,
) -> Result<List, Problem> {
    let before = tree.mark();
    if let Some(body) = subset::parse(text, tree, names, scratch) {
        return Ok(body);
    }
    tree.cut(before);
    // Most statements of a module that is not plain are.
    if text.len() <= MAX_BYTES
        && let Some(body) = parse_each(text, tree, names, source, scratch)
    {
        return Ok(body);
    }
    tree.cut(before);
    parse_fully(text, tree, names, source)
}

/// Statement by statement; `None`, with rests in the tree, where one of them cannot be read by itself.
fn parse_each(
    text: &str,
    tree: &mut Tree,
    names: &mut Names,
    source: &mut SourceText,
    scratch: &mut Scratch,
) -> Option<List> {
    let mut stmts: Vec<StmtId> = Vec::new();
    let mut down = (0, 0);
    for chunk in chunks(text) {
        let before = tree.mark();
        let body = match subset::parse(chunk, tree, names, scratch) {
            Some(body) => body,
            None => {
                tree.cut(before);
                parse_fully(chunk, tree, names, source).ok()?
            }
        };
        tree.move_since(before, down.0, down.1);
        stmts.extend_from_slice(tree.stmts_in(body));
        down.0 += chunk.len() as u32;
        down.1 += line_count(chunk) - 1;
    }
    Some(tree.push_stmts(&stmts))
}

fn parse_fully(
    text: &str,
    tree: &mut Tree,
    names: &mut Names,
    source: &mut SourceText,
) -> Result<List, Problem> {
    source.index(text);
    check_limits(text)?;
    let parsed = parse_module(text).map_err(|error| {
        let range = error.range();
        let message = error.error.to_string();
        let mut message = message.trim_end_matches('.').to_owned();
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        Problem::at(
            "K001",
            range.start().to_u32(),
            range.end().to_u32(),
            message,
        )
    })?;
    let mut converter = Converter {
        tree,
        names,
        source,
        text,
        depth: 0,
    };
    Ok(converter.module(parsed.suite()))
}

/// A module that was read by itself, to be put into the tree of every source that imports it.
#[derive(Debug)]
pub(crate) struct Parsed {
    names: Names,
    tree: Tree,
    body: List,
    /// The offsets of its lines but for the first.
    later_lines: Vec<u32>,
    /// Whether it imports Warp.
    knows_warp: bool,
}

impl Parsed {
    /// Reads a text; `None` where it cannot be read.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mut names, mut tree) = (Names::new(), Tree::default());
        let (mut source, mut scratch) = (SourceText::default(), Scratch::default());
        let body = parse(text, &mut tree, &mut names, &mut source, &mut scratch).ok()?;
        Some(Self {
            names,
            tree,
            body,
            later_lines: SourceText::later_lines(text),
            knows_warp: knows_warp(text),
        })
    }

    /// Reads a text without the parameters and bodies of its kernels, which no other module calls; everything else keeps its place.
    pub(crate) fn without_kernels(text: &str) -> Option<Self> {
        let whole = Self::read(text)?;
        let mut rest = text.as_bytes().to_vec();
        whole.empty_kernels(whole.body, &mut rest);
        let rest = String::from_utf8(rest).ok();
        let mut rest = rest.and_then(|rest| Self::read(&rest));
        if let Some(rest) = &mut rest {
            rest.knows_warp = whole.knows_warp;
        }
        Some(rest.unwrap_or(whole))
    }

    /// Leaves nothing of the parameters and bodies of kernels among statements and in the functions and classes there.
    fn empty_kernels(&self, statements: List, text: &mut [u8]) {
        for id in self.tree.stmts_in(statements) {
            let body = match self.tree.stmt(*id).kind {
                StmtKind::Function(index) => {
                    let node = &self.tree.functions[index as usize];
                    if self.is_kernel(node)
                        && let body @ [first, ..] = self.tree.stmts_in(node.body)
                    {
                        let start = self.tree.stmt(*first).start;
                        let ends = body.iter().map(|id| self.tree.stmt(*id).end);
                        let end = ends.max().unwrap_or(start);
                        let (open, close) = node.parameters_span;
                        if let [b'(', inside @ .., b')'] = &mut text[open as usize..close as usize]
                        {
                            blank(inside);
                        }
                        empty(&mut text[start as usize..end as usize]);
                        continue;
                    }
                    node.body
                }
                StmtKind::Class(index) => self.tree.classes[index as usize].body,
                StmtKind::If { body, orelse, .. } => {
                    self.empty_kernels(orelse, text);
                    body
                }
                StmtKind::For { body, .. }
                | StmtKind::While { body, .. }
                | StmtKind::Block { body, .. } => body,
                _ => continue,
            };
            self.empty_kernels(body, text);
        }
    }

    fn is_kernel(&self, node: &FunctionNode) -> bool {
        let mut decorators = self.tree.exprs_in(node.decorators).iter();
        decorators.any(|decorator| {
            let callee = match self.tree.expr(*decorator).kind {
                ExprKind::Call { func, .. } => func,
                _ => *decorator,
            };
            match self.tree.expr(callee).kind {
                ExprKind::Name(name) | ExprKind::Attribute(_, name) => {
                    self.names.get(name) == "kernel"
                }
                _ => false,
            }
        })
    }

    /// Puts the statements behind what is in a tree; their text stands this many bytes and lines further down there.
    pub(crate) fn put_into(&self, tree: &mut Tree, names: &mut Names, down: (u32, u32)) -> List {
        let moved = tree.graft(&self.tree, &self.names, names, down);
        List {
            start: self.body.start + moved,
            len: self.body.len,
        }
    }

    /// How many lines the text has.
    pub(crate) fn lines(&self) -> u32 {
        self.later_lines.len() as u32 + 1
    }

    /// The offsets of the text's lines but for the first.
    pub(crate) fn later_lines(&self) -> &[u32] {
        &self.later_lines
    }

    pub(crate) fn knows_warp(&self) -> bool {
        self.knows_warp
    }
}

/// Leaves nothing of statements but their lines.
fn empty(statements: &mut [u8]) {
    const NOTHING: &[u8] = b"pass";
    if statements.len() < NOTHING.len() || statements[..NOTHING.len()].contains(&b'\n') {
        return;
    }
    blank(statements);
    statements[..NOTHING.len()].copy_from_slice(NOTHING);
}

/// Leaves nothing of a text but its lines.
fn blank(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| !b"\r\n".contains(byte)) {
        *byte = b' ';
    }
}

/// How many lines a text has, the last without an end included.
pub(crate) fn line_count(text: &str) -> u32 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u32 + 1
}

/// Whether a text imports Warp.
pub(crate) fn knows_warp(text: &str) -> bool {
    let imports = ["import warp", "from warp"];
    imports.iter().any(|import| text.contains(import))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::subset::tests::outline;
    use super::*;

    /// Every kind of node; some only the full parser reads.
    const TEXT: &str = "\
import a, b.c as d
from . import e
from ..f import g as h
x: int = 1
y = z = -1.5 if not x else +2
y += x ** 2 @ ~z
del y, z
class K(base, meta=m):
    def f(self, n: int = 3, *rest, k=None, **more) -> float:
        global y, z
        while n < 3 <= k in rest:
            if n and k or True:
                break
            elif n:
                continue
            else:
                pass
        for i, *j in {1: 2, **more}:
            assert i[0:1:2, ...], 'text'
            with open(i) as o, p:
                return
        try:
            raise j
        except E:
            return {1, (2, [3])}
        async def g(): ...
        lambda: f'{n}'

@wp.kernel(enable_backward=False)
def saxpy(x: wp.array(dtype=float)):
    x[wp.tid()] = a(*x, b=1, **c)
";

    /// The outline of what is read, which must be what the full parser reads.
    fn read_both_ways(text: &str) -> Option<String> {
        let mut source = SourceText::default();
        let mut read = |whole: bool| {
            let (mut names, mut tree) = (Names::new(), Tree::default());
            let scratch = &mut Scratch::default();
            let body = match whole {
                true => parse_fully(text, &mut tree, &mut names, &mut source),
                false => parse(text, &mut tree, &mut names, &mut source, scratch),
            };
            body.map(|body| outline(&tree, &names, body))
                .map_err(|problem| format!("{problem:?}"))
        };
        let (whole, each) = (read(true), read(false));
        assert!(whole == each, "{text}\n{whole:?}\n{each:?}");
        each.ok()
    }

    #[test]
    fn kernels_of_other_modules_leave_their_lines() {
        let text = "
@wp.kernel
def k(a: int,
      b: float):  # note
    x = '''é
'''
    y = 1  # end

class C:
    def f(n):
        @kernel(name='x')
        def k(a): zero = n
        return k

@wp.func
def g(a: int):
    return a
";
        let rest = Parsed::without_kernels(text).unwrap();
        let whole = Parsed::read(text).unwrap();
        let bodies = |parsed: &Parsed| -> Vec<(String, bool, usize)> {
            let nodes = parsed.tree.functions.iter();
            let body = |node: &FunctionNode| {
                let statements = parsed.tree.stmts_in(node.body);
                let first = parsed.tree.stmt(statements[0]);
                let name = parsed.names.get(node.name).to_owned();
                (name, matches!(first.kind, StmtKind::Pass), statements.len())
            };
            let mut bodies: Vec<_> = nodes.map(body).collect();
            bodies.sort();
            bodies
        };
        let found = bodies(&rest);
        let found: Vec<_> = (found.iter())
            .map(|(name, empty, count)| (name.as_str(), *empty, *count))
            .collect();
        assert_eq!(
            found,
            [
                ("f", false, 2),
                ("g", false, 1),
                ("k", true, 1),
                ("k", true, 1)
            ]
        );
        let parameters = rest.tree.parameters.iter();
        let names: Vec<&str> = parameters.map(|own| rest.names.get(own.name)).collect();
        assert_eq!(names, ["n", "a"]);
        let last = |parsed: &Parsed| {
            let last = *parsed.tree.stmts_in(parsed.body).last().unwrap();
            let last = parsed.tree.stmt(last);
            (last.line, last.start, last.end)
        };
        assert_eq!(last(&rest), last(&whole));
        assert_eq!(rest.later_lines(), whole.later_lines());
    }

    #[test]
    fn statement_by_statement_is_as_a_whole() {
        assert!(read_both_ways(TEXT).is_some());
        assert!(read_both_ways(&TEXT.replace("'text'", "'é'")).is_some());
        for broken in [
            "x = (\n",
            "else:\n    pass\n",
            "@a\n",
            "  x = 1\n",
            "\"\"\"",
            "\r",
        ] {
            for text in [format!("{TEXT}{broken}"), format!("{broken}{TEXT}")] {
                read_both_ways(&text);
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_lines_are_read_as_a_whole_is(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "x = 1", "x = lambda: 1", "def f():", "    return 1", "@a", "if x:", "else:", "elif y:",
                    "  pass", "class A:", "'''", "x = '''a", "f(", ")", "# é", "\\", "x = 1 + \\", "y = f'{a}'",
                    "try:", "finally:", "    def g(a, *b):", "        yield", "    @b", "with a: pass", "",
                    "x = f'{b", "}'", "async def f(): pass", "\tx", "match x:", "    case 1: pass", "_ = {", "}",
                ]),
                0..12,
            ),
        ) {
            read_both_ways(&lines.join("\n"));
        }
    }

    #[test]
    fn a_tree_that_is_put_in_is_the_one_that_is_read_there() {
        for before in ["", "import warp\n\nx = f(a, b=[c < 1])\n"] {
            for text in [TEXT, "x = a.saxpy(1 < b, c=d)\n"] {
                let (mut names, mut tree) = (Names::new(), Tree::default());
                let (mut source, mut scratch) = (SourceText::default(), Scratch::default());
                let mut read = |text: &str, tree: &mut Tree, names: &mut Names| {
                    parse(text, tree, names, &mut source, &mut scratch).unwrap()
                };
                read(before, &mut tree, &mut names);
                let (mut there, mut names_there) = (Tree::default(), names.clone());
                there.graft(&tree, &names, &mut names_there, (0, 0));
                assert!(
                    format!("{tree:?}") == format!("{there:?}"),
                    "{before}{text}"
                );

                let mark = there.mark();
                let body = read(text, &mut there, &mut names_there);
                let down = (before.len() as u32, line_count(before) - 1);
                there.move_since(mark, down.0, down.1);
                let parsed = Parsed::read(text).unwrap();
                let put = parsed.put_into(&mut tree, &mut names, down);
                assert_eq!(body, put);
                assert!(
                    format!("{tree:?}") == format!("{there:?}"),
                    "{before}{text}"
                );
            }
        }
    }
}
