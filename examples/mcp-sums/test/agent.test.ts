import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config, { type SumTask, server } from '../agl.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-mcp-sums-'));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the model adds with the tool of the server, and only the right answer is rewarded', async () => {
  await using model = await ScriptedModel.start(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    if (role !== 'tool') return callTool('get-sum', { a: 12, b: 30 });
    return respondWith(/is (\d+)\.$/.exec(String(content))?.[1] ?? 'no sum');
  });
  const question = 'Add 12 and 30.';
  const tasks: SumTask[] = [
    { question, answer: '42' },
    { question, answer: '43' },
  ];
  const trainer = new Trainer<SumTask, unknown>({
    ...config,
    tasks: { train: tasks, test: tasks },
    sampling: {}, // A tool call of the scripted model has more tokens.
    run: { ...config.run, dataDir: folder },
  });
  const { rollouts } = await trainer.dev({ tasks, endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  expect(rollouts.map(({ reward }) => reward)).toEqual([1, 0]);
});

test('the generated answers are right, and held-out questions are not among those of the training', () => {
  const [train, held] = ['train', 'test'].map((name) =>
    readFileSync(path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SumTask),
  );
  for (const { question, answer } of [...(train ?? []), ...(held ?? [])]) {
    const [a = 0, b = 0] = (question.match(/\d+/g) ?? []).map(Number);
    expect(`${question} ${answer}`).toBe(`${question} ${a + b}`);
  }
  const known = new Set(train?.map(({ question }) => question));
  expect([train?.length, held?.filter(({ question }) => !known.has(question)).length]).toEqual([256, 64]);
});
