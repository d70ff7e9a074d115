import path from 'node:path';
import { failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 60_000 });

const agent = path.resolve(import.meta.dirname, 'fixtures/traced-agent.ts');
const task = '{"question":"2 + 2?","answer":"4"}';

async function traceWith(model: ScriptedModel, ...flags: readonly string[]): Promise<AglProcess> {
  const trace = new AglProcess(['trace', agent, ...flags], { env: { OPENAI_BASE_URL: model.baseUrl } });
  await trace.exitCode();
  return trace;
}

test('the trace of an agent is printed as a tree with its conversation and reward', async () => {
  await using model = await ScriptedModel.start([respondWith('4')]);
  await using trace = await traceWith(model, '--task', task);
  expect(trace.stderr).toBe('');
  expect(trace.output).toMatch(/^asking\n└─ #\d+ {2}rollout[^\n]*\n {3}├─ #\d+ {2}model tiny/);
  expect(trace.output).toMatch(/user {6}2 \+ 2\?\nassistant 4\nreward 1\n$/);
  expect(await trace.exitCode()).toBe(0);
});

test('with --json standard output is one document', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  await using trace = await traceWith(model, '--task', task, '--json');
  expect(trace.stderr).toContain('asking');
  const document: unknown = JSON.parse(trace.output);
  expect(document).toMatchObject({
    reward: 0,
    error: null,
    conversation: [{ role: 'user' }, { role: 'assistant', parts: [{ type: 'text', text: '5' }] }],
  });
});

test('a failed agent is traced, and the exit code is 1', async () => {
  await using model = await ScriptedModel.start([failWith(400, { message: 'no such model' })]);
  await using trace = await traceWith(model, '--task', task);
  expect(trace.output).toMatch(/model tiny.*\n/);
  expect(trace.output).toMatch(/no reward\n$/);
  expect(trace.stderr).toContain('400');
  expect(await trace.exitCode()).toBe(1);
});

test.each([
  [['trace', agent, '--task', '{question'], /--task is not JSON: \{question/],
  [['trace', path.join(import.meta.dirname, 'with-store.ts'), '--task', '1'], /exports no agent/],
  [['trace', agent], /required option '--task <json>'/],
])('%j is a usage error', async (args, message) => {
  await using trace = new AglProcess(args);
  expect(await trace.exitCode()).toBe(2);
  expect(trace.stderr).toMatch(message);
});
