"""Renders pieces in known keys with the program and counts what `voice key` says of them.

usage: keys.py WARPSMITH FIRST_SEED COUNT

Even seeds are in ionian (major), odd ones in aeolian (natural minor); key and preset follow from the seed.
The default profile was chosen on seeds 100 to 123.
"""
import json, random, subprocess, sys, tempfile

program, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]


def kind(found, tonic, mode):
    """How a key that was found lies to the true one."""
    relative = ((tonic + 9) % 12, "minor") if mode == "major" else ((tonic + 3) % 12, "major")
    if (found["tonic"], found["mode"]) == (tonic, mode):
        return "right"
    if (found["tonic"], found["mode"]) == relative:
        return "relative"
    if found["mode"] == mode and (found["tonic"] - tonic) % 12 in (5, 7):
        return "a fifth away"
    return "other"


with tempfile.TemporaryDirectory() as folder:
    for seed in range(first, first + count):
        r = random.Random(seed)
        key, preset = r.choice(names), r.choice(["piano", "focus", "bright"])
        mode = ("ionian", "aeolian")[seed % 2]
        piece = ["--preset", preset, "--key", key, "--scale", mode, "--seed", str(seed)]
        output = ["--duration", "60s", "--rate", "16000", "--output", f"{folder}/{key}_{mode}_{seed}.wav"]
        subprocess.run([program, "synth", "render", *piece, *output], stdout=subprocess.DEVNULL, check=True)
    for profile in ("temperley", "krumhansl"):
        said = subprocess.run(
            [program, "voice", "key", folder, "--profile", profile, "--format", "json"],
            capture_output=True, text=True, check=True,
        )
        counts = {}
        for file in json.loads(said.stdout)["body"]["files"]:
            key, mode, _ = file["file"].split("/")[-1].split("_")
            mode = "major" if mode == "ionian" else "minor"
            answer = (mode, kind(file["key"], names.index(key), mode))
            counts[answer] = counts.get(answer, 0) + 1
        print(profile, {f"{mode}: {what}": n for (mode, what), n in sorted(counts.items())})
