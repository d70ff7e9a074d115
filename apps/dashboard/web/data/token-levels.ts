import type { CallTokens, CallTrainingView } from '../../src/api/rollout-views.ts';
import type { TokenColor } from '../rollout-views.ts';

const exclusionTexts: Readonly<Record<string, string>> = {
  'no-reward': 'the rollout or the turn has no reward',
  stale: 'it was sampled by a policy that is too old',
  'turn-limit': 'the rollout has more turns than are trained on',
  'constant-group': 'all rollouts of the group have the same reward',
};

/** Why a step did not train on a call. */
export function exclusionText({ exclusion }: CallTrainingView): string {
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

/** The value of `data-level` of a response token. */
export function tokenLevel(
  color: TokenColor,
  tokens: CallTokens,
  token: { position: number; logprob?: number },
): string {
  const training = lastTraining(tokens);
  switch (color) {
    case 'logprob':
      return logprobLevel(token.logprob);
    case 'mask':
      return tokens.isTrainable && (training === null || training.exclusion === null) ? 'trained' : 'masked';
    case 'advantage':
      return training === null ? 'unknown' : advantageLevel(advantageOf(training, token.position));
  }
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
  if (advantage === 0) return 'neutral';
  const magnitude = 1 + [0.5, 1].filter((limit) => Math.abs(advantage) >= limit).length;
  return `${advantage > 0 ? 'up' : 'down'}-${magnitude}`;
}

/** The levels of a colouring with their meaning. */
export const legends: Readonly<Record<TokenColor, readonly (readonly [level: string, label: string])[]>> = {
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
};
