//! Wrong kernels are found, right ones are not accused.

use warpsmith_case::judge;

use crate::folder::{Folder, verify};

/// A kernel, its reference, its arguments, its launch.
struct Kernel {
    name: &'static str,
    body: &'static str,
    reference: &'static str,
    case: &'static str,
    /// A text of the body, and what a mutant has instead.
    mutants: &'static [(&'static str, &'static str)],
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "softmax",
        body: "def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), cols: int):\n    \
               r = wp.tid()\n    m = float(-1.0e38)\n    for c in range(cols):\n        m = wp.max(m, x[r, c])\n    \
               s = float(0.0)\n    for c in range(cols):\n        s = s + wp.exp(x[r, c] - m)\n    \
               for c in range(cols):\n        y[r, c] = wp.exp(x[r, c] - m) / s\n",
        reference: "import numpy as np\ndef softmax(x):\n    e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)\n",
        case: "[sizes]\nrows = [5, 40]\ncols = [64, 300]\nA x in rows,cols\nA y out rows,cols\nV cols i32 cols\nD rows",
        mutants: &[
            (
                "    for c in range(cols):\n        m =",
                "    for c in range(cols - 1):\n        m =",
            ),
            ("m = wp.max(m, x[r, c])", "m = 0.0"),
            (
                "    for c in range(cols):\n        s =",
                "    for c in range(1, cols):\n        s =",
            ),
            (
                "    for c in range(cols):\n        y",
                "    for c in range(cols / 4 * 4):\n        y",
            ),
            ("/ s", "/ (s + 1.0e-3)"),
            (
                "y[r, c] = wp.exp(x[r, c] - m) / s",
                "y[r, c] = float(wp.float16(wp.exp(x[r, c] - m) / s))",
            ),
            (
                "y[r, c] = wp.exp(x[r, c] - m) / s",
                "y[r, c] = wp.exp(x[r, c] - m)",
            ),
            ("s = s + wp.exp(x[r, c] - m)", "s = s + wp.exp(x[r, 0] - m)"),
        ],
    },
    Kernel {
        name: "transpose",
        body: "def transpose(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):\n    \
               i, j = wp.tid()\n    y[j, i] = x[i, j]\n",
        reference: "def transpose(x):\n    return x.T.copy()\n",
        case: "[sizes]\nn = [33, 128]\nm = [65, 100]\nA x in n,m\nA y out m,n\nD n,m",
        mutants: &[
            ("y[j, i] = x[i, j]", "if i > 0:\n        y[j, i] = x[i, j]"),
            (
                "y[j, i] = x[i, j]",
                "if j % 32 != 31:\n        y[j, i] = x[i, j]",
            ),
            ("y[j, i] = x[i, j]", "y[j, i] = x[i, 0]"),
            ("y[j, i] = x[i, j]", "y[j, i] = x[i, j] + 1.0e-5"),
            ("y[j, i] = x[i, j]", "y[i, j] = x[i, j]"),
            ("y[j, i] = x[i, j]", "y[j, i] = x[i, j]\n    x[i, j] = 0.0"),
        ],
    },
    Kernel {
        name: "rowsum",
        body: "def rowsum(x: wp.array2d(dtype=float), y: wp.array(dtype=float), cols: int):\n    \
               r = wp.tid()\n    s = float(0.0)\n    for c in range(cols):\n        s = s + x[r, c]\n    y[r] = s\n",
        reference: "def rowsum(x):\n    return x.sum(axis=1)\n",
        case: "[sizes]\nrows = [16]\ncols = [100, 3000]\nA x in rows,cols\nA y out rows\nV cols i32 cols\nD rows",
        mutants: &[
            ("range(cols)", "range(cols - 1)"),
            ("range(cols)", "range(1, cols)"),
            ("range(cols)", "range(cols / 32 * 32)"),
            ("s = s + x[r, c]", "s = s + float(wp.float16(x[r, c]))"),
            ("y[r] = s", "y[r] = y[r] + s"),
            ("y[r] = s", "y[0] = s"),
            ("x[r, c]\n", "x[c, r]\n"),
        ],
    },
    Kernel {
        name: "layernorm",
        body: "def layernorm(x: wp.array2d(dtype=float), w: wp.array(dtype=float), y: wp.array2d(dtype=float), cols: int):\n    \
               r = wp.tid()\n    m = float(0.0)\n    for c in range(cols):\n        m = m + x[r, c]\n    m = m / float(cols)\n    \
               v = float(0.0)\n    for c in range(cols):\n        d = x[r, c] - m\n        v = v + d * d\n    \
               k = 1.0 / wp.sqrt(v / float(cols) + 1.0e-5)\n    for c in range(cols):\n        y[r, c] = (x[r, c] - m) * k * w[c]\n",
        reference: "import numpy as np\ndef layernorm(x, w):\n    m = x.mean(axis=1, keepdims=True)\n    v = ((x - m) ** 2).mean(axis=1, keepdims=True)\n    return (x - m) / np.sqrt(v + 1e-5) * w\n",
        case: "[sizes]\nrows = [8]\ncols = [64, 250]\nA x in rows,cols\nA w in cols\nA y out rows,cols\nV cols i32 cols\nD rows",
        mutants: &[
            ("m = m / float(cols)", "m = m / float(cols + 1)"),
            ("+ 1.0e-5)", ")"),
            ("+ 1.0e-5)", "+ 1.0e-3)"),
            ("d = x[r, c] - m", "d = x[r, c]"),
            ("* w[c]", ""),
            ("* w[c]", "* w[0]"),
            ("y[r, c] = (x", "if c < 128:\n            y[r, c] = (x"),
        ],
    },
    Kernel {
        name: "stencil",
        body: "def stencil(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):\n    \
               i = wp.tid()\n    l = wp.max(i - 1, 0)\n    r = wp.min(i + 1, n - 1)\n    y[i] = 0.25 * x[l] + 0.5 * x[i] + 0.25 * x[r]\n",
        reference: "import numpy as np\ndef stencil(x):\n    p = np.concatenate([x[:1], x, x[-1:]])\n    return 0.25 * p[:-2] + 0.5 * p[1:-1] + 0.25 * p[2:]\n",
        case: "[sizes]\nn = [1000, 4096]\nA x in n\nA y out n\nV n i32 n\nD n",
        mutants: &[
            ("wp.max(i - 1, 0)", "wp.max(i - 1, 1)"),
            ("wp.max(i - 1, 0)", "i - 1"),
            ("n - 1)", "n)"),
            ("n - 1)", "n - 2)"),
            ("0.25 * x[r]", "0.25 * x[l]"),
            ("    y[i] =", "    if i < n - 1:\n        y[i] ="),
            ("y[i] = 0.25", "x[i] = 0.25"),
            ("0.5 * x[i]", "0.5 * float(wp.float16(x[i]))"),
        ],
    },
    Kernel {
        name: "histogram",
        body: "def histogram(x: wp.array(dtype=wp.int32), h: wp.array(dtype=wp.int32)):\n    \
               i = wp.tid()\n    wp.atomic_add(h, x[i], 1)\n",
        reference: "import numpy as np\ndef histogram(x, h):\n    return h + np.bincount(x, minlength=100)[:100]\n",
        case: "[sizes]\nn = [1000, 5000]\nI x in n\nI h inout 100\nD n",
        mutants: &[
            ("wp.atomic_add(h, x[i], 1)", "h[x[i]] = h[x[i]] + 1"),
            ("x[i], 1)", "x[i], 2)"),
            ("x[i], 1)", "x[i] + 1, 1)"),
            ("    wp.atomic", "    if i % 64 != 63:\n        wp.atomic"),
        ],
    },
];

