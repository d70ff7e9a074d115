import { z } from 'zod';

/**
 * Generalised advantage estimation: advantages per token, relative to the predictions of a value head (Schulman et al. 2016,
 * arXiv 1506.02438, equation 16). It does not need groups: one rollout per task is enough. The value head is trained
 * together with the policy.
 */
export interface GaeOptions {
  /** Generalised advantage estimation. */
  readonly type: 'gae';
  /** Discount factor per token, `γ`, from 0 to 1. @default 1 */
  readonly discount?: number;
  /**
   * `λ`, from 0 to 1: the weight of observed rewards relative to predicted values. 1 has no bias and the most variance; 0
   * uses one-step estimates only, which propagate rewards slowly.
   *
   * @default 1
   */
  readonly lambda?: number;
  /**
   * Whether advantages are centred and scaled to mean 0 and variance 1 over the trained tokens of the step. Where they vary
   * more than the value targets do, the variance is the smaller ratio of both: with equal rewards, as of a solved task, only
   * the error of the value head remains, which would otherwise destroy what the policy has learned.
   *
   * @default true
   */
  readonly whiten?: boolean;
}

const share = z.number().min(0).max(1).exactOptional();

/** The shape of {@link GaeOptions}. */
export const gaeOptionsSchema: z.ZodType<GaeOptions> = z.strictObject({
  type: z.literal('gae'),
  discount: share,
  lambda: share,
  whiten: z.boolean().exactOptional(),
});

/** Whether the options select generalised advantage estimation. */
export function isGae(options: object | undefined): options is GaeOptions {
  return options !== undefined && 'type' in options && options.type === 'gae';
}
