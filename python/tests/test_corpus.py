import json
import pathlib

import pytest

from warpsmith import corpus


def files(folder):
    return {
        path.name: path.read_bytes()
        for path in pathlib.Path(folder).rglob("*")
        if path.suffix in (".parquet", ".jsonl")
    }


def test_shares_give_the_bytes_of_one_run(tmp_path):
    whole = corpus.generate(tmp_path / "whole", 40, seed=3, shard_pairs=10)
    assert whole["tally"]["pairs"] == 40
    for share in range(2):
        corpus.generate(tmp_path / "shares", 40, seed=3, shard_pairs=10, share=(share, 2))
    assert files(tmp_path / "whole") and files(tmp_path / "whole") == files(tmp_path / "shares")
    assert corpus.statistics(tmp_path / "shares")["pairs"] == 40


def test_rows_are_pairs_and_progress_is_told(tmp_path):
    told = []
    corpus.generate(
        tmp_path, 12, format="jsonl", verify=["executed"], progress=lambda *at: told.append(at)
    )
    assert told[-1] == (12, 12)
    text = next(path for path in tmp_path.rglob("*.jsonl")).read_text()
    row = json.loads(text.splitlines()[0])
    assert any("@wp.kernel" in str(value) for value in row.values())


def test_texts_are_compressed_unless_told_otherwise(tmp_path):
    sizes = {}
    for compression in ("zstd", "none"):
        made = corpus.generate(tmp_path / compression, 20, compression=compression)
        assert made["settings"]["compression"] == compression
        sizes[compression] = sum(file["bytes"] for file in made["files"])
    assert sizes["none"] > 2 * sizes["zstd"]
    with pytest.raises(ValueError, match="never compressed"):
        corpus.generate(tmp_path / "lines", 20, format="jsonl", compression="zstd")


def test_what_progress_raises_stops_the_run_and_the_next_goes_on(tmp_path):
    def stop(done, of):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus.generate(tmp_path, 30, shard_pairs=10, progress=stop)
    assert corpus.generate(tmp_path, 30, shard_pairs=10)["tally"]["pairs"] == 30


def test_words_that_name_nothing_are_refused(tmp_path):
    with pytest.raises(ValueError, match="nonsense"):
        corpus.generate(tmp_path, 10, categories=["nonsense"])
    with pytest.raises(ValueError, match="nonsense"):
        corpus.generate(tmp_path, 10, verify=["nonsense"])
