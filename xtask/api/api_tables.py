#!/usr/bin/env python3
"""Tables of the CUDA libraries' functions, read from the headers inside the wheels on PyPI.

  api_tables.py --fetch CACHE --json api.json --report report.md    reads only headers (HTTP ranges), not whole wheels
  api_tables.py --wheels DIR ...                                    reads *.whl files that lie in DIR
  api_tables.py --headers DIR --lib cudart --version 13.4           reads a toolkit's include folder (check one version)
  api_tables.py --from api.json --table api.txt                     writes the compact table that the doctor embeds

Standard library only. One version for each CUDA minor (the newest patch) unless --every is given.
JSON: {"libs": {lib: {"versions": [...], "status": [...], "functions": {name: [kind, first, last, deprecated, params]}}}}
  kind s = returns the library's status, v = void, o = other (pointer, size, text); first and last = index into
  versions; deprecated = index of the first version that marks it so, or -1; params = count, or {index: count} where it changed;
  a name that was away in between has a sixth field, the list of indices where it is missing. "alias": {name: target} from #define;
  "documented_only": deprecated in the comment, but without the attribute, so no compiler warns;
  "types_changed": {name: [index of each version whose parameter types differ from the version before]}.
"""
import argparse, io, json, os, re, subprocess, sys, urllib.request, zipfile
from collections import OrderedDict

