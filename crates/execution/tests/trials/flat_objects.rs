//! Objects as the runtime header for GPUs reads them, compiled for the host: the same answers as the interpreter's.

use std::process::Command;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::runtime_header::prologue;
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{
    Argument, ArrayArgument, Bvh, HashGrid, Interpreter, Mesh, Object, Objects,
};

const POINTS: usize = 400;
/// Numbers that each point asks for.
const ANSWERS: usize = 16;

const KERNEL: &str = "import warp as wp

@wp.kernel
def ask(grid: wp.uint64, mesh: wp.uint64, tree: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    p = points[i]
    n = int(0)
    order = float(0.0)
    for other in wp.hash_grid_query(grid, p, 0.3):
        n += 1
        order = 0.5 * order + float(other)
    out[i, 0] = float(n)
    out[i, 1] = order
    near = wp.mesh_query_point(mesh, p, 2.0)
    out[i, 2] = near.sign
    out[i, 3] = float(near.face)
    out[i, 4] = near.u
    out[i, 5] = near.v
    side = wp.mesh_query_point_sign_normal(mesh, p, 2.0, 1.0e-3)
    out[i, 6] = side.sign
    ray = wp.mesh_query_ray(mesh, p, wp.vec3(0.2, -0.3, 1.0), 5.0)
    if ray.result:
        out[i, 7] = ray.t
        out[i, 8] = ray.sign
        out[i, 9] = ray.normal[2]
    at = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
    out[i, 10] = at[0]
    out[i, 11] = float(wp.hash_grid_point_id(grid, i))
    order = float(0.0)
    for face in wp.mesh_query_aabb(mesh, p, p + wp.vec3(0.5)):
        order = 0.5 * order + float(face)
    out[i, 12] = order
    found = int(0)
    order = float(0.0)
    boxes = wp.bvh_query_aabb(tree, p, p + wp.vec3(0.2), wp.bvh_get_group_root(tree, i % 3))
    while wp.bvh_query_next(boxes, found):
        order = 0.5 * order + float(found)
    out[i, 13] = order
    order = float(0.0)
    capsule = wp.bvh_query_capsule(tree, p, wp.vec3(0.2, 0.0, 1.0), 0.1)
    while wp.bvh_query_next(capsule, found, 0.75):
        order = 0.5 * order + float(found)
    out[i, 14] = order
    wound = wp.mesh_query_point_sign_winding_number(mesh, p, 2.0)
    out[i, 15] = wound.sign
";

const PROGRAM: &str = r#"
static void* load(const char* path) {
    FILE* file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    void* memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (fread(memory, 1, size, file) != size_t(size)) exit(1);
    return memory;
}
int main(int, char** paths) {
    using vec = wp::vec_t<3, float>;
    void *grid_at = load(paths[1]), *mesh_at = load(paths[2]), *tree_at = load(paths[3]);
    const wp::uint64 grid = wp::uint64(&grid_at), mesh = wp::uint64(&mesh_at), tree = wp::uint64(&tree_at);
    const vec* points = static_cast<const vec*>(load(paths[4]));
    for (int i = 0; i < 400; ++i) {
        const vec p = points[i];
        int n = 0;
        float order = 0.0f;
        auto query = wp::hash_grid_query(grid, p, 0.3f);
        while (wp::iter_cmp(query)) {
            ++n;
            order = 0.5f * order + float(wp::iter_next(query));
        }
        const auto near = wp::mesh_query_point(mesh, p, 2.0f);
        const auto side = wp::mesh_query_point_sign_normal(mesh, p, 2.0f, 1.0e-3f);
        const auto ray = wp::mesh_query_ray(mesh, p, vec(0.2f, -0.3f, 1.0f), 5.0f, -1);
        const vec at = wp::mesh_eval_position(mesh, near.face, near.u, near.v);
        printf("%.9g %.9g %.9g %.9g %.9g %.9g ", float(n), order, near.sign, float(near.face), near.u, near.v);
        printf("%.9g %.9g %.9g %.9g ", side.sign, ray.t, ray.sign, ray.normal.c[2]);
        printf("%.9g %.9g ", at.c[0], float(wp::hash_grid_point_id(grid, i)));
        float faces = 0.0f, boxes = 0.0f, capsules = 0.0f;
        auto touched = wp::mesh_query_aabb(mesh, p, vec(p.c[0] + 0.5f, p.c[1] + 0.5f, p.c[2] + 0.5f));
        while (wp::iter_cmp(touched)) faces = 0.5f * faces + float(wp::iter_next(touched));
        int found = 0;
        const vec far(p.c[0] + 0.2f, p.c[1] + 0.2f, p.c[2] + 0.2f);
        auto box = wp::bvh_query_aabb(tree, p, far, wp::bvh_get_group_root(tree, i % 3));
        while (wp::bvh_query_next(box, found)) boxes = 0.5f * boxes + float(found);
        auto capsule = wp::bvh_query_capsule(tree, p, vec(0.2f, 0.0f, 1.0f), 0.1f, -1);
        while (wp::bvh_query_capsule_next(capsule, found, 0.75f)) capsules = 0.5f * capsules + float(found);
        const auto wound = wp::mesh_query_point_sign_winding_number(mesh, p, 2.0f, 2.0f, 0.5f);
        printf("%.9g %.9g %.9g %.9g\n", faces, boxes, capsules, wound.sign);
    }
}
"#;

pub(crate) fn trials() -> Vec<Trial> {
    let missing = Command::new("g++").arg("--version").output().is_err();
    let trial = Trial::test(
        "grids, trees and meshes of the runtime header",
        answers_agree,
    );
    vec![trial.with_ignored_flag(missing)]
}

fn samples() -> Vec<[f32; 3]> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 * 1.5 - 1.5
    };
    (0..POINTS).map(|_| [next(), next(), next()]).collect()
}

