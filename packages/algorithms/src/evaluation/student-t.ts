/**
 * The distribution of Student's t, as far as intervals and tests need it.
 *
 * @module
 */

import { ValidationError } from '@agentlightning/core';

/**
 * The probability that a t-distributed number is further from 0 than `t`, on either side:
 * `I_x(df/2, 1/2)` with `x = df / (df + t²)` (Abramowitz & Stegun 26.7.1).
 *
 * @param t - any number, infinite ones included
 * @param degreesOfFreedom - more than 0, not necessarily an integer; infinity gives the normal distribution
 */
export function twoSidedTail(t: number, degreesOfFreedom: number): number {
  if (degreesOfFreedom === Infinity) return normalTail(Math.abs(t));
  // Both are computed: one minus the other would lose the digits of a small value.
  const x = degreesOfFreedom / (degreesOfFreedom + t * t);
  const y = Number.isFinite(t) ? (t * t) / (degreesOfFreedom + t * t) : 1;
  const [a, b] = [degreesOfFreedom / 2, 0.5];
  // The continued fraction converges fast on one side of the mean of the beta distribution.
  return x <= (a + 1) / (a + b + 2) ? lowerBeta({ x, y, a, b }) : 1 - lowerBeta({ x: y, y: x, a: b, b: a });
}

/**
 * The `t` within which, on either side of 0, lies the given share of the distribution: 1.96 for 0.95 and many
 * degrees of freedom.
 *
 * @param confidence - above 0 and below 1
 * @param degreesOfFreedom - more than 0
 * @throws ValidationError when the confidence is not between 0 and 1
 */
export function twoSidedQuantile(confidence: number, degreesOfFreedom: number): number {
  if (!(confidence > 0 && confidence < 1)) {
    throw new ValidationError('The interval', [
      { path: 'confidence', message: `must be above 0 and below 1, not ${confidence}` },
    ]);
  }
  const tail = 1 - confidence;
  let high = 1;
  while (twoSidedTail(high, degreesOfFreedom) > tail) high *= 2;
  let low = 0;
  // The tail falls monotonically in t; 200 bisections exceed the precision of a double.
  for (let halving = 0; halving < 200 && low < high; halving += 1) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (twoSidedTail(middle, degreesOfFreedom) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** `erfc(z/√2)`: one minus the series `√(2/π)·exp(-z²/2)·(z + z³/3 + z⁵/(3·5) + …)` (Abramowitz & Stegun 26.2.11). */
function normalTail(z: number): number {
  let term = z;
  let sum = z;
  for (let odd = 3; term > sum * 1e-17; odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return 1 - Math.sqrt(2 / Math.PI) * Math.exp((-z * z) / 2) * sum;
}

/** `I_x(a, b)` by its continued fraction (Abramowitz & Stegun 26.5.8); `y` is `1 - x`. */
function lowerBeta(at: { readonly x: number; readonly y: number; readonly a: number; readonly b: number }): number {
  const { x, y, a, b } = at;
  if (x === 0) return 0;
  const logFront = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y);
  return (Math.exp(logFront) / a) * betaFraction(x, a, b);
}

/** `1 / (1 + d₁/(1 + d₂/(1 + …)))` by the modified Lentz method (Thompson & Barnett 1986). */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const nonZero = (value: number): number => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 500; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

/**
 * `ln Γ(x)` for `x > 0`: Stirling's series (Abramowitz & Stegun 6.1.41), shifted to where eight terms are exact
 * to double precision.
 */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  while (z < 10) {
    shift += Math.log(z);
    z += 1;
  }
  const coefficients = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360, 1 / 156, -3617 / 122_400];
  const series = coefficients.reduce((sum, coefficient, index) => sum + coefficient / z ** (2 * index + 1), 0);
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift;
}
