import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** The folder of the report and its data. */
export const reportFolder: string = path.join(import.meta.dirname, '../../../docs/reports/bfcl-functions');

/** The rewards of each held-out task in one evaluation. */
export type HeldOut = ReadonlyMap<string, readonly number[]>;

// The logs of the report are from before events had a `type`.
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

/** The runs with these ids, from their logs and `held-out.jsonl` in a folder of the report. */
export function readResults(runs: readonly string[], folder = '.'): readonly RunResult[] {
  const heldOut = readLines(folder, 'held-out.jsonl').map((line) => heldOutSchema.parse(line));
  return runs.map((run) => {
    const events = readLines(folder, `${run}.jsonl`);
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

/** The seconds that the processes of runs used of the processor, as `time` measured them, by run. */
export function processorSeconds(folder: string): Readonly<Record<string, number>> {
  const text = readFileSync(path.join(reportFolder, folder, 'processor-seconds.json'), 'utf8');
  return z.record(z.string(), z.number()).parse(JSON.parse(text));
}

function readLines(folder: string, file: string): readonly unknown[] {
  const lines = readFileSync(path.join(reportFolder, folder, file), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line));
}
