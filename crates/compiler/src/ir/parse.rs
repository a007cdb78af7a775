//! Reading IR text back; [`super::print`] describes the grammar.

use std::collections::HashMap;

use thiserror::Error;

use super::lexer::{Lexer, Token};
use super::{
    Call, Callee, Comparison, Constant, Function, FunctionKind, KernelOptions, Line, Loop,
    LoopKind, Module, Number, Op, Operands, Place, Slot, SlotStep, SlotUpdate, Step, Template,
    VarId, Variable,
};
use crate::builtin::BUILTINS;
use crate::names::{Name, Names};
use crate::types::{FieldDef, Scalar, StructDef, StructId, Type, TypeId, TypeTable};

/// Why a text is not IR.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("IR line {line}: expected {expected}, found `{found}`")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// What was looked for.
    pub expected: String,
    /// What was there.
    pub found: String,
}

type Out<T> = Result<T, ParseError>;

/// Reads a module that [`super::print`] wrote.
///
/// # Errors
/// The first place where the text is not IR. What is read is not verified; see [`super::verify`].
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        names: Names::new(),
        types: TypeTable::new(),
        structs: Vec::new(),
        lines: Vec::new(),
        known_lines: HashMap::new(),
        elements: Vec::new(),
    };
    parser.module()
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    names: Names,
    types: TypeTable,
    structs: Vec<(u32, StructId)>,
    lines: Vec<Line>,
    known_lines: HashMap<(u32, String), u32>,
    elements: Vec<Number>,
}

impl<'t> Parser<'t> {
    fn fail<T>(&self, expected: &str) -> Out<T> {
        Err(self.lexer.expected(expected))
    }

    fn word(&mut self, word: &str) -> Out<()> {
        if self.lexer.eat_word(word) {
            Ok(())
        } else {
            self.fail(word)
        }
    }

    fn symbol(&mut self, symbol: char) -> Out<()> {
        if self.lexer.eat_symbol(symbol) {
            Ok(())
        } else {
            self.fail(&symbol.to_string())
        }
    }

