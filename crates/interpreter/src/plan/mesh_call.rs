//! Questions to meshes that write to their arguments, gradients of questions, and the arrays of a mesh.

use super::builder::{Builder, LaidOut};
use super::frame::Frame;
use super::reference::Reference;
use crate::instruction::{Binary, Instruction};
use crate::lanes::Cell;
use crate::object::{MeshArray, Question};
use warpsmith_ir::types::Scalar;
use warpsmith_ir::{Call, VarId};

/// Where parts of an answer lie in its words.
const SIGN: usize = 1;
const FACE: usize = 2;
const POINT_U: usize = 3;
const POINT_V: usize = 4;
const RAY_T: usize = 3;
const RAY_U: usize = 4;
const RAY_V: usize = 5;
const RAY_NORMAL: usize = 6;

/// The first argument that a question to a mesh writes to, and what of the answer goes to it and those behind it.
pub(super) fn results_of_query(name: &str, given: usize) -> Option<(usize, &'static [usize])> {
    let signed = &[SIGN, FACE, POINT_U, POINT_V];
    match (name, given) {
        ("mesh_query_ray", 11) => Some((4, &[RAY_T, RAY_U, RAY_V, SIGN, RAY_NORMAL, FACE])),
        ("mesh_query_point", 7)
        | ("mesh_query_point_sign_normal", 8)
        | ("mesh_query_point_sign_parity" | "mesh_query_point_sign_winding_number", 9) => {
            Some((3, signed))
        }
        ("mesh_query_point_no_sign" | "mesh_query_furthest_point_no_sign", 6) => {
            Some((3, &signed[1..]))
        }
        _ => None,
    }
}

impl<'m> Builder<'m> {
    /// The array of a mesh that a variable is.
    pub(super) fn array_of_mesh(&self, frame: &Frame<'m>, var: VarId) -> Option<(Cell, MeshArray)> {
        match frame.references.get(&var) {
            Some(Reference::OfMesh(mesh, part)) => Some((*mesh, *part)),
            _ => None,
        }
    }

    /// The shape of such an array.
    pub(super) fn shape_of_mesh_array(&mut self, (mesh, part): (Cell, MeshArray)) -> Cell {
        let dst = self.cells_for(4);
        self.emit(Instruction::Zero {
            first: dst,
            count: 4,
        });
        let question = Question::MeshSize(part);
        self.emit(Instruction::Ask {
            question,
            dst,
            src: mesh,
        });
        dst
    }

    /// Lays out a builtin on such an array.
    pub(super) fn mesh_array_call(
        &mut self,
        frame: &mut Frame<'m>,
        call: &Call,
        name: &str,
        (mesh, part): (Cell, MeshArray),
    ) -> LaidOut {
        let pool = &frame.function.pool;
        match (name, call.operands.args(pool), call.operands.outs(pool)) {
            ("address" | "index", [_, index], [out]) => {
                let index = self.index_of(frame, *index)?;
                let src = self.cells_for(2);
                self.copy(Scalar::U64, src, mesh);
                self.copy(Scalar::I32, src.at(1), index);
                let question = Question::MeshElement(part);
                let dst = self.cells_for(question.outputs().len());
                self.emit(Instruction::Ask { question, dst, src });
                frame.references.insert(*out, Reference::Local(dst));
                Ok(true)
            }
            ("len", _, [out]) => {
                let size = self.shape_of_mesh_array((mesh, part));
                self.copy(Scalar::I32, frame.cell(*out), size);
                Ok(true)
            }
            _ => self.unknown(format!("`{name}` of a mesh's array, which is read only")),
        }
    }

