//! Writes statements: assignments, branches and loops, with a scope for each block.
//!
//! Invariants: a name is only read where every path gave it a value; what a dynamic loop changes was
//! never a literal; every loop ends after a number of trips that the inputs cannot raise.

use super::builder::Builder;
use super::expression::is_literal;
use super::form::{Pattern, forms};
use super::kind::{Kind, Scalar};
use super::plan::Featured;
use super::text::{Name, any_float, float_literal, integer, integer_literal, local_words};
use super::vocabulary::COUNTERS;

/// A kind of loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopStyle {
    Unrolled,
    Long,
    Dynamic,
    While,
}

impl Builder {
    /// `name = expression`; gives the name.
    pub(super) fn let_statement(&mut self, kind: Kind, depth: u8) -> Name {
        let name = self.taken.fresh(local_words(kind), &mut self.random);
        self.begin();
        self.body.push_str(&name);
        self.body.push_str(" = ");
        let bound = self.computed(kind, depth);
        self.body.push('\n');
        self.declare(name.clone(), kind, bound, true);
        name
    }

    /// `name = zero`, which loops may change; gives the name.
    pub(super) fn zero_statement(&mut self, kind: Kind) -> Name {
        let name = self.taken.fresh(local_words(kind), &mut self.random);
        self.begin();
        self.body.push_str(&name);
        self.body.push_str(" = ");
        kind.spell(self.plain_types, &mut self.body);
        self.body.push_str(match kind {
            Kind::Scalar(scalar) if scalar.is_float() => "(0.0)",
            Kind::Scalar(_) => "(0)",
            _ => "()",
        });
        self.body.push('\n');
        self.declare(name.clone(), kind, 1.0, true);
        name
    }

    /// Writes what the plan features.
    pub(super) fn featured(&mut self) {
        match self.plan.featured {
            Featured::Form(position) => {
                let form = &forms().forms[usize::from(position)];
                let kind = form.result.kind(self.palette);
                let name = self.taken.fresh(local_words(kind), &mut self.random);
                self.begin();
                self.body.push_str(&name);
                self.body.push_str(" = ");
                let start = self.body.len();
                let mut bound = 0.0;
                if self.allows(form) {
                    let depth = self.plan.difficulty.min(2);
                    bound = self.write_form(form, depth).bound;
                }
                if self.body.len() == start || is_literal(&self.body[start..]) {
                    self.body.truncate(start);
                    bound = self.computed(kind, 1);
                }
                self.body.push('\n');
                self.declare(name, kind, bound, true);
            }
            Featured::Tuple(position) => {
                let tuple = &forms().tuples[usize::from(position)];
                let names: Vec<Name> = tuple
                    .results
                    .iter()
                    .map(|pattern| {
                        let words = local_words(pattern.kind(self.palette));
                        self.taken.fresh(words, &mut self.random)
                    })
                    .collect();
                self.begin();
                self.body.push_str(&names.join(", "));
                self.body.push_str(" = ");
                for part in &tuple.parts {
                    self.part(part, 0);
                }
                self.body.push('\n');
                for (name, pattern) in names.into_iter().zip(&tuple.results) {
                    self.declare(name, pattern.kind(self.palette), 10.0, false);
                }
            }
            Featured::Construct(construct) => self.construct(construct),
        }
    }

    /// A type for a new variable, as the category has them.
    pub(super) fn any_kind(&mut self) -> Kind {
        use crate::category::Category as C;
        let size = [2, 3, 4][self.random.weighted(&[25, 55, 20])];
        let pattern = match self.plan.category {
            C::Vector => [Pattern::Float, Pattern::Vector(size)][self.random.weighted(&[35, 65])],
            C::Matrix => [Pattern::Float, Pattern::Vector(size), Pattern::Matrix(size)]
                [self.random.weighted(&[20, 25, 55])],
            C::Quaternion => [
                Pattern::Float,
                Pattern::Vector(3),
                Pattern::Quat,
                Pattern::Transform,
                Pattern::Vector(6),
            ][self.random.weighted(&[15, 25, 40, 12, 8])],
            C::IntegerBits => [
                Pattern::Integer,
                Pattern::IntegerVector(size),
                Pattern::Int32,
            ][self.random.weighted(&[75, 15, 10])],
            C::Random => [Pattern::Float, Pattern::Vector(size), Pattern::Int32]
                [self.random.weighted(&[65, 25, 10])],
            C::Combined => [
                Pattern::Float,
                Pattern::Vector(size),
                Pattern::Matrix(size),
                Pattern::Integer,
                Pattern::Bool,
                Pattern::Quat,
            ][self.random.weighted(&[40, 25, 10, 12, 8, 5])],
            C::Arithmetic => [Pattern::Float, Pattern::Integer][self.random.weighted(&[75, 25])],
            C::Math => Pattern::Float,
            _ => [Pattern::Float, Pattern::Vector(size), Pattern::Integer]
                [self.random.weighted(&[75, 15, 10])],
        };
        pattern.kind(self.palette)
    }

