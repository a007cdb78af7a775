//! Kernels on the Vulkan device that is here, against the interpreter; lavapipe will do.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::{Options, compile};
use warpsmith_device::{VulkanDevice, vulkan_messages};
use warpsmith_execution::{
    Closeness, FUSED_MULTIPLY_ADD, VulkanParity, VulkanProgram, verify_on_vulkan,
};
use warpsmith_interpreter::{Argument, ArrayArgument, Borrowed, Interpreter, Plan};

use crate::kernel_files;

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn trials(missing: bool) -> Vec<Trial> {
    let trial = |name: &str, run: fn(&VulkanDevice) -> Result<(), Failed>| {
        Trial::test(name, move || {
            let device = VulkanDevice::open(0)?;
            run(&device)?;
            assert_eq!(device.ledger().stats().live, 0, "all memory was returned");
            let heard = vulkan_messages().unwrap_or_default();
            assert!(heard.is_empty(), "the validation layer says {}", heard[0]);
            Ok(())
        })
        .with_ignored_flag(missing)
    };
    vec![
        trial("kernels agree with the interpreter", kernels_agree),
        trial("an index out of range is a finding", outside),
        trial("a loop without end is a finding", endless),
        trial("what threads print comes out in thread order", printing),
        trial(
            "what the print buffer does not take is counted",
            too_much_printing,
        ),
        trial("functions are right to their last places", functions),
        trial("bits survive every operation", bits),
        trial("small numbers survive every width", small_numbers),
        trial("wide remainders are exact", wide_remainders),
        trial("a fused multiply-add is rounded once", fused),
        trial("products of matrices are rounded once", matrices),
        trial("functions of the library agree", library_functions),
        trial("slices, tiles and indexed arrays agree", slices_and_tiles),
        trial("arrays of the host are worked on where they lie", in_place),
    ]
}

/// Forward and backward over arrays that are taken, that are too small, and that begin where none may.
fn in_place(device: &VulkanDevice) -> Result<(), Failed> {
    const COUNT: usize = 70_000;
    let source = "import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] + y[i]
";
    let module = compile(source, &Options::default()).map_err(|found| found[0].to_string())?;
    let staged = VulkanDevice::open_staged(0)?;
    for (adjoint, count, skipped) in [
        (false, COUNT, 4),
        (true, COUNT, 4),
        (false, COUNT - 1, 1),
        (true, 100, 4),
    ] {
        let plan = Plan::new(&module, adjoint).map_err(|found| found[0].to_string())?;
        let plan = Arc::new(plan);
        let interpreter = || Interpreter::of(&module, Arc::clone(&plan));
        let made = |seed: usize| -> Vec<f32> {
            let value = |n: usize| ((n * 37 + seed) % 101) as f32 / 7.0;
            (0..skipped + count).map(value).collect()
        };
        let mut arrays = [made(1), made(2), made(3), made(4)];
        let mut expected: Vec<Argument> = [0, 2]
            .map(|n| {
                let array = ArrayArgument::from_f32(&arrays[n][skipped..]);
                Argument::Array(array.with_gradient_f32(&arrays[n + 1][skipped..]))
            })
            .into();
        let on = |device: &VulkanDevice, arguments: &[Argument<Borrowed>]| {
            let program = VulkanProgram::build(device, &module, interpreter())?;
            // SAFETY: the arrays live until the end of the round, and nobody else uses them.
            unsafe { program.run_in_place(&[count], arguments, LIMIT) }
        };
        for device in [device, &staged] {
            let [x, x_gradient, y, y_gradient] = arrays.each_mut().map(|values| Borrowed {
                address: values[skipped..].as_mut_ptr().cast(),
                bytes: 4 * count,
            });
            let argument = |data, gradient| {
                Argument::Array(ArrayArgument {
                    shape: vec![count],
                    data,
                    gradient: Some(gradient),
                })
            };
            let ran = on(device, &[argument(x, x_gradient), argument(y, y_gradient)])?;
            assert!(ran.findings.is_empty(), "{:?}", ran.findings);
            interpreter().run(&[count], &mut expected)?;
            for (n, wanted) in expected.iter().enumerate() {
                let Argument::Array(wanted) = wanted else {
                    return Err("an array became something else".into());
                };
                assert!(arrays[2 * n][skipped..] == wanted.to_f32());
                assert!(arrays[2 * n + 1][skipped..] == wanted.gradient_to_f32());
            }
        }
        // Nothing before the arrays was touched.
        assert_eq!(
            arrays.map(|values| values[0]),
            [1, 2, 3, 4].map(|seed| seed as f32 / 7.0)
        );
    }
    Ok(())
}

