"""`warpsmith.warp` on a CUDA GPU. Without one, everything here is skipped."""

import runpy
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

import warp_boxes  # noqa: E402
import warp_struct_tiles  # noqa: E402
from run_warp_program import with_our_imports  # noqa: E402
from test_warp_examples import differences  # noqa: E402
from test_warp_examples import run as run_program  # noqa: E402

import warpsmith  # noqa: E402
import warpsmith.warp as wp  # noqa: E402

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a CUDA GPU")


@pytest.fixture(autouse=True)
def on_the_gpu():
    with wp.ScopedDevice("cuda:0"):
        yield


def test_questions_leave_what_they_leave_on_the_cpu(tmp_path):
    program = Path(__file__).with_name("warp_queries.py")
    ours, theirs = [], []
    for device, found in (("cuda:0", ours), ("cpu", theirs)):
        done, arrays = run_program("unfused" if device != "cpu" else "warpsmith", program, [], tmp_path, device)
        assert done.returncode == 0, done.stderr
        found.append(arrays)
    found = differences(ours[0], theirs[0], ())
    assert len(found) > 20
    assert all(distance <= 1e-5 for _, distance in found.values()), found


@wp.struct
class Line:
    points: wp.array(dtype=wp.vec3)
    scale: float
    shift: wp.vec3


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def stretch(line: Line, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = line.scale * line.points[i] + line.shift


@wp.kernel
def count(x: wp.array(dtype=int), into: wp.array(dtype=int)):
    wp.atomic_add(into, x[wp.tid()] % 4, 1)


@wp.kernel
def squares(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i])


