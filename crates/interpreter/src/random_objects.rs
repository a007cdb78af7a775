//! Objects for kernels that are tried with random arguments: which parameters name one, and what it is.

use std::sync::Arc;

use super::object::{Object, Objects};
use super::random::SplitMix;
use crate::Argument;
use crate::plan::statement::read;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Callee, Function, Module, Number, Op, VarId};
use warpsmith_spatial::{Bvh, HashGrid, Mesh, Volume, Voxel};

/// Functions may hand a parameter on this deep.
const DEEPEST: u32 = 16;
const POINTS: usize = 60;
const FACES: usize = 150;
/// Coordinates are as wide as random arguments are.
const SPAN: f32 = 2.0;

/// What the questions about a variable are put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bvh,
    HashGrid,
    Mesh,
    Volume(Voxel),
}

impl Kind {
    /// The kind that a builtin asks whose result is of this type.
    fn of(name: &str, result: Option<Type>) -> Option<Self> {
        let voxel = match name.rsplit('_').next() {
            Some("i") => Voxel::INT,
            Some("v") => Voxel::VECTOR,
            Some("lookup" | "sample" | "grad") => {
                result.and_then(Voxel::of_type).unwrap_or(Voxel::FLOAT)
            }
            _ => Voxel::FLOAT,
        };
        match name.split('_').next() {
            Some("bvh") => Some(Self::Bvh),
            Some("hash") => Some(Self::HashGrid),
            Some("mesh") => Some(Self::Mesh),
            Some("volume") => Some(Self::Volume(voxel)),
            _ => None,
        }
    }
}

/// The kind of object that a function asks by a variable.
fn asked(module: &Module, function: &Function, var: VarId, depth: u32) -> Option<Kind> {
    function.ops.iter().find_map(|op| {
        let call = match op {
            Op::Call(call) => call,
            // What a block asks is a statement.
            Op::Text { text, .. } => {
                let statement = read(&module.names, function.texts.get(*text as usize)?)?;
                let first = statement.args.first().and_then(|arg| arg.var());
                let name = statement.name.strip_prefix("tile_")?;
                return Kind::of(name, None).filter(|_| first == Some(var));
            }
            _ => return None,
        };
        let args = call.operands.args(&function.pool);
        match call.callee {
            Callee::Builtin(index, _) if args.first() == Some(&var) => {
                let out = call.operands.outs(&function.pool).first();
                let result = out.map(|out| module.types.get(function.var(*out).ty));
                Kind::of(BUILTINS[usize::from(index)].name, result)
            }
            Callee::Builtin(..) => None,
            Callee::Function(index) if depth < DEEPEST => {
                let callee = module.functions.get(index as usize)?;
                let mut given = args.iter().zip(callee.parameters());
                let (_, (param, _)) = given.find(|(arg, _)| **arg == var)?;
                asked(module, callee, param, depth + 1)
            }
            _ => None,
        }
    })
}

/// Makes an object for each parameter that names one, and puts its number among the arguments.
pub fn with_random_objects(module: &Module, seed: u64, arguments: &mut [Argument]) -> Objects {
    let mut random = SplitMix(seed ^ 0x6f62_6a65_6374);
    let mut objects = Objects::new();
    for ((param, variable), argument) in module.kernel.parameters().zip(arguments) {
        if module.types.get(variable.ty) != Type::Scalar(Scalar::U64) {
            continue;
        }
        let Some(kind) = asked(module, &module.kernel, param, 0) else {
            continue;
        };
        let number = objects.len() as u64 + 1;
        let Some(object) = make(kind, &mut random) else {
            continue;
        };
        objects.insert(number, Arc::new(object));
        *argument = Argument::Value(vec![Number::Int(i128::from(number))]);
    }
    objects
}

