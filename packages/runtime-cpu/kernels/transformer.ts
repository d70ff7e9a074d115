/**
 * The arithmetic of the embedded model, in AssemblyScript: `pnpm gen` compiles it to `src/gen/transformer.wasm`,
 * which is committed. Its operations are those of WebAssembly with 128-bit vectors, so that results are equal on every machine.
 *
 * Arguments are addresses of float32 or int32 arrays in the memory, aligned to 16 bytes, and their lengths. Matrices are stored row
 * by row; widths are multiples of 4. Functions that say "adds" add to their output, the others overwrite it.
 *
 * @module
 */

import { dot, exp, sigmoid, sumOf } from './vectors';

export { attend, attendBackward, rotate } from './attention';
export { gather, multiply, multiplyAdd, multiplyTransposedAdd, scatterAdd, transpose } from './matrices';

/** The first address that is free for arrays. */
export function heapBase(): usize {
  return __heap_base;
}

/** Root-mean-square normalisation (Zhang & Sennrich 2019): `out = x · scale · w`, with the scale of each row. */
export function normalize(out: usize, scales: usize, x: usize, w: usize, rows: i32, width: i32, epsilon: f32): void {
  const bytes = <usize>width << 2;
  for (let row = 0; row < rows; row++) {
    const from = x + <usize>row * bytes;
    const to = out + <usize>row * bytes;
    const scale = <f32>1 / sqrt<f32>(dot(from, from, bytes) / <f32>width + epsilon);
    store<f32>(scales + (<usize>row << 2), scale);
    const factor = f32x4.splat(scale);
    for (let at: usize = 0; at < bytes; at += 16) {
      v128.store(to + at, f32x4.mul(f32x4.mul(v128.load(from + at), factor), v128.load(w + at)));
    }
  }
}

/** The gradients of {@link normalize} by its input and its weights; adds to both. */
export function normalizeBackward(
  xGradients: usize,
  wGradients: usize,
  gradients: usize,
  x: usize,
  w: usize,
  scales: usize,
  rows: i32,
  width: i32,
): void {
  const bytes = <usize>width << 2;
  for (let row = 0; row < rows; row++) {
    const place = <usize>row * bytes;
    const from = x + place;
    const given = gradients + place;
    const scale = load<f32>(scales + (<usize>row << 2));
    let sums = f32x4.splat(0);
    for (let at: usize = 0; at < bytes; at += 16) {
      const weighted = f32x4.mul(v128.load(given + at), v128.load(from + at));
      sums = f32x4.add(sums, f32x4.mul(weighted, v128.load(w + at)));
      const ofWeight = v128.load(wGradients + at);
      v128.store(wGradients + at, f32x4.add(ofWeight, f32x4.mul(weighted, f32x4.splat(scale))));
    }
    const pull = f32x4.splat((sumOf(sums) * scale * scale * scale) / <f32>width);
    const factor = f32x4.splat(scale);
    const to = xGradients + place;
    for (let at: usize = 0; at < bytes; at += 16) {
      const direct = f32x4.mul(f32x4.mul(v128.load(given + at), v128.load(w + at)), factor);
      const change = f32x4.sub(direct, f32x4.mul(v128.load(from + at), pull));
      v128.store(to + at, f32x4.add(v128.load(to + at), change));
    }
  }
}

/** The gated unit SwiGLU (Shazeer 2020): `out = silu(gate) · up`. */
export function gated(out: usize, gate: usize, up: usize, count: i32): void {
  for (let at: usize = 0; at < <usize>count << 2; at += 16) {
    const given = v128.load(gate + at);
    v128.store(out + at, f32x4.mul(f32x4.mul(given, sigmoid(given)), v128.load(up + at)));
  }
}