/// Bodies with slices that go backwards, arrays that are reached through indices, and whole tiles.
const SLICES_AND_TILES: [&str; 18] = [
    "def k(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    wp.dense_gemm(3, 4, 2, 0, 1, a, b, c)
",
    "def k(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    wp.dense_gemm(4, 3, 5, 1, 0, a, b, c)
",
    "def k(a: wp.array(dtype=float), b: wp.array(dtype=float), l: wp.array(dtype=float), x: wp.array(dtype=float)):
    for i in range(4):
        a[i * 5] = wp.abs(a[i * 5])
    wp.dense_chol(4, a, 16.0, l)
    wp.dense_subs(4, l, b, x)
",
    "def k(a: wp.array(dtype=float), l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):
    wp.dense_solve(4, a, l, b, x)
",
    "def k(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    a = x[3:1:-1]
    b = x[::-2]
    c = x[:-3:-1]
    y[0] = a.shape[0] + 10 * b.shape[0] + 100 * c.shape[0]
    y[1] = a[1] + b[2] + c[0]
",
    "def k(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, step: int):
    i = wp.tid()
    s = float(0.0)
    for j in reversed(range(i, n, step)):
        s = s + x[j] * float(j)
    y[i] = s
",
    "def k(x: wp.array(dtype=int), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wide = wp.int64(x[i] - 8)
    if wide > wp.int64(0):
        y[i] = wide * wide
    else:
        y[i] = wp.int64(0) - wide / wp.int64(3)
",
    "def k(x: wp.indexedarray(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = x[i] * float(x.shape[0])
    x[i] = y[i] + x[i]
",
    "def k(x: wp.indexedarray(dtype=float, ndim=2), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = x[i, j]
    wp.atomic_add(x, i, j, 1.0)
",
    "def k(x: wp.indexedfabricarrayarray(dtype=wp.float32), f: wp.fabricarray(dtype=wp.float32), y: wp.array(dtype=float)):
    i = wp.tid()
    row = x[i]
    for j in range(row.shape[0]):
        y[i] = y[i] + row[j] * f[i]
",
    "def k(x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    a = x[i]
    y[i] = wp.untile(wp.tile(a, preserve_type=True))
",
    "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=5, offset=i * 5)
    wp.tile_store(y, t + t, offset=i * 5)
",
    "def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    t = wp.tile_load(x, shape=(4, 3), offset=(2, 1))
    v = wp.tile_view(wp.tile_transpose(t), offset=(1, 0), shape=(2, 4))
    wp.tile_store(y, v)
",
    "def k(x: wp.array(dtype=float), z: wp.array(dtype=int), y: wp.array(dtype=float), w: wp.array(dtype=int)):
    keys = wp.tile_load(x, shape=11)
    values = wp.tile_load(z, shape=11)
    wp.tile_sort(keys, values)
    wp.tile_store(y, keys)
    wp.tile_store(w, values)
",
    "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i)
    wp.tile_atomic_add(y, t, offset=2)
",
    "def k(x: wp.array2d(dtype=float), z: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    a = wp.tile_load(x, shape=(4, 3))
    b = wp.tile_load(z, shape=(3, 5))
    c = wp.tile_zeros(shape=(4, 5), dtype=float)
    wp.tile_matmul(a, b, c)
    wp.tile_store(y, c)
",
    "def k(x: wp.array2d(dtype=wp.float64), z: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    a = wp.tile_load(x, shape=(4, 4))
    s = wp.tile_matmul(wp.tile_transpose(a), a)
    d = wp.tile_ones(shape=4, dtype=wp.float64)
    l = wp.tile_cholesky(wp.tile_diag_add(s, d))
    b = wp.tile_load(z, shape=4)
    wp.tile_store(y, wp.tile_cholesky_solve(l, b))
",
    "def k(x: wp.array2d(dtype=wp.float64), z: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    l = wp.tile_cholesky(wp.tile_load(x, shape=(2, 2)))
    wp.tile_store(y, wp.tile_lower_solve(l, wp.tile_load(z, shape=2)))
",
];

fn slices_and_tiles(device: &VulkanDevice) -> Result<(), Failed> {
    for body in SLICES_AND_TILES {
        let module = compiled(body)?;
        let parity = verify_on_vulkan(device, &module, 8, 7);
        assert!(
            matches!(parity, VulkanParity::Agrees { .. }),
            "{body}{parity:?}"
        );
    }
    Ok(())
}

