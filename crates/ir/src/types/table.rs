//! The table of types: each distinct type once, with its C++ spelling worked out when it is entered.
//!
//! Invariant: two ids are equal exactly when the types are; [`TypeTable::equal`] is the language's
//! own, slightly wider notion (the rank of an array is not part of its type).

use std::borrow::Cow;

use super::{Mapping, Query, Scalar, Tile};
use crate::names::{Name, Names};
use crate::small_keys::Map;

/// A type in a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

impl TypeId {
    /// The concrete scalar's id: scalars are entered first, in their order.
    pub const fn scalar(scalar: Scalar) -> Self {
        Self(scalar as u32)
    }

    /// `bool`.
    pub const BOOL: Self = Self::scalar(Scalar::Bool);
    /// `int32`, the type of Python's `int`.
    pub const I32: Self = Self::scalar(Scalar::I32);
    /// `float32`, the type of Python's `float`.
    pub const F32: Self = Self::scalar(Scalar::F32);
    /// `uint32`.
    pub const U32: Self = Self::scalar(Scalar::U32);
    /// `uint64`.
    pub const U64: Self = Self::scalar(Scalar::U64);
    /// What `range()` makes.
    pub const RANGE: Self = Self(SCALARS);
    /// A slice of an array, a vector or a matrix.
    pub const SLICE: Self = Self(SCALARS + 1);
    /// The `shape` of an array.
    pub const SHAPE: Self = Self(SCALARS + 2);
    /// A string constant.
    pub const STR: Self = Self(SCALARS + 3);

    /// Position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

const SCALARS: u32 = 17;

/// Threads in a block that nobody gave a length.
pub const GPU_BLOCK: i64 = 256;
/// The same on the CPU.
pub const CPU_BLOCK: i64 = 1;

/// A struct in a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub u32);

impl StructId {
    /// Position among the structs of the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a type is made of. A length of 0 stands for any length, in generic signatures only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Scalar(Scalar),
    Range,
    Slice,
    Shape,
    Str,
    Vector {
        length: u32,
        scalar: Scalar,
    },
    Matrix {
        rows: u32,
        cols: u32,
        scalar: Scalar,
    },
    Quat(Scalar),
    Transform(Scalar),
    Array {
        element: TypeId,
        rank: u8,
    },
    FixedArray {
        element: TypeId,
        rank: u8,
        dims: [u32; 4],
    },
    /// An array that is reached through indices or buckets.
    MappedArray {
        mapping: Mapping,
        element: TypeId,
        rank: u8,
    },
    Struct(StructId),
    /// What a builtin answers about a mesh, a tree of boxes or a hash grid.
    Query(Query),
    Tuple(u32),
    Reference(TypeId),
    /// A tile: position among the tiles of the table. Each is a type of its own, because what is done
    /// with one decides where it lies.
    Tile(u32),
    /// Values that a block keeps on a stack.
    TileStack {
        element: TypeId,
        capacity: u32,
    },
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDef {
    /// The name in Python and in C++.
    pub name: Name,
    /// The type.
    pub ty: TypeId,
    /// Whether it was declared as a handle, of which no gradients are added up.
    pub is_handle: bool,
}

/// A struct: its name in Python, its name in C++, its fields in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructDef {
    /// The Python class.
    pub key: Name,
    /// The C++ type.
    pub native: Name,
    /// The fields.
    pub fields: Vec<FieldDef>,
}

impl StructDef {
    /// The type of a field.
    pub fn field(&self, name: Name) -> Option<TypeId> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .map(|field| field.ty)
    }
}

/// Every type of one module.
#[derive(Clone, Debug)]
pub struct TypeTable {
    types: Vec<Type>,
    spellings: Vec<Box<str>>,
    ids: Map<Type, TypeId>,
    structs: Vec<StructDef>,
    tuples: Vec<Box<[TypeId]>>,
    tiles: Vec<(TypeId, Tile)>,
    /// Threads in a block of the GPU.
    gpu_block: i64,
    /// Spellings of tiles on the CPU, whose blocks have one thread.
    cpu_spellings: Map<TypeId, Box<str>>,
    /// Types in whose spelling Python's own types have their own names, and which of them do.
    python_types: Map<TypeId, u64>,
}

