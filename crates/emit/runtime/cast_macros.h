// The emitted text writes `wp::float(x)` and `wp::int(x)`, which are not names of C++. These come
// last: no piece above may see them.
//@ float
#define float(x) cast_float(x)
//@ adj_float
#define adj_float(x, adj_x, adj_ret) adj_cast_float(x, adj_x, adj_ret)
//@ int
#define int(x) cast_int(x)
//@ adj_int
#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)
