//! Statements that are featured for their own sake: stores into parts of values, checks, output.

use super::builder::Builder;
use super::kind::{Kind, Scalar};
use super::text::{any_float, float_literal, integer};
use crate::category::Category;

/// A statement that a plan can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Construct {
    ComponentSet,
    ComponentAdd,
    ComponentSub,
    LetterSet,
    ElementSet,
    ElementAdd,
    BitsInPlace,
    SetTranslation,
    SetRotation,
    ExpectEqual,
    ExpectNotEqual,
    ExpectNear,
    Print,
    Printf,
    NamedConstant,
}

impl Construct {
    /// Those that suit a category.
    pub(super) fn of_category(category: Category) -> &'static [Self] {
        match category {
            Category::Vector => &[
                Self::ComponentSet,
                Self::ComponentAdd,
                Self::ComponentSub,
                Self::LetterSet,
                Self::ExpectEqual,
            ],
            Category::Matrix => &[Self::ElementSet, Self::ElementAdd],
            Category::IntegerBits => &[Self::BitsInPlace],
            Category::Quaternion => &[Self::SetTranslation, Self::SetRotation, Self::LetterSet],
            Category::Combined => &[
                Self::ExpectEqual,
                Self::ExpectNotEqual,
                Self::ExpectNear,
                Self::Print,
                Self::Printf,
                Self::NamedConstant,
                Self::ComponentSet,
                Self::ElementSet,
            ],
            _ => &[Self::NamedConstant],
        }
    }
}

impl Builder {
    /// Writes the statements of a construct.
    pub(super) fn construct(&mut self, construct: Construct) {
        let float = self.palette.float;
        match construct {
            Construct::ComponentSet => self.part_store(Kind::Vector(3, float), "[", "] = "),
            Construct::ComponentAdd => self.part_store(Kind::Vector(4, float), "[", "] += "),
            Construct::ComponentSub => self.part_store(Kind::Vector(2, float), "[", "] -= "),
            Construct::LetterSet => self.part_store(Kind::Vector(3, float), ".", " = "),
            Construct::ElementSet => self.part_store(Kind::Matrix(3, float), "[", "] = "),
            Construct::ElementAdd => self.part_store(Kind::Matrix(2, float), "[", "] += "),
            Construct::BitsInPlace => self.bits_in_place(),
            Construct::SetTranslation => self.set_part("p", Kind::Vector(3, float)),
            Construct::SetRotation => self.set_part("q", Kind::Quat(float)),
            Construct::ExpectEqual | Construct::ExpectNotEqual | Construct::ExpectNear => {
                self.expectation(construct);
            }
            Construct::Print | Construct::Printf => self.output(construct == Construct::Print),
            Construct::NamedConstant => self.named_constant(),
        }
    }

    /// A new variable, then a store into a part of it.
    fn part_store(&mut self, kind: Kind, open: &str, close: &str) {
        let name = self.let_statement(kind, 1);
        self.begin();
        self.body.push_str(&name);
        self.body.push_str(open);
        match kind {
            Kind::Vector(n, _) if open == "." => {
                let letter = b"xyzw"[self.random.below(usize::from(n))];
                self.body.push(char::from(letter));
            }
            Kind::Matrix(n, _) => {
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
                self.body.push_str(", ");
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
            }
            Kind::Vector(n, _) => {
                integer(self.random.below(usize::from(n)) as u64, &mut self.body);
            }
            _ => {}
        }
        self.body.push_str(close);
        let float = self.float();
        let bound = self.computed(float, 1);
        self.body.push('\n');
        self.grow(&name, bound);
    }

    fn bits_in_place(&mut self) {
        let kind = Kind::Vector(3, self.palette.integer);
        let name = self.let_statement(kind, 1);
        let operator = *self.random.pick(&["&=", "|=", "^="]);
        self.begin();
        self.body.push_str(&name);
        self.body.push('[');
        integer(self.random.below(3) as u64, &mut self.body);
        self.body.push_str("] ");
        self.body.push_str(operator);
        self.body.push(' ');
        let integer_kind = self.integer();
        self.operand(integer_kind, 1, 0);
        self.body.push('\n');
    }

    fn set_part(&mut self, letter: &str, kind: Kind) {
        let transform = Kind::Transform(self.palette.float);
        let name = self.let_statement(transform, 1);
        if self.random.chance(50) {
            self.begin();
            self.body.push_str(&name);
            self.body.push('.');
            self.body.push_str(letter);
            self.body.push_str(" = ");
            let bound = self.computed(kind, 1);
            self.body.push('\n');
            self.grow(&name, bound);
        } else {
            self.begin();
            self.body.push_str(match letter {
                "p" => "wp.transform_set_translation(",
                _ => "wp.transform_set_rotation(",
            });
            self.body.push_str(&name);
            self.body.push_str(", ");
            let bound = self.operand(kind, 1, 0);
            self.body.push_str(")\n");
            self.grow(&name, bound);
        }
    }

    /// A check that holds whatever the inputs are.
    fn expectation(&mut self, construct: Construct) {
        let float = self.float();
        let name = self.let_statement(float, 2);
        let literal = |value: f32| {
            let mut text = String::new();
            float_literal(float.scalar(), value, &mut text);
            text
        };
        let line = match construct {
            Construct::ExpectEqual => format!("wp.expect_eq({name}, {name})"),
            Construct::ExpectNotEqual => {
                format!(
                    "wp.expect_neq(wp.abs({name}) + {}, {})",
                    literal(1.0),
                    literal(0.5)
                )
            }
            _ => format!("wp.expect_near({name}, {name}, {})", literal(0.01)),
        };
        self.line(&line);
    }

    /// Output of one thread, so that a million threads print one line.
    fn output(&mut self, plain: bool) {
        let kind = Kind::Scalar(Scalar::I32);
        let name = self.let_statement(kind, 1);
        let first = self.index.split(", ").next().unwrap_or("0").to_owned();
        self.line(&format!("if {first} == 0:"));
        self.indent += 1;
        if plain {
            self.line(&format!("print({name})"));
        } else {
            self.line(&format!("wp.printf(\"{name}: %d\\n\", {name})"));
        }
        self.indent -= 1;
    }

    /// A constant of the module, and a value that uses it.
    pub(super) fn named_constant(&mut self) {
        let float = self.float();
        let name = self
            .taken
            .fresh(super::vocabulary::CONSTANTS, &mut self.random);
        let value = any_float(&mut self.random, false);
        self.prelude.push_str(&name);
        self.prelude.push_str(" = ");
        let wrapped = self.random.chance(40) && float.scalar() == Scalar::F32;
        if wrapped {
            self.prelude.push_str("wp.constant(");
        }
        float_literal(float.scalar(), value, &mut self.prelude);
        self.prelude.push_str(if wrapped { ")\n" } else { "\n" });
        let local = self
            .taken
            .fresh(super::text::local_words(float), &mut self.random);
        self.begin();
        self.body.push_str(&local);
        self.body.push_str(" = ");
        self.body.push_str(&name);
        self.body.push_str(" * ");
        let bound = self.operand(float, 1, 3);
        self.body.push('\n');
        self.declare(local, float, bound * 3.0, true);
    }

    /// Notes that a variable now holds something of another size.
    pub(super) fn grow(&mut self, name: &str, bound: f32) {
        if let Some(var) = self.vars.iter_mut().find(|var| var.text == name) {
            var.bound = var.bound.max(bound);
        }
    }
}
