"""`warpsmith.warp`: programs written for Warp, without Warp."""

from typing import Any

import pytest

np = pytest.importorskip("numpy")

import warp_boxes  # noqa: E402
import warp_struct_tiles  # noqa: E402
import warpsmith  # noqa: E402
import warpsmith.warp as wp  # noqa: E402
from warpsmith.warp import optim  # noqa: E402

# What is tested here is the CPU's; `test_warp_cuda.py` has the GPU's.
wp.set_device("cpu")

SCALE = wp.constant(3.0)
UP = wp.constant(wp.vec3(0.0, 1.0, 0.0))


@wp.func
def scaled(x: float):
    return SCALE * x


@wp.func
def scaled(x: wp.vec3):  # noqa: F811 - an overload
    return 2.0 * x + UP - UP


@wp.kernel
def square(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def add(x: wp.array[float], y: wp.array[float], z: wp.array[float]):
    i = wp.tid()
    z[i] = x[i] + y[i]


@wp.kernel
def gather(x: wp.array[float], into: wp.array[float]):
    wp.atomic_add(into, 0, x[wp.tid()])


def make_power(exponent):
    @wp.func
    def raised(x: float):
        return wp.pow(x, float(exponent))

    @wp.kernel
    def power(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = raised(x[i]) + wp.static(exponent * 10.0)

    return power


def test_types_compute_as_kernels_do():
    v = wp.vec3(1, 2, 3)
    assert v * 2.0 == wp.vec3(2, 4, 6) and v - 1.0 * v == wp.vec3()
    assert (2.0 / v)[2] == np.float32(2) / np.float32(3)
    assert v[0:2] == wp.vec2(1, 2) and v.z == 3.0
    assert wp.mat22(1, 2, 3, 4) @ wp.vec2(1, 1) == wp.vec2(3, 7)
    assert wp.types.vector(length=5, dtype=float)(1.0)[4] == 1.0
    assert wp.transform((1, 2, 3), wp.quat_identity()).p == v
    with pytest.raises(TypeError):
        v + wp.vec2(1, 2)
    with pytest.raises(ValueError, match="3 components"):
        wp.vec3(1, 2)


def test_functions_of_the_language_run_outside_kernels():
    assert wp.dot(wp.vec3(1, 2, 3), wp.vec3(1, 2, 3)) == 14.0
    assert wp.normalize(wp.vec3(3, 0, 4)) == wp.vec3(0.6, 0, 0.8)
    # The order of the products decides over the last bit.
    assert list(wp.quat_rpy(0.1, 0.2, 0.3))[:2] == [0.03427080065011978, 0.10602051019668579]


def test_arrays_are_views_of_numpys_memory():
    a = wp.array(np.arange(6).reshape(2, 3), dtype=float)
    assert a.shape == (2, 3) and a.dtype is wp.float32
    a[1].fill_(7.0)
    assert a.numpy()[1].tolist() == [7, 7, 7]
    assert a.reshape((3, 2)).flatten().shape == (6,) and a.transpose().shape == (3, 2)
    points = wp.array([[1.0, 2, 3]], dtype=wp.vec3)
    assert points.shape == (1,) and points.list() == [wp.vec3(1, 2, 3)]
    assert (a + a).numpy()[0].tolist() == [0, 2, 4]
    assert wp.array2d(np.ones((2, 3)), dtype=float).dtype is wp.float32
    shared = np.zeros(3, np.float32)
    wp.from_dlpack(shared).fill_(2.0)
    assert shared.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="Item indexing"):
        points[0]


def test_torch_and_arrays_share_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3)
    wp.from_torch(tensor).fill_(4.0)
    assert tensor.tolist() == [4, 4, 4]
    a = wp.ones(3, dtype=float)
    wp.to_torch(a).mul_(5.0)
    assert a.numpy().tolist() == [5, 5, 5]


def test_a_launch_checks_its_arguments():
    x = wp.zeros(4, dtype=float)
    with pytest.raises(RuntimeError, match="requires 2"):
        wp.launch(square, dim=4, inputs=[x])
    with pytest.raises(RuntimeError, match="dtype"):
        wp.launch(square, dim=4, inputs=[x, wp.zeros(4, dtype=int)])
    # A converted copy would be written instead of the caller's array.
    for wrong in (np.zeros(4), np.zeros(4, np.int64), np.zeros(4, np.float16)):
        with pytest.raises(RuntimeError, match=f"NumPy's dtype {wrong.dtype}: convert it to float32"):
            wp.launch(square, dim=4, inputs=[x, wrong])
    with pytest.raises(RuntimeError, match="dimension"):
        wp.launch(square, dim=4, inputs=[x, wp.zeros((2, 2), dtype=float)])
    with pytest.raises(warpsmith.KernelRefused, match="range"):
        wp.launch(square, dim=5, inputs=[x, x])