/// Remainders of `float64`, of every exponent.
fn wide_remainders(device: &VulkanDevice) -> Result<(), Failed> {
    let module = compiled(
        "def k(x: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):\n    i = wp.tid()\n    y[i] = wp.mod(x[i], z[i])\n",
    )?;
    let mut random = random_bits(3);
    let mut wide = || f64::from_bits(u64::from(random()) << 32 | u64::from(random()));
    let a: Vec<f64> = (0..5_000).map(|_| wide()).collect();
    // Of every third the quotient is small.
    let b: Vec<f64> = (0..5_000)
        .map(|n| if n % 3 == 0 { a[n] / 17.3 } else { wide() })
        .collect();
    let array = |values: &[f64]| {
        Argument::Array(ArrayArgument {
            shape: vec![values.len()],
            data: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            gradient: None,
        })
    };
    let mut arguments = [array(&a), array(&b), array(&vec![0.0; a.len()])];
    let findings = run(device, &module, &[a.len()], &mut arguments)?;
    assert!(findings.is_empty(), "{findings:?}");
    let Argument::Array(y) = &arguments[2] else {
        unreachable!()
    };
    for (n, word) in y.data.as_chunks::<8>().0.iter().enumerate() {
        let (actual, expected) = (f64::from_le_bytes(*word), a[n] % b[n]);
        let same = actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
        assert!(
            same,
            "{:e} % {:e} is {actual:e}, not {expected:e}",
            a[n], b[n]
        );
    }
    Ok(())
}

pub(crate) fn random_bits(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    }
}

fn fused(device: &VulkanDevice) -> Result<(), Failed> {
    let source = format!(
        "import warp as wp\n\n{FUSED_MULTIPLY_ADD}\n\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = fused(a[i], b[i], c[i])\n"
    );
    let module = compile(&source, &Options::default()).map_err(|found| found[0].to_string())?;
    let mut random = random_bits(11);
    let mut triple = |n: usize| {
        let (first, second, third) = (random(), random(), random());
        let any = f32::from_bits;
        // Products of 13 and 12 bits: every other one lies halfway between two float32.
        let short = |word: u32, bits: u32| (word >> (32 - bits) | 1) as f32;
        let (x, y) = (any(first), any(second));
        let (p, q) = (short(first, 13), short(second, 12));
        let nudge = [1.0, -1.0, 0.0][(third % 3) as usize] * 2_f32.powi(-40);
        match n % 6 {
            0 => (x, y, any(third)),
            1 => (x, y, -(x * y)),
            2 => (x, y, -(x * y) * (1.0 + f32::EPSILON)),
            3 => (x, y, x * y * f32::EPSILON),
            4 => (p, q, nudge),
            // The same among numbers that float32 keeps with fewer bits.
            _ => (
                p * 2_f32.powi(-75),
                q * 2_f32.powi(-70),
                nudge * 2_f32.powi(-109),
            ),
        }
    };
    let triples: Vec<_> = (0..60_000).map(&mut triple).collect();
    let a: Vec<f32> = triples.iter().map(|(a, _, _)| *a).collect();
    let b: Vec<f32> = triples.iter().map(|(_, b, _)| *b).collect();
    let c: Vec<f32> = triples.iter().map(|(_, _, c)| *c).collect();
    let array = |values: &[f32]| Argument::Array(ArrayArgument::from_f32(values));
    let mut arguments = [array(&a), array(&b), array(&c), array(&vec![0.0; a.len()])];
    let findings = run(device, &module, &[a.len()], &mut arguments)?;
    assert!(findings.is_empty(), "{findings:?}");
    let Argument::Array(y) = &arguments[3] else {
        unreachable!()
    };
    for (n, actual) in y.to_f32().into_iter().enumerate() {
        let expected = a[n].mul_add(b[n], c[n]);
        let same = actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
        let (a, b, c) = (a[n], b[n], c[n]);
        assert!(
            same,
            "{a:e} · {b:e} + {c:e} is {actual:e}, not {expected:e}"
        );
    }
    Ok(())
}