    /// Lays out the adjoint of a question to an object; false if it has none.
    pub(super) fn question_adjoint(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> LaidOut {
        let pool = &frame.function.pool;
        let args = call.operands.args(pool);
        let adjoints = call.operands.adjoints(pool);
        let [out] = *call.operands.outs(pool) else {
            return Ok(false);
        };
        if name == "address" && self.array_of_mesh(frame, args[0]).is_some() {
            return self.unknown("the gradient of a mesh's array");
        }
        let cells = |n: usize, count: usize| (0..count).map(move |k| frame.cell(args[n]).at(k));
        let question = match Question::of_type(name, frame.kind(self, out)) {
            Some(question) => question,
            None => return Ok(matches!(name, "mesh_get" | "mesh_get_bvh")),
        };
        match question {
            Question::MeshPosition { velocity } => {
                let Some(given) = frame.dual(out) else {
                    return Ok(true);
                };
                let words = cells(0, 1).chain(cells(1, 1));
                let words = words.chain((0..3).map(|n| given.at(n)));
                let question = Question::MeshPositionGradient { velocity };
                let made = self.asked(question, words.collect());
                self.add_words(frame, adjoints[2], made);
                self.add_words(frame, adjoints[3], made.at(1));
            }
            Question::MeshPoint { .. }
            | Question::MeshPointByNormals
            | Question::MeshPointByParity
            | Question::MeshPointByWinding
            | Question::MeshFarthest => {
                let parts = [FACE, POINT_U, POINT_V];
                let Some([face, u, v]) = self.answered(frame, call, name, parts) else {
                    return Ok(true);
                };
                let words = cells(0, 1).chain(cells(1, 3)).chain([face, u, v]);
                let made = self.asked(Question::MeshPointGradient, words.collect());
                self.add_words(frame, adjoints[1], made);
            }
            Question::MeshRay => {
                let parts = [FACE, RAY_T, RAY_U, RAY_V];
                let Some(answered) = self.answered(frame, call, name, parts) else {
                    return Ok(true);
                };
                let words = cells(0, 1).chain(cells(1, 3)).chain(cells(2, 3));
                let words = words.chain(answered).collect();
                let made = self.asked(Question::MeshRayGradient, words);
                self.add_words(frame, adjoints[1], made);
                self.add_words(frame, adjoints[2], made.at(3));
            }
            Question::VolumeSample(voxel) => {
                let Some(given) = frame.dual(out) else {
                    return Ok(true);
                };
                let given = (0..voxel.length()).map(|n| given.at(n));
                let words = cells(0, 1).chain(cells(1, 3)).chain(cells(2, 1));
                let question = Question::VolumePlaceGradient(voxel);
                let made = self.asked(question, words.chain(given).collect());
                self.add_words(frame, adjoints[1], made);
            }
            Question::VolumeMap { to_index, .. } => {
                let Some(given) = frame.dual(out) else {
                    return Ok(true);
                };
                let words = cells(0, 1).chain((0..3).map(|n| given.at(n)));
                // As Warp has it: the gradient is mapped as a direction, not by the transposed matrix. They differ
                // where a volume is turned.
                let direction = true;
                let question = Question::VolumeMap {
                    to_index,
                    direction,
                };
                let made = self.asked(question, words.collect());
                self.add_words(frame, adjoints[1], made);
            }
            Question::NearestOfEdges => {
                let Some(given) = frame.dual(out) else {
                    return Ok(true);
                };
                let ends = (0..4).flat_map(|n| cells(n, 3)).chain(cells(4, 1));
                let words = ends.chain((0..3).map(|n| given.at(n))).collect();
                let made = self.asked(Question::NearestOfEdgesGradient, words);
                for (n, adjoint) in adjoints.iter().take(4).enumerate() {
                    self.add_words(frame, *adjoint, made.at(3 * n));
                }
            }
            Question::VolumeSlope(voxel) => {
                let (Some(value), Some(slopes)) = (frame.dual(out), frame.dual(adjoints[3])) else {
                    return Ok(true);
                };
                let words = cells(0, 1).chain(cells(1, 3)).chain(cells(2, 1));
                let value = (0..voxel.length()).map(|n| value.at(n));
                let slopes = (0..3 * voxel.length()).map(|n| slopes.at(n));
                let words = words.chain(value).chain(slopes).collect();
                let made = self.asked(Question::VolumeSlopeGradient(voxel), words);
                self.add_words(frame, adjoints[1], made);
            }
            // The others have none.
            _ => {}
        }
        Ok(true)
    }

    /// The face of an answer and the gradients of other parts of it, which a call gave as a whole or wrote to its
    /// arguments; nothing where nothing comes from them.
    fn answered<const N: usize>(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
        parts: [usize; N],
    ) -> Option<[Cell; N]> {
        let pool = &frame.function.pool;
        let (args, outs) = (call.operands.args(pool), call.operands.outs(pool));
        let zero = self.bits(Scalar::F32, 0);
        let Some((first, written)) = results_of_query(name, args.len()) else {
            let dual = frame.dual(outs[0])?;
            return Some(parts.map(|part| match part {
                FACE => frame.cell(outs[0]).at(part),
                _ => dual.at(part),
            }));
        };
        let adjoints = call.operands.adjoints(pool);
        Some(parts.map(|part| {
            let at = first + written.iter().position(|known| *known == part).unwrap_or(0);
            match part {
                FACE => frame.cell(args[at]),
                _ => frame.dual(adjoints[at]).unwrap_or(zero),
            }
        }))
    }

    /// What a question made of these words is answered.
    pub(super) fn asked(&mut self, question: Question, words: Vec<Cell>) -> Cell {
        let src = self.cells_for(words.len());
        for (n, (word, scalar)) in words.into_iter().zip(question.inputs()).enumerate() {
            self.copy(*scalar, src.at(n), word);
        }
        let dst = self.cells_for(question.outputs().len());
        self.emit(Instruction::Ask { question, dst, src });
        dst
    }

    /// The dual of a variable of `float32` receives the words from `source` on.
    fn add_words(&mut self, frame: &Frame<'m>, var: VarId, source: Cell) {
        let Some(dual) = frame.dual(var) else {
            return;
        };
        let ty = frame.value_type(self, var);
        for n in 0..self.layout(ty).leaves.len() {
            let (a, b) = (dual.at(n), source.at(n));
            let (op, ty, dst) = (Binary::Add, Scalar::F32, a);
            self.emit(Instruction::Binary { op, ty, dst, a, b });
        }
    }
}
