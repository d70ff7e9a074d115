import { defineExamples, definePrompt } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { renamedHint, withCurrentKeys } from './renamed-keys.ts';
import type { ResolvedPromptSearch } from './resolve-prompt-search.ts';
import { isPromptSearch, resolveRun } from './resolve-run.ts';

beforeEach(() => void vi.stubEnv('MODEL_KEY', 'sk-1'));
afterEach(() => void vi.unstubAllEnvs());

const endpoint = { baseUrl: 'http://localhost:1/v1', model: 'm' };

const search = {
  agent: async () => 1,
  algorithm: 'apo',
  prompts: [definePrompt('doing', 'Do {what}.')],
  tasks: { train: 'train.jsonl', validation: [{ a: 1 }] },
  optimizer: { ...endpoint, apiKey: env('MODEL_KEY') },
  runtime: { type: 'endpoint', ...endpoint },
};

function resolved(changes: object = {}): ResolvedPromptSearch {
  const run = resolveRun({ ...search, ...changes }, '/there');
  if (!isPromptSearch(run)) throw new Error('it is a training');
  return run;
}

const refusal = (changes: object): (() => unknown) => {
  return () => resolveRun({ ...search, ...changes }, '/there');
};

test('a search for prompts is known by what its algorithm is, and gets its defaults', () => {
  const { search: recipe, ...run } = resolved();
  expect(recipe).toMatchObject({ kind: 'prompt-search', name: 'apo', budget: { maxRollouts: null } });
  expect(run).toMatchObject({
    prompts: { doing: { template: 'Do {what}.', engine: 'f-string' } },
    tasks: { train: '/there/train.jsonl', validation: [{ a: 1 }], test: null },
    optimizer: { ...endpoint, apiKey: 'sk-1', maxConcurrent: 8, timeoutMs: 180_000, parameters: {} },
    runtime: { type: 'endpoint', ...endpoint, apiKey: null, maxConcurrent: null },
    reward: { failedReward: 0, missingReward: null },
    shared: { storeUrl: 'sqlite:/there/.agl/agl.db', agents: { concurrency: 32 } },
    sampling: {},
    evaluation: { tasks: 128, rolloutsPerTask: 1, sampling: {} },
  });
  expect(isPromptSearch(resolveRun({ ...training, algorithm: 'dapo' }, '/there'))).toBe(false);
});

test('prompts come as a list, or by name', () => {
  const prompts = { one: { template: '{a}', variables: ['a'] }, two: definePrompt('two', 'x') };
  expect(Object.keys(resolved({ prompts }).prompts)).toEqual(['one', 'two']);
  expect(resolved({ algorithm: { type: 'gepa', merges: false } }).algorithm).toEqual({ type: 'gepa', merges: false });
  expect(resolved({ runtime: undefined }).runtime).toEqual({ type: 'embedded' });
});

test('prompts have kinds; a search of examples needs no optimiser model', () => {
  const example = (): string => 'Q: 1';
  const shots = defineExamples('shots', { example, count: 2 });
  const prompts = { track: { kind: 'tool', template: 'Tracks.' }, shots, doing: definePrompt('doing', 'Do.') };
  expect(resolved({ prompts })).toMatchObject({
    prompts: { track: { template: 'Tracks.' }, shots: { template: '' }, doing: { template: 'Do.' } },
    searched: { track: { kind: 'tool' }, shots: { kind: 'examples', count: 2 } },
    exampleOf: { shots: example },
  });
  expect(Object.keys(resolved({ prompts }).searched)).toEqual(['track', 'shots']);
  expect(resolved({ prompts: [shots], optimizer: undefined }).optimizer).toBeNull();
  expect(refusal({ prompts, optimizer: undefined })).toThrow(/optimizer: is missing; it rewrites track, doing/);
  const unknown = { prompts: [shots, { name: 'a', kind: 'shots', template: '' }], optimizer: undefined };
  expect(refusal(unknown)).toThrow(/^\[CONFIG\] prompts\.a: unknown kind "shots"$/);
});

