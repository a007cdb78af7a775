"""Holds the rows of compat.json that packages can prove against the package index, and prints a diff.

    python3 regenerate.py DATABASE [--write] [--table NAME]...

Reads index pages and the METADATA of single wheels; no wheel is downloaded. A cell that a package
does not state (a date, what a library contains) is left as it is. Exit code 0: nothing differs;
1: the diff was printed; 2: the index could not be read.
"""

import argparse
import concurrent.futures
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

WHEEL = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)(-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl$")
LINUX = re.compile(r"linux.*_x86_64|^any$")


def index_url():
    """The index that pip uses here."""
    for name in ("PIP_INDEX_URL",):
        if os.environ.get(name):
            return os.environ[name].rstrip("/")
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    if asked.returncode == 0 and asked.stdout.strip():
        return asked.stdout.strip().rstrip("/")
    from pip._internal.models.index import PyPI

    return PyPI.simple_url.rstrip("/")


def read(url):
    """A page's text; an index under load is asked again, a missing page is None."""
    for attempt in range(5):
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            if error.code in (403, 404):
                return None
            failure = error
        except OSError as error:
            failure = error
        time.sleep(2**attempt)
    raise failure


class Links(html.parser.HTMLParser):
    """The files of an index page."""

    def __init__(self, base):
        super().__init__()
        self.base, self.files, self.current = base, [], None

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.current = dict(attributes)

    def handle_data(self, data):
        if self.current is not None:
            url = urllib.parse.urljoin(self.base, self.current.get("href", "").split("#")[0])
            self.files.append((data.strip(), url, self.current.get("data-requires-python"), "data-yanked" in self.current))
            self.current = None


def releases(name):
    """Version -> python tags (Linux, x86-64), range of Pythons, address of one wheel."""
    address = f"{index_url()}/{name}/"
    page = read(address)
    if page is None:
        return {}
    links = Links(address)
    links.feed(page)
    found = {}
    for file, url, python, yanked in links.files:
        wheel = WHEEL.match(file)
        if not wheel or yanked:
            continue
        row = found.setdefault(wheel["version"], {"tags": set(), "all_tags": set(), "requires_python": python, "url": None})
        # A build for Python without the lock says so in its ABI.
        tags = {t + ("t" if wheel["abi"].endswith("t") else "") for t in wheel["python"].split(".")}
        row["all_tags"] |= tags
        if LINUX.search(wheel["platform"]):
            row["tags"] |= tags
            row["url"] = row["url"] or url
    return found


class Remote(io.RawIOBase):
    """A file on the index, read by ranges: a wheel's directory stands at its end."""

    def __init__(self, url):
        self.url, self.at = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["Content-Length"])

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self.at = (0, self.at, self.size)[whence] + offset
        return self.at

    def tell(self):
        return self.at

    def readinto(self, buffer):
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        wanted = urllib.request.Request(self.url, headers={"Range": f"bytes={self.at}-{end - 1}"})
        with urllib.request.urlopen(wanted, timeout=60) as answer:
            if answer.status != 206:
                raise OSError("the index does not serve parts of files")
            data = answer.read()
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def requirements(url):
    """The Requires-Dist lines of a wheel: from its METADATA beside it, or inside it."""
    text = read(url + ".metadata") if url else None
    if text is None and url:
        try:
            with zipfile.ZipFile(io.BufferedReader(Remote(url), 1 << 16)) as wheel:
                name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
                text = wheel.read(name).decode("utf-8", "replace")
        except (OSError, StopIteration, zipfile.BadZipFile, TypeError):
            return None
    if text is None:
        return None
    head = text.split("\n\n")[0]
    return [line.split(":", 1)[1].strip() for line in head.splitlines() if line.startswith("Requires-Dist:")]


def name_of(requirement):
    return re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def shape(requirement):
    """What a requirement is about: its name, and the extra it belongs to."""
    return name_of(requirement), plain(requirement).partition(";")[2]


def plain(requirement):
    """Two spellings of one requirement compare equal."""
    text = re.sub(r"[\s()'\"]", "", requirement).lower().replace("_", "-")
    head, _, marker = text.partition(";")
    found = re.match(r"([a-z0-9.-]+(?:\[[^\]]*\])?)(.*)", head)
    return found[1] + ",".join(sorted(found[2].split(","))) + ";" + marker if found else text


def natural(tag):
    """cp39 before cp310."""
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d)(?=\d*t?$)|(\d+)", tag) if p]


