// Dense matrices in arrays, row after row: products, Cholesky factors, solutions.
//@ dense_product
namespace wp {
WP_INLINE void dense_product(int rows, int cols, int terms, bool s, bool t, const float* a, const float* b, float* c, bool adds) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < terms; ++k) sum += a[s ? k * rows + i : i * terms + k] * b[t ? j * terms + k : k * cols + j];
            c[i * cols + j] = adds ? c[i * cols + j] + sum : sum;
        }
}
}
//@ dense_gemm
namespace wp {
WP_INLINE void dense_gemm(int m, int n, int p, int s, int t, const array_t<float>& a, const array_t<float>& b, array_t<float>& c) {
    if (s >> 1 || t >> 1) return;
    dense_product(m, n, p, s, t, a.data, b.data, c.data, false);
}
}
//@ dense_grad
namespace wp {
WP_INLINE float* dense_grad(const array_t<float>& a, const array_t<float>& adj_a) { return adj_a.data ? adj_a.data : a.grad; }
}
//@ adj_dense_gemm
namespace wp {
WP_INLINE void adj_dense_gemm(int m, int n, int p, int s, int t, const array_t<float>& a, const array_t<float>& b, const array_t<float>& c, int, int, int, int,
                              int, array_t<float>& adj_a, array_t<float>& adj_b, const array_t<float>& adj_c) {
    float *grad_a = dense_grad(a, adj_a), *grad_b = dense_grad(b, adj_b), *grad_c = dense_grad(c, adj_c);
    if (!grad_c) return;
    if (grad_a && s) dense_product(p, m, n, false, true, b.data, grad_c, grad_a, true);
    if (grad_a && !s) dense_product(m, p, n, false, !t, grad_c, b.data, grad_a, true);
    if (grad_b) dense_product(p, n, m, !s, false, a.data, grad_c, grad_b, true);
}
}
//@ dense_chol
namespace wp {
WP_INLINE void dense_chol(int n, const array_t<float>& a, float regularization, array_t<float>& factor) {
    float* l = factor.data;
    for (int j = 0; j < n; ++j) {
        float pivot = a.data[j * n + j] + regularization;
        for (int k = 0; k < j; ++k) pivot -= l[j * n + k] * l[j * n + k];
        pivot = ::sqrtf(pivot);
        l[j * n + j] = pivot;
        for (int i = j + 1; i < n; ++i) {
            float sum = a.data[i * n + j];
            for (int k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = sum * (1.0f / pivot);
        }
    }
}
}
//@ dense_substitute
namespace wp {
// Solves L L^T x = b, first forwards, then backwards.
WP_INLINE void dense_substitute(int n, const float* l, const float* b, float* x) {
    for (int i = 0; i < n; ++i) {
        float sum = b[i];
        for (int j = 0; j < i; ++j) sum -= l[i * n + j] * x[j];
        x[i] = sum / l[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        float sum = x[i];
        for (int j = i + 1; j < n; ++j) sum -= l[j * n + i] * x[j];
        x[i] = sum / l[i * n + i];
    }
}
}
//@ dense_subs
namespace wp {
WP_INLINE void dense_subs(int n, const array_t<float>& l, const array_t<float>& b, array_t<float>& x) { dense_substitute(n, l.data, b.data, x.data); }
}
//@ dense_solve
namespace wp {
WP_INLINE void dense_solve(int n, const array_t<float>&, const array_t<float>& l, const array_t<float>& b, array_t<float>& x) {
    dense_substitute(n, l.data, b.data, x.data);
}
}
//@ adj_dense_solve
namespace wp {
WP_INLINE void adj_dense_solve(int n, const array_t<float>& a, const array_t<float>& l, const array_t<float>& b, const array_t<float>& x, int,
                               array_t<float>& adj_a, array_t<float>&, array_t<float>& adj_b, const array_t<float>& adj_x) {
    float *grad_a = dense_grad(a, adj_a), *grad_b = dense_grad(b, adj_b), *grad_x = dense_grad(x, adj_x);
    if (!grad_x || !grad_b) return;
    dense_substitute(n, l.data, grad_x, grad_b);
    for (int i = 0; grad_a && i < n; ++i)
        for (int j = 0; j < n; ++j) grad_a[i * n + j] -= grad_b[i] * x.data[j];
}
}
