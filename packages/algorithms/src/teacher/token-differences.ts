import { runMetrics } from '@agentlightning/core/metrics';

/** Log-probabilities of the tokens of a row. */
interface ComparedLogprobs {
  readonly teacher: Float32Array;
  readonly policy: Float32Array;
}

/** Advantages of tokens from their log-probabilities under teacher and policy, with statistics of a step. */
export class TokenDifferences {
  readonly #weight: number;
  readonly #clip: number;
  #compared = 0;
  #divergence = 0;
  #clipped = 0;
  #tokens = 0;
  #sum = 0;
  #squares = 0;
  #zeros = 0;

  constructor({ weight, clip }: { readonly weight: number; readonly clip: number }) {
    this.#weight = weight;
    this.#clip = clip;
  }

  /** `(1 - weight) · A + weight · clip(log p(teacher) - log p(policy))` for each token, with `A` the advantage of the reward. */
  mix(ofReward: Float32Array, { teacher, policy }: ComparedLogprobs): Float32Array {
    return ofReward.map((advantage, token) => {
      const difference = (teacher[token] ?? 0) - (policy[token] ?? 0);
      const clipped = Math.min(this.#clip, Math.max(-this.#clip, difference));
      this.#compared += 1;
      this.#divergence -= difference;
      if (clipped !== difference) this.#clipped += 1;
      return this.#counted((1 - this.#weight) * advantage + this.#weight * clipped);
    });
  }

  /** The advantages of a row that the teacher does not score. */
  unguided(ofReward: Float32Array): Float32Array {
    for (const advantage of ofReward) this.#counted(advantage);
    return ofReward;
  }

  /** Divergence and advantages over the tokens so far. */
  metrics(): Readonly<Record<string, number>> {
    const mean = this.#tokens === 0 ? 0 : this.#sum / this.#tokens;
    const variance = this.#tokens < 2 ? 0 : (this.#squares - this.#tokens * mean * mean) / (this.#tokens - 1);
    return {
      ...(this.#tokens === 0
        ? {}
        : {
            [runMetrics.advantageStd.name]: Math.sqrt(Math.max(0, variance)),
            [runMetrics.advantageZeroShare.name]: this.#zeros / this.#tokens,
          }),
      ...(this.#compared === 0
        ? {}
        : {
            [runMetrics.teacherKl.name]: this.#divergence / this.#compared,
            [runMetrics.teacherClipped.name]: this.#clipped / this.#compared,
          }),
    };
  }

  #counted(advantage: number): number {
    this.#tokens += 1;
    this.#sum += advantage;
    this.#squares += advantage * advantage;
    if (advantage === 0) this.#zeros += 1;
    return advantage;
  }
}
