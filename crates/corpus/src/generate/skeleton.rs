//! The bodies of kernels, one shape per category.
//!
//! Invariants: a thread writes only its own elements, or through atomic operations; it reads arrays that
//! somebody writes only at its own indices; every other index is guarded.

use super::builder::{Builder, Param, ParamType};
use super::kind::{Kind, Scalar};
use super::statement::LoopStyle;
use super::text::{Name, float_literal, integer};
use crate::category::Category;

/// Names of the thread's coordinates, by rank.
const COORDINATES: [&[[&str; 4]]; 4] = [
    &[
        ["i", "", "", ""],
        ["tid", "", "", ""],
        ["idx", "", "", ""],
        ["thread", "", "", ""],
    ],
    &[
        ["i", "j", "", ""],
        ["row", "col", "", ""],
        ["x", "y", "", ""],
        ["u", "v", "", ""],
    ],
    &[
        ["i", "j", "k", ""],
        ["x", "y", "z", ""],
        ["plane", "row", "col", ""],
    ],
    &[["i", "j", "k", "l"], ["batch", "plane", "row", "col"]],
];

impl Builder {
    /// Writes the kernel's body.
    pub(super) fn kernel_body(&mut self) {
        let category = self.plan.category;
        self.rank = match category {
            Category::MultiDim => 2 + self.random.weighted(&[55, 30, 15]) as u8,
            Category::Stencil => 1 + self.random.weighted(&[40, 45, 15]) as u8,
            Category::NestedLoop => 1 + u8::from(self.random.chance(30)),
            Category::Atomic | Category::Reduction => 1,
            _ => 1 + u8::from(self.random.chance(10)),
        };
        self.thread_coordinates();
        let level = usize::from(self.plan.difficulty);
        let nest = [0, 0, 1, 1, 2, 3][level];
        match category {
            Category::Stencil => self.neighbours(),
            Category::Reduction => self.reduction(),
            Category::Random => self.random_state(),
            Category::Structs => self.struct_fields(),
            _ => self.guard(),
        }
        if category == Category::ScalarParam {
            self.max_params += 3;
        }
        if category == Category::Functions {
            self.call_functions();
        }
        self.featured();
        match category {
            Category::NestedLoop => {
                let styles = [LoopStyle::Unrolled, LoopStyle::Long, LoopStyle::Dynamic];
                let style = styles[self.random.weighted(&[20, 10, 70])];
                let depth = 1 + u8::from(level > 3);
                self.nested_loops(style, depth);
            }
            Category::MultiConditional => self.condition_chain(level),
            Category::ControlFlow if self.random.chance(50) => self.branch(nest),
            Category::ControlFlow => {
                let style = self.loop_style();
                self.loop_statement(style, nest);
            }
            _ => {}
        }
        let more = [0, 0, 1, 2, 3, 5][level] + self.random.below(2);
        self.statements(more, nest);
        match category {
            Category::Atomic => self.atomic_results(level),
            Category::Structs if self.random.chance(60) => self.struct_result(),
            _ => self.results(),
        }
    }

    fn thread_coordinates(&mut self) {
        let names = *self.random.pick(COORDINATES[usize::from(self.rank) - 1]);
        let names = &names[..usize::from(self.rank)];
        self.index = names.join(", ");
        for name in names {
            self.taken.take(Name::Borrowed(name));
        }
        self.begin();
        self.body.push_str(&self.index);
        self.body.push_str(" = wp.tid()\n");
        for name in names {
            let coordinate = Name::Borrowed(name);
            self.declare(coordinate, Kind::Scalar(Scalar::I32), 1000.0, false);
            if let Some(var) = self.vars.last_mut() {
                var.used = true;
            }
        }
    }

    /// The name of the first coordinate.
    fn first_coordinate(&self) -> &str {
        self.index.split(", ").next().unwrap_or("i")
    }

    /// Sometimes, threads beyond the data return at once.
    fn guard(&mut self) {
        if !self.random.chance(28) {
            return;
        }
        if self.rank == 1 && self.random.chance(60) {
            let words = ["count", "total", "num_items", "length_limit"];
            let name = self.taken.fresh(&words, &mut self.random);
            self.params.push(Param {
                name: name.clone(),
                ty: ParamType::Value(Kind::Scalar(Scalar::I32)),
            });
            let first = self.first_coordinate().to_owned();
            self.line_of(&["if ", &first, " >= ", &name, ":"]);
        } else {
            let float = self.float();
            let input = self.new_input(float, self.rank);
            let name = self.inputs[input].name.clone();
            let tests = (self.index.split(", ").enumerate())
                .map(|(axis, coordinate)| format!("{coordinate} >= {name}.shape[{axis}]"))
                .collect::<Vec<_>>();
            self.line(&format!("if {}:", tests.join(" or ")));
        }
        self.indented_return();
    }

