import type { Run } from '@agentlightning/core';
import { type PublicationRecord, publicationRecordsSchema, type VerdictName } from '@agentlightning/core/protocol';
import { z } from 'zod';
import type { EvaluationView, RunKind, WarningView } from '../api/run-views.ts';

/** Cause and remedy of a warning, by its name. */
export type WarningExplanations = Readonly<Record<string, { readonly cause: string; readonly remedy: string }>>;

const evaluation = z.object({
  reward: z.number(),
  ci95: z.tuple([z.number(), z.number()]),
  rollouts: z.number(),
  missing: z.number(),
});

/** A part of the state that cannot be read becomes absent: other programs may have written the run. */
const progress = z.object({
  kind: z.enum(['training', 'prompt-search', 'evaluation']).catch('training'),
  finishedStep: z.number().catch(0),
  steps: z.number().nullish().catch(null),
  before: evaluation.nullish().catch(null),
  after: evaluation.nullish().catch(null),
  verdict: z.enum(['better', 'worse', 'not-significant', 'undecided']).nullish().catch(null),
  evaluations: z
    .array(z.object({ step: z.number(), summary: evaluation }))
    .nullish()
    .catch(null),
  rewardCurve: z.array(z.number()).nullish().catch(null),
  lossCurve: z.array(z.number().nullable()).nullish().catch(null),
  publications: publicationRecordsSchema.nullish().catch(null),
  warnings: z
    .array(z.object({ name: z.string(), step: z.number(), policy: z.string().nullable(), message: z.string() }))
    .nullish()
    .catch(null),
});

const tagList = z.array(z.string()).catch([]);

/** The progress of a run as its trainer recorded it. */
export interface RunProgress {
  readonly kind: RunKind;
  readonly tags: readonly string[];
  readonly step: number;
  readonly steps: number | null;
  readonly rewardCurve: readonly number[];
  /** The loss of the steps that imitate demonstrations. */
  readonly lossCurve: readonly number[];
  readonly rewardBefore: number | null;
  readonly rewardAfter: number | null;
  readonly verdict: VerdictName | null;
  readonly evaluations: readonly EvaluationView[];
  readonly warnings: readonly WarningView[];
  /** Newest first. */
  readonly publications: readonly PublicationRecord[];
}

/** Reads the state of a run. */
export function readProgress({ state, config }: Run, explanations: WarningExplanations): RunProgress {
  const read = progress.parse(state);
  const { finishedStep, before, after } = read;
  const { steps: configured } = config;
  return {
    kind: read.kind === 'evaluation' && config['purpose'] === 'development' ? 'dev' : read.kind,
    tags: tagList.parse(config['tags']),
    step: finishedStep,
    steps: read.steps ?? (typeof configured === 'number' ? configured : null),
    rewardCurve: read.rewardCurve ?? [],
    lossCurve: (read.lossCurve ?? []).filter((loss) => loss !== null),
    rewardBefore: before?.reward ?? null,
    rewardAfter: after?.reward ?? null,
    verdict: read.verdict ?? null,
    evaluations: [
      ...(before == null ? [] : [evaluationView(0, before)]),
      ...(read.evaluations ?? []).map(({ step, summary }) => evaluationView(step, summary)),
      ...(after == null ? [] : [evaluationView(finishedStep, after)]),
    ],
    publications: (read.publications ?? []).toReversed(),
    warnings: (read.warnings ?? []).map((warning) => {
      const { cause = null, remedy = null } = Object.hasOwn(explanations, warning.name)
        ? (explanations[warning.name] ?? {})
        : {};
      return { ...warning, cause, remedy };
    }),
  };
}

function evaluationView(step: number, { reward, ci95, rollouts, missing }: z.infer<typeof evaluation>): EvaluationView {
  const [low, high] = ci95;
  return { step, reward, low, high, rollouts, missing };
}
