"""No argument ends the interpreter or is answered by a panic: what cannot be used is an error."""

import inspect
import warnings

import numpy as np
import pytest

from warpsmith import voice

BAD = [0, -1, 2**33, 2**63, -(2**70), 1e18, 1e-300, float("nan"), float("inf"), "x", b"x", (), 1j]
SOUND = np.random.default_rng(1).standard_normal(3000).astype(np.float32)
GIVEN = {
    "y": SOUND,
    "f0": np.full(50, 200.0),
    "data": np.ones((4, 20), np.float32),
    "response": SOUND[:10],
    "S": np.ones((129, 8), np.float32),
    "S_db": np.ones((4, 5)),
    "stft_matrix": np.ones((129, 8), np.complex64),
    "frames": np.arange(5),
    "path": "missing.wav",
    "name": "centroid",
    "kind": "lowpass",
    "sr": 16000,
    "orig_sr": 16000,
    "target_sr": 8000,
    "fmin": 80,
    "fmax": 500,
    "rate": 1.5,
    "n_steps": 2,
    "n_fft": 256,
    "hop_seconds": 0.01,
    "frequency": 500,
    "waveform": SOUND,
    "specgram": np.ones((129, 8), np.float32),
    "specgrams": np.ones((2, 129, 8), np.float32),
    "spectrogram": np.ones((129, 8), np.complex64),
    "x": np.linspace(-1, 1, 20, dtype=np.float32),
    "D": np.ones((129, 8), np.complex64),
    "noise": SOUND,
    "snr": np.float32(3),
    "sample_rate": 16000,
    "orig_freq": 16000,
    "new_freq": 8000,
    "win_length": 256,
    "hop_length": 64,
    "window": "hann",
    "power": 2.0,
    "pad": 0,
    "normalized": False,
    "cutoff_freq": 500,
    "central_freq": 500,
    "center_freq": 500,
    "gain": 3.0,
    "a_coeffs": [1.0, -0.5],
    "b_coeffs": [1.0, 0.0],
    "n_iter": 2,
    "momentum": 0.5,
    "length": None,
    "rand_init": False,
    "mask_param": 3,
    "mask_value": 0.0,
    "axis": -1,
    "size": 4000,
    "frame_length": 256,
}
SIGNALS = [
    np.zeros(0, np.float32),
    SOUND[:1],
    np.zeros((2, 0), np.float32),
    np.zeros((0, 9), np.float32),
    np.full(400, 1e38, np.float32),
    np.full(400, np.nan),
    SOUND[::2],
    SOUND.astype(">f4"),
    np.ones((3, 4, 5), np.complex64),
    "text",
    None,
    5,
]
SOUNDS = ("y", "data", "S", "stft_matrix", "waveform", "specgram", "x", "D", "noise")
MODULES = [
    voice,
    voice.feature,
    voice.effects,
    voice.onset,
    voice.filters,
    voice.stream,
    voice.transforms,
    voice.functional,
    voice.util,
    voice.decompose,
    voice.torchaudio.compliance.kaldi,
]


def calls():
    for module in MODULES:
        for name in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, name)
            own = module in (voice, voice.functional) or getattr(value, "__module__", None) == module.__name__
            makes = inspect.isclass(value) and module is voice.transforms
            if own and (inspect.isfunction(value) or makes) and name[0] != "_" and name != "batch":
                yield pytest.param(value, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("call", list(calls()))
def test_hostile_arguments_are_errors(call):
    parameters = inspect.signature(call).parameters
    given = {}
    for name, parameter in parameters.items():
        needed = parameter.default is inspect.Parameter.empty or name in ("y", "n_fft")
        named = parameter.kind is not inspect.Parameter.VAR_KEYWORD
        if needed and named and name in GIVEN:
            given[name] = GIVEN[name]
    tried = 0
    for name in parameters:
        for value in SIGNALS if name in SOUNDS else BAD:
            tried += 1
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    made = call(**{**given, name: value})
                    if isinstance(made, voice.stream.Stream):
                        made.process(SOUND)
                        made.finish()
                    elif callable(made):
                        made(SOUND)
                except (ValueError, TypeError, OSError, RuntimeError, OverflowError) as error:
                    assert str(error)
    assert tried or not parameters
