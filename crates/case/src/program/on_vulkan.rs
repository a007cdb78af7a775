//! A Warp-style kernel on a Vulkan device: kernels check every index there, so that arrays need no guard
//! zones.

use std::time::Duration;

use warpsmith_compiler::ir::Module;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanError, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_measure::kernel_file::Direction;
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::fault::Fault;
use super::interpreted::{numbers, ranks};
use super::ran::Ran;
use crate::instance::{BoundValue, Contents, Instance};

/// A kernel that is compiled for a device.
pub(super) struct OnVulkan {
    device: VulkanDevice,
    function: VulkanFunction,
    /// The dimensions of each array parameter.
    ranks: Vec<usize>,
    limit: Duration,
}

impl OnVulkan {
    pub(super) fn build(
        device: &VulkanDevice,
        module: &Module,
        limit: Duration,
    ) -> Result<Self, Fault> {
        Ok(Self {
            device: device.clone(),
            function: VulkanFunction::of_module(device, module.clone())?,
            ranks: ranks(module).collect(),
            limit,
        })
    }

    /// Runs once and brings the arrays back.
    pub(super) fn run(
        &self,
        dim: &[usize],
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        let (mut work, places) = self.recorded(dim, instance, contents, poison)?;
        work.set_limit(self.limit);
        work.run()?;
        let arrays = places
            .iter()
            .map(|place| place.map(|at| work.output(at)).transpose());
        Ok(Ran {
            arrays: arrays.collect::<Result<_, _>>()?,
            ..Ran::default()
        })
    }

    /// Repeated launches over arrays of their own.
    pub(super) fn prepared(
        &self,
        dim: &[usize],
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Box<dyn Prepared>, Fault> {
        let (work, places) = self.recorded(dim, instance, contents, 0)?;
        let directions = instance.arguments.iter().map(|one| one.direction());
        let arrays = places.into_iter().zip(directions);
        Ok(Box::new(VulkanCase {
            work,
            arrays: arrays
                .filter_map(|(at, direction)| Some((at?, direction == Some(Direction::Out))))
                .collect(),
            checked: false,
        }))
    }

    /// The launch over uploaded arrays, and which of its buffers each argument is.
    fn recorded(
        &self,
        dim: &[usize],
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<(VulkanWork, Vec<Option<usize>>), Fault> {
        let (mut buffers, mut places, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
        let pairs = instance.arguments.iter().zip(contents);
        for ((argument, content), rank) in pairs.zip(&self.ranks) {
            let (place, argument) = match &argument.value {
                BoundValue::Number { .. } | BoundValue::Components { .. } => {
                    (None, WorkArgument::Value(numbers(argument)))
                }
                BoundValue::Array { shape, .. } => {
                    let bytes = argument.elements() * argument.scalar.bytes();
                    buffers.push(match content {
                        Some(content) => self.device.upload(content)?,
                        None => self.device.upload(&vec![poison; bytes])?,
                    });
                    let at = buffers.len() - 1;
                    (Some(at), WorkArgument::Array(at, shape[..*rank].to_vec()))
                }
            };
            places.push(place);
            arguments.push(argument);
        }
        let launch = WorkLaunch {
            function: &self.function,
            dim: dim.to_vec(),
            arguments,
        };
        let work = VulkanWork::new(&self.device, buffers, &[launch], &[0])?;
        Ok((work, places))
    }
}

/// A case's launch that is measured.
struct VulkanCase {
    work: VulkanWork,
    /// The buffer of each array, and whether the kernel only writes it.
    arrays: Vec<(usize, bool)>,
    /// Whether findings of threads were read: once, before anything is timed.
    checked: bool,
}

fn failed(error: VulkanError) -> WorkloadError {
    match error {
        VulkanError::Device(error) => error.into(),
        error => WorkloadError::failed("case", error),
    }
}

impl Prepared for VulkanCase {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed)?;
        if !self.checked {
            self.work.check().map_err(failed)?;
            self.checked = true;
        }
        Ok(())
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for (buffer, _) in self.arrays.iter().filter(|(_, written)| *written) {
            self.work.poison(*buffer).map_err(failed)?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut bytes = Vec::new();
        for (buffer, _) in &self.arrays {
            bytes.extend(self.work.output::<u8>(*buffer).map_err(failed)?);
        }
        Ok(Output::U8(bytes))
    }
}
