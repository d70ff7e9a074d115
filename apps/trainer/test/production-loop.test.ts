import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readDeployment } from '@agentlightning/core/protocol';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type StoredTrainConfig, Trainer } from '../src/index.ts';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { type SupportAnswer, startSupportApp } from './fixtures/support-app.ts';
import { RunFolder } from './run-folder.ts';

/** It trains three models and serves them to hundreds of users, on a machine that may be busy. */
vi.setConfig({ testTimeout: 480_000 });

const name = 'support-agent';
const questions = Array.from({ length: 8 }, (_, index) => `Can I return order ${index}?`);

let folder: RunFolder;
let store: SqlStore;
beforeEach(async () => {
  folder = new RunFolder();
  store = await openStore(`sqlite:${path.join(folder.path, 'agl.db')}`);
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

/** Trains on a file, without an agent. */
async function train(
  runId: string,
  config: Pick<StoredTrainConfig, 'data' | 'algorithm' | 'steps' | 'checkpoints'>,
): Promise<void> {
  const trainer = new Trainer({
    runtime: { type: 'embedded', model: 'tiny-random' },
    tasksPerStep: 8,
    sampling: { temperature: 1, maxTokens: 4 },
    ...config,
    run: { dataDir: folder.path },
  });
  await trainer.fit({ runId });
}

/** A file of conversations in which the agent gives the answers. */
function conversations(file: string, answers: readonly string[]): string {
  const lines = questions.flatMap((question) =>
    answers.map((content) => ({
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content },
      ],
    })),
  );
  const at = path.join(folder.path, file);
  writeFileSync(at, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return at;
}

async function post<TResult>(url: string, body: object): Promise<TResult> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${text}`);
  return JSON.parse(text) as TResult;
}

/** The population: each user asks once, and is happy with an answer that begins with yes. */
class Population {
  readonly #app: string;
  #size = 0;

  constructor(app: string) {
    this.#app = app;
  }

  /** New users ask and rate. @returns the share of happy ones */
  async visit(count: number): Promise<number> {
    const visits = Array.from({ length: count }, async () => {
      this.#size += 1;
      const user = `user-${this.#size}`;
      const question = questions[this.#size % questions.length];
      const { text, id } = await post<SupportAnswer>(`${this.#app}/ask`, { question, user });
      const label = text.startsWith('yes') ? 'good' : 'bad';
      // People rate after they have read; the trace has arrived by then.
      await vi.waitFor(() => post(`${this.#app}/feedback`, { id, label, user }), { timeout: 20_000, interval: 50 });
      return Number(label === 'good');
    });
    const happy = await Promise.all(visits);
    return happy.reduce((sum, each) => sum + each, 0) / count;
  }

  /** Users visit until the trial is over. @returns its duration in milliseconds */
  async visitUntilDecided(): Promise<number> {
    const startMs = Date.now();
    while (readDeployment(await store.getRun(name))?.candidate !== null) {
      expect(Date.now() - startMs).toBeLessThan(150_000);
      await this.visit(40);
    }
    return Date.now() - startMs;
  }
}

test('from traffic by feedback, a data set and DPO to a better agent; a worse one is rolled back automatically', {
  tags: ['long'],
}, async () => {
  const { key: storeKey } = await store.createAccessKey({ name: 'shop', role: 'ingest' });
  await train('first', {
    data: conversations('first.jsonl', ['yes', 'no']),
    algorithm: { type: 'sft', learningRate: 0.01 },
    steps: 30,
  });
  await using storeServer = new AglProcess([
    'store',
    '--db',
    `sqlite:${path.join(folder.path, 'agl.db')}`,
    '--port',
    '0',
  ]);
  const storeUrl = String((await storeServer.event('ready'))['url']);
  const at = ['--store', `sqlite:${path.join(folder.path, 'agl.db')}`];
  await using served = new AglProcess([
    'serve',
    'first@final',
    '--as',
    name,
    '--port',
    '0',
    '--data-dir',
    folder.path,
    ...at,
  ]);
  const gatewayUrl = String((await served.event('ready'))['url']);
  using app = await startSupportApp({ gatewayUrl, storeUrl, storeKey });
  const users = new Population(app.url);

  const before = await users.visit(120);
  expect(before).toBeGreaterThan(0.2);
  expect(before).toBeLessThan(0.8);

  const pairs = path.join(folder.path, 'pairs.jsonl');
  const made = await runAgl(['dataset', '--from', name, '--format', 'preference', '--out', pairs, ...at]);
  expect(made).toMatchObject({ code: 0 });
  expect(readFileSync(pairs, 'utf8').trim().split('\n').length).toBeGreaterThanOrEqual(4);

  await train('second', {
    data: pairs,
    checkpoints: { from: 'first@final' },
    algorithm: { type: 'dpo', learningRate: 0.01 },
    steps: 16,
  });
  const trial = ['deploy', 'second@final', '--to', name, '--share', '20%', '--promote-when', 'better', ...at];
  expect(await runAgl(trial)).toMatchObject({ code: 0 });
  await users.visitUntilDecided();
  const promoted = readDeployment(await store.getRun(name));
  expect(promoted).toMatchObject({ live: 'second@16', candidate: null });
  expect(promoted?.history.at(-1)).toMatchObject({ action: 'promote', previous: 'first@30', by: 'agl serve' });
  await vi.waitFor(async () => expect(await users.visit(40)).toBeGreaterThan(0.8), { timeout: 30_000 });

  await train('third', {
    data: conversations('third.jsonl', ['no']),
    checkpoints: { from: 'first@final' },
    algorithm: { type: 'sft', learningRate: 0.01 },
    steps: 20,
  });
  expect(await runAgl(['deploy', 'third@final', '--to', name, '--share', '20%', ...at])).toMatchObject({ code: 0 });
  expect(await users.visitUntilDecided()).toBeLessThan(60_000);
  const kept = readDeployment(await store.getRun(name));
  expect(kept).toMatchObject({ live: 'second@16', candidate: null });
  expect(kept?.history.at(-1)).toMatchObject({ action: 'rollback', previous: 'third@20', by: 'agl serve' });
  expect(kept?.history.at(-1)?.reason).toContain('the score is shown to be lower');
});
