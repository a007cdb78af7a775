//! Reads the operations of a function from text.

use super::lexer::Token;
use super::parse::{Out, Parser};
use super::{
    Call, Callee, Chain, Comparison, CountedRange, Function, Line, Loop, LoopKind, Op, Operands,
    Piece, Place, Slot, SlotStep, SlotUpdate, Step, Template, Text, VarId,
};
use crate::builtin::BUILTINS;

impl Parser<'_> {
    /// One operation; false at the end of the function.
    pub(super) fn op(&mut self, function: &mut Function, open: &mut Vec<u32>) -> Out<bool> {
        let here = function.ops.len() as u32;
        match self.lexer.peek() {
            Token::Symbol('}') => {
                self.lexer.next();
                let Some(begin) = open.pop() else {
                    return Ok(false);
                };
                let end = match &mut function.ops[begin as usize] {
                    Op::If { negated, end, .. } => {
                        *end = here;
                        let negated = *negated;
                        self.word("back")?;
                        Op::EndIf {
                            cond: self.var(function)?,
                            negated,
                            begin,
                        }
                    }
                    Op::Loop { index, end } => {
                        *end = here;
                        let index = *index;
                        self.word("again")?;
                        Op::EndLoop { index, begin }
                    }
                    _ => return self.fail("an operation"),
                };
                function.ops.push(end);
            }
            Token::Symbol('%') => {
                let mut outs = vec![self.var(function)?];
                while self.lexer.eat_symbol(',') {
                    outs.push(self.var(function)?);
                }
                self.symbol('=')?;
                let op = self.definition(function, &outs)?;
                function.ops.push(op);
            }
            Token::Word(_) => {
                let op = self.effect(function, open)?;
                function.ops.push(op);
            }
            _ => return self.fail("an operation"),
        }
        Ok(true)
    }

    /// What follows `%x =`.
    fn definition(&mut self, function: &mut Function, outs: &[VarId]) -> Out<Op> {
        let word = self.ident()?;
        if word == "call" {
            return self.call(function, outs);
        }
        let [dst] = *outs else {
            return self.fail("a call");
        };
        Ok(match word {
            "load" => Op::Load {
                dst,
                src: self.var(function)?,
            },
            "set" => Op::Set {
                dst,
                src: self.var(function)?,
            },
            "and" => Op::Accumulate {
                dst,
                src: self.var(function)?,
                or: false,
            },
            "or" => Op::Accumulate {
                dst,
                src: self.var(function)?,
                or: true,
            },
            "count" => Op::SetInt {
                dst,
                value: self.int()?,
            },
            "literal" => {
                let constant = self.constant()?;
                function.literals.push(constant);
                Op::Literal {
                    dst,
                    literal: function.literals.len() as u32 - 1,
                }
            }
            "compare" => self.compare(function, dst)?,
            "field" => {
                let aggregate = self.var(function)?;
                let field = self.string()?;
                let field = self.names.intern(&field);
                let accumulates = self.either("adds", "sets")?;
                let place = if self.lexer.eat_word("at") {
                    let place = self.place(function)?;
                    function.places.push(place);
                    Some(function.places.len() as u32 - 1)
                } else {
                    None
                };
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    place,
                    accumulates,
                }
            }
            "slot" => Op::SlotAddress {
                dst,
                slot: self.slot(function)?,
            },
            _ => return self.fail("an operation"),
        })
    }

    fn compare(&mut self, function: &mut Function, dst: VarId) -> Out<Op> {
        let comparisons = function.comparisons.len() as u32;
        let mut operands = vec![self.var(function)?];
        while let Some(comparison) = self.comparison() {
            function.comparisons.push(comparison);
            operands.push(self.var(function)?);
        }
        let start = function.pool.len() as u32;
        function.pool.extend_from_slice(&operands);
        let count = operands.len() as u32 - 1;
        let chain = Chain {
            operands: start,
            comparisons,
            count,
        };
        Ok(Op::Compare { dst, chain })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let first = match self.lexer.peek() {
            Token::Symbol(symbol @ ('=' | '!' | '<' | '>')) => symbol,
            _ => return None,
        };
        self.lexer.next();
        let equal = self.lexer.eat_symbol('=');
        Some(match (first, equal) {
            ('=', _) => Comparison::Equal,
            ('!', _) => Comparison::NotEqual,
            ('<', false) => Comparison::Less,
            ('<', true) => Comparison::LessEqual,
            (_, false) => Comparison::Greater,
            (_, true) => Comparison::GreaterEqual,
        })
    }

    fn call(&mut self, function: &mut Function, outs: &[VarId]) -> Out<Op> {
        let callee = if self.lexer.eat_word("func") {
            Callee::Function(self.int()?)
        } else if self.lexer.eat_word("struct") {
            Callee::Struct(self.struct_named()?)
        } else {
            let name = self.name()?;
            self.symbol('#')?;
            let row: u16 = self.int()?;
            let known = BUILTINS
                .get(name.index())
                .is_some_and(|builtin| usize::from(row) < builtin.rows.len());
            if !known {
                return self.fail("a builtin and one of its overloads");
            }
            Callee::Builtin(name.index() as u16, row)
        };
        let args = self.vars(function)?;
        let adjoints = if self.lexer.eat_word("by") {
            self.vars(function)?
        } else {
            args.clone()
        };
        if adjoints.len() != args.len() {
            return self.fail("as many adjoint targets as operands");
        }
        let template = if self.lexer.eat_word("with") {
            self.symbol('(')?;
            let mut list = Vec::new();
            while !self.lexer.eat_symbol(')') {
                list.push(match self.lexer.peek() {
                    Token::Word(_) => Template::Type(self.ty()?),
                    _ => Template::Int(self.int()?),
                });
                self.lexer.eat_symbol(',');
            }
            function.templates.push(list);
            Some(function.templates.len() as u32 - 1)
        } else {
            None
        };
        let braces = self.lexer.eat_word("braces");
        let has_adjoint = !self.lexer.eat_word("constant");
        let start = function.pool.len() as u32;
        function
            .pool
            .extend(args.iter().chain(&adjoints).chain(outs));
        let operands = Operands {
            start,
            args: args.len() as u16,
            outs: outs.len() as u16,
        };
        Ok(Op::Call(Call {
            callee,
            operands,
            template,
            braces,
            has_adjoint,
        }))
    }

    /// An operation that defines nothing.
    fn effect(&mut self, function: &mut Function, open: &mut Vec<u32>) -> Out<Op> {
        let here = function.ops.len() as u32;
        let word = self.ident()?;
        Ok(match word {
            "line" => {
                let number = self.int()?;
                let text = self.string()?;
                Op::Line(self.line(number, text))
            }
            "call" => self.call(function, &[])?,
            "if" => {
                let negated = self.lexer.eat_word("not");
                let cond = self.var(function)?;
                self.symbol('{')?;
                open.push(here);
                Op::If {
                    cond,
                    negated,
                    end: 0,
                }
            }
            "loop" => {
                let this = self.loop_head(function)?;
                function.loops.push(this);
                open.push(here);
                Op::Loop {
                    index: function.loops.len() as u32 - 1,
                    end: 0,
                }
            }
            "test" => {
                let cond = self.var(function)?;
                let innermost =
                    open.iter()
                        .rev()
                        .find_map(|begin| match function.ops[*begin as usize] {
                            Op::Loop { index, .. } => Some(index),
                            _ => None,
                        });
                match innermost {
                    Some(index) => Op::Test { index, cond },
                    None => return self.fail("a loop around the test"),
                }
            }
            "break" => Op::Break {
                index: self.loop_index(function)?,
            },
            "continue" => Op::Continue {
                index: self.loop_index(function)?,
            },
            "return" if self.lexer.eat_word("default") => Op::ReturnDefault,
            "return" => {
                let label = self.int()?;
                let values = self.vars(function)?;
                let start = function.pool.len() as u32;
                function.pool.extend_from_slice(&values);
                Op::Return {
                    values: start,
                    count: values.len() as u32,
                    label,
                }
            }
            "store" => {
                let root = self.var(function)?;
                let path = self.string()?;
                let path = self.names.intern(&path);
                let accumulates = self.either("adds", "sets")?;
                Op::FieldStore {
                    root,
                    path,
                    value: self.var(function)?,
                    accumulates,
                }
            }
            "slotstore" => {
                let value = self.var(function)?;
                self.word("into")?;
                Op::SlotStore {
                    slot: self.slot(function)?,
                    value,
                }
            }
            "slotatomic" => {
                let update = match self.ident()? {
                    "add" => SlotUpdate::Add,
                    "sub" => SlotUpdate::Sub,
                    "and" => SlotUpdate::And,
                    "or" => SlotUpdate::Or,
                    "xor" => SlotUpdate::Xor,
                    _ => return self.fail("an update"),
                };
                let value = self.var(function)?;
                self.word("into")?;
                Op::SlotAtomic {
                    slot: self.slot(function)?,
                    value,
                    update,
                }
            }
            "text" => {
                let replayed = self.either("replayed", "once")?;
                let forward = self.pieces(function)?;
                let reverse = self.pieces(function)?;
                function.texts.push(Text { forward, reverse });
                Op::Text {
                    text: function.texts.len() as u32 - 1,
                    replayed,
                }
            }
            "assert" => {
                let cond = self.var(function)?;
                let text = self.string()?;
                Op::Assert {
                    cond,
                    text: self.names.intern(&text),
                }
            }
            _ => return self.fail("an operation"),
        })
    }

    /// The pieces of a statement that only the text knows.
    pub(super) fn pieces(&mut self, function: &Function) -> Out<Vec<Piece>> {
        self.symbol('[')?;
        let mut pieces = Vec::new();
        while !self.lexer.eat_symbol(']') {
            pieces.push(match self.lexer.peek() {
                Token::Str(_) => {
                    let text = self.string()?;
                    Piece::Text(self.names.intern(&text))
                }
                Token::Symbol('%') => Piece::Var(self.var(function)?),
                _ => match self.ident()? {
                    "dual" => Piece::Dual(self.var(function)?),
                    "type" => Piece::Type(self.ty()?),
                    "either" => {
                        let (cuda, cpu) = (self.string()?, self.string()?);
                        Piece::Either(self.names.intern(&cuda), self.names.intern(&cpu))
                    }
                    _ => return self.fail("a piece of text"),
                },
            });
            self.lexer.eat_symbol(',');
        }
        Ok(pieces)
    }

    fn loop_index(&mut self, function: &Function) -> Out<u32> {
        let index: u32 = self.int()?;
        if (index as usize) < function.loops.len() {
            Ok(index)
        } else {
            self.fail("a loop")
        }
    }

    fn line(&mut self, number: u32, text: String) -> u32 {
        let lines = &mut self.lines;
        let names = &mut self.names;
        *self
            .known_lines
            .entry((number, text))
            .or_insert_with_key(|(number, text)| {
                let width = text.chars().count() as u32;
                lines.push(Line {
                    number: *number,
                    text: names.push(text),
                    width,
                });
                lines.len() as u32 - 1
            })
    }

    fn loop_head(&mut self, function: &Function) -> Out<Loop> {
        let kind = match self.ident()? {
            "range" => {
                let iter = self.var(function)?;
                self.symbol(',')?;
                LoopKind::Range {
                    iter,
                    value: self.var(function)?,
                }
            }
            "counted" => {
                let counter = self.var(function)?;
                self.symbol(',')?;
                let value = self.var(function)?;
                self.word("from")?;
                let start = self.int()?;
                self.word("to")?;
                let stop = self.int()?;
                self.word("step")?;
                let step = self.int()?;
                let range = CountedRange { start, stop, step };
                LoopKind::Counted {
                    counter,
                    value,
                    range,
                }
            }
            "while" => LoopKind::While,
            _ => return self.fail("a kind of loop"),
        };
        self.word("label")?;
        let label = self.int()?;
        self.word("zero")?;
        let zeroed = self.vars(function)?;
        self.symbol('{')?;
        Ok(Loop {
            kind,
            label,
            zeroed,
        })
    }

    fn place(&mut self, function: &Function) -> Out<Place> {
        let root = self.var(function)?;
        let mut steps = Vec::new();
        loop {
            if self.lexer.eat_symbol('.') {
                steps.push(Step::Field(self.name()?));
            } else if self.lexer.eat_word("element") {
                steps.push(Step::Element(self.vars(function)?));
            } else if self.lexer.eat_word("view") {
                steps.push(Step::View(self.vars(function)?));
            } else {
                return Ok(Place { root, steps });
            }
        }
    }

    fn slot(&mut self, function: &mut Function) -> Out<u32> {
        let array = self.var(function)?;
        let indices = self.vars(function)?;
        let mut steps = Vec::new();
        loop {
            if self.lexer.eat_symbol('.') {
                steps.push(SlotStep::Field(self.name()?));
            } else if let Token::Word(word @ ("component" | "element" | "row")) = self.lexer.peek()
            {
                self.lexer.next();
                let vars = self.vars(function)?;
                steps.push(match (word, vars.as_slice()) {
                    ("component", [index]) => SlotStep::Component(*index),
                    ("row", [row]) => SlotStep::Row(*row),
                    ("element", [row, col]) => SlotStep::Element(*row, *col),
                    _ => return self.fail("the indices of a step"),
                });
            } else {
                break;
            }
        }
        self.symbol(':')?;
        let ty = self.ty()?;
        let place = if self.lexer.eat_word("at") {
            Some(self.place(function)?)
        } else {
            None
        };
        function.slots.push(Slot {
            array,
            indices,
            steps,
            ty,
            place,
        });
        Ok(function.slots.len() as u32 - 1)
    }
}
