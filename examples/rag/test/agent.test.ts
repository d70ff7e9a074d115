import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config, { type FilmTask, judge } from '../agl.config.ts';
import { conversation, type Demonstration } from '../demonstration.ts';
import { searchFilms } from '../film-index.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-rag-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [found, other] = searchFilms('Alien');
if (found === undefined || other === undefined) throw new Error('the index has no Alien');
const alien: FilmTask = { question: 'Genre of Alien?', answer: 'Horror', document: found.id };

/** Runs the agent on one task, with a model that searches and then responds. */
async function run(task: FilmTask, words: string, response: string) {
  await using model = await ScriptedModel.start([
    { type: 'response', toolCalls: [{ name: 'search', arguments: { words } }] },
    { type: 'response', content: response },
  ]);
  const trainer = new Trainer<FilmTask>({
    ...config,
    tasks: { train: [task], test: [task] },
    sampling: {}, // A tool call of the scripted model has more tokens.
    run: { ...config.run, dataDir: folder },
  });
  const { rollouts } = await trainer.dev({ tasks: [task], endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  return { reward: rollouts[0]?.reward, requests: model.requests };
}

test('the agent answers with what the index has found', async () => {
  const { reward, requests } = await run({ ...alien, answer: found.genre }, 'Alien', `${found.genre} [1]`);
  expect(reward).toBe(1);
  expect(requests[1]?.messages.at(-1)?.['content']).toContain(`[1] ${found.title}: ${found.genre}, ${found.year}`);
  expect((await run({ ...alien, answer: found.genre }, 'Gone', `${found.genre} [1]`)).reward).toBe(0.5);
});

test.each([
  ['Horror [1]', { primary: 1, answer: 1, citation: 1 }],
  ['Horror [2]', { primary: 0.5, answer: 1, citation: 0 }],
  ['Horror [7]', { primary: 0.5, answer: 1, citation: 0 }],
  ['1979 [1]', { primary: 0.5, answer: 0, citation: 1 }],
  ['Horror', { primary: 0, answer: 0, citation: 0 }],
])('%s is rewarded for its answer and for its citation', (text, parts) => {
  expect(judge({ text, sources: [found, other] }, alien)).toEqual(parts);
});

test('words of no document, and words with the syntax of the index, find nothing or what they name', () => {
  expect(searchFilms('qqq')).toEqual([]);
  expect(searchFilms('" OR *')).toEqual(searchFilms('or'));
});

test('a demonstration has the requests that the agent sends', async () => {
  const [first = ''] = readFileSync(new URL('../tasks/demonstrations.jsonl', import.meta.url), 'utf8').split('\n');
  const demonstration: Demonstration = JSON.parse(first);
  const { requests } = await run({ ...alien, ...demonstration }, demonstration.words, demonstration.response);
  const { messages, tools } = conversation(demonstration);
  expect(requests[0]?.body).toMatchObject({ messages: messages.slice(0, 2), tools });
  const shown = JSON.parse(JSON.stringify(requests[1]?.messages).replaceAll(/"call_[\w-]+"/g, '"call_0"'));
  expect(shown).toMatchObject(messages.slice(0, 4));
});
