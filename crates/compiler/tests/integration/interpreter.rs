//! The interpreter on kernels whose results are worked out by hand.

use std::sync::Arc;

use warpsmith_compiler::compile;
use warpsmith_interpreter::{
    Argument, ArrayArgument, HashGrid, Interpreter, Object, Objects, Outcome,
};

fn run(source: &str, dim: &[usize], arguments: &mut [Argument]) -> Outcome {
    let module = compile(source, &Default::default()).expect("the kernel compiles");
    let interpreter = Interpreter::forward(&module).expect("the kernel is planned");
    interpreter
        .with_iteration_limit(10_000)
        .run(dim, arguments)
        .expect("the arguments fit")
}

fn back(source: &str, dim: &[usize], arguments: &mut [Argument]) -> Outcome {
    let module = compile(source, &Default::default()).expect("the kernel compiles");
    let interpreter = Interpreter::adjoint(&module).expect("the adjoint is planned");
    interpreter.run(dim, arguments).expect("the arguments fit")
}

fn floats(values: &[f32]) -> Argument {
    Argument::Array(ArrayArgument::from_f32(values))
}

fn with_gradient(values: &[f32], gradient: &[f32]) -> Argument {
    Argument::Array(ArrayArgument::from_f32(values).with_gradient_f32(gradient))
}

fn values(argument: &Argument) -> Vec<f32> {
    match argument {
        Argument::Array(array) => array.to_f32(),
        _ => panic!("not an array"),
    }
}

fn gradient(argument: &Argument) -> Vec<f32> {
    match argument {
        Argument::Array(array) => array.gradient_to_f32(),
        _ => panic!("not an array"),
    }
}

const SAXPY: &str = "
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
";

#[test]
fn saxpy_over_more_threads_than_lanes_runs_on_all_cores() {
    let n = 5000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut arguments = [floats(&x), floats(&vec![1.0; n]), Argument::float(2.0)];
    let outcome = run(SAXPY, &[n], &mut arguments);
    assert!(outcome.findings.is_empty() && outcome.parallel);
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    assert_eq!(values(&arguments[1]), expected);
}

#[test]
fn an_index_out_of_range_is_a_finding_at_its_line() {
    let mut arguments = [floats(&[1.0; 4]), floats(&[1.0; 3]), Argument::float(2.0)];
    let outcome = run(SAXPY, &[4], &mut arguments);
    assert_eq!(outcome.findings.len(), 1);
    let finding = &outcome.findings[0];
    assert_eq!(finding.code, "K101");
    assert_eq!(finding.span.as_ref().map(|span| span.line), Some(7));
    assert!(
        finding.evidence[0]
            .seen
            .contains("thread 3: index [3] of an array of shape [3]")
    );
    assert_eq!(values(&arguments[1]), [3.0; 3]);
}

#[test]
fn the_adjoint_of_saxpy() {
    let mut arguments = [
        with_gradient(&[1.0, 2.0], &[0.0, 0.0]),
        with_gradient(&[5.0, 6.0], &[1.0, 10.0]),
        Argument::float(3.0),
    ];
    let outcome = back(SAXPY, &[2], &mut arguments);
    assert!(outcome.findings.is_empty());
    assert_eq!(gradient(&arguments[0]), [3.0, 30.0]);
    // `y` is read before it is overwritten: the gradient of the old value is that of the new one.
    assert_eq!(gradient(&arguments[1]), [1.0, 10.0]);
    assert_eq!(values(&arguments[1]), [5.0, 6.0]);
}

