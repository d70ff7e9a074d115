import { expect, test } from 'vitest';
import { adamStep, initialAdamState, resolveAdam } from './optimizer.ts';

test('the first step moves every parameter by the learning rate against its gradient', () => {
  const parameters = Float32Array.of(1, 1, 1);
  const gradients = Float32Array.of(0.5, -0.01, 0);
  adamStep(parameters, gradients, {
    state: initialAdamState(3),
    adam: resolveAdam({ learningRate: 0.1, gradientClipNorm: 0 }),
  });
  expect([...parameters].map((value) => Math.round(value * 1e4) / 1e4)).toEqual([0.9, 1.1, 1]);
});

test('the second step follows the bias-corrected moments', () => {
  const parameters = Float32Array.of(0);
  const adam = resolveAdam({ learningRate: 0.1, beta1: 0.9, beta2: 0.99, gradientClipNorm: 0 });
  const state = initialAdamState(1);
  adamStep(parameters, Float32Array.of(1), { state, adam });
  adamStep(parameters, Float32Array.of(-0.5), { state: { ...state, step: 1 }, adam });
  const first = (0.9 * 0.1 + 0.1 * -0.5) / (1 - 0.9 ** 2);
  const second = (0.99 * 0.01 + 0.01 * 0.25) / (1 - 0.99 ** 2);
  expect(parameters[0]).toBeCloseTo(-0.1 - (0.1 * first) / Math.sqrt(second), 6);
});

test('gradients above the clip norm are scaled down to it, and the norm before is reported', () => {
  const run = (gradient: number[], gradientClipNorm: number) => {
    const state = initialAdamState(2);
    const adam = resolveAdam({ learningRate: 0.1, gradientClipNorm });
    const outcome = adamStep(new Float32Array(2), Float32Array.from(gradient), { state, adam });
    return { ...outcome, moments: [...state.firstMoments] };
  };
  const clipped = run([30, 40], 1);
  expect(clipped.gradientNorm).toBeCloseTo(50, 5);
  expect(clipped.moments[0]).toBeCloseTo(0.06, 6);
  expect(run([0.3, 0.4], 1).moments[0]).toBeCloseTo(0.03, 6);
  expect(run([30, 40], 0).moments[0]).toBeCloseTo(3, 5);
});

test('weight decay pulls towards zero independently of the gradient', () => {
  const parameters = Float32Array.of(2);
  const adam = resolveAdam({ learningRate: 0.1, weightDecay: 0.5 });
  adamStep(parameters, Float32Array.of(0), { state: initialAdamState(1), adam });
  expect(parameters[0]).toBeCloseTo(2 - 0.1 * 0.5 * 2, 6);
});

test.each([
  ['learningRate', { learningRate: Number.NaN }],
  ['beta2', { learningRate: 1, beta2: 1 }],
  ['gradientClipNorm', { learningRate: 1, gradientClipNorm: -1 }],
])('an invalid %s is rejected by name', (name, adam) => {
  expect(() => resolveAdam(adam)).toThrow(name);
});