/// The sum of `c` and the product of `a` and `b` as the inner product of two matrices, of numbers for which it
/// matters that it is rounded once.
fn matrices(device: &VulkanDevice) -> Result<(), Failed> {
    const COUNT: usize = 40_000;
    for scalar in ["float32", "float64"] {
        let source = format!(
            "import warp as wp\n\nM = wp.types.matrix(shape=(2, 2), dtype=wp.{scalar})\n\n\n@wp.kernel\n\
            def k(a: wp.array(dtype=wp.{scalar}), b: wp.array(dtype=wp.{scalar}), c: wp.array(dtype=wp.{scalar}), y: wp.array(dtype=wp.{scalar})):\n    \
            i = wp.tid()\n    o = wp.{scalar}(1.0)\n    z = wp.{scalar}(0.0)\n    \
            y[i] = wp.ddot(M(c[i], a[i], z, z), M(o, b[i], z, z))\n"
        );
        let module = compile(&source, &Options::default()).map_err(|found| found[0].to_string())?;
        let wide = scalar == "float64";
        let mut random = random_bits(12);
        let mut column = || -> [Vec<u8>; 3] {
            let mut columns: [Vec<u8>; 3] = Default::default();
            for n in 0..COUNT {
                let [first, second, third] = [random(), random(), random()];
                // Half as many bits as a number has: every other product lies halfway between two numbers.
                let (p, q) = match wide {
                    true => (27, 27),
                    false => (13, 12),
                };
                let short = |word: u32, bits: u32| f64::from(word >> (32 - bits) | 1);
                let nudge = [1.0, -1.0, 0.0][(third % 3) as usize] * 2_f64.powi(-80);
                let scale = 2_f64.powi((third >> 8 & 63) as i32 - 32);
                let (x, y) = (short(first, p), -short(second, q) * scale);
                let z = match n % 4 {
                    0 => nudge,
                    1 => -(x * y) * (1.0 + 2_f64.powi(-22)),
                    2 => x * y * 2_f64.powi(-23) * f64::from(third >> 14),
                    _ => short(third, 20) * 2_f64.powi(-10),
                };
                for (column, number) in columns.iter_mut().zip([x, y, z]) {
                    match wide {
                        true => column.extend(number.to_le_bytes()),
                        false => column.extend((number as f32).to_le_bytes()),
                    }
                }
            }
            columns
        };
        let size = if wide { 8 } else { 4 };
        let [a, b, c] = column();
        let array = |data: Vec<u8>| {
            Argument::Array(ArrayArgument {
                shape: vec![COUNT],
                data,
                gradient: None,
            })
        };
        let mut expected = [array(a), array(b), array(c), array(vec![0; size * COUNT])];
        let mut arguments = expected.clone();
        let findings = run(device, &module, &[COUNT], &mut arguments)?;
        assert!(findings.is_empty(), "{findings:?}");
        let interpreter =
            Interpreter::forward(&module).map_err(|found| found[0].message.clone())?;
        interpreter.run(&[COUNT], &mut expected)?;
        let (Argument::Array(ours), Argument::Array(wanted)) = (&arguments[3], &expected[3]) else {
            unreachable!()
        };
        let pairs = ours.data.chunks(size).zip(wanted.data.chunks(size));
        let wrong = pairs.filter(|(x, y)| x != y).count();
        assert_eq!(wrong, 0, "{wrong} of {COUNT} {scalar} differ");
    }
    Ok(())
}

