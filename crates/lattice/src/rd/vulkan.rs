//! Runs on Vulkan, recorded as one submission: several steps to a launch by [`super::march`] where the device
//! fuses multiply-adds, else a launch of a Python kernel per step.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::{VulkanBuffer, VulkanDevice};
use warpsmith_execution::{
    FUSED_MULTIPLY_ADD, KernelLaunch, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch,
};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::field::Field;
use super::march::{March, MultiplyAdd, NoteUse, Pass, Way, multiply_add, never_subnormal, words};
use super::rule::Rule;
use super::workload::ID;
use crate::shape::Shape;
use crate::vulkan::failed;

/// Medium and memory of the start, which runs leave as they are, and of two states that steps alternate
/// between.
const STATES: [[usize; 2]; 3] = [[0, 1], [2, 3], [4, 5]];
/// The notes of marches.
const NOTES: usize = 6;
/// Threads of a subgroup whose threads show each other what marches carry along a row.
const SUBGROUP: u32 = 32;
/// Lattices with fewer planes or rows are all rim to workgroups that march.
const LEAST_EXTENT: usize = 16;
/// Multiprocessors where the driver does not say how many there are.
const USUAL_MULTIPROCESSORS: u32 = 64;

/// How steps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VulkanForm {
    /// One to a launch, by a Python kernel.
    Steps,
    /// Up to so many to a launch, by workgroups of so many lines of 32 threads.
    Marches {
        /// Steps of a launch.
        steps: u32,
        /// Lines of threads.
        lines: u32,
        /// Whether lines are subgroups, where the device has subgroups of 32 threads.
        subgroups: bool,
        /// Whether a launch repeats what another one was too quick for, on any device.
        noted: bool,
    },
}

/// A reaction-diffusion run on a Vulkan device.
#[derive(Debug)]
pub struct VulkanRun {
    work: VulkanWork,
    shape: Shape,
    /// The medium and the memory that the last step writes.
    last: [usize; 2],
}

impl VulkanRun {
    /// Prepares a run in the form that suits device and lattice, with at most so many steps to a launch.
    pub fn new(
        device: &VulkanDevice,
        rule: Rule,
        field: &Field,
        steps: usize,
        most: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        let [nz, ny, nx] = field.shape.extents();
        let facts = device.facts();
        let subgroups = facts.subgroup_shuffles == SUBGROUP;
        let largest = March::largest(facts.workgroup_threads, facts.workgroup_bytes, subgroups);
        let suits = nx % 4 == 0 && ny >= LEAST_EXTENT && nz >= LEAST_EXTENT;
        let how = match suits {
            true => multiply_add(device, rule)?,
            false => MultiplyAdd::Wide,
        };
        match largest {
            // Wide ones take longer than the memory that marches save.
            Some(mut march) if how != MultiplyAdd::Wide => {
                march.steps = march.steps.min(most.unwrap_or(u32::MAX)).max(1);
                let noted = how == MultiplyAdd::Guarded && never_subnormal(&rule, field);
                Self::marching(device, rule, field, steps, march, &ways(how, noted))
            }
            _ => Self::stepping(device, rule, field, steps),
        }
    }

    /// Prepares a run in this form. Rows of marches are whole groups of four cells.
    pub fn with_form(
        device: &VulkanDevice,
        rule: Rule,
        field: &Field,
        count: usize,
        form: VulkanForm,
    ) -> Result<Self, WorkloadError> {
        match form {
            VulkanForm::Steps => Self::stepping(device, rule, field, count),
            VulkanForm::Marches {
                steps,
                lines,
                subgroups,
                noted,
            } => {
                let march = March {
                    steps,
                    lines,
                    subgroups,
                };
                let how = multiply_add(device, rule)?;
                let facts = device.facts();
                let fits = march.threads() <= facts.workgroup_threads
                    && march.shared_bytes() <= facts.workgroup_bytes
                    && field.shape.extents()[2].is_multiple_of(4)
                    && (how == MultiplyAdd::Own || facts.float64)
                    && (!subgroups || facts.subgroup_shuffles == SUBGROUP)
                    && (!noted || never_subnormal(&rule, field))
                    && (1..lines).contains(&steps);
                if !fits {
                    let reason = format!("{form:?} suits neither {} nor this lattice", facts.name);
                    return Err(WorkloadError::Unsupported {
                        workload: ID,
                        reason,
                    });
                }
                Self::marching(device, rule, field, count, march, &ways(how, noted))
            }
        }
    }

