//! Binds arguments to the parameters of a planned kernel.

use std::time::Instant;

use super::argument::{Argument, ArgumentError, ArrayArgument, Bytes};
use super::lanes::{Cell, LANES};
use super::launch::Interpreter;
use super::layout::{ARRAY_LEAVES, ARRAY_SHAPE, ARRAY_STRIDES, Layout, MAPPED_LISTS};
use super::memory::Buffer;
use super::object::Objects;
use super::plan::number_bits;
use warpsmith_ir::types::{Mapping, Scalar, Type, TypeId};
use warpsmith_ir::{Module, Number};

/// An array as the lanes see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundArray {
    pub(super) buffer: usize,
    pub(super) shape: [i32; 4],
    pub(super) strides: [i32; 4],
}

/// Everything that a launch gives the lanes.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    pub(super) dim: Vec<usize>,
    /// For each parameter of the kernel, the array that it is.
    pub(super) arrays: Vec<Option<BoundArray>>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) gradients: Vec<Option<Buffer>>,
    /// The first buffer that is not an argument's but each lane's own.
    pub(super) first_own: usize,
    /// Whether several workers use the memory at once.
    pub(super) shared: bool,
    pub(super) watches_races: bool,
    /// Iterations that one block of lanes may make before a loop is taken to be endless.
    pub(super) most_iterations: u64,
    /// When every thread has to end.
    pub(super) deadline: Option<Instant>,
    /// Values of the parameters.
    pub(super) parameters: Vec<(Cell, Scalar, u64)>,
    /// What kernels reach through numbers.
    pub(super) objects: Objects,
    /// The arrays that were given, with their types.
    pub(super) given: Vec<(BoundArray, Type)>,
}

/// What a launch gives the threads of another device.
#[derive(Clone, Debug)]
pub struct BoundArguments {
    /// How many threads there are.
    pub threads: usize,
    /// The first buffer that is not an argument's but each thread's own.
    pub first_own: usize,
    /// Values of the parameters: where they lie, what they are, their bits.
    pub parameters: Vec<(Cell, Scalar, u64)>,
}