/// Noise, factorisations, random numbers and error functions, forward and backward.
fn library_functions(device: &VulkanDevice) -> Result<(), Failed> {
    let head = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=wp.vec4), m: wp.array(dtype=wp.mat33), y: wp.array(dtype=float)):\n    i = wp.tid()\n    s = wp.rand_init(7, i)\n";
    let kernels = [
        ("noise of 1", "    y[i] = wp.noise(s, x[i][0] * 3.0)\n"),
        (
            "noise of 2",
            "    y[i] = wp.noise(s, wp.vec2(x[i][0], x[i][1]) * 3.0)\n",
        ),
        (
            "noise of 3",
            "    y[i] = wp.noise(s, wp.vec3(x[i][0], x[i][1], x[i][2]) * 3.0)\n",
        ),
        ("noise of 4", "    y[i] = wp.noise(s, x[i] * 3.0)\n"),
        (
            "periodic noise of 3",
            "    y[i] = wp.pnoise(s, wp.vec3(x[i][0], x[i][1], x[i][2]) * 3.0, 3, 4, 5)\n",
        ),
        (
            "periodic noise of 1",
            "    y[i] = wp.pnoise(s, x[i][0] * 3.0, 2)\n",
        ),
        (
            "curl of 2",
            "    y[i] = wp.length(wp.curlnoise(s, wp.vec2(x[i][0], x[i][1])))\n",
        ),
        (
            "curl of 3",
            "    y[i] = wp.curlnoise(s, wp.vec3(x[i][0], x[i][1], x[i][2]), wp.uint32(3), 2.0, 0.5)[1]\n",
        ),
        (
            "curl of 4",
            "    y[i] = wp.curlnoise(s, x[i], wp.uint32(2), 2.0, 0.5)[0]\n",
        ),
        (
            "singular values",
            "    u = wp.mat33()\n    d = wp.vec3()\n    v = wp.mat33()\n    wp.svd3(m[i], u, d, v)\n    y[i] = d[0] + 2.0 * d[1] + 3.0 * d[2] + u[0, 1] * v[1, 2]\n",
        ),
        (
            "rotation and triangle",
            "    q = wp.mat33()\n    r = wp.mat33()\n    wp.qr3(m[i], q, r)\n    y[i] = q[0, 1] + r[0, 2] * r[1, 1]\n",
        ),
        (
            "eigenvalues",
            "    q = wp.mat33()\n    d = wp.vec3()\n    wp.eig3(m[i] + wp.transpose(m[i]), q, d)\n    y[i] = d[0] + 2.0 * d[1] + 3.0 * d[2]\n",
        ),
        (
            "error function",
            "    y[i] = wp.erf(x[i][0]) + wp.erf(x[i][1] * 3.0)\n",
        ),
        (
            "complement",
            "    y[i] = wp.erfc(x[i][0]) + wp.erfc(x[i][1] * 5.0)\n",
        ),
        (
            "inverses",
            "    y[i] = wp.erfinv(x[i][0] * 0.49) + wp.erfcinv(1.0 + x[i][1] * 0.49)\n",
        ),
        (
            "few",
            "    y[i] = float(wp.poisson(s, wp.abs(x[i][0]) * 4.0))\n",
        ),
        (
            "many",
            "    y[i] = float(wp.poisson(s, 10.0 + wp.abs(x[i][0]) * 40.0))\n",
        ),
    ];
    let mut wrong = String::new();
    for (name, body) in kernels {
        let module = match compile(&format!("{head}{body}"), &Options::default()) {
            Ok(module) => module,
            Err(findings) => {
                wrong.push_str(&format!("{name}: {}\n", findings[0]));
                continue;
            }
        };
        match verify_on_vulkan(device, &module, 16, 5) {
            VulkanParity::Agrees {
                forward,
                backward,
                backward_refused: None,
                ..
            } => eprintln!("{name}: {forward:?} forward, {backward:?} backward"),
            other => wrong.push_str(&format!("{name}: {other:?}\n")),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}

fn kernels_agree(device: &VulkanDevice) -> Result<(), Failed> {
    let (mut exact, mut close, mut refused, mut idle) = (0, 0, 0, 0);
    for path in kernel_files() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let source = std::fs::read_to_string(&path)?;
        let Ok(module) = compile(&source, &Options::default()) else {
            continue;
        };
        match verify_on_vulkan(device, &module, 8, 7) {
            VulkanParity::Agrees {
                forward: Closeness::Bits,
                backward: None | Some(Closeness::Bits),
                ..
            } => exact += 1,
            VulkanParity::Agrees { .. } => close += 1,
            VulkanParity::Refused { reason } => {
                eprintln!("{name}: {reason}");
                refused += 1;
            }
            VulkanParity::NotExecutable { .. } => idle += 1,
            wrong => return Err(format!("{name}: {wrong:?}").into()),
        }
    }
    eprintln!(
        "{exact} kernels agree bit for bit, {close} up to rounding; {refused} refused, {idle} not executable"
    );
    assert!(exact > refused, "most kernels run");
    Ok(())
}

fn program<'m>(
    device: &VulkanDevice,
    module: &'m warpsmith_compiler::ir::Module,
) -> Result<VulkanProgram<'m>, Failed> {
    let interpreter = Interpreter::forward(module).map_err(|findings| findings[0].to_string())?;
    Ok(VulkanProgram::build(device, module, interpreter)?)
}

/// What a launch finds.
fn run(
    device: &VulkanDevice,
    module: &warpsmith_compiler::ir::Module,
    dim: &[usize],
    arguments: &mut [Argument],
) -> Result<Vec<warpsmith_core::Finding>, Failed> {
    Ok(program(device, module)?
        .run(dim, arguments, LIMIT)?
        .findings)
}

pub(crate) fn compiled(body: &str) -> Result<warpsmith_compiler::ir::Module, Failed> {
    let source = format!("import warp as wp\n\n\n@wp.kernel\n{body}");
    Ok(compile(&source, &Options::default()).map_err(|findings| findings[0].to_string())?)
}

