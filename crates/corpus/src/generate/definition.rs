//! Definitions beside the kernel: functions and structs.

use super::builder::{Builder, Param, ParamType, StructElement, UserFunction};
use super::kind::{Kind, Scalar};
use super::text::Name;
use super::vocabulary as words;

impl Builder {
    /// Writes the functions that a kernel of this category calls.
    pub(super) fn define_functions(&mut self) {
        let count = 1 + self.random.below(1 + usize::from(self.plan.difficulty) / 2);
        for _ in 0..count {
            self.define_function();
        }
    }

    fn define_function(&mut self) {
        let name = self.taken.fresh(words::FUNCTIONS, &mut self.random);
        let float = self.float();
        let vector = Kind::Vector(3, self.palette.float);
        let result = [float, vector][self.random.weighted(&[75, 25])];
        let mut kinds = vec![[float, vector][self.random.weighted(&[70, 30])]];
        for _ in 0..self.random.below(3) {
            kinds.push([float, Kind::Scalar(Scalar::I32)][self.random.weighted(&[85, 15])]);
        }
        let body = std::mem::take(&mut self.body);
        let vars = std::mem::take(&mut self.vars);
        let params = std::mem::take(&mut self.params);
        self.arrays = false;
        let mut header = format!("@wp.func\ndef {name}(");
        let mut taken = super::text::NamesTaken::default();
        std::mem::swap(&mut taken, &mut self.taken);
        for function in &self.functions {
            self.taken.take(function.name.clone());
        }
        for (n, kind) in kinds.iter().enumerate() {
            let pool: &[&'static str] = match kind {
                Kind::Vector(..) => &["direction", "point", "offset", "along"],
                Kind::Scalar(Scalar::I32) => &["order", "level", "mode", "steps"],
                _ => &["x", "amount", "value", "rate", "level_in", "scale", "t"],
            };
            let parameter = self.taken.fresh(pool, &mut self.random);
            if n > 0 {
                header.push_str(", ");
            }
            header.push_str(&parameter);
            header.push_str(": ");
            kind.spell(self.plain_types, &mut header);
            self.declare(parameter, *kind, 20.0, false);
        }
        header.push(')');
        if self.random.chance(40) {
            header.push_str(" -> ");
            result.spell(self.plain_types, &mut header);
        }
        header.push_str(":\n");
        let functions = self.functions.len();
        if self.random.chance(25) {
            self.early_return(result);
        }
        let count = self
            .random
            .below(1 + usize::from(self.plan.difficulty).min(3));
        let nest = u8::from(self.plan.difficulty > 3);
        self.statements(count, nest);
        self.begin();
        self.body.push_str("return ");
        let rest = self.gather(result, 2);
        self.body.push('\n');
        debug_assert!(functions <= self.functions.len());
        if rest {
            // What a vector cannot take up does not change the result; a caller may drop it.
            self.vars.clear();
        }
        self.weigh();
        let text = std::mem::replace(&mut self.body, body);
        self.weigh();
        self.vars = vars;
        self.params = params;
        self.arrays = true;
        self.taken = taken;
        if !self.prelude.is_empty() {
            self.prelude.push_str("\n\n");
        }
        self.prelude.push_str(&header);
        self.prelude.push_str(&text);
        self.functions.push(UserFunction {
            name,
            params: kinds,
            result,
        });
    }

    fn early_return(&mut self, result: Kind) {
        self.begin();
        self.body.push_str("if ");
        self.operand(Kind::Scalar(Scalar::Bool), 0, 0);
        self.body.push_str(":\n");
        self.indent += 1;
        self.begin();
        self.body.push_str("return ");
        self.computed(result, 1);
        self.body.push('\n');
        self.indent -= 1;
    }

