//! The runtime header: chooses, for one emitted text, the pieces of C++ that it uses.
//!
//! The header is kept as small files by subject under `runtime/`. Each is cut into pieces by marker
//! lines: `//@ NAMES`, optionally `| CONDITIONS`, optionally `! IGNORED`. A piece belongs to a text
//! when the text, or a piece that already belongs, mentions one of NAMES and all of CONDITIONS.
//! What a piece needs is thus read from its own body, except for IGNORED names; `//@ *` belongs always.
//!
//! Invariants:
//! - the prologue depends on the text alone, and pieces keep the order of the files;
//! - mentioning a name too many (in a string, say) costs a few lines, never correctness;
//! - the prologue contains no standard header when compiled for a GPU.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// In the order in which a prologue has them: a template may only call what stands above it,
/// except through the types of its arguments.
const FILES: &[&str] = &[
    include_str!("../runtime/platform.h"),
    include_str!("../runtime/tile_arena.h"),
    include_str!("../runtime/launch.h"),
    include_str!("../runtime/half.h"),
    include_str!("../runtime/scalar.h"),
    include_str!("../runtime/math.h"),
    include_str!("../runtime/composite.h"),
    include_str!("../runtime/vec.h"),
    include_str!("../runtime/mat.h"),
    include_str!("../runtime/quat.h"),
    include_str!("../runtime/transform.h"),
    include_str!("../runtime/spatial.h"),
    include_str!("../runtime/decomposition.h"),
    include_str!("../runtime/access.h"),
    include_str!("../runtime/atomic.h"),
    include_str!("../runtime/array.h"),
    include_str!("../runtime/array_atomic.h"),
    include_str!("../runtime/control.h"),
    include_str!("../runtime/debug.h"),
    include_str!("../runtime/random.h"),
    include_str!("../runtime/noise.h"),
    include_str!("../runtime/dense.h"),
    include_str!("../runtime/tile.h"),
    include_str!("../runtime/tile_element.h"),
    include_str!("../runtime/tile_whole.h"),
    include_str!("../runtime/tile_reduce.h"),
    include_str!("../runtime/tile_algebra.h"),
    include_str!("../runtime/hash_grid.h"),
    include_str!("../runtime/box_tree.h"),
    include_str!("../runtime/bvh.h"),
    include_str!("../runtime/mesh.h"),
    include_str!("../runtime/mesh_gradient.h"),
    include_str!("../runtime/intersect.h"),
    include_str!("../runtime/volume.h"),
    include_str!("../runtime/texture.h"),
    include_str!("../runtime/cast_macros.h"),
];

/// Marks the start of a piece.
const MARKER: &str = "//@ ";

/// The prologue for an emitted text, CUDA or CPU: everything it needs above it, and little else.
///
/// ```
/// let text = "var_2 = wp::sin(var_1);";
/// let prologue = warpsmith_emit::runtime_header::prologue(text);
/// assert!(prologue.contains("sinf"));
/// assert!(!prologue.contains("quat_t"));
/// ```
pub fn prologue(text: &str) -> String {
    let catalogue = &*CATALOGUE;
    let mut used = vec![false; catalogue.names.len()];
    let mut chosen = vec![false; catalogue.pieces.len()];
    let mut waiting: Vec<usize> = catalogue.mentions(text);
    let mut length = 0;
    for (index, piece) in catalogue.pieces.iter().enumerate() {
        if piece.always {
            choose(index, piece, &mut chosen, &mut waiting, &mut length);
        }
    }
    while let Some(name) = waiting.pop() {
        if std::mem::replace(&mut used[name], true) {
            continue;
        }
        for &index in &catalogue.users[name] {
            let piece = &catalogue.pieces[index];
            if !chosen[index]
                && piece.provides.iter().any(|&name| used[name])
                && piece.conditions.iter().all(|&name| used[name])
            {
                choose(index, piece, &mut chosen, &mut waiting, &mut length);
            }
        }
    }
    let mut prologue = String::with_capacity(length);
    for (piece, _) in catalogue
        .pieces
        .iter()
        .zip(&chosen)
        .filter(|(_, chosen)| **chosen)
    {
        prologue.push_str(&piece.body);
    }
    prologue
}

