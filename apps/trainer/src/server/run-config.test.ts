import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { resolveRunSettings, runSettings } from './run-config.ts';
import { parseRunRequest, type TrainingChoice } from './run-request.ts';
import { resolveSettings } from './settings/resolve-settings.ts';

/** The configuration of a run on a server with these variables. */
function configOf(environment: NodeJS.ProcessEnv, training: TrainingChoice): ReturnType<typeof resolveRunSettings> {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-run-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tasks = path.join(folder, 'tasks.jsonl');
  writeFileSync(tasks, '{"question":"a"}\n');
  const settings = runSettings(
    { name: 'run', data: { train: 'a', test: 'b' }, training },
    {
      dataDir: folder,
      project: null,
      url: 'http://127.0.0.1:4747',
      serverKey: 'key',
      runtime: { type: 'grpc', address: '127.0.0.1:50051' },
      hasSmallCheckpoints: true,
      defaults: resolveSettings({ flags: {}, environment, file: null }).settings,
      tasks: { train: tasks, test: tasks },
    },
  );
  return resolveRunSettings(settings);
}

const environment = {
  AGL_ALGORITHM: 'rloo',
  AGL_LEARNING_RATE: '0.001',
  AGL_STEPS: '7',
  AGL_TRAIN_BATCH_SIZE: '5',
  AGL_MAX_TOKENS: '32',
};

test('the variables of the server are the defaults of its runs', () => {
  expect(configOf(environment, {})).toMatchObject({
    policies: [{ algorithm: { type: 'rloo', learningRate: 1e-3 } }],
    steps: 7,
    tasksPerStep: 5,
    sampling: { maxTokens: 32 },
  });
});

test('settings of a client precede those of the server', () => {
  const training = {
    algorithm: { type: 'grpo', learningRate: 2e-3 },
    steps: 3,
    tasksPerStep: 2,
    sampling: { temperature: 0.5 },
  };
  expect(configOf(environment, training)).toMatchObject({
    policies: [{ algorithm: { type: 'grpo', learningRate: 2e-3 } }],
    steps: 3,
    tasksPerStep: 2,
    sampling: { temperature: 0.5, maxTokens: 32 },
  });
  expect(configOf(environment, { sampling: { temperature: 1, maxTokens: 8 } }).sampling).toMatchObject({
    maxTokens: 8,
  });
});

test('a client chooses seed, tags and prices of its run, but neither folder nor name there', () => {
  expect(configOf({}, { run: { seed: 7, tags: ['one'] } })).toMatchObject({ seed: 7, tags: ['one'], name: 'run' });
  const request = { data: { train: 'a', test: 'b' }, training: { run: { dataDir: '/elsewhere' } } };
  expect(() => parseRunRequest(request)).toThrow(/dataDir/);
});

test('stages are refused with the remedy', () => {
  const request = { data: { train: 'a', test: 'b' }, training: { stages: [{ algorithm: 'grpo', steps: 1 }] } };
  expect(() => parseRunRequest(request)).toThrow(
    /training.stages: .* create a run for each, with `checkpoints: \{ from/,
  );
});
