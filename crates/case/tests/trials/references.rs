//! References that are right, and every way in which one can fail.

use warpsmith_case::{Verdict, judge};

use crate::folder::{Folder, from_x_to_y, verify};

pub(crate) const SCALE: &str = "import warp as wp\n\n@wp.kernel\n\
    def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):\n    \
    i = wp.tid()\n    y[i] = a * x[i] + 1.0\n";

const CASE: &str = concat!(
    r#"source = "scale.py"
reference = { function = "reference.py:scale", seconds = 20, memory = "2G" }
[sizes]
n = [100]
"#,
    from_x_to_y!(),
    r#"[[arguments]]
name = "a"
type = "f32"
value = 2.5
[launch]
dim = "n"
"#
);

fn with(reference: &str) -> Result<warpsmith_case::Verification, String> {
    let folder = Folder::new(&[
        ("scale.py", SCALE),
        ("reference.py", reference),
        ("scale.toml", CASE),
    ]);
    verify(&folder.case("scale.toml"), 1, 2)
}

pub(crate) fn a_numpy_function_in_float64_is_the_truth() {
    let found = with("def scale(x, a):\n    return a * x + 1\n").unwrap();
    assert!(found.checks.len() > 10 && found.compared);
    assert!(
        judge("scale", &found).is_empty(),
        "{:?}",
        judge("scale", &found)
    );
    let Verdict::Right {
        outputs,
        varies: false,
    } = &found.checks.last().unwrap().verdict
    else {
        panic!();
    };
    // One rounding more than NumPy, which rounds twice as well.
    let ratio = outputs[0].error_over_plain.unwrap();
    assert!((0.2..5.0).contains(&ratio), "{ratio}");
}

