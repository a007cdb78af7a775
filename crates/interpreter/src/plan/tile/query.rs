//! Queries of a block. A block is one thread on a CPU: its query is a thread's, whose answers come one at a time, each
//! as a tile of one element; -1 stands for none.

use super::super::builder::{Builder, LaidOut};
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use crate::layout::BLOCK_QUERY_VALID;
use crate::object::Question;
use warpsmith_ir::VarId;
use warpsmith_ir::types::Scalar;
use warpsmith_spatial::box_query::{MOST, Shape};

impl<'m> Builder<'m> {
    /// Lays out a statement on a query; false if it is none.
    pub(super) fn tile_query(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        match (statement.name, statement.args.as_slice(), statement.out) {
            (
                "tile_bvh_query_aabb" | "tile_bvh_query_ray" | "tile_mesh_query_aabb",
                [Arg::Var(id), Arg::Var(low), Arg::Var(high)],
                Some(out),
            ) => self.begin_block_query(frame, statement.name, [*id, *low, *high], out),
            ("tile_bvh_query_next" | "tile_mesh_query_aabb_next", [Arg::Var(query)], Some(_)) => {
                // A ray goes on without end.
                let most = self.number(Scalar::F32, f32::MAX.into());
                self.copy(Scalar::F32, frame.cell(*query).at(MOST), most);
                let more = self.next_of_query(frame, *query);
                let valid = frame.cell(*query).at(BLOCK_QUERY_VALID);
                self.copy(Scalar::Bool, valid, more);
                let none = self.integer(-1);
                let found = self.found(frame, *query);
                let found = self.select(Scalar::I32, more, found, none);
                let tile = self.out_tile(frame, statement)?;
                self.spread(&tile, &[found]);
            }
            ("tile_query_valid", [Arg::Var(query)], Some(out)) => {
                let valid = frame.cell(*query).at(BLOCK_QUERY_VALID);
                self.copy(Scalar::Bool, frame.cell(out), valid);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Begins a search of a whole object.
    fn begin_block_query(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        [id, low, high]: [VarId; 3],
        out: VarId,
    ) {
        let mesh = name == "tile_mesh_query_aabb";
        let shape = match name {
            "tile_bvh_query_ray" => Shape::Ray,
            _ => Shape::Box,
        };
        let question = Question::BoxQuery { shape, mesh };
        let given = [id, low, high].map(|var| self.operand(frame, var).cells());
        let mut words = given.concat();
        if !mesh {
            // The part of the tree to begin with: all of it.
            words.push(self.integer(-1));
        }
        let made = self.asked(question, words);
        for (n, scalar) in question.outputs().iter().enumerate() {
            self.copy(*scalar, frame.cell(out).at(n), made.at(n));
        }
        let valid = self.bits(Scalar::Bool, 1);
        self.copy(Scalar::Bool, frame.cell(out).at(BLOCK_QUERY_VALID), valid);
    }
}
