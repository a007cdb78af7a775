//! Binds arguments to a planned kernel and runs it over the grid.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::{Finding, Severity};

use super::argument::{Argument, ArgumentError, ArrayArgument};
use super::findings::{Fault, Faults, Observations, at_line};
use super::instruction::Instruction;
use super::lanes::{Cell, LANES};
use super::layout::{ARRAY_LEAVES, ARRAY_SHAPE, ARRAY_STRIDES, Layout};
use super::machine::Machine;
use super::memory::Buffer;
use super::object::Objects;
use super::plan::{Program, number_bits, plan};
use super::spirv::{self, Spirv, SpirvTarget};
use warpsmith_compiler::ir::{FunctionKind, Module, Number};
use warpsmith_compiler::{Scalar, Type, TypeId};

/// Blocks of lanes that a worker takes at a time.
const BLOCKS_AT_A_TIME: usize = 16;

/// Iterations of all loops together that a block of lanes may make; minutes of work.
const MOST_ITERATIONS: u64 = 1 << 27;

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
    /// Whether the values and gradients of the array that is bound next are used.
    use_next: (bool, bool),
    /// Iterations that one block of lanes may make before a loop is taken to be endless.
    pub(super) most_iterations: u64,
    /// Values of the parameters.
    pub(super) parameters: Vec<(Cell, Scalar, u64)>,
    /// What kernels reach through numbers.
    pub(super) objects: Objects,
    /// The arrays that were given, with their types.
    given: Vec<(BoundArray, TypeId)>,
}

/// What a run did, besides changing its arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What went wrong in threads; empty if nothing did.
    pub findings: Vec<Finding>,
    /// What threads printed, in thread order.
    pub printed: Vec<String>,
    /// Where the order of threads can show in the results, if that was looked for: see
    /// [`Interpreter::checking_races`].
    pub races: Vec<Finding>,
    /// Results that are infinite or not a number, if that was looked for: see
    /// [`Interpreter::checking_finiteness`].
    pub non_finite: Vec<Finding>,
    /// Whether threads ran on several cores.
    pub parallel: bool,
    /// Instructions executed, counted once for each thread of the block that executed them together.
    pub lane_instructions: u64,
}

/// The operations of a kernel in one direction; made once and run often.
#[derive(Debug)]
pub struct Plan {
    program: Program,
    rank: usize,
}

impl Plan {
    /// Plans the forward pass, or the adjoint where `backward` is set.
    ///
    /// # Errors
    /// A finding that names an operation which is not known.
    pub fn new(module: &Module, backward: bool) -> Result<Self, Vec<Finding>> {
        let rank = match &module.kernel.kind {
            FunctionKind::Kernel { launch_rank, .. } => *launch_rank as usize,
            FunctionKind::Device { .. } => 1,
        };
        plan(module, backward)
            .map(|program| Self { program, rank })
            .map_err(|unknown| {
                let direction = if backward { "the adjoint of " } else { "" };
                let finding = Finding::new(
                    "K103",
                    Severity::Error,
                    format!("the interpreter does not know {direction}{}", unknown.what),
                )
                .hint("run the kernel on a GPU, or write the operation out");
                vec![at_line(finding, module, unknown.line)]
            })
    }
}

/// A kernel that is ready to run in one direction.
#[derive(Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    plan: Arc<Plan>,
    objects: Objects,
    most_iterations: u64,
    block_dim: i32,
    checks_races: bool,
    checks_finiteness: bool,
    one_by_one: bool,
}

impl<'m> Interpreter<'m> {
    /// Plans the forward pass.
    ///
    /// # Errors
    /// A finding that names an operation which is not known.
    pub fn forward(module: &'m Module) -> Result<Self, Vec<Finding>> {
        Self::plan(module, false)
    }

    /// Plans the adjoint: it replays the kernel without its stores, then carries the gradients of the
    /// arguments backwards.
    ///
    /// # Errors
    /// A finding that names an operation which is not known.
    pub fn adjoint(module: &'m Module) -> Result<Self, Vec<Finding>> {
        Self::plan(module, true)
    }

    fn plan(module: &'m Module, backward: bool) -> Result<Self, Vec<Finding>> {
        Plan::new(module, backward).map(|plan| Self::of(module, Arc::new(plan)))
    }

