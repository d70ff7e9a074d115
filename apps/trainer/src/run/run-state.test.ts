import type { Run } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { initialRunState, readRunState, writeState } from './run-state.ts';

const initial = { steps: 5, seed: 3, dataDir: '/data' };
const run = (state: Run['state']): Run => ({
  runId: 'run-1',
  name: 'run',
  status: 'running',
  config: {},
  state,
  createTimeMs: 1,
  updateTimeMs: 1,
});

test('reads the state that was written', () => {
  const state = {
    ...initialRunState(initial),
    checkpoint: { step: 2, uris: { writer: 'file:a', critic: 'file:b' } },
  };
  expect(readRunState(run(writeState(state)), '/data')).toEqual(state);
});

test('reads the state of a run from before there were several policies', () => {
  const saved = { step: 2, uri: 'file:a' };
  const { steps: _steps, ...state } = writeState(initialRunState(initial));
  const old = { ...state, checkpoint: saved, checkpoints: [saved] };
  const now = { step: 2, uris: { policy: 'file:a' } };
  expect(readRunState(run(old), '/other')).toMatchObject({ checkpoint: now, checkpoints: [now], steps: null });
});

test('the data directory is that of the configuration, never the recorded one', () => {
  const { dataDir: _dataDir, ...imported } = writeState(initialRunState(initial));
  expect(readRunState(run({ ...imported, dataDir: '/redirected' }), '/data').dataDir).toBe('/data');
  expect(readRunState(run(imported), '/data').dataDir).toBe('/data');
});