/// Writes the case from its short form: `A name direction dims` is an array of f32, `I` of i32, `V` a
/// number, `D` the threads.
fn case_text(kernel: &Kernel) -> String {
    let mut text = format!(
        "source = \"{0}.py\"\nreference = \"{0}_reference.py:{0}\"\n",
        kernel.name
    );
    let mut launch = String::new();
    for line in kernel.case.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let dims = |list: &str| format!("{:?}", list.split(',').collect::<Vec<_>>());
        match words[..] {
            [kind @ ("A" | "I"), name, direction, list] => {
                let ty = if kind == "A" { "f32" } else { "i32" };
                text.push_str(&format!(
                    "[[arguments]]\nname = \"{name}\"\ndirection = \"{direction}\"\ntype = \"{ty}\"\nshape = {}\n",
                    dims(list)
                ));
            }
            ["V", name, ty, value] => text.push_str(&format!(
                "[[arguments]]\nname = \"{name}\"\ntype = \"{ty}\"\nvalue = \"{value}\"\n"
            )),
            ["D", list] => launch = format!("[launch]\ndim = {}\n", dims(list)),
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text + &launch
}

/// What is found in a kernel with this body: nothing, or the first finding.
fn found(kernel: &Kernel, body: &str, seed: u64, inputs: usize) -> Option<String> {
    let source = format!("import warp as wp\n\n@wp.kernel\n{body}");
    let (name, reference) = (
        format!("{}.py", kernel.name),
        format!("{}_reference.py", kernel.name),
    );
    let toml = case_text(kernel);
    let folder = Folder::new(&[
        (&name, &source),
        (&reference, kernel.reference),
        ("case.toml", &toml),
    ]);
    let verification = verify(&folder.case("case.toml"), seed, inputs)
        .unwrap_or_else(|error| panic!("{}: {error}\n{body}", kernel.name));
    judge(kernel.name, &verification)
        .first()
        .map(ToString::to_string)
}

pub(crate) fn every_mutant_is_found() {
    let (mut total, mut missed) = (0, Vec::new());
    for kernel in KERNELS {
        for (from, to) in kernel.mutants {
            let body = kernel.body.replacen(from, to, 1);
            assert_ne!(body, kernel.body, "{}: {from}", kernel.name);
            total += 1;
            if found(kernel, &body, 11, 3).is_none() {
                missed.push(format!("{}: {to}", kernel.name));
            }
        }
    }
    assert!(total >= 40, "{total}");
    assert!(
        missed.is_empty(),
        "{} of {total} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

pub(crate) fn no_right_kernel_is_accused() {
    for kernel in KERNELS {
        for seed in [1, 2, 3] {
            let finding = found(kernel, kernel.body, seed, 3);
            assert_eq!(finding, None, "{}", kernel.name);
        }
    }
}