@wp.kernel
def copy_rows(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 10.0 * x[i, j]


def test_the_gpu_is_the_current_device_and_has_its_facts():
    device = wp.get_device()
    assert device.is_cuda and str(device) == "cuda:0" and device == "cuda:0"
    assert wp.get_device("cuda") == device and wp.get_preferred_device() == device
    assert device.arch >= 50 and device.sm_count > 0 and 0 < device.free_memory <= device.total_memory
    with wp.ScopedDevice("cpu"):
        assert wp.zeros(1, dtype=float).device.is_cpu
    assert wp.zeros(1, dtype=float).device == device


def test_a_kernel_runs_where_its_arrays_are():
    n = 100_003
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_gpu = [wp.array(x, dtype=float), wp.array(y, dtype=float)]
    for block_dim in (256, 64):
        wp.launch(saxpy, dim=n, inputs=[*on_gpu, 2.0], block_dim=block_dim)
    assert np.array_equal(on_gpu[1].numpy(), 4 * x + 1)
    host = wp.array(x, dtype=float, device="cpu")
    with pytest.raises(RuntimeError, match="is on cpu, and the launch on cuda:0"):
        wp.launch(saxpy, dim=n, inputs=[host, on_gpu[1], 2.0])
    with pytest.raises(RuntimeError, match="is on cuda:0, and the launch on cpu"):
        wp.launch(saxpy, dim=n, inputs=[host, on_gpu[1], 2.0], device="cpu")


def test_structs_carry_arrays():
    line = Line()
    line.points = wp.array(np.arange(12.0).reshape(4, 3), dtype=wp.vec3)
    line.scale, line.shift = 2.0, wp.vec3(1.0, 0.0, -1.0)
    out = wp.zeros(4, dtype=wp.vec3)
    wp.launch(stretch, dim=4, inputs=[line], outputs=[out])
    assert np.array_equal(out.numpy(), 2 * np.arange(12.0).reshape(4, 3) + [1, 0, -1])


def test_atomics_count_every_thread():
    into = wp.zeros(4, dtype=int)
    wp.launch(count, dim=100_000, inputs=[wp.array(np.arange(100_000), dtype=int), into])
    assert into.numpy().tolist() == [25_000] * 4


def test_a_tape_goes_back_over_launches_and_copies():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(saxpy, dim=3, inputs=[x], outputs=[y, 3.0])
        moved = wp.clone(y)
        wp.launch(squares, dim=3, inputs=[moved], outputs=[total])
    tape.backward(total)
    assert total.numpy()[0] == 126.0
    assert x.grad.numpy().tolist() == [18.0, 36.0, 54.0]
    tape.zero()
    assert not x.grad.numpy().any()


def test_a_backward_launch_by_hand():
    x, y = wp.array([1.0, 2.0], dtype=float), wp.zeros(2, dtype=float)
    given, into = wp.array([1.0, 10.0], dtype=float), wp.zeros(2, dtype=float)
    adjoints = {"adj_inputs": [into, given, 0.0], "adj_outputs": []}
    wp.launch(saxpy, dim=2, inputs=[x, y, 3.0], adjoint=True, **adjoints)
    assert into.numpy().tolist() == [3.0, 30.0]


def test_views_reach_the_same_memory():
    x = wp.array(np.arange(24.0).reshape(4, 6), dtype=float)
    y = wp.zeros((4, 6), dtype=float)
    wp.launch(copy_rows, dim=(2, 2), inputs=[x[1:3, ::3], y[2:4, 1:5:2]])
    expected = np.zeros((4, 6))
    expected[2:4, 1:5:2] = 10 * np.arange(24.0).reshape(4, 6)[1:3, ::3]
    assert np.array_equal(y.numpy(), expected)
    wp.launch(copy_rows, dim=(6, 4), inputs=[x.transpose(), y.transpose()])
    assert np.array_equal(y.numpy(), 10 * x.numpy())
    y[1].fill_(7.0)
    y[2:, 3].zero_()
    assert y.numpy()[1].tolist() == [7.0] * 6 and y.numpy()[3].tolist() == [180, 190, 200, 0, 220, 230]


def test_values_go_to_and_from_the_host():
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    seen = x.numpy()
    seen[0] = 9.0
    assert x.numpy()[0] == 1.0
    x.fill_(5.0)
    wp.launch(saxpy, dim=3, inputs=[x, x, 1.0])
    assert x.list() == [10.0] * 3
    x.zero_()
    host = wp.zeros(5, dtype=float, device="cpu")
    wp.copy(host, wp.full(3, 4.0, dtype=float), dest_offset=1)
    assert host.numpy().tolist() == [0, 4, 4, 4, 0]
    wp.copy(x, host, src_offset=2, count=3)
    assert x.numpy().tolist() == [4, 4, 0]
    x.assign([1.0, 2.0, 3.0])
    assert x.to("cpu").device.is_cpu and x.to("cpu").numpy().tolist() == [1, 2, 3]
    assert wp.utils.array_sum(x) == 6.0


def test_a_captured_graph_is_one_cuda_graph():
    x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(saxpy, dim=4, inputs=[x, y, 1.0])
        wp.copy(x, y)
        scratch = wp.zeros(3, dtype=wp.vec3)
        scratch.fill_(wp.vec3(1.0, 2.0, 3.0))
    assert not y.numpy().any()
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [4.0] * 4 and scratch.numpy().tolist() == [[1.0, 2.0, 3.0]] * 3
    # A launch, a copy, zeros, and a column for each component.
    assert [len(one) for one in capture.graph.cuda_graphs] == [6]
    # What the host writes is in the next launch.
    x.assign([1.0, 0.0, 0.0, 0.0])
    y.zero_()
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_graph_goes_through_the_host_where_it_must():
    x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    total = wp.zeros(1, dtype=float)
    grid, points = wp.HashGrid(8, 8, 8), wp.array(np.random.default_rng(4).random((50, 3)), dtype=wp.vec3)
    counts = wp.zeros(50, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(saxpy, dim=4, inputs=[x, y, 1.0])
        wp.launch(saxpy, dim=4, inputs=[x, y, 1.0])
        grid.build(points, 0.2)
        counts.zero_()
        wp.launch(near, dim=50, inputs=[grid.id, points, counts])
        wp.launch(squares, dim=4, inputs=[y], outputs=[total])
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [4.0] * 4 and total.numpy()[0] == 4 * 4.0 + 4 * 16.0
    assert len(capture.graph.cuda_graphs) == 2 and (counts.numpy() >= 1).all()


def test_a_graph_has_launches_forward_and_backward():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            total.zero_()
            wp.launch(squares, dim=3, inputs=[x], outputs=[total])
        tape.zero()
        tape.backward(total)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert total.numpy()[0] == 14.0 and x.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    assert len(capture.graph.cuda_graphs) == 1


def test_arrays_are_filled_on_the_gpu():
    for dtype, value in [
        (float, 2.5), (wp.float16, 1.5), (wp.uint8, 7), (wp.float64, -3.25), (wp.int64, 1 << 40), (bool, True),
        (wp.vec3, wp.vec3(1.0, 2.0, 3.0)), (wp.vec3h, wp.vec3h(1.0, 2.0, 3.0)), (wp.mat22d, wp.mat22d(1, 2, 3, 4)),
        (wp.types.vector(3, wp.uint8), wp.types.vector(3, wp.uint8)(1, 2, 3)),
    ]:  # fmt: skip
        on_gpu, on_cpu = wp.zeros((7, 1001), dtype=dtype), wp.zeros((7, 1001), dtype=dtype, device="cpu")
        for one in (on_gpu, on_cpu):
            one.fill_(value)
        assert np.array_equal(on_gpu.numpy(), on_cpu.numpy()), dtype
        on_gpu[3].zero_()
        assert not on_gpu.numpy()[3].any() and np.array_equal(on_gpu.numpy()[4], on_cpu.numpy()[4])


@wp.func_native(
    """
    const float y = x + 1.0f;
    return y * y;
    """,
    adj_snippet="adj_x += 2.0f * (x + 1.0f) * adj_ret;",
)
def native_square(x: float) -> float: ...


@wp.kernel
def native_squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = native_square(x[i])


def test_native_code_runs_forward_and_backward():
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(native_squares, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.numpy().tolist() == [4.0, 9.0] and x.grad.numpy().tolist() == [4.0, 6.0]


def test_map_runs_on_the_gpu():
    x = wp.array(np.arange(6.0).reshape(2, 3), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.map(lambda a, b: a * a + b, x, wp.array([1.0, 2.0, 3.0], dtype=float))
    tape.backward(grads={y: wp.ones((2, 3), dtype=float)})
    assert y.device == "cuda:0" and np.array_equal(y.numpy(), x.numpy() ** 2 + [1, 2, 3])
    assert np.array_equal(x.grad.numpy(), 2 * x.numpy())
    assert wp.map(native_square, x).numpy()[1, 2] == 36.0


def test_a_launch_that_is_kept_takes_other_arguments():
    x, y = wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    kept = wp.launch(saxpy, dim=2, inputs=[x, y, 1.0], record_cmd=True)
    kept.launch()
    kept.set_param_by_name("a", 5.0)
    kept.launch()
    assert y.numpy().tolist() == [6.0, 6.0]


def test_memory_comes_back():
    before = wp.get_mempool_used_mem_current("cuda:0")
    x = wp.zeros(1 << 20, dtype=float)
    assert wp.get_mempool_used_mem_current("cuda:0") >= before + (4 << 20)
    del x
    assert wp.get_mempool_used_mem_current("cuda:0") == before


def test_tensors_share_their_memory():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    t = torch.arange(4, dtype=torch.float32, device="cuda:0", requires_grad=True)
    x = wp.from_torch(t)
    assert x.device == "cuda:0" and x.ptr == t.data_ptr()
    y = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(saxpy, dim=4, inputs=[x], outputs=[y, 3.0])
    tape.backward(grads={y: wp.ones(4, dtype=float)})
    assert t.grad.tolist() == [3.0] * 4
    back = wp.to_torch(y)
    assert back.data_ptr() == y.ptr and back.tolist() == [0, 3, 6, 9]
    back.detach().add_(1.0)
    assert y.numpy().tolist() == [1, 4, 7, 10]
    vectors = wp.from_torch(torch.ones((5, 3), device="cuda:0"), dtype=wp.vec3)
    assert vectors.shape == (5,) and vectors.numpy().shape == (5, 3)


def test_arrays_of_other_libraries_are_passed_as_they_are():
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(4, dtype=cupy.float32), cupy.ones(4, dtype=cupy.float32)
    wp.launch(saxpy, dim=4, inputs=[x, y, 2.0])
    assert y.tolist() == [1, 3, 5, 7]
    assert cupy.asarray(wp.full(3, 2.0, dtype=float)).tolist() == [2, 2, 2]


@wp.kernel
def near(grid: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    n = int(0)
    for other in wp.hash_grid_query(grid, points[i], 0.1):
        if wp.length(points[other] - points[i]) < 0.1:
            n += 1
    counts[i] = n


@wp.kernel
def look(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), signs: wp.array(dtype=float), hits: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, points[i], 10.0)
    signs[i] = found.sign
    ray = wp.mesh_query_ray(mesh, points[i], wp.vec3(0.0, 0.0, -1.0), 10.0)
    if ray.result:
        hits[i] = ray.t


def both(kernel, arguments):
    """What the kernel leaves on the GPU and on the CPU."""
    results = []
    for device in ("cuda:0", "cpu"):
        with wp.ScopedDevice(device):
            given = arguments()
            wp.launch(kernel, dim=len(given[1]), inputs=given)
            results.append([one.numpy().copy() for one in given if isinstance(one, wp.array)])
    return results


def test_a_hash_grid_finds_what_it_finds_on_the_cpu():
    points = np.random.default_rng(1).random((3000, 3)).astype(np.float32)
    kept = []

    def arguments():
        grid = wp.HashGrid(16, 16, 16)
        given = wp.array(points, dtype=wp.vec3)
        grid.build(given, 0.1)
        kept.append(grid)
        return [grid.id, given, wp.zeros(len(points), dtype=int)]

    ours, theirs = both(near, arguments)
    assert np.array_equal(ours[1], theirs[1]) and ours[1].max() > 5


def test_a_mesh_answers_as_on_the_cpu():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    points = (np.random.default_rng(2).random((500, 3)) * 2 - 0.5).astype(np.float32)
    kept = []

    def arguments():
        mesh = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(faces, dtype=int))
        kept.append(mesh)
        n = len(points)
        return [mesh.id, wp.array(points, dtype=wp.vec3), wp.zeros(n, dtype=float), wp.zeros(n, dtype=float)]

    ours, theirs = both(look, arguments)
    assert np.array_equal(ours[1], theirs[1]) and {-1.0, 1.0} == set(ours[1])
    assert np.allclose(ours[2], theirs[2], atol=1e-5)


def test_trees_and_meshes_find_what_they_find_on_the_cpu():
    points = warp_boxes.queries(300, 1.3)
    for run in (warp_boxes.run_searches, warp_boxes.run_faces):
        for again in (False, True):
            results = []
            for device in ("cuda:0", "cpu"):
                with wp.ScopedDevice(device):
                    results.append(run(points, again))
            # Rounded once or twice, a point on the border of two faces may change sides.
            assert (results[0] != results[1]).any(axis=1).sum() <= 2, run
    within = np.abs(warp_boxes.queries())
    assert np.array_equal(warp_boxes.run_searches(within), warp_boxes.expected_searches(within))


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(8, 8), dtype=float)
    for k in range(4):
        x = wp.tile_load(a, shape=(8, 8), offset=(i * 8, k * 8))
        y = wp.tile_load(b, shape=(8, 8), offset=(k * 8, j * 8))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 8, j * 8))