/** The gradients of {@link gated}; they overwrite the gate and the unit. */
export function gatedBackward(gate: usize, up: usize, gradients: usize, count: i32): void {
  const one = f32x4.splat(1);
  for (let at: usize = 0; at < <usize>count << 2; at += 16) {
    const given = v128.load(gate + at);
    const gradient = v128.load(gradients + at);
    const share = sigmoid(given);
    const slope = f32x4.mul(share, f32x4.add(one, f32x4.mul(given, f32x4.sub(one, share))));
    v128.store(gate + at, f32x4.mul(f32x4.mul(gradient, v128.load(up + at)), slope));
    v128.store(up + at, f32x4.mul(gradient, f32x4.mul(given, share)));
  }
}

/**
 * Turns logits into log-probabilities at each row's temperature, in place, and reads the target's and the entropy, in nats.
 *
 * @param columns - the number of logits in a row
 */
export function scoreTargets(
  logits: usize,
  targets: usize,
  temperatures: usize,
  logprobs: usize,
  entropies: usize,
  rows: i32,
  columns: i32,
): void {
  const bytes = <usize>columns << 2;
  for (let row = 0; row < rows; row++) {
    const from = logits + <usize>row * bytes;
    const at4 = <usize>row << 2;
    const factor = f32x4.splat(<f32>1 / load<f32>(temperatures + at4));
    let highest = f32x4.splat(-f32.MAX_VALUE);
    for (let at: usize = 0; at < bytes; at += 16) {
      const scaled = f32x4.mul(v128.load(from + at), factor);
      v128.store(from + at, scaled);
      highest = f32x4.max(highest, scaled);
    }
    const shift = f32x4.splat(
      max<f32>(
        max<f32>(f32x4.extract_lane(highest, 0), f32x4.extract_lane(highest, 1)),
        max<f32>(f32x4.extract_lane(highest, 2), f32x4.extract_lane(highest, 3)),
      ),
    );
    let totals = f32x4.splat(0);
    let means = f32x4.splat(0);
    for (let at: usize = 0; at < bytes; at += 16) {
      const shifted = f32x4.sub(v128.load(from + at), shift);
      const weight = exp(shifted);
      v128.store(from + at, shifted);
      totals = f32x4.add(totals, weight);
      means = f32x4.add(means, f32x4.mul(weight, shifted));
    }
    const total = sumOf(totals);
    const logTotal = <f32>Math.log(<f64>total);
    const down = f32x4.splat(logTotal);
    for (let at: usize = 0; at < bytes; at += 16) v128.store(from + at, f32x4.sub(v128.load(from + at), down));
    store<f32>(logprobs + at4, load<f32>(from + (<usize>load<i32>(targets + at4) << 2)));
    store<f32>(entropies + at4, logTotal - sumOf(means) / total);
  }
}

/**
 * The gradients by the logits; they overwrite the log-probabilities that {@link scoreTargets} left.
 *
 * @param logprobSlopes - the derivative of the loss by each row's log-probability of its target
 * @param entropySlopes - by each row's entropy
 */
export function scoreTargetsBackward(
  logprobs: usize,
  targets: usize,
  temperatures: usize,
  entropies: usize,
  logprobSlopes: usize,
  entropySlopes: usize,
  rows: i32,
  columns: i32,
): void {
  const bytes = <usize>columns << 2;
  for (let row = 0; row < rows; row++) {
    const from = logprobs + <usize>row * bytes;
    const at4 = <usize>row << 2;
    const factor = <f32>1 / load<f32>(temperatures + at4);
    const slope = load<f32>(logprobSlopes + at4) * factor;
    const ofEntropy = f32x4.splat(load<f32>(entropySlopes + at4) * factor);
    const entropy = f32x4.splat(load<f32>(entropies + at4));
    const all = f32x4.splat(slope);
    for (let at: usize = 0; at < bytes; at += 16) {
      const logprob = v128.load(from + at);
      const surprise = f32x4.mul(ofEntropy, f32x4.add(logprob, entropy));
      v128.store(from + at, f32x4.neg(f32x4.mul(exp(logprob), f32x4.add(all, surprise))));
    }
    const target = from + (<usize>load<i32>(targets + at4) << 2);
    store<f32>(target, load<f32>(target) + slope);
  }
}
