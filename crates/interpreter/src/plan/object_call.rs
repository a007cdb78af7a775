//! Questions to objects: hash grids, trees of boxes, meshes and volumes.

use super::builder::{Builder, LaidOut};
use super::call::{Operand, result_arguments};
use super::frame::Frame;
use super::mesh_call::results_of_query;
use super::reference::Reference;
use super::statement::{Arg, Statement};
use crate::instruction::{Binary, Instruction};
use crate::lanes::Cell;
use crate::object::{BOXES_OF_MESH, Question};
use warpsmith_ir::types::{Query, Scalar, Type};
use warpsmith_ir::{Call, VarId};
use warpsmith_spatial::box_query::MOST;

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
        if let ("mesh_get", [id], [out]) = (name, args, outs) {
            self.copy(Scalar::U64, frame.cell(*out), frame.cell(*id));
            return Ok(true);
        }
        if let ("mesh_get_bvh", [id], [out]) = (name, args, outs) {
            let boxes = self.bits(Scalar::U64, BOXES_OF_MESH);
            let marked = self.binary(Binary::Or, Scalar::U64, frame.cell(*id), boxes);
            self.copy(Scalar::U64, frame.cell(*out), marked);
            return Ok(true);
        }
        let [out] = *outs else { return Ok(false) };
        let Some(mut question) = Question::of_type(name, frame.kind(self, out)) else {
            return Ok(false);
        };
        // What the answer is written to is no part of the question.
        let results = result_arguments(name, args.len()).unwrap_or(args.len()..args.len());
        let before = args[..results.start].iter();
        let operands: Vec<Operand> = before
            .chain(&args[results.end..])
            .map(|var| self.operand(frame, *var))
            .collect();
        let cells: Vec<Cell> = operands.iter().flat_map(Operand::cells).collect();
        let scalars: Vec<Scalar> = operands
            .iter()
            .flat_map(|operand| std::iter::repeat_n(operand.scalar, operand.len))
            .collect();
        if question == (Question::TrianglesMeet { double: false }) && scalars[0] == Scalar::F64 {
            question = Question::TrianglesMeet { double: true };
        }
        if scalars != question.inputs() {
            return self.unknown(format!("`{name}` with these arguments"));
        }
        let src = self.cells_for(cells.len());
        for (n, (cell, scalar)) in cells.into_iter().zip(scalars).enumerate() {
            self.copy(scalar, src.at(n), cell);
        }
        if results.is_empty() {
            let dst = frame.cell(out);
            self.emit(Instruction::Ask { question, dst, src });
            return Ok(true);
        }
        let dst = self.cells_for(question.outputs().len());
        self.emit(Instruction::Ask { question, dst, src });
        if let Question::VolumeSlope(voxel) = question {
            let (ty, length) = (voxel.scalar(), voxel.length());
            for n in 0..length {
                self.copy(ty, frame.cell(out).at(n), dst.at(n));
            }
            for n in 0..3 * length {
                self.copy(ty, frame.cell(args[3]).at(n), dst.at(length + n));
            }
        } else if let Some((_, parts)) = results_of_query(name, args.len()) {
            // Where nothing is found the arguments stay as they were.
            self.copy(Scalar::Bool, frame.cell(out), dst);
            for (var, part) in args[results].iter().zip(parts) {
                let to = self.operand(frame, *var);
                for n in 0..to.len {
                    let cell = to.first.at(n);
                    let found = self.select(to.scalar, dst, dst.at(part + n), cell);
                    self.copy(to.scalar, cell, found);
                }
            }
        }
        Ok(true)
    }

    /// Lays out the sample of a texture; false if the statement is none.
    pub(super) fn texture_statement(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let ("texture_sample", [Arg::Var(texture), place @ .., _], Some(out)) =
            (statement.name, statement.args.as_slice(), statement.out)
        else {
            return Ok(false);
        };
        let vars = place.iter().filter_map(|arg| arg.var());
        let place: Vec<Cell> = vars
            .flat_map(|var| self.operand(frame, var).cells())
            .collect();
        let out_type = frame.value_type(self, out);
        let question = Question::TextureSample {
            rank: place.len() as u8,
            channels: self.layout(out_type).leaves.len() as u8,
        };
        let texture = match frame.references.get(texture) {
            Some(Reference::Local(first)) => *first,
            _ => frame.cell(*texture),
        };
        // A texture has one level of detail.
        let level = self.number(Scalar::F32, 0.0);
        let words = [texture].into_iter().chain(place).chain([level]).collect();
        let made = self.asked(question, words);
        for n in 0..question.outputs().len() {
            self.copy(Scalar::F32, frame.cell(out).at(n), made.at(n));
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
