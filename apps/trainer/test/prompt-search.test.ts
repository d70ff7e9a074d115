import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { definePrompt } from '@agentlightning/core';
import { costOfCalls, costOfRun, pricesOf } from '@agentlightning/core/protocol';
import { env } from '@agentlightning/core/settings';
import { serveGateway } from '@agentlightning/gateway';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  type FitOptions,
  type PromptSearchConfig,
  Trainer,
  type TrainingEvent,
  type TrainingSummary,
} from '../src/index.ts';
import { PlantedModels, type PlantedOptions, plantedKey } from './planted-models.ts';
import { ask, doing, type PlantedTask, plantedAgent, plantedConfig, plantedTasks, worthOf } from './planted-search.ts';
import { smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-prompts-'));
  vi.stubEnv('PLANTED_KEY', plantedKey);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** What a search came to. */
interface Searched {
  readonly summary: TrainingSummary | null;
  readonly error: unknown;
  readonly events: readonly TrainingEvent[];
}

/** A planted search; the same id gives the same chance. */
async function searched(
  models: PlantedModels,
  changes: Partial<PromptSearchConfig<PlantedTask>>,
  options: FitOptions = { runId: 'planted' },
): Promise<Searched> {
  const events: TrainingEvent[] = [];
  const onEvent = (event: TrainingEvent): void => void events.push(event);
  const trainer = new Trainer({
    ...plantedConfig(models.baseUrl, changes),
    run: { dataDir: folder, ...changes.run },
  });
  try {
    return { summary: await trainer.fit({ ...options, onEvent }), error: null, events };
  } catch (error) {
    return { summary: null, error, events };
  }
}

function bestTemplate({ summary }: Searched, name = 'doing'): string | undefined {
  const { versions = [], best } = summary?.prompts ?? {};
  return versions.find(({ version }) => version === best)?.prompts[name]?.template;
}

test('gepa finds the planted prompt under noise, within its budget, without a look at the validation tasks', async () => {
  await using models = await PlantedModels.start();
  const outcome = await searched(models, {
    algorithm: { type: 'gepa', maxRollouts: 400, maxOptimizerCalls: 70 },
    run: {
      prices: { models: { 'task-model': { input: 1, output: 2 }, 'optimizer-model': { input: 10, output: 20 } } },
    },
  });
  expect(worthOf(bestTemplate(outcome))).toBe(1);
  const { prompts, before, after, isImproved } = outcome.summary ?? {};
  // It has found all that the planted model proposes.
  expect([prompts?.ended, prompts?.measuredOn, isImproved]).toEqual(['no-new-version', 'validation', true]);
  expect(before?.reward).toBeLessThan(0.3);
  expect(after?.reward).toBeGreaterThan(0.7);

  const asked = models.requestsOf('task-model');
  const questions = models.requestsOf('optimizer-model');
  expect(prompts?.rollouts).toBeLessThanOrEqual(400);
  expect(asked.length).toBe(prompts?.rollouts);
  expect(prompts?.optimizerCalls).toBeLessThanOrEqual(70);
  expect(questions.length).toBe(prompts?.optimizerCalls);
  expect(prompts?.optimizerUse?.inputTokens).toBeGreaterThan(0);
  expect(prompts?.optimizerUse?.cost.amount).toBeGreaterThan(0);
  expect(questions.filter(({ text }) => /Task 1\d\d /.test(text))).toEqual([]);
  expect(questions.filter(({ text }) => /Task \d\d? needs/.test(text)).length).toBe(questions.length);

  await withStore(folder, async (store) => {
    const run = await store.getRun('planted');
    const { usage } = await store.runStatistics('planted');
    expect(usage).toMatchObject([{ model: 'task-model', isPolicy: false, calls: prompts?.rollouts }]);
    expect(run.state['optimizerUsage']).toMatchObject({ model: 'optimizer-model', calls: prompts?.optimizerCalls });
    const cost = costOfRun(run, usage);
    const tasksCost = costOfCalls(usage, pricesOf(run)).amount ?? 0;
    expect([tasksCost, cost.missing]).toEqual([expect.any(Number), []]);
    expect(cost.amount).toBeGreaterThan(tasksCost);
    const { resources, version } = await store.getResources('planted-best');
    expect(resources['doing']).toMatchObject({ template: bestTemplate(outcome) });
    expect(version).toBeGreaterThan(1);
    const first = await store.getResources('planted-v0');
    expect(first.resources['doing']).toMatchObject({ template: 'You do what you are asked to do.\n{request}' });
    const { items: metrics } = await store.queryMetrics('planted');
    expect(metrics.map(({ step, values }) => [`v${step}`, values['validation/score']])).toEqual(
      prompts?.versions.map(({ version, score }) => [version, score]),
    );
    const costs = metrics.map(({ values }) => values['cost/model_calls'] ?? Number.NaN);
    expect(costs).toEqual(costs.toSorted((one, other) => one - other));
    expect(costs.at(-1)).toBeLessThanOrEqual(cost.amount ?? 0);
    const { items: tried } = await store.queryRollouts({ runId: 'planted', modeIn: ['train'], limit: 1 });
    // Which tasks were drawn, and for what, is on record.
    expect(tried[0]?.metadata).toMatchObject({ occasion: expect.stringMatching(/^iteration-/), phase: 'train' });
    expect((await store.queryRollouts({ runId: 'planted', statusIn: ['succeeded'] })).total).toBe(prompts?.rollouts);
  });
  const file = JSON.parse(readFileSync(prompts?.file ?? '', 'utf8'));
  expect(file).toMatchObject({ run: 'planted', best: prompts?.best, prompts: { doing: { variables: ['request'] } } });
  expect(file.versions.length).toBe(prompts?.versions.length);
});

test('apo improves several prompts, and is measured on tasks that nothing was chosen by', async () => {
  await using models = await PlantedModels.start({ noise: 0 });
  const planning = definePrompt('planning', 'Plan first.');
  const agent: typeof plantedAgent = async (task, context) => {
    // Each rule belongs into one of the two.
    const isPlanned = task.rule % 2 === 1;
    if (!isPlanned) return await plantedAgent(task, context);
    return planning.format().includes(`RULE-${task.rule};`) ? 1 : await plantedAgent(task, context);
  };
  const outcome = await searched(models, {
    agent,
    prompts: { doing: { template: 'You do what you are asked to do.\n{request}', variables: ['request'] }, planning },
    algorithm: { type: 'apo', rounds: 3, beamWidth: 2, branchFactor: 2 },
    tasks: { train: plantedTasks(0, 8), validation: plantedTasks(100, 8), test: plantedTasks(200, 8) },
  });
  const { prompts, after } = outcome.summary ?? {};
  expect([prompts?.ended, prompts?.measuredOn, after?.rollouts]).toEqual(['finished', 'test', 8]);
  expect(after?.reward).toBeGreaterThan(0.4);
  expect(worthOf(`${bestTemplate(outcome)}${bestTemplate(outcome, 'planning')}`)).toBeGreaterThan(0.4);
  const evaluated = outcome.events.flatMap((event) => (event.type === 'evaluated' ? [event.phase] : []));
  expect(evaluated).toEqual(['before', 'after']);
  expect(models.requestsOf('optimizer-model').filter(({ text }) => /Task [12]\d\d /.test(text))).toEqual([]);
});

test('tasks without a reward are omitted, and failed agents count as configured', async () => {
  await using models = await PlantedModels.start({ noise: 0 });
  const agent: typeof plantedAgent = async (task, context) => {
    const reward = await plantedAgent(task, context);
    if (task.index % 8 === 0) return undefined;
    if (task.index % 8 === 5) throw new Error('the tool is broken');
    return reward;
  };
  const algorithm = { type: 'gepa', maxRollouts: 40, proposals: 1 } as const;
  const train = plantedTasks(0, 6).filter(({ index }) => index === 0 || index === 5);
  const tasks = { train, validation: plantedTasks(100, 16) };
  const { summary } = await searched(models, { algorithm, agent, tasks, reward: { failed: -1 } });
  // Numbers from 100 on: 104 and 112 are not judged, 101 and 109 fail.
  const [first] = summary?.prompts?.versions ?? [];
  expect(first?.taskScores).toEqual([0, -1, 0, 0, null, 0, 0, 0, 0, -1, 0, 0, null, 0, 0, 0]);
  expect([first?.scoredTasks, first?.score]).toEqual([14, -2 / 14]);
  expect(summary?.before).toMatchObject({ rollouts: 14, failed: 2 });
  const [question] = models.requestsOf('optimizer-model');
  expect(question?.text).toMatch(/\(reward -1\) ---\nTask: \{"index":5.*The agent failed: .*the tool is broken/s);
  expect(question?.text).toMatch(/\(not judged\) ---\nTask: \{"index":0/);
});

test('a search whose beginning gets no reward at all, or always fails, stops at once and says why', async () => {
  await using models = await PlantedModels.start();
  const unjudged = await searched(models, { agent: async () => undefined }, {});
  expect(unjudged.error).toMatchObject({ code: 'INVALID_REWARD', message: expect.stringContaining('16 rollouts') });
  const broken = async (): Promise<number> => {
    throw new Error('no such tool');
  };
  const failed = await searched(models, { agent: broken }, {});
  expect(failed.error).toMatchObject({ code: 'AGENT_FAILED', message: expect.stringContaining('no such tool') });
  expect(models.requestsOf('optimizer-model')).toEqual([]);
});

test('an agent that does not format the prompt, or formats it only once, causes a warning', async () => {
  await using models = await PlantedModels.start({ noise: 0 });
  const warningsOf = ({ events }: Searched): readonly string[] =>
    events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  const forgotten = definePrompt('forgotten', 'Something that the agent never says.');
  const expected = [expect.stringMatching(/no model call has the text of the prompt "forgotten".*definePrompt/)];
  const algorithm = { type: 'apo', rounds: 1, beamWidth: 1, branchFactor: 1 } as const;
  expect(warningsOf(await searched(models, { algorithm, prompts: [forgotten] }, {}))).toEqual(expected);

  const filledIn = doing.format({ request: 'Task 1 needs RULE-1' });
  const agent: typeof plantedAgent = async () => ((await ask(filledIn, 'agent')) === 'Done.' ? 1 : 0);
  const once = await searched(models, { algorithm, agent }, {});
  expect(warningsOf(once)).toEqual([expect.stringMatching(/the prompt "doing".*formats it in each rollout/)]);
  expect(once.summary?.isImproved).toBe(false);
});

test('a request to a busy optimiser is retried; a rejection stops the search, which can be resumed', async () => {
  let refused = 0;
  let isLocked = true;
  const disturb: NonNullable<PlantedOptions['disturb']> = ({ model }) => {
    if (model !== 'optimizer-model') return null;
    refused += 1;
    if (refused === 1) return { status: 429, body: { error: { message: 'slow down' } } };
    return isLocked ? { status: 403, body: { error: { message: 'no access to this model' } } } : null;
  };
  await using models = await PlantedModels.start({ disturb });
  const small = { algorithm: { type: 'gepa', maxRollouts: 44, proposals: 1 } } as const;
  const first = await searched(models, small);
  expect(first.error).toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringMatching(/optimizer-model at http.* rejects .* with HTTP 403/),
  });
  expect(refused).toBe(2);
  const before = models.requestsOf('task-model').length;
  isLocked = false;
  const second = await searched(models, small, { resume: 'planted' });
  expect(second.summary?.prompts?.ended).toBe('budget');
  expect(second.summary?.prompts?.rollouts).toBe(models.requestsOf('task-model').length);
  expect(models.requestsOf('task-model').length).toBeGreaterThan(before);
});

test('a model that is gone makes no prompt bad: the search stops, and ends where it would have once it is back', async () => {
  const small = { algorithm: { type: 'gepa', maxRollouts: 66, proposals: 1 } } as const;
  await using whole = await PlantedModels.start();
  const undisturbed = await searched(whole, { ...small, run: { dataDir: path.join(folder, 'whole') } });
  let isLocked = true;
  await using models = await PlantedModels.start({
    disturb: ({ model }) => {
      const isOver = isLocked && model === 'task-model' && models.requestsOf('task-model').length > 18;
      return isOver ? { status: 401, body: { error: { message: 'This key was revoked.' } } } : null;
    },
  });
  const first = await searched(models, small);
  expect(first.error).toMatchObject({ code: 'UNAUTHENTICATED', message: expect.stringContaining('401') });
  isLocked = false;
  const second = await searched(models, small, { resume: 'planted' });
  expect(second.summary?.prompts?.versions).toEqual(undisturbed.summary?.prompts?.versions);
  expect(second.summary?.prompts?.versions.length).toBeGreaterThan(1);
});

test('a search resumes only as a search, with the same tasks and options; a training run never as one', async () => {
  await using models = await PlantedModels.start();
  const algorithm = { type: 'gepa', maxRollouts: 16 } as const;
  expect((await searched(models, { algorithm })).error).toBeNull();
  const resume = { resume: 'planted' };
  const trained = await trainSmall(smallTrainer(folder), resume);
  expect(trained.error).toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('is a prompt search and does not train a model'),
  });
  const changed = await searched(models, { algorithm: { ...algorithm, merges: false } }, resume);
  expect(changed.error).toMatchObject({ code: 'CONFIG', message: expect.stringMatching(/algorithm was .*gepa/) });

  const stop = new AbortController();
  stop.abort();
  await trainSmall(smallTrainer(folder), { runId: 'training', signal: stop.signal });
  const other = await searched(models, {}, { resume: 'training' });
  expect(other.error).toMatchObject({ code: 'CONFIG', message: expect.stringContaining('is not a prompt search') });
});

