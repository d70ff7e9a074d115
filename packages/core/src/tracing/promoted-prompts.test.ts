import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import type { JsonValue } from '../base/json.ts';
import type { Run } from '../store/run.ts';
import { defineExamples } from './example-prompt.ts';
import { loadPrompts } from './promoted-prompts.ts';
import { definePrompt } from './prompt.ts';
import { withRollout } from './rollout-context.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-prompts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const answering = definePrompt('answering', 'Code: {question}');
const rendered = (): string => answering.format({ question: 'Why?' });

function write(file: string, best: string, template: string): void {
  writeFileSync(file, JSON.stringify({ best, prompts: { answering: { template } } }));
}

function storeWith(prompts: () => JsonValue): { readonly getRun: (runId: string) => Promise<Run> } {
  return {
    getRun: async (runId) => ({
      runId,
      name: runId,
      status: 'running',
      config: {},
      state: { kind: 'deployment', prompts: prompts() },
      createTimeMs: 0,
      updateTimeMs: 0,
    }),
  };
}

test('the promoted text of a file replaces the one in the code, and follows its changes', async () => {
  const file = path.join(folder, 'prompts.json');
  write(file, 'v3', 'Third: {question}');
  using loaded = await loadPrompts(file);
  expect([loaded.version, rendered()]).toEqual(['v3', 'Third: Why?']);
  write(file, 'v4', 'Fourth: {question}');
  await loaded.refresh();
  expect([loaded.version, rendered()]).toEqual(['v4', 'Fourth: Why?']);
});

test('a broken or missing file keeps the last text, and the text in the code before', async () => {
  const file = path.join(folder, 'broken.json');
  const onError = vi.fn<(error: Error) => void>();
  using loaded = await loadPrompts(file, { onError });
  expect([loaded.version, rendered()]).toEqual([null, 'Code: Why?']);
  write(file, 'v1', 'First: {question}');
  await loaded.refresh();
  writeFileSync(file, '{"best": "v2", "prom');
  await loaded.refresh();
  expect([loaded.version, rendered()]).toEqual(['v1', 'First: Why?']);
  expect(onError.mock.calls.map(([{ message }]) => message)).toEqual([
    expect.stringContaining('broken.json cannot be read'),
    expect.stringContaining('broken.json cannot be read'),
  ]);
});

test('prompts of a deployment come from a store; one that is away fails no request', async () => {
  let isAway = false;
  const store = storeWith(() => {
    if (isAway) throw new Error('connect ECONNREFUSED');
    return { best: 'run-1@v2', prompts: { answering: { template: 'Store: {question}' } } };
  });
  using loaded = await loadPrompts({ store, deployment: 'support-agent' });
  expect([loaded.version, rendered()]).toEqual(['run-1@v2', 'Store: Why?']);
  isAway = true;
  await loaded.refresh();
  expect(rendered()).toBe('Store: Why?');
});

test('a store that does not respond delays the start by a bounded time only', async () => {
  vi.useFakeTimers();
  try {
    const getRun = (): Promise<Run> => new Promise(() => undefined);
    const loading = loadPrompts({ store: { getRun }, deployment: 'support-agent' });
    await vi.advanceTimersByTimeAsync(2000);
    using loaded = await loading;
    expect([loaded.version, rendered()]).toEqual([null, 'Code: Why?']);
  } finally {
    vi.useRealTimers();
  }
});

test('a promoted text with other variables, and one in a rollout, is not used', async () => {
  const file = path.join(folder, 'other.json');
  write(file, 'v1', 'Other: {topic}');
  using loaded = await loadPrompts(file);
  expect(rendered()).toBe('Code: Why?');
  write(file, 'v2', 'No variable.');
  await loaded.refresh();
  expect(rendered()).toBe('No variable.');
  const rollout = {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    mode: null,
    traceId: '0'.repeat(32),
    parentSpanId: null,
    agentName: null,
    sink: { append: () => undefined, flush: () => Promise.resolve() },
    endpoint: null,
    signal: new AbortController().signal,
  };
  expect(withRollout(rollout, rendered)).toBe('Code: Why?');
});

test('promoted descriptions of tools and examples are used', async () => {
  const file = path.join(folder, 'kinds.json');
  const tracking = definePrompt('track', 'Finds a parcel.', { kind: 'tool' });
  const examples = defineExamples('shots', { example: ({ response }) => response });
  const prompts = {
    track: { kind: 'tool', template: 'Finds a parcel by its number.', variables: [] },
    shots: { kind: 'examples', template: 'Q: {{"a": 1}}\nA: yes', variables: [] },
  };
  writeFileSync(file, JSON.stringify({ best: 'v3', prompts }));
  using loaded = await loadPrompts(file);
  expect(loaded.version).toBe('v3');
  expect([tracking.format(), examples.format()]).toEqual(['Finds a parcel by its number.', 'Q: {"a": 1}\nA: yes']);
});

test('disposed prompts give way to the text in the code', async () => {
  const file = path.join(folder, 'disposed.json');
  write(file, 'v1', 'First: {question}');
  const loaded = await loadPrompts(file);
  expect(rendered()).toBe('First: Why?');
  loaded[Symbol.dispose]();
  expect(rendered()).toBe('Code: Why?');
});