describe('what is wrong is said with what would be right', () => {
  test.each<[string, object, RegExp]>([
    ['an unknown algorithm', { algorithm: 'gapa' }, /there is no algorithm "gapa"; did you mean "gepa"\?/],
    ['an unknown option', { algorithm: { type: 'apo', rouns: 2 } }, /algorithm apo: there is no option "rouns"/],
    ['an unknown key', { optimiser: {} }, /no option "optimiser"; did you mean "optimizer"\?/],
    [
      'an unknown key within',
      { optimizer: { ...endpoint, baseURL: 'x' } },
      /no option "optimizer\.baseURL"; did you mean "baseUrl"\?/,
    ],
    ['a key of trainings', { steps: 3 }, /no option "steps": a search is bounded by its budget/],
    ['another key of trainings', { checkpoints: { every: 3 } }, /"checkpoints": it applies to training/],
    ['no validation tasks', { tasks: { train: 'x' } }, /tasks\.validation: is missing; it must be the path/],
    ['no optimiser', { optimizer: undefined }, /optimizer: /],
    [
      'a key instead of its variable',
      { optimizer: { ...endpoint, apiKey: env('sk-abc') } },
      /apiKey\.env: must be the name of/,
    ],
    [
      'a variable that is not set',
      { optimizer: { ...endpoint, apiKey: env('NO_SUCH') } },
      /optimizer\.apiKey: the environment variable NO_SUCH is not set/,
    ],
    [
      'a former key',
      { optimizer: { ...endpoint, apiKeyEnv: 'KEY' } },
      /"optimizer\.apiKeyEnv": it is now `apiKey: env/,
    ],
    ['a wrong endpoint', { runtime: { type: 'endpoint', model: 'm' } }, /runtime\.baseUrl: /],
    ['a wrong runtime', { runtime: { type: 'endpint' } }, /runtime/],
    ['no prompts', { prompts: [] }, /prompts must not be empty/],
    ['a prompt without a name', { prompts: [{ template: 'x' }] }, /prompts\.0 has no name/],
    ['two of a name', { prompts: [definePrompt('a', 'x'), definePrompt('a', 'y')] }, /two prompts "a"/],
    ['a prompt of another name', { prompts: { b: definePrompt('a', 'x') } }, /prompts\.b is defined with the name "a"/],
    ['a stray brace', { prompts: { a: { template: 'x {' } } }, /prompts\.a: there is a single brace/],
    [
      'a variable that is not declared',
      { prompts: { a: { template: '{qestion}', variables: ['question'] } } },
      /variable \{qestion\}.*did you mean "question"\?/,
    ],
    [
      'a variable that is not used',
      { prompts: { a: { template: 'x', variables: ['q'] } } },
      /the template has no \{q\}/,
    ],
    ['an empty prompt', { prompts: { a: { template: '' } } }, /prompts\.a: template must not be empty/],
    [
      'an unknown kind',
      { prompts: { a: { kind: 'example', template: '' } } },
      /prompts\.a: unknown kind "example"; did you mean "examples"\?/,
    ],
    [
      'examples without a count',
      { prompts: [{ name: 'a', kind: 'examples', template: '', example: () => '' }] },
      /prompts\.a: count must be a whole number from 1 to 32, not undefined/,
    ],
    [
      'examples without texts',
      { prompts: { a: { kind: 'examples', template: '', count: 2 } } },
      /example must be a function/,
    ],
    [
      'a count of an instruction',
      { prompts: { a: { template: 'x', count: 2 } } },
      /apply to prompts of kind 'examples'/,
    ],
    ['a shared key', { agents: { concurrency: 0 } }, /agents\.concurrency/],
  ])('%s', (_, changes, message) => {
    expect(refusal(changes)).toThrow(message);
    expect(refusal(changes)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });
});

test('every problem of every part of a search is reported at once', () => {
  const changes = {
    algorithm: { type: 'apo', rouns: 2 },
    optimiser: {},
    agents: { concurrency: 0 },
    optimizer: { ...endpoint, apiKey: env('NO_SUCH') },
    runtime: { type: 'endpoint', ...endpoint, apiKey: env('NOR_THIS') },
    prompts: [definePrompt('a', 'x'), definePrompt('a', 'y'), { template: 'x {' }, { name: 'c', template: 'x {' }],
  };
  for (const problem of [
    /no option "rouns"/,
    /no option "optimiser"/,
    /agents\.concurrency: /,
    /NO_SUCH/,
    /NOR_THIS/,
    /two prompts "a"/,
    /prompts\.2 has no name/,
    /prompts\.c: there is a single brace/,
  ]) {
    expect(refusal(changes)).toThrow(problem);
  }
});

const training = { agent: async () => 1, tasks: { train: [{}], test: [{}] } };

test('keys of a prompt search and endpoints are refused for a training', () => {
  const resolve = (changes: object): unknown => resolveRun({ ...training, ...changes }, '/there');
  expect(() => resolve({ prompts: [] })).toThrow(/no option "prompts": it is of a search.*'apo' or 'gepa'/);
  const runtime = { type: 'endpoint', ...endpoint };
  expect(() => resolve({ runtime })).toThrow(/model behind an endpoint cannot be trained/);
  expect(() => resolve({ algorithm: { type: 'gpro' } })).toThrow(/did you mean "grpo"\?/);
  expect(() => resolveRun(null, '/there')).toThrow(expect.objectContaining({ code: 'CONFIG' }));
});

test('a former key is an error that names the present one, beside every other problem', () => {
  const former = {
    workers: 2,
    stopWhen: { patience: 3 },
    diagnosis: {},
    evaluation: { rewardRange: [0, 2] },
    stepz: 1,
  };
  const resolve = (): unknown => resolveRun({ ...training, ...former }, '/there');
  for (const problem of [
    /"workers" is now "agents\.processes"/,
    /"stopWhen" is now "stop"/,
    /"diagnosis" has no effect any more/,
    /"evaluation\.rewardRange" is now "reward\.range"/,
    /no option "stepz"/,
  ]) {
    expect(resolve).toThrow(problem);
  }
  expect(resolve).toThrow(expect.objectContaining({ remedy: expect.stringContaining('agl config migrate') }));
});

test('former keys of a recorded request are read, and do not replace present ones', () => {
  const given = { workers: 2, concurrency: 3, agents: { processes: 1 }, stopWhen: { patience: 3 }, stopAtReward: 1 };
  expect(withCurrentKeys(given)).toEqual({
    settings: { agents: { processes: 1, concurrency: 3 }, stop: { reward: 1, patience: 3 } },
    former: ['workers', 'concurrency', 'stopAtReward', 'stopWhen'],
  });
});

test.each([
  ['workers', 'is now "agents.processes"'],
  ['dataDir', 'is now "run.dataDir"'],
  ['diagnosis', 'has no effect any more'],
  ['steps', null],
  ['constructor', null],
])('what became of %s: %s', (key, hint) => {
  expect(renamedHint(key)).toBe(hint);
});