impl Default for TypeTable {
    fn default() -> Self {
        Self::new()
    }
}

/// A size in digits; nearly all are small, and types are spelled again for every kernel.
fn decimal(size: u32) -> Cow<'static, str> {
    const SMALL: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    match SMALL.get(size as usize) {
        Some(digit) => Cow::Borrowed(digit),
        None => Cow::Owned(size.to_string()),
    }
}

impl TypeTable {
    /// A table with the scalars and the types that have no parts.
    pub fn new() -> Self {
        let mut table = Self {
            types: Vec::with_capacity(64),
            spellings: Vec::with_capacity(64),
            ids: Map::default(),
            structs: Vec::new(),
            tuples: Vec::new(),
            tiles: Vec::new(),
            gpu_block: GPU_BLOCK,
            cpu_spellings: Map::default(),
            python_types: Map::default(),
        };
        let placeholders = [
            Scalar::Any,
            Scalar::AnyScalar,
            Scalar::AnyFloat,
            Scalar::AnyInt,
        ];
        for scalar in Scalar::CONCRETE.into_iter().chain(placeholders) {
            table.enter(Type::Scalar(scalar), scalar.spelling().into());
        }
        table.enter(Type::Range, "wp::range_t".into());
        table.enter(Type::Slice, "wp::slice_t".into());
        table.enter(Type::Shape, "wp::shape_t".into());
        table.enter(Type::Str, "wp::str".into());
        table
    }

    /// A table with nothing in it, not even memory; [`TypeTable::reset`] fills it.
    pub fn empty() -> Self {
        Self {
            types: Vec::new(),
            spellings: Vec::new(),
            ids: Map::default(),
            structs: Vec::new(),
            tuples: Vec::new(),
            tiles: Vec::new(),
            gpu_block: GPU_BLOCK,
            cpu_spellings: Map::default(),
            python_types: Map::default(),
        }
    }

    /// Forgets structs, tuples and what is made of them, keeping the rest for the next module.
    pub fn reset(&mut self) {
        if !self.types.is_empty()
            && self.structs.is_empty()
            && self.tuples.is_empty()
            && self.tiles.is_empty()
            && self.types.len() < 512
        {
            return;
        }
        *self = Self::new();
    }

    fn enter(&mut self, ty: Type, spelling: Box<str>) -> TypeId {
        let id = TypeId(self.types.len() as u32);
        self.types.push(ty);
        self.spellings.push(spelling);
        self.ids.insert(ty, id);
        id
    }

    /// The id of a type that is in the table.
    pub fn find(&self, ty: Type) -> Option<TypeId> {
        self.ids.get(&ty).copied()
    }