    fn indented_return(&mut self) {
        self.indent += 1;
        self.line("return");
        self.indent -= 1;
    }

    /// The values around an element, away from the borders or clamped to them.
    fn neighbours(&mut self) {
        let kind = match self.random.chance(75) {
            true => self.float(),
            false => Kind::Vector(3, self.palette.float),
        };
        let input = self.new_input(kind, self.rank);
        let name = self.inputs[input].name.clone();
        let reach = 1 + self.random.below(2);
        let index = self.index.clone();
        let coordinates: Vec<&str> = index.split(", ").collect();
        let clamped = self.random.chance(40);
        if !clamped {
            let tests: Vec<String> = coordinates
                .iter()
                .enumerate()
                .map(|(axis, c)| format!("{c} < {reach} or {c} >= {name}.shape[{axis}] - {reach}"))
                .collect();
            self.line(&format!("if {}:", tests.join(" or ")));
            self.indented_return();
        }
        let words: &[&'static str] = &[
            "left", "right", "north", "south", "above", "below", "ahead", "behind", "west", "east",
        ];
        self.element_variable(&name, &index, kind, &["center_value", "here", "current"]);
        for (axis, coordinate) in coordinates.iter().enumerate() {
            if axis > 0 && self.random.chance(15) {
                continue;
            }
            for side in [-1, 1] {
                let offset = 1 + self.random.below(reach);
                let place = match (side, clamped) {
                    (-1, false) => format!("{coordinate} - {offset}"),
                    (-1, true) => format!("wp.max({coordinate} - {offset}, 0)"),
                    (_, false) => format!("{coordinate} + {offset}"),
                    (_, true) => {
                        format!("wp.min({coordinate} + {offset}, {name}.shape[{axis}] - 1)")
                    }
                };
                let mut indices: Vec<&str> = coordinates.clone();
                indices[axis] = &place;
                self.element_variable(&name, &indices.join(", "), kind, words);
            }
        }
    }

