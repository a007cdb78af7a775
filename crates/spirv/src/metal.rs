//! A module of ours as text for Metal: instruction by instruction, so that what is computed is the same.
//!
//! It reads the words that [`super::writer`] wrote and nothing else: one function, branches and loops that
//! close in order, memory by address. No compiler of Metal's has read the text; it says so itself.

use std::collections::HashMap;
use std::fmt::Write;

use super::opcode::{Op, built_in, glsl, storage};
use super::writer::{Id, Kind};

/// Words before the first instruction.
const HEADER: usize = 5;

/// What an id is called, and of which type it is.
#[derive(Clone)]
struct Named {
    text: String,
    kind: Option<Kind>,
}

/// What is open, innermost last.
enum Open {
    Branch { merge: Id },
    Loop { merge: Id },
}

struct Translation {
    out: String,
    kinds: HashMap<Id, Kind>,
    /// Pointer types: where they point, and to what.
    pointers: HashMap<Id, (u32, Id)>,
    names: HashMap<Id, Named>,
    open: Vec<Open>,
    /// The branch that `SelectionMerge` announced.
    announced: Option<Id>,
}

/// Writes the text of a kernel.
pub(super) fn translate(name: &str, words: &[u32]) -> String {
    let name = function_name(name);
    let mut translation = Translation {
        out: String::new(),
        kinds: HashMap::new(),
        pointers: HashMap::new(),
        names: HashMap::new(),
        open: Vec::new(),
        announced: None,
    };
    let mut body = String::new();
    let mut at = HEADER;
    let built_ins = built_ins(words);
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let operands = &words[at + 1..at + length];
        translation.instruction(words[at] & 0xffff, operands, &built_ins);
        at += length;
    }
    let _ = write!(
        body,
        "// UNVERIFIED: no Metal compiler has read this text.\n\
         // Compile it without fast math (`MTLMathModeSafe`, `-fno-fast-math`): sums and products are rounded\n\
         // one by one. The one argument is the address of the launch block; a threadgroup has {} threads.\n\
         #include <metal_stdlib>\n#include <metal_atomic>\n\nusing namespace metal;\n\n\
         kernel void {name}(constant ulong& block [[buffer(0)]],\n    \
         uint3 group [[threadgroup_position_in_grid]],\n    \
         uint3 groups [[threadgroups_per_grid]],\n    \
         uint local [[thread_index_in_threadgroup]])\n{{\n{}}}\n",
        super::writer::WORKGROUP,
        translation.out
    );
    body
}

/// Which variable is which built-in one.
fn built_ins(words: &[u32]) -> HashMap<Id, u32> {
    let mut found = HashMap::new();
    let mut at = HEADER;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        if words[at] & 0xffff == Op::Decorate as u32
            && let [target, super::opcode::decoration::BUILT_IN, which] = words[at + 1..at + length]
        {
            found.insert(target, which);
        }
        at += length;
    }
    found
}

/// A kernel's name; what is a word of the language, or of no function, gets an underscore.
fn function_name(name: &str) -> String {
    const TAKEN: [&str; 42] = [
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "class",
        "const",
        "constant",
        "continue",
        "default",
        "delete",
        "device",
        "do",
        "double",
        "else",
        "enum",
        "float",
        "for",
        "fragment",
        "goto",
        "half",
        "if",
        "int",
        "kernel",
        "long",
        "main",
        "namespace",
        "new",
        "operator",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "thread",
        "threadgroup",
        "union",
        "unsigned",
        "void",
    ];
    let mark = if TAKEN.contains(&name) { "_" } else { "" };
    format!("{name}{mark}")
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::U8 => "uchar",
        Kind::U16 => "ushort",
        Kind::U32 => "uint",
        Kind::U64 => "ulong",
        Kind::F32 => "float",
        // Kernels that need it are refused before.
        Kind::F64 => "double",
    }
}

fn signed_name(kind: Kind) -> &'static str {
    match kind {
        Kind::U8 => "char",
        Kind::U16 => "short",
        Kind::U64 => "long",
        _ => "int",
    }
}

impl Translation {
    fn text(&self, id: Id) -> String {
        self.names
            .get(&id)
            .map_or_else(|| format!("v{id}"), |named| named.text.clone())
    }

    fn kind(&self, id: Id) -> Kind {
        let named = self.names.get(&id);
        named.and_then(|named| named.kind).unwrap_or(Kind::U32)
    }

