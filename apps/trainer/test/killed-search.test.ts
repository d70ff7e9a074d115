import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { type AglEvent, AglProcess, summaryOf } from './agl-process.ts';
import { PlantedModels, plantedKey } from './planted-models.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

const configFile = path.resolve(import.meta.dirname, 'fixtures/planted.config.ts');

/** Number of branches per round, and of concurrent optimiser requests. */
const branches = 4;

/** `agl train` on the planted search. */
function search(folder: RunFolder, models: PlantedModels, ...flags: string[]): AglProcess {
  const args = ['train', configFile, '--json', '--data-dir', folder.path, ...flags];
  return new AglProcess(args, { env: { PLANTED_URL: models.baseUrl, PLANTED_KEY: plantedKey } });
}

interface PromptsFile {
  readonly best: string;
  readonly prompts: { readonly doing: { readonly template: string } };
}

function outcomeOf(done: AglEvent): PromptsFile {
  const { file } = summaryOf(done)['prompts'] as { readonly file: string };
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** An uninterrupted search. */
interface WholeSearch {
  readonly folder: RunFolder;
  readonly models: PlantedModels;
  readonly done: AglEvent;
  readonly outcome: PromptsFile;
  readonly questions: number;
}

let whole: WholeSearch;
beforeAll(async () => {
  const folder = new RunFolder();
  const models = await PlantedModels.start();
  await using running = search(folder, models, '--run', 'planted');
  const done = await running.event('finished');
  whole = { folder, models, done, outcome: outcomeOf(done), questions: models.requestsOf('optimizer-model').length };
}, 180_000);
afterAll(async () => {
  await whole.models[Symbol.asyncDispose]();
  whole.folder[Symbol.dispose]();
});

test(
  'a search that is killed within its first round resumes, repeats nothing, and has the same outcome',
  {
    tags: ['long'],
  },
  () => expectSameOutcomeWhenKilledAfter(40),
);

test('a search that is killed within a later round resumes, repeats nothing, and has the same outcome', () =>
  expectSameOutcomeWhenKilledAfter(170));

async function expectSameOutcomeWhenKilledAfter(requests: number): Promise<void> {
  using folder = new RunFolder();
  await using models = await PlantedModels.start();
  await using first = search(folder, models, '--run', 'planted');
  await vi.waitFor(() => expect(models.requests.length).toBeGreaterThanOrEqual(requests), { timeout: 60_000 });
  await first.kill();
  expect(first.events.map(({ type }) => type)).not.toContain('finished');
  const before = await folder.withStore(async (store) => {
    const { items } = await store.queryRollouts({ runId: 'planted', statusIn: ['succeeded'] });
    return new Set(items.map(({ rolloutId }) => rolloutId));
  });
  const seen = models.requests.length;
  await using second = search(folder, models, '--resume', 'planted');
  expect(outcomeOf(await second.event('finished'))).toEqual(whole.outcome);
  const after = models.requests.slice(seen).map(({ user }) => user);
  expect(after.filter((rollout) => before.has(rollout))).toEqual([]);
  const questions = models.requestsOf('optimizer-model').length;
  expect(questions).toBeGreaterThanOrEqual(whole.questions);
  expect(questions).toBeLessThanOrEqual(whole.questions + branches);
  await folder.withStore(async (store) => {
    const { items } = await store.queryRollouts({ runId: 'planted' });
    expect(new Set(items.map(({ status }) => status))).toEqual(new Set(['succeeded']));
  });
}

test('a finished search reports its outcome again, and runs nothing', async () => {
  const asked = whole.models.requests.length;
  await using again = search(whole.folder, whole.models, '--resume', 'planted');
  const done = await again.event('finished');
  expect({ ...summaryOf(done), seconds: 0 }).toEqual({ ...summaryOf(whole.done), seconds: 0 });
  expect(whole.models.requests.length).toBe(asked);
});

/** What `agl prompts` writes. */
async function prompts(...flags: string[]): Promise<{ readonly code: number; readonly text: string }> {
  const { code, output, stderr } = await runAgl(['prompts', 'planted', '--store', whole.folder.storeUrl, ...flags]);
  return { code, text: code === 0 ? output : stderr };
}

test('agl prompts shows versions, scores and what changed', async () => {
  const { code, text } = await prompts();
  expect(code).toBe(0);
  expect(text).toMatch(/^VERSION +SCORE +TASKS +MADE OF/);
  expect(text).toMatch(/\nv0 +0\.\d{3} +16 +-/);
  expect(text).toMatch(/\nv\d+ +\d\.\d{3} +16 +v\d+ +best\n/);
  expect(text).toMatch(/--- doing v0\n\+\+\+ doing v\d+\n@@ .* @@\n You do what.*\n \{request\}\n\+RULE-\d;/);
  expect((await prompts('--text')).text).toBe(`${whole.outcome.prompts.doing.template}\n`);
  const { versions, diff, best } = JSON.parse((await prompts('--json', '--to', 'v1')).text);
  expect(versions[0]).toMatchObject({ version: 'v0', parents: [], scored_tasks: 16 });
  expect([diff.from, diff.to, best]).toEqual(['v0', 'v1', whole.outcome.best]);
  const unknown = await prompts('--to', 'v999');
  expect([unknown.code, unknown.text]).toEqual([2, expect.stringMatching(/NOT_FOUND.*no version "v999"/)]);
});
