//! Calls of noise and their adjoints.

use super::builder::Builder;
use super::call::{Operand, Signature};
use super::frame::Frame;
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::noise::Noise;
use warpsmith_ir::Call;
use warpsmith_ir::types::Scalar;

impl<'m> Builder<'m> {
    /// The cells of a noise's results.
    pub(super) fn noise(&mut self, noise: Noise, args: &[Operand]) -> Vec<Cell> {
        let src = self.gathered(args, &[]);
        let dst = self.cells_for(noise.outputs());
        self.emit(Instruction::Noise {
            noise,
            dst,
            src,
            backward: false,
        });
        (0..noise.outputs()).map(|n| dst.at(n)).collect()
    }

    /// The point's dual receives its part; state and settings have none.
    pub(super) fn noise_adjoint(&mut self, frame: &Frame<'m>, call: &Call, name: &str) {
        let Signature {
            inputs,
            adjoints,
            output_duals,
            ..
        } = Signature::of(frame.function, call, name);
        let args: Vec<Operand> = inputs.iter().map(|var| self.operand(frame, *var)).collect();
        let noise = args.get(1).and_then(|point| Noise::of(name, point.len));
        let target = adjoints.get(1).and_then(|var| frame.dual(*var));
        let dual = output_duals.first().and_then(|var| frame.dual(*var));
        let (Some(noise), Some(target), Some(dual)) = (noise, target, dual) else {
            return;
        };
        let duals: Vec<Cell> = (0..noise.outputs()).map(|n| dual.at(n)).collect();
        self.noise_shares(noise, &args, &duals, target);
    }

    /// Adds what the point receives of the results' gradients to the dual at `target`.
    pub(super) fn noise_shares(
        &mut self,
        noise: Noise,
        args: &[Operand],
        duals: &[Cell],
        target: Cell,
    ) {
        let src = self.gathered(args, duals);
        let dst = self.cells_for(noise.axes());
        self.emit(Instruction::Noise {
            noise,
            dst,
            src,
            backward: true,
        });
        for n in 0..noise.axes() {
            self.add_to(Scalar::F32, target.at(n), dst.at(n));
        }
    }

    /// All operands and then `more`, one cell after the other.
    fn gathered(&mut self, args: &[Operand], more: &[Cell]) -> Cell {
        let cells: Vec<Cell> = args.iter().flat_map(Operand::cells).collect();
        let first = self.cells_for(cells.len() + more.len());
        for (n, cell) in cells.into_iter().chain(more.iter().copied()).enumerate() {
            // All of them are words of 32 bits.
            self.copy(Scalar::U32, first.at(n), cell);
        }
        first
    }
}