    fn name(&mut self, id: Id, text: String, kind: Option<Kind>) {
        self.names.insert(id, Named { text, kind });
    }

    fn line(&mut self, text: &str) {
        let depth = self.open.len() + 1;
        for _ in 0..depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A new value.
    fn define(&mut self, ty: Id, id: Id, expression: &str) {
        let kind = self.kinds.get(&ty).copied().unwrap_or(Kind::U32);
        self.name(id, format!("v{id}"), Some(kind));
        self.line(&format!("{} v{id} = {expression};", type_name(kind)));
    }

    fn literal(&mut self, ty: Id, id: Id, bits: &[u32]) {
        let kind = self.kinds.get(&ty).copied().unwrap_or(Kind::U32);
        let low = bits[0];
        let text = match kind {
            Kind::F32 => format!("as_type<float>({low:#x}u)"),
            Kind::U64 => {
                let wide = u64::from(low) | u64::from(bits.get(1).copied().unwrap_or(0)) << 32;
                format!("{wide}ul")
            }
            Kind::U8 | Kind::U16 => format!("{}({low}u)", type_name(kind)),
            _ => format!("{low}u"),
        };
        self.name(id, text, Some(kind));
    }

    fn instruction(&mut self, op: u32, o: &[u32], built_ins: &HashMap<Id, u32>) {
        let is = |other: Op| op == other as u32;
        if is(Op::TypeBool) {
            self.kinds.insert(o[0], Kind::Bool);
        } else if is(Op::TypeInt) {
            let kind = match o[1] {
                8 => Kind::U8,
                16 => Kind::U16,
                32 => Kind::U32,
                _ => Kind::U64,
            };
            self.kinds.insert(o[0], kind);
        } else if is(Op::TypeFloat) {
            let kind = if o[1] == 32 { Kind::F32 } else { Kind::F64 };
            self.kinds.insert(o[0], kind);
        } else if is(Op::TypePointer) {
            self.pointers.insert(o[0], (o[1], o[2]));
        } else if is(Op::Constant) {
            self.literal(o[0], o[1], &o[2..]);
        } else if is(Op::ConstantTrue) || is(Op::ConstantFalse) {
            let text = if is(Op::ConstantTrue) {
                "true"
            } else {
                "false"
            };
            self.name(o[1], text.to_owned(), Some(Kind::Bool));
        } else if is(Op::Variable) {
            self.variable(o, built_ins);
        } else if is(Op::AccessChain) {
            self.name(o[1], "block".to_owned(), Some(Kind::U64));
        } else if is(Op::CompositeExtract) {
            let part = ["x", "y", "z"][o[3] as usize % 3];
            let expression = format!("{}.{part}", self.text(o[2]));
            self.define(o[0], o[1], &expression);
        } else if is(Op::Load) {
            self.load(o);
        } else if is(Op::Store) {
            let text = format!("{} = {};", self.text(o[0]), self.text(o[1]));
            self.line(&text);
        } else if is(Op::ConvertUToPtr) {
            let to = self
                .pointers
                .get(&o[0])
                .and_then(|(_, ty)| self.kinds.get(ty));
            let name = type_name(to.copied().unwrap_or(Kind::U32));
            let from = self.text(o[2]);
            let pointer = format!("(*reinterpret_cast<device {name}*>({from}))");
            self.name(o[1], pointer, to.copied());
        } else if !self.control(op, o) && !self.atomic(op, o) {
            self.value(op, o);
        }
    }

    fn variable(&mut self, o: &[u32], built_ins: &HashMap<Id, u32>) {
        let (class, to) = self.pointers.get(&o[0]).copied().unwrap_or((0, 0));
        if class == storage::FUNCTION {
            let kind = self.kinds.get(&to).copied().unwrap_or(Kind::U32);
            self.name(o[1], format!("v{}", o[1]), Some(kind));
            self.line(&format!("{} v{} = 0;", type_name(kind), o[1]));
            return;
        }
        let text = match built_ins.get(&o[1]) {
            Some(&built_in::WORKGROUP_ID) => "group",
            Some(&built_in::NUM_WORKGROUPS) => "groups",
            Some(_) => "local",
            None => "block",
        };
        self.name(o[1], text.to_owned(), None);
    }

    fn load(&mut self, o: &[u32]) {
        let from = self.text(o[2]);
        // A vector that the launch fills is looked at part by part.
        if !self.kinds.contains_key(&o[0]) {
            self.name(o[1], from, None);
            return;
        }
        self.define(o[0], o[1], &from);
    }

    /// Branches and loops; false if it is neither.
    fn control(&mut self, op: u32, o: &[u32]) -> bool {
        let is = |other: Op| op == other as u32;
        if is(Op::SelectionMerge) {
            self.announced = Some(o[0]);
        } else if is(Op::LoopMerge) {
            self.line("for (;;) {");
            self.open.push(Open::Loop { merge: o[0] });
        } else if is(Op::BranchConditional) {
            let condition = self.text(o[0]);
            match self.announced.take() {
                Some(merge) => {
                    self.line(&format!("if ({condition}) {{"));
                    self.open.push(Open::Branch { merge });
                }
                None => self.line(&format!("if (!{condition}) break;")),
            }
        } else if is(Op::Label) {
            let closes = match self.open.last() {
                Some(Open::Branch { merge } | Open::Loop { merge }) => *merge == o[0],
                None => false,
            };
            if closes {
                self.open.pop();
                self.line("}");
            }
        } else {
            return [Op::Branch, Op::Return, Op::Function, Op::FunctionEnd]
                .into_iter()
                .any(is);
        }
        true
    }

    /// Atomic updates of memory; false if it is none.
    fn atomic(&mut self, op: u32, o: &[u32]) -> bool {
        let is = |other: Op| op == other as u32;
        let (function, signed) = match op {
            _ if is(Op::AtomicIAdd) => ("fetch_add", false),
            _ if is(Op::AtomicISub) => ("fetch_sub", false),
            _ if is(Op::AtomicAnd) => ("fetch_and", false),
            _ if is(Op::AtomicOr) => ("fetch_or", false),
            _ if is(Op::AtomicXor) => ("fetch_xor", false),
            _ if is(Op::AtomicUMin) => ("fetch_min", false),
            _ if is(Op::AtomicUMax) => ("fetch_max", false),
            _ if is(Op::AtomicSMin) => ("fetch_min", true),
            _ if is(Op::AtomicSMax) => ("fetch_max", true),
            _ if is(Op::AtomicExchange) => ("exchange", false),
            _ if is(Op::AtomicLoad) => ("load", false),
            _ if is(Op::AtomicCompareExchange) => ("compare_exchange", false),
            _ => return false,
        };
        let sign = if signed { "int" } else { "uint" };
        let place = self.text(o[2]);
        let pointer = format!("reinterpret_cast<device atomic_{sign}*>(&{place})");
        let order = "memory_order_relaxed";
        match function {
            "load" => {
                let call = format!("atomic_load_explicit({pointer}, {order})");
                self.define(o[0], o[1], &call);
            }
            "compare_exchange" => {
                // The weak form may fail without a reason; then it is tried again.
                let (value, expected) = (self.text(o[6]), self.text(o[7]));
                self.define(o[0], o[1], &expected);
                let call = format!(
                    "while (!atomic_compare_exchange_weak_explicit({pointer}, &v{}, {value}, {order}, \
                     {order}) && v{} == {expected}) {{}}",
                    o[1], o[1]
                );
                self.line(&call);
            }
            _ => {
                let value = self.text(o[5]);
                let call = format!(
                    "uint(atomic_{function}_explicit({pointer}, {sign}({value}), {order}))"
                );
                self.define(o[0], o[1], &call);
            }
        }
        true
    }

    /// An operation on values; what is about types and sections is passed over.
    fn value(&mut self, op: u32, o: &[u32]) {
        let is = |other: Op| op == other as u32;
        let any = |others: &[Op]| others.iter().any(|other| op == *other as u32);
        let declared = any(&[
            Op::TypeVoid,
            Op::TypeVector,
            Op::TypeStruct,
            Op::TypeFunction,
            Op::Capability,
            Op::ExtInstImport,
            Op::MemoryModel,
            Op::EntryPoint,
            Op::ExecutionMode,
            Op::Decorate,
            Op::MemberDecorate,
            Op::ConstantNull,
        ]);
        if declared {
            return;
        }
        let result = self.kinds.get(&o[0]).copied().unwrap_or(Kind::U32);
        let at = |n: usize| self.text(o[n]);
        if is(Op::ExtInst) {
            let function = match o[3] {
                glsl::FMA => "fma",
                glsl::FLOOR => "floor",
                glsl::CEIL => "ceil",
                glsl::TRUNC => "trunc",
                glsl::ROUND_EVEN => "rint",
                glsl::SIN => "precise::sin",
                glsl::COS => "precise::cos",
                glsl::TAN => "precise::tan",
                glsl::ASIN => "precise::asin",
                glsl::ACOS => "precise::acos",
                glsl::ATAN => "precise::atan",
                glsl::SINH => "precise::sinh",
                glsl::COSH => "precise::cosh",
                glsl::TANH => "precise::tanh",
                glsl::ATAN2 => "precise::atan2",
                glsl::POW => "precise::pow",
                glsl::EXP => "precise::exp",
                glsl::LOG => "precise::log",
                glsl::LOG2 => "precise::log2",
                _ => "precise::sqrt",
            };
            let arguments: Vec<String> = (4..o.len()).map(at).collect();
            let call = format!("{function}({})", arguments.join(", "));
            self.define(o[0], o[1], &call);
            return;
        }
        let infix = match op {
            _ if any(&[Op::IAdd, Op::FAdd]) => "+",
            _ if any(&[Op::ISub, Op::FSub]) => "-",
            _ if any(&[Op::IMul, Op::FMul]) => "*",
            _ if any(&[Op::UDiv, Op::FDiv, Op::SDiv]) => "/",
            _ if is(Op::UMod) => "%",
            _ if is(Op::LogicalOr) => "||",
            _ if is(Op::LogicalAnd) => "&&",
            _ if any(&[Op::IEqual, Op::FOrdEqual]) => "==",
            _ if any(&[Op::INotEqual, Op::FUnordNotEqual]) => "!=",
            _ if any(&[Op::UGreaterThan, Op::SGreaterThan, Op::FOrdGreaterThan]) => ">",
            _ if any(&[
                Op::UGreaterThanEqual,
                Op::SGreaterThanEqual,
                Op::FOrdGreaterThanEqual,
            ]) =>
            {
                ">="
            }
            _ if any(&[Op::ULessThan, Op::SLessThan, Op::FOrdLessThan]) => "<",
            _ if any(&[
                Op::ULessThanEqual,
                Op::SLessThanEqual,
                Op::FOrdLessThanEqual,
            ]) =>
            {
                "<="
            }
            _ if any(&[Op::ShiftRightLogical, Op::ShiftRightArithmetic]) => ">>",
            _ if is(Op::ShiftLeftLogical) => "<<",
            _ if is(Op::BitwiseOr) => "|",
            _ if is(Op::BitwiseXor) => "^",
            _ if is(Op::BitwiseAnd) => "&",
            _ => "",
        };
        if !infix.is_empty() {
            let signed = any(&[
                Op::SDiv,
                Op::SGreaterThan,
                Op::SGreaterThanEqual,
                Op::SLessThan,
                Op::SLessThanEqual,
                Op::ShiftRightArithmetic,
            ]);
            let expression = if signed {
                let name = signed_name(self.kind(o[2]));
                let inner = format!("{name}({}) {infix} {name}({})", at(2), at(3));
                match result {
                    Kind::Bool => inner,
                    kind => format!("{}({inner})", type_name(kind)),
                }
            } else {
                format!("{} {infix} {}", at(2), at(3))
            };
            self.define(o[0], o[1], &expression);
            return;
        }
        let from = self.kind(o[2]);
        let expression = match op {
            _ if is(Op::Select) => format!("{} ? {} : {}", at(2), at(3), at(4)),
            _ if is(Op::LogicalNot) => format!("!{}", at(2)),
            _ if is(Op::Not) => format!("~{}", at(2)),
            _ if is(Op::SNegate) => format!("0 - {}", at(2)),
            _ if is(Op::FRem) => format!("fmod({}, {})", at(2), at(3)),
            _ if is(Op::BitCount) => format!("popcount({})", at(2)),
            _ if is(Op::Bitcast) => format!("as_type<{}>({})", type_name(result), at(2)),
            _ if is(Op::ConvertFToS) => {
                format!("{}({}({}))", type_name(result), signed_name(result), at(2))
            }
            _ if is(Op::ConvertSToF) => format!("float({}({}))", signed_name(from), at(2)),
            _ if is(Op::SConvert) => format!(
                "{}({}({}({})))",
                type_name(result),
                signed_name(result),
                signed_name(from),
                at(2)
            ),
            _ => format!("{}({})", type_name(result), at(2)),
        };
        self.define(o[0], o[1], &expression);
    }
}
