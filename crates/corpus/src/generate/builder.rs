//! The state of a program that is being written: its parameters, what is in scope, and its text.

use super::form::{Palette, Pattern};
use super::kind::{Kind, Scalar};
use super::plan::Plan;
use super::text::{Name, NamesTaken};
use super::vocabulary::{THEMES, Theme};
use crate::random::Random;

/// Something that an expression can name.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) text: Name,
    pub(super) kind: Kind,
    /// How large its absolute value can be.
    pub(super) bound: f32,
    /// Whether anything read it yet; results gather what nothing read.
    pub(super) used: bool,
    /// Whether it may be assigned again.
    pub(super) mutable: bool,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ParamType {
    Value(Kind),
    Array(Kind, u8),
    Struct(Name),
    StructArray(Name),
}

/// A parameter of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: Name,
    pub(super) ty: ParamType,
}

/// An array that threads only read, at their own indices or at guarded ones.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: Name,
    pub(super) kind: Kind,
    pub(super) rank: u8,
}

/// The struct that a thread works on: its array, its local copy, and its fields.
#[derive(Clone, Debug)]
pub(super) struct StructElement {
    pub(super) array: Name,
    pub(super) local: Name,
    pub(super) fields: Vec<(&'static str, Kind)>,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub(super) struct UserFunction {
    pub(super) name: Name,
    pub(super) params: Vec<Kind>,
    pub(super) result: Kind,
}

/// What an expression turned out to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) precedence: u8,
    pub(super) bound: f32,
}

/// A program that is being written.
pub(super) struct Builder {
    pub(super) random: Random,
    pub(super) plan: Plan,
    pub(super) palette: Palette,
    pub(super) theme: &'static Theme,
    /// Module-level definitions before the kernel.
    pub(super) prelude: String,
    /// The body of the kernel, or of the function that is being written.
    pub(super) body: String,
    pub(super) indent: usize,
    pub(super) params: Vec<Param>,
    pub(super) vars: Vec<Var>,
    pub(super) inputs: Vec<Input>,
    pub(super) functions: Vec<UserFunction>,
    pub(super) taken: NamesTaken,
    /// The thread's coordinates, as an index: `i, j`.
    pub(super) index: String,
    pub(super) rank: u8,
    /// Whether arrays may be read here; not inside functions.
    pub(super) arrays: bool,
    /// The name of the random state, where there is one.
    pub(super) state: Option<Name>,
    pub(super) plain_types: bool,
    /// Fixed when the kernel's signature is: no new parameters after that.
    pub(super) max_params: usize,
    /// Whether the text so far is inside a loop whose trips are counted at run time.
    pub(super) in_dynamic_loop: bool,
    /// How often the text so far runs, at most.
    pub(super) trips: f32,
    /// How many loops around the text so far are unrolled. A name that only one branch gives a value
    /// would be met again by the next copy of the body, so branches in there declare nothing.
    pub(super) unrolled: u32,
    /// How often the text so far is copied by unrolling; kept small, since every copy is in the output.
    pub(super) copies: usize,
    /// How long the finished lines are, each as often as it is copied; see [`Self::weigh`].
    weight: usize,
    /// Where the line begins that is not weighed yet, and how often it is copied.
    unweighed: (usize, usize),
    /// The variable that was read last, so that nothing is compared with itself.
    pub(super) last_read: Option<usize>,
    /// The struct that a thread works on, where it comes from an array.
    pub(super) struct_array: Option<StructElement>,
}

impl Builder {
    pub(super) fn new(plan: Plan, mut random: Random) -> Self {
        let theme = &THEMES[random.below(THEMES.len())];
        let float = match plan.float32 {
            true => Scalar::F32,
            false => [Scalar::F32, Scalar::F64, Scalar::F16][random.weighted(&[82, 11, 7])],
        };
        let integer = if plan.wide_integers {
            *random.pick(&[
                Scalar::I8,
                Scalar::I16,
                Scalar::I32,
                Scalar::I64,
                Scalar::U8,
                Scalar::U16,
                Scalar::U32,
                Scalar::U64,
            ])
        } else {
            Scalar::I32
        };
        Self {
            palette: Palette { float, integer },
            theme,
            prelude: String::new(),
            // What the allocator keeps at hand; most bodies are shorter.
            body: String::with_capacity(1000),
            indent: 1,
            params: Vec::with_capacity(8),
            vars: Vec::with_capacity(16),
            inputs: Vec::with_capacity(8),
            functions: Vec::new(),
            taken: NamesTaken::default(),
            index: String::new(),
            rank: 1,
            arrays: true,
            state: None,
            plain_types: random.chance(70),
            max_params: 3 + usize::from(plan.difficulty) / 2,
            in_dynamic_loop: false,
            trips: 1.0,
            unrolled: 0,
            copies: 1,
            weight: 0,
            unweighed: (0, 1),
            last_read: None,
            struct_array: None,
            random,
            plan,
        }
    }

    pub(super) fn float(&self) -> Kind {
        Kind::Scalar(self.palette.float)
    }

