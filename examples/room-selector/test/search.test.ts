import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PromptSearchConfig, Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RoomTask } from '../rooms.ts';

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

/** Seconds on a free machine, minutes on a busy one. */
const timeoutMs = 600_000;

/** The held-out rewards of a search and its best prompt. */
async function search(config: PromptSearchConfig<RoomTask>) {
  const trainer = new Trainer<RoomTask>({
    ...config,
    tasks: { train: taskFile('train'), validation: taskFile('validation'), test: taskFile('test') },
    run: { ...config.run, dataDir: folder },
  });
  const { before, after, prompts } = await trainer.fit();
  const { template } = JSON.parse(readFileSync(prompts?.file ?? '', 'utf8')).prompts.selecting;
  return { before: before.reward, after: after.reward, measuredOn: prompts?.measuredOn, template };
}

test.each(['agl', 'apo'])(
  'the search of %s.config.ts finds the constraints that the prompt lacks',
  { tags: ['long'], timeout: timeoutMs },
  async (name) => {
    const { default: config } = await import(`../${name}.config.ts`);
    const { before, after, measuredOn, template } = await search(config);
    expect([measuredOn, before < 0.4]).toEqual(['test', true]);
    expect(after).toBeGreaterThan(0.9);
    expect(template).toMatch(/must be free[\s\S]*\{meeting\}/);
  },
);