fn outside(device: &VulkanDevice) -> Result<(), Failed> {
    let module = compiled(
        "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i * 2] + 1.0\n",
    )?;
    let mut arguments = [
        Argument::Array(ArrayArgument::from_f32(&[1.0, 2.0, 3.0, 4.0])),
        Argument::Array(ArrayArgument::from_f32(&[0.0; 4])),
    ];
    let findings = run(device, &module, &[4], &mut arguments)?;
    let codes: Vec<&str> = findings.iter().map(|finding| &*finding.code).collect();
    assert_eq!(codes, ["K101"], "{findings:?}");
    let Argument::Array(y) = &arguments[1] else {
        unreachable!()
    };
    // The threads that stayed inside did their work, the others touched nothing.
    assert_eq!(y.to_f32(), [2.0, 4.0, 0.0, 0.0]);
    Ok(())
}

fn endless(device: &VulkanDevice) -> Result<(), Failed> {
    let module = compiled(
        "def k(x: wp.array(dtype=int)):\n    n = int(0)\n    while n < 10:\n        n = n * 1\n    x[0] = n\n",
    )?;
    let mut arguments = [Argument::Array(ArrayArgument {
        shape: vec![1],
        data: vec![0; 4],
        gradient: None,
    })];
    let findings = run(device, &module, &[1], &mut arguments)?;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(&*findings[0].code, "K107");
    Ok(())
}

/// Values of every width, in a branch and in a loop, as the interpreter prints them; threads that fail print
/// no more.
fn printing(device: &VulkanDevice) -> Result<(), Failed> {
    let module = compiled(
        "def k(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64), n: wp.int64):
    i = wp.tid()
    wp.printf(\"%d of %lld: %.3f and %e\", i, n, x[i], y[i])
    if i % 3 == 1:
        print(wp.vec2(x[i], x[i] * 2.0))
        print(i > 3)
    for j in range(i % 4):
        print(wp.float16(x[i]) * wp.float16(float(j)))
    print(x[i * 2])
    print(wp.uint64(wp.int64(-1)))
",
    )?;
    let (threads, inside) = (700, 350);
    let x: Vec<f32> = (0..threads).map(|i| 0.37 * i as f32 - 100.0).collect();
    let y: Vec<u8> = (x.iter())
        .flat_map(|x| (1.0 / f64::from(*x)).to_le_bytes())
        .collect();
    let given = [
        Argument::Array(ArrayArgument::from_f32(&x)),
        Argument::Array(ArrayArgument {
            shape: vec![threads],
            data: y,
            gradient: None,
        }),
        Argument::Value(vec![warpsmith_compiler::ir::Number::Int(1 << 40)]),
    ];
    let interpreter = Interpreter::forward(&module).map_err(|_| "it is planned")?;
    let expected = interpreter.run(&[threads], &mut given.clone())?;
    let ran = program(device, &module)?.run(&[threads], &mut given.clone(), LIMIT)?;
    let lines = ran.printed.lines.iter().zip(&expected.printed);
    for (n, (actual, expected)) in lines.enumerate() {
        assert_eq!(actual, expected, "line {n}");
    }
    assert_eq!(ran.printed.lines.len(), expected.printed.len());
    assert_eq!(ran.printed.lost, 0);
    assert_eq!(ran.findings.len(), 1, "threads from {inside} on fail");
    assert!(ran.printed.lines[0].starts_with("0 of 1099511627776: -100.000 and -1.0"));
    Ok(())
}

fn too_much_printing(device: &VulkanDevice) -> Result<(), Failed> {
    let module = compiled("def k():\n    for j in range(100):\n        print(wp.tid())\n")?;
    let threads = 2_000;
    let ran = program(device, &module)?.run(&[threads], &mut [], LIMIT)?;
    assert!(ran.findings.is_empty(), "{:?}", ran.findings);
    // A line takes an entry, the thread and a number of one word each; the buffer has three words in front.
    let room = (warpsmith_spirv::PrintBuffer::BYTES - 12) / 12;
    assert_eq!(ran.printed.lines.len(), room);
    assert_eq!(ran.printed.lost as usize, 100 * threads - room);
    assert!((ran.printed.lines).is_sorted_by_key(|line| line.parse::<usize>().ok()));
    Ok(())
}

/// The distance of two floats in units of the last place.
fn apart(a: f32, b: f32) -> u32 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    let order = |x: f32| {
        let bits = x.to_bits() as i32;
        i64::from(if bits < 0 { i32::MIN - bits } else { bits })
    };
    (order(a) - order(b)).unsigned_abs() as u32
}

