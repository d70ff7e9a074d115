import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** The folder of the report and its data. */
export const reportFolder: string = path.join(import.meta.dirname, '../../../docs/reports/bfcl-functions');

/** The rewards of each held-out task in one evaluation. */
export type HeldOut = ReadonlyMap<string, readonly number[]>;

const stepSchema = z.object({
  event: z.literal('step'),
  step: z.int(),
  reward: z.number(),
  seconds: z.number(),
  metrics: z.record(z.string(), z.number()),
});

/** A training step of a log. */
export type Step = z.infer<typeof stepSchema>;

/** The log and the evaluations of a run. */
export interface RunResult {
  readonly run: string;
  readonly steps: readonly Step[];
  /** Wall time with evaluations, in seconds. */
  readonly seconds: number;
  readonly before: HeldOut;
  readonly after: HeldOut;
}

const doneSchema = z.object({ event: z.literal('done'), seconds: z.number() });

const heldOutSchema = z.object({
  run: z.string(),
  phase: z.enum(['before', 'after']),
  task: z.string(),
  rewards: z.array(z.number()).min(1),
});

/** The runs with these ids, from their logs and `held-out.jsonl`. */
export function readResults(runs: readonly string[]): readonly RunResult[] {
  const heldOut = readLines('held-out.jsonl').map((line) => heldOutSchema.parse(line));
  return runs.map((run) => {
    const events = readLines(`${run}.jsonl`);
    const rewardsOf = (phase: string): HeldOut =>
      new Map(
        heldOut.filter((line) => line.run === run && line.phase === phase).map(({ task, rewards }) => [task, rewards]),
      );
    return {
      run,
      steps: events.flatMap((event) => stepSchema.safeParse(event).data ?? []),
      seconds: events.flatMap((event) => doneSchema.safeParse(event).data ?? [])[0]?.seconds ?? Number.NaN,
      before: rewardsOf('before'),
      after: rewardsOf('after'),
    };
  });
}

function readLines(file: string): readonly unknown[] {
  const lines = readFileSync(path.join(reportFolder, file), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}
