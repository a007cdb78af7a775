//! Statements that only the text knows, read back from the text that the compiler writes: `out = wp::name<…>(…)`.

use warpsmith_ir::names::Names;
use warpsmith_ir::{Function, Piece, Text, VarId};

/// A statement in its parts.
#[derive(Debug)]
pub(crate) struct Statement<'m> {
    /// The C++ function, without its namespace.
    pub(crate) name: &'m str,
    /// Whether it has Warp's namespace.
    pub(crate) is_builtin: bool,
    /// Words of its template arguments.
    pub(crate) template: Vec<&'m str>,
    pub(crate) args: Vec<Arg<'m>>,
    pub(crate) out: Option<VarId>,
    /// For each argument, the variable whose dual its gradient goes to; nothing without an adjoint.
    pub(crate) adjoints: Option<Vec<Option<VarId>>>,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg<'m> {
    Var(VarId),
    /// A function, or a number.
    Word(&'m str),
}

impl Arg<'_> {
    pub(crate) fn var(self) -> Option<VarId> {
        match self {
            Self::Var(var) => Some(var),
            Self::Word(_) => None,
        }
    }
}

/// The text of a piece, as it is on the CPU.
fn word<'m>(names: &'m Names, piece: &Piece) -> Option<&'m str> {
    match *piece {
        Piece::Text(name) | Piece::Either(_, name) => Some(names.get(name)),
        _ => None,
    }
}

/// The statement that a text is; `None` where it is no call.
pub(crate) fn read<'m>(names: &'m Names, text: &Text) -> Option<Statement<'m>> {
    let mut pieces = text.forward.as_slice();
    let mut out = None;
    if let [Piece::Var(var), equals, rest @ ..] = pieces
        && word(names, equals) == Some(" = ")
    {
        out = Some(*var);
        pieces = rest;
    }
    let (name, rest) = pieces.split_first()?;
    let name = word(names, name)?;
    let own = name.strip_prefix("wp::");
    let (name, is_builtin) = (own.unwrap_or(name), own.is_some());
    let open = rest
        .iter()
        .position(|piece| word(names, piece) == Some("("))?;
    let template = rest[..open]
        .iter()
        .map(|piece| word(names, piece).unwrap_or_default())
        .filter(|word| !matches!(*word, "<" | ">" | ", "))
        .collect();
    let args = arguments(names, &rest[open + 1..]);
    // The adjoint is given the arguments, then where their gradients go, then the result's.
    let close = text
        .reverse
        .iter()
        .position(|piece| word(names, piece) == Some("("));
    let adjoints = close.map(|open| {
        let duals = text.reverse[open + 1..].iter().filter(|piece| {
            let word = word(names, piece);
            !matches!(word, Some(", " | ")"))
        });
        duals
            .skip(args.len())
            .take(args.len())
            .map(|piece| match *piece {
                Piece::Dual(var) => Some(var),
                _ => None,
            })
            .collect()
    });
    Some(Statement {
        name,
        is_builtin,
        template,
        args,
        out,
        adjoints,
    })
}

fn arguments<'m>(names: &'m Names, pieces: &[Piece]) -> Vec<Arg<'m>> {
    let mut args = Vec::new();
    for piece in pieces {
        match *piece {
            Piece::Var(var) => args.push(Arg::Var(var)),
            _ => match word(names, piece) {
                None | Some(", " | ")") => {}
                Some(word) => args.push(Arg::Word(word)),
            },
        }
    }
    args
}

/// The variables that a text reads, and those that it gives a value.
pub(super) fn variables(names: &Names, function: &Function, text: u32) -> (Vec<VarId>, Vec<VarId>) {
    let pieces = function.texts[text as usize].forward.as_slice();
    let vars = |pieces: &[Piece]| -> Vec<VarId> {
        pieces
            .iter()
            .filter_map(|piece| match *piece {
                Piece::Var(var) if var.alias().is_none() => Some(var),
                _ => None,
            })
            .collect()
    };
    match pieces {
        // Only an assignment begins with a variable; some calls are given where their result goes.
        [Piece::Var(out), rest @ ..] => {
            let mut read = vars(rest);
            read.retain(|var| var != out);
            (read, vec![*out])
        }
        [name, rest @ ..] if word(names, name) == Some("wp::tile_stack_pop") => {
            let mut read = vars(rest);
            let written = read.split_off(1.min(read.len()));
            (read, written)
        }
        _ => (vars(pieces), Vec::new()),
    }
}