    /// What the last run left.
    pub fn field(&self) -> Result<Field, WorkloadError> {
        let [u, e] = self.last;
        Ok(Field {
            shape: self.shape,
            u: self.work.output(u).map_err(failed(ID))?,
            e: self.work.output(e).map_err(failed(ID))?,
        })
    }

    /// With passes of up to as many steps as `march` makes, each a launch for each way.
    fn marching(
        device: &VulkanDevice,
        rule: Rule,
        field: &Field,
        steps: usize,
        march: March,
        ways: &[Way],
    ) -> Result<Self, WorkloadError> {
        let mut buffers = states(device, field)?;
        let extents = field.shape.extents().map(|extent| extent as u32);
        let multiprocessors = match device.facts().multiprocessors {
            0 => USUAL_MULTIPROCESSORS,
            known => known,
        };
        let depths = depths(steps, march.steps as usize);
        let mut kernels = Vec::new();
        for steps in 1..=march.steps {
            let march = March { steps, ..march };
            if !depths.contains(&(steps as usize)) {
                continue;
            }
            let pass = Pass::new(march, extents, multiprocessors, rule);
            for way in ways {
                let words = words(march, *way, device.facts().floats);
                // SAFETY: the module is valid (its trial asks `spirv-val`); a workgroup's threads and memory
                // are within what the device has.
                let kernel = unsafe { device.kernel(&words) }?;
                kernels.push((pass, kernel));
            }
        }
        let groups = kernels.iter().map(|(pass, _)| pass.groups()).max();
        buffers.push(device.buffer(4 * groups.unwrap_or(1) as usize)?);
        let mut launches = Vec::new();
        // Passes of one depth between the same states are the same launches, made again and again.
        let mut known: Vec<(usize, [usize; 2], [usize; 2])> = Vec::new();
        let mut recorded = Vec::new();
        let mut last = STATES[0];
        for (n, depth) in depths.iter().enumerate() {
            let to = STATES[1 + n % 2];
            let same = (known.iter()).position(|known| *known == (*depth, last, to));
            let pass = same.unwrap_or_else(|| {
                let at = [last[0], last[1], to[0], to[1]].map(|n| buffers[n].address());
                let made = |(pass, _): &&(Pass, _)| pass.march.steps as usize == *depth;
                for (pass, kernel) in kernels.iter().filter(made) {
                    launches.push(KernelLaunch {
                        kernel,
                        block: pass.block(at, buffers[NOTES].address()),
                        groups: pass.groups(),
                    });
                }
                known.push((*depth, last, to));
                known.len() - 1
            });
            recorded.extend(pass * ways.len()..(pass + 1) * ways.len());
            last = to;
        }
        // SAFETY: each block holds the addresses of four of the buffers, which have as many cells as its sizes
        // say, and of one with a word to a workgroup; threads outside the lattice read and write nothing.
        let work = unsafe { VulkanWork::of_kernels(device, buffers, &launches, &recorded) };
        Ok(Self {
            work: work.map_err(failed(ID))?,
            shape: field.shape,
            last,
        })
    }

