/**
 * Operations on vectors of four float32, which are compiled into their callers.
 *
 * @module
 */
/** `out += x`, of so many bytes. */
@inline
export function addVectors(out: usize, x: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) {
    v128.store(out + at, f32x4.add(v128.load(out + at), v128.load(x + at)));
  }
}

/** `out += factor · x`, of so many bytes. */
@inline
export function addScaled(out: usize, x: usize, factor: f32, bytes: usize): void {
  const scale = f32x4.splat(factor);
  for (let at: usize = 0; at < bytes; at += 16) {
    v128.store(out + at, f32x4.add(v128.load(out + at), f32x4.mul(scale, v128.load(x + at))));
  }
}

/** The scalar product of vectors of so many bytes. */
@inline
export function dot(a: usize, b: usize, bytes: usize): f32 {
  let sums = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) {
    sums = f32x4.add(sums, f32x4.mul(v128.load(a + at), v128.load(b + at)));
  }
  return sumOf(sums);
}

/** The sum of the four elements. */
@inline
export function sumOf(values: v128): f32 {
  const pairs = f32x4.add(values, v128.shuffle<f32>(values, values, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

/** The logistic function. */
@inline
export function sigmoid(x: v128): v128 {
  const one = f32x4.splat(1);
  return f32x4.div(one, f32x4.add(one, exp(f32x4.neg(x))));
}

/** The exponential, to about one unit in the last place: x = n·ln 2 + r, and a polynomial of r (Cephes, Moshier 1989). */
@inline
export function exp(given: v128): v128 {
  const x = f32x4.min(f32x4.max(given, f32x4.splat(-87.0)), f32x4.splat(88.0));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504088896341)));
  const high = f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375)));
  const r = f32x4.sub(high, f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  let sum = f32x4.splat(1.9875691500e-4);
  sum = f32x4.add(f32x4.mul(sum, r), f32x4.splat(1.3981999507e-3));
  sum = f32x4.add(f32x4.mul(sum, r), f32x4.splat(8.3334519073e-3));
  sum = f32x4.add(f32x4.mul(sum, r), f32x4.splat(4.1665795894e-2));
  sum = f32x4.add(f32x4.mul(sum, r), f32x4.splat(1.6666665459e-1));
  sum = f32x4.add(f32x4.mul(sum, r), f32x4.splat(5.0000001201e-1));
  const result = f32x4.add(f32x4.add(f32x4.mul(f32x4.mul(sum, r), r), r), f32x4.splat(1));
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(result, power);
}
