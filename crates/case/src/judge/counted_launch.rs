//! One launch of a candidate under a profiler that waits for it, and nothing beside it: no reference
//! answers, no clock, no other kernel.

use warpsmith_workload::Prepared;

use super::candidate::{Candidate, CandidateLaunch};
use super::kernel_candidate::{KernelBench, OwnCase, of_workload};
use crate::program::{Fault, KernelOf, Program, SharedArrays};

impl KernelBench<'_> {
    /// Launches a candidate that was found right on the first of the timed inputs, twice: the profiler sees
    /// the second, when code and tables are where they stay. Says how many bytes the case makes it move.
    pub fn launch_counted(&mut self, candidate: &Candidate) -> Result<u64, String> {
        let own = OwnCase::new(self.case, candidate)?;
        let launch = candidate.launch.as_ref().map(CandidateLaunch::read);
        let launch = launch.transpose()?;
        let kernel = KernelOf {
            launch: launch.as_ref(),
            ..KernelOf::case(&own.case)
        };
        self.launch_twice(&kernel)
            .map_err(|fault| fault.to_string())
    }

    fn launch_twice(&mut self, kernel: &KernelOf<'_>) -> Result<u64, Fault> {
        let gpu = self.device.cuda().ok_or(Fault::NoGpu)?;
        let program = Program::of(kernel, &self.choice, self.device, self.settings)?;
        let input = &self.timed[0];
        let instance = self.case.instance(&input.size, &self.choice)?;
        let contents = instance
            .contents(input.seed, input.round, false)
            .map_err(Fault::Unsupported)?;
        let mut prepared = match program.shares_arrays() {
            true => {
                let arrays = SharedArrays::upload(gpu, &instance, &contents)?;
                program.prepared_on(&instance, &arrays)?
            }
            false => program.prepared(&instance, &contents)?,
        };
        prepared.run_once().map_err(of_workload)?;
        gpu.under_profiler(|| prepared.run_once().map_err(of_workload))?;
        Ok(self.case.bytes(&input.size, &self.choice))
    }
}
