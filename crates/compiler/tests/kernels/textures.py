# A sample's type is a template argument, which the adjoint has not; the level of detail is written out.
# emit: var_4 = wp::texture_sample<float>(var_picture, var_3, var_5);
# emit: const wp::float32 var_5 = -1.0;
# emit: wp::adj_texture_sample(var_picture, var_3, var_5, adj_picture, adj_3, adj_5, adj_4);
import warp as wp


@wp.kernel
def sample(picture: wp.Texture2D, out: wp.array[float]):
    i = wp.tid()
    uv = wp.vec2f(0.25, 0.75)
    out[i] = wp.texture_sample(picture, uv, dtype=float)