#[test]
fn an_adjoint_takes_the_result_as_its_variable_holds_it() {
    // The backward walk of the loop repeats it, so that the adjoint of `cbrt` finds 2 + 19.
    let source = "
import warp as wp

@wp.kernel
def overwritten(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    total = wp.cbrt(x[i])
    for n in range(19):
        total += 1.0
    y[i] = total
";
    let mut arguments = [with_gradient(&[8.0], &[0.0]), with_gradient(&[0.0], &[1.0])];
    let outcome = back(source, &[1], &mut arguments);
    assert!(outcome.findings.is_empty());
    let expected = 1.0 / (3.0 * 21.0 * 21.0);
    assert!((gradient(&arguments[0])[0] - expected).abs() < 1e-9);
}

#[test]
fn loops_branches_breaks_and_returns() {
    let source = "
import warp as wp

@wp.func
def clipped(x: float):
    if x > 10.0:
        return 10.0
    return x

@wp.kernel
def k(n: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    if n[i] < 0:
        o[i] = -1.0
        return
    s = float(0.0)
    for j in range(n[i]):
        if j == 3:
            continue
        if j > 6:
            break
        s = s + float(j)
    k = int(0)
    while k < i:
        s += 100.0
        k += 1
    o[i] = clipped(s) + s
";
    let n: Vec<i32> = (0..80)
        .map(|i| if i % 7 == 6 { -1 } else { i % 11 })
        .collect();
    let data = n.iter().flat_map(|n| n.to_le_bytes()).collect();
    let n_array = ArrayArgument {
        shape: vec![80],
        data,
        gradient: None,
    };
    let mut arguments = [Argument::Array(n_array), floats(&[0.0; 80])];
    let outcome = run(source, &[80], &mut arguments);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    for (i, (n, o)) in n.iter().zip(values(&arguments[1])).enumerate() {
        let s: i32 = (0..*n).filter(|j| *j != 3 && *j <= 6).sum::<i32>() + 100 * i as i32;
        let expected = if *n < 0 {
            -1.0
        } else {
            (s as f32).min(10.0) + s as f32
        };
        assert_eq!(o, expected, "thread {i}");
    }
}

#[test]
fn a_variable_of_one_branch_is_reported_where_the_other_ran() {
    let source = "
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        y = x[i] * 2.0
    x[i] = y
";
    let mut arguments = [floats(&[1.0, -1.0, 3.0])];
    let outcome = run(source, &[3], &mut arguments);
    assert_eq!(outcome.findings.len(), 1);
    assert_eq!(outcome.findings[0].code, "K102");
    assert_eq!(values(&arguments[0]), [2.0, -1.0, 6.0]);
}

#[test]
fn an_endless_loop_ends_with_a_finding() {
    let source = "
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=int)):
    n = int(1)
    while n > 0:
        n = 1 - 0 * n
    x[0] = n
";
    let array = ArrayArgument {
        shape: vec![1],
        data: vec![0; 4],
        gradient: None,
    };
    let outcome = run(source, &[1], &mut [Argument::Array(array)]);
    assert_eq!(outcome.findings[0].code, "K107");
}