    /// A value from each function, so that each is reached.
    pub(super) fn call_functions(&mut self) {
        for position in 0..self.functions.len() {
            let function = self.functions[position].clone();
            let name = self
                .taken
                .fresh(super::text::local_words(function.result), &mut self.random);
            self.begin();
            self.body.push_str(&name);
            self.body.push_str(" = ");
            self.body.push_str(&function.name);
            self.body.push('(');
            for (n, kind) in function.params.iter().enumerate() {
                if n > 0 {
                    self.body.push_str(", ");
                }
                let depth = self.random.below(2) as u8;
                self.operand(*kind, depth, 0);
            }
            self.body.push_str(")\n");
            self.declare(name, function.result, 100.0, true);
        }
    }

    /// Defines a struct, takes an array of them, and brings its fields into scope.
    pub(super) fn struct_fields(&mut self) {
        let struct_name = self.taken.fresh(words::STRUCTS, &mut self.random);
        let float = self.float();
        let vector = Kind::Vector(3, self.palette.float);
        let mut fields: Vec<(&'static str, Kind)> = Vec::new();
        let count = 2 + self.random.below(3);
        for n in 0..count {
            let kind = match n {
                0 => float,
                _ => {
                    [float, vector, Kind::Scalar(Scalar::I32)][self.random.weighted(&[45, 35, 20])]
                }
            };
            let pool = match kind {
                Kind::Vector(..) => words::VECTOR_FIELDS,
                Kind::Scalar(Scalar::I32) => words::INTEGER_FIELDS,
                _ => words::SCALAR_FIELDS,
            };
            let start = self.random.below(pool.len());
            let free = (0..pool.len())
                .map(|offset| pool[(start + offset) % pool.len()])
                .find(|name| fields.iter().all(|(taken, _)| taken != name));
            if let Some(name) = free {
                fields.push((name, kind));
            }
        }
        if !self.prelude.is_empty() {
            self.prelude.push_str("\n\n");
        }
        self.prelude
            .push_str(&format!("@wp.struct\nclass {struct_name}:\n"));
        for (name, kind) in &fields {
            self.prelude.push_str(&format!("    {name}: "));
            kind.spell(self.plain_types, &mut self.prelude);
            self.prelude.push('\n');
        }
        let lower = struct_name.to_lowercase();
        let by_value = self.rank > 1 || self.random.chance(25);
        if by_value {
            let name = self.taken.fresh_of(
                &[&format!("{lower}_in"), "config", "options"],
                &mut self.random,
            );
            self.params.push(Param {
                name: name.clone(),
                ty: ParamType::Struct(struct_name.clone()),
            });
            self.struct_array = None;
            self.field_variables(&name, &fields);
        } else {
            let array = self.taken.fresh_of(
                &[&format!("{lower}s"), &format!("{lower}_list")],
                &mut self.random,
            );
            self.params.push(Param {
                name: array.clone(),
                ty: ParamType::StructArray(struct_name.clone()),
            });
            let local = self
                .taken
                .fresh_of(&[&lower, &format!("this_{lower}")], &mut self.random);
            let line = format!("{local} = {array}[{}]", self.index);
            self.line(&line);
            self.field_variables(&local, &fields);
            self.struct_array = Some(StructElement {
                array,
                local,
                fields,
            });
        }
    }

    fn field_variables(&mut self, owner: &str, fields: &[(&'static str, Kind)]) {
        for (name, kind) in fields {
            let bound = super::builder::input_bound(*kind);
            let field = Name::Owned(format!("{owner}.{name}"));
            self.declare(field, *kind, bound, false);
        }
    }

    /// Stores into the struct: a field of the element, or a changed copy of it.
    pub(super) fn struct_result(&mut self) {
        let Some(StructElement {
            array,
            local,
            fields,
        }) = self.struct_array.take()
        else {
            return self.results();
        };
        let float = self.float();
        let Some((field, _)) = fields.iter().find(|(_, kind)| *kind == float) else {
            return self.results();
        };
        let index = self.index.clone();
        self.begin();
        let slot = self.random.chance(50);
        if slot {
            self.body.push_str(&format!("{array}[{index}].{field} = "));
        } else {
            self.body.push_str(&format!("{local}.{field} = "));
        }
        self.gather(float, 1);
        self.body.push('\n');
        if !slot {
            self.line(&format!("{array}[{index}] = {local}"));
        }
    }
}