test('the embedded model can be asked too, and a search that finds nothing better says so', async () => {
  await using models = await PlantedModels.start();
  const outcome = await searched(models, {
    runtime: { type: 'embedded', model: 'tiny-random' },
    algorithm: { type: 'apo', rounds: 1, beamWidth: 1, branchFactor: 1 },
    sampling: { maxTokens: 2 },
    tasks: { train: plantedTasks(0, 2), validation: plantedTasks(100, 2) },
  });
  expect(outcome.error).toBeNull();
  expect(outcome.summary).toMatchObject({ isImproved: false, before: { reward: 0 }, after: { reward: 0 } });
  expect(models.requestsOf('task-model')).toEqual([]);
});

test('a budget below a single new version is reported, with the number of validation tasks', async () => {
  await using models = await PlantedModels.start();
  const tasks = { train: plantedTasks(0, 4), validation: plantedTasks(100, 4) };
  const { summary, events } = await searched(models, {
    tasks,
    algorithm: { type: 'apo', maxRollouts: 20, maxOptimizerCalls: 1 },
  });
  expect(summary?.prompts).toMatchObject({ ended: 'budget', optimizerCalls: 0 });
  expect(events.find(({ type }) => type === 'started')).toMatchObject({
    search: { validationTasks: 4, maxRollouts: 20, maxOptimizerCalls: 1 },
  });
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toEqual([expect.stringMatching(/a new version would exceed maxRollouts \(20\)/)]);
});

test.each(['runtime', 'optimizer'] as const)(
  'a wrong key of the %s ends a search at once, with its variable',
  async (part) => {
    vi.stubEnv('WRONG_KEY', 'sk-wrong-key');
    await using models = await PlantedModels.start();
    const wrong = { ...plantedConfig(models.baseUrl)[part], apiKey: env('WRONG_KEY') };
    const { error } = await searched(models, { [part]: wrong });
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(String(error)).toContain(`the key in the environment variable WRONG_KEY (\`${part}.apiKey\`) with HTTP 401`);
    expect(String(error)).not.toContain('sk-wrong-key');
  },
);

test('a wrong key behind an external gateway ends a search', async () => {
  await using models = await PlantedModels.start();
  const { error } = await withStore(folder, async (store) => {
    const upstream = { baseUrl: models.baseUrl, model: 'task-model', apiKey: 'sk-wrong', capture: 'text' as const };
    const gateway = await serveGateway({ store, upstream });
    onTestFinished(() => gateway.close());
    return await searched(models, { gateway: { url: gateway.url } });
  });
  expect(error).toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringMatching(/the gateway at http.* has a key that its model endpoint rejects/),
  });
  expect(models.requestsOf('optimizer-model')).toEqual([]);
});