def test_findings_name_the_line_of_the_file():
    @wp.func
    def unknown(x: float):
        # A comment, which the text that is compiled has not.
        return nothing(x)

    @wp.kernel
    def refused(x: wp.array(dtype=float)):
        x[0] = unknown(x[0])

    @wp.kernel
    def outside(x: wp.array(dtype=float)):

        i = wp.tid()
        x[i + 1] = 1.0

    places = {
        refused: (unknown.func.__code__.co_firstlineno + 3, "return nothing(x)"),
        outside: (outside.func.__code__.co_firstlineno + 4, "x[i + 1] = 1.0"),
    }
    for kernel, (line, text) in places.items():
        with pytest.raises(warpsmith.KernelRefused) as found:
            wp.launch(kernel, dim=4, inputs=[wp.zeros(4, dtype=float)])
        assert f"test_warp.py:{line}:" in str(found.value)
        assert f" {line} |         {text}" in str(found.value)


def test_closures_static_values_and_overloads():
    x = wp.array([1.0, 2.0], dtype=float)
    wp.launch(make_power(2), dim=2, inputs=[x])
    assert x.numpy().tolist() == [21, 24]
    wp.launch(make_power(3), dim=2, inputs=[wp.ones(2, dtype=float)])

    @wp.kernel
    def both(x: wp.array[float], v: wp.array[wp.vec3]):
        i = wp.tid()
        x[i] = scaled(x[i])
        v[i] = scaled(v[i])

    x, v = wp.ones(2, dtype=float), wp.ones(2, dtype=wp.vec3)
    wp.launch(both, dim=2, inputs=[x, v])
    assert x.numpy().tolist() == [3, 3] and v.numpy()[0].tolist() == [2, 2, 2]


def test_a_generic_kernel_takes_the_types_of_its_arguments():
    @wp.kernel
    def double(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
        i = wp.tid()
        y[i] = x[i] + x[i]

    for dtype in (float, int, wp.vec3, wp.float64):
        x = wp.ones(2, dtype=dtype)
        y = wp.zeros_like(x)
        wp.launch(double, dim=2, inputs=[x, y])
        assert (y.numpy() == 2).all()


class Row(wp.types.vector(length=5, dtype=wp.float32)):
    pass


def test_a_type_of_the_programs_own():
    @wp.kernel
    def first(rows: wp.array(dtype=Row), out: wp.array(dtype=float)):
        i = wp.tid()
        row = Row(1.0, 2.0, 3.0, 4.0, 5.0)
        out[i] = rows[i][0] + row[4]

    out = wp.zeros(1, dtype=float)
    wp.launch(first, dim=1, inputs=[wp.ones(1, dtype=Row), out])
    assert out.numpy().tolist() == [6]


def test_structs_as_arguments_and_as_elements():
    @wp.struct
    class Body:
        mass: float
        position: wp.vec3

    @wp.struct
    class World:
        bodies: wp.array[Body]
        gravity: float

    @wp.kernel
    def weigh(world: World, weights: wp.array[float]):
        i = wp.tid()
        weights[i] = world.bodies[i].mass * world.gravity + world.bodies[i].position[1]

    body = Body()
    body.mass, body.position = 2.0, (1, 5, 1)
    world = World()
    world.bodies, world.gravity = wp.array([body, body], dtype=Body), 10.0
    weights = wp.zeros(2, dtype=float)
    wp.launch(weigh, dim=2, inputs=[world, weights])
    assert weights.numpy().tolist() == [25, 25]


def test_an_array_given_twice_is_one_memory():
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    wp.launch(add, dim=3, inputs=[x, x], outputs=[x])
    assert x.numpy().tolist() == [2, 4, 6]
    long = wp.zeros(4, dtype=float)
    with pytest.raises(NotImplementedError, match="overlap"):
        wp.launch(add, dim=3, inputs=[long[0:3], x], outputs=[long[1:4]])


def test_a_tape_carries_gradients_back():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y, z = wp.zeros_like(x), wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
        wp.launch(add, dim=3, inputs=[x, y], outputs=[z])
    tape.backward(grads={z: wp.array([1.0, 1.0, 2.0], dtype=float)})
    assert x.grad.numpy().tolist() == [3, 5, 14]
    assert tape.gradients[x] is x.grad
    tape.zero()
    assert x.grad.numpy().tolist() == [0, 0, 0]
    called = []
    with wp.Tape() as tape:
        tape.record_func(lambda: called.append(1), [x])
        wp.launch(square, dim=3, inputs=[x], outputs=[y], record_tape=False)
    tape.backward()
    assert called == [1]


def test_a_copy_hands_its_gradient_on():
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        copied = wp.clone(x)
        wp.launch(square, dim=2, inputs=[copied], outputs=[y])
    y.grad.fill_(1.0)
    tape.backward()
    assert x.grad.numpy().tolist() == [2, 4]


def test_a_graph_notes_launches_down():
    x, y = wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, y], outputs=[y])
    assert y.numpy().tolist() == [0, 0]
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [2, 2]
    command = wp.launch(add, dim=2, inputs=[x, y], outputs=[y], record_cmd=True)
    command.set_param_by_name("x", y)
    command.launch()
    assert y.numpy().tolist() == [4, 4]