    /// `name = array[index]`.
    fn element_variable(&mut self, array: &str, index: &str, kind: Kind, words: &[&'static str]) {
        let name = self.taken.fresh(words, &mut self.random);
        self.line(&format!("{name} = {array}[{index}]"));
        self.declare(name, kind, 2.0, true);
    }

    /// A row of a table, reduced by one thread.
    fn reduction(&mut self) {
        let kind = match self.random.chance(75) {
            true => self.float(),
            false => Kind::Vector(3, self.palette.float),
        };
        let input = self.new_input(kind, 2);
        let table = self.inputs[input].name.clone();
        let row = self.index.clone();
        let total = match kind {
            Kind::Scalar(_) => self.zero_statement(kind),
            _ => {
                self.zero_statement(kind);
                self.zero_statement(self.float())
            }
        };
        let counter = self
            .taken
            .fresh(super::vocabulary::COUNTERS, &mut self.random);
        let trips = [8, 10, 12, 16][self.random.below(4)];
        let range = match self.random.below(4) {
            0 => format!("{}", trips / 4),
            1 => format!("0, {trips}, 4"),
            _ => format!("wp.min({table}.shape[1], {trips})"),
        };
        let copies = std::mem::replace(&mut self.copies, 4);
        self.line(&format!("for {counter} in range({range}):"));
        self.indent += 1;
        let scope = self.vars.len();
        let outside = self.enter_loop(16.0);
        self.unrolled += 1;
        self.element_variable(
            &table,
            &format!("{row}, {counter}"),
            kind,
            &["entry", "item", "element", "cell_value"],
        );
        self.declare(counter, Kind::Scalar(Scalar::I32), 16.0, false);
        if let Some(var) = self.vars.last_mut() {
            var.used = true;
        }
        let scalar = self.float();
        let item = self.vars[scope].text.clone();
        match self.random.below(4) {
            0 if kind == scalar => {
                let word = *self.random.pick(&["max", "min"]);
                self.line(&format!("{total} = wp.{word}({total}, {item})"));
                self.vars[scope].used = true;
                self.grow(&total, 10.0);
            }
            1 if kind == scalar => {
                self.line(&format!("{total} += {item} * {item}"));
                self.vars[scope].used = true;
                self.grow(&total, 100.0);
            }
            _ => self.update(&total),
        }
        if self.plan.difficulty > 2 && self.random.chance(50) {
            self.branch(0);
        }
        self.leave_scope(scope, &total);
        self.indent -= 1;
        self.unrolled -= 1;
        self.copies = copies;
        self.leave_loop(outside);
    }

    fn random_state(&mut self) {
        let words = ["seed", "run_seed", "base_seed", "frame_seed"];
        let seed = self.taken.fresh(&words, &mut self.random);
        self.params.push(Param {
            name: seed.clone(),
            ty: ParamType::Value(Kind::Scalar(Scalar::I32)),
        });
        let words = ["state", "rng", "rand_state", "generator"];
        let state = self.taken.fresh(&words, &mut self.random);
        let coordinates: Vec<String> = self.index.split(", ").map(str::to_owned).collect();
        let offset = match coordinates.as_slice() {
            [one] => one.clone(),
            [first, second, ..] => format!("{first} * 1000 + {second}"),
            [] => "0".to_owned(),
        };
        let line = match self.random.below(3) {
            0 => format!("{state} = wp.rand_init({seed} + {offset})"),
            _ => format!("{state} = wp.rand_init({seed}, {offset})"),
        };
        self.line(&line);
        self.state = Some(state);
    }

    /// Loops within loops, all of them changing one value.
    fn nested_loops(&mut self, style: LoopStyle, depth: u8) {
        let name = self.accumulator();
        let counters: Vec<Name> = (0..=depth)
            .map(|_| {
                self.taken
                    .fresh(super::vocabulary::COUNTERS, &mut self.random)
            })
            .collect();
        let scope = self.vars.len();
        let indent = self.indent;
        let mut dynamic = matches!(style, LoopStyle::Long | LoopStyle::Dynamic);
        let (unrolled, copies) = (self.unrolled, self.copies);
        // The outermost has up to 20 trips; those within have 4, or as many as the one around them.
        let outside = self.enter_loop([80.0, 320.0][usize::from(depth > 1)]);
        for (level, counter) in counters.iter().enumerate() {
            let trips = 2 + self.random.below(2);
            let depends = level > 0 && dynamic && self.random.chance(50);
            let line = match (style, level) {
                (LoopStyle::Long, 0) => format!("for {counter} in range({}):", 16 + trips),
                (LoopStyle::Dynamic, 0) => {
                    let limit = self.trip_limit();
                    format!("for {counter} in range(wp.min({limit}, {})):", trips + 4)
                }
                _ if depends => format!("for {counter} in range({} + 1):", counters[level - 1]),
                _ => {
                    dynamic = false;
                    self.unrolled += 1;
                    self.copies *= 2;
                    let trips = 2;
                    match self.random.below(3) {
                        0 => format!("for {counter} in range(1, {}):", trips + 1),
                        _ => format!("for {counter} in range({trips}):"),
                    }
                }
            };
            self.line(&line);
            self.indent += 1;
            self.declare(counter.clone(), Kind::Scalar(Scalar::I32), 20.0, false);
            if level == 0 && self.random.chance(40) {
                self.update(&name);
            }
        }
        let inner = self.vars.len();
        if self.random.chance(50) {
            let kind = self.any_kind();
            self.let_statement(kind, 1);
        }
        self.update(&name);
        self.leave_scope(inner, &name);
        self.leave_scope(scope, &name);
        (self.unrolled, self.copies) = (unrolled, copies);
        self.leave_loop(outside);
        self.indent = indent;
    }

    /// `if`, several `elif`, `else`.
    fn condition_chain(&mut self, level: usize) {
        let name = self.accumulator();
        self.arm("if ", &name, 0);
        for _ in 0..1 + self.random.below(1 + level) {
            self.arm("elif ", &name, u8::from(level > 3));
        }
        if self.random.chance(80) {
            self.line("else:");
            self.block(&name, 0);
        }
    }

    /// Gathers what nothing has read yet into the results, each in its own array.
    pub(super) fn results(&mut self) {
        let mut kind = self.any_kind();
        if let Some(unread) = self.vars.iter().rev().find(|var| !var.used)
            && self.random.chance(70)
        {
            kind = unread.kind;
        }
        if kind == Kind::Scalar(Scalar::Bool) {
            kind = self.float();
        }
        let output = self.new_output(kind, self.rank);
        let depth = self.depth();
        self.begin();
        let index = self.index.clone();
        self.write(&[&output, "[", &index, "] = "]);
        let rest = self.gather(kind, depth);
        self.body.push('\n');
        if rest {
            let float = self.float();
            let second = self.new_output(float, self.rank);
            self.begin();
            let operator = if self.random.chance(15) { "+=" } else { "=" };
            self.write(&[&second, "[", &index, "] ", operator, " "]);
            self.gather(float, 1);
            self.body.push('\n');
        }
    }

    /// An expression of `kind` that reads every unread variable that can be part of it; tells whether
    /// some are left.
    pub(super) fn gather(&mut self, kind: Kind, depth: u8) -> bool {
        let start = self.body.len();
        let written = self.expression(kind, depth);
        let scalar_result = kind == self.float();
        let fits = |var: &super::builder::Var| !var.used && (var.kind == kind || scalar_result);
        if self.vars.iter().any(fits) && written.precedence < 1 {
            self.body.insert(start, '(');
            self.body.push(')');
        }
        for position in 0..self.vars.len() {
            if !fits(&self.vars[position]) {
                continue;
            }
            self.vars[position].used = true;
            let (text, kind) = (self.vars[position].text.clone(), self.vars[position].kind);
            let bound = self.vars[position].bound;
            match kind {
                // Bits and products are what combines these; a sum would not be a rotation.
                Kind::Quat(_) | Kind::Transform(_) if !scalar_result => {
                    self.body.insert(start, '(');
                    self.body.push_str(") * ");
                    self.body.push_str(&text);
                }
                _ => {
                    self.body.push_str(" + ");
                    if scalar_result {
                        self.contribution(&text, kind, bound);
                    } else {
                        self.body.push_str(&text);
                    }
                }
            }
        }
        self.vars.iter().any(|var| !var.used)
    }

    /// Results that threads share: sums, extremes, bits, and exchanges of a thread's own element.
    fn atomic_results(&mut self, level: usize) {
        let float = self.float();
        let int32 = Kind::Scalar(Scalar::I32);
        let count = 1 + self.random.below(1 + level.div_ceil(2));
        for round in 0..count {
            let style = self.random.below(9);
            let kind = match style {
                4..=6 => Kind::Scalar(*self.random.pick(&[Scalar::I32, Scalar::U32, Scalar::I64])),
                7 => int32,
                _ if self.random.chance(70) => float,
                0 | 1 if self.random.chance(50) => Kind::Vector(3, self.palette.float),
                _ => int32,
            };
            let place = self.shared_place(style >= 7);
            let word = [
                "add", "sub", "min", "max", "and", "or", "xor", "cas", "exch",
            ][style];
            let shared = self.new_output(kind, 1);
            self.begin();
            let symbol = self.random.chance(30);
            match (style, symbol) {
                (0, true) => self.write(&[&shared, "[", &place, "] += "]),
                (1, true) => self.write(&[&shared, "[", &place, "] -= "]),
                (4..=6, true) => {
                    let operator = ["&=", "|=", "^="][style - 4];
                    self.write(&[&shared, "[", &place, "] ", operator, " "]);
                }
                _ => self.write(&["wp.atomic_", word, "(", &shared, ", ", &place, ", "]),
            }
            if style == 7 {
                integer(self.random.below(50) as u64, &mut self.body);
                self.body.push_str(", ");
            }
            if round == 0 && kind == float {
                self.gather(kind, 1);
            } else {
                let written = self.expression(kind, 1);
                // Signed sums over a thousand threads must stay in range.
                if written.bound > 1e5 {
                    self.body.push_str(" * ");
                    float_literal(kind.scalar(), 0.0, &mut self.body);
                }
            }
            let called = !(symbol && matches!(style, 0 | 1 | 4..=6));
            self.body.push_str(if called { ")\n" } else { "\n" });
        }
        if self.vars.iter().any(|var| !var.used) {
            self.results();
        }
    }

    /// Where threads meet: one cell, a cell per bucket; or, for exchanges, a thread's own.
    fn shared_place(&mut self, own: bool) -> String {
        let index = self.index.clone();
        if own {
            return index;
        }
        match self.random.below(4) {
            0 => "0".to_owned(),
            1 => index + [" % 4", " % 8", " % 16", " % 32"][self.random.below(4)],
            2 => {
                let int32 = Kind::Scalar(Scalar::I32);
                let input = self.new_input(int32, 1);
                [&self.inputs[input].name, "[", &index, "]"].concat()
            }
            _ => index + [" // 2", " // 4", " // 16"][self.random.below(3)],
        }
    }
}