@wp.kernel
def sums(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=100)
    wp.tile_store(y, wp.tile_sum(t * t), offset=i)


@pytest.mark.parametrize("block_dim", [32, 64, 256])
def test_blocks_work_on_tiles_together(block_dim):
    rng = np.random.default_rng(3)
    a, b = rng.random((32, 32), np.float32), rng.random((32, 32), np.float32)
    x, y = (wp.array(one, dtype=float, requires_grad=True) for one in (a, b))
    z = wp.zeros((32, 32), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(product, dim=(4, 4), inputs=[x, y], outputs=[z], block_dim=block_dim)
    tape.backward(grads={z: wp.ones((32, 32), dtype=float)})
    assert np.allclose(z.numpy(), a @ b, rtol=1e-5)
    assert np.allclose(x.grad.numpy(), np.ones((32, 32)) @ b.T, rtol=1e-5)
    assert np.allclose(y.grad.numpy(), a.T @ np.ones((32, 32)), rtol=1e-5)
    rows = wp.array(rng.random((5, 100), np.float32), dtype=float)
    out = wp.zeros(5, dtype=float)
    wp.launch_tiled(sums, dim=5, inputs=[rows], outputs=[out], block_dim=block_dim)
    assert np.allclose(out.numpy(), (rows.numpy() ** 2).sum(axis=1), rtol=1e-5)


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=16, offset=i * 16)
    wp.tile_store(y, t + t, offset=i * 16)


