import type { TokenChoice, TokenLogprob } from '@agentlightning/runtime/internal/serving';

/** Sampling parameters. */
export interface SamplingRule {
  /** Logits are divided by it; 0 takes the likeliest token, and log-probabilities are then those at 1. */
  readonly temperature: number;
  /** Sample only from the likeliest tokens that together reach this probability; 1 samples from all. */
  readonly topP: number;
  /** Number of likeliest tokens to report in addition to the sampled one. */
  readonly topLogprobs: number;
}

/** Samples a token with a uniform number in [0, 1). */
export function chooseToken(logits: Float32Array, rule: SamplingRule, uniform: number): TokenChoice {
  const logprobs = logSoftmax(logits, rule.temperature === 0 ? 1 : rule.temperature);
  if (rule.topP < 1 && rule.temperature > 0) keepNucleus(logprobs, rule.topP);
  const token = rule.temperature === 0 ? likeliest(logprobs) : draw(logprobs, uniform);
  return { token, logprob: logprobs[token] as number, top: likeliestTokens(logprobs, rule.topLogprobs) };
}

/** Scores a given token instead of sampling one; the nucleus does not apply, since it may exclude the token. */
export function scoreToken(logits: Float32Array, rule: SamplingRule, token: number): TokenChoice {
  const logprobs = logSoftmax(logits, rule.temperature === 0 ? 1 : rule.temperature);
  return { token, logprob: logprobs[token] as number, top: likeliestTokens(logprobs, rule.topLogprobs) };
}

function logSoftmax(logits: Float32Array, temperature: number): Float64Array {
  const logprobs = new Float64Array(logits.length);
  let highest = -Infinity;
  for (let i = 0; i < logits.length; i++) {
    const scaled = (logits[i] as number) / temperature;
    logprobs[i] = scaled;
    if (scaled > highest) highest = scaled;
  }
  let total = 0;
  for (const value of logprobs) total += Math.exp(value - highest);
  const normaliser = highest + Math.log(total);
  for (let i = 0; i < logprobs.length; i++) logprobs[i] = (logprobs[i] as number) - normaliser;
  return logprobs;
}

/** Sets logits outside the nucleus (Holtzman et al. 2020) to -Infinity and renormalises the rest. */
function keepNucleus(logprobs: Float64Array, topP: number): void {
  const order = Array.from(logprobs.keys()).sort((a, b) => (logprobs[b] as number) - (logprobs[a] as number));
  let mass = 0;
  let kept = 0;
  while (kept < order.length && (kept === 0 || mass < topP)) {
    mass += Math.exp(logprobs[order[kept] as number] as number);
    kept += 1;
  }
  for (const token of order.slice(kept)) logprobs[token] = -Infinity;
  for (const token of order.slice(0, kept)) logprobs[token] = (logprobs[token] as number) - Math.log(mass);
}

function draw(logprobs: Float64Array, uniform: number): number {
  let remaining = uniform;
  let last = 0;
  for (const [token, logprob] of logprobs.entries()) {
    if (logprob === -Infinity) continue;
    last = token;
    remaining -= Math.exp(logprob);
    if (remaining < 0) break;
  }
  return last;
}

function likeliest(logprobs: Float64Array): number {
  let best = 0;
  for (let i = 1; i < logprobs.length; i++) {
    if ((logprobs[i] as number) > (logprobs[best] as number)) best = i;
  }
  return best;
}

function likeliestTokens(logprobs: Float64Array, count: number): readonly TokenLogprob[] {
  if (count === 0) return [];
  const all = Array.from(logprobs, (logprob, token) => ({ token, logprob }));
  return all
    .filter(({ logprob }) => logprob > -Infinity)
    .sort((a, b) => b.logprob - a.logprob || a.token - b.token)
    .slice(0, count);
}