fn make(kind: Kind, random: &mut SplitMix) -> Option<Object> {
    let mut number = || random.signed() as f32 * SPAN;
    let mut points = |count: usize| -> Vec<[f32; 3]> {
        (0..count).map(|_| [number(), number(), number()]).collect()
    };
    Some(match kind {
        Kind::Bvh => {
            let (lows, sizes) = (points(FACES), points(FACES));
            let pairs = lows.iter().zip(&sizes);
            let highs = pairs.map(|(low, size)| [0, 1, 2].map(|n| low[n] + 0.3 * size[n].abs()));
            let highs = highs.collect();
            Object::Bvh(Bvh::new(lows, highs, None))
        }
        Kind::HashGrid => Object::HashGrid(HashGrid::new([8; 3], 0.5, &points(FACES))),
        Kind::Mesh => {
            let (corners, velocities) = (points(POINTS), points(POINTS));
            // Three points of different thirds.
            let third = POINTS / 3;
            let corner = |n: usize, part: usize| part * third + n * (7 + 4 * part) % third;
            let faces = (0..FACES).map(|n| [0, 1, 2].map(|part| corner(n, part) as i32));
            let mesh = Mesh::new(corners, faces.collect());
            Object::Mesh(mesh.with_velocities(velocities).with_winding())
        }
        Kind::Volume(voxel) => Object::Volume(Volume::block(voxel, number)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayArgument, Interpreter, random_arguments};
    use warpsmith_compiler::compile;

    const SOURCE: &str = "
import warp as wp

@wp.func
def height(terrain: wp.uint64, p: wp.vec3):
    return wp.volume_sample_v(terrain, p, 1)[2] + wp.volume_lookup_v(terrain, 1, 2, 3)[0]

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), mesh: wp.uint64, n: wp.uint64, terrain: wp.uint64):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, x[i], 100.0)
    if found.result:
        p = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
        y[i] = wp.length(p - x[i]) + height(terrain, p) + float(n)
";

    /// What a kernel with this body writes, given a random object.
    fn found(body: &str, seed: u64) -> Vec<f32> {
        let source = format!(
            "import warp as wp\n\n\n@wp.kernel\n\
             def k(id: wp.uint64, a: wp.vec3, b: wp.vec3, hits: wp.array(dtype=float)):\n    n = int(0)\n\
             {body}    hits[0] = float(n)\n"
        );
        let module = compile(&source, &Default::default()).expect("the kernel compiles");
        let vector = |x: f64| Argument::Value(vec![Number::Float(x); 3]);
        let hits = ArrayArgument::from_f32(&[0.0; FACES + 1]);
        let id = Argument::Value(vec![Number::Int(0)]);
        let mut arguments = [id, vector(-1.2), vector(1.4), Argument::Array(hits)];
        let objects = with_random_objects(&module, seed, &mut arguments);
        assert_eq!(objects.len(), 1);
        let interpreter = Interpreter::forward(&module).expect("it is planned");
        let interpreter = interpreter.with_objects(objects);
        let outcome = interpreter.run(&[1], &mut arguments).expect("they fit");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        match &arguments[3] {
            Argument::Array(hits) => hits.to_f32(),
            _ => unreachable!("an array stays one"),
        }
    }

    #[test]
    fn a_block_of_one_thread_asks_as_a_thread_does() {
        for (query, next) in [
            ("bvh_query_aabb", "bvh_query_next"),
            ("bvh_query_ray", "bvh_query_next"),
            ("mesh_query_aabb", "mesh_query_aabb_next"),
        ] {
            let plain = format!(
                "    q = wp.{query}(id, a, b)\n    f = int(0)\n    while wp.{next}(q, f):\n        n += 1\n        \
                 hits[n] = float(f)\n"
            );
            let rest = format!(
                "        n += 1\n        hits[n] = float(wp.untile(t))\n        t = wp.tile_{next}(q)\n"
            );
            let begin = format!("    q = wp.tile_{query}(id, a, b)\n    t = wp.tile_{next}(q)\n");
            let mut count = 0.0;
            for seed in 0..8 {
                let plain = found(&plain, seed);
                count += plain[0];
                for condition in ["wp.tile_query_valid(q)", "wp.tile_max(t)[0] >= 0"] {
                    let block = format!("{begin}    while {condition}:\n{rest}");
                    assert_eq!(found(&block, seed), plain, "{query} with {condition}");
                }
            }
            assert!(count > 2.0, "{query} finds {count}");
        }
    }

    #[test]
    fn parameters_that_name_objects_are_given_some() {
        let module =
            compile(SOURCE, &warpsmith_compiler::Options::default()).expect("the kernel compiles");
        let dim = [50];
        let mut arguments = random_arguments(&module, &dim, 3).expect("arguments can be made");
        let before = arguments.clone();
        let objects = with_random_objects(&module, 3, &mut arguments);
        assert!(matches!(*objects[&1], Object::Mesh(_)));
        assert!(matches!(*objects[&2], Object::Volume(_)));
        assert_eq!((objects.len(), &arguments[3]), (2, &before[3]));
        let interpreter = Interpreter::forward(&module).expect("it is planned");
        let interpreter = interpreter.with_objects(objects);
        let outcome = interpreter.run(&dim, &mut arguments).expect("they fit");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        assert_ne!(arguments[1], before[1]);
    }
}
