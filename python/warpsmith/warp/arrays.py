"""`array` and the functions that make, copy and exchange arrays.

On the CPU an array's memory is NumPy's. On a GPU it is a `Storage`, of which NumPy has a copy while it is needed.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import numpy as np

from .. import _native
from . import graphs, types
from .array_type import ArrayType, array_type
from .devices import Device, get_device, used
from .storage import Storage, foreign
from .structs import StructInstance


def numpy_type(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """NumPy's type and the shape of one element."""
    if is_record(dtype):
        return dtype.numpy_dtype(), ()
    scalar, shape = types.element_of(dtype)
    return np.dtype(scalar.numpy_type), shape


def is_record(dtype: Any) -> bool:
    """Whether elements have parts of several types: structs and textures."""
    return hasattr(dtype, "numpy_dtype")


class array:
    """An array of numbers, vectors, matrices or structs with up to four dimensions.

    Without data and shape it is a type, for signatures. On the CPU `numpy()` is a view of the memory, on a GPU
    a copy; a slice is a view. An array with `requires_grad` has its gradient in `grad`.
    """

    _default_ndim: int | None = None

    def __new__(cls, data: Any = None, dtype: Any = Any, shape: Any = None, **options: Any) -> Any:
        if data is None and shape is None and not options.keys() & {"ptr", "length", "len"}:
            return array_type(dtype, options.get("ndim", cls._default_ndim))
        return object.__new__(cls)

    def __class_getitem__(cls, item: Any) -> ArrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, cls._default_ndim)
        return array_type(dtype, ndim)

    def __init__(
        self,
        data: Any = None,
        dtype: Any = Any,
        shape: Any = None,
        strides: Any = None,
        device: Any = None,
        copy: bool = True,
        requires_grad: bool = False,
        grad: array | None = None,
        ndim: int | None = None,
        **unknown: Any,
    ):
        pinned = unknown.pop("pinned", False)
        unsupported = {name for name, value in unknown.items() if value} | ({"strides"} if strides else set())
        if unsupported:
            raise NotImplementedError(f"array({', '.join(sorted(unsupported))}=…) is not in warpsmith.warp")
        on_gpu = hasattr(data, "__cuda_array_interface__")
        self.device = get_device(f"cuda:{_gpu_of(data)}" if on_gpu and device is None else device)
        self.pinned = bool(pinned)
        storage: Storage | None = None
        if data is None:
            if dtype is Any:
                dtype = types.float32
            found, inner = numpy_type(dtype)
            whole = (*_shape(shape), *inner)
            if self.device.is_cuda:
                storage, memory = _new_storage(self.device, whole, found)
                storage.clear(memory)
            else:
                memory = np.zeros(whole, found)
        elif on_gpu and not copy and self.device.is_cuda:
            dtype, memory, storage = _borrow(data, dtype)
        else:
            if on_gpu:
                # Through the host: the type may be another, and so may the device.
                borrowed, view = foreign(data, _gpu_of(data))
                borrowed.read()
                data = view
            dtype, memory = _read(data, dtype, copy)
            if self.device.is_cuda:
                storage, view = _new_storage(self.device, memory.shape, memory.dtype)
                with storage.writing(view, whole=True):
                    view[...] = memory
                memory = view
        if data is not None and shape is not None:
            memory = memory.reshape((*_shape(shape), *numpy_type(dtype)[1]))
        self._bind(memory, dtype, storage)
        #: Textures live as long as an array of them.
        self._kept = list(data) if is_record(dtype) and isinstance(data, (list, tuple)) else None
        if ndim is not None and ndim != self.ndim:
            raise RuntimeError(f"the data has {self.ndim} dimensions, and ndim is {ndim}")
        self._grad: array | None = None
        self._requires_grad = False
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True
        if data is None and graphs.is_noting():
            # The graph uses the array again and again, and each time it is new.
            self.zero_()

    def _bind(self, memory: Any, dtype: Any, storage: Storage | None = None) -> None:
        plain = not is_record(dtype) and not types.is_composite(dtype)
        self.dtype: Any = types.scalar_type(dtype) if plain else dtype
        #: The host's memory, or what the host's copy of a GPU's memory shows of it.
        self._host = memory
        self._storage = storage
        #: What launches need of it, once one needed it.
        self._known: tuple[Any, ...] | None = None
        inner = len(numpy_type(self.dtype)[1])
        self.shape: tuple[int, ...] = memory.shape[: memory.ndim - inner]
        self.ndim = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.strides: tuple[int, ...] = memory.strides[: self.ndim]
        if self.ndim > 4:
            raise RuntimeError(f"an array has at most 4 dimensions: got {self.ndim}")

    @classmethod
    def _over(cls, memory: Any, dtype: Any, device: Device, storage: Storage | None = None) -> array:
        """An array over memory: the host's, which is copied to a GPU, or a view of a storage."""
        made: array = object.__new__(array)
        made.device, made.pinned = device, False
        if device.is_cuda and storage is None:
            storage, view = _new_storage(device, memory.shape, memory.dtype)
            with storage.writing(view, whole=True):
                view[...] = memory
            memory = view
        made._bind(memory, dtype, storage)
        made._grad, made._requires_grad = None, False
        return made

    def _view(self, memory: Any, dtype: Any, grad: Any) -> array:
        made = self._over(memory, dtype, self.device, self._storage)
        if self._grad is not None:
            made._grad, made._requires_grad = grad(self._grad), self._requires_grad
        return made

    def detached(self) -> array:
        """The same memory without the gradient."""
        return self._over(self._host, self.dtype, self.device, self._storage)

    def _on_device(self) -> Any:
        """What a launch on the array's GPU is given; None where the gradient is not laid out as the array."""
        dual = self._grad
        if self._known is None or self._known[0] is not dual:
            if self._storage is None or (dual is not None and (dual._storage is None or dual.strides != self.strides)):
                return None
            at = self._storage.pointer(self._host)
            into = 0 if dual is None or dual._storage is None else dual._storage.pointer(dual._host)
            self._known = dual, _native.DeviceArray(at, list(self.shape), list(self.strides), into)
        return self._known[1]

    def _span(self) -> tuple[int, int, list[int]]:
        """Where contiguous memory of the host is: the address, the bytes and the shape."""
        if self._known is None:
            self._known = self._host.ctypes.data, self._host.nbytes, list(self.shape)
        return self._known

    # What it is.

    @property
    def _memory(self) -> Any:
        """The values for the host to read, after everything that was queued on the GPU."""
        if self._storage is not None:
            self._storage.read()
        return self._host

    @contextlib.contextmanager
    def _writing(self, whole: bool = False) -> Iterator[Any]:
        """The memory for the host to write; with `whole` nothing of it is read."""
        if self._storage is None:
            yield self._host
        else:
            with self._storage.writing(self._host, whole) as view:
                yield view

    @property
    def ptr(self) -> int:
        """The address of the first element; on a GPU with the host's values in it."""
        if self._storage is not None:
            # Whoever asks may write there.
            self._storage.shared = True
            return self._storage.address(self._host)
        return int(self._host.__array_interface__["data"][0])

    @property
    def is_contiguous(self) -> bool:
        return bool(self._host.flags.c_contiguous)

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._requires_grad = bool(value)
        if not value:
            self._grad = None
        elif self._grad is None:
            self._grad = zeros_like(self)

    @property
    def grad(self) -> array | None:
        return self._grad

    @grad.setter
    def grad(self, value: array | None) -> None:
        if value is not None and (value.shape != self.shape or value._host.dtype != self._host.dtype):
            raise ValueError("a gradient has the shape and type of its array")
        self._grad, self._requires_grad = value, value is not None

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __str__(self) -> str:
        return str(self._memory)

    __repr__ = __str__

    # Its values.

    def numpy(self) -> Any:
        """On the CPU a view of the memory: what is written to it is in the array. On a GPU a copy."""
        if self._storage is None:
            return self._host
        if not self.is_contiguous:
            return self._memory.copy()
        out = np.empty(self._host.shape, self._host.dtype)
        self._storage.give(self._host, out)
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        values = self.numpy()
        return values.astype(dtype) if dtype is not None else values

    @property
    def __array_interface__(self) -> Any:
        if self._storage is not None:
            raise AttributeError("an array on a GPU is not in the host's memory")
        return self._host.__array_interface__

    @property
    def __cuda_array_interface__(self) -> Any:
        if self._storage is None:
            raise AttributeError("an array on the CPU is not in a GPU's memory")
        described = self._host.__array_interface__
        fields = {name: described[name] for name in ("shape", "strides", "typestr")}
        # 1 is the default stream.
        return {**fields, "data": (self.ptr, False), "version": 3, "stream": 1}

    def __dlpack__(self, **options: Any) -> Any:
        if self._storage is not None:
            raise NotImplementedError(
                "DLPack of arrays on a GPU is not in warpsmith.warp: use to_torch or `__cuda_array_interface__`"
            )
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._host.__dlpack_device__() if self._storage is None else (2, self.device.ordinal)

    def list(self) -> Any:
        """The elements as Python values, flat."""
        inner = numpy_type(self.dtype)[1]
        flat = self._memory.reshape((-1, *inner))
        if types.is_composite(self.dtype):
            return [self.dtype._of(value) for value in flat]
        return flat.tolist()

    def zero_(self) -> None:
        graphs.do(self._clear, *self._on_gpu())

    def _on_gpu(self) -> tuple[int | None, tuple[Any, ...]]:
        """The GPU that sets all of the array by itself, and its memory there; of other arrays the host does it."""
        if self._storage is None or not self.is_contiguous:
            return None, ()
        return self._storage.gpu, (self._storage,)

    def _clear(self) -> None:
        if self._storage is not None and self.is_contiguous:
            self._storage.clear(self._host)
            return
        with self._writing(whole=True) as memory:
            memory[...] = np.zeros((), memory.dtype)

    def fill_(self, value: Any) -> None:
        """Sets every element to `value`."""
        plain = value.numpy_value() if isinstance(value, StructInstance) else types._plain(value)
        shape = np.shape(plain)
        if shape and shape != numpy_type(self.dtype)[1]:
            plain = np.asarray(plain).reshape(numpy_type(self.dtype)[1])

        gpu, storages = self._on_gpu()
        inner = self._host.shape[self.ndim :]
        element = np.empty(inner, self._host.dtype)
        element[...] = plain
        pattern = element.tobytes()

        def fill() -> None:
            if gpu is not None and self._storage is not None:
                self._storage.fill(self._host, pattern)
                return
            with self._writing(whole=True) as memory:
                memory[...] = element

        graphs.do(fill, gpu, storages)

    def assign(self, source: Any) -> array:
        """Copies an array, or data for one, into this one."""
        copy(self, source if isinstance(source, array) else array(source, dtype=self.dtype, device=self.device))
        return self

    # Other arrays over the same memory.

    def __getitem__(self, key: Any) -> array:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, (np.ndarray, array)) for part in keys):
            raise NotImplementedError("indexing by an array is not in warpsmith.warp: use NumPy on `numpy()`")
        if len(keys) > self.ndim or (len(keys) == self.ndim and not any(isinstance(part, slice) for part in keys)):
            raise RuntimeError("Item indexing is not supported on wp.array objects")
        return self._view(self._host[key], self.dtype, lambda grad: grad[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        def store() -> None:
            plain = value._memory if isinstance(value, array) else types._plain(value)
            with self._writing() as memory:
                memory[key] = plain

        graphs.do(store)

    def reshape(self, shape: Any) -> array:
        inner = numpy_type(self.dtype)[1]
        self._need_contiguous("reshape")
        return self._view(self._host.reshape((*_shape(shape), *inner)), self.dtype, lambda grad: grad.reshape(shape))

    def flatten(self) -> array:
        return self if self.ndim == 1 else self.reshape(-1)

    def view(self, dtype: Any) -> array:
        """The same bytes as elements of another type of the same size."""
        found, inner = numpy_type(dtype)
        self._need_contiguous("view")
        size = int(np.prod(inner, dtype=np.int64)) * found.itemsize
        mine, own = numpy_type(self.dtype)
        if size != int(np.prod(own, dtype=np.int64)) * mine.itemsize:
            raise RuntimeError("a view has elements of the same size")
        memory = self._host.reshape(-1).view(found).reshape((*self.shape, *inner))
        return self._view(memory, dtype, lambda grad: grad.view(dtype))

    def transpose(self, axes: Any = None) -> array:
        axes = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        inner = tuple(range(self.ndim, self._host.ndim))
        return self._view(self._host.transpose((*axes, *inner)), self.dtype, lambda grad: grad.transpose(axes))

    def contiguous(self) -> array:
        return self if self.is_contiguous else clone(self)

    def to(self, device: Any, requires_grad: bool | None = None, **_: Any) -> array:
        """The array itself, or a copy on another device."""
        if get_device(device) == self.device:
            return self
        made: array = clone(self, device, requires_grad)
        return made

    def mark_read(self) -> None:
        """Checks of gradients' use are not made: nothing to do."""

    def mark_write(self) -> None:
        """Checks of gradients' use are not made: nothing to do."""

    def _need_contiguous(self, what: str) -> None:
        if not self.is_contiguous:
            raise RuntimeError(f"{what} needs a contiguous array: call contiguous() first")

    # Element by element.

    def _mapped(self, other: Any, operation: Any, swapped: bool = False) -> array:
        theirs = other._memory if isinstance(other, array) else types._plain(other)
        if not isinstance(theirs, np.ndarray):
            theirs = np.asarray(theirs, self._host.dtype)
        pair = (theirs, self._memory) if swapped else (self._memory, theirs)
        return self._over(operation(*pair).astype(self._host.dtype, copy=False), self.dtype, self.device)

    def __add__(self, other: Any) -> array:
        return self._mapped(other, np.add)

    def __radd__(self, other: Any) -> array:
        return self._mapped(other, np.add, swapped=True)

    def __sub__(self, other: Any) -> array:
        return self._mapped(other, np.subtract)

    def __rsub__(self, other: Any) -> array:
        return self._mapped(other, np.subtract, swapped=True)

    def __mul__(self, other: Any) -> array:
        return self._mapped(other, np.multiply)

    def __rmul__(self, other: Any) -> array:
        return self._mapped(other, np.multiply, swapped=True)

    def __truediv__(self, other: Any) -> array:
        return self._mapped(other, np.divide)

    def __neg__(self) -> array:
        return self._over(-self._memory, self.dtype, self.device)


class array1d(array):
    _default_ndim = 1


class array2d(array):
    _default_ndim = 2


class array3d(array):
    _default_ndim = 3


class array4d(array):
    _default_ndim = 4


def _shape(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, (list, tuple)):
        return tuple(int(size) for size in shape)
    return (int(shape),)


def _gpu_of(data: Any) -> int:
    """The GPU that an array with `__cuda_array_interface__` is on."""
    if isinstance(data, array):
        return data.device.ordinal
    device = getattr(data, "device", None)
    # PyTorch says index, CuPy says id.
    return int(getattr(device, "index", None) or getattr(device, "id", None) or 0)


def _new_storage(device: Device, shape: tuple[int, ...], found: Any) -> tuple[Storage, Any]:
    """Memory on a GPU, and the view that shows all of it."""
    used(device.ordinal)
    storage = Storage(device.ordinal, int(np.prod(shape, dtype=np.int64)) * found.itemsize)
    return storage, np.ndarray(shape, found, storage.mirror)


def _borrow(data: Any, dtype: Any) -> tuple[Any, Any, Storage]:
    """The element type, the view and the storage of an array on a GPU that another library has."""
    gpu = _gpu_of(data)
    used(gpu)
    if isinstance(data, array) and data._storage is not None:
        storage, view = data._storage, data._host
    else:
        storage, view = foreign(data, gpu)
    if dtype is Any:
        dtype = types.scalar_type(view.dtype)
    found, inner = numpy_type(dtype)
    if view.dtype != found:
        raise RuntimeError(f"an array of {view.dtype} on a GPU is no array of {dtype} without a copy")
    if inner and view.shape[view.ndim - len(inner) :] != inner:
        size = int(np.prod(inner, dtype=np.int64))
        if view.ndim == 0 or view.shape[-1] != size or not view.flags.c_contiguous:
            raise RuntimeError(f"an array of shape {view.shape} on a GPU does not fit elements of shape {inner}")
        view = view.reshape((*view.shape[:-1], *inner))
    parts = view.shape[view.ndim - len(inner) :]
    if inner and view.strides[view.ndim - len(inner) :] != np.empty(parts, found).strides:
        raise RuntimeError("the components of an element are not next to each other: make a contiguous copy first")
    return dtype, view, storage


def _read(data: Any, dtype: Any, copy: bool) -> tuple[Any, Any]:
    """The element type and memory for data of any kind."""
    if isinstance(data, array):
        data = data._memory if dtype is Any or dtype == data.dtype else data.numpy()
    if is_record(dtype):
        records = [value.numpy_value() if hasattr(value, "numpy_value") else value for value in data]
        return dtype, np.array(records, dtype.numpy_dtype())
    if not isinstance(data, np.ndarray):
        own = isinstance(data, (list, tuple))
        data = np.asarray(types._plain(data)) if own or not hasattr(data, "__dlpack__") else np.from_dlpack(data)
        copy = copy and not own
    if dtype is Any:
        dtype = types.scalar_type(data.dtype)
    found, inner = numpy_type(dtype)
    memory = np.array(data, found, order="C") if copy or data.dtype != found else np.asarray(data, found)
    if inner and memory.shape == inner:
        # One element is an array of one.
        memory = memory.reshape((1, *inner))
    elif inner and memory.shape[memory.ndim - len(inner) :] != inner:
        memory = np.ascontiguousarray(memory)
        size = int(np.prod(inner, dtype=np.int64))
        # Flat rows of components, as for matrices, and a flat list of them.
        if memory.ndim and memory.shape[-1] == size:
            memory = memory.reshape((*memory.shape[:-1], *inner))
        elif memory.ndim == 1 and memory.size % size == 0:
            memory = memory.reshape((-1, *inner))
        else:
            raise RuntimeError(f"data of shape {memory.shape} does not fit elements of shape {inner}")
    return dtype, memory


def zeros(shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    """An array of zeros."""
    return array(shape=() if shape is None else shape, dtype=dtype, device=device, requires_grad=requires_grad, **options)


def empty(shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    """An array whose contents mean nothing yet; here they are zero."""
    return zeros(shape, dtype, device, requires_grad, **options)


def full(shape: Any = None, value: Any = 0, dtype: Any = Any, device: Any = None, requires_grad: bool = False) -> Any:
    """An array with `value` in every element."""
    if dtype is Any:
        dtype = type(value) if types.is_composite(type(value)) else types.scalar_type(type(value))
    made = zeros(shape, dtype, device, requires_grad)
    made.fill_(value)
    return made


def ones(shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    made = zeros(shape, dtype, device, requires_grad, **options)
    made.fill_(1)
    return made


def zeros_like(source: array, device: Any = None, requires_grad: bool | None = None, **_: Any) -> Any:
    wants = source.requires_grad if requires_grad is None else requires_grad
    device = source.device if device is None else device
    return zeros(source.shape, source.dtype, device, requires_grad=wants and source._grad is not None)


def empty_like(source: array, device: Any = None, requires_grad: bool | None = None, **options: Any) -> Any:
    return zeros_like(source, device, requires_grad, **options)


def full_like(source: array, value: Any, device: Any = None, requires_grad: bool | None = None, **_: Any) -> Any:
    made = zeros_like(source, device, requires_grad)
    made.fill_(value)
    return made


def ones_like(source: array, device: Any = None, requires_grad: bool | None = None, **_: Any) -> Any:
    return full_like(source, 1, device, requires_grad)


def clone(source: array, device: Any = None, requires_grad: bool | None = None, **_: Any) -> Any:
    """A new array with the same values; a tape carries gradients through it."""
    made = zeros_like(source, device, requires_grad)
    copy(made, source)
    return made


def copy(dest: array, src: array, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None) -> None:
    """Copies `count` elements, or all of them."""
    if not isinstance(dest, array) or not isinstance(src, array):
        raise RuntimeError("copy takes two arrays")
    to, of = dest, src
    if count or dest_offset or src_offset:
        count = count or src.size - src_offset
        if dest_offset + count > dest.size or src_offset + count > src.size:
            raise RuntimeError(f"copy of {count} elements leaves an array")
        to, of = _part(dest, dest_offset, count), _part(src, src_offset, count)
    elif dest.shape != src.shape:
        if dest.size < src.size:
            raise RuntimeError(f"copy of {src.size} elements into an array of {dest.size}")
        to, of = _part(dest, 0, src.size), src.flatten()
    if to._host.dtype != of._host.dtype or to._host.shape != of._host.shape:
        raise RuntimeError("copy takes arrays of one type")
    gpu, storages = to._on_gpu()
    same = gpu is not None and of._on_gpu()[0] == gpu
    graphs.do(lambda: _move(to, of), gpu if same else None, (*storages, of._storage) if same else ())
    if dest.grad is not None and src.grad is not None:
        copy(dest.grad, src.grad, dest_offset, src_offset, count)
    from .tape import record_copy

    record_copy(dest, src)


def _part(one: array, first: int, count: int) -> array:
    flat = one.flatten()
    return flat if count == flat.size else array._over(
        flat._host[first : first + count], flat.dtype, flat.device, flat._storage
    )


def _move(to: array, of: array) -> None:
    """Copies values, by the shortest way that there is between two memories."""
    contiguous = to.is_contiguous and of.is_contiguous
    if contiguous and to._storage is not None and of._storage is not None and to.device == of.device:
        to._storage.copy(to._host, of._storage, of._host)
    elif contiguous and to._storage is not None and of._storage is None:
        to._storage.take(to._host, of._host)
    elif contiguous and of._storage is not None and to._storage is None:
        of._storage.give(of._host, to._host)
    else:
        values = of._memory
        with to._writing() as memory:
            memory[...] = values


def from_numpy(arr: Any, dtype: Any = None, shape: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """An array with a copy of NumPy's data; the last dimensions are components where they fit."""
    return array(arr, dtype=Any if dtype is None else dtype, shape=shape, device=device, requires_grad=requires_grad)


def from_dlpack(source: Any, dtype: Any = None) -> Any:
    """An array over another library's memory, without a copy."""
    kind, _ = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (1, 0)
    if int(kind) == 2 and hasattr(source, "__cuda_array_interface__"):
        return array(source, dtype=Any if dtype is None else dtype, copy=False)
    made = np.from_dlpack(source)
    return array(made, dtype=Any if dtype is None else dtype, copy=False, device="cpu")


def from_torch(t: Any, dtype: Any = None, requires_grad: bool | None = None, grad: Any = None, **_: Any) -> Any:
    """An array over a tensor's memory, without a copy; its gradient is the tensor's."""
    made = from_dlpack(t.detach(), dtype)
    if requires_grad if requires_grad is not None else t.requires_grad:
        if grad is None and t.grad is None:
            import torch

            t.grad = torch.zeros_like(t)
        made.grad = from_dlpack((t.grad if grad is None else grad).detach(), dtype)
    return made


def to_torch(a: array, requires_grad: bool | None = None) -> Any:
    """A tensor over the array's memory, without a copy."""
    import torch

    def tensor(one: array) -> Any:
        if one._storage is None:
            return torch.from_numpy(one.numpy())
        return torch.as_tensor(one, device=device_to_torch(one.device))

    made = tensor(a)
    made.requires_grad = a.requires_grad if requires_grad is None else requires_grad
    if made.requires_grad and a.grad is not None:
        made.grad = tensor(a.grad)
    return made


def device_from_torch(torch_device: Any) -> Any:
    """The device that a PyTorch device is."""
    return get_device(str(torch_device))


def device_to_torch(device: Any) -> str:
    """PyTorch's name of a device."""
    return str(get_device(device))


def stream_from_torch(stream_or_device: Any = None) -> Any:
    """The stream of a device, or of a PyTorch stream's; all work is in the default stream."""
    found = getattr(stream_or_device, "device", stream_or_device)
    return graphs.get_stream(None if found is None else device_from_torch(found))


def dtype_to_torch(dtype: Any) -> Any:
    """PyTorch's type for the scalars of a kernel type."""
    import torch

    return torch.from_numpy(np.zeros(0, dtype_to_numpy(dtype))).dtype


def dtype_from_torch(dtype: Any) -> Any:
    """The kernel type of PyTorch's numbers."""
    import torch

    return dtype_from_numpy(torch.zeros(0, dtype=dtype).numpy().dtype.type)


def to_dlpack(a: array) -> Any:
    return a.__dlpack__()


def dtype_to_numpy(dtype: Any) -> Any:
    """NumPy's type for the scalars of a kernel type."""
    return numpy_type(dtype)[0].type


def dtype_from_numpy(dtype: Any) -> Any:
    return types.scalar_type(dtype)
