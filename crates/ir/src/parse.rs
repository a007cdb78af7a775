//! Reading IR text back; [`super::print`] describes the grammar.

use std::collections::HashMap;

use thiserror::Error;

use super::lexer::{Lexer, Token};
use super::{
    Alias, Constant, Custom, Function, FunctionKind, KernelOptions, Line, Module, Number, Origin,
    VarId, Variable,
};
use crate::names::{Name, Names};
use crate::types::{
    Extent, FieldDef, Mapping, Query, Scalar, StructDef, StructId, Tile, Type, TypeId, TypeTable,
};

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

pub(super) type Out<T> = Result<T, ParseError>;

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

pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
    pub(super) names: Names,
    pub(super) types: TypeTable,
    pub(super) structs: Vec<(u32, StructId)>,
    pub(super) lines: Vec<Line>,
    pub(super) known_lines: HashMap<(u32, String), u32>,
    pub(super) elements: Vec<Number>,
}

impl<'t> Parser<'t> {
    pub(super) fn fail<T>(&self, expected: &str) -> Out<T> {
        Err(self.lexer.expected(expected))
    }

    pub(super) fn word(&mut self, word: &str) -> Out<()> {
        if self.lexer.eat_word(word) {
            Ok(())
        } else {
            self.fail(word)
        }
    }

    pub(super) fn symbol(&mut self, symbol: char) -> Out<()> {
        if self.lexer.eat_symbol(symbol) {
            Ok(())
        } else {
            self.fail(&symbol.to_string())
        }
    }

    pub(super) fn ident(&mut self) -> Out<&'t str> {
        match self.lexer.peek() {
            Token::Word(word) => {
                self.lexer.next();
                Ok(word)
            }
            _ => self.fail("a name"),
        }
    }

    pub(super) fn name(&mut self) -> Out<Name> {
        let word = self.ident()?;
        Ok(self.names.intern(word))
    }

    pub(super) fn string(&mut self) -> Out<String> {
        match self.lexer.peek() {
            Token::Str(text) => {
                self.lexer.next();
                Ok(text)
            }
            _ => self.fail("a string"),
        }
    }

    pub(super) fn int<T: TryFrom<i128>>(&mut self) -> Out<T> {
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

    pub(super) fn struct_named(&mut self) -> Out<StructId> {
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

    pub(super) fn ty(&mut self) -> Out<TypeId> {
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
            "query" => {
                let code = self.ident()?;
                match Query::from_code(code) {
                    Some(query) => Type::Query(query),
                    None => return self.fail("a kind of query"),
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
            "indexedarray" | "fabricarray" | "indexedfabricarray" => {
                let Some(mapping) = Mapping::from_class(word) else {
                    return self.fail("a kind of array");
                };
                let rank = self.int()?;
                self.symbol(',')?;
                Type::MappedArray {
                    mapping,
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
            "tile" => {
                let element = self.ty()?;
                self.symbol(',')?;
                let shape = self.extents()?;
                self.symbol(',')?;
                let strides = self.extents()?;
                self.symbol(',')?;
                let shared = self.either("shared", "register")?;
                self.symbol(',')?;
                let column_major = self.either("columns", "rows")?;
                self.symbol(',')?;
                let owner = self.either("owner", "view")?;
                self.symbol('>')?;
                if shape.len() != strides.len() {
                    return self.fail("as many strides as lengths");
                }
                return Ok(self.types.tile(Tile {
                    element,
                    shape,
                    strides,
                    shared,
                    column_major,
                    owner,
                }));
            }
            "tilestack" => {
                let capacity = self.int()?;
                self.symbol(',')?;
                Type::TileStack {
                    element: self.ty()?,
                    capacity,
                }
            }
            "ref" => Type::Reference(self.ty()?),
            "python" => {
                let which: u64 = self.int()?;
                self.symbol(',')?;
                let plain = self.ty()?;
                self.symbol('>')?;
                return Ok(self.types.with_python_types(plain, which));
            }
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

    /// Lengths or strides of a tile.
    fn extents(&mut self) -> Out<Vec<Extent>> {
        self.symbol('[')?;
        let mut extents = Vec::new();
        while !self.lexer.eat_symbol(']') {
            let factor = self.int()?;
            let power = if self.lexer.eat_symbol('*') {
                self.int()?
            } else {
                0
            };
            extents.push(Extent::new(factor, power));
            self.lexer.eat_symbol(',');
        }
        Ok(extents)
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

    pub(super) fn constant(&mut self) -> Out<Constant> {
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
            let file = if self.lexer.eat_word("file") {
                let file = self.string()?;
                Some(self.names.intern(&file))
            } else {
                None
            };
            let custom = self.custom()?;
            return Ok(FunctionKind::Device {
                file,
                inline_hint,
                adjoint,
                custom,
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
    pub(super) fn either(&mut self, yes: &str, no: &str) -> Out<bool> {
        if self.lexer.eat_word(yes) {
            return Ok(true);
        }
        self.word(no)?;
        Ok(false)
    }

    fn text_after(&mut self, word: &str) -> Out<Option<Name>> {
        if !self.lexer.eat_word(word) {
            return Ok(None);
        }
        let text = self.string()?;
        Ok(Some(self.names.intern(&text)))
    }

    /// What a function's author wrote.
    fn custom(&mut self) -> Out<Custom> {
        let origin = if let Some(forward) = self.text_after("native")? {
            Origin::Native {
                forward,
                adjoint: self.text_after("reverse")?,
                replay: self.text_after("again")?,
            }
        } else if self.lexer.eat_word("gradient") {
            let inputs = self.int()?;
            Origin::Gradient { inputs }
        } else if self.lexer.eat_word("replay") {
            Origin::Replay
        } else {
            Origin::Compiled
        };
        Ok(Custom {
            origin,
            has_gradient: self.lexer.eat_word("has_gradient"),
            has_replay: self.lexer.eat_word("has_replay"),
        })
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
            ..Function::empty()
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
        while self.lexer.eat_word("alias") {
            let ty = self.ty()?;
            let pieces = self.pieces(&function)?;
            let variable = Variable {
                ty,
                constant: None,
                name: None,
            };
            function.aliases.push(Alias { variable, pieces });
        }
        let mut open = Vec::new();
        while self.op(&mut function, &mut open)? {}
        Ok(function)
    }

    pub(super) fn var(&mut self, function: &Function) -> Out<VarId> {
        self.symbol('%')?;
        if self.lexer.eat_symbol('&') {
            let alias: u32 = self.int()?;
            return match (alias as usize) < function.aliases.len() {
                true => Ok(VarId::of_alias(alias as usize)),
                false => self.fail("an expression that is declared"),
            };
        }
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
    pub(super) fn vars(&mut self, function: &Function) -> Out<Vec<VarId>> {
        self.symbol('(')?;
        let mut vars = Vec::new();
        while !self.lexer.eat_symbol(')') {
            vars.push(self.var(function)?);
            self.lexer.eat_symbol(',');
        }
        Ok(vars)
    }
}