/// A ball of rings.
fn ball() -> Mesh {
    let (rings, sides) = (12, 16);
    let ring = |n: i32| std::f32::consts::PI * n as f32 / rings as f32;
    let side = |n: i32| std::f32::consts::TAU * n as f32 / sides as f32;
    let points = (0..=rings).flat_map(|i| {
        (0..sides).map(move |j| {
            let (theta, phi) = (ring(i), side(j));
            [
                theta.sin() * phi.cos(),
                theta.sin() * phi.sin(),
                theta.cos(),
            ]
        })
    });
    let faces = (0..rings).flat_map(|i| {
        (0..sides).flat_map(move |j| {
            let [a, b] = [j, (j + 1) % sides].map(|j| i * sides + j);
            [[a, a + sides, b], [b, a + sides, b + sides]]
        })
    });
    Mesh::new(points.collect(), faces.collect())
}

fn answers_agree() -> Result<(), Failed> {
    let points = samples();
    let grid = Object::HashGrid(HashGrid::new([8, 8, 8], 0.25, &points));
    let mesh = Object::Mesh(ball().with_winding());
    let highs = points.iter().map(|low| low.map(|x| x + 0.1)).collect();
    let groups: Vec<i32> = (0..POINTS as i32).map(|n| n % 3).collect();
    let tree = Object::Bvh(Bvh::new(points.clone(), highs, Some(&groups)));
    let bytes: Vec<u8> = points
        .as_flattened()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = tempfile::tempdir()?;
    let paths = ["grid", "mesh", "tree", "points"].map(|name| folder.path().join(name));
    for (path, contents) in paths
        .iter()
        .zip([grid.flat(), mesh.flat(), tree.flat(), bytes.clone()])
    {
        std::fs::write(path, contents)?;
    }
    let (source, binary) = (folder.path().join("ask.cpp"), folder.path().join("ask"));
    std::fs::write(
        &source,
        format!("#include <stdlib.h>\n{}{PROGRAM}", prologue(PROGRAM)),
    )?;
    let built = Command::new("g++")
        .args(["-std=c++17", "-w", "-ffp-contract=off", "-o"])
        .args([&binary, &source])
        .output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    let printed = Command::new(&binary).args(&paths).output()?;
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let found: Vec<f32> = printed
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;

    let module =
        compile(KERNEL, &Options::default()).map_err(|findings| format!("{findings:?}"))?;
    let interpreter = Interpreter::forward(&module).map_err(|findings| format!("{findings:?}"))?;
    let objects: Objects = (1..).zip([grid, mesh, tree].map(Arc::new)).collect();
    let array = |shape: Vec<usize>, data: Vec<u8>| {
        Argument::Array(ArrayArgument {
            shape,
            data,
            gradient: None,
        })
    };
    let mut arguments = [
        Argument::int(1),
        Argument::int(2),
        Argument::int(3),
        array(vec![POINTS], bytes),
        array(vec![POINTS, ANSWERS], vec![0; 4 * POINTS * ANSWERS]),
    ];
    let outcome = interpreter
        .with_objects(objects)
        .run(&[POINTS], &mut arguments)?;
    if !outcome.findings.is_empty() {
        return Err(format!("{:?}", outcome.findings).into());
    }
    let Argument::Array(out) = &arguments[4] else {
        return Err("the result is an array".into());
    };
    let expected = out
        .data
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| f32::from_le_bytes(*word));
    let expected: Vec<f32> = expected.collect();
    if found.len() != expected.len() {
        return Err(format!("{} answers, {} expected", found.len(), expected.len()).into());
    }
    for (n, (ours, theirs)) in found.iter().zip(&expected).enumerate() {
        if ours != theirs {
            let (point, answer) = (n / ANSWERS, n % ANSWERS);
            return Err(format!("point {point}, answer {answer}: {ours}, not {theirs}").into());
        }
    }
    Ok(())
}