    /// How deep expressions are at this difficulty.
    pub(super) fn depth(&mut self) -> u8 {
        let level = self.plan.difficulty;
        1 + u8::from(level > 1 && self.random.chance(50))
            + u8::from(level > 3 && self.random.chance(40))
    }

    /// A float that may change, made if there is none.
    pub(super) fn accumulator(&mut self) -> Name {
        let float = self.float();
        let found = self
            .vars
            .iter()
            .rev()
            .find(|var| var.kind == float && var.mutable && !var.text.contains('.'));
        match found {
            Some(var) => var.text.clone(),
            None => self.zero_statement(float),
        }
    }

    /// Changes a variable; inside loops so that it stays small.
    pub(super) fn update(&mut self, name: &str) {
        let Some(position) = self.vars.iter().position(|var| var.text == name) else {
            return;
        };
        let (kind, bound) = (self.vars[position].kind, self.vars[position].bound);
        let depth = self.depth();
        self.last_read = Some(position);
        self.begin();
        self.body.push_str(name);
        let start = self.body.len();
        let style = self.random.below(4);
        if style < 3 || !kind.scalar().is_float() {
            self.body.push_str(if style == 2 { " -= " } else { " += " });
            let added = self.computed(kind, depth);
            if let Some(total) = self.sum_bound(kind, bound, added) {
                self.vars[position].bound = total;
                self.vars[position].used = false;
                self.body.push('\n');
                return;
            }
            self.body.truncate(start);
        }
        if !kind.scalar().is_float() {
            // Bits cannot grow.
            self.body.push_str(" ^= ");
            let written = self.leaf(kind);
            self.vars[position].bound = bound.max(written.bound) * 2.0;
            self.vars[position].used = false;
            self.body.push('\n');
            return;
        }
        // A contraction stays within twice what is added.
        self.body.push_str(" = ");
        self.body.push_str(name);
        self.body.push_str(" * ");
        let fraction = any_float(&mut self.random, true).min(0.5);
        float_literal(kind.scalar(), fraction, &mut self.body);
        self.body.push_str(" + ");
        let start = self.body.len();
        let written = self.expression(kind, depth.min(2));
        let cut = match kind == self.float() {
            true => self.cut(start, written.bound),
            false => None,
        };
        if cut.is_none() && written.precedence < 2 {
            self.body.insert(start, '(');
            self.body.push(')');
        }
        self.vars[position].bound = bound.max(cut.unwrap_or(written.bound) * 2.0);
        self.vars[position].used = false;
        self.body.push('\n');
    }

    /// Adds what a block computed and nothing read to `name`, then forgets the block's variables.
    pub(super) fn leave_scope(&mut self, vars: usize, name: &str) {
        for position in vars..self.vars.len() {
            if self.vars[position].used {
                continue;
            }
            let text = self.vars[position].text.clone();
            let kind = self.vars[position].kind;
            let fraction = any_float(&mut self.random, true).min(0.5);
            let float = self.palette.float;
            self.begin();
            self.body.push_str(name);
            self.body.push_str(" = ");
            self.body.push_str(name);
            self.body.push_str(" * ");
            float_literal(float, fraction, &mut self.body);
            self.body.push_str(" + ");
            let added = self.contribution(&text, kind, self.vars[position].bound);
            self.body.push('\n');
            self.grow(name, 2.0 * added);
        }
        self.vars.truncate(vars);
    }

    /// A float made from a variable of any type and of this bound, small enough to be added; its bound.
    pub(super) fn contribution(&mut self, text: &str, kind: Kind, bound: f32) -> f32 {
        let start = self.body.len();
        let bound = self.as_float(text, kind, bound);
        self.cut(start, bound).unwrap_or(bound)
    }

