/**
 * How a server weighs the data of a step: `sum`: the plain sum of tokens, as the contract says. `sequence_means`: the mean of the
 * sequences' means. `token_mean`: the mean of the trained tokens of each request.
 */
export type LossScale = 'sum' | 'sequence_means' | 'token_mean';

/** What a server does differently from others; nothing of it is on the wire, so that it is measured. */
export interface ServerProfile {
  /** How it weighs the data of a step. */
  readonly lossScale: LossScale;
  /**
   * Whether samples come from the weights that were published. Else they come from the newest, so that nothing is sampled between
   * a step and the next publication.
   */
  readonly hasSnapshots: boolean;
  /** Whether a sample at temperature 1 from all tokens is drawn; else it is the likeliest response, unless `top_p` is below 1. */
  readonly drawsFromAll: boolean;
  /** Whether a step limits the norm of its gradient as the request says. */
  readonly limitsGradient: boolean;
}
