import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PromptSearchConfig, Trainer, type TrainingEvent, type TrainingSummary } from '@agentlightning/trainer';
import type { DeskOutcome, DeskTask } from '../desk.ts';

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** A search with some of the prompts and its warnings. */
export async function search(
  changes: Partial<PromptSearchConfig<DeskTask, DeskOutcome>>,
): Promise<{ readonly summary: TrainingSummary; readonly warnings: readonly string[] }> {
  const { search: config } = await import('../agl.config.ts');
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-desk-'));
  const warnings: string[] = [];
  const onEvent = (event: TrainingEvent): void => void (event.type === 'warning' && warnings.push(event.message));
  try {
    const trainer = new Trainer<DeskTask, DeskOutcome>({
      ...config,
      tasks: { train: taskFile('train'), validation: taskFile('validation'), test: taskFile('test') },
      ...changes,
      run: { ...config.run, ...changes.run, dataDir: folder },
    });
    return { summary: await trainer.fit({ onEvent }), warnings };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