impl Interpreter<'_> {
    /// Lays out the arguments; takes no memory for arrays.
    pub(super) fn bind<M: Bytes>(
        &self,
        dim: &[usize],
        arguments: &[Argument<M>],
    ) -> Result<Bindings, ArgumentError> {
        let expected = self.plan.program.parameters.len();
        if arguments.len() != expected {
            return Err(ArgumentError::Count {
                expected,
                found: arguments.len(),
            });
        }
        let mut bindings = Bindings {
            dim: dim.to_vec(),
            most_iterations: self.most_iterations,
            deadline: self
                .limit
                .and_then(|limit| Instant::now().checked_add(limit)),
            watches_races: self.checks_races,
            objects: self.objects.clone(),
            ..Bindings::default()
        };
        if let Some(cell) = self.plan.program.block_dim {
            let bits = u64::from(self.block_dim.cast_unsigned());
            bindings.parameters.push((cell, Scalar::I32, bits));
        }
        for (parameter, argument) in self.plan.program.parameters.iter().zip(arguments) {
            let buffer = bindings.given.len();
            self.bind_value(
                &mut bindings,
                &parameter.name,
                parameter.ty,
                parameter.first,
                argument,
            )?;
            let array = match argument {
                Argument::Array(array) => Some(bound_array(array, buffer)),
                Argument::Same(position) => bindings.given.get(*position).map(|(bound, _)| *bound),
                _ => None,
            };
            bindings.arrays.push(array);
        }
        bindings.first_own = bindings.given.len();
        Ok(bindings)
    }

    /// Copies the arrays that the program uses, and makes those that each lane has for itself.
    pub(super) fn take_memory(&self, bindings: &mut Bindings, arguments: &[Argument]) {
        let shares = shares_memory(arguments);
        let parameters = self.plan.program.parameters.iter().enumerate();
        for ((n, parameter), argument) in parameters.zip(arguments) {
            let uses = if shares {
                (true, true)
            } else {
                self.uses(n, parameter.ty)
            };
            self.take_value(bindings, parameter.ty, argument, uses);
        }
        for own in &self.plan.program.own_arrays {
            let bytes = vec![0; own.count() * own.layout.bytes * LANES];
            bindings
                .buffers
                .push(Buffer::from_bytes(&own.layout, &bytes));
            let gradients = Buffer::from_bytes(&own.layout, &bytes);
            bindings.gradients.push(Some(gradients));
        }
    }

    fn take_value(
        &self,
        bindings: &mut Bindings,
        ty: TypeId,
        argument: &Argument,
        (values, gradients): (bool, bool),
    ) {
        let mut take = |element: TypeId, array: &ArrayArgument| {
            let layout = Layout::of(self.module, element);
            bindings.buffers.push(if values {
                Buffer::from_bytes(&layout, &array.data)
            } else {
                Buffer::default()
            });
            let gradient = array
                .gradient
                .as_ref()
                .filter(|_| gradients)
                .map(|bytes| Buffer::from_bytes(&layout, bytes));
            bindings.gradients.push(gradient);
        };
        match (array_type(self.module, ty), argument) {
            (Type::Array { element, .. }, Argument::Array(array)) => take(element, array),
            (Type::MappedArray { element, .. }, Argument::Struct(values)) => {
                for (n, value) in values.iter().enumerate() {
                    if let Argument::Array(array) = value {
                        take(if n == 0 { element } else { TypeId::I32 }, array);
                    }
                }
            }
            (Type::Struct(id), Argument::Struct(fields)) => {
                let types = &self.module.types.struct_def(id).fields;
                for (field, value) in types.iter().zip(fields) {
                    self.take_value(bindings, field.ty, value, (values, gradients));
                }
            }
            _ => {}
        }
    }

    fn bind_value<M: Bytes>(
        &self,
        bindings: &mut Bindings,
        name: &str,
        ty: TypeId,
        first: Cell,
        argument: &Argument<M>,
    ) -> Result<(), ArgumentError> {
        let module = self.module;
        let misfit = |found: String| {
            let expected = module.types.describe(ty, &module.names);
            ArgumentError::Mismatch {
                parameter: name.to_owned(),
                expected,
                found,
            }
        };
        let mismatch = |found: String| Err(misfit(found));
        let bound_of = |bindings: &mut Bindings, element, rank, argument: &Argument<M>| {
            let bound = bindings.take_given(module, (element, rank), argument);
            bound.map_err(misfit)
        };
        match (array_type(module, ty), argument) {
            (Type::Array { element, rank }, Argument::Array(_) | Argument::Same(_)) => {
                if let Argument::Array(array) = argument
                    && array.gradient.is_some()
                    && matches!(module.types.get(ty), Type::MappedArray { .. })
                {
                    return mismatch("an array with gradients".to_owned());
                }
                let bound = bound_of(bindings, element, rank, argument)?;
                bindings.bind_array(first, bound);
            }
            (
                Type::MappedArray {
                    mapping,
                    element,
                    rank,
                },
                Argument::Struct(values),
            ) => {
                let lists = mapping.index_lists(rank);
                let [data, indices @ ..] = values.as_slice() else {
                    return mismatch("nothing".to_owned());
                };
                if indices.len() != lists {
                    return mismatch(format!("an array and {} lists of indices", indices.len()));
                }
                if let Argument::Array(array) = data
                    && array.gradient.is_some()
                {
                    return mismatch("an array with gradients".to_owned());
                }
                let bound = bound_of(bindings, element, rank, data)?;
                let mut whole = bound;
                bindings.bind_array(first.at(ARRAY_LEAVES), bound);
                for (n, list) in indices.iter().enumerate() {
                    let list = bound_of(bindings, TypeId::I32, 1, list)?;
                    whole.shape[n] = list.shape[0];
                    bindings.bind_array(first.at((MAPPED_LISTS + n) * ARRAY_LEAVES), list);
                }
                bindings.bind_array(first, whole);
            }
            (Type::Array { .. }, Argument::Absent) => {
                bindings
                    .parameters
                    .push((first, Scalar::I32, u64::from(u32::MAX)));
            }
            (Type::Struct(id), Argument::Struct(values)) => {
                let fields = &module.types.struct_def(id).fields;
                if fields.len() != values.len() {
                    return mismatch(format!("a struct of {} fields", values.len()));
                }
                let mut at = first;
                for (field, value) in fields.iter().zip(values) {
                    let name = format!("{name}.{}", module.names.get(field.name));
                    self.bind_value(bindings, &name, field.ty, at, value)?;
                    at = at.at(Layout::of(module, field.ty).leaves.len());
                }
            }
            (_, Argument::Value(numbers)) => {
                let layout = Layout::of(module, ty);
                if layout.holds_array || layout.leaves.len() != numbers.len() {
                    return mismatch(format!("{} numbers", numbers.len()));
                }
                for (n, (leaf, number)) in layout.leaves.iter().zip(numbers).enumerate() {
                    if matches!(number, Number::Float(_)) && !leaf.scalar.is_float() {
                        return mismatch("a floating-point number".to_owned());
                    }
                    let bits = number_bits(leaf.scalar, *number);
                    bindings.parameters.push((first.at(n), leaf.scalar, bits));
                }
            }
            (_, Argument::Array(_) | Argument::Same(_)) => {
                return mismatch("an array".to_owned());
            }
            (_, Argument::Struct(_)) => return mismatch("a struct".to_owned()),
            (_, Argument::Absent) => return mismatch("missing".to_owned()),
        }
        Ok(())
    }

    /// Whether the program touches the values and the gradients of a parameter's arrays. Of arrays in
    /// structs that is not known, so they are always there.
    fn uses(&self, parameter: usize, ty: TypeId) -> (bool, bool) {
        let is_array = matches!(self.module.types.get(ty), Type::Array { .. });
        match self.plan.program.access.get(parameter) {
            Some(access) if is_array && !self.plan.program.ordered => {
                (access.uses_values(), access.uses_gradients())
            }
            _ => (true, true),
        }
    }

    /// Copies what the lanes left in the buffers back into the arguments.
    pub(super) fn collect(&self, bindings: &Bindings, arguments: &mut [Argument]) {
        let shares = shares_memory(arguments);
        let mut buffers = bindings.buffers.iter().zip(&bindings.gradients);
        for (n, (parameter, argument)) in self
            .plan
            .program
            .parameters
            .iter()
            .zip(arguments)
            .enumerate()
        {
            let is_array = matches!(self.module.types.get(parameter.ty), Type::Array { .. });
            let changes = shares
                || !is_array
                || self.plan.program.ordered
                || self.plan.program.access[n].changes_values();
            self.collect_value(&mut buffers, parameter.ty, argument, changes);
        }
    }

    fn collect_value<'b>(
        &self,
        buffers: &mut impl Iterator<Item = (&'b Buffer, &'b Option<Buffer>)>,
        ty: TypeId,
        argument: &mut Argument,
        changes_values: bool,
    ) {
        match (array_type(self.module, ty), argument) {
            // Nothing writes to the lists of indices, and the array has no gradients.
            (Type::MappedArray { element, .. }, Argument::Struct(parts)) => {
                for (n, part) in parts.iter_mut().enumerate() {
                    if let Argument::Array(array) = part
                        && let Some((values, _)) = buffers.next()
                        && n == 0
                    {
                        let layout = Layout::of(self.module, element);
                        values.write_to(&layout, &mut array.data);
                    }
                }
            }
            (Type::Array { element, .. }, Argument::Array(array)) => {
                let Some((values, gradients)) = buffers.next() else {
                    return;
                };
                let layout = Layout::of(self.module, element);
                if changes_values {
                    values.write_to(&layout, &mut array.data);
                }
                if let (Some(gradients), Some(bytes)) = (gradients, &mut array.gradient) {
                    gradients.write_to(&layout, bytes);
                }
            }
            (Type::Struct(id), Argument::Struct(values)) => {
                for (field, value) in self.module.types.struct_def(id).fields.iter().zip(values) {
                    self.collect_value(buffers, field.ty, value, true);
                }
            }
            _ => {}
        }
    }
}