    /// Runs a plan of `module` that was made before.
    pub fn of(module: &'m Module, plan: Arc<Plan>) -> Self {
        Self {
            module,
            plan,
            objects: Objects::new(),
            most_iterations: MOST_ITERATIONS,
            block_dim: 1,
            checks_races: false,
            checks_finiteness: false,
            one_by_one: false,
        }
    }

    /// The objects that the kernel may ask, by their numbers.
    #[must_use]
    pub fn with_objects(mut self, objects: Objects) -> Self {
        self.objects = objects;
        self
    }

    /// Sets how many iterations a block of threads may make before its loops are taken to be endless.
    #[must_use]
    pub fn with_iteration_limit(mut self, most_iterations: u64) -> Self {
        self.most_iterations = most_iterations;
        self
    }

    /// Sets what `block_dim()` gives: 1 on a CPU, and otherwise what the GPU launch says.
    #[must_use]
    pub fn with_block_dim(mut self, block_dim: i32) -> Self {
        self.block_dim = block_dim;
        self
    }

    /// Looks for races: [`Outcome::races`] names the lines where threads store different values to one
    /// element, use what another thread changes, or look at the old value of an atomic operation. If
    /// there are none, the results are the same in any order of threads, but for the rounding of
    /// floating-point sums.
    #[must_use]
    pub fn checking_races(mut self) -> Self {
        self.checks_races = true;
        self
    }

    /// Looks for results that are not finite, reported in [`Outcome::non_finite`].
    #[must_use]
    pub fn checking_finiteness(mut self) -> Self {
        self.checks_finiteness = true;
        self
    }

    /// Runs thread after thread rather than many together: what a CPU does, and slow. The results are
    /// other ones only where threads race.
    #[must_use]
    pub fn in_thread_order(mut self) -> Self {
        self.one_by_one = true;
        self
    }

    /// Instructions in the program, a measure of the work per thread.
    pub fn instructions(&self) -> usize {
        self.plan.program.code.len()
    }

    /// The kernel as SPIR-V.
    ///
    /// # Errors
    /// A finding that names what Vulkan kernels do not support.
    pub fn spirv(&self, target: SpirvTarget) -> Result<Spirv, Vec<Finding>> {
        spirv::write(self.module, &self.plan.program, target)
    }

    /// Whether every device that rounds as IEEE 754 says gives the same bits: all numbers are whole or come
    /// of + − × ÷ √, and no sum of floats depends on the order of threads.
    pub fn rounds_alike(&self) -> bool {
        self.plan.program.code.iter().all(Instruction::rounds_alike)
    }

    pub(super) fn parts(&self) -> (&'m Module, &Program) {
        (self.module, &self.plan.program)
    }

    /// The number of threads and what a launch gives them; no memory is taken for arrays.
    pub(super) fn bindings(
        &self,
        dim: &[usize],
        arguments: &[Argument],
    ) -> Result<(usize, Bindings), ArgumentError> {
        let threads = self.threads(dim)?;
        Ok((threads, self.bind(dim, arguments, false)?))
    }

    /// What went wrong in some thread at an instruction of the program.
    pub(super) fn fault_at(&self, at: usize) -> Finding {
        let program = &self.plan.program;
        let mut faults = Faults::default();
        let fault = match program.code.get(at) {
            Some(Instruction::Binary { ty, .. }) if !ty.is_float() => Fault::ZeroDivisor,
            Some(
                Instruction::LoopNext { .. }
                | Instruction::LoopExit
                | Instruction::Binary { .. }
                | Instruction::Atomic { .. }
                | Instruction::CompareExchange { .. },
            ) => Fault::Endless,
            Some(Instruction::Expect { message, .. }) => Fault::Expectation(*message),
            Some(
                Instruction::CheckMarked { variable } | Instruction::CheckChosen { variable, .. },
            ) => Fault::Unassigned(*variable),
            Some(Instruction::Unary { .. }) => Fault::LargeAngle,
            _ => Fault::OutOfBounds,
        };
        let line = program.lines.get(at).copied().unwrap_or(u32::MAX);
        faults.add_unnamed(line, fault);
        let (mut own, _) = faults.into_findings(self.module, &program.marks, &program.messages);
        own.swap_remove(0)
    }

