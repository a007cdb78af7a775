//! Questions to objects: hash grids, trees of boxes, meshes and volumes.

use super::builder::{Builder, LaidOut};
use super::call::Operand;
use super::frame::Frame;
use crate::box_query::MOST;
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::object::Question;
use warpsmith_ir::types::{Query, Scalar, Type};
use warpsmith_ir::{Call, VarId};

/// Whether a builtin moves a search on and puts what it found into its second argument.
pub(super) fn goes_on(name: &str) -> bool {
    matches!(
        name,
        "hash_grid_query_next" | "bvh_query_next" | "mesh_query_aabb_next" | "mesh_query_next"
    )
}

impl<'m> Builder<'m> {
    /// Lays out a question to an object; false if the builtin is none.
    pub(super) fn object_call(&mut self, frame: &Frame<'m>, call: &Call, name: &str) -> LaidOut {
        let pool = &frame.function.pool;
        let args = call.operands.args(pool);
        let outs = call.operands.outs(pool);
        if let (true, [query, index, rest @ ..], [out]) = (goes_on(name), args, outs) {
            if let [most] = rest {
                self.copy(Scalar::F32, frame.cell(*query).at(MOST), frame.cell(*most));
            }
            let more = self.next_of_query(frame, *query);
            self.copy(Scalar::Bool, frame.cell(*out), more);
            let found = self.found(frame, *query);
            self.copy(Scalar::I32, frame.cell(*index), found);
            return Ok(true);
        }
        let Some(question) = Question::of(name) else {
            return Ok(false);
        };
        let [out] = *outs else { return Ok(false) };
        // The last argument is where the slope goes.
        let (args, slope) = match (question, args) {
            (Question::VolumeSlope, [args @ .., slope]) => (args, Some(*slope)),
            _ => (args, None),
        };
        let operands: Vec<Operand> = args.iter().map(|var| self.operand(frame, *var)).collect();
        let cells: Vec<Cell> = operands.iter().flat_map(Operand::cells).collect();
        let scalars: Vec<Scalar> = operands
            .iter()
            .flat_map(|operand| std::iter::repeat_n(operand.scalar, operand.len))
            .collect();
        if scalars != question.inputs() {
            return self.unknown(format!("`{name}` with these arguments"));
        }
        let src = self.cells_for(cells.len());
        for (n, (cell, scalar)) in cells.into_iter().zip(scalars).enumerate() {
            self.copy(scalar, src.at(n), cell);
        }
        let Some(slope) = slope else {
            let dst = frame.cell(out);
            self.emit(Instruction::Ask { question, dst, src });
            return Ok(true);
        };
        let dst = self.cells_for(question.outputs().len());
        self.emit(Instruction::Ask { question, dst, src });
        self.copy(Scalar::F32, frame.cell(out), dst);
        for n in 0..3 {
            self.copy(Scalar::F32, frame.cell(slope).at(n), dst.at(1 + n));
        }
        Ok(true)
    }

    /// The question that moves a search on.
    fn next_question(&self, frame: &Frame<'m>, query: VarId) -> Question {
        match frame.kind(self, query) {
            Type::Query(Query::HashGrid | Query::HashGridDouble | Query::HashGridHalf) => {
                Question::GridNext
            }
            _ => Question::BoxNext,
        }
    }

    /// Moves a search on: whether it has a further point.
    pub(super) fn next_of_query(&mut self, frame: &Frame<'m>, query: VarId) -> Cell {
        let more = self.temporary();
        self.emit(Instruction::Ask {
            question: self.next_question(frame, query),
            dst: more,
            src: frame.cell(query),
        });
        more
    }

    /// Where a search holds the point that it found last.
    pub(super) fn found(&self, frame: &Frame<'m>, query: VarId) -> Cell {
        let at = self.next_question(frame, query).found();
        frame.cell(query).at(at)
    }
}