def test_hash_grids_and_meshes_answer_kernels():
    @wp.kernel
    def count(grid: wp.uint64, points: wp.array[wp.vec3], near: wp.array[int]):
        i = wp.hash_grid_point_id(grid, wp.tid())
        query = wp.hash_grid_query(grid, points[i], 1.0)
        j = int(0)
        while wp.hash_grid_query_next(query, j):
            if wp.length(points[i] - points[j]) <= 1.0:
                near[i] = near[i] + 1

    @wp.kernel
    def centre(mesh: wp.uint64, out: wp.array[wp.vec3]):
        out[0] = wp.mesh_eval_position(mesh, 0, 0.25, 0.25)

    points = wp.array([[0.0, 0, 0], [0.5, 0, 0], [9.0, 0, 0]], dtype=wp.vec3)
    near = wp.zeros(3, dtype=int)
    grid = wp.HashGrid(8, 8, 8)
    grid.build(points, 1.0)
    wp.launch(count, dim=3, inputs=[grid.id, points, near])
    assert near.numpy().tolist() == [2, 2, 1]
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
    out = wp.zeros(1, dtype=wp.vec3)
    wp.launch(centre, dim=1, inputs=[mesh.id, out])
    assert out.numpy()[0].tolist() == [4.625, 0, 0]


def test_trees_find_what_a_look_at_every_box_finds():
    points = np.abs(warp_boxes.queries())
    expected = warp_boxes.expected_searches(points)
    assert (expected > 0).any(axis=0).all()
    for moved in (False, True):
        found = warp_boxes.run_searches(points, moved)
        for column, name in enumerate(warp_boxes.SEARCHES):
            assert np.array_equal(found[:, column], expected[:, column]), name


def test_a_tree_says_what_does_not_fit():
    low, high = wp.zeros(2, dtype=wp.vec3), wp.zeros(3, dtype=wp.vec3)
    with pytest.raises(RuntimeError, match="uppers must be as long as lowers"):
        wp.Bvh(low, high)
    with pytest.raises(RuntimeError, match="uppers should be an array of wp.vec3"):
        wp.Bvh(low, wp.zeros(2, dtype=float))
    with pytest.raises(ValueError, match="Unknown BVH constructor 'best'"):
        wp.Bvh(low, low, constructor="best")

    @wp.kernel
    def wrong(tree: wp.uint64, out: wp.array[int]):
        query = wp.bvh_query_aabb(tree, wp.vec3(), wp.vec3(), 77)
        out[0] = 1

    tree = wp.Bvh(low, low)
    with pytest.raises(warpsmith.KernelRefused, match="no such object, or no such part"):
        wp.launch(wrong, dim=1, inputs=[tree.id, wp.zeros(1, dtype=int)])


def test_a_mesh_finds_faces_and_sides():
    points = warp_boxes.queries(scale=1.3)
    _, indices = warp_boxes.ball()
    for winding in (False, True):
        found = warp_boxes.run_faces(points, winding)
        expected = warp_boxes.expected_boxes_of_faces(points)
        assert np.array_equal(found[:, 0], expected) and np.array_equal(found[:, 1], expected)
        # A ball finds fewer faces than its box, and none that is not in there.
        assert (found[:, 2] > 0).any() and (found[:, 2] == 0).any()
        radius = np.linalg.norm(points, axis=1)
        clear = (radius < 0.93) | (radius > 1.01)
        for column in (3, 4):
            assert np.array_equal(found[clear, column], np.where(radius < 1, -1, 1)[clear])
        assert np.array_equal(found[clear, 5] % 2, (radius < 1)[clear]) and np.array_equal(found[:, 6], found[:, 5] > 0)
        assert np.array_equal(found[:, 7], indices[::3][: len(points)])
        assert found[0, 8] == 0 and found[1, 8] == 99 and found[:, 8].min() < 90


def test_a_mesh_has_groups_and_velocities():
    @wp.kernel
    def look(mesh: wp.uint64, out: wp.array[float], faces: wp.array[int]):
        i = wp.tid()
        t = float(-1.0)
        u = float(-1.0)
        v = float(-1.0)
        sign = float(-1.0)
        normal = wp.vec3()
        face = int(-1)
        p = wp.vec3(0.25, 0.25, 5.0)
        root = wp.mesh_get_group_root(mesh, i)
        if wp.mesh_query_ray(mesh, p, wp.vec3(0.0, 0.0, -1.0), 9.0, t, u, v, sign, normal, face, root):
            out[i] = t
        faces[i] = face
        out[i + 3] = wp.mesh_eval_velocity(mesh, i, 0.5, 0.25)[0] + wp.mesh_get(mesh).velocities[0][1]

    corners = np.array([[x, y, z] for z in range(3) for x, y in ((0, 0), (1, 0), (0, 1))], np.float32)
    moving = np.zeros_like(corners)
    moving[:, 0] = np.arange(9)
    moving[0, 1] = 100.0
    indices = wp.array(np.arange(9, dtype=np.int32), dtype=int)
    groups = wp.array([0, 1, 0], dtype=int)
    mesh = wp.Mesh(
        wp.array(corners, dtype=wp.vec3), indices, velocities=wp.array(moving, dtype=wp.vec3), groups=groups
    )
    out, faces = wp.zeros(6, dtype=float), wp.zeros(3, dtype=int)
    wp.launch(look, dim=2, inputs=[mesh.id, out, faces])
    # The nearest face of the first group is the last, of the second the middle one.
    assert faces.numpy().tolist() == [2, 1, 0]
    assert out.numpy().tolist() == [3.0, 4.0, 0.0, 100.75, 103.75, 0.0]
    with pytest.raises(RuntimeError, match="one for each face"):
        wp.Mesh(mesh.points, indices, groups=wp.zeros(2, dtype=int))
    with pytest.raises(RuntimeError, match="one for each point"):
        mesh.velocities = wp.zeros(2, dtype=wp.vec3)


