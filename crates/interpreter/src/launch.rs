//! Binds arguments to a planned kernel and runs it over the grid.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rayon::prelude::*;
use warpsmith_core::{Finding, Severity};

use super::argument::{Argument, ArgumentError, Bytes};
use super::binding::{BoundArguments, array_type, shares_memory};
use super::findings::{Fault, Faults, Observations, at_line};
use super::instruction::Instruction;
use super::lanes::LANES;
use super::layout::Layout;
use super::machine::Machine;
use super::native::NativeCode;
use super::object::Objects;
use super::plan::{Program, plan};
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{FunctionKind, Module};

/// Blocks of lanes that a worker takes at a time.
pub(super) const BLOCKS_AT_A_TIME: usize = 16;

/// Iterations of all loops together that a block of lanes may make; minutes of work.
const MOST_ITERATIONS: u64 = 1 << 27;

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
    /// Whether threads were stopped because the launch took too long: see
    /// [`Interpreter::with_time_limit`].
    pub out_of_time: bool,
    /// Whether threads ran on several cores.
    pub parallel: bool,
    /// Whether native code ran, rather than the interpreter.
    pub native: bool,
    /// Instructions executed, counted once for each thread of the block that executed them together.
    pub lane_instructions: u64,
}

/// The operations of a kernel in one direction; made once and run often.
#[derive(Debug)]
pub struct Plan {
    pub(super) program: Program,
    rank: usize,
    /// The same as native code, once it was needed; or what only the interpreter does.
    native: OnceLock<Result<NativeCode, &'static str>>,
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
            .map(|program| Self {
                program,
                rank,
                native: OnceLock::new(),
            })
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
    pub(super) module: &'m Module,
    pub(super) plan: Arc<Plan>,
    pub(super) objects: Objects,
    pub(super) most_iterations: u64,
    /// How long a launch may take.
    pub(super) limit: Option<Duration>,
    pub(super) block_dim: i32,
    pub(super) checks_races: bool,
    pub(super) checks_finiteness: bool,
    pub(super) one_by_one: bool,
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
            limit: None,
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

    /// As [`Interpreter::with_objects`], in place.
    pub fn set_objects(&mut self, objects: Objects) {
        self.objects = objects;
    }

    /// Sets how many iterations a block of threads may make before its loops are taken to be endless.
    #[must_use]
    pub fn with_iteration_limit(mut self, most_iterations: u64) -> Self {
        self.most_iterations = most_iterations;
        self
    }

    /// Sets how long a launch may take: threads that have not ended then are stopped, which is a finding.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
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

    /// The kernel as native code; else what it has that only the interpreter does.
    pub(super) fn native(&self) -> Result<&NativeCode, &'static str> {
        let code = self
            .plan
            .native
            .get_or_init(|| NativeCode::new(self.module, &self.plan.program));
        code.as_ref().map_err(|what| *what)
    }

    /// Instructions in the program, a measure of the work per thread.
    pub fn instructions(&self) -> usize {
        self.plan.program.code.len()
    }

    /// Whether every device that rounds as IEEE 754 says gives the same bits: all numbers are whole or come
    /// of + − × ÷ √, and no sum of floats depends on the order of threads.
    pub fn rounds_alike(&self) -> bool {
        self.plan.program.code.iter().all(Instruction::rounds_alike)
    }

    /// The kernel's module and its scalar form.
    pub fn scalar_form(&self) -> (&'m Module, &Program) {
        (self.module, &self.plan.program)
    }

    /// Checks the arguments of a launch on another device; no memory is taken for arrays.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub fn bound_arguments<M: Bytes>(
        &self,
        dim: &[usize],
        arguments: &[Argument<M>],
    ) -> Result<BoundArguments, ArgumentError> {
        let threads = self.threads(dim)?;
        let bindings = self.bind(dim, arguments)?;
        Ok(BoundArguments {
            threads,
            first_own: bindings.first_own,
            parameters: bindings.parameters,
        })
    }

    /// What went wrong in some thread at an instruction of the program; `was_cut` says that a loop which
    /// is part of the instruction did not end.
    pub fn fault_at(&self, at: usize, was_cut: bool) -> Finding {
        let program = &self.plan.program;
        let mut faults = Faults::default();
        let fault = match program.code.get(at) {
            _ if was_cut => Fault::Endless,
            Some(Instruction::Binary { ty, .. }) if !ty.is_float() => Fault::ZeroDivisor,
            Some(Instruction::LoopNext { .. }) => Fault::Endless,
            Some(Instruction::Expect { message, .. }) => Fault::Expectation(*message),
            Some(Instruction::CheckMarked { variable }) => Fault::Unassigned(*variable),
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
        let mut bindings = self.bind(dim, arguments)?;
        self.take_memory(&mut bindings, arguments);
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
                if machine.is_over() {
                    return;
                }
                machine.run_block(block, end.min(block + together));
            }
        };
        let seen = if parallel {
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
        Ok(Outcome {
            non_finite: if self.checks_finiteness {
                self.non_finite(arguments)
            } else {
                Vec::new()
            },
            parallel,
            ..self.outcome(seen)
        })
    }

    /// What all workers saw together, in words.
    pub(super) fn outcome(&self, mut seen: Observations) -> Outcome {
        let program = &self.plan.program;
        // Stable: what one thread prints stays in order.
        seen.printed.sort_by_key(|(thread, _)| *thread);
        let out_of_time = seen.faults.out_of_time();
        let (findings, races) =
            seen.faults
                .into_findings(self.module, &program.marks, &program.messages);
        Outcome {
            findings,
            races,
            out_of_time,
            printed: seen.printed.into_iter().map(|(_, text)| text).collect(),
            lane_instructions: seen.lane_instructions,
            ..Outcome::default()
        }
    }

    pub(super) fn threads(&self, dim: &[usize]) -> Result<usize, ArgumentError> {
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
}

impl Interpreter<'_> {
    /// A finding for each array with numbers that are not finite, or whose gradients are not.
    pub(super) fn non_finite(&self, arguments: &[Argument]) -> Vec<Finding> {
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
        match (array_type(self.module, ty), argument) {
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
