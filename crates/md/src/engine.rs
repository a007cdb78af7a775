//! What drives a trajectory, whatever the precision and the device.

use crate::checkpoint::State;
use crate::error::Result;
use crate::start::Atoms;
use crate::thermodynamics::Thermodynamics;

/// A trajectory in progress.
pub trait Engine {
    /// Goes on by `steps` steps.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// How many steps were made since the start.
    fn step(&self) -> u64;
    /// The state's figures. Does not change the trajectory.
    fn thermodynamics(&mut self) -> Result<Thermodynamics>;
    /// The atoms in the user's order, inside the box or up to half a skin beside it.
    fn atoms(&mut self) -> Result<Atoms>;
    /// Everything that a restart needs.
    fn state(&mut self) -> Result<State>;
    /// What computes: a restart with the same is bit-identical.
    fn arithmetic(&self) -> String;
    /// Memory that the trajectory holds, on its device.
    fn memory_bytes(&self) -> u64;
}
