// What the passes of an FFT (fft.cu of debye-gpu) do with each number of the spectrum: times the influence function.
#pragma once
#include "influence.cuh"

struct Multiply {
    const Multiplier& by;
    const Influence g;

    __device__ __forceinline__ explicit Multiply(const Multiplier& by) : by(by), g(by.cell) {}
    __device__ __forceinline__ Column column(u32 number) const { return Column(number, by.factors); }
    template <bool WITH_SUMS>
    __device__ __forceinline__ Complex times(Complex q, u32 x, const Column& column, f64 (&sums)[SUMS]) const
    {
        return multiplied<WITH_SUMS>(q, x, column, g, by.factors, by.table, sums);
    }
};