def test_a_ray_has_a_gradient():
    @wp.kernel
    def distance(mesh: wp.uint64, start: wp.array[wp.vec3], out: wp.array[float]):
        hit = wp.mesh_query_ray(mesh, start[0], wp.vec3(0.0, 0.0, -1.0), 9.0)
        out[0] = hit.t + 3.0 * hit.u

    points = wp.array([[0.0, 0, 0], [1.0, 0, 1.0], [0.0, 1.0, 0]], dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
    start = wp.array([[0.25, 0.25, 5.0]], dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(distance, dim=1, inputs=[mesh.id, start, out])
    tape.backward(out)
    # The plane is z = x, and the first weight is 1 - x - y.
    assert out.numpy()[0] == 4.75 + 1.5
    assert start.grad.numpy()[0].tolist() == [-4.0, -3.0, 1.0]

    @wp.kernel
    def corner(mesh: wp.uint64, x: wp.array[float], out: wp.array[float]):
        out[0] = wp.mesh_get(mesh).points[0][0] * x[0]

    with wp.Tape() as tape:
        wp.launch(corner, dim=1, inputs=[mesh.id, wp.ones(1, dtype=float, requires_grad=True), out])
    with pytest.raises(warpsmith.KernelRefused, match="the gradient of a mesh's array"):
        tape.backward(out)


def test_textures_are_sampled_between_texels():
    @wp.kernel
    def look(one: wp.Texture1D, many: wp.array[wp.Texture2D], out: wp.array2d[float]):
        i = wp.tid()
        out[i, 0] = wp.texture_sample(one, 0.5, dtype=float)
        pair = wp.texture_sample(many[i], wp.vec2(0.25, 0.25), dtype=wp.vec2f)
        out[i, 1] = pair[0] + 10.0 * pair[1]
        out[i, 2] = float(one.width + 10 * many[i].height)

    line = wp.Texture1D(np.array([1, 2, 4, 8], np.float32))
    squares = [
        wp.Texture2D(np.full((2, 3 + n, 2), n * 51, np.uint8), filter_mode=wp.TextureFilterMode.CLOSEST)
        for n in (1, 5)
    ]
    out = wp.zeros((2, 3), dtype=float)
    wp.launch(look, dim=2, inputs=[line, wp.array(squares, dtype=wp.Texture2D), out])
    assert np.allclose(out.numpy(), [[3, 2.2, 24], [3, 11, 24]])
    line.copy_from(np.array([0, 4, 4, 0], np.float32))
    wp.launch(look, dim=2, inputs=[line, wp.array(squares, dtype=wp.Texture2D), out])
    assert out.numpy()[0, 0] == 4.0
    assert squares[0].numpy().shape == (2, 4, 2) and (squares[0].width, squares[0].depth) == (4, 1)


def test_a_texture_says_what_does_not_fit():
    with pytest.raises(ValueError, match="Unsupported texture dtype"):
        wp.Texture1D(np.zeros(4))
    with pytest.raises(ValueError, match="1, 2 or 4 channels"):
        wp.Texture1D(np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match="CLOSEST"):
        wp.Texture1D(np.zeros(4, np.int32), filter_mode=wp.TextureFilterMode.LINEAR)
    with pytest.raises(NotImplementedError, match="num_mip_levels"):
        wp.Texture1D(np.zeros(4, np.float32), num_mip_levels=0)

    @wp.kernel
    def look(plane: wp.Texture2D, out: wp.array[float]):
        out[0] = wp.texture_sample(plane, 0.5, 0.5, dtype=float)

    with pytest.raises(RuntimeError, match="expects a Texture2D, but got a Texture1D"):
        wp.launch(look, dim=1, inputs=[wp.Texture1D(np.zeros(4, np.float32)), wp.zeros(1, dtype=float)])


@wp.kernel
def count_down(counter: wp.array[int], total: wp.array[int]):
    total[0] += counter[0]
    counter[0] = counter[0] - 1


@pytest.mark.parametrize("captured", (False, True))
def test_loops_and_branches_of_the_host(captured):
    counter, total = wp.array([4], dtype=int), wp.zeros(1, dtype=int)

    def once(step):
        assert step == 7
        wp.launch(count_down, dim=1, inputs=[counter, total])

    def work():
        wp.capture_while(counter, once, step=7)
        wp.capture_if(counter, on_true=once, step=7)
        wp.capture_if(total, on_true=once, on_false=None, step=7)

    if captured:
        with wp.ScopedCapture() as capture:
            work()
        assert total.numpy()[0] == 0
        wp.capture_launch(capture.graph)
    else:
        work()
    assert (counter.numpy()[0], total.numpy()[0]) == (-1, 10)
    if captured:
        counter.fill_(2)
        wp.capture_launch(capture.graph)
        assert (counter.numpy()[0], total.numpy()[0]) == (-1, 13)
    with pytest.raises(TypeError, match="int32"):
        wp.capture_while(wp.zeros(1, dtype=float), once)
    with pytest.raises(TypeError, match="callable or a Graph"):
        wp.capture_if(counter, on_true=3)


def test_an_indexed_array_reaches_the_elements_that_it_names():
    @wp.kernel
    def grow(a: wp.indexedarray2d(dtype=float), b: wp.indexedarray[float], out: wp.array[float]):
        i, j = wp.tid()
        a[i, j] = a[i, j] + b[i]
        out[i] = float(a.shape[1])

    data = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4), dtype=float)
    rows, scale = wp.array([2, 0], dtype=int), wp.array([5.0, 6.0, 7.0], dtype=float, requires_grad=True)
    chosen = wp.indexedarray2d(data, [rows, None])
    assert chosen.shape == (2, 4) and chosen.numpy()[0].tolist() == [8, 9, 10, 11]
    out = wp.zeros(2, dtype=float)
    wp.launch(grow, dim=chosen.shape, inputs=[chosen, wp.indexedarray(scale, rows), out])
    assert data.numpy().tolist() == [[5, 6, 7, 8], [4, 5, 6, 7], [15, 16, 17, 18]] and out.numpy().tolist() == [4, 4]
    assert chosen.contiguous().shape == (2, 4)
    with pytest.raises(RuntimeError, match="expects an indexedarray"):
        wp.launch(grow, dim=(2, 4), inputs=[data, wp.indexedarray(scale, rows), out])
    with pytest.raises(RuntimeError, match="wp.int32 or None"):
        wp.indexedarray(data, [scale])


