import { AgentLightningError, type Clock } from '@agentlightning/core';
import type {
  ReasonedScore,
  RewardFunction,
  RewardInput,
  RewardMeter,
  RewardPart,
  RewardParts,
  RewardResult,
} from '@agentlightning/core/algorithm';
import { errorMessage, type JudgeUse, primaryRewardName, toRewards } from '@agentlightning/core/internal';
import type { PartScore } from '@agentlightning/core/spans';
import { after } from './time-limit.ts';

/** How outputs are scored: one function, or parts by name. */
export type OutputScoring = RewardFunction | RewardParts;

/** The longest time of a part of the reward, in milliseconds. */
const maxPartMs = 60_000;

/** What {@link scoreOutput} knows beside the output. */
export interface ScoringOptions {
  /** The clock. */
  readonly clock: Clock;
  /** The time of each part, in milliseconds. @default 60000 */
  readonly timeoutMs?: number;
  /** Ends all parts. @default never */
  readonly signal?: AbortSignal;
  /** Called with each error of a part, which is then missing. */
  readonly onError?: (part: string, error: AgentLightningError) => void;
}

/** What was recorded of each judge of this process. */
const recordedUses = new WeakMap<RewardMeter, JudgeUse>();

/** What the judges of a reward have used in this process and {@link takeJudgeUses} has not returned before, by model. */
export function takeJudgeUses(scoring: OutputScoring): Readonly<Record<string, JudgeUse>> {
  if (typeof scoring === 'function') return {};
  const uses: Record<string, JudgeUse> = {};
  for (const meter of new Set(Object.values(scoring.parts).flatMap((part) => part.meter ?? []))) {
    const { model, usage } = meter;
    const { calls, inputTokens = 0, outputTokens = 0 } = usage;
    const before = recordedUses.get(meter) ?? noUse;
    // A call is counted when it begins, and its tokens when it ends.
    const isUnchanged =
      calls === before.calls && inputTokens + outputTokens === before.inputTokens + before.outputTokens;
    if (model === undefined || isUnchanged) continue;
    recordedUses.set(meter, { calls, inputTokens, outputTokens });
    const known = uses[model] ?? noUse;
    uses[model] = {
      calls: known.calls + calls - before.calls,
      inputTokens: known.inputTokens + inputTokens - before.inputTokens,
      outputTokens: known.outputTokens + outputTokens - before.outputTokens,
    };
  }
  return uses;
}

const noUse: JudgeUse = { calls: 0, inputTokens: 0, outputTokens: 0 };

/** The name of the part that counts as the primary one. */
export function primaryPart(scoring: OutputScoring): string {
  if (typeof scoring === 'function') return primaryRewardName;
  return scoring.primary ?? Object.keys(scoring.parts)[0] ?? primaryRewardName;
}

/**
 * Scores an output by all parts at once. A part that throws, exceeds its time, or gives no finite number within its range is
 * missing with its reason, and never 0. Parts that score groups are left out.
 *
 * @returns the score of each part, by name
 */
export async function scoreOutput(
  scoring: OutputScoring,
  input: Omit<RewardInput, 'signal'>,
  options: ScoringOptions,
): Promise<Readonly<Record<string, PartScore>>> {
  if (typeof scoring === 'function') return scoreByFunction(scoring, input, options);
  const scored = Object.entries(scoring.parts).map(async ([name, part]): Promise<[string, PartScore][]> => {
    if (part.score === undefined) return [];
    return [
      [
        name,
        await attempt(name, options, async (signal) =>
          verdictScore(await part.score?.({ ...input, signal }), name, part),
        ),
      ],
    ];
  });
  return Object.fromEntries((await Promise.all(scored)).flat());
}

async function scoreByFunction(
  reward: RewardFunction,
  input: Omit<RewardInput, 'signal'>,
  options: ScoringOptions,
): Promise<Readonly<Record<string, PartScore>>> {
  let scores: Readonly<Record<string, PartScore>> = {};
  const whole = await attempt(primaryRewardName, options, async (signal) => {
    scores = resultScores(await reward({ ...input, signal }));
    return scores[primaryRewardName] ?? missing('the reward function returned no verdict');
  });
  return { ...scores, [primaryRewardName]: whole };
}

function resultScores(result: RewardResult): Readonly<Record<string, PartScore>> {
  if (typeof result !== 'object' || result === null || 'score' in result) {
    return { [primaryRewardName]: verdictScore(result, primaryRewardName, {}) };
  }
  return Object.fromEntries(
    toRewards(result as Readonly<Record<string, number>>).map(({ name, value }, index) => [
      index === 0 ? primaryRewardName : name,
      { score: value, reason: null },
    ]),
  );
}

/**
 * The score of a verdict.
 *
 * @throws AgentLightningError INVALID_REWARD for anything else than a finite number within the range, a boolean or null
 */
export function verdictScore(verdict: unknown, name: string, { range }: Pick<RewardPart, 'range'>): PartScore {
  const { score, reason } =
    typeof verdict === 'object' && verdict !== null
      ? (verdict as Partial<ReasonedScore>)
      : { score: verdict, reason: undefined };
  const text = typeof reason === 'string' ? reason : null;
  if (score === null || score === undefined) return { score: null, reason: text ?? 'no verdict' };
  const value = toRewards({ [name]: score as number })[0]?.value ?? 0;
  if (range !== undefined && (value < range[0] || value > range[1])) {
    throw new AgentLightningError({
      code: 'INVALID_REWARD',
      message: `The score ${value} of "${name}" is outside of its range ${range[0]} to ${range[1]}`,
      remedy: 'Correct the scorer, or the `range` of the part.',
    });
  }
  return { score: value, reason: text };
}

function missing(reason: string): PartScore {
  return { score: null, reason };
}

/** Runs a part within its time; its error is the reason for which it is missing. */
async function attempt(
  name: string,
  { timeoutMs = maxPartMs, onError, ...options }: ScoringOptions,
  score: (signal: AbortSignal) => Promise<PartScore>,
): Promise<PartScore> {
  try {
    return await scoreInTime(name, { ...options, timeoutMs: Math.min(timeoutMs, maxPartMs) }, score);
  } catch (thrown) {
    const error = scoringError(name, thrown);
    onError?.(name, error);
    return missing(error.message);
  }
}

/** The error of a part: what it threw, named. */
export function scoringError(name: string, thrown: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(thrown)) return thrown;
  return new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `"${name}" threw ${errorMessage(thrown)}`,
    cause: thrown,
  });
}

/**
 * Runs a part within a time. Its signal aborts at the end.
 *
 * @throws AgentLightningError TIMEOUT when it does not finish; what the part throws; the reason of the signal
 */
export async function scoreInTime<TResult>(
  name: string,
  { clock, timeoutMs, signal }: Pick<ScoringOptions, 'clock' | 'signal'> & { readonly timeoutMs: number },
  score: (signal: AbortSignal) => Promise<TResult>,
): Promise<TResult> {
  const limit = new AbortController();
  const tooLate = Promise.withResolvers<never>();
  const timer = after(timeoutMs, clock, () => tooLate.reject(late(name, timeoutMs)));
  const onAbort = (): void => tooLate.reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    return await Promise.race([score(limit.signal), tooLate.promise]);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
    limit.abort(late(name, timeoutMs));
  }
}

function late(name: string, ms: number): AgentLightningError {
  return new AgentLightningError({
    code: 'TIMEOUT',
    message: `"${name}" did not finish within ${ms} ms`,
    remedy: 'Bound the requests of the scorer by the `signal` that it receives, or raise `limits.rolloutTimeoutMs`.',
  });
}