    pub(super) fn integer(&self) -> Kind {
        Kind::Scalar(self.palette.integer)
    }

    /// What the table of forms calls a type.
    pub(super) fn pattern(&mut self, kind: Kind) -> Option<Pattern> {
        let palette = self.palette;
        Some(match kind {
            Kind::Scalar(scalar) if scalar == palette.float => Pattern::Float,
            Kind::Scalar(Scalar::I32) if palette.integer == Scalar::I32 => {
                match self.random.chance(70) {
                    true => Pattern::Integer,
                    false => Pattern::Int32,
                }
            }
            Kind::Scalar(Scalar::I32) => Pattern::Int32,
            Kind::Scalar(Scalar::Bool) => Pattern::Bool,
            Kind::Scalar(scalar) if scalar == palette.integer => Pattern::Integer,
            Kind::Vector(n, scalar) if scalar == palette.float => Pattern::Vector(n),
            Kind::Vector(n, scalar) if scalar == palette.integer => Pattern::IntegerVector(n),
            Kind::Matrix(n, _) => Pattern::Matrix(n),
            Kind::Quat(_) => Pattern::Quat,
            Kind::Transform(_) => Pattern::Transform,
            _ => return None,
        })
    }

    /// How long the generated texts will be, in bytes of Python: every line that is written, as often as
    /// unrolling copies it.
    pub(super) fn weigh(&mut self) -> usize {
        let (start, copies) = self.unweighed;
        if let Some(line) = self.body.len().checked_sub(start)
            && line > 0
        {
            self.weight += (line + LINE_WEIGHT) * copies;
        }
        self.unweighed = (self.body.len(), self.copies);
        self.weight
    }

    /// Begins a line.
    pub(super) fn begin(&mut self) {
        self.weigh();
        for _ in 0..self.indent {
            self.body.push_str("    ");
        }
    }

    /// A whole line.
    pub(super) fn line(&mut self, text: &str) {
        self.line_of(&[text]);
    }

    /// A whole line, in parts.
    pub(super) fn line_of(&mut self, parts: &[&str]) {
        self.begin();
        self.write(parts);
        self.body.push('\n');
    }

    /// Goes on with the line.
    pub(super) fn write(&mut self, parts: &[&str]) {
        for part in parts {
            self.body.push_str(part);
        }
    }

    pub(super) fn declare(&mut self, text: Name, kind: Kind, bound: f32, mutable: bool) {
        self.vars.push(Var {
            text,
            kind,
            bound,
            used: false,
            mutable,
        });
    }

    /// A new array that threads read, with elements of this type.
    pub(super) fn new_input(&mut self, kind: Kind, rank: u8) -> usize {
        let words = match kind {
            Kind::Scalar(scalar) if scalar.is_float() => self.theme.scalars,
            Kind::Scalar(_) => self.theme.integers,
            Kind::Vector(_, scalar) if !scalar.is_float() => self.theme.integers,
            Kind::Vector(..) => self.theme.vectors,
            Kind::Matrix(..) => &["frames", "stresses", "transforms", "jacobians", "metrics"][..],
            Kind::Quat(_) => &["orientations", "rotations", "attitudes", "turns"][..],
            Kind::Transform(_) => &["poses", "body_frames", "anchors_in", "placements"][..],
        };
        let name = self.taken.fresh(words, &mut self.random);
        self.params.push(Param {
            name: name.clone(),
            ty: ParamType::Array(kind, rank),
        });
        self.inputs.push(Input { name, kind, rank });
        self.inputs.len() - 1
    }

    /// A new number or vector that the caller passes.
    pub(super) fn new_setting(&mut self, kind: Kind) -> Name {
        let words = match kind {
            Kind::Scalar(scalar) if scalar.is_float() => self.theme.settings,
            Kind::Scalar(_) => &["count_limit", "order", "shift_by", "divisor", "level_count"][..],
            _ => &["reference", "target", "pivot", "shift_vector", "guide"][..],
        };
        let name = self.taken.fresh(words, &mut self.random);
        self.params.push(Param {
            name: name.clone(),
            ty: ParamType::Value(kind),
        });
        self.declare(name.clone(), kind, input_bound(kind), false);
        if let Some(var) = self.vars.last_mut() {
            // A setting that nothing reads is no loss; the body reads it where it was requested.
            var.used = true;
        }
        name
    }

    /// A new array for results.
    pub(super) fn new_output(&mut self, kind: Kind, rank: u8) -> Name {
        let name = self.taken.fresh(self.theme.outputs, &mut self.random);
        self.params.push(Param {
            name: name.clone(),
            ty: ParamType::Array(kind, rank),
        });
        name
    }
}

/// What a line adds to the texts besides its expressions: they quote it three times each.
const LINE_WEIGHT: usize = 24;

/// How large the values are that verification passes in.
pub(super) fn input_bound(kind: Kind) -> f32 {
    if kind.scalar().is_float() { 2.0 } else { 100.0 }
}