    /// The names and types of the kernel's parameters.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.plan
            .program
            .parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.ty))
    }

    /// Runs the kernel over the grid `dim`; results are left in the arguments.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub fn run(&self, dim: &[usize], arguments: &mut [Argument]) -> Result<Outcome, ArgumentError> {
        let threads = self.threads(dim)?;
        let mut bindings = self.bind(dim, arguments, true)?;
        let program = &self.plan.program;
        let ordered = program.ordered
            || shares_memory(arguments)
            || self.checks_races
            || self.one_by_one
            || program.access.iter().any(|access| access.is_ordered());
        let chunks = threads.div_ceil(BLOCKS_AT_A_TIME * LANES);
        let parallel = !ordered && chunks > 1 && rayon::current_num_threads() > 1;
        bindings.shared = parallel;
        let bindings = bindings;
        let together = if self.one_by_one { 1 } else { LANES };
        let run = |machine: &mut Machine<'_>, chunk: usize| {
            let first = chunk * BLOCKS_AT_A_TIME * LANES;
            let end = (first + BLOCKS_AT_A_TIME * LANES).min(threads);
            for block in (first..end).step_by(together) {
                machine.run_block(block, end.min(block + together));
            }
        };
        let mut seen = if parallel {
            (0..chunks)
                .into_par_iter()
                .fold(
                    || None,
                    |machine: Option<Machine<'_>>, chunk| {
                        let mut machine =
                            machine.unwrap_or_else(|| Machine::new(program, &bindings));
                        run(&mut machine, chunk);
                        Some(machine)
                    },
                )
                .flatten_iter()
                .map(|machine| machine.seen)
                .reduce(Observations::default, Observations::merged)
        } else {
            let mut machine = Machine::new(program, &bindings);
            (0..chunks).for_each(|chunk| run(&mut machine, chunk));
            machine.seen
        };
        self.collect(&bindings, arguments);
        // Stable: what one thread prints stays in order.
        seen.printed.sort_by_key(|(thread, _)| *thread);
        let (findings, races) =
            seen.faults
                .into_findings(self.module, &program.marks, &program.messages);
        Ok(Outcome {
            findings,
            races,
            non_finite: if self.checks_finiteness {
                self.non_finite(arguments)
            } else {
                Vec::new()
            },
            printed: seen.printed.into_iter().map(|(_, text)| text).collect(),
            parallel,
            lane_instructions: seen.lane_instructions,
        })
    }

    fn threads(&self, dim: &[usize]) -> Result<usize, ArgumentError> {
        let refuse = |reason: String| {
            Err(ArgumentError::Grid {
                dim: dim.to_vec(),
                reason,
            })
        };
        if dim.is_empty() || dim.len() > 4 {
            return refuse("it must have 1 to 4 dimensions".to_owned());
        }
        if dim.len() < self.plan.rank {
            return refuse(format!(
                "the kernel asks for {} coordinates",
                self.plan.rank
            ));
        }
        match dim.iter().try_fold(1_usize, |size, n| size.checked_mul(*n)) {
            Some(threads) if threads <= i32::MAX as usize => Ok(threads),
            _ => refuse("more than 2^31 threads".to_owned()),
        }
    }

    /// Lays out the arguments; without `memory`, none is taken for arrays.
    fn bind(
        &self,
        dim: &[usize],
        arguments: &[Argument],
        memory: bool,
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
            watches_races: self.checks_races,
            objects: self.objects.clone(),
            ..Bindings::default()
        };
        let shares = shares_memory(arguments);
        if let Some(cell) = self.plan.program.block_dim {
            let bits = u64::from(self.block_dim.cast_unsigned());
            bindings.parameters.push((cell, Scalar::I32, bits));
        }
        for (n, (parameter, argument)) in self
            .plan
            .program
            .parameters
            .iter()
            .zip(arguments)
            .enumerate()
        {
            let buffer = bindings.buffers.len();
            bindings.use_next = match (memory, shares) {
                (false, _) => (false, false),
                (true, true) => (true, true),
                (true, false) => self.uses(n, parameter.ty),
            };
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
        bindings.first_own = bindings.buffers.len();
        for own in self.plan.program.own_arrays.iter().filter(|_| memory) {
            let bytes = vec![0; own.count() * own.layout.bytes * LANES];
            bindings
                .buffers
                .push(Buffer::from_bytes(&own.layout, &bytes));
            let gradients = Buffer::from_bytes(&own.layout, &bytes);
            bindings.gradients.push(Some(gradients));
        }
        Ok(bindings)
    }

    fn bind_value(
        &self,
        bindings: &mut Bindings,
        name: &str,
        ty: TypeId,
        first: Cell,
        argument: &Argument,
    ) -> Result<(), ArgumentError> {
        let module = self.module;
        let mismatch = |found: String| {
            let expected = module.types.describe(ty, &module.names);
            Err(ArgumentError::Mismatch {
                parameter: name.to_owned(),
                expected,
                found,
            })
        };
        match (module.types.get(ty), argument) {
            (Type::Array { element, rank }, Argument::Array(array)) => {
                if array.shape.len() != usize::from(rank) {
                    return mismatch(format!("an array of {} dimensions", array.shape.len()));
                }
                let layout = Layout::of(module, element);
                if layout.holds_array {
                    return mismatch(
                        "an array of structs that hold arrays, which is not supported".to_owned(),
                    );
                }
                let count = array
                    .shape
                    .iter()
                    .try_fold(1_usize, |size, n| size.checked_mul(*n));
                let bytes = count.and_then(|count| count.checked_mul(layout.bytes));
                let fits = count.is_some_and(|count| count <= i32::MAX as usize);
                let gradient_fits = array
                    .gradient
                    .as_ref()
                    .is_none_or(|gradient| Some(gradient.len()) == bytes);
                if bytes != Some(array.data.len()) || !fits || !gradient_fits {
                    return mismatch(format!(
                        "{} bytes for shape {:?} with elements of {} bytes",
                        array.data.len(),
                        array.shape,
                        layout.bytes
                    ));
                }
                let bound = bound_array(array, bindings.buffers.len());
                let (values, gradients) = bindings.use_next;
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
                bindings.given.push((bound, ty));
                bindings.bind_array(first, bound);
            }
            (Type::Array { .. }, Argument::Same(position)) => {
                let Some((bound, other)) = bindings.given.get(*position).copied() else {
                    return mismatch("the same as an array that was not given".to_owned());
                };
                if other != ty {
                    return mismatch("the same as an array of another type".to_owned());
                }
                bindings.bind_array(first, bound);
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
    fn collect(&self, bindings: &Bindings, arguments: &mut [Argument]) {
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
        match (self.module.types.get(ty), argument) {
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

impl Interpreter<'_> {
    /// A finding for each array with numbers that are not finite, or whose gradients are not.
    fn non_finite(&self, arguments: &[Argument]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (parameter, argument) in self.plan.program.parameters.iter().zip(arguments) {
            self.find_non_finite(&parameter.name, parameter.ty, argument, &mut findings);
        }
        findings
    }

    fn find_non_finite(
        &self,
        name: &str,
        ty: TypeId,
        argument: &Argument,
        findings: &mut Vec<Finding>,
    ) {
        match (self.module.types.get(ty), argument) {
            (Type::Array { element, .. }, Argument::Array(array)) => {
                let layout = Layout::of(self.module, element);
                let gradient = array.gradient.as_deref().unwrap_or_default();
                for (what, bytes) in [("", &array.data[..]), ("the gradient of ", gradient)] {
                    let Some((first, count)) = layout.non_finite(bytes) else {
                        continue;
                    };
                    let message = format!("{what}`{name}` is not finite");
                    findings.push(
                        Finding::new("K109", Severity::Warning, message)
                            .because("execution", format!("{count} elements, first {first}"))
                            .hint("keep the arguments inside the domain of the functions used"),
                    );
                }
            }
            (Type::Struct(id), Argument::Struct(values)) => {
                for (field, value) in self.module.types.struct_def(id).fields.iter().zip(values) {
                    let name = format!("{name}.{}", self.module.names.get(field.name));
                    self.find_non_finite(&name, field.ty, value, findings);
                }
            }
            _ => {}
        }
    }
}

impl Bindings {
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

/// Whether an array is given twice. What is known of the use of each parameter by itself then says
/// nothing about whether threads meet.
fn shares_memory(arguments: &[Argument]) -> bool {
    arguments.iter().any(|argument| match argument {
        Argument::Same(_) => true,
        Argument::Struct(fields) => shares_memory(fields),
        _ => false,
    })
}

/// A contiguous array, the last index varying fastest.
fn bound_array(array: &ArrayArgument, buffer: usize) -> BoundArray {
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
