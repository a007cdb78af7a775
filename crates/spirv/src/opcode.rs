//! Numbers of the SPIR-V specification, 1.5: those that we write.

/// Instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Op {
    ExtInstImport = 11,
    ExtInst = 12,
    MemoryModel = 14,
    EntryPoint = 15,
    ExecutionMode = 16,
    Capability = 17,
    TypeVoid = 19,
    TypeBool = 20,
    TypeInt = 21,
    TypeFloat = 22,
    TypeVector = 23,
    TypeStruct = 30,
    TypePointer = 32,
    TypeFunction = 33,
    ConstantTrue = 41,
    ConstantFalse = 42,
    Constant = 43,
    ConstantNull = 46,
    Function = 54,
    FunctionEnd = 56,
    Variable = 59,
    Load = 61,
    Store = 62,
    AccessChain = 65,
    Decorate = 71,
    MemberDecorate = 72,
    CompositeConstruct = 80,
    CompositeExtract = 81,
    ConvertFToS = 110,
    ConvertSToF = 111,
    ConvertUToF = 112,
    UConvert = 113,
    SConvert = 114,
    FConvert = 115,
    ConvertUToPtr = 120,
    Bitcast = 124,
    SNegate = 126,
    IAdd = 128,
    FAdd = 129,
    ISub = 130,
    FSub = 131,
    IMul = 132,
    FMul = 133,
    UDiv = 134,
    SDiv = 135,
    FDiv = 136,
    UMod = 137,
    FRem = 140,
    LogicalOr = 166,
    LogicalAnd = 167,
    LogicalNot = 168,
    Select = 169,
    IEqual = 170,
    INotEqual = 171,
    UGreaterThan = 172,
    SGreaterThan = 173,
    UGreaterThanEqual = 174,
    SGreaterThanEqual = 175,
    ULessThan = 176,
    SLessThan = 177,
    ULessThanEqual = 178,
    SLessThanEqual = 179,
    FOrdEqual = 180,
    FUnordNotEqual = 183,
    FOrdLessThan = 184,
    FOrdGreaterThan = 186,
    FOrdLessThanEqual = 188,
    FOrdGreaterThanEqual = 190,
    ShiftRightLogical = 194,
    ShiftRightArithmetic = 195,
    ShiftLeftLogical = 196,
    BitwiseOr = 197,
    BitwiseXor = 198,
    BitwiseAnd = 199,
    Not = 200,
    BitCount = 205,
    AtomicLoad = 227,
    AtomicExchange = 229,
    AtomicCompareExchange = 230,
    AtomicIAdd = 234,
    AtomicISub = 235,
    AtomicSMin = 236,
    AtomicUMin = 237,
    AtomicSMax = 238,
    AtomicUMax = 239,
    AtomicAnd = 240,
    AtomicOr = 241,
    AtomicXor = 242,
    LoopMerge = 246,
    SelectionMerge = 247,
    Label = 248,
    Branch = 249,
    BranchConditional = 250,
    Return = 253,
}

/// What a device must offer.
pub(super) mod capability {
    pub(in super::super) const SHADER: u32 = 1;
    pub(in super::super) const FLOAT64: u32 = 10;
    pub(in super::super) const INT64: u32 = 11;
    pub(in super::super) const INT64_ATOMICS: u32 = 12;
    pub(in super::super) const STORAGE_BUFFER_16BIT_ACCESS: u32 = 4433;
    pub(in super::super) const STORAGE_BUFFER_8BIT_ACCESS: u32 = 4448;
    pub(in super::super) const DENORM_PRESERVE: u32 = 4464;
    pub(in super::super) const SIGNED_ZERO_INF_NAN_PRESERVE: u32 = 4466;
    pub(in super::super) const ROUNDING_MODE_RTE: u32 = 4467;
    pub(in super::super) const PHYSICAL_STORAGE_BUFFER_ADDRESSES: u32 = 5347;
}

/// How a function runs.
pub(super) mod execution_mode {
    pub(in super::super) const LOCAL_SIZE: u32 = 17;
    pub(in super::super) const DENORM_PRESERVE: u32 = 4459;
    pub(in super::super) const SIGNED_ZERO_INF_NAN_PRESERVE: u32 = 4461;
    pub(in super::super) const ROUNDING_MODE_RTE: u32 = 4462;
}

/// What is said about results and variables.
pub(super) mod decoration {
    pub(in super::super) const BLOCK: u32 = 2;
    pub(in super::super) const BUILT_IN: u32 = 11;
    pub(in super::super) const OFFSET: u32 = 35;
    pub(in super::super) const NO_CONTRACTION: u32 = 42;
}

/// Where variables lie.
pub(super) mod storage {
    pub(in super::super) const INPUT: u32 = 1;
    pub(in super::super) const FUNCTION: u32 = 7;
    pub(in super::super) const PUSH_CONSTANT: u32 = 9;
    pub(in super::super) const PHYSICAL_STORAGE_BUFFER: u32 = 5349;
}

/// Variables that the launch fills.
pub(super) mod built_in {
    pub(in super::super) const NUM_WORKGROUPS: u32 = 24;
    pub(in super::super) const WORKGROUP_ID: u32 = 26;
    pub(in super::super) const LOCAL_INVOCATION_INDEX: u32 = 29;
}

/// GLSL's functions: those that are exact everywhere, the square root of a double, and, for devices without
/// doubles, those that are not exact.
pub(super) mod glsl {
    pub(in super::super) const ROUND_EVEN: u32 = 2;
    pub(in super::super) const TRUNC: u32 = 3;
    pub(in super::super) const FLOOR: u32 = 8;
    pub(in super::super) const CEIL: u32 = 9;
    pub(in super::super) const SIN: u32 = 13;
    pub(in super::super) const COS: u32 = 14;
    pub(in super::super) const TAN: u32 = 15;
    pub(in super::super) const ASIN: u32 = 16;
    pub(in super::super) const ACOS: u32 = 17;
    pub(in super::super) const ATAN: u32 = 18;
    pub(in super::super) const SINH: u32 = 19;
    pub(in super::super) const COSH: u32 = 20;
    pub(in super::super) const TANH: u32 = 21;
    pub(in super::super) const ATAN2: u32 = 25;
    pub(in super::super) const POW: u32 = 26;
    pub(in super::super) const EXP: u32 = 27;
    pub(in super::super) const LOG: u32 = 28;
    pub(in super::super) const LOG2: u32 = 30;
    pub(in super::super) const SQRT: u32 = 31;
    pub(in super::super) const FMA: u32 = 50;
}
