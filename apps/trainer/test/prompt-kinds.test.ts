import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineExamples, definePrompt } from '@agentlightning/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listRuns } from '../src/cli/inspect/list-runs.ts';
import { showPrompts } from '../src/cli/inspect/show-prompts.ts';
import { promptVersions, runLine } from '../src/cli/output/inspection-output.ts';
import {
  type FitOptions,
  type PromptSearchConfig,
  Trainer,
  type TrainingEvent,
  type TrainingSummary,
} from '../src/index.ts';
import { PlantedModels, plantedKey } from './planted-models.ts';
import { ask, doing, type PlantedTask, plantedAgent, plantedConfig, plantedTasks } from './planted-search.ts';
import { withStore } from './with-store.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-kinds-'));
  vi.stubEnv('PLANTED_KEY', plantedKey);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const shots = defineExamples<PlantedTask>('shots', {
  example: ({ task, reward, response }) => (reward === 1 ? `RULE-${task.rule}; {${response}}` : ''),
});

/** Reads the examples, and the instructions of `doing`. */
const agent: typeof plantedAgent = async ({ index, rule }, { rolloutId }) => {
  const request = doing.format({ request: `Task ${index} needs RULE-${rule}` });
  return (await ask(`${shots.format()}\n${request}`, rolloutId)) === 'Done.' ? 1 : 0;
};

interface Searched {
  readonly summary: TrainingSummary | null;
  readonly error: unknown;
  readonly warnings: readonly string[];
}

async function searched(
  models: PlantedModels,
  changes: Partial<PromptSearchConfig<PlantedTask>>,
  options: FitOptions = { runId: 'planted' },
): Promise<Searched> {
  const warnings: string[] = [];
  const onEvent = (event: TrainingEvent): void => void (event.type === 'warning' && warnings.push(event.message));
  const config = { ...plantedConfig(models.baseUrl, { agent, ...changes }), run: { dataDir: folder, ...changes.run } };
  try {
    return { summary: await new Trainer(config).fit({ ...options, onEvent }), error: null, warnings };
  } catch (error) {
    return { summary: null, error, warnings };
  }
}

/** A search of examples. */
const examplesOnly = {
  prompts: [shots],
  algorithm: { type: 'gepa', maxRollouts: 300, proposals: 2 },
} as const;

/** The lines that a command writes. */
async function linesOf(command: () => Promise<void>): Promise<readonly string[]> {
  const written: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    await command();
  } finally {
    spy.mockRestore();
  }
  return written.join('').trim().split('\n');
}

test('a search of examples needs no optimiser model, and names the rollouts that it chose', async () => {
  await using models = await PlantedModels.start({ noise: 0.25 });
  const { optimizer: _, ...config } = { ...plantedConfig(models.baseUrl), ...examplesOnly, agent };
  const warnings: string[] = [];
  const onEvent = (event: TrainingEvent): void => void (event.type === 'warning' && warnings.push(event.message));
  const trainer = new Trainer<PlantedTask>({ ...config, run: { dataDir: folder } });
  const { prompts, before, after } = await trainer.fit({ runId: 'planted', onEvent });
  expect(warnings).toEqual([]);
  expect(models.requestsOf('optimizer-model')).toEqual([]);
  expect([prompts?.optimizerCalls, prompts?.kinds]).toEqual([0, { shots: 'examples' }]);
  expect(after.reward).toBeGreaterThan(before.reward + 0.2);
  const best = prompts?.versions.find(({ version }) => version === prompts.best);
  const chosen = best?.examples?.['shots'] ?? [];
  expect(chosen.length).toBeGreaterThan(1);
  const template = best?.prompts['shots']?.template;
  await withStore(folder, async (store) => {
    const texts = chosen.map(async ({ task, reward, rolloutId }) => {
      const { input, mode } = await store.getRollout(rolloutId ?? '');
      const { index, rule } = input as unknown as PlantedTask;
      expect([mode, index, reward]).toEqual(['train', task, 1]);
      return `RULE-${rule}; {{Done.}}`;
    });
    expect(template).toBe((await Promise.all(texts)).join('\n\n'));
    const run = await store.getRun('planted');
    expect(run.config['searched']).toEqual({ shots: { kind: 'examples', count: 4 } });
    expect((await store.getResources('planted-best')).resources['shots']).toMatchObject({ template });
  });
  const examples = chosen.map(({ task, reward, rolloutId }) => ({ task, reward, rollout: rolloutId }));
  const file = JSON.parse(readFileSync(prompts?.file ?? '', 'utf8'));
  expect(file.prompts).toEqual({ shots: { kind: 'examples', template, variables: [], examples } });

  const flags = { store: `sqlite:${folder}/agl.db`, from: 'v0', to: 'best' };
  const [json = ''] = await linesOf(() => showPrompts('planted', { ...flags, json: true }));
  expect(promptVersions.parse(JSON.parse(json))).toMatchObject({
    versions: expect.arrayContaining([expect.objectContaining({ prompts: file.prompts })]),
    diff: { text: expect.stringContaining('+++ shots (examples) v') },
  });
  const [line = ''] = await linesOf(() => listRuns({ ...flags, json: true }));
  expect(runLine.parse(JSON.parse(line))).toMatchObject({ prompts: { shots: 'examples' } });
  const shown = await linesOf(() => showPrompts('planted', flags));
  expect(shown.join('\n')).toContain(chosen[0]?.rolloutId);
});

