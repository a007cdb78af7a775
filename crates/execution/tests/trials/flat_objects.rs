//! Objects as the runtime header for GPUs reads them, compiled for the host: the same answers as the interpreter's.

use std::process::Command;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::ir::Number;
use warpsmith_compiler::runtime_header::prologue;
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{
    Address, Argument, ArrayArgument, Bvh, HashGrid, Interpreter, Mesh, Object, Objects, Sampling,
    Texel, Texture,
};

const POINTS: usize = 400;
/// Numbers that each point asks for.
const ANSWERS: usize = 26;
/// Gradients of each point.
const GRADIENTS: usize = 12;

const KERNEL: &str = "import warp as wp

@wp.kernel
def ask(grid: wp.uint64, mesh: wp.uint64, tree: wp.uint64, picture: wp.Texture2D, points: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
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
    root = wp.mesh_get_group_root(mesh, i % 3)
    t = float(-1.0)
    u = float(-2.0)
    v = float(-3.0)
    sign = float(-4.0)
    normal = wp.vec3(-5.0)
    face = int(-6)
    wp.mesh_query_ray(mesh, p, wp.vec3(0.2, -0.3, 1.0), 5.0, t, u, v, sign, normal, face, root)
    out[i, 16] = t + normal[1]
    out[i, 17] = float(face)
    out[i, 18] = float(wp.mesh_query_ray_count_intersections(mesh, p, wp.vec3(0.2, -0.3, 1.0), root))
    wp.mesh_query_point_no_sign(mesh, p, 0.5, face, u, v)
    out[i, 19] = float(face) + u
    far = wp.mesh_query_furthest_point_no_sign(mesh, p, 1.0)
    out[i, 20] = float(far.face) + far.u + 0.5 * far.v
    out[i, 21] = wp.mesh_eval_velocity(mesh, i % 300, 0.2, 0.3)[1] + wp.mesh_get_velocity(mesh, i)[2]
    m = wp.mesh_get(mesh)
    out[i, 22] = m.points[i % 200][2] + float(m.indices[i])
    a = wp.vec3(p[1], p[2], p[0])
    b = wp.vec3(p[2], -p[0], p[1])
    c = wp.vec3(0.5, p[0], 0.1)
    out[i, 23] = float(wp.intersect_tri_tri(p, a, b, c, wp.vec3(-0.3, 0.2, 0.4), wp.vec3(0.1, -0.8, -0.5)))
    edges = wp.closest_point_edge_edge(p, a, b, c, 1.0e-6)
    out[i, 24] = edges[0] + 2.0 * edges[1] + 4.0 * edges[2]
    pixel = wp.texture_sample(picture, wp.vec2(p[0], p[1]), dtype=wp.vec2f)
    out[i, 25] = pixel[0] + 2.0 * pixel[1] + wp.texture_sample(picture, p[1], p[2], dtype=float)
";

/// The same questions with gradients: those of the point, then those of a ray's direction, those of an edge's end.
const DIFFERENTIATED: &str = "import warp as wp

@wp.kernel
def differentiated(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), along: wp.array(dtype=wp.vec3), ends: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    near = wp.mesh_query_point_no_sign(mesh, points[i], 5.0)
    at = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
    ray = wp.mesh_query_ray(mesh, points[i], along[i], 5.0)
    t = float(0.0)
    u = float(0.0)
    v = float(0.0)
    sign = float(0.0)
    normal = wp.vec3()
    face = int(0)
    hit = wp.mesh_query_ray(mesh, points[i], along[i], 5.0, t, u, v, sign, normal, face)
    found = wp.mesh_query_point(mesh, points[i], 5.0, sign, face, u, v)
    edges = wp.closest_point_edge_edge(ends[i], wp.vec3(0.5, 0.1, 0.2), wp.vec3(-0.3, 0.2, 0.9), wp.vec3(0.1, -0.8, -0.5), 1.0e-6)
    loss[i] = at[0] + 2.0 * at[2] + ray.t - 3.0 * ray.u + 0.5 * ray.v + t + 4.0 * u - v + edges[0] + 2.0 * edges[1] + edges[2]
";

const DIFFERENTIATING: &str = r#"
int main(int, char** paths) {
    using vec = wp::vec_t<3, float>;
    void* mesh_at = load(paths[1]);
    const wp::uint64 mesh = wp::uint64(&mesh_at);
    const vec *points = static_cast<const vec*>(load(paths[2])), *along = static_cast<const vec*>(load(paths[3]));
    const vec zero(0.0f, 0.0f, 0.0f);
    for (int i = 0; i < 400; ++i) {
        const vec p = points[i], d = along[i];
        wp::uint64 id = 0;
        float most = 0.0f, sign = 0.0f;
        int face = 0, root = 0, hit_face = 0;
        vec of_point = zero, of_along = zero, of_end = zero, rest = zero, normal = zero;
        const auto near = wp::mesh_query_point_no_sign(mesh, p, 5.0f);
        auto of_near = wp::mesh_query_point_t{};
        wp::adj_mesh_eval_position(mesh, near.face, near.u, near.v, id, face, of_near.u, of_near.v, vec(1.0f, 0.0f, 2.0f));
        wp::adj_mesh_query_point_no_sign(mesh, p, 5.0f, near, id, of_point, most, of_near);
        const auto ray = wp::mesh_query_ray(mesh, p, d, 5.0f, -1);
        auto of_ray = wp::mesh_query_ray_t{};
        of_ray.t = 1.0f;
        of_ray.u = -3.0f;
        of_ray.v = 0.5f;
        wp::adj_mesh_query_ray(mesh, p, d, 5.0f, -1, ray, id, of_point, of_along, most, root, of_ray);
        float t = 0.0f, u = 0.0f, v = 0.0f, of_t = 1.0f, of_u = 4.0f, of_v = -1.0f;
        wp::mesh_query_ray(mesh, p, d, 5.0f, t, u, v, sign, normal, hit_face, -1);
        int found_face = hit_face;
        wp::mesh_query_point(mesh, p, 5.0f, sign, found_face, u, v);
        wp::adj_mesh_query_point(mesh, p, 5.0f, sign, found_face, u, v, id, of_point, most, most, face, of_u, of_v, false);
        wp::adj_mesh_query_ray(mesh, p, d, 5.0f, t, u, v, sign, normal, found_face, -1, id, of_point, of_along, most, of_t, of_u, of_v, most, rest, face, root, false);
        wp::adj_closest_point_edge_edge(p, vec(0.5f, 0.1f, 0.2f), vec(-0.3f, 0.2f, 0.9f), vec(0.1f, -0.8f, -0.5f), 1.0e-6f, of_end, rest, rest, rest, most, vec(1.0f, 2.0f, 1.0f));
        for (const vec& one : {of_point, of_along, of_end, zero}) printf("%.9g %.9g %.9g ", one.c[0], one.c[1], one.c[2]);
        printf("\n");
    }
}
"#;

const LOAD: &str = r#"
static void* load(const char* path) {
    FILE* file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    void* memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (fread(memory, 1, size, file) != size_t(size)) exit(1);
    return memory;
}
"#;

const PROGRAM: &str = r#"
int main(int, char** paths) {
    using vec = wp::vec_t<3, float>;
    void *grid_at = load(paths[1]), *mesh_at = load(paths[2]), *tree_at = load(paths[3]), *picture_at = load(paths[5]);
    wp::texture2d_t picture;
    picture.tex = wp::uint64(&picture_at);
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
        printf("%.9g %.9g %.9g %.9g ", faces, boxes, capsules, wound.sign);
        const int root = wp::mesh_get_group_root(mesh, i % 3);
        float t = -1.0f, u = -2.0f, v = -3.0f, sign = -4.0f;
        vec normal(-5.0f, -5.0f, -5.0f);
        int face = -6;
        wp::mesh_query_ray(mesh, p, vec(0.2f, -0.3f, 1.0f), 5.0f, t, u, v, sign, normal, face, root);
        printf("%.9g %d %d ", t + normal.c[1], face, wp::mesh_query_ray_count_intersections(mesh, p, vec(0.2f, -0.3f, 1.0f), root));
        wp::mesh_query_point_no_sign(mesh, p, 0.5f, face, u, v);
        const auto far_one = wp::mesh_query_furthest_point_no_sign(mesh, p, 1.0f);
        printf("%.9g %.9g ", float(face) + u, float(far_one.face) + far_one.u + 0.5f * far_one.v);
        printf("%.9g ", wp::mesh_eval_velocity(mesh, i % 300, 0.2f, 0.3f).c[1] + wp::mesh_get_velocity(mesh, i).c[2]);
        const wp::Mesh m = wp::mesh_get(mesh);
        printf("%.9g ", wp::address(m.points, i % 200)->c[2] + float(*wp::address(m.indices, i)));
        const vec a(p.c[1], p.c[2], p.c[0]), b(p.c[2], -p.c[0], p.c[1]), c(0.5f, p.c[0], 0.1f);
        printf("%d ", wp::intersect_tri_tri(p, a, b, c, vec(-0.3f, 0.2f, 0.4f), vec(0.1f, -0.8f, -0.5f)));
        const vec edges = wp::closest_point_edge_edge(p, a, b, c, 1.0e-6f);
        printf("%.9g ", edges.c[0] + 2.0f * edges.c[1] + 4.0f * edges.c[2]);
        const auto pixel = wp::texture_sample<wp::vec_t<2, float>>(picture, wp::vec_t<2, float>(p.c[0], p.c[1]), -1.0f);
        printf("%.9g\n", pixel.c[0] + 2.0f * pixel.c[1] + wp::texture_sample<float>(picture, p.c[1], p.c[2], -1.0f));
    }
}
"#;

