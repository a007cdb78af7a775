//! `voice/griffin-lim`: signals of a ragged batch from magnitudes alone.

use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters, Workload,
};

use super::cpu::GriffinLim;
use crate::batch::{Made, PARAMETERS, about_with};
use crate::spectrum::istft::{cost, prepare};

/// Signals from magnitudes.
pub(crate) struct GriffinLimWorkload;

const ROUNDS: ParameterSpec = ParameterSpec {
    name: "rounds",
    meaning: "rounds of the alternation",
    kind: ParameterKind::Integer {
        default: 4,
        min: 0,
        max: 8,
    },
};

static GRIFFIN_LIM: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], ROUNDS];

impl Workload for GriffinLimWorkload {
    fn about(&self) -> About {
        about_with(
            "voice/griffin-lim",
            "signals of a ragged batch from magnitudes, by the alternation of Griffin and Lim",
            &GRIFFIN_LIM,
        )
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        cost(parameters, 1 + 2 * parameters.size("rounds") as u64, 1)
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        // One bin in 10⁶ has a thousandth of its magnitude before its phase is taken.
        let growth = 30f64.powi(parameters.size("rounds").min(3) as i32);
        ArguedTolerance::within(
            1e-6 * growth,
            0.0,
            "a round divides each bin by what it is before its phase is taken, so that bins near zero \
                      turn rounding into phase: few bins, of which a sample sees a share",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let choices = GriffinLim {
            iterations: parameters.size("rounds"),
            seed,
            ..GriffinLim::default()
        };
        prepare(self.id(), device, parameters, seed, Some(choices))
    }
}