    /// With a launch of a Python kernel per step.
    fn stepping(
        device: &VulkanDevice,
        rule: Rule,
        field: &Field,
        steps: usize,
    ) -> Result<Self, WorkloadError> {
        let source = format!(
            "import warp as wp\n\n{FUSED_MULTIPLY_ADD}\n{}",
            include_str!("rd.py")
        );
        // Rows of whole vectors go four cells to a thread.
        let mut dim = field.shape.extents().to_vec();
        let mut kernel = "rd_step";
        if let Some(cells) = dim.last_mut()
            && cells.is_multiple_of(4)
        {
            *cells /= 4;
            kernel = "rd_step4";
        }
        let function = VulkanFunction::compile(device, &source, kernel).map_err(failed(ID))?;
        let launch = |from: [usize; 2], to: [usize; 2]| {
            let array = |at| WorkArgument::Array(at, dim.clone());
            let number = |value| WorkArgument::Float(f64::from(value));
            WorkLaunch {
                function: &function,
                dim: dim.clone(),
                arguments: vec![
                    array(from[0]),
                    array(from[1]),
                    array(to[0]),
                    array(to[1]),
                    number(rule.centre),
                    number(rule.diffusion),
                    number(rule.reaction),
                    number(rule.damped),
                    number(rule.threshold),
                ],
            }
        };
        let launches = [
            launch(STATES[0], STATES[1]),
            launch(STATES[1], STATES[2]),
            launch(STATES[2], STATES[1]),
        ];
        let which = |step: usize| match step {
            0 => 0,
            step if step % 2 == 1 => 1,
            _ => 2,
        };
        let recorded: Vec<usize> = (0..steps).map(which).collect();
        let buffers = states(device, field)?;
        let work = VulkanWork::new(device, buffers, &launches, &recorded).map_err(failed(ID))?;
        let last = match steps {
            0 => STATES[0],
            steps if steps % 2 == 1 => STATES[1],
            _ => STATES[2],
        };
        Ok(Self {
            work,
            shape: field.shape,
            last,
        })
    }
}

impl VulkanRun {
    /// How many workgroups of the last launch were repeated with care.
    pub fn repeated(&self) -> Result<usize, WorkloadError> {
        let notes: Vec<u32> = self.work.output(NOTES).map_err(failed(ID))?;
        Ok(notes.iter().filter(|note| **note != 0).count())
    }
}

/// The launches of a pass: one, or a quick one and one with care for the workgroups that need it.
fn ways(how: MultiplyAdd, noted: bool) -> Vec<Way> {
    let way = |how, notes| Way { how, notes };
    if !noted {
        return vec![way(how, NoteUse::Nothing)];
    }
    let quick = match how {
        MultiplyAdd::Guarded => MultiplyAdd::Own,
        other => other,
    };
    vec![way(quick, NoteUse::Writes), way(how, NoteUse::Reads)]
}

fn states(device: &VulkanDevice, field: &Field) -> Result<Vec<VulkanBuffer>, WorkloadError> {
    let mut buffers = vec![
        device.upload(cast_slice(&field.u))?,
        device.upload(cast_slice(&field.e))?,
    ];
    for _ in 0..4 {
        buffers.push(device.buffer(4 * field.shape.cells())?);
    }
    Ok(buffers)
}

/// How many steps each pass makes: at most `most`, and more than one wherever that can be.
fn depths(steps: usize, most: usize) -> Vec<usize> {
    let passes = steps.div_ceil(most.max(1)).max(1);
    (0..passes)
        .map(|n| steps / passes + usize::from(n < steps % passes))
        .collect()
}

impl Prepared for VulkanRun {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(ID))
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for buffer in STATES[1..].iter().flatten() {
            self.work.poison(*buffer).map_err(failed(ID))?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let field = self.field()?;
        Ok(Output::F32([field.u, field.e].concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_make_all_steps_and_no_pass_more_than_it_can() {
        for most in 1..=3 {
            for steps in 1..50 {
                let depths = depths(steps, most);
                assert_eq!(depths.iter().sum::<usize>(), steps);
                assert_eq!(depths.len(), steps.div_ceil(most));
                assert!(depths.iter().all(|depth| (1..=most).contains(depth)));
            }
        }
    }

    #[test]
    fn workgroups_cover_the_lattice() {
        let march = March {
            steps: 3,
            lines: 16,
            subgroups: false,
        };
        for extents in [[512, 512, 512], [16, 16, 4], [1000, 27, 124]] {
            let shape = crate::Shape::new(&extents.map(|extent| extent as usize)).unwrap();
            let pass = Pass::new(march, extents, 132, Rule::usual(shape));
            let [nz, ny, nx] = extents;
            let (columns, rows) = ((nx / 4).div_ceil(30), ny.div_ceil(26));
            let chunks = nz.div_ceil(pass.chunk);
            assert_eq!(pass.groups(), columns * rows * chunks);
            assert!(chunks * pass.chunk >= nz && (chunks - 1) * pass.chunk < nz);
            assert_eq!(pass.block([1, 2, 3, 4], 5).len(), 88);
        }
    }
}