fn run_both(
    device: &VulkanDevice,
    body: &str,
    inputs: &[Vec<f32>],
) -> Result<(Vec<f32>, Vec<f32>), Failed> {
    let module = compiled(body)?;
    let count = inputs[0].len();
    let mut given: Vec<Argument> = (inputs.iter())
        .map(|values| Argument::Array(ArrayArgument::from_f32(values)))
        .collect();
    given.push(Argument::Array(ArrayArgument::from_f32(&vec![0.0; count])));
    let mut expected = given.clone();
    let interpreter = Interpreter::forward(&module).map_err(|findings| findings[0].to_string())?;
    interpreter.run(&[count], &mut expected)?;
    let findings = run(device, &module, &[count], &mut given)?;
    assert!(findings.is_empty(), "{findings:?}");
    let last = |arguments: &[Argument]| match arguments.last() {
        Some(Argument::Array(array)) => array.to_f32(),
        _ => Vec::new(),
    };
    Ok((last(&given), last(&expected)))
}

/// A function of two numbers, in Python and in Rust.
type Pair<'a> = (&'a str, fn(f64, f64) -> f64);

/// The cosine or sine that an angle is asked of: noise beyond 1 is forgiven, and what is no number is -1.
fn forgiven(x: f64) -> f64 {
    if x.is_nan() { -1.0 } else { x.clamp(-1.0, 1.0) }
}

/// One function of Python and of Rust, and the numbers that it is tried on.
type Function<'a> = (&'a str, fn(f64) -> f64, &'a [f32]);

/// Within one unit in the last place of the true value: the interpreter's own, which is the system's, may be
/// further from it.
fn functions(device: &VulkanDevice) -> Result<(), Failed> {
    let wide: Vec<f32> = (0..4000).map(|n| (n as f32 - 2000.0) * 0.0437).collect();
    let unit: Vec<f32> = (0..4000).map(|n| (n as f32 - 2000.0) / 2000.0).collect();
    let positive: Vec<f32> = (0..4000)
        .map(|n| 1.3_f32.powi(n % 300 - 150) * (1.0 + n as f32 / 999.0))
        .collect();
    let odd = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1.0,
        1e-40,
    ];
    let cases: [Function<'_>; 15] = [
        ("sin", f64::sin, &wide),
        ("cos", f64::cos, &wide),
        ("tan", f64::tan, &wide),
        ("exp", f64::exp, &wide),
        ("sinh", f64::sinh, &wide),
        ("cosh", f64::cosh, &wide),
        ("tanh", f64::tanh, &wide),
        ("atan", f64::atan, &wide),
        ("cbrt", f64::cbrt, &wide),
        ("asin", |x| forgiven(x).asin(), &unit),
        ("acos", |x| forgiven(x).acos(), &unit),
        ("log", f64::ln, &positive),
        ("log2", f64::log2, &positive),
        ("log10", f64::log10, &positive),
        ("sqrt", f64::sqrt, &positive),
    ];
    for (name, function, inputs) in cases {
        let body = format!(
            "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.{name}(x[i])\n"
        );
        let inputs: Vec<f32> = inputs.iter().chain(&odd).copied().collect();
        let (actual, _) = run_both(device, &body, std::slice::from_ref(&inputs))?;
        for (a, x) in actual.iter().zip(&inputs) {
            let e = function(f64::from(*x)) as f32;
            assert!(apart(*a, e) <= 1, "{name}({x:e}) is {a:e}, expected {e:e}");
        }
    }
    let bases: Vec<f32> = wide.iter().chain(&odd).copied().collect();
    let powers: Vec<f32> = (0..bases.len())
        .map(|n| (n % 13) as f32 - 6.0 + (n % 2) as f32 * 0.5)
        .collect();
    let pairs: [Pair<'_>; 2] = [("pow", f64::powf), ("atan2", f64::atan2)];
    for (name, function) in pairs {
        let body = format!(
            "def k(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.{name}(x[i], z[i])\n"
        );
        let (actual, _) = run_both(device, &body, &[bases.clone(), powers.clone()])?;
        for (n, a) in actual.iter().enumerate() {
            let (x, z) = (bases[n], powers[n]);
            let e = function(f64::from(x), f64::from(z)) as f32;
            assert!(
                apart(*a, e) <= 1,
                "{name}({x:e}, {z:e}) is {a:e}, expected {e:e}"
            );
        }
    }
    Ok(())
}

