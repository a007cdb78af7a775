//! What is written over and over in a function's body: indentation, variables, quoted lines.

use super::Target;
use super::buffer::Buffer;
use warpsmith_ir::types::TypeId;
use warpsmith_ir::{Function, Module, Piece, VarId};

/// Writes one function's body.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut Buffer,
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) target: Target,
    /// Spaces before every line.
    pub(super) base: usize,
    /// Levels of indentation inside the body.
    pub(super) level: usize,
}

impl<'a> Writer<'a> {
    /// Begins a line at the current indentation.
    #[inline]
    pub(super) fn start(&mut self) {
        self.out.spaces(self.base + 4 * self.level);
    }

    /// Begins a line at the body's outermost indentation, whatever the nesting.
    pub(super) fn start_flush(&mut self) {
        self.out.spaces(self.base);
    }

    #[inline(always)]
    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn number(&mut self, value: u32) {
        self.out.number(value);
    }

    pub(super) fn signed(&mut self, value: i64) {
        if value < 0 {
            self.text("-");
        }
        let magnitude = value.unsigned_abs();
        match u32::try_from(magnitude) {
            Ok(small) => self.number(small),
            Err(_) => self.text(&magnitude.to_string()),
        }
    }

    /// `var_x`.
    #[inline]
    pub(super) fn var(&mut self, var: VarId) {
        match var.0.checked_sub(self.function.params) {
            Some(_) if var.alias().is_some() => self.alias(var),
            Some(number) => self.out.primal(number),
            None => {
                self.text("var_");
                self.label(var);
            }
        }
    }

    /// `adj_x`.
    #[inline]
    pub(super) fn adj(&mut self, var: VarId) {
        match var.0.checked_sub(self.function.params) {
            Some(_) if var.alias().is_some() => self.alias(var),
            Some(number) => self.out.dual(number),
            None => {
                self.text("adj_");
                self.label(var);
            }
        }
    }

    /// What follows the prefix of a variable: its number, or a parameter's name.
    pub(super) fn label(&mut self, var: VarId) {
        match var.0.checked_sub(self.function.params) {
            Some(number) => self.out.number(number),
            None => {
                if let Some(name) = self.function.var(var).name {
                    self.out.push_short(self.module.names.get(name));
                }
            }
        }
    }

    /// The spelling of a type, which the two targets have different ones of for some tiles.
    pub(super) fn spelling(&self, ty: TypeId) -> &'a str {
        match self.target {
            Target::Cuda => self.module.types.spelling(ty),
            Target::Cpu => self.module.types.cpu_spelling(ty),
        }
    }

    /// An expression that stands where a variable does.
    #[cold]
    fn alias(&mut self, var: VarId) {
        let function = self.function;
        if let Some(alias) = var.alias() {
            self.expression(&function.aliases[alias].pieces);
        }
    }

    /// A statement that only the text knows.
    pub(super) fn pieces(&mut self, pieces: &[Piece]) {
        self.expression(pieces);
        self.text(";\n");
    }

    fn expression(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match *piece {
                Piece::Text(text) => self.text(self.module.names.get(text)),
                Piece::Either(cuda, cpu) => {
                    let text = match self.target {
                        Target::Cuda => cuda,
                        Target::Cpu => cpu,
                    };
                    self.text(self.module.names.get(text));
                }
                Piece::Var(var) => self.var(var),
                Piece::Dual(var) => self.adj(var),
                Piece::Type(ty) => self.text(self.spelling(ty)),
            }
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

    /// The title of a section.
    pub(super) fn section(&mut self, title: &str) {
        self.start();
        self.text("//---------\n");
        self.start();
        self.text("// ");
        self.text(title);
        self.text("\n");
    }

    /// A quoted source line.
    pub(super) fn quote(&mut self, line: u32, back: bool) {
        let line = &self.module.lines[line as usize];
        self.start();
        self.text(if back { "// adj: " } else { "// " });
        self.text(self.module.names.get(line.text));
        let padded = 80_usize.saturating_sub(4 * self.level);
        let padding = padded.saturating_sub(line.width as usize);
        self.out.spaces(padding + if back { 2 } else { 7 });
        self.text("<L ");
        self.number(line.number);
        self.text(">\n");
    }

    /// Opens the braces of a branch.
    pub(super) fn open_branch(&mut self, cond: VarId, negated: bool) {
        self.start();
        self.text(if negated { "if (!" } else { "if (" });
        self.var(cond);
        self.text(") {\n");
        self.level += 1;
    }
}
