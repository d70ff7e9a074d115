import { z } from 'zod';

/**
 * Advantages against what a value head expected, token by token (generalised advantage estimation: Schulman et al. 2016,
 * arXiv 1506.02438, equation 16). Needs no group: one rollout a task is enough. The model gets a value head, which learns
 * beside the policy.
 */
export interface GaeOptions {
  readonly type: 'gae';
  /** `γ` in `[0, 1]`: how much what happens one token later counts. @default 1 */
  readonly discount?: number;
  /**
   * `λ` in `[0, 1]`: how much the rewards that really came count against what the value head expects. 1 has no bias and the
   * most variance; 0 trusts the value head from one token to the next, so rewards spread slowly.
   *
   * @default 1
   */
  readonly lambda?: number;
  /** Whether advantages are centred and scaled to mean 0 and variance 1 over the trained tokens of the step. @default true */
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

/** Whether advantages are to be made against a value head. */
export function isGae(options: object | undefined): options is GaeOptions {
  return options !== undefined && 'type' in options && options.type === 'gae';
}