    fn as_float(&mut self, text: &str, kind: Kind, bound: f32) -> f32 {
        let float = self.float();
        let choose = self.random.below(2);
        match kind {
            _ if kind == float => self.body.push_str(text),
            Kind::Scalar(Scalar::Bool) => {
                self.body.push_str("wp.where(");
                self.body.push_str(text);
                self.body.push_str(", ");
                float_literal(float.scalar(), 1.0, &mut self.body);
                self.body.push_str(", ");
                float_literal(float.scalar(), 0.25, &mut self.body);
                self.body.push(')');
                return 1.0;
            }
            Kind::Scalar(scalar) => {
                float.spell(self.plain_types, &mut self.body);
                self.body.push('(');
                self.body.push_str(text);
                return self.end_integer(scalar, bound);
            }
            Kind::Vector(n, scalar) if !scalar.is_float() => {
                float.spell(self.plain_types, &mut self.body);
                self.body.push('(');
                self.body.push_str(text);
                self.body.push('[');
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
                self.body.push(']');
                return self.end_integer(scalar, bound);
            }
            Kind::Vector(n, _) if choose == 0 || n > 4 => {
                self.body.push_str("wp.dot(");
                self.body.push_str(text);
                self.body.push_str(", ");
                self.body.push_str(text);
                self.body.push(')');
                return f32::from(n) * bound * bound;
            }
            Kind::Vector(n, _) => {
                self.body.push_str(text);
                self.body.push('[');
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
                self.body.push(']');
            }
            Kind::Matrix(n, _) if choose == 0 || n > 4 => {
                self.body.push_str("wp.trace(");
                self.body.push_str(text);
                self.body.push(')');
                return f32::from(n) * bound;
            }
            Kind::Matrix(n, _) => {
                self.body.push_str(text);
                self.body.push('[');
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
                self.body.push_str(", ");
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
                self.body.push(']');
            }
            Kind::Quat(_) => {
                self.body.push_str(text);
                self.body.push_str([".w", "[2]"][choose]);
            }
            Kind::Transform(_) => {
                self.body.push_str("wp.transform_get_translation(");
                self.body.push_str(text);
                self.body.push_str([")[0]", ")[2]"][choose]);
            }
        }
        bound
    }

    /// Ends the conversion of an integer, of which a half float takes the low bits alone.
    fn end_integer(&mut self, scalar: Scalar, bound: f32) -> f32 {
        let bound = Self::integer_bound(scalar, bound);
        let float = self.palette.float;
        if bound <= float.most() || float != Scalar::F16 {
            self.body.push(')');
            return bound;
        }
        self.body.push_str(" & ");
        integer_literal(scalar, 63, &mut self.body);
        self.body.push(')');
        63.0
    }

    /// Statements of the category's kinds, `nest` blocks deep at most.
    pub(super) fn statements(&mut self, count: usize, nest: u8) {
        for _ in 0..count {
            let blocks = if nest > 0 {
                self.plan.block_percent()
            } else {
                0
            };
            if self.random.chance(blocks) {
                if self.random.chance(55) {
                    self.branch(nest - 1);
                } else {
                    let style = self.loop_style();
                    self.loop_statement(style, nest - 1);
                }
            } else if self.random.chance(22) {
                let name = self.accumulator();
                self.update(&name);
            } else {
                let kind = self.any_kind();
                let depth = self.depth();
                self.let_statement(kind, depth);
            }
        }
    }

    pub(super) fn loop_style(&mut self) -> LoopStyle {
        // A dynamic loop that is copied would carry the names of one copy into the next, and its adjoint
        // would read them before they have values.
        if self.unrolled > 0 {
            return LoopStyle::Unrolled;
        }
        [
            LoopStyle::Unrolled,
            LoopStyle::Long,
            LoopStyle::Dynamic,
            LoopStyle::While,
        ][self.random.weighted(&[40, 8, 36, 16])]
    }

    /// `if`, with `else` or `elif` branches.
    pub(super) fn branch(&mut self, nest: u8) {
        let name = self.accumulator();
        self.arm("if ", &name, nest);
        if self.random.chance(35) {
            self.arm("elif ", &name, nest);
        }
        if self.random.chance(60) {
            self.line("else:");
            self.block(&name, nest);
        }
    }