def pin(lines, *names):
    """What a release pins exactly."""
    for line in lines or []:
        found = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?==\s*([0-9][^;,)\s]*)", line)
        if found and found[1].lower() in names:
            return found[2]
    return None


def torch_cells(lines):
    """What torch's own requirements prove about a release."""
    cells = {}
    triton = pin(lines, "triton")
    if triton:
        cells["triton"] = triton
    for cell, stem in (("cudnn", "nvidia-cudnn-cu"), ("nccl", "nvidia-nccl-cu")):
        version = pin(lines, *(f"{stem}{major}" for major in (11, 12, 13)))
        if version:
            cells[cell] = version
    toolkit = pin(lines, "cuda-toolkit")
    runtime = pin(lines, "nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13")
    cuda = toolkit or runtime
    if cuda:
        cells["pypi_cuda"] = ".".join(cuda.split(".")[:2])
    return cells


def cells_of(table, row, release, kept):
    """The cells of a row that the index proves."""
    cells = {}
    if "requires_python" in row and release["requires_python"]:
        cells["requires_python"] = release["requires_python"].replace(" ", "")
    if table == "torch":
        cells["python_tags_linux_x86_64"] = sorted(release["tags"], key=natural)
        cells.update(torch_cells(requirements(release["url"])))
    elif "requires" in row:
        lines = requirements(release["url"])
        if lines is not None:
            cells["requires"] = [line for line in lines if shape(line) in kept]
    return cells


def differs(old, new):
    if isinstance(old, list) and isinstance(new, list):
        return sorted(map(plain, old)) != sorted(map(plain, new))
    if isinstance(old, str) and isinstance(new, str):
        return sorted(old.replace(" ", "").split(",")) != sorted(new.replace(" ", "").split(","))
    return old != new


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("database")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--table", action="append")
    arguments = arguments.parse_args()
    with open(arguments.database, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = []
    table = None
    for number, line in enumerate(lines):
        opened = re.match(r'^ "(\w+)": \[$', line)
        if opened:
            table = opened[1]
        elif line.startswith(" ]"):
            table = None
        elif table and line.startswith("  {"):
            row = json.loads(line.rstrip().rstrip(","))
            name = "torch" if table == "torch" else row.get("package")
            proven = "V:pypi" in json.dumps(row.get("provenance", ""))
            if name and proven and (not arguments.table or table in arguments.table):
                rows.append((number, table, name, row["torch"] if table == "torch" else row["version"], row))
    kept = {}
    for _, table, _, _, row in rows:
        kept.setdefault(table, set()).update(map(shape, row.get("requires", [])))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = sorted({name for _, _, name, _, _ in rows})
        pages = dict(zip(names, pool.map(releases, names)))
        asked = [(item, pages[item[2]].get(item[3])) for item in rows]
        proofs = list(pool.map(lambda a: cells_of(a[0][1], a[0][4], a[1], kept[a[0][1]]) if a[1] else None, asked))
    changed = compared = 0
    for (number, table, name, version, row), proof in zip(rows, proofs):
        if proof is None:
            print(f"? {table}: {name} {version} is not on the index: withdrawn, or without wheels")
            continue
        for cell, value in proof.items():
            compared += 1
            if differs(row.get(cell), value):
                changed += 1
                print(f"- {table}: {name} {version} {cell} = {json.dumps(row.get(cell))}")
                print(f"+ {table}: {name} {version} {cell} = {json.dumps(value)}")
                row[cell] = value
                tail = "," if lines[number].rstrip().endswith(",") else ""
                lines[number] = "  " + json.dumps(row, ensure_ascii=False) + tail
    known = {}
    for _, table, name, version, _ in rows:
        known.setdefault((table, name), []).append(version)
    numbers = lambda v: [int(p) for p in re.findall(r"\d+", v)]
    for (table, name), versions in sorted(known.items()):
        newest = max(versions, key=numbers)
        for version in sorted((v for v in pages[name] if re.fullmatch(r"[0-9.]+(\.post\d+)?", v)), key=numbers):
            if numbers(version) > numbers(newest):
                print(f"> {table}: {name} {version} is newer than every row")
    print(f"{compared} cells of {len(rows)} rows compared, {changed} differ")
    if arguments.write and changed:
        partial = arguments.database + ".new"
        with open(partial, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(partial, arguments.database)
    return 1 if changed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        print(f"the package index cannot be read: {error}", file=sys.stderr)
        sys.exit(2)
