/**
 * How a server weighs the data of a step: `sum`: the plain sum of tokens, as the contract says. `sequence_means`: the mean of the
 * sequences' means. `token_mean`: the mean of the trained tokens of each request.
 */
export type LossScale = 'sum' | 'sequence_means' | 'token_mean';

/** What a server does differently from others; nothing of it is on the wire. */
export interface ServerProfile {
  readonly lossScale: LossScale;
  /**
   * Whether samples come from the weights that were published. Else they come from the newest, so that nothing is sampled between
   * a step and the next publication.
   */
  readonly hasSnapshots: boolean;
}

/** Name of a known server. */
export type ServerProfileName = 'hosted' | 'skyrl-jax' | 'skyrl-torch' | 'tuft' | 'hatchery';

/** Profiles of known servers, as found in their sources or measured. */
export const serverProfiles: Readonly<Record<ServerProfileName, ServerProfile>> = {
  hosted: { lossScale: 'sum', hasSnapshots: true },
  'skyrl-jax': { lossScale: 'sequence_means', hasSnapshots: false },
  'skyrl-torch': { lossScale: 'sum', hasSnapshots: false },
  tuft: { lossScale: 'sum', hasSnapshots: true },
  hatchery: { lossScale: 'token_mean', hasSnapshots: false },
};
