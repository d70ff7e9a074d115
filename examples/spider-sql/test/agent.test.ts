import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config, { type QuestionTask } from '../agl.config.ts';
import { openDatabase, query } from '../databases.ts';
import { conversations, type Demonstration } from '../demonstration.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-spider-sql-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the agent on one task with the responses of a model. */
async function run(task: QuestionTask, responses: readonly string[]) {
  await using model = await ScriptedModel.start(responses.map((content) => ({ type: 'response', content })));
  const trainer = new Trainer<QuestionTask>({
    ...config,
    tasks: { train: [task], test: [task] },
    sampling: {}, // A response of the scripted model has more tokens.
    run: { ...config.run, dataDir: folder },
  });
  const { rollouts } = await trainer.dev({ tasks: [task], endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  return { reward: rollouts[0]?.reward, requests: model.requests.map(({ messages }) => messages) };
}

const task: QuestionTask = {
  database: 'cars',
  question: 'Highest power of cars in Japan?',
  sql: "select max(hp) from car join maker using(maker) where area='Japan'",
};

test('a query with the rows of the right one is rewarded, whatever its wording', async () => {
  const other = "select max(c.hp) as power from car c where c.maker in (select maker from maker where area='Japan')";
  expect((await run(task, [other, 'yes'])).reward).toBe(1);
  expect((await run(task, [task.sql.replace('max', 'min'), 'yes'])).reward).toBe(0);
  expect((await run(task, ['unknown', 'yes'])).reward).toBe(0);
});

test('a query that fails its check is rewritten, at most twice', async () => {
  const wrong = 'select max(power) from car';
  const { reward, requests } = await run(task, [wrong, 'no', task.sql, 'yes']);
  expect(reward).toBe(1);
  expect(requests[2]?.slice(2).map(({ content }) => content)).toEqual([wrong, 'no such column: power']);
  expect((await run(task, [wrong, 'no', wrong, 'no', wrong, 'no'])).reward).toBe(0);
});

test('the databases are read-only', () => {
  expect(query(openDatabase('cars'), 'delete from car')).toMatchObject({ error: expect.stringContaining('readonly') });
});

test('a demonstration has the requests that the agent sends', async () => {
  const lines = readFileSync(new URL('../tasks/demonstrations.jsonl', import.meta.url), 'utf8').split('\n');
  const line = lines.find((one) => !one.includes('"rewritten":null')) ?? '';
  const demonstration: Demonstration = JSON.parse(line);
  const shown = conversations(demonstration).map(({ messages }) =>
    messages.map(({ role, content }) => ({ role, content })),
  );
  const { requests } = await run({ ...demonstration, sql: demonstration.written }, [
    ...shown.map((messages) => messages.at(-1)?.content ?? ''),
    'yes',
  ]);
  expect(requests.slice(0, 3)).toMatchObject(shown.map((messages) => messages.slice(0, -1)));
});