test('a search of instructions and examples that is killed ends where it would have', async () => {
  const small = { prompts: [doing, shots], algorithm: { type: 'gepa', maxRollouts: 140, proposals: 2 } } as const;
  await using whole = await PlantedModels.start({ noise: 0.25 });
  const undisturbed = await searched(whole, { ...small, run: { dataDir: path.join(folder, 'whole') } });
  const versions = undisturbed.summary?.prompts?.versions ?? [];
  expect(versions.some(({ examples }) => examples !== undefined)).toBe(true);
  let isLocked = true;
  await using models = await PlantedModels.start({
    noise: 0.25,
    disturb: ({ model }) => {
      const isOver = isLocked && model === 'task-model' && models.requestsOf('task-model').length > 60;
      return isOver ? { status: 401, body: { error: { message: 'This key was revoked.' } } } : null;
    },
  });
  expect((await searched(models, small)).error).toMatchObject({ code: 'UNAUTHENTICATED' });
  isLocked = false;
  const { summary } = await searched(models, small, { resume: 'planted' });
  expect(summary?.prompts?.versions).toEqual(versions);
});

test('a search does not resume with another kind or number of examples', async () => {
  await using models = await PlantedModels.start({ noise: 0.25 });
  const changes = { ...examplesOnly, algorithm: { type: 'gepa', maxRollouts: 16 } } as const;
  expect((await searched(models, changes)).error).toBeNull();
  const other = { ...shots, count: 2 };
  const resumed = await searched(models, { ...changes, prompts: [other] }, { resume: 'planted' });
  expect(resumed.error).toMatchObject({ code: 'CONFIG', message: expect.stringMatching(/searched was .*"count":4/) });
});

test('rewards that are all equal give no examples, and the search says so', async () => {
  await using models = await PlantedModels.start({ noise: 0 });
  const { summary, warnings } = await searched(models, examplesOnly);
  expect([summary?.prompts?.ended, summary?.prompts?.versions.length]).toEqual(['no-new-version', 1]);
  expect(warnings).toEqual([
    expect.stringMatching(/no examples were found for the prompt "shots": no training rollout/),
  ]);
});

test('a description that the agent has in its code too is found, although the first version is in its requests', async () => {
  await using models = await PlantedModels.start({ noise: 0 });
  const tracking = definePrompt('track', 'Finds a parcel by its number.', { kind: 'tool' });
  const hardCoded: typeof plantedAgent = async ({ rule }, { rolloutId }) => {
    const content = `${tracking.template}\nThis needs RULE-${rule}`;
    return (await ask(content, rolloutId)) === 'Done.' ? 1 : 0;
  };
  const algorithm = { type: 'gepa', maxRollouts: 150 } as const;
  const { summary, warnings } = await searched(models, { agent: hardCoded, prompts: [tracking], algorithm });
  expect(summary?.prompts?.versions.length).toBe(1);
  expect(warnings).toEqual([expect.stringMatching(/no model call has the text of the prompt "track".*definePrompt/)]);
});

test.each(['gepa', 'apo'] as const)('an agent that never reads its examples causes a warning with %s', async (type) => {
  await using models = await PlantedModels.start({ noise: 0.25 });
  const algorithm = { type, maxRollouts: 150 } as const;
  const tasks = { train: plantedTasks(0, 16), validation: plantedTasks(100, 8) };
  const { warnings } = await searched(models, { ...examplesOnly, agent: plantedAgent, algorithm, tasks });
  expect(warnings).toEqual([expect.stringMatching(/no model call has the text of the prompt "shots".*defineExamples/)]);
});