impl Bindings {
    /// An array that was given here or before; what was found where it does not fit.
    fn take_given<M: Bytes>(
        &mut self,
        module: &Module,
        (element, rank): (TypeId, u8),
        argument: &Argument<M>,
    ) -> Result<BoundArray, String> {
        let ty = Type::Array { element, rank };
        let array = match argument {
            Argument::Array(array) => array,
            Argument::Same(position) => {
                let Some((bound, other)) = self.given.get(*position).copied() else {
                    return Err("the same as an array that was not given".to_owned());
                };
                if other != ty {
                    return Err("the same as an array of another type".to_owned());
                }
                return Ok(bound);
            }
            _ => return Err("no array".to_owned()),
        };
        if array.shape.len() != usize::from(rank) {
            return Err(format!("an array of {} dimensions", array.shape.len()));
        }
        let layout = Layout::of(module, element);
        if layout.holds_array {
            let found = "an array of structs that hold arrays, which is not supported";
            return Err(found.to_owned());
        }
        let count = (array.shape.iter()).try_fold(1_usize, |size, n| size.checked_mul(*n));
        let bytes = count.and_then(|count| count.checked_mul(layout.bytes));
        let fits = count.is_some_and(|count| count <= i32::MAX as usize);
        let gradient_fits = array
            .gradient
            .as_ref()
            .is_none_or(|gradient| Some(gradient.size()) == bytes);
        if bytes != Some(array.data.size()) || !fits || !gradient_fits {
            return Err(format!(
                "{} bytes for shape {:?} with elements of {} bytes",
                array.data.size(),
                array.shape,
                layout.bytes
            ));
        }
        let bound = bound_array(array, self.given.len());
        self.given.push((bound, ty));
        Ok(bound)
    }

