import { expect, test } from 'vitest';
import { GatewayError } from '../wire/gateway-error.ts';
import { UpstreamPool } from './upstream-pool.ts';

const upstreamOf = (run: string) => ({
  baseUrl: 'http://127.0.0.1:8000/v1',
  model: `model-of-${run}`,
  names: ['policy'],
  runs: [run],
});
const general = { baseUrl: 'http://127.0.0.1:8001/v1', model: 'general' };

const chosen = (pool: UpstreamPool, runId: string | null, model: string | null): readonly (string | null)[] =>
  pool.choose(model, { rolloutId: 'ro-1', runId }).map((upstream) => upstream.model);

test('calls of a run go to its own models, also under a name that models of other runs have', () => {
  const pool = new UpstreamPool({ upstream: [upstreamOf('a'), upstreamOf('b'), general] });
  for (const model of [null, 'policy', 'anything']) {
    expect(chosen(pool, 'a', model)).toEqual(['model-of-a']);
    expect(chosen(pool, 'b', model)).toEqual(['model-of-b']);
  }
  // By its own name, every model is there for all.
  expect(chosen(pool, 'a', 'model-of-b')).toEqual(['model-of-b']);
});

test('calls of a run without a model wait for it, and do not go to the model of another run', () => {
  const pool = new UpstreamPool({ upstream: [upstreamOf('a')] });
  for (const model of [null, 'policy', 'model-of-b']) {
    expect(() => chosen(pool, 'b', model)).toThrow(GatewayError);
    expect(() => chosen(pool, 'b', model)).toThrow(/no model endpoint is registered/);
  }
  pool.add(general);
  expect(chosen(pool, 'b', 'policy')).toEqual(['general']);
  pool.add(upstreamOf('b'));
  expect(chosen(pool, 'b', 'policy')).toEqual(['model-of-b']);
});

test('a rollout without a run goes to any model', () => {
  const pool = new UpstreamPool({ upstream: [upstreamOf('a')] });
  expect(chosen(pool, null, 'anything')).toEqual(['model-of-a']);
});