/// The `wp::` names that a text calls and the header has not, in order of first mention.
///
/// A text with such a name does not compile: it is outside the subset that can be run.
///
/// ```
/// let text = "var_2 = wp::mesh_get_bvh(var_1);";
/// assert_eq!(warpsmith_emit::runtime_header::missing(text), ["mesh_get_bvh"]);
/// ```
pub fn missing(text: &str) -> Vec<&str> {
    let catalogue = &*CATALOGUE;
    let mut missing = Vec::new();
    for word in words(text).filter(|word| word.qualified) {
        let known = catalogue.names.contains_key(word.text) || catalogue.basics.contains(word.text);
        if !known && !missing.contains(&word.text) {
            missing.push(word.text);
        }
    }
    missing
}

fn choose(
    index: usize,
    piece: &Piece,
    chosen: &mut [bool],
    waiting: &mut Vec<usize>,
    length: &mut usize,
) {
    chosen[index] = true;
    waiting.extend(&piece.needs);
    *length += piece.body.len();
}

/// One piece of the header; names are indices into the catalogue.
struct Piece {
    always: bool,
    provides: Vec<usize>,
    conditions: Vec<usize>,
    needs: Vec<usize>,
    body: String,
}

/// All pieces, and which of them each name can bring in.
struct Catalogue {
    names: HashMap<&'static str, usize>,
    /// What the pieces that belong always define, and the one name that only inactive code has.
    basics: HashSet<String>,
    users: Vec<Vec<usize>>,
    pieces: Vec<Piece>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::read);

impl Catalogue {
    fn read() -> Self {
        let mut catalogue = Catalogue {
            names: HashMap::new(),
            basics: HashSet::from(["shared_tile_storage".to_owned()]),
            users: Vec::new(),
            pieces: Vec::new(),
        };
        let mut ignored = Vec::new();
        for line in FILES.iter().flat_map(|file| file.lines()) {
            if let Some(marker) = line.strip_prefix(MARKER) {
                let (rest, ignoring) = marker.split_once('!').unwrap_or((marker, ""));
                let (names, conditions) = rest.split_once('|').unwrap_or((rest, ""));
                let index = catalogue.pieces.len();
                let provides =
                    catalogue.intern_all(if names.trim() == "*" { "" } else { names }, index);
                let conditions = catalogue.intern_all(conditions, index);
                let always = provides.is_empty();
                catalogue.pieces.push(Piece {
                    always,
                    provides,
                    conditions,
                    needs: Vec::new(),
                    body: String::new(),
                });
                ignored.push(ignoring);
            } else if let Some(piece) = catalogue.pieces.last_mut()
                && !line.trim_start().starts_with("//")
            {
                piece.body.push_str(line);
                piece.body.push('\n');
            }
        }
        for (index, ignoring) in ignored.into_iter().enumerate() {
            let ignoring = catalogue.mentions(ignoring);
            let mut needs = catalogue.mentions(&catalogue.pieces[index].body);
            needs.retain(|name| !ignoring.contains(name));
            let piece = &catalogue.pieces[index];
            if piece.always {
                catalogue
                    .basics
                    .extend(words(&piece.body).map(|word| word.text.to_owned()));
            }
            needs.sort_unstable();
            needs.dedup();
            catalogue.pieces[index].needs = needs;
        }
        catalogue
    }

    fn intern_all(&mut self, names: &'static str, piece: usize) -> Vec<usize> {
        names
            .split_whitespace()
            .map(|name| {
                let next = self.users.len();
                let index = *self.names.entry(name).or_insert(next);
                if index == next {
                    self.users.push(Vec::new());
                }
                self.users[index].push(piece);
                index
            })
            .collect()
    }

    /// The known names that a text mentions, in order, with repetitions.
    ///
    /// `float` and `int` are names of ours only where qualified: `wp::float(x)` is a cast.
    fn mentions(&self, text: &str) -> Vec<usize> {
        words(text)
            .filter(|word| word.qualified || !matches!(word.text, "float" | "int"))
            .filter_map(|word| self.names.get(word.text).copied())
            .collect()
    }
}

/// An identifier, and whether `::` stands before it.
struct Word<'a> {
    text: &'a str,
    qualified: bool,
}

/// The identifiers of a text; comments have none.
fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.lines().flat_map(move |line| {
        let code = line.split("//").next().unwrap_or_default();
        let mut position = 0;
        std::iter::from_fn(move || {
            let start = position + code.as_bytes()[position..].iter().position(is_part)?;
            let length = code.as_bytes()[start..]
                .iter()
                .take_while(|byte| is_part(byte))
                .count();
            position = start + length;
            Some(Word {
                text: &code[start..position],
                qualified: code[..start].ends_with("wp::"),
            })
        })
    })
}
