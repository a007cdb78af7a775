"""Warp's own text for kernels: one JSON object with `id` and `source` per line in, one with `id`,
`cuda` and `cpu` (or `error`) per line out.

Needs warp-lang 1.19.0; no GPU and no compiler are used. The text after Warp's fixed prologue is
given, with the hash in names replaced by `HASH`.
"""

import json
import linecache
import sys
import types

import warp as wp
import warp._src.context as context

wp.config.log_level = getattr(wp, "LOG_ERROR", 40)
wp.init()

COUNTS = dict(context.function_key_counts)
END = "#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)\n\n"


def load(number, source):
    """Runs a source as a module whose file is `kernels.py`, with function numbers that start again."""
    context.function_key_counts.clear()
    context.function_key_counts.update(COUNTS)
    name = f"corpus_pair_{number}"
    lines = source.splitlines(keepends=True)
    linecache.cache["kernels.py"] = (len(source), None, lines, "kernels.py")
    module = types.ModuleType(name)
    module.__file__ = "kernels.py"
    module.__loader__ = None
    sys.modules[name] = module
    try:
        exec(compile(source, "kernels.py", "exec", dont_inherit=True), module.__dict__)
    finally:
        sys.modules.pop(name, None)
    return module, name


def text(kernel, device):
    module = kernel.module
    block_dim = 1 if device == "cpu" else module.options["block_dim"]
    options = module.resolve_options(wp.config, block_dim=block_dim)
    kernel.hash = None
    hasher = context.ModuleHasher([kernel], dict(options))
    options["output_arch"] = None if device == "cpu" else 90
    builder = context.ModuleBuilder(module, options, hasher, target=device)
    code = builder.codegen(device).split(END, 1)[-1]
    code = code.replace(kernel.get_mangled_name(), kernel.key + "_HASH")
    for struct in builder.structs:
        code = code.replace(struct.native_name, struct.key + "_HASH")
    return code


def main():
    print(json.dumps({"version": wp.config.version}), flush=True)
    for number, line in enumerate(sys.stdin):
        row = json.loads(line)
        answer = {"id": row["id"]}
        name = None
        try:
            module, name = load(number, row["source"])
            kernel = next(k for k in vars(module).values() if isinstance(k, context.Kernel))
            answer["cuda"] = text(kernel, "cuda")
            answer["cpu"] = text(kernel, "cpu")
        except Exception as error:  # the message is the answer
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)
        if name:
            context.user_modules.pop(name, None)


main()