pub(crate) fn trials() -> Vec<Trial> {
    let missing = Command::new("g++").arg("--version").output().is_err();
    let trial = Trial::test(
        "grids, trees and meshes of the runtime header",
        answers_agree,
    );
    let gradients = Trial::test("gradients of meshes of the runtime header", gradients_agree);
    [trial, gradients]
        .map(|trial| trial.with_ignored_flag(missing))
        .into()
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

/// The ball with groups of faces and velocities of points.
fn moving_ball() -> Mesh {
    let velocities = samples().into_iter().take(13 * 16).collect();
    let groups = (0..12 * 16 * 2).map(|n| n % 3).collect();
    let mesh = ball().with_winding().with_velocities(velocities);
    mesh.with_groups(groups)
}

fn picture() -> Texture {
    let sampling = Sampling {
        linear: true,
        normalized: true,
        address: [Address::Mirror, Address::Wrap, Address::Clamp],
    };
    let texels = (0..5 * 3 * 2).map(|n| (n * 37 % 251) as u8).collect();
    Texture::new([5, 3, 1], 2, Texel::U8, sampling, texels).expect("the texels fit")
}

fn bytes_of(points: &[[f32; 3]]) -> Vec<u8> {
    let numbers = points.as_flattened().iter();
    numbers.flat_map(|x| x.to_le_bytes()).collect()
}

fn floats_of(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// What a program prints that is built from the runtime header and given files with these contents.
fn printed(program: &str, files: &[&[u8]]) -> Result<Vec<f32>, Failed> {
    let folder = tempfile::tempdir()?;
    let mut paths = Vec::new();
    for (n, contents) in files.iter().enumerate() {
        paths.push(folder.path().join(n.to_string()));
        std::fs::write(&paths[n], contents)?;
    }
    let (source, binary) = (folder.path().join("ask.cpp"), folder.path().join("ask"));
    let header = prologue(program);
    std::fs::write(
        &source,
        format!("#include <stdlib.h>\n#include <initializer_list>\n{header}{LOAD}{program}"),
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
    let numbers = printed.split_whitespace().map(str::parse);
    Ok(numbers.collect::<Result<_, _>>()?)
}

fn array(shape: Vec<usize>, data: Vec<u8>) -> Argument {
    Argument::Array(ArrayArgument {
        shape,
        data,
        gradient: None,
    })
}

/// Compares answers; `share` of a number of at least 1 may be lost to the order of sums.
fn compare(found: &[f32], expected: &[f32], per_point: usize, share: f32) -> Result<(), Failed> {
    if found.len() != expected.len() {
        return Err(format!("{} answers, {} expected", found.len(), expected.len()).into());
    }
    for (n, (ours, theirs)) in found.iter().zip(expected).enumerate() {
        let same = ours == theirs || (ours - theirs).abs() <= share * theirs.abs().max(1.0);
        if !same {
            let (point, answer) = (n / per_point, n % per_point);
            return Err(format!("point {point}, answer {answer}: {ours}, not {theirs}").into());
        }
    }
    Ok(())
}

fn answers_agree() -> Result<(), Failed> {
    let points = samples();
    let grid = Object::HashGrid(HashGrid::new([8, 8, 8], 0.25, &points));
    let mesh = Object::Mesh(moving_ball());
    let highs = points.iter().map(|low| low.map(|x| x + 0.1)).collect();
    let groups: Vec<i32> = (0..POINTS as i32).map(|n| n % 3).collect();
    let tree = Object::Bvh(Bvh::new(points.clone(), highs, Some(&groups)));
    let picture = Object::Texture(picture());
    let bytes = bytes_of(&points);
    let flat = [&grid, &mesh, &tree].map(Object::flat);
    let [grid_bytes, mesh_bytes, tree_bytes] = &flat;
    let files: [&[u8]; 5] = [grid_bytes, mesh_bytes, tree_bytes, &bytes, &picture.flat()];
    let found = printed(PROGRAM, &files)?;
    let module =
        compile(KERNEL, &Options::default()).map_err(|findings| format!("{findings:?}"))?;
    let interpreter = Interpreter::forward(&module).map_err(|findings| format!("{findings:?}"))?;
    let objects: Objects = (1..)
        .zip([grid, mesh, tree, picture].map(Arc::new))
        .collect();
    let texture = [4, 5, 3].map(Number::Int).to_vec();
    let mut arguments = [
        Argument::int(1),
        Argument::int(2),
        Argument::int(3),
        Argument::Value(texture),
        array(vec![POINTS], bytes),
        array(vec![POINTS, ANSWERS], vec![0; 4 * POINTS * ANSWERS]),
    ];
    let outcome = interpreter
        .with_objects(objects)
        .run(&[POINTS], &mut arguments)?;
    if !outcome.findings.is_empty() {
        return Err(format!("{:?}", outcome.findings).into());
    }
    let Argument::Array(out) = &arguments[5] else {
        return Err("the result is an array".into());
    };
    compare(&found, &floats_of(&out.data), ANSWERS, 0.0)
}

fn gradients_agree() -> Result<(), Failed> {
    let points = samples();
    let along: Vec<[f32; 3]> = points
        .iter()
        .map(|p| [0.1 - p[0], -p[1], 0.05 - p[2]])
        .collect();
    let mesh = Object::Mesh(moving_ball());
    let (places, directions) = (bytes_of(&points), bytes_of(&along));
    let found = printed(DIFFERENTIATING, &[&mesh.flat(), &places, &directions])?;
    let module =
        compile(DIFFERENTIATED, &Options::default()).map_err(|findings| format!("{findings:?}"))?;
    let interpreter = Interpreter::adjoint(&module).map_err(|findings| format!("{findings:?}"))?;
    let given = |data: Vec<u8>| {
        Argument::Array(ArrayArgument {
            shape: vec![POINTS],
            gradient: Some(vec![0; data.len()]),
            data,
        })
    };
    let loss = ArrayArgument::from_f32(&[0.0; POINTS]).with_gradient_f32(&[1.0; POINTS]);
    let mut arguments = [
        Argument::int(1),
        given(places.clone()),
        given(directions),
        given(places),
        Argument::Array(loss),
    ];
    let outcome = interpreter
        .with_objects([(1, Arc::new(mesh))].into_iter().collect())
        .run(&[POINTS], &mut arguments)?;
    if !outcome.findings.is_empty() {
        return Err(format!("{:?}", outcome.findings).into());
    }
    let gradients: Vec<Vec<f32>> = (arguments[1..4].iter())
        .map(|argument| match argument {
            Argument::Array(array) => array.gradient_to_f32(),
            _ => Vec::new(),
        })
        .collect();
    let expected: Vec<f32> = (0..POINTS)
        .flat_map(|point| {
            let of_point = |all: &Vec<f32>| all[3 * point..][..3].to_vec();
            gradients
                .iter()
                .flat_map(of_point)
                .chain([0.0; 3])
                .collect::<Vec<f32>>()
        })
        .collect();
    compare(&found, &expected, GRADIENTS, 1e-5)
}
