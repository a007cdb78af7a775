"""librosa's names of errors, for programs that catch them: a wrong argument is a `ValueError`."""

LibrosaError = ValueError
ParameterError = ValueError

__all__ = ["LibrosaError", "ParameterError"]
