import type { CallTokens, CallTrainingView } from '../../src/api/rollout-views.ts';
import type { TokenColor } from '../rollout-views.ts';

const exclusionTexts: Readonly<Record<string, string>> = {
  'no-reward': 'the rollout or the turn has no reward',
  stale: 'it was sampled by a policy that is too old',
  'turn-limit': 'the rollout has more turns than are trained on',
  'constant-group': 'all rollouts of the group have the same reward',
};

/** Number of different colours of policy versions. */
const versionColors = 5;

/** Why a step did not train on a call. */
export function exclusionText({ exclusion }: Pick<CallTrainingView, 'exclusion'>): string {
  return exclusion === null ? '' : (exclusionTexts[exclusion] ?? exclusion);
}

/** The advantage of a response token in a step; null when it was not trained on. */
export function advantageOf({ advantage, tokenAdvantages }: CallTrainingView, position: number): number | null {
  return tokenAdvantages?.[position] ?? advantage;
}

/** The last training step that used a call; null when none has recorded it. */
export function lastTraining({ training }: CallTokens): CallTrainingView | null {
  return training.at(-1) ?? null;
}

/** A response token of a call. */
export interface ResponseToken {
  readonly position: number;
  /** Natural-log probability when it was sampled; undefined when the engine does not report it. */
  readonly logprob: number | undefined;
  /** Version of the weights that sampled it; null when unknown. */
  readonly policyVersion: number | null;
}

/**
 * Difference of a token's log-probability between the weights before the step and the sampler, in nats; null when the step did
 * not score the token.
 */
export function logprobGap(training: CallTrainingView | null, { position, logprob }: ResponseToken): number | null {
  const trainer = training?.trainerLogprobs?.[position];
  return trainer === undefined || logprob === undefined ? null : trainer - logprob;
}

/** The value of `data-level` of a response token. */
export function tokenLevel(color: TokenColor, tokens: CallTokens, token: ResponseToken): string {
  const training = lastTraining(tokens);
  switch (color) {
    case 'logprob':
      return logprobLevel(token.logprob);
    case 'mask':
      return tokens.isTrainable && (training === null || training.exclusion === null) ? 'trained' : 'masked';
    case 'advantage':
      return training === null ? 'unknown' : advantageLevel(advantageOf(training, token.position));
    case 'gap':
      return gapLevel(logprobGap(training, token));
    case 'ratio':
      return ratioLevel(logprobGap(training, token));
    case 'version':
      return versionLevel(token.policyVersion);
  }
}

function versionLevel(policyVersion: number | null): string {
  return policyVersion === null ? 'unknown' : `version-${policyVersion % versionColors}`;
}

/** 0 for a likely token to 4 for a very unlikely one; by probability 80, 50, 20 and 5 %. */
function logprobLevel(logprob: number | undefined): string {
  if (logprob === undefined) return 'unknown';
  const probability = Math.exp(logprob);
  return String([0.8, 0.5, 0.2, 0.05].filter((limit) => probability < limit).length);
}

/** `up-1` to `up-3` and `down-1` to `down-3` by magnitude: below 0.5, below 1, from 1. */
function advantageLevel(advantage: number | null): string {
  if (advantage === null) return 'masked';
  return advantage === 0 ? 'neutral' : directionLevel(advantage > 0, Math.abs(advantage), [0.5, 1]);
}

/** 0 to 4 by magnitude: 0.02, 0.1, 0.3 and 1 nat. */
function gapLevel(gap: number | null): string {
  if (gap === null) return 'unknown';
  return String([0.02, 0.1, 0.3, 1].filter((limit) => Math.abs(gap) >= limit).length);
}

/** By probability ratio: within 5 %, within the clip range of PPO (20 %), up to a factor of 2, above. */
function ratioLevel(gap: number | null): string {
  if (gap === null) return 'unknown';
  const magnitude = Math.exp(Math.abs(gap));
  return magnitude < 1.05 ? 'neutral' : directionLevel(gap > 0, magnitude, [1.2, 2]);
}

function directionLevel(isUp: boolean, magnitude: number, limits: readonly number[]): string {
  return `${isUp ? 'up' : 'down'}-${1 + limits.filter((limit) => magnitude >= limit).length}`;
}

const legends: Readonly<Record<Exclude<TokenColor, 'version'>, readonly (readonly [level: string, label: string])[]>> =
  {
    logprob: [
      ['0', 'probability ≥ 80 %'],
      ['1', '≥ 50 %'],
      ['2', '≥ 20 %'],
      ['3', '≥ 5 %'],
      ['4', '< 5 %'],
    ],
    advantage: [
      ['up-3', 'advantage ≥ 1: made more likely'],
      ['up-2', '≥ 0.5'],
      ['up-1', '> 0'],
      ['neutral', '0: no gradient'],
      ['down-1', '< 0: made less likely'],
      ['down-2', '≤ −0.5'],
      ['down-3', '≤ −1'],
      ['masked', 'not trained'],
    ],
    mask: [
      ['trained', 'trained'],
      ['masked', 'not trained'],
    ],
    gap: [
      ['0', 'gap < 0.02 nats'],
      ['1', '≥ 0.02'],
      ['2', '≥ 0.1'],
      ['3', '≥ 0.3'],
      ['4', '≥ 1'],
      ['unknown', 'not scored'],
    ],
    ratio: [
      ['up-3', 'ratio ≥ 2: more likely than when sampled'],
      ['up-2', '≥ 1.2'],
      ['up-1', '≥ 1.05'],
      ['neutral', 'about 1'],
      ['down-1', '≤ 0.95'],
      ['down-2', '≤ 0.83'],
      ['down-3', '≤ 0.5: less likely'],
      ['unknown', 'not scored'],
    ],
  };

/** The levels of a colouring with their meaning. */
export function legendOf(color: TokenColor, tokens: CallTokens): readonly (readonly [level: string, label: string])[] {
  if (color !== 'version') return legends[color];
  return policyVersionsOf(tokens).map((version) => [versionLevel(version), policyVersionText(version, version)]);
}

/** The policy versions of the response tokens, in ascending order. */
export function policyVersionsOf({ policyVersion, choices }: CallTokens): readonly (number | null)[] {
  const versions = new Set(choices.flatMap<number | null>(({ policyVersions }) => policyVersions ?? [policyVersion]));
  return [...versions].toSorted((one, other) => (one ?? 0) - (other ?? 0));
}

/** The policy versions from the oldest to the newest token. */
export function policyVersionText(oldest: number | null, newest: number | null): string {
  if (oldest === null) return 'policy version unknown';
  return newest === oldest ? `policy version ${oldest}` : `policy versions ${oldest} to ${newest}`;
}