    /// One condition and its block.
    pub(super) fn arm(&mut self, word: &str, name: &str, nest: u8) {
        self.begin();
        self.body.push_str(word);
        let depth = self.depth();
        self.operand(Kind::Scalar(Scalar::Bool), depth, 0);
        self.body.push_str(":\n");
        self.block(name, nest);
    }

    /// A block that changes `name` at least once.
    pub(super) fn block(&mut self, name: &str, nest: u8) {
        self.indent += 1;
        let scope = self.vars.len();
        let usual = if self.plan.difficulty > 1 { 35 } else { 15 };
        let inner = self.random.chance(usual) || nest > 0 && self.random.chance(50);
        if inner && self.unrolled == 0 {
            self.statements(1, nest);
        }
        self.update(name);
        self.leave_scope(scope, name);
        self.indent -= 1;
    }

    /// A loop that changes a float.
    pub(super) fn loop_statement(&mut self, style: LoopStyle, nest: u8) {
        let name = self.accumulator();
        let counter = self.taken.fresh(COUNTERS, &mut self.random);
        let scope = self.vars.len();
        let int32 = Kind::Scalar(Scalar::I32);
        let copies = self.copies;
        let trips;
        match style {
            LoopStyle::Unrolled => {
                trips = self.unrolled_trips();
                self.line(&format!("for {counter} in range({trips}):"));
            }
            LoopStyle::Long => {
                trips = 17 + self.random.below(4);
                self.line(&format!("for {counter} in range({trips}):"));
            }
            LoopStyle::Dynamic => {
                trips = 3 + self.random.below(10);
                let limit = self.trip_limit();
                let start = ["", "1, "][self.random.below(2)];
                self.line(&format!(
                    "for {counter} in range({start}wp.min({limit}, {trips})):"
                ));
            }
            LoopStyle::While => {
                trips = 3 + self.random.below(8);
                self.line(&format!("{counter} = int(0)"));
                self.begin();
                self.body.push_str("while ");
                self.body.push_str(&counter);
                self.body.push_str(&format!(" < {trips}"));
                if self.random.chance(40) {
                    self.body.push_str(&format!(" and {name} < "));
                    float_literal(self.palette.float, 50.0, &mut self.body);
                }
                self.body.push_str(":\n");
            }
        }
        let outside = self.enter_loop(trips as f32);
        self.unrolled += u32::from(style == LoopStyle::Unrolled);
        self.indent += 1;
        self.declare(counter.clone(), int32, trips as f32, false);
        let jumps = matches!(style, LoopStyle::Long | LoopStyle::Dynamic);
        if jumps && self.random.chance(25) {
            let word = *self.random.pick(&["continue", "break"]);
            self.jump(word);
        }
        if nest > 0 && self.random.chance(50) || self.random.chance(30) {
            self.statements(1, nest);
        }
        self.update(&name);
        let inner = scope + 1;
        self.leave_scope(inner, &name);
        if style == LoopStyle::While {
            self.line(&format!("{counter} += 1"));
        }
        self.vars.truncate(scope);
        self.indent -= 1;
        self.unrolled -= u32::from(style == LoopStyle::Unrolled);
        self.copies = copies;
        self.leave_loop(outside);
    }

    /// Trips of a loop that is unrolled: few where the loop itself is copied.
    pub(super) fn unrolled_trips(&mut self) -> usize {
        let trips = if self.copies >= 2 {
            2
        } else {
            2 + self.random.below(3)
        };
        self.copies *= trips;
        trips
    }

    fn jump(&mut self, word: &str) {
        self.begin();
        self.body.push_str("if ");
        self.operand(Kind::Scalar(Scalar::Bool), 1, 0);
        self.body.push_str(":\n");
        self.indent += 1;
        self.line(word);
        self.indent -= 1;
    }

    /// An integer that the caller passes and that bounds a loop.
    pub(super) fn trip_limit(&mut self) -> Name {
        let int32 = Kind::Scalar(Scalar::I32);
        let known = self
            .params
            .iter()
            .find(|param| param.ty == super::builder::ParamType::Value(int32));
        match known {
            Some(param) => param.name.clone(),
            None if self.arrays => self.new_setting(int32),
            None => Name::Borrowed("6"),
        }
    }
}
