import * as z from 'zod';
import { completionReasons, type StageSummary } from './training-event.ts';

/** A stage that a run has begun, as its trainer records it. */
export interface BegunStage extends Pick<StageSummary, 'ended'> {
  /** The last finished step when it began. */
  readonly firstStep: number;
  /** The checkpoint that it began with; null for the first stage. */
  readonly start: { readonly step: number } | null;
}

/**
 * The stages that a run has begun, in order.
 *
 * @param run.algorithms - of all configured stages
 * @param run.finishedStep - the last finished step of the run
 */
export function stageSummaries(
  begun: readonly BegunStage[],
  { algorithms, finishedStep }: { readonly algorithms: readonly string[]; readonly finishedStep: number },
): readonly StageSummary[] {
  return begun.map(({ firstStep, start, ended }, index) => ({
    algorithm: algorithms[index] ?? '',
    firstStep: firstStep + 1,
    lastStep: begun[index + 1]?.firstStep ?? finishedStep,
    startStep: start?.step ?? null,
    ended,
  }));
}

/** Reads the stages of a recorded run; none of a run without, and of one that cannot be read. */
export function readStages(recorded: unknown, configured: unknown, finishedStep: number): readonly StageSummary[] {
  if (!Array.isArray(recorded)) return [];
  // Schemas of a function do not enter the bundle of a page that does not call it.
  const begun = z.array(
    z.object({
      firstStep: z.number(),
      start: z.object({ step: z.number() }).nullable(),
      ended: z.enum(completionReasons).nullable(),
    }),
  );
  const stages = z.array(z.object({ algorithm: z.object({ type: z.string() }) }));
  const algorithms = (stages.safeParse(configured).data ?? []).map(({ algorithm }) => algorithm.type);
  return stageSummaries(begun.safeParse(recorded).data ?? [], { algorithms, finishedStep });
}
