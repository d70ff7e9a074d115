import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type FitOptions,
  type PromptSearchConfig,
  Trainer,
  type TrainingEvent,
  type TrainingSummary,
} from '../src/index.ts';
import { PlantedModels, plantedKey } from './planted-models.ts';
import { type PlantedTask, plantedAgent, plantedConfig, plantedTasks } from './planted-search.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-resumed-'));
  vi.stubEnv('PLANTED_KEY', plantedKey);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function search(
  models: PlantedModels,
  changes: Partial<PromptSearchConfig<PlantedTask>>,
  options: FitOptions = { runId: 'planted' },
): Promise<TrainingSummary> {
  return new Trainer({ ...plantedConfig(models.baseUrl), run: { ...changes.run, dataDir: folder }, ...changes }).fit(
    options,
  );
}

const resume = { resume: 'planted' };

test('a finished search with a larger budget continues with its versions', {
  tags: ['long'],
}, async () => {
  const algorithm = (maxRollouts: number): Partial<PromptSearchConfig<PlantedTask>> => ({
    algorithm: { type: 'gepa', maxRollouts, proposals: 2 },
    tasks: { train: plantedTasks(0, 8), validation: plantedTasks(100, 8), test: plantedTasks(200, 8) },
  });
  await using models = await PlantedModels.start();
  const first = await search(models, algorithm(60));
  expect(first.prompts?.ended).toBe('budget');
  const asked = models.requests.length;
  // With the same budget, it only reports its outcome again.
  const events: TrainingEvent[] = [];
  const again = await search(models, algorithm(60), { ...resume, onEvent: (event) => events.push(event) });
  expect({ ...again, seconds: 0 }).toEqual({ ...first, seconds: 0 });
  expect(events).toMatchObject([{ type: 'nothing-left', runId: 'planted', reason: 'limits' }, { type: 'finished' }]);
  expect(models.requests.length).toBe(asked);
  // One that cannot be opened with a larger one stays what it was.
  const nowhere = { ...algorithm(160), gateway: { url: 'http://127.0.0.1:1' } };
  await expect(search(models, nowhere, resume)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  expect({ ...(await search(models, algorithm(60), resume)), seconds: 0 }).toEqual({ ...first, seconds: 0 });

  const longer = await search(models, algorithm(160), resume);
  const earlier = first.prompts?.versions ?? [];
  expect(longer.prompts?.versions.slice(0, earlier.length)).toEqual(earlier);
  expect(longer.prompts?.versions.length).toBeGreaterThan(earlier.length);
  expect(longer.prompts?.rollouts).toBeGreaterThan(first.prompts?.rollouts ?? Infinity);
  expect(longer.before.rollouts).toBe(8);
  // No rollout was run twice, not even those before the search.
  const rollouts = models.requestsOf('task-model').map(({ user }) => user);
  expect(new Set(rollouts).size).toBe(rollouts.length);
  // And with less than it has used it has nothing to do.
  const before = models.requests.length;
  expect((await search(models, algorithm(100), resume)).prompts?.versions).toEqual(longer.prompts?.versions);
  expect(models.requests.length).toBe(before);
});

test('held-out rollouts that failed before the search are not measured again by a resumed search', async () => {
  let isBroken = true;
  const tried: number[] = [];
  const agent: typeof plantedAgent = async (task, context) => {
    if (task.index >= 200) tried.push(task.index);
    if (task.index === 201 && isBroken) throw new Error('the tool is broken');
    return await plantedAgent(task, context);
  };
  let isLocked = true;
  await using models = await PlantedModels.start({
    noise: 0,
    disturb: ({ model }) =>
      isLocked && model === 'optimizer-model' ? { status: 403, body: { error: { message: 'no access' } } } : null,
  });
  const changes = {
    agent,
    algorithm: { type: 'apo', rounds: 1, beamWidth: 1, branchFactor: 1 },
    tasks: { train: plantedTasks(0, 4), validation: plantedTasks(100, 4), test: plantedTasks(200, 4) },
  } as const;
  await expect(search(models, changes)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  [isLocked, isBroken] = [false, false];
  const { before } = await search(models, changes, resume);
  expect([before.rollouts, before.failed]).toEqual([4, 1]);
  // Once before the search, and once after it with the version that is better.
  expect(tried.filter((index) => index === 201)).toEqual([201, 201]);
});
