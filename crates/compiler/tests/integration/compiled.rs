//! Projects on the disk: packages with compiled modules, and modules that several files share.

use std::fs;
use std::path::Path;

use warpsmith_compiler::{Compiler, Folder, Options, Roots, emit_cuda};

const HEADER: &str = "
#ifndef ENGINE_H
#define ENGINE_H
#define engTINY 1E-15  // as a float
typedef enum engKind_ { engSPHERE = 4, engBOX } engKind;
#endif
";

const KERNELS: &str = "
import enum
import engine
import warp as wp

TINY = engine.engTINY

class Kind(enum.IntEnum):
    BOX = engine.engKind.engBOX
    BOTH = engine.engKind.engBOX | engine.engKind.engSPHERE

@wp.kernel
def fine(x: wp.array(dtype=float), k: wp.array(dtype=int)):
    if k[0] == Kind.BOX:
        x[0] = TINY
    k[1] = wp.static(int(engine.engKind.engSPHERE))

@wp.kernel
def member(k: wp.array(dtype=int)):
    k[0] = engine.engKind.engBOX
";

/// What becomes of each kernel of a project that imports a package with a compiled module.
fn each(package: &[(&str, &str)]) -> Vec<Result<String, String>> {
    each_of(KERNELS, package)
}

fn each_of(kernels: &str, package: &[(&str, &str)]) -> Vec<Result<String, String>> {
    let root = tempfile::tempdir().unwrap();
    let own = [("kernels.py", kernels)];
    let files = package.iter().chain(&own);
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(path, text).unwrap();
    }
    let folder = Folder::of(&root.path().join("kernels.py"), None);
    let mut all = Vec::new();
    Compiler::new()
        .compile_each(
            kernels,
            &Options::default(),
            Some(&folder.place()),
            &mut |_, compiled| {
                let fate = compiled.map(emit_cuda);
                all.push(fate.map_err(|findings| findings[0].message.clone()));
            },
        )
        .unwrap();
    all
}

#[test]
fn constants_of_compiled_modules_come_from_the_headers_of_their_package() {
    let all = each(&[
        ("engine/__init__.py", "from engine._core import *\n"),
        ("engine/_core.cpython-311-x86_64-linux-gnu.so", "\u{7f}ELF"),
        ("engine/include/engine/engine.h", HEADER),
    ]);
    let fine = all[0].as_ref().unwrap();
    for line in [
        "const wp::int32 var_2 = 5;",
        "const wp::float32 var_5 = 1e-15;",
        "// k[1] = wp.static(int(engine.engKind.engSPHERE))",
        "= 4;",
    ] {
        assert!(fine.contains(line), "{line}\n{fine}");
    }
    let member = all[1].as_ref().unwrap_err();
    assert!(
        member.starts_with("a member of an enumeration of compiled code"),
        "{member}"
    );
}

#[test]
fn without_headers_nothing_is_known_of_a_compiled_module() {
    let all = each(&[
        ("engine/__init__.py", "from engine._core import *\n"),
        ("engine/_core.so", "\u{7f}ELF"),
    ]);
    assert!(all.iter().all(Result::is_err), "{all:?}");
}

#[test]
fn a_library_of_very_many_headers_is_left_alone() {
    let names: Vec<String> = (0..300)
        .map(|at| format!("engine/include/h{at}.h"))
        .collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), HEADER)).collect();
    files.push(("engine/__init__.py", "from engine._core import *\n"));
    files.push(("engine/_core.so", "\u{7f}ELF"));
    assert!(each(&files).iter().all(Result::is_err));
}

