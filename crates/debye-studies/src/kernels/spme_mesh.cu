// Charges interpolated onto a mesh with B-splines, and forces back: a thread for each ion (Meitz & Hattrup 2023).
//
// Interpolation reads 16 bytes for an ion, or 12 · ORDER more where weights are stored, and adds to ORDER³ points one by
// one, as floats, so that it depends on scheduling. Forces read ORDER³ points; a thread alone adds to its force.
//
// Defines: ORDER; STORED, whether the weights come from memory, as in the paper's code, or are made by the thread.
#include "spme_shared.cuh"

// M_n at the n points from the one at or below the ion downwards, and the derivatives.
__device__ __forceinline__ void splines(f32 f, f32 (&w)[ORDER], f32 (&d)[ORDER])
{
    w[0] = 1.0f - f;
    w[1] = f;
#pragma unroll
    for (u32 n = 3; n <= ORDER; ++n) {
        if (n == ORDER) {
            d[0] = -w[0];
#pragma unroll
            for (u32 k = 1; k < ORDER - 1; ++k) d[k] = w[k - 1] - w[k];
            d[ORDER - 1] = w[ORDER - 2];
        }
        const f32 part = 1.0f / f32(n - 1);
        w[n - 1] = part * f * w[n - 2];
#pragma unroll
        for (u32 k = 1; k < n - 1; ++k) {
            w[n - 1 - k] = part * ((f + f32(k)) * w[n - 2 - k] + (f32(n - k) - f) * w[n - 1 - k]);
        }
        w[0] *= part * (1.0f - f);
    }
}

// The first point along an axis, brought back into the mesh.
__device__ __forceinline__ u32 first(f32 u, u32 points)
{
    const i32 at = i32(floorf(u)) + 1 - i32(ORDER);
    return u32(at < 0 ? at + i32(points) : at);
}

__device__ __forceinline__ u32 wrapped(u32 at, u32 points) { return at < points ? at : at - points; }

// Ions hold u = K r/L of three axes and the charge.
KERNEL(debye_interpolate, MESH_THREADS, MeshWork work, const f32* ions, const f32* stored, f32* mesh)
{
    const u32 ion = blockIdx.x * MESH_THREADS + threadIdx.x;
    if (ion >= work.ions) return;
    const float4 u = reinterpret_cast<const float4*>(ions)[ion];
    f32 wx[ORDER], wy[ORDER], wz[ORDER];
#if STORED
#pragma unroll
    for (u32 k = 0; k < ORDER; ++k) {
        wx[k] = stored[(3 * ion) * ORDER + k];
        wy[k] = stored[(3 * ion + 1) * ORDER + k];
        wz[k] = stored[(3 * ion + 2) * ORDER + k];
    }
#else
    f32 unused[ORDER];
    splines(u.x - floorf(u.x), wx, unused);
    splines(u.y - floorf(u.y), wy, unused);
    splines(u.z - floorf(u.z), wz, unused);
#endif
    const u32 n = work.points, x0 = first(u.x, n), y0 = first(u.y, n), z0 = first(u.z, n);
    for (u32 a = 0; a < ORDER; ++a) {
        const u64 x = u64(wrapped(x0 + a, n)) * n;
        for (u32 b = 0; b < ORDER; ++b) {
            const u64 row = (x + wrapped(y0 + b, n)) * n;
            const f32 part = u.w * wx[a] * wy[b];
            for (u32 c = 0; c < ORDER; ++c) atomicAdd(mesh + row + wrapped(z0 + c, n), part * wz[c]);
        }
    }
}

// Adds the force and half the potential energy of every ion to those that it has.
KERNEL(debye_forces_back, MESH_THREADS, MeshWork work, const f32* ions, const u32* slots, const f32* mesh, f32* forces)
{
    const u32 ion = blockIdx.x * MESH_THREADS + threadIdx.x;
    if (ion >= work.ions) return;
    const float4 u = reinterpret_cast<const float4*>(ions)[ion];
    f32 wx[ORDER], wy[ORDER], wz[ORDER], dx[ORDER], dy[ORDER], dz[ORDER];
    splines(u.x - floorf(u.x), wx, dx);
    splines(u.y - floorf(u.y), wy, dy);
    splines(u.z - floorf(u.z), wz, dz);
    const u32 n = work.points, x0 = first(u.x, n), y0 = first(u.y, n), z0 = first(u.z, n);
    f32 phi = 0.0f, gx = 0.0f, gy = 0.0f, gz = 0.0f;
    for (u32 a = 0; a < ORDER; ++a) {
        const u64 x = u64(wrapped(x0 + a, n)) * n;
        for (u32 b = 0; b < ORDER; ++b) {
            const u64 row = (x + wrapped(y0 + b, n)) * n;
            f32 along = 0.0f, derivative = 0.0f;
            for (u32 c = 0; c < ORDER; ++c) {
                const f32 value = mesh[row + wrapped(z0 + c, n)];
                along += wz[c] * value;
                derivative += dz[c] * value;
            }
            phi += wx[a] * wy[b] * along;
            gx += dx[a] * wy[b] * along;
            gy += wx[a] * dy[b] * along;
            gz += wx[a] * wy[b] * derivative;
        }
    }
    const f32 q = work.coulomb * u.w, per = -q * work.per_length;
    float4* force = reinterpret_cast<float4*>(forces) + slots[ion];
    const float4 old = *force;
    *force = make_float4(old.x + per * gx, old.y + per * gy, old.z + per * gz, old.w + 0.5f * q * phi);
}
