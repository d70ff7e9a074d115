/**
 * Attention over trees of tokens, and its rotary positions.
 *
 * @module
 */
import { addScaled, dot, exp, sumOf } from './vectors';

/**
 * Attention of each token to the path that leads to it. Tokens are in depth-first order, so the path to a token is that to the one
 * before it, cut at its depth.
 *
 * @param weights - receives depth + 1 attention weights for each token and head
 * @param path - space for as many int32 as the greatest depth + 1
 */
export function attend(
  out: usize,
  weights: usize,
  queries: usize,
  keys: usize,
  values: usize,
  depths: usize,
  path: usize,
  tokens: i32,
  width: i32,
  heads: i32,
): void {
  const stride = <usize>width << 2;
  const bytes = stride / heads;
  const scale = <f32>1 / sqrt<f32>(<f32>(width / heads));
  for (let token = 0; token < tokens; token++) {
    const depth = load<i32>(depths + (<usize>token << 2));
    store<i32>(path + (<usize>depth << 2), token * <i32>stride);
    const count = <usize>(depth + 1) << 2;
    for (let head = 0; head < heads; head++) {
      const place = <usize>token * stride + <usize>head * bytes;
      const offset = <usize>head * bytes;
      softmaxOfScores(weights, queries + place, keys + offset, path, count, bytes, scale);
      for (let at: usize = 0; at < bytes; at += 16) {
        let sum = f32x4.splat(0);
        for (let p: usize = 0; p < count; p += 4) {
          const value = v128.load(values + offset + at + <usize>load<i32>(path + p));
          sum = f32x4.add(sum, f32x4.mul(v128.load32_splat(weights + p), value));
        }
        v128.store(out + place + at, sum);
      }
      weights += count;
    }
  }
}

/** Writes the softmax of the scaled scores of a query with the keys of a path. */
@inline
function softmaxOfScores(
  weights: usize,
  query: usize,
  keys: usize,
  path: usize,
  count: usize,
  bytes: usize,
  scale: f32,
): void {
  let highest: f32 = -f32.MAX_VALUE;
  for (let p: usize = 0; p < count; p += 4) {
    const score = dot(query, keys + <usize>load<i32>(path + p), bytes) * scale;
    store<f32>(weights + p, score);
    highest = max<f32>(highest, score);
  }
  const shift = f32x4.splat(highest);
  let sums = f32x4.splat(0);
  let p: usize = 0;
  for (; p + 16 <= count; p += 16) {
    const weight = exp(f32x4.sub(v128.load(weights + p), shift));
    v128.store(weights + p, weight);
    sums = f32x4.add(sums, weight);
  }
  let total = sumOf(sums);
  for (; p < count; p += 4) {
    const weight = f32x4.extract_lane(exp(f32x4.splat(load<f32>(weights + p) - highest)), 0);
    store<f32>(weights + p, weight);
    total += weight;
  }
  const factor = <f32>1 / total;
  for (p = 0; p < count; p += 4) store<f32>(weights + p, load<f32>(weights + p) * factor);
}

/**
 * The gradients of {@link attend} by queries, keys and values; adds to all three.
 *
 * @param weights - those that {@link attend} wrote
 * @param scratch - space for as many float32 as the greatest depth + 1
 */
export function attendBackward(
  queryGradients: usize,
  keyGradients: usize,
  valueGradients: usize,
  gradients: usize,
  weights: usize,
  queries: usize,
  keys: usize,
  values: usize,
  depths: usize,
  path: usize,
  scratch: usize,
  tokens: i32,
  width: i32,
  heads: i32,
): void {
  const stride = <usize>width << 2;
  const bytes = stride / heads;
  const scale = <f32>1 / sqrt<f32>(<f32>(width / heads));
  for (let token = 0; token < tokens; token++) {
    const depth = load<i32>(depths + (<usize>token << 2));
    store<i32>(path + (<usize>depth << 2), token * <i32>stride);
    const count = <usize>(depth + 1) << 2;
    for (let head = 0; head < heads; head++) {
      const offset = <usize>head * bytes;
      const place = <usize>token * stride + offset;
      const given = gradients + place;
      let mean: f32 = 0;
      for (let p: usize = 0; p < count; p += 4) {
        const other = offset + <usize>load<i32>(path + p);
        const weight = load<f32>(weights + p);
        const slope = dot(given, values + other, bytes);
        store<f32>(scratch + p, slope);
        mean += weight * slope;
        addScaled(valueGradients + other, given, weight, bytes);
      }
      for (let p: usize = 0; p < count; p += 4) {
        const other = offset + <usize>load<i32>(path + p);
        const slope = load<f32>(weights + p) * (load<f32>(scratch + p) - mean) * scale;
        addScaled(queryGradients + place, keys + other, slope, bytes);
        addScaled(keyGradients + other, queries + place, slope, bytes);
      }
      weights += count;
    }
  }
}

/**
 * Rotary position embedding (Su et al. 2021) of each head, in place; halves of a head are paired, as Llama does. With the sign -1
 * it is undone, which is its gradient.
 *
 * @param cosines - a row of half a head's width for each position
 * @param depths - the position of each row
 */
export function rotate(
  x: usize,
  cosines: usize,
  sines: usize,
  depths: usize,
  rows: i32,
  heads: i32,
  half: i32,
  sign: f32,
): void {
  for (let row = 0; row < rows; row++) {
    const table = <usize>load<i32>(depths + (<usize>row << 2)) * (<usize>half << 2);
    for (let head = 0; head < heads; head++) {
      const first = x + ((<usize>(row * heads + head) * half) << 3);
      for (let i = 0; i < half; i++) {
        const at = <usize>i << 2;
        const cosine = load<f32>(cosines + table + at);
        const sine = load<f32>(sines + table + at) * sign;
        const a = load<f32>(first + at);
        const second = first + (<usize>half << 2) + at;
        const b = load<f32>(second);
        store<f32>(first + at, a * cosine - b * sine);
        store<f32>(second, b * cosine + a * sine);
      }
    }
  }
}
