import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
  // Never a real model, whatever the machine has.
  vi.stubEnv('OPENAI_API_KEY', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Seconds on a free machine, a minute on a busy one. */
const patienceMs = 180_000;

test(
  'a short search finds the rules that the help desk lacks',
  async () => {
    const { default: config } = await import('../agl.config.ts');
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), validation: taskFile('validation'), test: taskFile('test') },
      algorithm: { type: 'gepa', maxRollouts: 400, proposals: 3, reflectionTasks: 4 },
      run: { ...config.run, dataDir: folder },
    });
    const { before, after, isImproved, prompts } = await trainer.fit();
    expect([before.reward, isImproved, prompts?.measuredOn]).toEqual([0, true, 'test']);
    expect(after.reward).toBeGreaterThan(0.6);
    const { template } = JSON.parse(readFileSync(prompts?.file ?? '', 'utf8')).prompts.sorting;
    expect(template).toMatch(/\{queues\}[\s\S]*\{ticket\}[\s\S]*nothing else\.[\s\S]*- "\w+" goes to \w+\./);
  },
  patienceMs,
);
