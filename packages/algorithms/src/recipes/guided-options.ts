import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type PolicyGradientOptions, parsePolicyGradientOptions } from '../policy-gradient/policy-gradient-options.ts';

/** Options of recipes with a teacher. */
export interface GuidanceOptions extends Omit<PolicyGradientOptions, 'dropConstantGroups'> {
  /**
   * The share of the teacher in the advantage of a token, more than 0 and at most 1; the rest is that of the reward. At 1 the
   * reward trains only the tokens that the teacher does not score.
   *
   * @default 1
   */
  readonly weight?: number;
  /** Limit of the absolute difference of log-probabilities of a token, in nats, more than 0. @default 5 */
  readonly clip?: number;
}

const shape = {
  weight: z.number().gt(0).max(1).exactOptional(),
  clip: z.number().positive().exactOptional(),
};

/** Ratios from 0 to 2: the policy gradient of the sampled-token divergence, with the ratio clipped at 2 as by its authors. */
const guidedDefaults: PolicyGradientOptions = { loss: 'cispo', clipLow: 1, clipHigh: 1 };

/** Validated options of a recipe with a teacher. */
export interface ParsedGuidance<TOwn> {
  readonly settings: PolicyGradientOptions;
  readonly weight: number;
  readonly clip: number;
  readonly own: TOwn;
}

/**
 * Validates the options of a recipe with a teacher.
 *
 * @param ownShape - schemas of its further options
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseGuidance<TShape extends z.ZodRawShape>(
  recipe: string,
  ownShape: TShape,
  { options, groupSize }: { readonly options: object; readonly groupSize: number },
): ParsedGuidance<z.infer<z.ZodObject<TShape>>> {
  const names = new Set([...Object.keys(ownShape), ...Object.keys(shape)]);
  const entries = Object.entries(options);
  const ofTeacher = Object.fromEntries(entries.filter(([name]) => names.has(name)));
  const others = Object.fromEntries(entries.filter(([name]) => !names.has(name)));
  const what = `algorithm ${recipe}`;
  const { weight = 1, clip = 5 } = parseSettings(z.object(shape), ofTeacher, { what });
  const own = parseSettings(z.object(ownShape), ofTeacher, { what });
  const dropped = z.object({
    dropConstantGroups: z
      .undefined({ error: 'a group with equal rewards is trained by its teacher: leave it out' })
      .optional(),
  });
  parseSettings(dropped, others, { what });
  // Other losses have other clip ranges.
  const defaults = others['loss'] === undefined ? { ...guidedDefaults, groupSize } : { groupSize };
  return { settings: parsePolicyGradientOptions(recipe, defaults, others), weight, clip, own };
}