    fn ident(&mut self) -> Out<&'t str> {
        match self.lexer.peek() {
            Token::Word(word) => {
                self.lexer.next();
                Ok(word)
            }
            _ => self.fail("a name"),
        }
    }

    fn name(&mut self) -> Out<Name> {
        let word = self.ident()?;
        Ok(self.names.intern(word))
    }

    fn string(&mut self) -> Out<String> {
        match self.lexer.peek() {
            Token::Str(text) => {
                self.lexer.next();
                Ok(text)
            }
            _ => self.fail("a string"),
        }
    }

    fn int<T: TryFrom<i128>>(&mut self) -> Out<T> {
        let negative = self.lexer.eat_symbol('-');
        let value = match self.lexer.peek() {
            Token::Number(digits) => digits.parse::<u128>().ok().and_then(|value| {
                // The most negative number has no positive counterpart.
                if negative {
                    0_i128.checked_sub_unsigned(value)
                } else {
                    i128::try_from(value).ok()
                }
            }),
            _ => None,
        };
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => {
                self.lexer.next();
                Ok(value)
            }
            None => self.fail("an integer"),
        }
    }

    fn module(&mut self) -> Out<Module> {
        self.word("module")?;
        let file = self.string()?;
        let file = self.names.intern(&file);
        self.word("suffix")?;
        let suffix = self.string()?;
        let suffix = self.names.intern(&suffix);
        while self.lexer.eat_word("struct") {
            self.structure()?;
        }
        let mut functions = Vec::new();
        while self.lexer.eat_word("func") {
            functions.push(self.function(false)?);
        }
        self.word("kernel")?;
        let kernel = self.function(true)?;
        if self.lexer.peek() != Token::End {
            return self.fail("the end");
        }
        self.structs.sort_unstable_by_key(|(order, _)| *order);
        Ok(Module {
            names: std::mem::take(&mut self.names),
            types: std::mem::take(&mut self.types),
            structs: self.structs.iter().map(|(_, id)| *id).collect(),
            functions,
            kernel,
            lines: std::mem::take(&mut self.lines),
            elements: std::mem::take(&mut self.elements),
            file,
            suffix,
        })
    }

    fn structure(&mut self) -> Out<()> {
        let native = self.name()?;
        let key = self.string()?;
        let key = self.names.intern(&key);
        let declared = if self.lexer.eat_word("declared") {
            Some(self.int()?)
        } else {
            None
        };
        self.symbol('{')?;
        let mut fields = Vec::new();
        while !self.lexer.eat_symbol('}') {
            let name = self.name()?;
            self.symbol(':')?;
            let is_handle = self.lexer.eat_word("handle");
            let ty = if is_handle { TypeId::U64 } else { self.ty()? };
            fields.push(FieldDef {
                name,
                ty,
                is_handle,
            });
        }
        let id = StructId(self.types.structs().len() as u32);
        self.types.define_struct(
            StructDef {
                key,
                native,
                fields,
            },
            &self.names,
        );
        if let Some(order) = declared {
            self.structs.push((order, id));
        }
        Ok(())
    }

    fn struct_named(&mut self) -> Out<StructId> {
        let name = self.name()?;
        match self
            .types
            .structs()
            .iter()
            .position(|def| def.native == name)
        {
            Some(index) => Ok(StructId(index as u32)),
            None => self.fail("a struct that is declared above"),
        }
    }

    fn scalar(&mut self) -> Out<Scalar> {
        let word = self.ident()?;
        match Scalar::from_name(word) {
            Some(scalar) => Ok(scalar),
            None => self.fail("a scalar type"),
        }
    }

    fn ty(&mut self) -> Out<TypeId> {
        let word = self.ident()?;
        if let Some(scalar) = Scalar::from_name(word) {
            return Ok(TypeId::scalar(scalar));
        }
        match word {
            "range" => return Ok(TypeId::RANGE),
            "slice" => return Ok(TypeId::SLICE),
            "shape" => return Ok(TypeId::SHAPE),
            "str" => return Ok(TypeId::STR),
            "struct" => {
                let id = self.struct_named()?;
                return Ok(self.types.intern(Type::Struct(id)));
            }
            _ => {}
        }
        self.symbol('<')?;
        let ty = match word {
            "vec" => {
                let length = self.int()?;
                self.symbol(',')?;
                Type::Vector {
                    length,
                    scalar: self.scalar()?,
                }
            }
            "mat" => {
                let rows = self.int()?;
                self.symbol(',')?;
                let cols = self.int()?;
                self.symbol(',')?;
                Type::Matrix {
                    rows,
                    cols,
                    scalar: self.scalar()?,
                }
            }
            "quat" => Type::Quat(self.scalar()?),
            "transform" => Type::Transform(self.scalar()?),
            "array" => {
                let rank = self.int()?;
                self.symbol(',')?;
                Type::Array {
                    element: self.ty()?,
                    rank,
                }
            }
            "fixedarray" => {
                self.symbol('[')?;
                let mut dims = [0; 4];
                let mut rank = 0;
                while !self.lexer.eat_symbol(']') {
                    if rank == dims.len() {
                        return self.fail("at most four dimensions");
                    }
                    dims[rank] = self.int()?;
                    rank += 1;
                    self.lexer.eat_symbol(',');
                }
                self.symbol(',')?;
                Type::FixedArray {
                    element: self.ty()?,
                    rank: rank as u8,
                    dims,
                }
            }
            "ref" => Type::Reference(self.ty()?),
            "tuple" => {
                let mut parts = Vec::new();
                while !self.lexer.eat_symbol('>') {
                    parts.push(self.ty()?);
                    self.lexer.eat_symbol(',');
                }
                return Ok(self.types.tuple(&parts));
            }
            _ => return self.fail("a type"),
        };
        self.symbol('>')?;
        Ok(self.types.intern(ty))
    }

    fn number(&mut self) -> Out<Number> {
        if self.lexer.eat_word("int") {
            return Ok(Number::Int(self.int()?));
        }
        self.word("float")?;
        // The decimal form is for readers.
        while !matches!(self.lexer.peek(), Token::Word("bits") | Token::End) {
            self.lexer.next();
        }
        self.word("bits")?;
        match self.lexer.peek() {
            Token::Number(digits) => {
                let bits = digits
                    .strip_prefix("0x")
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok());
                match bits {
                    Some(bits) => {
                        self.lexer.next();
                        Ok(Number::Float(f64::from_bits(bits)))
                    }
                    None => self.fail("64 bits"),
                }
            }
            _ => self.fail("64 bits"),
        }
    }

    fn constant(&mut self) -> Out<Constant> {
        Ok(match self.lexer.peek() {
            Token::Word("true") => {
                self.lexer.next();
                Constant::Bool(true)
            }
            Token::Word("false") => {
                self.lexer.next();
                Constant::Bool(false)
            }
            Token::Word("typed") => {
                self.lexer.next();
                let scalar = self.scalar()?;
                Constant::Typed(scalar, self.number()?)
            }
            Token::Word("str") => {
                self.lexer.next();
                let text = self.string()?;
                Constant::Str(self.names.intern(&text))
            }
            Token::Word("compound") => {
                self.lexer.next();
                let ty = self.ty()?;
                let start = self.elements.len() as u32;
                self.symbol('[')?;
                while !self.lexer.eat_symbol(']') {
                    let number = self.number()?;
                    self.elements.push(number);
                    self.lexer.eat_symbol(',');
                }
                Constant::Compound {
                    ty,
                    start,
                    len: self.elements.len() as u32 - start,
                }
            }
            _ => Constant::Number(self.number()?),
        })
    }

    fn kind(&mut self, is_kernel: bool) -> Out<FunctionKind> {
        if !is_kernel {
            let adjoint = self.either("adjoint", "forward")?;
            let inline_hint = if self.lexer.eat_word("hint") {
                match self.string()?.as_str() {
                    "WP_NOINLINE" => "WP_NOINLINE ",
                    "WP_FORCEINLINE" => "WP_FORCEINLINE ",
                    _ => return self.fail("a known hint"),
                }
            } else {
                ""
            };
            return Ok(FunctionKind::Device {
                inline_hint,
                adjoint,
            });
        }
        self.word("rank")?;
        let launch_rank = self.int()?;
        let scalar_tid = self.either("tid", "notid")?;
        let long_constant_loop = self.either("long", "short")?;
        let backward = self.either("backward", "forward")?;
        let grid_stride = self.either("stride", "lean")?;
        self.word("cluster")?;
        let cluster_dim = self.int()?;
        let mut options = KernelOptions {
            backward,
            grid_stride,
            cluster_dim,
            ..KernelOptions::default()
        };
        if self.lexer.eat_word("bounds") {
            let threads = self.int()?;
            let blocks = if self.lexer.eat_symbol(',') {
                Some(self.int()?)
            } else {
                None
            };
            options.launch_bounds = Some((threads, blocks));
        }
        if self.lexer.eat_word("registers") {
            options.max_registers = Some(self.int()?);
        }
        options.smem_spilling = self.lexer.eat_word("spill");
        Ok(FunctionKind::Kernel {
            launch_rank,
            scalar_tid,
            long_constant_loop,
            options,
        })
    }

    /// One of two words: whether it is the first.
    fn either(&mut self, yes: &str, no: &str) -> Out<bool> {
        if self.lexer.eat_word(yes) {
            return Ok(true);
        }
        self.word(no)?;
        Ok(false)
    }

    fn function(&mut self, is_kernel: bool) -> Out<Function> {
        let native = self.name()?;
        self.word("line")?;
        let first_line = self.int()?;
        let kind = self.kind(is_kernel)?;
        let mut function = Function {
            native,
            first_line,
            kind,
            params: 0,
            vars: Vec::new(),
            ops: Vec::new(),
            pool: Vec::new(),
            comparisons: Vec::new(),
            places: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            templates: Vec::new(),
            literals: Vec::new(),
            returns: Vec::new(),
        };
        self.symbol('(')?;
        while !self.lexer.eat_symbol(')') {
            let name = self.name()?;
            self.symbol(':')?;
            let ty = self.ty()?;
            function.vars.push(Variable {
                ty,
                constant: None,
                name: Some(name),
            });
            self.lexer.eat_symbol(',');
        }
        function.params = function.vars.len() as u32;
        if self.lexer.eat_symbol('-') {
            self.symbol('>')?;
            loop {
                let ty = self.ty()?;
                function.returns.push(ty);
                if !self.lexer.eat_symbol(',') {
                    break;
                }
            }
        }
        self.symbol('{')?;
        while self.lexer.eat_word("var") {
            let _number: u32 = self.int()?;
            self.symbol(':')?;
            let ty = self.ty()?;
            let constant = if self.lexer.eat_symbol('=') {
                Some(self.constant()?)
            } else {
                None
            };
            function.vars.push(Variable {
                ty,
                constant,
                name: None,
            });
        }
        let mut open = Vec::new();
        while self.op(&mut function, &mut open)? {}
        Ok(function)
    }

    fn var(&mut self, function: &Function) -> Out<VarId> {
        self.symbol('%')?;
        match self.lexer.peek() {
            Token::Number(_) => {
                let number: u32 = self.int()?;
                match function.params.checked_add(number) {
                    Some(id) if (id as usize) < function.vars.len() => Ok(VarId(id)),
                    _ => self.fail("a variable that is declared"),
                }
            }
            _ => {
                let name = self.name()?;
                let found = function.vars[..function.params as usize]
                    .iter()
                    .position(|var| var.name == Some(name));
                match found {
                    Some(at) => Ok(VarId(at as u32)),
                    None => self.fail("a parameter"),
                }
            }
        }
    }

    /// Variables in parentheses.
    fn vars(&mut self, function: &Function) -> Out<Vec<VarId>> {
        self.symbol('(')?;
        let mut vars = Vec::new();
        while !self.lexer.eat_symbol(')') {
            vars.push(self.var(function)?);
            self.lexer.eat_symbol(',');
        }
        Ok(vars)
    }

    /// One operation; false at the end of the function.
    fn op(&mut self, function: &mut Function, open: &mut Vec<u32>) -> Out<bool> {
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
        Ok(Op::Compare {
            dst,
            operands: start,
            comparisons,
            count,
        })
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
                LoopKind::Counted {
                    counter,
                    value,
                    start,
                    stop,
                    step: self.int()?,
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