/// Numbers around 2⁻¹²⁶ through operations that are made in `float64`, whose results are small too.
fn small_numbers(device: &VulkanDevice) -> Result<(), Failed> {
    let mut words = random_bits(23);
    // Two binades above the smallest normal number, and all below it, of either sign.
    let mut small = |n: usize| match n {
        0 => 0.0,
        1 => -0.0,
        2 => f32::from_bits(1),
        3 => f32::from_bits(0x007f_ffff),
        4 => f32::MIN_POSITIVE,
        _ => f32::from_bits(words() & 0x81ff_ffff),
    };
    let x: Vec<f32> = (0..4096).map(&mut small).collect();
    let z: Vec<f32> = (0..4096)
        .map(|n| [0.5, -3.0, 2.0, 1.0, 7.25][n % 5])
        .collect();
    agree_bit_for_bit(
        device,
        &[
            "x[i] / z[i]",
            "z[i] / x[i]",
            "wp.sqrt(wp.abs(x[i]))",
            "wp.mod(x[i], x[0] + 1e-39)",
            "float(wp.float64(x[i]))",
            // Halfway between two of the small ones, and a little beside.
            "float(wp.float64(x[i]) * wp.float64(0.5))",
            "float(wp.float64(x[i]) * wp.float64(0.125))",
            "float(wp.float64(x[i]) * wp.float64(0.4999999999999999))",
            "float(wp.float64(x[i]) * wp.float64(1e-300))",
            "float(wp.float64(x[i]) * wp.float64(1e38)) + z[i]",
            "wp.min(x[i], x[4095 - i])",
            "wp.max(x[i], x[4095 - i])",
            "wp.where(x[i] < x[4095 - i], 1.0, 2.0)",
            "wp.where(x[i] >= x[4095 - i], 1.0, 2.0)",
            "wp.where(x[i] == x[4095 - i], 1.0, 2.0)",
            "wp.where(x[i] != x[(i + 5) % 4096], 1.0, 2.0)",
            "wp.where(x[i] > 0.0, 1.0, 2.0)",
            "wp.where(bool(x[i]), 1.0, 2.0)",
            "wp.sign(x[i])",
            "wp.floor(x[i])",
            "wp.ceil(x[i])",
            "wp.rint(x[i])",
            "wp.frac(x[i])",
            "wp.abs(x[i]) * z[i]",
            "wp.floordiv(x[i], z[i])",
        ],
        &[x, z],
    )
}

/// Every operation that IEEE 754 rounds, on numbers of every exponent, subnormal ones too.
fn bits(device: &VulkanDevice) -> Result<(), Failed> {
    let mut words = random_bits(1);
    let mut random = || f32::from_bits(words());
    let a: Vec<f32> = (0..20_000).map(|_| random()).collect();
    let b: Vec<f32> = (0..20_000)
        .map(|n| if n % 3 == 0 { a[n] * 1.000_1 } else { random() })
        .collect();
    let forms = [
        "x[i] + z[i]",
        "x[i] - z[i]",
        "x[i] * z[i]",
        "x[i] / z[i]",
        "x[i] / 0.0",
        "x[i] / (-0.0)",
        "wp.floordiv(x[i], 0.0)",
        "0.0 / 0.0",
        "0.0 / x[i]",
        "0.0 * (x[i] * z[i])",
        "(x[i] * 0.0) + 0.0",
        "0.0 - 0.0 * x[i]",
        "(x[i] + z[i]) - x[i]",
        "x[i] * z[i] + x[i]",
        "wp.sqrt(wp.abs(x[i]))",
        "wp.min(x[i], z[i])",
        "wp.max(x[i], z[i])",
        "wp.floor(x[i])",
        "wp.round(x[i])",
        "wp.rint(x[i])",
        "wp.trunc(x[i])",
        "wp.frac(x[i])",
        "float(wp.float16(x[i]) * wp.float16(z[i]))",
        "float(int(x[i]))",
        "float(wp.uint8(x[i]))",
        "wp.mod(x[i], z[i])",
        "wp.floordiv(x[i], z[i])",
        "float(wp.int64(x[i]))",
    ];
    agree_bit_for_bit(device, &forms, &[a, b])
}

/// Compares expressions of `x[i]` and `z[i]` with the interpreter.
fn agree_bit_for_bit(
    device: &VulkanDevice,
    forms: &[&str],
    inputs: &[Vec<f32>; 2],
) -> Result<(), Failed> {
    let [a, b] = inputs;
    for form in forms {
        let body = format!(
            "def k(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = {form}\n"
        );
        let (actual, expected) = run_both(device, &body, inputs)?;
        let wrong = (0..a.len()).find(|&n| {
            actual[n].to_bits() != expected[n].to_bits()
                && !(actual[n].is_nan() && expected[n].is_nan())
        });
        if let Some(n) = wrong {
            let message = format!(
                "{form} of {:e}, {:e} is {:e}, expected {:e}",
                a[n], b[n], actual[n], expected[n]
            );
            return Err(message.into());
        }
    }
    Ok(())
}
