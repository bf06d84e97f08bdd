"""Series of whole lines along the last axis of arrays: those of scipy.fft, computed with real FFTs only.

On CPUs the bits of JAX's real FFT of a line do not depend on its position among other lines. Those of the complex FFT
do, because lines that do not fill a SIMD vector use another algorithm. So the FFT of a complex line is computed from
those of its real and imaginary parts. Sine and cosine series are FFTs of the line and its mirror image, twice as long.
No product is added to anything, because compilers may fuse a multiplication and an addition in some places only.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .lines import moveaxis_unfused


def complex_fft(lines):
    """scipy.fft.fft of complex numbers [..., line, n], as [..., k, line]."""
    n = lines.shape[-1]
    (a, b), (c, d) = (
        part(moveaxis_unfused(jnp.fft.rfft(real_and_imaginary(lines)), -1, -2)) for part in (jnp.real, jnp.imag)
    )
    nonnegative_k = jax.lax.complex(a - d, c + b)
    negative_k = jax.lax.complex(a + d, b - c)[..., 1 : (n + 1) // 2, :]
    return jnp.concatenate([nonnegative_k, negative_k[..., ::-1, :]], -2)


def complex_ifft(coefficients, n: int):
    """scipy.fft.ifft of [..., k, line], as [..., line, n]."""
    nonnegative_k = coefficients[..., : n // 2 + 1, :]
    negative_k = jnp.concatenate([coefficients[..., :1, :], coefficients[..., ::-1, :][..., : n // 2, :]], -2)
    (a, b), (c, d) = real_and_imaginary(nonnegative_k), real_and_imaginary(negative_k)
    pair = jax.lax.complex(a + c, b - d), jax.lax.complex(b + d, c - a)
    return jax.lax.complex(*(0.5 * jnp.fft.irfft(moveaxis_unfused(each, -1, -2), n) for each in pair))


def real_and_imaginary(numbers):
    """Real and imaginary parts of complex numbers, stacked along a new first axis."""
    return jnp.stack([jnp.real(numbers), jnp.imag(numbers)])


def dct_type2(line):
    """scipy.fft.dct, type 2: for values at centres between two walls, at which they are mirrored."""
    n = line.shape[-1]
    mirrored = jnp.fft.rfft(jnp.concatenate([line, line[..., ::-1]], -1))[..., :n]
    cos, sin = half_cell_phase(line)
    use_real_part = cos >= sin  # divide by the larger one
    return jnp.where(use_real_part, jnp.real(mirrored), jnp.imag(mirrored)) * (1 / np.where(use_real_part, cos, sin))


def idct_type2(coefficients, n: int):
    """scipy.fft.idct, type 2."""
    cos, sin = half_cell_phase(coefficients)
    mirrored = jax.lax.complex(coefficients * cos, coefficients * sin)
    return jnp.fft.irfft(pad_last_axis(mirrored, 0, 1), 2 * n)[..., :n]


def half_cell_phase(line):
    """cos and sin of π k/(2n), the phase of coefficient k, because the wall is half a cell before the first value."""
    n = line.shape[-1]
    angle = np.pi / (2 * n) * np.arange(n).reshape(*[1] * (line.ndim - 1), n)
    return np.cos(angle).astype(line.dtype), np.sin(angle).astype(line.dtype)


def dst_type1(line):
    """scipy.fft.dst, type 1, of all values except the last one, which lies on a wall.

    The other wall is one cell before the first value. Coefficient k belongs to sin(π k x/L); coefficient 0 is zero.
    """
    n, interior = line.shape[-1], line[..., :-1]
    odd = jnp.concatenate([pad_last_axis(-interior, 1, 1), interior[..., ::-1]], -1)
    return jnp.imag(jnp.fft.rfft(odd))[..., :n]


def idst_type1(coefficients, n: int):
    """scipy.fft.idst, type 1, with zero on the wall; ignores coefficient 0."""
    odd = pad_last_axis(-coefficients[..., 1:], 1, 1)
    return pad_last_axis(jnp.fft.irfft(jax.lax.complex(jnp.zeros_like(odd), odd), 2 * n)[..., 1:n], 0, 1)


def pad_last_axis(array, before: int, after: int):
    return jnp.pad(array, [(0, 0)] * (array.ndim - 1) + [(before, after)])