    /// The id of a type, entered if it is new.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(id) = self.ids.get(&ty) {
            return *id;
        }
        let spelling = match ty {
            Type::Vector { length, scalar } => {
                let length = decimal(length);
                ["wp::vec_t<", &length, ", ", scalar.spelling(), ">"].concat()
            }
            Type::Matrix { rows, cols, scalar } => {
                let (rows, cols) = (decimal(rows), decimal(cols));
                let scalar = scalar.spelling();
                ["wp::mat_t<", &rows, ", ", &cols, ", ", scalar, ">"].concat()
            }
            Type::Quat(scalar) => ["wp::quat_t<", scalar.spelling(), ">"].concat(),
            Type::Transform(scalar) => ["wp::transform_t<", scalar.spelling(), ">"].concat(),
            Type::Array { element, .. } => ["wp::array_t<", self.spelling(element), ">"].concat(),
            Type::FixedArray {
                element,
                rank,
                dims,
            } => {
                let size: u64 = dims[..usize::from(rank)]
                    .iter()
                    .map(|dim| u64::from(*dim))
                    .product();
                format!("wp::fixedarray_t<{size}, {}>", self.spelling(element))
            }
            Type::MappedArray {
                mapping, element, ..
            } => [mapping.spelling(), self.spelling(element), ">"].concat(),
            Type::Reference(value) => [self.spelling(value), "*"].concat(),
            Type::Tuple(index) => {
                let parts: Vec<&str> = self.tuples[index as usize]
                    .iter()
                    .map(|part| self.spelling(*part))
                    .collect();
                format!("wp::tuple_t<{}>", parts.join(", "))
            }
            Type::Query(query) => query.spelling().to_owned(),
            Type::TileStack { element, capacity } => {
                format!("wp::tile_stack_t<{}, {capacity}>", self.spelling(element))
            }
            Type::Scalar(_)
            | Type::Range
            | Type::Slice
            | Type::Shape
            | Type::Str
            | Type::Struct(_)
            | Type::Tile(_) => String::new(),
        };
        self.enter(ty, spelling.into())
    }

    /// Enters a struct; its type is [`Type::Struct`] of the id.
    pub fn define_struct(&mut self, def: StructDef, names: &Names) -> TypeId {
        let id = StructId(self.structs.len() as u32);
        let spelling = names.get(def.native).into();
        self.structs.push(def);
        self.enter(Type::Struct(id), spelling)
    }

    /// The type of a tuple of `parts`.
    pub fn tuple(&mut self, parts: &[TypeId]) -> TypeId {
        let known = self.tuples.iter().position(|tuple| **tuple == *parts);
        let index = known.unwrap_or_else(|| {
            self.tuples.push(parts.into());
            self.tuples.len() - 1
        });
        self.intern(Type::Tuple(index as u32))
    }

    /// The same type by another id, in whose spelling Python's own types have their own names: a scalar, that of a
    /// quaternion or a transform, the elements of a Fabric array, the parts of a tuple that `which` has a bit for. Equal to the plain type.
    pub fn with_python_types(&mut self, plain: TypeId, which: u64) -> TypeId {
        let name = |ty: TypeId| match ty {
            TypeId::F32 => Some("float"),
            TypeId::I32 => Some("int"),
            TypeId::BOOL => Some("bool"),
            _ => None,
        };
        let ty = self.get(plain);
        let spelling = match ty {
            Type::Tuple(index) => {
                let parts = self.tuple_parts(index).iter().enumerate();
                let parts = parts.map(|(at, part)| {
                    let python = at < 64 && which >> at & 1 == 1;
                    let name = name(*part).filter(|_| python);
                    name.unwrap_or_else(|| self.spelling(*part))
                });
                format!("wp::tuple_t<{}>", parts.collect::<Vec<_>>().join(", "))
            }
            Type::Scalar(_) => name(plain)
                .unwrap_or_else(|| self.spelling(plain))
                .to_owned(),
            Type::MappedArray { element, .. } => {
                let own = name(element).unwrap_or_else(|| self.spelling(element));
                self.spelling(plain).replace(self.spelling(element), own)
            }
            _ => {
                let scalar = Scalar::F32.spelling();
                self.spelling(plain).replace(scalar, "float")
            }
        };
        let mut known = self.python_types.iter();
        let known = known.find(|(id, bits)| self.get(**id) == ty && **bits == which);
        if let Some((id, _)) = known {
            return *id;
        }
        // Whoever looks the type up finds the plain one.
        let id = TypeId(self.types.len() as u32);
        self.types.push(ty);
        self.spellings.push(spelling.into());
        self.python_types.insert(id, which);
        id
    }

    /// Which parts have the names of Python's own types, where it is spelled so.
    pub fn python_types(&self, id: TypeId) -> Option<u64> {
        self.python_types.get(&id).copied()
    }

    /// A scalar by its usual id, however it is spelled; any other type is itself.
    pub fn plain_scalar(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Scalar(scalar) => TypeId::scalar(scalar),
            _ => id,
        }
    }

    /// The id that a type is found by.
    pub fn plain(&self, id: TypeId) -> TypeId {
        self.find(self.get(id)).unwrap_or(id)
    }

    /// A new tile, which is a type of its own.
    pub fn tile(&mut self, tile: Tile) -> TypeId {
        let index = self.tiles.len() as u32;
        let id = self.enter(Type::Tile(index), "".into());
        self.tiles.push((id, tile));
        self.spell_tile(index as usize);
        id
    }

    /// What a tile is made of; `None` for any other type.
    pub fn tile_of(&self, id: TypeId) -> Option<&Tile> {
        match self.get(id) {
            Type::Tile(index) => Some(&self.tiles[index as usize].1),
            _ => None,
        }
    }

    /// Puts a tile into shared memory, wherever it was made.
    pub fn share_tile(&mut self, id: TypeId, shared: bool) {
        if let Type::Tile(index) = self.get(id) {
            self.tiles[index as usize].1.shared = shared;
            self.spell_tile(index as usize);
        }
    }

    /// Threads in a block of the GPU, for which tiles are spelled.
    pub fn gpu_block(&self) -> i64 {
        self.gpu_block
    }

    /// Sets how many threads a block of the GPU has; of use before a kernel's tiles are made.
    pub fn set_gpu_block(&mut self, threads: i64) {
        self.gpu_block = threads;
    }

    fn spell_tile(&mut self, index: usize) {
        let (id, tile) = &self.tiles[index];
        let element = self.spelling(tile.element);
        let spelling = tile.spelling(element, self.gpu_block);
        let on_cpu = tile.spelling(element, CPU_BLOCK);
        if spelling != on_cpu {
            self.cpu_spellings.insert(*id, on_cpu.into());
        }
        self.spellings[id.index()] = spelling.into();
    }

    /// The C++ spelling in blocks of one thread, as the CPU's are.
    pub fn cpu_spelling(&self, id: TypeId) -> &str {
        match self.cpu_spellings.get(&id) {
            Some(spelling) => spelling,
            None => self.spelling(id),
        }
    }

    /// What an id stands for.
    pub fn get(&self, id: TypeId) -> Type {
        self.types[id.index()]
    }

    /// Whether values of a type are numbers, or made of numbers: what a `wp.ref` may point at.
    pub fn is_plain_value(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Scalar(scalar) => !scalar.is_placeholder(),
            Type::Struct(_) => true,
            _ => self.is_compound(id) && !self.is_generic(id),
        }
    }

    /// How many types there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are none; never so.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The C++ spelling; a reference is a pointer.
    pub fn spelling(&self, id: TypeId) -> &str {
        &self.spellings[id.index()]
    }

    /// The structs in the order they were defined.
    pub fn structs(&self) -> &[StructDef] {
        &self.structs
    }

    /// One struct.
    pub fn struct_def(&self, id: StructId) -> &StructDef {
        &self.structs[id.index()]
    }

    /// The length of a value whose type says it.
    pub fn fixed_length(&self, ty: TypeId) -> Option<u32> {
        Some(match self.get(ty) {
            Type::Vector { length, .. } => length,
            Type::Matrix { rows, .. } => rows,
            Type::Quat(_) => 4,
            Type::Transform(_) => 7,
            Type::Tuple(index) => self.tuple_parts(index).len() as u32,
            _ => return None,
        })
    }

    /// How many numbers a value consists of, where it consists of numbers.
    pub fn numbers_of(&self, ty: TypeId) -> Option<u32> {
        Some(match self.get(ty) {
            Type::Scalar(scalar) if !scalar.is_placeholder() => 1,
            Type::Vector { length, .. } => length,
            Type::Matrix { rows, cols, .. } => rows * cols,
            Type::Quat(_) => 4,
            Type::Transform(_) => 7,
            Type::Struct(id) => {
                let mut fields = self.struct_def(id).fields.iter();
                fields.try_fold(0, |sum, field| Some(sum + self.numbers_of(field.ty)?))?
            }
            _ => return None,
        })
    }

    /// The parts of a tuple.
    pub fn tuple_parts(&self, index: u32) -> &[TypeId] {
        &self.tuples[index as usize]
    }

    /// A reference's value type; any other type is itself.
    pub fn value_of(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Reference(value) => value,
            _ => id,
        }
    }

    /// Whether `id` is a reference.
    pub fn is_reference(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Reference(_))
    }

    /// A reference to `value`.
    pub fn reference(&mut self, value: TypeId) -> TypeId {
        self.intern(Type::Reference(value))
    }

    /// The scalar that a value type is made of; `None` for arrays, structs and the like.
    pub fn scalar_of(&self, id: TypeId) -> Option<Scalar> {
        match self.get(id) {
            Type::Scalar(scalar)
            | Type::Quat(scalar)
            | Type::Transform(scalar)
            | Type::Vector { scalar, .. }
            | Type::Matrix { scalar, .. } => Some(scalar),
            _ => None,
        }
    }

    /// The language's type equality: as ids, but blind to the rank of arrays.
    pub fn equal(&self, a: TypeId, b: TypeId) -> bool {
        if a == b || self.get(a) == self.get(b) {
            return true;
        }
        match (self.get(a), self.get(b)) {
            (Type::Array { element: x, .. }, Type::Array { element: y, .. })
            | (Type::FixedArray { element: x, .. }, Type::FixedArray { element: y, .. }) => {
                self.equal(x, y)
            }
            (
                Type::MappedArray {
                    mapping,
                    element: x,
                    ..
                },
                Type::MappedArray {
                    mapping: other,
                    element: y,
                    ..
                },
            ) => mapping == other && self.equal(x, y),
            (Type::Tile(x), Type::Tile(y)) => {
                let [x, y] = [x, y].map(|tile| self.tiles[tile as usize].1.element);
                self.equal(x, y)
            }
            (Type::Tuple(x), Type::Tuple(y)) => {
                let (x, y) = (self.tuple_parts(x), self.tuple_parts(y));
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.equal(*x, *y))
            }
            _ => false,
        }
    }

    /// Element type and rank of an array of either kind.
    pub fn array_parts(&self, id: TypeId) -> Option<(TypeId, u8)> {
        match self.get(id) {
            Type::Array { element, rank }
            | Type::FixedArray { element, rank, .. }
            | Type::MappedArray { element, rank, .. } => Some((element, rank)),
            _ => None,
        }
    }

    /// Whether the type is a vector, matrix, quaternion or transform.
    pub fn is_compound(&self, id: TypeId) -> bool {
        matches!(
            self.get(id),
            Type::Vector { .. } | Type::Matrix { .. } | Type::Quat(_) | Type::Transform(_)
        )
    }

    /// Whether the type is a scalar integer; `bool` is not.
    pub fn is_int(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Scalar(scalar) if scalar.is_int())
    }

    /// Whether values of this type may carry gradients.
    pub fn is_differentiable_value(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Struct(_)) || self.scalar_of(id).is_some_and(Scalar::is_float)
    }

    /// Whether the type stands for a family of types.
    pub fn is_generic(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Scalar(scalar) | Type::Quat(scalar) | Type::Transform(scalar) => {
                scalar.is_placeholder()
            }
            Type::Vector { length, scalar } => length == 0 || scalar.is_placeholder(),
            Type::Matrix { rows, cols, scalar } => {
                rows == 0 || cols == 0 || scalar.is_placeholder()
            }
            Type::Array { element, .. }
            | Type::FixedArray { element, .. }
            | Type::MappedArray { element, .. } => self.is_generic(element),
            Type::Tile(index) => {
                let tile = &self.tiles[index as usize].1;
                tile.shape.is_empty() || self.is_generic(tile.element)
            }
            _ => false,
        }
    }

    /// The short code that signatures and hashes are made of.
    pub fn code(&self, id: TypeId, names: &Names) -> String {
        let any = |n: u32| {
            if n == 0 {
                "?".to_owned()
            } else {
                n.to_string()
            }
        };
        match self.get(id) {
            Type::Scalar(scalar) => scalar.code().to_owned(),
            Type::Vector { length, scalar } => format!("v{}{}", any(length), scalar.code()),
            Type::Matrix { rows, cols, scalar } => {
                format!("m{}{}{}", any(rows), any(cols), scalar.code())
            }
            Type::Quat(scalar) => format!("q{}", scalar.code()),
            Type::Transform(scalar) => format!("t{}", scalar.code()),
            Type::Array { element, rank } | Type::FixedArray { element, rank, .. } => {
                format!("a{rank}{}", self.code(element, names))
            }
            Type::MappedArray {
                mapping,
                element,
                rank,
            } => format!("{}{rank}{}", mapping.code(), self.code(element, names)),
            Type::Struct(id) => names.get(self.struct_def(id).native).to_owned(),
            Type::Query(query) => query.code().to_owned(),
            Type::Tuple(index) => {
                let parts = self.tuple_parts(index);
                let codes: String = parts.iter().map(|part| self.code(*part, names)).collect();
                format!("tplt{}{codes}", parts.len())
            }
            Type::Reference(value) => format!("ref{}", self.code(value, names)),
            Type::Tile(index) => {
                let tile = &self.tiles[index as usize].1;
                format!("tl{}{}", tile.shape.len(), self.code(tile.element, names))
            }
            Type::TileStack { element, capacity } => {
                format!("ts{capacity}{}", self.code(element, names))
            }
            Type::Range => "rg".to_owned(),
            Type::Slice => "slice".to_owned(),
            Type::Shape => "sh".to_owned(),
            Type::Str => "str".to_owned(),
        }
    }

    /// The type as a message shows it: `vec3f`-like names in Python's words.
    pub fn describe(&self, id: TypeId, names: &Names) -> String {
        match self.get(id) {
            Type::Scalar(scalar) => scalar.name().to_owned(),
            Type::Vector { length, scalar } => format!("vector({length}, {})", scalar.name()),
            Type::Matrix { rows, cols, scalar } => {
                format!("matrix({rows}x{cols}, {})", scalar.name())
            }
            Type::Quat(scalar) => format!("quaternion({})", scalar.name()),
            Type::Transform(scalar) => format!("transformation({})", scalar.name()),
            Type::Array { element, rank } => {
                format!("array{rank}d[{}]", self.describe(element, names))
            }
            Type::FixedArray { element, .. } => {
                format!("fixedarray[{}]", self.describe(element, names))
            }
            Type::MappedArray {
                mapping, element, ..
            } => format!("{}[{}]", mapping.class(), self.describe(element, names)),
            Type::Struct(id) => names.get(self.struct_def(id).key).to_owned(),
            Type::Query(query) => query.class().unwrap_or(query.code()).to_owned(),
            Type::Tuple(index) => {
                let parts: Vec<String> = self
                    .tuple_parts(index)
                    .iter()
                    .map(|part| self.describe(*part, names))
                    .collect();
                format!("tuple[{}]", parts.join(", "))
            }
            Type::Reference(value) => self.describe(value, names),
            Type::Tile(index) => {
                let tile = &self.tiles[index as usize].1;
                format!("tile[{}]", self.describe(tile.element, names))
            }
            Type::TileStack { element, .. } => {
                format!("tile_stack[{}]", self.describe(element, names))
            }
            Type::Range => "range".to_owned(),
            Type::Slice => "slice".to_owned(),
            Type::Shape => "shape".to_owned(),
            Type::Str => "str".to_owned(),
        }
    }
}
