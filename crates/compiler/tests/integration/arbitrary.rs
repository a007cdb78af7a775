//! The front end on arbitrary input: no panic, no hang, bounded memory.

use proptest::prelude::*;
use warpsmith_compiler::{Options, compile, emit_cpu, emit_cuda, ir};

fn survives(text: &str) {
    if let Ok(module) = compile(text, &Options::default()) {
        assert_eq!(ir::verify(&module), []);
        emit_cuda(&module);
        emit_cpu(&module);
    }
}

/// Programs made by a small grammar: mostly well-formed, seldom well-typed.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x[i]".to_owned()),
        Just("i".to_owned()),
        Just("a".to_owned()),
        Just("v".to_owned()),
        Just("m".to_owned()),
        Just("v.x".to_owned()),
        Just("m[1, 0]".to_owned()),
        Just("wp.pi".to_owned()),
        Just("True".to_owned()),
        (0..40_i32).prop_map(|n| n.to_string()),
        (0..9_i32).prop_map(|n| format!("{n}.5")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(&["+", "-", "*", "/", "%", "**", "//", "<<", "&"]),
                inner.clone()
            )
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (
                inner.clone(),
                prop::sample::select(&["<", "<=", "==", "!="]),
                inner.clone()
            )
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (
                prop::sample::select(&[
                    "wp.sin",
                    "wp.abs",
                    "float",
                    "int",
                    "wp.float64",
                    "wp.normalize",
                    "-",
                    "not "
                ]),
                inner.clone()
            )
                .prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("wp.vec3({a}, {b}, {c})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
        ]
    })
}

fn statement() -> impl Strategy<Value = Vec<String>> {
    let simple = prop_oneof![
        expression().prop_map(|e| vec![format!("a = {e}")]),
        expression().prop_map(|e| vec![format!("b = {e}")]),
        expression().prop_map(|e| vec![format!("x[i] = {e}")]),
        expression().prop_map(|e| vec![format!("x[i] += {e}")]),
        expression().prop_map(|e| vec![format!("v[1] = {e}")]),
        expression().prop_map(|e| vec![format!("v.z *= {e}")]),
        Just(vec!["return".to_owned()]),
        Just(vec!["break".to_owned()]),
        Just(vec!["continue".to_owned()]),
    ];
    simple.prop_recursive(3, 16, 3, |inner| {
        let block = prop::collection::vec(inner, 1..4).prop_map(|stmts| {
            stmts
                .into_iter()
                .flatten()
                .map(|line| format!("    {line}"))
                .collect::<Vec<_>>()
        });
        prop_oneof![
            (expression(), block.clone())
                .prop_map(|(e, body)| { [vec![format!("if {e}:")], body].concat() }),
            (expression(), block.clone(), block.clone()).prop_map(|(e, a, b)| {
                [vec![format!("if {e}:")], a, vec!["else:".to_owned()], b].concat()
            }),
            (0..30_u32, block.clone())
                .prop_map(|(n, body)| { [vec![format!("for k in range({n}):")], body].concat() }),
            block
                .clone()
                .prop_map(|body| [vec!["for k in range(i):".to_owned()], body].concat()),
            (expression(), block)
                .prop_map(|(e, body)| [vec![format!("while {e}:")], body].concat()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_refused_or_compiled(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_text_in_a_kernel_is_refused_or_compiled(body in "[ -~\n]{0,120}") {
        survives(&format!("import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    {body}\n"));
    }

    #[test]
    fn grammar_made_programs_are_refused_or_compiled(
        body in prop::collection::vec(statement(), 1..8),
    ) {
        let mut text = String::from(
            "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float), s: float):\n    \
             i = wp.tid()\n    a = float(1.0)\n    v = wp.vec3(s)\n    m = wp.mat22(s)\n",
        );
        for line in body.into_iter().flatten() {
            text.push_str(&format!("    {line}\n"));
        }
        survives(&text);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("x = {}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("x = {}1", "-".repeat(5000)),
        format!("x = 1{}", " + 1".repeat(900)),
        format!("x = a{}", ".b".repeat(3000)),
        format!("x = a{}", "[0]".repeat(900)),
        format!("x = {}1", "not ".repeat(900)),
        (0..200)
            .map(|depth| format!("{}if x:\n", " ".repeat(depth)))
            .collect::<String>()
            + &" ".repeat(200)
            + "pass",
    ] {
        survives(&text);
        let kernel = format!(
            "import warp as wp\n@wp.kernel\ndef k(a: int):\n    {}\n",
            text.replace('\n', "\n    ")
        );
        assert!(compile(&kernel, &Options::default()).is_err());
    }
}

#[test]
fn nested_unrolling_is_bounded() {
    let mut text =
        String::from("import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n");
    for depth in 0..8 {
        text.push_str(&format!(
            "{}for i{depth} in range(16):\n",
            "    ".repeat(depth + 1)
        ));
    }
    text.push_str(&format!("{}x[i0] = float(i7)\n", "    ".repeat(9)));
    let findings = compile(&text, &Options::default())
        .err()
        .unwrap_or_default();
    assert_eq!(
        findings.first().map(|finding| finding.code.as_str()),
        Some("K022")
    );
}