    /// The words of an array value.
    fn bind_array(&mut self, first: Cell, bound: BoundArray) {
        let mut leaves = [0_i32; ARRAY_LEAVES];
        leaves[0] = bound.buffer as i32;
        leaves[ARRAY_SHAPE..ARRAY_SHAPE + 4].copy_from_slice(&bound.shape);
        leaves[ARRAY_STRIDES..ARRAY_STRIDES + 4].copy_from_slice(&bound.strides);
        for (n, leaf) in leaves.into_iter().enumerate() {
            let bits = u64::from(leaf.cast_unsigned());
            self.parameters.push((first.at(n), Scalar::I32, bits));
        }
    }
}

/// A type as its arguments have it: the elements of a Fabric array are given one after the other.
pub(super) fn array_type(module: &Module, ty: TypeId) -> Type {
    match module.types.get(ty) {
        Type::MappedArray {
            mapping: Mapping::Fabric,
            element,
            rank,
        } => Type::Array { element, rank },
        ty => ty,
    }
}

/// Whether an array is given twice. What is known of the use of each parameter by itself then says
/// nothing about whether threads meet.
pub(super) fn shares_memory<M>(arguments: &[Argument<M>]) -> bool {
    arguments.iter().any(|argument| match argument {
        Argument::Same(_) => true,
        Argument::Struct(fields) => shares_memory(fields),
        _ => false,
    })
}

/// A contiguous array, the last index varying fastest.
fn bound_array<M>(array: &ArrayArgument<M>, buffer: usize) -> BoundArray {
    let (mut shape, mut strides) = ([0; 4], [0; 4]);
    let mut stride = 1_usize;
    for (axis, size) in array.shape.iter().enumerate().rev() {
        shape[axis] = *size as i32;
        strides[axis] = stride as i32;
        stride *= *size;
    }
    BoundArray {
        buffer,
        shape,
        strides,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_compiler::{Options, compile};

    fn indices(list: &[i32]) -> Argument {
        Argument::Array(ArrayArgument {
            shape: vec![list.len()],
            data: list.iter().flat_map(|n| n.to_le_bytes()).collect(),
            gradient: None,
        })
    }

    fn floats(values: &[f32]) -> Argument {
        Argument::Array(ArrayArgument::from_f32(values))
    }

    const SOURCE: &str = "
import warp as wp

@wp.kernel
def k(x: wp.indexedarray(dtype=float), f: wp.fabricarray(dtype=wp.float32), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + f[i] * float(x.shape[0])
    x[i] = -1.0
";

    #[test]
    fn indexed_arrays_are_reached_through_their_lists() {
        let module = compile(SOURCE, &Options::default()).expect("the kernel compiles");
        let interpreter = Interpreter::forward(&module).expect("the kernel is planned");
        let data = floats(&[10.0, 20.0, 30.0, 40.0]);
        let f = floats(&[0.5, 1.5]);
        let mut arguments = [
            Argument::Struct(vec![data.clone(), indices(&[3, 1])]),
            f.clone(),
            floats(&[0.0; 2]),
        ];
        let outcome = interpreter.run(&[2], &mut arguments).expect("it runs");
        assert!(outcome.findings.is_empty());
        assert_eq!(arguments[2], floats(&[41.0, 23.0]));
        let after = vec![floats(&[10.0, -1.0, 30.0, -1.0]), indices(&[3, 1])];
        assert_eq!(arguments[0], Argument::Struct(after));

        // An index behind the list, and one in the list behind the array.
        for (list, threads) in [([3, 1], 3), ([3, 4], 2)] {
            let given = Argument::Struct(vec![data.clone(), indices(&list)]);
            let mut arguments = [given, f.clone(), floats(&[0.0; 3])];
            let outcome = interpreter
                .run(&[threads], &mut arguments)
                .expect("it runs");
            assert_eq!(outcome.findings[0].code, "K101");
        }
        let mut plain = [data, f.clone(), floats(&[0.0; 2])];
        assert!(interpreter.run(&[2], &mut plain).is_err());
        let with_gradient = ArrayArgument::from_f32(&[1.0]).with_gradient_f32(&[0.0]);
        let with_gradient = vec![Argument::Array(with_gradient), indices(&[0])];
        let mut arguments = [Argument::Struct(with_gradient), f, floats(&[0.0; 2])];
        let error = interpreter
            .run(&[1], &mut arguments)
            .expect_err("no gradients");
        assert!(error.to_string().contains("an array with gradients"));
    }
}