/// Sums of equal terms, which round the same way each time: what a plain loop loses is no mistake, and more is.
pub(crate) fn equal_terms_may_add_up_their_rounding() {
    let kernel = |scale: &str| {
        format!(
            "import warp as wp\n\n@wp.kernel\n\
            def totals(x: wp.array2d(dtype=float), y: wp.array(dtype=float), n: int):\n    \
            i = wp.tid()\n    s = float(0.0)\n    for j in range(n):\n        \
            s += wp.clamp(x[i, j], 0.0, 0.1)\n    y[i] = s * {scale}\n"
        )
    };
    let reference = "import numpy as np\n\n\
        def totals(x):\n    return np.sum(np.clip(x, 0.0, 0.1), axis=1)\n";
    let case = r#"source = "totals.py"
reference = "reference.py:totals"
[sizes]
m = [7]
n = [20000]
[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = ["m", "n"]
fill = { uniform = [1.0, 2.0] }
[[arguments]]
name = "y"
direction = "out"
type = "f32"
shape = ["m"]
[[arguments]]
name = "n"
type = "i32"
value = "n"
[launch]
dim = ["m"]
"#;
    let told = |scale: &str| {
        let folder = Folder::new(&[
            ("totals.py", &kernel(scale)),
            ("reference.py", reference),
            ("totals.toml", case),
        ]);
        judge(
            "totals",
            &verify(&folder.case("totals.toml"), 1, 2).unwrap(),
        )
    };
    let right = told("1.0");
    assert!(right.is_empty(), "{right:?}");
    assert!(!told("1.003").is_empty());
}

/// Products of which nearly all are clipped, off by what the rounding of many terms may amount to.
pub(crate) fn clipped_results_leave_the_others_their_rounding() {
    let kernel = "import warp as wp\n\n@wp.kernel\n\
        def scores(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), \
        y: wp.array2d(dtype=float), k: int):\n    \
        i, j = wp.tid()\n    f = float(1.0)\n    if k > 200:\n        f = 1.0000036\n    \
        s = float(0.0)\n    for l in range(k):\n        s += a[i, l] * b[j, l] * f\n    \
        y[i, j] = wp.clamp(s - float(wp.abs(i - j)), 0.0, 1.0)\n";
    let reference = "import numpy as np\n\n\
        def scores(a, b):\n    \
        i, j = np.arange(a.shape[0])[:, None], np.arange(b.shape[0])[None, :]\n    \
        return np.clip(a @ b.T - np.abs(i - j).astype(a.dtype), 0.0, 1.0)\n";
    let case = r#"source = "scores.py"
reference = "reference.py:scores"
[sizes]
m = [150]
n = [160]
k = [300]
[[arguments]]
name = "a"
direction = "in"
type = "f32"
shape = ["m", "k"]
[[arguments]]
name = "b"
direction = "in"
type = "f32"
shape = ["n", "k"]
[[arguments]]
name = "y"
direction = "out"
type = "f32"
shape = ["m", "n"]
[[arguments]]
name = "k"
type = "i32"
value = "k"
[launch]
dim = ["m", "n"]
"#;
    let folder = Folder::new(&[
        ("scores.py", kernel),
        ("reference.py", reference),
        ("scores.toml", case),
    ]);
    let found = verify(&folder.case("scores.toml"), 1, 2).unwrap();
    assert!(found.compared);
    let told = judge("scores", &found);
    assert!(told.is_empty(), "{told:?}");
}

/// A hundred elements of one array to another: the kernel's line, and the function's.
fn of_one_array(line: &str, function: &str) -> warpsmith_case::Verification {
    let kernel = format!(
        "import warp as wp\n\n@wp.kernel\n\
        def f(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
        i = wp.tid()\n    v = x[i]\n    y[i] = {line}\n"
    );
    let reference = format!("import numpy as np\n\ndef f(x):\n    return {function}\n");
    let case = concat!(
        r#"source = "f.py"
reference = "reference.py:f"
[sizes]
n = [100]
"#,
        from_x_to_y!(),
        r#"[launch]
dim = "n"
"#
    );
    let folder = Folder::new(&[
        ("f.py", &kernel),
        ("reference.py", &reference),
        ("f.toml", case),
    ]);
    verify(&folder.case("f.toml"), 1, 1).unwrap()
}

pub(crate) fn a_zero_may_be_what_a_fused_product_leaves() {
    // A fused multiply-add leaves the rounding of one of two equal products.
    let fused = of_one_array("1.0e-8", "1.5 * x - 1.5 * x");
    assert!(judge("f", &fused).is_empty(), "{:?}", judge("f", &fused));
    let wrong = of_one_array("1.0e-5", "1.5 * x - 1.5 * x");
    assert!(!judge("f", &wrong).is_empty());
}

pub(crate) fn a_wrong_kernel_shows_element_values_and_pattern() {
    let found =
        with("def scale(x, a):\n    y = a * x + 1\n    y[-1:] = 7\n    return y\n").unwrap();
    let findings = judge("scale", &found);
    assert_eq!(findings[0].code, "C001");
    let text = findings[0].to_string();
    assert!(
        text.contains("expected 7.0") && text.contains("the last element alone"),
        "{text}"
    );
}

/// A reference that fails in some way, and what is then said.
pub(crate) fn a_reference_that_fails_is_an_error_with_its_place() {
    for (reference, said) in [
        (
            "def scale(x, a):\n    raise ValueError('no luck')\n",
            "reference.py:2: `scale` raised ValueError: no luck",
        ),
        (
            "def other(x):\n    return x\n",
            "reference.py:scale`: there is no such function; the file has other",
        ),
        (
            "def scale(x, a:\n",
            "reference.py:1: `scale` raised SyntaxError",
        ),
        (
            "def scale(x, b):\n    return x\n",
            "it takes `b`, which is no input, dimension or number of the case; there are x, a, n",
        ),
        (
            "def scale(x):\n    return x[:-1] if x.size > 1 else x[:0]\n",
            "`y` has the shape",
        ),
        ("def scale(x):\n    return 'text'\n", "numbers expected"),
        ("def scale(x):\n    print('y' * 10)\n", "it returns nothing"),
        (
            "import os\ndef scale(x):\n    os._exit(3)\n",
            "reference.py:scale` ended: exit status: 3",
        ),
        (
            "def scale(x):\n    print('z' * 3000000)\n    raise KeyError('k')\n",
            "`scale` raised KeyError",
        ),
    ] {
        let error = with(reference).unwrap_err();
        assert!(error.contains(said), "{reference}\n{error}");
        assert!(error.len() < 40_000);
    }
}

pub(crate) fn time_and_memory_are_limited() {
    let limited = |seconds: &str| {
        CASE.replace("seconds = 20", &format!("seconds = {seconds}"))
            .replace("\"2G\"", "\"600M\"")
    };
    for (seconds, reference, said) in [
        (
            "2.0",
            "def scale(x):\n    while True: pass\n",
            "did not answer within 2 s",
        ),
        (
            "60",
            "import numpy\nkept = []\ndef scale(x):\n    while True: kept.append(numpy.ones(1 << 22))\n",
            "took more than 600 MiB",
        ),
    ] {
        let folder = Folder::new(&[
            ("scale.py", SCALE),
            ("reference.py", reference),
            ("scale.toml", &limited(seconds)),
        ]);
        let error = verify(&folder.case("scale.toml"), 1, 1).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

pub(crate) fn another_kernel_is_a_reference_and_needs_no_python() {
    let wrong = SCALE.replace("+ 1.0", "+ 1.25");
    let case = CASE.replace(
        "reference = { function = \"reference.py:scale\", seconds = 20, memory = \"2G\" }",
        "reference = { kernel = \"other.py:scale\" }",
    );
    let same = Folder::new(&[
        ("scale.py", SCALE),
        ("other.py", SCALE),
        ("scale.toml", &case),
    ]);
    let found = verify(&same.case("scale.toml"), 5, 1).unwrap();
    assert!(judge("scale", &found).is_empty());
    let other = Folder::new(&[
        ("scale.py", SCALE),
        ("other.py", &wrong),
        ("scale.toml", &case),
    ]);
    let found = verify(&other.case("scale.toml"), 5, 1).unwrap();
    assert_eq!(judge("scale", &found)[0].code, "C001");
}

pub(crate) fn stored_answers_are_compared_at_their_own_size() {
    let npy = |values: &[f32]| {
        let mut bytes = Vec::new();
        warpsmith_formats::npy::write_f32(&mut bytes, &[values.len()], values).unwrap();
        bytes
    };
    let case = CASE
        .replace(
            "reference = { function = \"reference.py:scale\", seconds = 20, memory = \"2G\" }",
            "tails = false\nreference = { npy = { y = \"y.npy\" } }",
        )
        .replace("n = [100]", "n = [3]")
        .replacen(
            "shape = \"n\"",
            "shape = \"n\"\nfill = { npy = \"x.npy\" }",
            1,
        );
    let folder = Folder::new(&[("scale.py", SCALE), ("scale.toml", &case)]);
    std::fs::write(folder.path("x.npy"), npy(&[1.0, 2.0, 3.0])).unwrap();
    std::fs::write(folder.path("y.npy"), npy(&[3.5, 6.0, 8.5])).unwrap();
    let found = verify(&folder.case("scale.toml"), 5, 1).unwrap();
    assert!(judge("scale", &found).is_empty());
    std::fs::write(folder.path("y.npy"), npy(&[3.5, 6.5, 8.5])).unwrap();
    let found = verify(&folder.case("scale.toml"), 5, 1).unwrap();
    let text = judge("scale", &found)[0].to_string();
    assert!(text.contains("first at [n=1]: 6.0, expected 6.5"), "{text}");
}

pub(crate) fn a_case_that_contradicts_its_kernel_is_refused() {
    for (from, to, said) in [
        (
            "type = \"f32\"\nvalue",
            "type = \"i32\"\nvalue",
            "`a` is a number of type i32",
        ),
        (
            "shape = \"n\"\n[[arguments]]\nname = \"y\"",
            "shape = [\"n\", 2]\n[[arguments]]\nname = \"y\"",
            "`x` is an array of f32 with 2 dimensions",
        ),
    ] {
        let case = CASE
            .replacen(from, to, 1)
            .replace("value = 2.5", "value = 2");
        let case = case.replace(
            "reference = { function = \"reference.py:scale\", seconds = 20, memory = \"2G\" }\n",
            "",
        );
        let folder = Folder::new(&[("scale.py", SCALE), ("scale.toml", &case)]);
        let error = verify(&folder.case("scale.toml"), 1, 1).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

pub(crate) fn what_an_output_held_before_is_told_without_a_reference() {
    let case = CASE.replace(
        "reference = { function = \"reference.py:scale\", seconds = 20, memory = \"2G\" }\n",
        "",
    );
    let codes = |kernel: &str, rounds: usize| -> Vec<String> {
        let folder = Folder::new(&[("scale.py", kernel), ("scale.toml", &case)]);
        let found = verify(&folder.case("scale.toml"), 3, rounds).unwrap();
        let findings = judge("scale", &found);
        findings.iter().map(|one| one.code.to_string()).collect()
    };
    assert_eq!(codes(SCALE, 2), ["C010"]);
    for wrong in [
        "y[i] = y[i] + a * x[i]",
        "y[i] = wp.max(y[i], a * x[i])",
        "if i % 7 != 3:\n        y[i] = a * x[i]",
    ] {
        let kernel = SCALE.replace("y[i] = a * x[i] + 1.0", wrong);
        assert_eq!(codes(&kernel, 1), ["C002", "C010"], "{wrong}");
    }
    // A minimum shows in the second round, where what was there is the smallest number.
    let least = SCALE.replace("y[i] = a * x[i] + 1.0", "y[i] = wp.min(y[i], a * x[i])");
    assert_eq!(codes(&least, 2), ["C002", "C010"]);
}

/// A kernel of vectors and matrices, and what NumPy says of it.
pub(crate) const PUSH: &str = "import warp as wp\n\n\n@wp.kernel\n\
    def push(x: wp.array(dtype=wp.vec3), turn: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3),\n         \
    g: wp.vec3, dt: float):\n    \
    i = wp.tid()\n    v[i] = turn[i] * x[i] + g * dt\n";

pub(crate) const PUSH_CASE: &str = r#"source = "push.py"
reference = "reference.py:push"
[sizes]
n = [10, 300]
[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = ["n", 3]
[[arguments]]
name = "turn"
direction = "in"
type = "f32"
shape = ["n", 3, 3]
[[arguments]]
name = "v"
direction = "out"
type = "f32"
shape = ["n", 3]
[[arguments]]
name = "g"
type = "f32"
value = [0.0, -9.81, 0.5]
[[arguments]]
name = "dt"
type = "f32"
value = 0.25
[launch]
dim = "n"
"#;

pub(crate) fn vectors_and_matrices_have_a_truth_too() {
    let found = |g: &str, case: &str| {
        let reference = format!(
            "import numpy as np\n\ndef push(x, turn, g, dt):\n    \
             assert isinstance(g, np.ndarray) and g.dtype == x.dtype\n    \
             return np.einsum('nij,nj->ni', turn, x) + {g} * dt\n"
        );
        let files = [
            ("push.py", PUSH),
            ("reference.py", &reference),
            ("push.toml", case),
        ];
        verify(&Folder::new(&files).case("push.toml"), 1, 2)
    };
    let right = found("g", PUSH_CASE).unwrap();
    assert!(right.compared && right.checks.len() > 4);
    let findings = judge("push", &right);
    assert!(findings.is_empty(), "{findings:?}");
    let wrong = found("g[::-1]", PUSH_CASE).unwrap();
    assert!(!judge("push", &wrong).is_empty());
    for (from, to, problem) in [
        (
            "[\"n\", 3, 3]",
            "[\"n\", 9]",
            "`turn` is an array of f32 with 2 dimensions",
        ),
        (
            "[0.0, -9.81, 0.5]",
            "[0.0, 1.0]",
            "`g` is 2 numbers of type f32",
        ),
        ("[0.0, -9.81, 0.5]", "1.0", "`g` is a number of type f32"),
    ] {
        let error = found("g", &PUSH_CASE.replace(from, to)).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}