@wp.func_native(snippet="WP_TILE_SYNC();")
def wait(): ...


@wp.kernel(enable_backward=False)
def waiting(x: wp.array[int]):
    i = wp.tid()
    x[i] = i
    wait()
    x[i] += 1


def test_a_block_of_the_cpu_waits_for_nobody():
    x = wp.zeros(3, dtype=int)
    wp.launch(waiting, dim=3, inputs=[x])
    assert x.numpy().tolist() == [1, 2, 3]
    assert wp.get_suggested_block_size(waiting, "cpu") == (1, 1)
    with pytest.raises(TypeError):
        wp.get_suggested_block_size(wait)


@wp.func
def sum_and_product(a: float, b: float):
    return a + b, a * b


@wp.func
def clipped(x: Any, least: Any):
    return wp.max(x, least)


def offset_lambda(shift):
    return lambda x, y: x * SCALE + y - shift


def test_map_calls_a_function_for_each_element():
    a, b = wp.array([1.0, 2.0, 3.0], dtype=float), wp.array([4.0, 5.0, 6.0], dtype=float)
    assert wp.map(lambda x, y: x + 2.0 * y, a, b).numpy().tolist() == [9.0, 12.0, 15.0]
    assert wp.map(offset_lambda(0.5), a, b).numpy().tolist() == [6.5, 10.5, 14.5]
    assert wp.map(offset_lambda(1.5), a, b).numpy().tolist() == [5.5, 9.5, 13.5]
    both = wp.map(sum_and_product, a, b)
    assert [one.numpy().tolist() for one in both] == [[5, 7, 9], [4, 10, 18]]
    wp.map(wp.clamp, a, 1.5, 2.5, out=a)
    assert a.numpy().tolist() == [1.5, 2.0, 2.5]
    assert wp.map(clipped, wp.array([1, 5], dtype=int), 3).numpy().tolist() == [3, 5]
    points = wp.array([[1.0, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    moved = wp.map(wp.transform_point, wp.transform(wp.vec3(1, 0, 0), wp.quat_identity()), points)
    assert moved.dtype is wp.vec3 and moved.numpy().tolist() == [[2, 2, 3], [5, 5, 6]]

    def far(x, y):
        return wp.length(x) > y

    assert wp.map(far, points, 5.0).numpy().tolist() == [False, True]


def test_map_broadcasts_and_carries_gradients():
    column = wp.array(np.arange(3.0).reshape(3, 1), dtype=float, requires_grad=True)
    row = wp.array([1.0, 10.0], dtype=float)
    with wp.Tape() as tape:
        made = wp.map(wp.mul, column, row)
    assert made.shape == (3, 2) and made.requires_grad
    assert np.array_equal(made.numpy(), np.outer(np.arange(3.0), [1, 10]))
    tape.backward(grads={made: wp.ones((3, 2), dtype=float)})
    assert column.grad.numpy().tolist() == [[11.0]] * 3
    kernel = wp.map(wp.mul, column, row, return_kernel=True)
    out = wp.zeros((3, 2), dtype=float)
    wp.launch(kernel, dim=(3, 2), inputs=[column, row], outputs=[out])
    assert np.array_equal(out.numpy(), made.numpy())


def test_map_says_what_does_not_fit():
    a = wp.ones(3, dtype=float)
    for wrong, message in [
        (lambda: wp.map(wp.sin, 1.0), "at least one warp.array"),
        (lambda: wp.map(lambda x: x, a, a), "does not match expected number of function arguments"),
        (lambda: wp.map(wp.sin, a, out=wp.zeros(3, dtype=int)), "dtype int32 does not match expected dtype float32"),
        (lambda: wp.map(wp.sin, a, out=wp.zeros(4, dtype=float)), "shape .* does not match expected shape"),
        (lambda: wp.map(wp.add, a, wp.ones(2, dtype=float)), "broadcast"),
        (lambda: wp.map(3, a), "must be a callable function"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            wrong()


@wp.func_native("return x + 1.0f;", adj_snippet="adj_x += adj_ret;")
def native_step(x: float) -> float: ...


@wp.func
def square_root(x: float):
    return wp.sqrt(x)


@wp.func_grad(square_root)
def adj_square_root(x: float, adj_ret: float):
    if x > 0.0:
        wp.adjoint[x] += 0.5 / wp.sqrt(x) * adj_ret


@wp.func
def take_place(counter: wp.array[int], places: wp.array[int], i: int):
    place = wp.atomic_add(counter, 0, 1)
    places[i] = place
    return place


@wp.func_replay(take_place)
def replay_take_place(counter: wp.array[int], places: wp.array[int], i: int):
    return places[i]


def test_native_code_names_itself_on_the_cpu():
    @wp.kernel
    def step(x: wp.array[float]):
        x[wp.tid()] = native_step(x[wp.tid()])

    with pytest.raises(warpsmith.KernelRefused, match=r"`func_native` \(`native_step`\)"):
        wp.launch(step, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_gradients_and_replays_of_ones_own():
    @wp.kernel
    def roots(x: wp.array[float], y: wp.array[float]):
        y[wp.tid()] = square_root(x[wp.tid()])

    x = wp.array([0.0, 4.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(roots, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [0.0, 0.25]

    @wp.kernel
    def collect(counter: wp.array[int], places: wp.array[int], x: wp.array[float], y: wp.array[float]):
        i = wp.tid()
        if x[i] > 0.0:
            y[take_place(counter, places, i)] = x[i] * x[i]

    x = wp.array([3.0, -1.0, 5.0, 7.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    counter, places = wp.zeros(1, dtype=int), wp.zeros(4, dtype=int)
    with wp.Tape() as tape:
        wp.launch(collect, dim=4, inputs=[counter, places, x], outputs=[y])
    assert counter.numpy()[0] == 3
    tape.backward(grads={y: wp.array([1.0, 10.0, 100.0], dtype=float)})
    weights = np.array([1.0, 10.0, 100.0])[places.numpy()]
    expected = np.where(x.numpy() > 0, 2 * x.numpy() * weights, 0.0)
    assert counter.numpy()[0] == 3 and np.array_equal(x.grad.numpy(), expected)


def test_arrays_made_inside_a_graph_are_new_each_time():
    x, total = wp.array([1.0, 2.0], dtype=float), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        sums = wp.zeros(1, dtype=float)
        wp.launch(gather, dim=2, inputs=[x, sums])
        wp.launch(gather, dim=1, inputs=[sums, total])
        filled = wp.full(2, 7.0, dtype=float)
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert sums.numpy()[0] == 3.0 and total.numpy()[0] == 9.0 and filled.numpy().tolist() == [7.0, 7.0]


def test_utilities():
    x = wp.array([3, 1, 2], dtype=int)
    assert wp.utils.array_sum(x) == 6 and wp.utils.array_inner(x, x) == 14
    scanned = wp.zeros_like(x)
    wp.utils.array_scan(x, scanned, inclusive=False)
    assert scanned.numpy().tolist() == [0, 3, 4]
    keys, values = wp.array([3, 1, 2, 0, 0, 0], dtype=int), wp.array([0, 1, 2, 0, 0, 0], dtype=int)
    wp.utils.radix_sort_pairs(keys, values, 3)
    assert values.numpy()[:3].tolist() == [1, 2, 0]


def test_optimisers_step_against_the_gradient():
    for dtype in (float, wp.vec3):
        for make in (optim.Adam, optim.SGD):
            x = wp.ones(2, dtype=dtype)
            make([x], lr=0.5).step([wp.ones(2, dtype=dtype)])
            assert np.allclose(x.numpy(), 0.5)


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match="RegisteredGLBuffer is not in warpsmith.warp"):
        wp.RegisteredGLBuffer
    with pytest.raises(NotImplementedError, match="IsoSurfaceNets is not in warpsmith.warp"):
        wp.geometry.IsoSurfaceNets(4, 4, 4)
    with pytest.raises(RuntimeError, match="there is no device 'cuda:99' here: there is cpu"):
        wp.get_device("cuda:99")
    with pytest.raises(NotImplementedError, match="render.UsdRenderer is not in warpsmith.warp"):
        wp.render.UsdRenderer("out.usd")

    @wp.kernel
    def tiled(tree: wp.uint64, x: wp.array[wp.vec3]):
        found = wp.tile_bvh_query_aabb(tree, x[0], x[1])

    with pytest.raises(warpsmith.KernelRefused, match="tile_bvh_query_aabb"):
        wp.launch_tiled(tiled, dim=1, inputs=[0, wp.zeros(2, dtype=wp.vec3)], block_dim=32)


def test_tiles_carry_gradients():
    @wp.kernel
    def squares(x: wp.array2d[float], y: wp.array[float]):
        i, j = wp.tid()
        t = wp.tile_load(x[i], shape=4)
        wp.tile_store(y, wp.tile_sum(t * t), offset=i)

    x = wp.array(np.arange(8.0).reshape(2, 4), dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(squares, dim=2, inputs=[x], outputs=[y], block_dim=32)
    tape.backward(grads={y: wp.array([1.0, 10.0], dtype=float)})
    assert y.numpy().tolist() == [14.0, 126.0]
    assert x.grad.numpy().tolist() == [[0.0, 2.0, 4.0, 6.0], [80.0, 100.0, 120.0, 140.0]]


@pytest.mark.parametrize("kernel", warp_struct_tiles.KERNELS, ids=lambda kernel: kernel.key)
def test_tiles_are_made_of_structs(kernel):
    assert np.allclose(warp_struct_tiles.run(kernel, 32), warp_struct_tiles.expected(kernel), rtol=1e-6)


def test_meshes_answer_points_and_rays():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    cube = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(faces, dtype=int))

    @wp.kernel
    def ask(mesh: wp.uint64, p: wp.array[wp.vec3], out: wp.array2d[float]):
        i = wp.tid()
        near = wp.mesh_query_point(mesh, p[i], 10.0)
        side = wp.mesh_query_point_sign_normal(mesh, p[i], 10.0)
        q = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
        out[i, 0] = wp.length(q - p[i]) * near.sign
        out[i, 1] = side.sign
        ray = wp.mesh_query_ray(mesh, p[i], wp.vec3(2.0, 0.0, 0.0), 10.0)
        if ray.result:
            out[i, 2] = ray.t
            out[i, 3] = ray.normal[0] * ray.sign

    points = wp.array([[0.25, 0.5, 0.5], [-1.0, 0.4, 0.6], [2.0, 0.5, 0.5]], dtype=wp.vec3)
    out = wp.zeros((3, 4), dtype=float)
    wp.launch(ask, dim=3, inputs=[cube.id, points], outputs=[out])
    expected = [[-0.25, -1.0, 0.375, -1.0], [1.0, 1.0, 0.5, -1.0], [1.0, 1.0, 0.0, 0.0]]
    assert np.allclose(out.numpy(), expected)


def test_a_surface_is_closed_and_faces_outwards():
    at = np.stack(np.meshgrid(*[np.arange(12.0)] * 3, indexing="ij"), -1)
    field = wp.array(np.linalg.norm(at - 5.3, axis=-1), dtype=float)
    surface = wp.geometry.IsoSurfaceMarchingCubes(12, 12, 12)
    surface.surface(field, 4.0)
    triangles = surface.indices.numpy().reshape(-1, 3)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    assert {(a, b) for a, b in edges} == {(b, a) for a, b in edges}
    a, b, c = np.moveaxis(surface.verts.numpy()[triangles], 1, 0)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert 0.93 < volume / (4 / 3 * np.pi * 4.0**3) < 1.0


@wp.kernel
def faces_by_boxes(mesh: wp.uint64, at: wp.array[wp.vec3], counts: wp.array2d[int], sums: wp.array2d[int]):
    i = wp.tid()
    low, high = at[i], at[i] + wp.vec3(0.4, 0.3, 0.5)
    face = int(0)
    faces = wp.mesh_query_aabb(mesh, low, high)
    while wp.mesh_query_aabb_next(faces, face):
        counts[i, 0] += 1
        sums[i, 0] += face * face
    boxes = wp.bvh_query_aabb(wp.mesh_get_bvh(mesh), low, high)
    while wp.bvh_query_next(boxes, face):
        counts[i, 1] += 1
        sums[i, 1] += face * face
    rays = wp.bvh_query_ray(wp.mesh_get_bvh(mesh), low, wp.vec3(0.0, 0.0, 1.0))
    while wp.bvh_query_next(rays, face):
        counts[i, 2] += 1


def test_the_boxes_of_a_mesh_are_a_tree():
    rng = np.random.default_rng(5)
    corners = rng.random((60, 3)).astype(np.float32)
    indices = rng.permutation(60).reshape(-1, 3)
    mesh = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(indices.reshape(-1), dtype=int))
    places = rng.random((40, 3)).astype(np.float32)
    counts, sums = wp.zeros((40, 3), dtype=int), wp.zeros((40, 2), dtype=int)
    wp.launch(faces_by_boxes, dim=40, inputs=[mesh.id, wp.array(places, dtype=wp.vec3), counts, sums])
    counts, sums = counts.numpy(), sums.numpy()
    triangles = corners[indices]
    low, high = triangles.min(1), triangles.max(1)
    above = (low[None, :, :2] <= places[:, None, :2]) & (places[:, None, :2] <= high[None, :, :2])
    expected = (above.all(2) & (places[:, None, 2] <= high[None, :, 2])).sum(1)
    assert (counts[:, 0] == counts[:, 1]).all() and counts[:, 1].sum() > 40
    assert (sums[:, 0] == sums[:, 1]).all()
    assert (counts[:, 2] == expected).all() and expected.sum() > 10


@wp.kernel
def voxels(
    whole: wp.uint64, vectors: wp.uint64, numbers: wp.array3d(dtype=int), out: wp.array3d(dtype=wp.vec3)
):
    i, j, k = wp.tid()
    numbers[i, j, k] = wp.volume_lookup_i(whole, i - 1, j - 1, k - 1)
    out[i, j, k] = wp.volume_lookup_v(vectors, i - 1, j - 1, k - 1)


def test_volumes_of_integers_and_vectors():
    rng = np.random.default_rng(3)
    shape = (9, 20, 5)
    integers, directions = rng.integers(-99, 99, shape), rng.random((*shape, 3)).astype(np.float32)
    whole = wp.Volume.load_from_numpy(integers.astype(np.int32), bg_value=-7)
    vectors = wp.Volume.load_from_numpy(directions, bg_value=(1.0, 2.0, 3.0))
    # Beyond the array lie voxels of its last blocks, and places that no block has.
    bordered = tuple(count + 12 for count in shape)
    numbers, out = wp.zeros(bordered, dtype=int), wp.zeros(bordered, dtype=wp.vec3)
    wp.launch(voxels, dim=bordered, inputs=[whole.id, vectors.id, numbers, out])
    expected = np.full(bordered, -7)
    expected[1:10, 1:21, 1:6] = integers
    assert (numbers.numpy() == expected).all()
    expected = np.full((*bordered, 3), (1.0, 2.0, 3.0), np.float32)
    expected[1:10, 1:21, 1:6] = directions
    assert (out.numpy() == expected).all()
    with pytest.raises(RuntimeError, match="four dimensions"):
        wp.Volume.load_from_numpy(integers, bg_value=(1.0, 2.0, 3.0))
    with pytest.raises(NotImplementedError, match="vectors of 4"):
        wp.Volume.load_from_numpy(integers, bg_value=(1.0, 2.0, 3.0, 4.0))


@wp.kernel
def number(volume: wp.uint64, count: wp.array(dtype=int), index: wp.array(dtype=int)):
    k = wp.tid()
    count[k] = wp.volume_voxel_count(volume)
    index[k] = wp.volume_lookup_index(volume, 0, 0, k)


def test_voxels_of_an_array_have_numbers():
    volume = wp.Volume.load_from_numpy(np.ones((10, 10, 10), np.float32), device="cpu")
    count, index = wp.zeros(10, dtype=int, device="cpu"), wp.zeros(10, dtype=int, device="cpu")
    wp.launch(number, dim=10, inputs=[volume.id, count, index], device="cpu")
    # Eight leaves of 512 voxels; of a leaf the last coordinate is next to each other.
    assert count.numpy().tolist() == [8 * 512] * 10
    assert index.numpy().tolist()[:8] == list(range(8))
    assert index.numpy()[8] % 512 == 0 and index.numpy()[9] == index.numpy()[8] + 1


def test_a_file_that_is_no_volume_is_refused():
    for data in (b"", b"NanoVDB0", b"x" * 400, b"NanoVDB0" + bytes(4) + b"\1\0\0\0" + bytes(300)):
        with pytest.raises((RuntimeError, ValueError), match="NanoVDB"):
            wp.Volume.load_from_nvdb(data)


def test_a_gradient_of_another_size_is_refused_before_it_is_written() -> None:
    x, y = wp.array(np.ones(8, np.float32), dtype=float), wp.zeros(8, dtype=float)
    short, whole = wp.zeros(2, dtype=float), wp.zeros(8, dtype=float)
    with pytest.raises(RuntimeError, match="cannot launch: `x`"):
        wp.launch(square, dim=8, inputs=[x], outputs=[y], adj_inputs=[short], adj_outputs=[whole], adjoint=True)
