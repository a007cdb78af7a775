//! Writes expressions: a form from the table, filled recursively, or a leaf.

use super::builder::{Builder, Input, Written, input_bound};
use super::form::{Form, Part, Pattern, forms};
use super::kind::{Kind, Scalar};
use super::text::{Name, any_float, float_literal, integer, integer_literal};

/// Whether an expression is a literal, which Warp keeps constant, signs included.
pub(super) fn is_literal(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+', '(']);
    matches!(text, "True" | "False")
        || text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(' ')
}

impl Builder {
    /// Writes an expression of type `kind`, at most `depth` forms deep.
    pub(super) fn expression(&mut self, kind: Kind, depth: u8) -> Written {
        if depth == 0 {
            return self.leaf(kind);
        }
        if !self.functions.is_empty()
            && self.random.chance(30)
            && let Some(written) = self.call_function(kind, depth)
        {
            return written;
        }
        let Some(pattern) = self.pattern(kind) else {
            return self.leaf(kind);
        };
        let choices = forms().with_result(pattern);
        for _ in 0..6 {
            let form = &forms().forms[usize::from(*self.random.pick(choices))];
            if !self.allows(form) {
                continue;
            }
            let weight = self.plan.weights[form.group as usize];
            if (self.random.below(8) as u8) < weight {
                return self.write_form(form, depth);
            }
        }
        self.leaf(kind)
    }

    /// Whether a form can stand here.
    pub(super) fn allows(&self, form: &Form) -> bool {
        let depends = self.palette.float == Scalar::F32;
        (depends || !form.float32_only)
            && (self.arrays || !form.reads_array)
            && (self.state.is_some() || !form.draws)
            // Adjoints of loops replay their bodies; what reads an array as a whole stays outside.
            && !(self.in_dynamic_loop && form.draws && form.reads_array)
            // A gradient that grows from trip to trip would leave the range of a half on its way back.
            && !(self.in_dynamic_loop && form.builtin == "float16")
    }

    /// Writes a form; one whose value could grow too large is taken back and becomes a leaf.
    pub(super) fn write_form(&mut self, form: &Form, depth: u8) -> Written {
        let start = self.body.len();
        let mut holes = [0.0; 8];
        let mut count = 0;
        for part in &form.parts {
            if let Some(bound) = self.part(part, depth - 1)
                && count < holes.len()
            {
                holes[count] = bound;
                count += 1;
            }
        }
        let kind = form.result.kind(self.palette);
        let bound = form.bound.of(&holes[..count]);
        if bound > kind.scalar().most() {
            self.body.truncate(start);
            return self.leaf(kind);
        }
        Written {
            precedence: form.precedence,
            bound,
        }
    }

    /// Writes a part; gives the bound of what it is, if it is an expression.
    pub(super) fn part(&mut self, part: &Part, depth: u8) -> Option<f32> {
        let float = self.float();
        match part {
            Part::Text(text) => self.body.push_str(text),
            Part::Hole(precedence, pattern) => {
                let shallower = depth.saturating_sub(u8::from(self.random.chance(40)));
                let kind = pattern.kind(self.palette);
                return Some(self.operand(kind, shallower, *precedence));
            }
            Part::Bounded(precedence) => return Some(self.bounded(depth, *precedence)),
            Part::Positive(precedence) => return Some(self.positive(depth, *precedence)),
            Part::PositiveInteger(_) => self.positive_integer(),
            Part::UnitQuat(precedence) => self.unit_quat(depth, *precedence),
            Part::RigidTransform(_) => self.rigid_transform(depth),
            Part::Regular(n) => self.regular_matrix(*n),
            Part::Direction(n) => self.direction(*n, depth),
            Part::FloatArray => {
                let name = self.whole_array();
                self.body.push_str(&name);
            }
            Part::RandomState => {
                if let Some(state) = &self.state {
                    self.body.push_str(state);
                }
            }
            Part::Float(value) => float_literal(float.scalar(), *value, &mut self.body),
            Part::Integer(value) => integer_literal(self.palette.integer, *value, &mut self.body),
            Part::AnyFloat | Part::Fraction => {
                let value = any_float(&mut self.random, *part == Part::Fraction);
                float_literal(float.scalar(), value, &mut self.body);
            }
            Part::SmallInteger => {
                let value = 1 + self.random.below(6) as u32;
                integer_literal(self.palette.integer, value, &mut self.body);
            }
            Part::PlainInteger => integer(1 + self.random.below(4) as u64, &mut self.body),
            Part::Index(n) => integer(self.random.below(usize::from(*n)) as u64, &mut self.body),
            Part::Letter(n) => {
                let letter = b"xyzw"[self.random.below(usize::from(*n))];
                self.body.push(char::from(letter));
            }
            Part::TypeName(pattern) => {
                let kind = pattern.kind(self.palette);
                kind.spell(self.plain_types, &mut self.body);
            }
            Part::WarpName(pattern) => pattern.kind(self.palette).spell(false, &mut self.body),
        }
        None
    }

    /// An expression, in parentheses where its precedence asks for them; gives its bound.
    pub(super) fn operand(&mut self, kind: Kind, depth: u8, precedence: u8) -> f32 {
        let start = self.body.len();
        let written = self.expression(kind, depth);
        if written.precedence < precedence {
            self.body.insert(start, '(');
            self.body.push(')');
        }
        written.bound
    }

    /// A float in ±0.9.
    fn bounded(&mut self, depth: u8, precedence: u8) -> f32 {
        let float = self.float();
        if self.random.chance(60) {
            self.body.push_str("wp.clamp(");
            self.operand(float, depth, 0);
            self.body.push_str(", ");
            float_literal(float.scalar(), -0.9, &mut self.body);
            self.body.push_str(", ");
            float_literal(float.scalar(), 0.9, &mut self.body);
            self.body.push(')');
        } else {
            let start = self.body.len();
            float_literal(float.scalar(), 0.8, &mut self.body);
            self.body.push_str(" * ");
            let call = *self.random.pick(&["wp.sin(", "wp.cos(", "wp.tanh("]);
            self.body.push_str(call);
            self.operand(float, depth, 0);
            self.body.push(')');
            if precedence > 2 {
                self.body.insert(start, '(');
                self.body.push(')');
            }
        }
        0.9
    }

    /// A float of at least 0.1.
    fn positive(&mut self, depth: u8, precedence: u8) -> f32 {
        let float = self.float();
        let start = self.body.len();
        let bound;
        if self.random.chance(60) {
            self.body.push_str("wp.abs(");
            bound = self.operand(float, depth, 0) + 3.0;
            self.body.push_str(") + ");
        } else {
            // The same leaf twice: a square that costs one name.
            let leaf = self.body.len();
            let written = self.leaf(float);
            let text = self.body[leaf..].to_owned();
            self.body.push_str(" * ");
            self.body.push_str(&text);
            self.body.push_str(" + ");
            bound = written.bound * written.bound + 3.0;
        }
        let value = any_float(&mut self.random, false);
        float_literal(float.scalar(), value, &mut self.body);
        if precedence > 1 {
            self.body.insert(start, '(');
            self.body.push(')');
        }
        bound
    }

    /// An integer of at least 1, as an operand of a product.
    fn positive_integer(&mut self) {
        let integer = self.palette.integer;
        if self.random.chance(60) {
            let value = 2 + self.random.below(7) as u32;
            return integer_literal(integer, value, &mut self.body);
        }
        self.body.push_str("((");
        self.leaf(Kind::Scalar(integer));
        self.body.push_str(" & ");
        integer_literal(integer, 7, &mut self.body);
        self.body.push_str(") + ");
        integer_literal(integer, 1, &mut self.body);
        self.body.push(')');
    }

    fn unit_quat(&mut self, depth: u8, _precedence: u8) {
        let quat = Kind::Quat(self.palette.float);
        self.body.push_str("wp.normalize(");
        self.operand(quat, depth.min(1), 0);
        self.body.push(')');
    }

    fn rigid_transform(&mut self, depth: u8) {
        let vector = Kind::Vector(3, self.palette.float);
        Kind::Transform(self.palette.float).spell(true, &mut self.body);
        self.body.push('(');
        self.operand(vector, depth.min(1), 0);
        self.body.push_str(", ");
        self.unit_quat(0, 0);
        self.body.push(')');
    }

    /// A matrix whose rows sum to less than its diagonal: the identity and a small part of another.
    fn regular_matrix(&mut self, n: u8) {
        let scalar = self.palette.float;
        self.body.push_str("wp.identity(n=");
        integer(u64::from(n), &mut self.body);
        self.body.push_str(", dtype=");
        self.float().spell(self.plain_types, &mut self.body);
        self.body.push_str(") + ");
        let start = self.body.len();
        let written = self.leaf(Kind::Matrix(n, scalar));
        if written.bound > 2.0 {
            // Anything that grew is not small; the transposed identity is.
            self.body.truncate(start);
            self.body.push_str("wp.diag(");
            Kind::Vector(n, scalar).spell(true, &mut self.body);
            self.body.push('(');
            float_literal(scalar, any_float(&mut self.random, true), &mut self.body);
            self.body.push_str("))");
        }
        self.body.push_str(" * ");
        float_literal(scalar, 0.1, &mut self.body);
    }

    /// A vector that is not near zero.
    fn direction(&mut self, n: u8, depth: u8) {
        let kind = Kind::Vector(n, self.palette.float);
        self.operand(kind, depth.min(1), 1);
        self.body.push_str(" + ");
        kind.spell(true, &mut self.body);
        self.body.push('(');
        for component in 0..n {
            if component > 0 {
                self.body.push_str(", ");
            }
            let value = if component == n - 1 {
                5.0
            } else {
                0.1 * f32::from(component)
            };
            float_literal(kind.scalar(), value, &mut self.body);
        }
        self.body.push(')');
    }

    /// A one-dimensional array of floats, by name.
    fn whole_array(&mut self) -> Name {
        let float = self.float();
        let known = self
            .inputs
            .iter()
            .find(|input| input.kind == float && input.rank == 1);
        match known {
            Some(input) => input.name.clone(),
            None => {
                let position = self.new_input(float, 1);
                self.inputs[position].name.clone()
            }
        }
    }

    /// A call of one of the program's own functions.
    fn call_function(&mut self, kind: Kind, depth: u8) -> Option<Written> {
        let position = self.functions.iter().position(|f| f.result == kind)?;
        let function = self.functions[position].clone();
        self.body.push_str(&function.name);
        self.body.push('(');
        for (n, param) in function.params.iter().enumerate() {
            if n > 0 {
                self.body.push_str(", ");
            }
            self.operand(*param, depth.saturating_sub(2), 0);
        }
        self.body.push(')');
        Some(Written {
            precedence: 4,
            bound: 100.0,
        })
    }

    /// Writes something that is already there: a variable, an element, a literal.
    pub(super) fn leaf(&mut self, kind: Kind) -> Written {
        let atom = |bound| Written {
            precedence: 4,
            bound,
        };
        if kind == Kind::Scalar(Scalar::Bool) && !self.vars.iter().any(|v| v.kind == kind) {
            return self.comparison();
        }
        let matching = self.vars.iter().filter(|var| var.kind == kind).count();
        let only_the_last = matching == 1
            && self
                .last_read
                .is_some_and(|last| self.vars.get(last).is_some_and(|var| var.kind == kind));
        let percent = if only_the_last { 25 } else { 78 };
        if matching > 0 && (self.random.chance(percent) || !self.arrays) {
            // What nothing has read yet comes first, so that little of a program is dead.
            let unread = self.vars.iter().position(|v| v.kind == kind && !v.used);
            let position = match unread {
                Some(position) if self.random.chance(60) => position,
                _ => {
                    let last = self.last_read;
                    let others = matching
                        - usize::from(last.is_some_and(|last| {
                            matching > 1 && self.vars.get(last).is_some_and(|v| v.kind == kind)
                        }));
                    let chosen = self.random.below(others);
                    let mut of_kind = self.vars.iter().enumerate().filter(|(n, v)| {
                        v.kind == kind && (others == matching || Some(*n) != last)
                    });
                    of_kind.nth(chosen).map_or(0, |(position, _)| position)
                }
            };
            self.last_read = Some(position);
            let var = &mut self.vars[position];
            var.used = true;
            self.body.push_str(&var.text);
            return atom(var.bound);
        }
        if self.arrays && kind != Kind::Scalar(Scalar::Bool) {
            let readable = |input: &Input, rank| input.kind == kind && input.rank == rank;
            let rank = self.rank;
            let known = self
                .inputs
                .iter()
                .filter(|input| readable(input, rank))
                .count();
            let room = self.params.len() < self.max_params;
            if known > 0 && (!room || self.random.chance(60)) {
                let chosen = self.random.below(known);
                let name = self
                    .inputs
                    .iter()
                    .filter(|input| readable(input, rank))
                    .nth(chosen)
                    .map(|input| input.name.clone())
                    .unwrap_or_default();
                self.element(&name);
                return atom(input_bound(kind));
            }
            if room {
                if self.random.chance(self.plan.setting_percent) {
                    let name = self.new_setting(kind);
                    self.body.push_str(&name);
                } else {
                    let position = self.new_input(kind, self.rank);
                    let name = self.inputs[position].name.clone();
                    self.element(&name);
                }
                return atom(input_bound(kind));
            }
        }
        self.constant(kind)
    }

    fn element(&mut self, name: &str) {
        self.body.push_str(name);
        self.body.push('[');
        self.body.push_str(&self.index);
        self.body.push(']');
    }

    /// A comparison of two leaves.
    fn comparison(&mut self) -> Written {
        let float = self.float();
        self.leaf(float);
        let comparison = *self.random.pick(&[" < ", " > ", " <= ", " >= "]);
        self.body.push_str(comparison);
        let value = any_float(&mut self.random, false);
        float_literal(float.scalar(), value, &mut self.body);
        Written {
            precedence: 0,
            bound: 1.0,
        }
    }

    /// A value made of literals.
    fn constant(&mut self, kind: Kind) -> Written {
        let scalar = kind.scalar();
        let count = match kind {
            Kind::Scalar(Scalar::Bool) => {
                let truth = self.random.chance(50);
                self.body.push_str(if truth { "True" } else { "False" });
                0
            }
            Kind::Scalar(scalar) if scalar.is_float() => {
                let value = any_float(&mut self.random, false);
                float_literal(scalar, value, &mut self.body);
                0
            }
            Kind::Scalar(scalar) => {
                let value = 1 + self.random.below(9) as u32;
                integer_literal(scalar, value, &mut self.body);
                0
            }
            Kind::Quat(_) | Kind::Transform(_) => {
                self.body.push_str(match kind {
                    Kind::Quat(_) => "wp.quat_identity(dtype=",
                    _ => "wp.transform_identity(dtype=",
                });
                Kind::Scalar(scalar).spell(false, &mut self.body);
                self.body.push(')');
                0
            }
            Kind::Vector(6, _) => 6,
            Kind::Vector(n, _) => n,
            Kind::Matrix(..) => 1,
        };
        if count > 0 {
            kind.spell(true, &mut self.body);
            self.body.push('(');
            for n in 0..count {
                if n > 0 {
                    self.body.push_str(", ");
                }
                if scalar.is_float() {
                    let value = any_float(&mut self.random, false);
                    float_literal(scalar, value, &mut self.body);
                } else {
                    let value = 1 + self.random.below(9) as u32;
                    integer_literal(scalar, value, &mut self.body);
                }
            }
            self.body.push(')');
        }
        Written {
            precedence: 4,
            bound: 10.0,
        }
    }

    /// Writes an expression whose outermost form is not a leaf, so that its value is never a constant.
    pub(super) fn computed(&mut self, kind: Kind, depth: u8) -> f32 {
        let start = self.body.len();
        for _ in 0..3 {
            let written = self.expression(kind, depth.max(1));
            if !is_literal(&self.body[start..]) {
                return written.bound;
            }
            self.body.truncate(start);
        }
        // A call of the type with a literal is a variable, not a constant.
        kind.spell(true, &mut self.body);
        self.body.push('(');
        let pattern = if kind.scalar().is_float() {
            Pattern::Float
        } else {
            Pattern::Int32
        };
        match pattern {
            Pattern::Float => float_literal(Scalar::F32, 0.5, &mut self.body),
            _ => integer(3, &mut self.body),
        }
        self.body.push(')');
        4.0
    }
}
