//! The buffer with the few things that are written over and over: indentation, variables, numbers.

use crate::ir::{Function, Module, VarId};

/// Writes one function's body.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut String,
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    /// Spaces before every line.
    pub(super) base: usize,
    /// Levels of indentation inside the body.
    pub(super) level: usize,
}

const SPACES: &str = "                                                                                                                                ";

/// Appends `count` spaces.
pub(super) fn spaces(out: &mut String, mut count: usize) {
    while count > SPACES.len() {
        out.push_str(SPACES);
        count -= SPACES.len();
    }
    out.push_str(&SPACES[..count]);
}

/// Appends a number in decimal.
pub(super) fn number(out: &mut String, value: u32) {
    if value < 10 {
        out.push((b'0' + value as u8) as char);
        return;
    }
    let mut digits = [0_u8; 10];
    let mut at = digits.len();
    let mut rest = value;
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Digits are ASCII, so this never falls back.
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or(""));
}

impl Writer<'_> {
    /// Begins a line at the current indentation.
    pub(super) fn start(&mut self) {
        spaces(self.out, self.base + 4 * self.level);
    }

    /// Begins a line at the body's outermost indentation, whatever the nesting.
    pub(super) fn start_flush(&mut self) {
        spaces(self.out, self.base);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn number(&mut self, value: u32) {
        number(self.out, value);
    }

    /// `var_x`.
    pub(super) fn var(&mut self, var: VarId) {
        self.out.push_str("var_");
        self.label(var);
    }

    /// `adj_x`.
    pub(super) fn adj(&mut self, var: VarId) {
        self.out.push_str("adj_");
        self.label(var);
    }

    /// What follows the prefix of a variable: its number, or a parameter's name.
    pub(super) fn label(&mut self, var: VarId) {
        let params = self.function.params;
        if var.0 >= params {
            number(self.out, var.0 - params);
        } else if let Some(name) = self.function.var(var).name {
            self.out.push_str(self.module.names.get(name));
        }
    }

    /// Variables separated by commas.
    pub(super) fn vars(&mut self, vars: &[VarId]) {
        for (at, var) in vars.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.var(*var);
        }
    }
}