# lib: packages (old to new), headers, name pattern, status types
LIBS = OrderedDict(
    cudart=(["nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"], r"(cuda_runtime_api|cuda_runtime|cuda_profiler_api|cudart_platform|cuda_gl_interop|cuda_egl_interop|cuda_vdpau_interop)\.h$", r"cuda[A-Z]\w*|__cuda\w+", ["cudaError_t"]),
    cuda=(["nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"], r"/(cuda|cudaProfiler|cudaGL|cudaEGL|cudaVDPAU)\.h$", r"cu[A-Z]\w*", ["CUresult"]),
    cublas=(["nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas"], r"(cublas_api|cublas_v2|cublasLt|cublasXt)\.h$", r"cublas[A-Z]\w*", ["cublasStatus_t", "cublasStatus"]),
    cudnn=(["nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"], r"/cudnn\w*\.h$", r"cudnn[A-Z]\w*", ["cudnnStatus_t"]),
    cufft=(["nvidia-cufft-cu11", "nvidia-cufft-cu12", "nvidia-cufft"], r"/cufft\w*\.h$", r"cufft[A-Z]\w*", ["cufftResult", "cufftResult_t"]),
    curand=(["nvidia-curand-cu11", "nvidia-curand-cu12", "nvidia-curand"], r"/curand\.h$", r"curand[A-Z]\w*", ["curandStatus_t"]),
    cusolver=(["nvidia-cusolver-cu11", "nvidia-cusolver-cu12", "nvidia-cusolver"], r"/cusolver\w*\.h$", r"cusolver[A-Z]\w*", ["cusolverStatus_t"]),
    cusparse=(["nvidia-cusparse-cu11", "nvidia-cusparse-cu12", "nvidia-cusparse"], r"/cusparse\w*\.h$", r"cusparse[A-Z]\w*", ["cusparseStatus_t"]),
    nccl=(["nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13"], r"/nccl\.h$", r"p?nccl[A-Z]\w*", ["ncclResult_t"]),
    nvrtc=(["nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"], r"/nvrtc\.h$", r"nvrtc[A-Z]\w*", ["nvrtcResult"]),
    nvjitlink=(["nvidia-nvjitlink-cu12", "nvidia-nvjitlink"], r"/nvJitLink\.h$", r"nvJitLink[A-Z]\w*", ["nvJitLinkResult"]),
    nvml=(["nvidia-nvml-dev-cu11", "nvidia-nvml-dev-cu12", "nvidia-nvml-dev"], r"/nvml\.h$", r"nvml[A-Z]\w*", ["nvmlReturn_t"]),
    cupti=(["nvidia-cuda-cupti-cu11", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti"], r"/cupti_(activity|callbacks|events|metrics|result|version|driver_cbid|profiler_target|profiler_host|range_profiler|pcsampling|pmsampling|checkpoint|activity_deprecated|target|sass_metrics)\w*\.h$", r"cupti[A-Z]\w*", ["CUptiResult"]),
    nvjpeg=(["nvidia-nvjpeg-cu11", "nvidia-nvjpeg-cu12", "nvidia-nvjpeg"], r"/nvjpeg\.h$", r"nvjpeg[A-Z]\w*", ["nvjpegStatus_t"]),
    cufile=(["nvidia-cufile-cu12", "nvidia-cufile"], r"/cufile\.h$", r"cuFile[A-Z]\w*", ["CUfileError_t"]),
    cusparselt=(["nvidia-cusparselt-cu12", "nvidia-cusparselt-cu13"], r"/cusparseLt\.h$", r"cusparseLt[A-Z]\w*", ["cusparseStatus_t"]),
)
DEPRECATED = re.compile(r"\b__CUDA_DEPRECATED\b|\bCU\w*_DEPRECATED\w*|\bDEPRECATED\w*\(|deprecated\s*\(|\[\[deprecated|\bCUDNN_DEPRECATED|__attribute__\s*\(\s*\(\s*deprecated|_DEPRECATED_(?:FUNC|REPLACE)\w*", re.I)


def version_key(v):
    return tuple(int(x) for x in re.findall(r"\d+", v))


def index_url():
    got = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True).stdout.strip()
    if got:
        return got
    from pip._internal.models.index import PyPI
    return os.environ.get("PIP_INDEX_URL") or PyPI.simple_url


class Remote(io.RawIOBase):
    """A file behind HTTP ranges, enough for zipfile."""
    def __init__(self, url):
        self.url, self.at = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Range": "bytes=0-0"})) as r:
            if r.status != 206:
                raise OSError("the server does not serve ranges")
            self.size = int(r.headers["Content-Range"].split("/")[1])
        start = max(0, self.size - 262144)
        self.tail = (start, self.get(start, self.size))
    def get(self, a, b):
        with urllib.request.urlopen(urllib.request.Request(self.url, headers={"Range": f"bytes={a}-{b - 1}"})) as r:
            return r.read()
    def seekable(self): return True
    def readable(self): return True
    def seek(self, off, whence=0):
        self.at = off if whence == 0 else self.at + off if whence == 1 else self.size + off
        return self.at
    def tell(self): return self.at
    def readinto(self, into):
        end, (start, data) = min(self.size, self.at + len(into)), self.tail
        out = data[self.at - start:end - start] if self.at >= start else self.get(self.at, end) if end > self.at else b""
        into[:len(out)] = out
        self.at += len(out)
        return len(out)


def list_wheels(package):
    with urllib.request.urlopen(index_url().rstrip("/") + "/" + package + "/") as r:
        page, base = r.read().decode(), r.geturl()
    best = {}
    for href in re.findall(r'href="([^"#]+)', page):
        name = href.rsplit("/", 1)[-1]
        m = re.match(r"[\w.]+?-(\d[\w.]*)-py3-none-(.*)\.whl$", name)
        if m and "x86_64" in m[2] and ".dev" not in m[1]:
            best[m[1]] = urllib.parse.urljoin(base, href)
    return best


def pick(versions, every):
    if every:
        return sorted(versions, key=version_key)
    newest = {}
    for v in sorted(versions, key=version_key):
        newest[version_key(v)[:2]] = v
    return list(newest.values())


def headers_of(z, pattern):
    return {n: z.read(n).decode("utf-8", "replace") for n in z.namelist() if n.endswith(".h") and re.search(pattern, "/" + n)}


def clean(text):
    text = re.sub(r"/\*.*?\*/", lambda m: " DOC_SAYS_OLD " if re.search(r"[\\@]deprecated", m[0]) else " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text).replace("\\\n", " ")
    aliases = dict(re.findall(r"^\s*#\s*define\s+([A-Za-z_]\w+)\s+([A-Za-z_]\w+)\s*$", text, re.M))
    aliases.update(re.findall(r"^\s*#\s*define\s+([A-Za-z_]\w+)\s+__(?:CUDART|CUDA)_API_PT[SDZ]+\s*\(\s*([A-Za-z_]\w+)", text, re.M))
    return re.sub(r"^\s*#.*$", "", text, flags=re.M), aliases


def statements(text):
    """Top-level statements with bodies left out; extern "C" blocks and namespaces are walked into."""
    out, cur, depth, i = [], [], 0, 0
    for tok in re.finditer(r'[;{}]|[^;{}]+', text):
        t = tok[0]
        if t == "{":
            if depth == 0:
                head = "".join(cur)
                if re.search(r'extern\s*"C(\+\+)?"\s*$|namespace\s*\w*\s*$', head):
                    cur = []
                    continue
                out.append(head)
                cur = []
            depth += 1
        elif t == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                cur = []
        elif t == ";":
            if depth == 0:
                out.append("".join(cur))
                cur = []
        elif depth == 0:
            cur.append(t)
    return out


def functions(text, name, status):
    body, aliases = clean(text)
    found = {}
    for s in statements(body):
        s = re.sub(r"\s+", " ", s).strip()
        if s.startswith("typedef") or "(" not in s or re.match(r"(enum|struct|union|using|class)\b", s):
            continue
        for m in re.finditer(r"\b(" + name + r")\s*\(", s):
            before = s[:m.start()]
            if "=" in before or not re.search(r"[\w>*]\s*$", before):
                continue
            plain = re.sub(r"\b\w*DEPRECATED\w*\s*\([^()]*(\([^()]*\)[^()]*)*\)|__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]|__declspec\s*\([^)]*\)|template\s*<.*>", " ", before)
            words = re.findall(r"[A-Za-z_]\w*|\*", plain)
            words = [w for w in words if w != "DOC_SAYS_OLD"]
            if not words or m[1] in status:
                continue
            kind = "s" if any(w in status for w in words) and "*" not in words else "v" if "void" in words and "*" not in words else "o"
            if kind == "o" and not any(w in ("char", "int", "unsigned", "size_t", "float", "double", "bool", "void", "long", "uint32_t", "uint64_t") or w.endswith("_t") or re.match(name, w) or re.match(r"(cuda|cu|cublas|dim3|CU)\w*", w) for w in words):
                continue
            level, k = 1, m.end()
            while k < len(s) and level:
                level += (s[k] in "(<") - (s[k] in ")>")
                k += 1
            args = s[m.end():k - 1].strip()
            commas, lv = 0, 0
            for ch in args:
                lv += (ch in "(<[") - (ch in ")>]")
                commas += ch == "," and lv == 0
            count = 0 if args in ("", "void") else commas + 1
            types = ",".join(re.sub(r"\s+", "", re.sub(r"(?<=[\s*&])\w+(\[\w*\])*$", "", x.split("=")[0].strip())) for x in args.split(","))
            old = found.get(m[1])
            dep = 2 if DEPRECATED.search(before) or DEPRECATED.search(s[k:]) else 1 if "DOC_SAYS_OLD" in before else 0
            c_form = "template" not in before and "inline" not in before.lower()
            if old is None or (c_form and not old[3]):
                found[m[1]] = (kind, dep, count, c_form, types)
            elif c_form == old[3]:
                found[m[1]] = (old[0], max(old[1], dep) if c_form else min(old[1], dep), old[2], c_form, old[4])
            break
    return found, {a: b for a, b in aliases.items() if re.fullmatch(name, a) and re.fullmatch(name, b) and a != b}


def toolkits():
    """Which library version a CUDA release holds: from the metadata of the package cuda-toolkit."""
    out, short = OrderedDict(), {p: lib for lib, (ps, *_) in LIBS.items() for p in ps if lib != "cuda"}
    wheels = {}
    with urllib.request.urlopen(index_url().rstrip("/") + "/cuda-toolkit/") as r:
        page, base = r.read().decode(), r.geturl()
    for href in re.findall(r'href="([^"#]+\.whl)', page):
        wheels[href.rsplit("/", 1)[-1].split("-")[1]] = urllib.parse.urljoin(base, href)
    for v in pick(wheels, False):
        z = zipfile.ZipFile(io.BytesIO(urllib.request.urlopen(wheels[v]).read()))
        meta = z.read(next(n for n in z.namelist() if n.endswith("METADATA"))).decode()
        pins = re.findall(r"Requires-Dist: ([\w-]+)==([\d.]+)", meta)
        out[v] = {short[n]: x.rstrip(".") for n, x in pins if n in short}
    return out


TABLE_HEAD = """# Functions of NVIDIA's libraries, read from the headers inside their wheels; made by `cargo xtask api`.
# `library NAME VERSIONS…`, then a function to a line. A bare name returns a status and is in every version.
# Otherwise: NAME KIND FIRST LAST DEPRECATED, where KIND is s (status), v (void) or o (other), FIRST and LAST
# are positions in VERSIONS, and DEPRECATED is the first version that marks it so, or -.
"""


def compact(libs):
    """The table as text: names that #define renames stand for the function they mean."""
    out = [TABLE_HEAD.rstrip()]
    for lib, table in libs.items():
        versions = [".".join(v.split(".")[:2]) for v in table["versions"]]
        out.append(f"library {lib} {' '.join(versions)}")
        rows = dict(table["functions"])
        for name, target in table["alias"].items():
            for _ in range(4):
                target = table["alias"].get(target, target)
            if name not in rows and target in table["functions"]:
                rows[name] = table["functions"][target]
        for name in sorted(rows):
            kind, first, last, deprecated = rows[name][:4]
            whole = kind == "s" and first == 0 and last == len(versions) - 1 and deprecated < 0
            out.append(name if whole else f"{name} {kind} {first} {last} {deprecated if deprecated >= 0 else '-'}")
    return "\n".join(out) + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--fetch"), ap.add_argument("--wheels"), ap.add_argument("--headers"), ap.add_argument("--lib", action="append")
    ap.add_argument("--version", default="0"), ap.add_argument("--json"), ap.add_argument("--report"), ap.add_argument("--every", action="store_true")
    ap.add_argument("--table"), ap.add_argument("--from", dest="source")
    a = ap.parse_args()
    if a.source:
        with open(a.source) as kept, open(a.table, "w") as out:
            out.write(compact(json.load(kept)["libs"]))
        return
    result, report = OrderedDict(), []
    for lib, (packages, header, name, status) in LIBS.items():
        if a.lib and lib not in a.lib:
            continue
        per = {}
        if a.headers:
            per[a.version] = {os.path.join(d, f): open(os.path.join(d, f), errors="replace").read() for d, _, fs in os.walk(a.headers) for f in fs if re.search(header, "/" + f)}
        elif a.wheels:
            for f in sorted(os.listdir(a.wheels)):
                if f.endswith(".whl") and re.sub(r"[_.]", "-", f.split("-")[0]) in packages:
                    per[f.split("-")[1]] = headers_of(zipfile.ZipFile(os.path.join(a.wheels, f)), header)
        elif a.fetch:
            os.makedirs(a.fetch, exist_ok=True)
            for p in packages:
                try:
                    wheels = list_wheels(p)
                except Exception as e:
                    print(f"{p}: {e}", file=sys.stderr)
                    continue
                for v in pick(wheels, a.every):
                    kept = os.path.join(a.fetch, f"{lib}-{v}.json")
                    if not os.path.exists(kept):
                        try:
                            got = headers_of(zipfile.ZipFile(io.BufferedReader(Remote(wheels[v]), 1 << 18)), header)
                        except Exception as e:
                            print(f"{p} {v}: {e}", file=sys.stderr)
                            continue
                        json.dump(got, open(kept, "w"))
                    per[v] = {n: t for n, t in json.load(open(kept)).items() if re.search(header, "/" + n)}
        versions = [v for v in sorted(per, key=version_key) if per[v]]
        table, alias, seen = {}, {}, []
        for i, v in enumerate(versions):
            merged = {}
            for h in sorted(per[v]):
                f, al = functions(per[v][h], name, status)
                alias.update(al)
                for k, x in f.items():
                    if k not in merged or (x[3] and not merged[k][3]):
                        merged[k] = x
            for k, x in merged.items():
                table.setdefault(k, {})[i] = x
            seen.append(len(merged))
        funcs, documented, changed = OrderedDict(), [], {}
        for k in sorted(table):
            t = table[k]
            idx = sorted(t)
            dep = next((i for i in idx if t[i][1] and all(t[j][1] for j in idx if j >= i)), -1)
            counts, last = {}, None
            for i in idx:
                if t[i][2] != last:
                    counts[i] = last = t[i][2]
            row = [t[idx[-1]][0], idx[0], idx[-1], dep, last if len(counts) == 1 else counts]
            moved = [i for h, i in zip(idx, idx[1:]) if t[i][4] != t[h][4]]
            if moved: changed[k] = moved
            gaps = [i for i in range(idx[0], idx[-1]) if i not in t]
            funcs[k] = row + ([gaps] if gaps else [])
            if dep >= 0 and t[idx[-1]][1] == 1: documented.append(k)
        end = len(versions) - 1
        result[lib] = OrderedDict(versions=versions, status=status, functions=funcs, alias=alias, documented_only=documented, types_changed=changed)
        report.append((lib, versions, seen, len(funcs), sum(r[0] == "s" for r in funcs.values()), sum(r[2] == end for r in funcs.values()),
                       sum(r[3] >= 0 and r[2] == end for r in funcs.values()), sum(r[2] < end for r in funcs.values()), sum(isinstance(r[4], dict) for r in funcs.values()), len(changed)))
    if a.json:
        json.dump({"made_by": "cargo xtask api", "toolkits": toolkits() if a.fetch else {}, "libs": result}, open(a.json, "w"), separators=(",", ":"))
    if a.table:
        with open(a.table, "w") as out:
            out.write(compact(result))
    lines = ["| library | versions | names ever | status | in the newest | deprecated there | removed | parameter count changed | types changed |", "|---|---|---|---|---|---|---|---|---|"]
    for lib, vs, seen, n, s, now, dep, gone, par, typ in report:
        lines.append(f"| {lib} | {len(vs)}: {vs[0] if vs else '-'} … {vs[-1] if vs else '-'} | {n} | {s} | {now} | {dep} | {gone} | {par} | {typ} |")
    text = "\n".join(lines)
    print(text)
    if a.report:
        open(a.report, "w").write(text + "\n")


if __name__ == "__main__":
    import urllib.parse
    main()