#[test]
fn a_package_of_very_many_modules_hides_no_other() {
    let imports: String = (0..200).map(|at| format!("import big.m{at}\n")).collect();
    let names: Vec<String> = (0..200).map(|at| format!("big/m{at}.py")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    files.extend([
        ("big/__init__.py", imports.as_str()),
        ("engine/__init__.py", "from engine.near import *\n"),
        ("engine/near.py", "from engine.far import *\n"),
        (
            "engine/far.py",
            "engTINY = 1e-15\nclass engKind:\n    engSPHERE = 4\n    engBOX = 5\n",
        ),
    ]);
    let kernels = KERNELS.replace("import engine\n", "import big\nimport engine\n");
    let all = each_of(&kernels, &files);
    assert!(all[0].is_ok(), "{all:?}");
}

#[test]
fn files_that_share_modules_give_what_each_gives_alone() {
    const UNITS: &str = "
import warp as wp
SCALE = wp.constant(2.5)
@wp.func
def scaled(x: float):
    return SCALE * x
@wp.func
def wrong(x: float):
    return x.nothing
";
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("units.py"), UNITS).unwrap();
    fs::write(root.path().join("broken.py"), "def (:\n").unwrap();
    let file = |more: &str, function: &str| {
        format!(
            "import warp as wp\nimport broken\n{more}from units import {function}\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = {function}(x[1])\n"
        )
    };
    let texts = [
        file("", "scaled"),
        file("import math\n\n\nTAU = 2.0 * math.pi\n", "scaled"),
        file("\n", "wrong"),
    ];
    let roots = Roots::default();
    let mut compiler = Compiler::new();
    for (at, text) in texts.iter().enumerate() {
        let path = root.path().join(format!("file{at}.py"));
        let mut fate = |folder: &Folder| {
            let place = folder.place();
            let compiled = compiler.compile_in(text, &Options::default(), Some(&place));
            compiled.map(|module| emit_cuda(&module))
        };
        let shared = fate(&Folder::within(&roots, &path, None));
        assert_eq!(shared, fate(&Folder::of(&path, None)));
        match shared {
            Ok(text) => assert!(text.contains("units.py:"), "{text}"),
            Err(findings) => {
                let span = findings[0].span.as_ref().unwrap();
                assert!(span.file.ends_with("units.py"), "{}", span.file);
                assert_eq!(span.line, 9);
            }
        }
    }
}

#[test]
fn a_file_knows_its_place_in_a_package_however_its_path_is_written() {
    let folder = Folder::of(Path::new("tests/kernels/saxpy.py"), Some(Path::new(".")));
    assert_eq!(folder.module(), "tests.kernels.saxpy");

    // `_inner` has no file of its own, as in packages that came after Python 3.3.
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir_all(path("package/_inner/part")).unwrap();
    fs::write(
        path("package/__init__.py"),
        "from package._inner.part.kernels import k\n",
    )
    .unwrap();
    fs::write(path("package/_inner/part/__init__.py"), "").unwrap();
    let text = "import warp as wp\nfrom ...sizes import N\n\n@wp.struct\nclass Given:\n    x: wp.array(dtype=float)\n\n@wp.kernel\ndef k(given: Given):\n    given.x[0] = float(N)\n";
    fs::write(path("package/sizes.py"), "N = 3\n").unwrap();
    fs::write(path("package/_inner/part/kernels.py"), text).unwrap();
    let file = path("package/_inner/part/kernels.py");
    for root in [None, Some(root.path())] {
        let folder = Folder::of(&file, root);
        assert_eq!(folder.module(), "package._inner.part.kernels");
        // Its package imports it, too: its struct is defined once.
        let compiled = Compiler::new().compile_in(text, &Options::default(), Some(&folder.place()));
        assert!(compiled.is_ok(), "{compiled:?}");
    }
}

#[test]
fn a_module_of_a_package_hides_none_of_pythons() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir_all(path("package")).unwrap();
    fs::write(path("package/__init__.py"), "import types\n").unwrap();
    let types = "import warp as wp\n\n@wp.struct\nclass Given:\n    x: wp.array(dtype=float)\n";
    fs::write(path("package/types.py"), types).unwrap();
    let text = "import types\nimport warp as wp\nfrom .types import Given\n\n@wp.kernel\ndef k(given: Given):\n    given.x[0] = 1.0\n";
    let folder = Folder::of(&path("package/kernels.py"), None);
    let compiled = Compiler::new().compile_in(text, &Options::default(), Some(&folder.place()));
    assert!(compiled.is_ok(), "{compiled:?}");
}
