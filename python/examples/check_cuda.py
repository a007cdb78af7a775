"""Is this machine ready for CUDA? What is not, and how to fix it.

    python check_cuda.py --verbose
    python check_cuda.py --export-json machine.json

Exit code 0 where nothing is wrong, 1 where something is.
"""

import argparse
import json
import pathlib

import warpsmith

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--verbose", action="store_true", help="also how to fix it")
options.add_argument("--export-json", type=pathlib.Path, metavar="FILE")
options = options.parse_args()

report = warpsmith.check()
machine = report["machine"]
print(f"{machine['cpu']}, {machine['cores']} cores, GPUs: {', '.join(machine['gpus']) or 'none'}")
for finding in report["findings"]:
    print(f"{finding['severity']:8} {finding['code']}  {finding['message']}")
    if options.verbose and finding.get("hint"):
        print(f"{'':8} {finding['hint']}")
if options.export_json:
    options.export_json.write_text(json.dumps(report, indent=1))
    print(f"wrote {options.export_json}")
raise SystemExit(any(finding["severity"] == "error" for finding in report["findings"]))