#[test]
fn atomics_give_old_values_in_thread_order() {
    let source = "
import warp as wp

@wp.kernel
def k(count: wp.array(dtype=int), o: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    at = wp.atomic_add(count, 0, 1)
    o[at] = float(i)
    wp.atomic_add(total, 0, float(i))
";
    let count = ArrayArgument {
        shape: vec![1],
        data: vec![0; 4],
        gradient: None,
    };
    let mut arguments = [Argument::Array(count), floats(&[0.0; 200]), floats(&[0.0])];
    let outcome = run(source, &[200], &mut arguments);
    assert!(outcome.findings.is_empty() && !outcome.parallel);
    let expected: Vec<f32> = (0..200).map(|i| i as f32).collect();
    assert_eq!(values(&arguments[1]), expected);
    assert_eq!(values(&arguments[2]), [19900.0]);
}

/// Compares the adjoint with differences of the forward pass: one float array in, one out.
fn check_gradient(body: &str, inputs: &[f32]) {
    let source = format!("import warp as wp\n\n{body}");
    let n = inputs.len();
    // Weights that differ, so that no two gradients cancel.
    let weights: Vec<f32> = (0..n).map(|i| 1.0 + 0.5 * i as f32).collect();
    let loss = |inputs: &[f32]| -> f64 {
        let mut arguments = [floats(inputs), floats(&vec![0.0; n])];
        let outcome = run(&source, &[1], &mut arguments);
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        let out = values(&arguments[1]);
        out.iter()
            .zip(&weights)
            .map(|(o, w)| f64::from(*o) * f64::from(*w))
            .sum()
    };
    let mut arguments = [
        with_gradient(inputs, &vec![0.0; n]),
        with_gradient(&vec![0.0; n], &weights),
    ];
    back(&source, &[1], &mut arguments);
    for (i, found) in gradient(&arguments[0]).into_iter().enumerate() {
        // Central differences in float32: the truncation error of step h is O(h^2), the rounding error
        // eps/h, both near 1e-3 for h = 1e-2 and values near 1.
        let h = 1e-2_f32;
        let shifted = |by: f32| {
            let mut moved = inputs.to_vec();
            moved[i] += by;
            loss(&moved)
        };
        let expected = (shifted(h) - shifted(-h)) / (2.0 * f64::from(h));
        let error = (f64::from(found) - expected).abs();
        assert!(
            error <= 5e-3 * (1.0 + expected.abs()),
            "input {i}: {found} against {expected}\n{body}"
        );
    }
}

#[test]
fn gradients_of_scalar_functions_match_differences() {
    for expression in [
        "wp.sin(a) * wp.cos(b)",
        "wp.exp(a) / (b + 2.0)",
        "wp.sqrt(a) + wp.log(b)",
        "a ** b",
        "wp.atan2(a, b)",
        "wp.min(a, b) * wp.max(a, 2.0 * b)",
        "wp.tanh(a) - wp.asin(0.5 * b)",
        "wp.abs(a - b) + wp.cbrt(a)",
        "wp.clamp(a, 0.1, 5.0) * b",
        "wp.smoothstep(0.0, 2.0, a) * b",
        "wp.lerp(a, b, a * b)",
        "wp.erf(a) + wp.erfc(b)",
        "wp.tan(a) + wp.acos(0.3 * b) + wp.atan(a)",
        "wp.sinh(a) + wp.cosh(b) + wp.log2(a) + wp.log10(b)",
    ] {
        check_gradient(
            &format!(
                "@wp.kernel\ndef k(x: wp.array(dtype=float), o: wp.array(dtype=float)):\n    a = x[0]\n    b = x[1]\n    o[0] = {expression}\n    o[1] = a * b\n"
            ),
            &[0.7, 0.9],
        );
    }
}

#[test]
fn gradients_of_vector_functions_match_differences() {
    for expression in [
        "wp.dot(v, w)",
        "wp.length(v)",
        "wp.normalize(v)[1] * w[0]",
        "wp.cross(v, w)[2]",
        "wp.length(wp.quat_rotate(wp.quat_from_axis_angle(v, w[0]), w) + v)",
        "wp.determinant(wp.outer(v, w) + wp.diag(v))",
        "wp.trace(wp.inverse(wp.skew(v) + wp.diag(w)))",
        "wp.quat_to_matrix(wp.normalize(wp.quat(v[0], v[1], v[2], w[0])))[0, 1]",
        "wp.quat_from_matrix(wp.quat_to_matrix(wp.normalize(wp.quat(v[0], v[1], v[2], w[0]))))[0]",
        "wp.quat_slerp(wp.normalize(wp.quat(v[0], v[1], v[2], w[0])), wp.quat_rpy(w[0], w[1], w[2]), 0.3)[1]",
        "wp.transform_point(wp.transform(v, wp.quat_rpy(w[0], w[1], w[2])), w)[0]",
        "wp.length(wp.transform_get_translation(wp.transform_inverse(wp.transform(v, wp.quat_rpy(w[0], w[1], w[2])))))",
    ] {
        check_gradient(
            &format!(
                "@wp.kernel\ndef k(x: wp.array(dtype=float), o: wp.array(dtype=float)):\n    v = wp.vec3(x[0], x[1], x[2])\n    w = wp.vec3(x[3], x[4], x[5])\n    o[0] = {expression}\n"
            ),
            &[0.7, 0.9, -0.4, 0.3, 0.8, 0.5],
        );
    }
}

#[test]
fn gradients_flow_through_functions_loops_and_early_returns() {
    check_gradient(
        "@wp.func
def f(a: float, b: float):
    if a > 0.8:
        return a * a * b
    return wp.sin(a) + b

@wp.func
def two(a: float, b: float):
    return a * b, a + b

@wp.struct
class Pair:
    p: wp.vec3
    q: float

@wp.kernel
def k(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    s = float(0.0)
    for j in range(4):
        s = s + f(x[j], x[0])
    o[0] = s
    u, v = two(x[1], x[2])
    o[1] = u * 2.0 + v
    t = Pair()
    t.p = wp.vec3(x[0], x[1], x[2])
    t.q = x[3]
    o[2] = wp.length(t.p) * t.q
    if x[0] > 100.0:
        return
    o[3] = x[3] * x[3]
",
        &[0.7, 0.9, -0.4, 0.3],
    );
}

const REFERENCE: &str = "
import warp as wp

@wp.func
def grow(x: wp.ref[wp.float32]):
    x += 1.0

@wp.kernel(enable_backward=False)
def references(x: wp.array(dtype=float)):
    grow(x[0])
";

#[test]
fn what_only_the_text_knows_is_refused_by_name() {
    let source = include_str!("../kernels/native.py");
    let module = compile(source, &Default::default()).expect("the kernel compiles");
    let findings = Interpreter::forward(&module).map(|_| ());
    let findings = findings.expect_err("only the text knows it");
    assert_eq!(findings[0].code, "K103");
    let message = &findings[0].message;
    assert!(message.contains("`func_native` (`next_one`)"), "{message}");
}

#[test]
fn a_function_writes_through_a_reference() {
    let mut arguments = [floats(&[1.0, 2.0])];
    let outcome = run(REFERENCE, &[1], &mut arguments);
    assert!(outcome.findings.is_empty());
    assert_eq!(values(&arguments[0]), [2.0, 2.0]);
}

#[test]
fn an_array_that_is_given_twice_is_one_memory() {
    let mut arguments = [
        with_gradient(&[1.0, 2.0], &[1.0, 1.0]),
        Argument::Same(0),
        Argument::float(3.0),
    ];
    let outcome = run(SAXPY, &[2], &mut arguments);
    assert!(outcome.findings.is_empty());
    assert_eq!(values(&arguments[0]), [4.0, 8.0]);
    back(SAXPY, &[2], &mut arguments);
    assert_eq!(gradient(&arguments[0]).len(), 2);
    let module = compile(SAXPY, &Default::default()).expect("the kernel compiles");
    let interpreter = Interpreter::forward(&module).expect("the kernel is planned");
    let mut missing = [floats(&[1.0]), Argument::Same(1), Argument::float(3.0)];
    assert!(interpreter.run(&[1], &mut missing).is_err());
}

const NEIGHBOURS: &str = "
import warp as wp

@wp.kernel
def neighbours(grid: wp.uint64, x: wp.array(dtype=wp.vec3), sums: wp.array(dtype=float)):
    i = wp.hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in wp.hash_grid_query(grid, x[i], 1.0):
        total += x[j][0]
    sums[i] = total
";

#[test]
fn a_kernel_goes_through_the_points_of_a_hash_grid() {
    let module = compile(NEIGHBOURS, &Default::default()).expect("the kernel compiles");
    let points = [[0.5, 0.5, 0.5], [1.0, 0.5, 0.5], [6.5, 0.5, 0.5]];
    let grid = Object::HashGrid(HashGrid::new([8, 8, 8], 1.0, &points));
    let objects = Objects::from([(7, Arc::new(grid))]);
    let mut positions = ArrayArgument::from_f32(points.as_flattened());
    positions.shape = vec![3];
    let mut arguments = [
        Argument::int(7),
        Argument::Array(positions),
        floats(&[0.0; 3]),
    ];
    let interpreter = Interpreter::forward(&module).expect("the kernel is planned");
    let interpreter = interpreter.with_objects(objects);
    let outcome = interpreter.run(&[3], &mut arguments).expect("they fit");
    assert!(outcome.findings.is_empty());
    assert_eq!(values(&arguments[2]), [1.5, 1.5, 6.5]);
    arguments[0] = Argument::int(8);
    let outcome = interpreter.run(&[3], &mut arguments).expect("they fit");
    assert_eq!(outcome.findings[0].code, "K101");
}

const TILES: &str = "
import warp as wp

@wp.func
def bend(x: float, y: float):
    return x * x * y

@wp.kernel
def tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.tile_load(x, shape=4, offset=i * 4)
    b = wp.tile_map(bend, a, 3.0)
    s = wp.tile_sum(b)
    c = b * s[0]
    for k in range(2 + wp.tid()):
        c += a
    wp.tile_store(y, c, offset=i * 4)
";

#[test]
fn a_tile_is_a_threads_own_and_its_gradient_goes_back_through_it() {
    // With b = 3 x² and s their sum, thread 0 stores b s + 2 x. Thread 1 stores b s + 3 x, over three elements
    // and one outside the array.
    let x = [1.0, 2.0, 0.5, 1.5, 1.0, -1.0, 2.0];
    let times = |i: usize| if i < 4 { 2.0 } else { 3.0 };
    let b = |i: usize| 3.0 * x[i] * x[i];
    let sum = |i: usize| if i < 4 { 0..4 } else { 4..7 }.map(b).sum::<f32>();
    let mut arguments = [floats(&x), floats(&[0.0; 7])];
    let outcome = run(TILES, &[2], &mut arguments);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    for (i, y) in values(&arguments[1]).into_iter().enumerate() {
        assert!(
            (y - b(i) * sum(i) - times(i) * x[i]).abs() < 1e-3,
            "{i}: {y}"
        );
    }
    let mut arguments = [
        with_gradient(&x, &[0.0; 7]),
        with_gradient(&[0.0; 7], &[1.0; 7]),
    ];
    assert!(back(TILES, &[2], &mut arguments).findings.is_empty());
    // All b s together are the square of the sum.
    for (i, found) in gradient(&arguments[0]).into_iter().enumerate() {
        let slope = 2.0 * sum(i) * 6.0 * x[i] + times(i);
        assert!((found - slope).abs() < 1e-2, "{i}: {found}");
    }
    // A store takes the gradient of what it overwrites.
    assert_eq!(gradient(&arguments[1]), [0.0; 7]);
}

#[test]
fn what_threads_scatter_into_a_tile_is_added_or_stored_where_there_is_something() {
    let source = "
import warp as wp

@wp.kernel
def scatter(x: wp.array(dtype=float), n: wp.array(dtype=float), o: wp.array(dtype=float)):
    i, j = wp.tid()
    t = wp.tile_zeros(shape=4, dtype=float)
    at = int(n[i])
    wp.tile_scatter_add(t, at, x[i], x[i] < 3.0)
    wp.tile_scatter_add(t, i=at, value=x[i] * x[i], has_value=True, atomic=False)
    wp.tile_scatter_masked(t, 3, 5.0 * x[i], i == 1)
    t[at] *= 2.0
    wp.tile_store(o, t, offset=i * 4)
";
    let weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let mut arguments = [
        with_gradient(&[2.0, 3.0], &[0.0; 2]),
        with_gradient(&[1.0, 3.0], &[0.0; 2]),
        with_gradient(&[0.0; 8], &weights),
    ];
    assert!(run(source, &[2, 1], &mut arguments).findings.is_empty());
    assert_eq!(
        values(&arguments[2]),
        [0.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0, 30.0]
    );
    assert!(back(source, &[2, 1], &mut arguments).findings.is_empty());
    assert_eq!(gradient(&arguments[0]), [20.0, 80.0]);
    // A place outside the tile is no place.
    let mut arguments = [floats(&[2.0, 3.0]), floats(&[1.0, 4.0]), floats(&[0.0; 8])];
    assert!(!run(source, &[2, 1], &mut arguments).findings.is_empty());
}

#[test]
fn a_tile_of_random_numbers_has_those_of_warps_cpu() {
    let source = "
import warp as wp

@wp.kernel
def draws(o: wp.array(dtype=float)):
    i, j = wp.tid()
    rng = wp.rand_init(42, i)
    wp.tile_store(o, wp.tile_randf(shape=3, rng=rng))
    wp.tile_store(o, wp.tile_randf(shape=3, rng=rng, min=1.0, max=2.5), offset=3)
    a = wp.tile_randi(shape=3, rng=rng)
    b = wp.tile_randi(shape=3, rng=rng, min=-3, max=10)
    wp.tile_store(o, wp.tile_astype(a, dtype=float), offset=6)
    wp.tile_store(o, wp.tile_astype(b, dtype=float), offset=9)
";
    let mut arguments = [floats(&[0.0; 12])];
    assert!(run(source, &[1, 1], &mut arguments).findings.is_empty());
    let warp = [
        0.185_914_7,
        0.729_618_55,
        0.960_425_85,
        1.278_872,
        2.094_427_8,
        2.440_638_8,
        798_497_746_i32 as f32,
        -1_161_279_442_i32 as f32,
        -169_969_590_i32 as f32,
        4.0,
        8.0,
        8.0,
    ];
    assert_eq!(values(&arguments[0]), warp);
}

#[test]
fn a_sum_of_tiles_of_structs_leaves_fields_without_an_atomic_sum() {
    let source = "import warp as wp\n\n@wp.struct\nclass Mark:\n    flag: wp.bool\n    small: wp.int8\n    \
        value: wp.float32\n\n@wp.kernel(enable_backward=False)\n\
        def add(x: wp.array(dtype=Mark), y: wp.array(dtype=Mark)):\n    \
        wp.tile_atomic_add(y, wp.tile_load(x, shape=2))\n";
    let marks = |marks: [(u8, u8, f32); 2]| {
        let bytes = marks.map(|(flag, small, value)| {
            let mut bytes = vec![flag, small, 0, 0];
            bytes.extend(value.to_le_bytes());
            bytes
        });
        Argument::Array(ArrayArgument {
            shape: vec![2],
            data: bytes.concat(),
            gradient: None,
        })
    };
    let mut arguments = [
        marks([(1, 5, 2.5), (0, 7, -1.0)]),
        marks([(1, 3, 10.0), (1, 4, 20.0)]),
    ];
    let outcome = run(source, &[1], &mut arguments);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(arguments[1], marks([(1, 3, 12.5), (1, 4, 19.0)]));
}

#[test]
fn a_product_of_tiles_scales_what_was_there_before() {
    let source = "
import warp as wp

@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    s = wp.tile_load(c, shape=(2, 2))
    x = wp.tile_load(a, shape=(2, 2))
    wp.tile_matmul(x, wp.tile_transpose(wp.tile_load(b, shape=(2, 2))), s, alpha=2.0, beta=3.0)
    wp.tile_store(c, s)
";
    let matrix = |values: &[f32], gradient: &[f32]| {
        let mut array = ArrayArgument::from_f32(values).with_gradient_f32(gradient);
        array.shape = vec![2, 2];
        Argument::Array(array)
    };
    let zero = [0.0; 4];
    let (a, b, c) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 2.0, 1.0], [1.0; 4]);
    let mut arguments = [
        matrix(&a, &zero),
        matrix(&b, &zero),
        matrix(&c, &[1.0, 0.0, 0.0, 0.0]),
    ];
    assert!(run(source, &[1], &mut arguments).findings.is_empty());
    assert_eq!(values(&arguments[2]), [5.0, 11.0, 9.0, 23.0]);
    assert!(back(source, &[1], &mut arguments).findings.is_empty());
    assert_eq!(gradient(&arguments[0]), [2.0, 0.0, 0.0, 0.0]);
    assert_eq!(gradient(&arguments[1]), [2.0, 4.0, 0.0, 0.0]);
    assert_eq!(gradient(&arguments[2]), [3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_gradient_may_be_asked_of_a_function() {
    let source = "
import warp as wp

@wp.func
def inner(x: float):
    if x > 2.0:
        return 5.0 * x
    return x * x

@wp.func
def outer(x: float):
    return 3.0 * inner(x)

@wp.kernel(enable_backward=False)
def slopes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.grad(outer)(x[i])
";
    let mut arguments = [floats(&[1.0, 2.0, 4.0]), floats(&[0.0; 3])];
    assert!(run(source, &[3], &mut arguments).findings.is_empty());
    assert_eq!(values(&arguments[1]), [6.0, 12.0, 15.0]);
}

#[test]
fn a_gradient_has_a_value_for_each_parameter_and_each_result_counts() {
    let source = "
import warp as wp
from typing import Any

@wp.func
def both(x: float, n: int, y: Any):
    return x * y, y * float(n)

@wp.func
def turned(f: wp.Function, x: float):
    return f(x) * x

@wp.kernel(enable_backward=False)
def slopes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a, n, b = wp.grad(both)(x[i], 3, 2.0)
    y[0] = a
    y[1] = float(n)
    y[2] = b
    slope = wp.grad(turned)
    y[3] = slope(wp.sqrt, x[i])
    c, d = wp.grad(wp.mul)(x[i], x[i])
    y[4] = c + d
    e, f = wp.grad(wp.pow)(2.0, 2.0)
    y[5] = e
    y[6] = wp.grad(wp.sqrt)(x[i])
    axis = wp.grad(wp.quat_to_axis_angle)(wp.quat(0.0, 0.0, 0.6, 0.8))
    y[7] = axis[3]
    g = wp.grad(wp.svd3)(wp.diag(wp.vec3(3.0, 2.0, 1.0)))
    y[8] = g[0, 0]
";
    let mut arguments = [floats(&[4.0]), floats(&[0.0; 9])];
    assert!(run(source, &[1], &mut arguments).findings.is_empty());
    let seen = values(&arguments[1]);
    // Warp's own numbers on a CPU.
    let expected = [2.0, 0.0, 7.0, 3.0, 8.0, 4.0, 0.25, -1.2, 1.0];
    for (value, expected) in seen.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-5, "{seen:?}");
    }
}

#[test]
fn a_value_that_is_only_carried_along_needs_not_be_there() {
    // Behind the branch, `n` is joined and carried round the loop; only the branch uses it.
    let source = "
import warp as wp

@wp.kernel
def carried(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(int(x[i])):
        if k > 1:
            n = float(k * 2)
            y[i] = y[i] + n
";
    let mut arguments = [floats(&[1.0, 4.0]), floats(&[0.0; 2])];
    let outcome = run(source, &[2], &mut arguments);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(values(&arguments[1]), [0.0, 10.0]);
    let used = source.replace("            y[i] = y[i] + n", "        y[i] = y[i] + n");
    let outcome = run(&used, &[2], &mut [floats(&[1.0, 4.0]), floats(&[0.0; 2])]);
    assert_eq!(outcome.findings.len(), 1);
    assert_eq!(outcome.findings[0].code, "K102");
}

#[test]
fn a_slice_without_bounds_goes_to_the_ends() {
    let source = "
import warp as wp

@wp.kernel
def slices(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    even = x[::2]
    back = x[::-1]
    some = x[1:4]
    y[0] = float(even.shape[0])
    y[1] = even[2]
    y[2] = back[0]
    y[3] = back[4]
    y[4] = some[0] + 10.0 * some[2]
    y[5] = float(x[3:].shape[0])
    wp.tile_store(y[7::2], wp.tile_load(x[::2], shape=3))
";
    let mut arguments = [floats(&[1.0, 2.0, 3.0, 4.0, 5.0]), floats(&[0.0; 12])];
    let outcome = run(source, &[1], &mut arguments);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    let expected = [3.0, 5.0, 5.0, 1.0, 42.0, 2.0, 0.0, 1.0, 0.0, 3.0, 0.0, 5.0];
    assert_eq!(values(&arguments[1]), expected);
}

#[test]
fn elements_of_a_broadcast_tile_share_their_gradient() {
    let source = "
import warp as wp

@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    row = wp.tile_load(x, shape=(1, 2))
    all = wp.tile_zeros(shape=(3, 2), dtype=float)
    wp.tile_assign(all, wp.tile_broadcast(row, shape=(3, 2)))
    wp.tile_store(y, all)
    wp.tile_store(y, wp.tile_broadcast(row, shape=(3, 2)), offset=(3, 0))
";
    let matrix = |rows: usize, gradient: &[f32]| {
        let array = ArrayArgument::from_f32(&vec![1.0; rows * 2]);
        let mut array = array.with_gradient_f32(gradient);
        array.shape = vec![rows, 2];
        Argument::Array(array)
    };
    let given: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let mut arguments = [matrix(1, &[0.0; 2]), matrix(6, &given)];
    assert!(back(source, &[1], &mut arguments).findings.is_empty());
    assert_eq!(gradient(&arguments[0]), [30.0, 36.0]);
}

#[test]
fn a_launch_that_takes_too_long_is_stopped() {
    let source = "
import warp as wp

@wp.kernel
def waits(x: wp.array(dtype=float)):
    i = wp.tid()
    while x[i] < 1.0:
        x[i] = x[i] * 0.5
";
    let module = compile(source, &Default::default()).expect("the kernel compiles");
    let interpreter = Interpreter::forward(&module).expect("the kernel is planned");
    let interpreter = interpreter.with_time_limit(std::time::Duration::from_millis(20));
    for native in [false, true] {
        let mut arguments = [floats(&[0.0; 200])];
        let outcome = match native {
            true => interpreter.run_native(&[200], &mut arguments),
            false => interpreter.run(&[200], &mut arguments),
        };
        let outcome = outcome.expect("the arguments fit");
        assert!(outcome.out_of_time);
        let finding = &outcome.findings[0];
        assert_eq!(finding.code, "K107");
        assert_eq!(
            finding.message,
            "the kernel did not end within the time limit"
        );
        let line = finding.span.as_ref().map(|span| span.line);
        // On a busy machine the time is over before the loop.
        assert!(matches!(line, Some(5..=8)), "{line:?}");
    }
}