def test_a_tile_that_is_overwritten_keeps_no_gradient():
    x = wp.array(np.arange(64.0), dtype=float, requires_grad=True)
    between = wp.zeros(64, dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch_tiled(doubled, dim=4, inputs=[x], outputs=[between], block_dim=32)
            wp.launch(squares, dim=64, inputs=[between], outputs=[total])
    tape.backward(total)
    assert np.array_equal(x.grad.numpy(), 16 * np.arange(64.0))


def test_what_a_gpu_cannot_do_is_said():
    @wp.kernel
    def searched(grid: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        y[i] = wp.mesh_eval_velocity(grid, 0, x[i][0], x[i][1])

    x = wp.zeros(1, dtype=wp.vec3)
    with pytest.raises((RuntimeError, warpsmith.KernelRefused), match="mesh_eval_velocity"):
        wp.launch(searched, dim=1, inputs=[wp.uint64(0), x, x])
    with pytest.raises(RuntimeError, match="there is no device 'cuda:99'"):
        wp.zeros(1, dtype=float, device="cuda:99")


#: Kernels of `warp_tiles.py` that a GPU runs forward only.
#: In those by every thread each stores the same element, so that many take its gradient.
BY_EVERY_THREAD = {"sum", "dot", "vectors"}
NOT_BACKWARD = {"cholesky", "spd_cholesky", "spd_lower_solve", "spd_upper"}


@pytest.fixture(scope="module")
def tile_kernels(tmp_path_factory):
    """The kernels with tiles that Warp is compared with on the CPU."""
    program = Path(__file__).with_name("warp_tiles.py").read_text()
    path = tmp_path_factory.mktemp("tiles") / "tile_kernels.py"
    path.write_text(with_our_imports(program.split("# What each kernel leaves")[0]))
    return {name[2:]: kernel for name, kernel in runpy.run_path(str(path)).items() if name.startswith("k_")}


@pytest.mark.parametrize("block_dim", [1, 32, 256])
def test_tiles_hold_what_they_hold_on_the_cpu(tile_kernels, block_dim):
    rng = np.random.default_rng(7)
    refused = set()
    # These are about the threads of a block, of which the CPU has one; each adds to an element.
    about_threads = ["threads", "edges"] + (["assign_element"] if block_dim > 1 else [])
    for name, kernel in sorted((n, k) for n, k in tile_kernels.items() if n not in about_threads):
        pairs = "fft" in name or "vectors" in name
        kind = wp.vec2 if pairs else float
        shape = (2, 256, 2) if "fft" in name else (12, 16, 2) if pairs else (12, 16)
        given = rng.random(shape).astype(np.float32)
        if "spd" in name:
            given[:12, :12] = given[:12, :12] @ given[:12, :12].T + np.eye(12, dtype=np.float32)
        before, adjoint = rng.random(shape).astype(np.float32), rng.random(shape).astype(np.float32)
        left = []
        for device in ("cpu", "cuda:0"):
            a, b = (wp.array(one, dtype=kind, requires_grad=True, device=device) for one in (given, before))
            try:
                with wp.Tape() as tape:
                    wp.launch_tiled(kernel, dim=1, inputs=[a], outputs=[b], block_dim=block_dim, device=device)
                left.append([b.numpy().copy()])
                if name in BY_EVERY_THREAD:
                    continue
                b.grad.assign(adjoint)
                tape.backward()
                left[-1] += [a.grad.numpy().copy(), b.grad.numpy().copy()]
            except RuntimeError as error:
                assert "the runtime header lacks" in str(error), (name, str(error))
                refused.add(name)
        for theirs, ours in zip(*left) if len(left) == 2 else ():
            assert np.linalg.norm(ours - theirs) <= 1e-5 * np.linalg.norm(theirs), name
    assert refused == NOT_BACKWARD


@pytest.mark.parametrize("kernel", warp_struct_tiles.KERNELS, ids=lambda kernel: kernel.key)
def test_tiles_are_made_of_structs(kernel):
    for block_dim in (32, 64):
        left = warp_struct_tiles.run(kernel, block_dim)
        assert np.allclose(left, warp_struct_tiles.expected(kernel), rtol=1e-6), block_dim
