"""torchaudio's names: `import warpsmith.voice.torchaudio as torchaudio`.

Functions and objects take NumPy arrays or PyTorch tensors of the CPU and give what they were given,
with torchaudio's arguments, shapes and numbers. They work in single precision and give no
gradients; a sample that is not finite is an error.

>>> import numpy as np
>>> from warpsmith.voice import torchaudio
>>> mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80)
>>> mel(np.zeros((1, 16000), np.float32)).shape
(1, 80, 81)
"""

from . import compliance, functional, transforms
from .files import (
    AudioMetaData,
    get_audio_backend,
    info,
    list_audio_backends,
    load,
    save,
    set_audio_backend,
)

__all__ = [
    "AudioMetaData",
    "compliance",
    "functional",
    "get_audio_backend",
    "info",
    "list_audio_backends",
    "load",
    "save",
    "set_audio_backend",
    "transforms",
]
