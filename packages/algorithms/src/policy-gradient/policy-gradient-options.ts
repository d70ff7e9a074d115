import type { ValidationIssue } from '@agentlightning/core';
import type { AdvantageEstimator, CreditAssignment } from '@agentlightning/core/algorithm';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type AdvantageOptions, advantageOptionsSchema, advantageTypes } from '../advantage/advantage-options.ts';
import { type GaeOptions, gaeOptionsSchema, isGae } from '../advantage/gae-options.ts';
import { hasMethod } from '../base/has-method.ts';
import {
  type CreditAssignmentOptions,
  creditAssignmentOptionsSchema,
} from '../credit-assignment/credit-assignment-options.ts';
import { type SamplerCorrection, samplerCorrectionSchema } from '../sampler-correction.ts';
import { type StepOptions, stepOptionsShape } from '../step/step-options.ts';
import { type LossOptions, lossIssues, lossNames } from './loss-options.ts';
import { type OverlongPenalty, overlongPenaltySchema } from './overlong-penalty.ts';

/** Options of policy-gradient recipes. The defaults below are those of `grpo`; each recipe documents its own. */
export interface PolicyGradientOptions extends LossOptions, StepOptions {
  /** Credit assignment: by name, or a custom implementation. @default { type: 'terminal' } */
  readonly creditAssignment?: CreditAssignmentOptions | CreditAssignment;
  /** Advantage estimator: by name, or a custom implementation; `gae` uses a value head. @default { type: 'grpo' } */
  readonly advantage?: AdvantageOptions | GaeOptions | AdvantageEstimator;
  /**
   * Whether groups whose advantages are all 0 are dropped, so that they do not reduce the size of the step (dynamic sampling
   * of DAPO, arXiv 2503.14476). The entropy, KL and `dro` terms of their tokens are dropped with them.
   *
   * @default false
   */
  readonly dropConstantGroups?: boolean;
  /** Length penalty of long rollouts; not with credit by turn, such as `per-turn`. @default none */
  readonly overlongPenalty?: OverlongPenalty;
  /**
   * Correction for rollouts sampled by older weights, or by an engine with different arithmetic. Costs a forward pass over
   * the step's rollouts.
   *
   * @default none: the ratio of the loss is relative to the sampler
   */
  readonly samplerCorrection?: SamplerCorrection;
  /** Maximum age of the sampling policy, in policy versions; older turns are not trained on. @default no limit */
  readonly maxStaleness?: number;
  /** Maximum number of trained turns per rollout, drawn by the seed; the others remain as context. @default no limit */
  readonly maxTurns?: number;
}

const coefficient = z.number().min(0).exactOptional();

const optionsObject = z.strictObject({
  ...stepOptionsShape,
  creditAssignment: z
    .union([z.custom<CreditAssignment>(hasMethod('assign')), creditAssignmentOptionsSchema], {
      error:
        'must be { type: "terminal" }, { type: "last-turn" }, { type: "per-turn", discount }, { type: "by-agent", team } or an object with a method `assign`',
    })
    .exactOptional(),
  advantage: z
    .union([z.custom<AdvantageEstimator>(hasMethod('estimate')), advantageOptionsSchema, gaeOptionsSchema], {
      error: `must be { type: "grpo" }, with one of ${advantageTypes.join(', ')} as type, { type: "gae", discount, lambda, whiten }, or an object with a method \`estimate\``,
    })
    .exactOptional(),
  dropConstantGroups: z.boolean().exactOptional(),
  overlongPenalty: overlongPenaltySchema.exactOptional(),
  samplerCorrection: samplerCorrectionSchema.exactOptional(),
  maxStaleness: z.int().min(0).exactOptional(),
  maxTurns: z.int().min(1).exactOptional(),
  loss: z.enum(lossNames).exactOptional(),
  clipLow: coefficient,
  clipHigh: coefficient,
  droBeta: coefficient,
  dualClip: z
    .number()
    .refine((clip) => clip === 0 || clip > 1, { error: 'must be 0 or more than 1' })
    .exactOptional(),
  entropyCoefficient: coefficient,
  klCoefficient: coefficient,
  klEstimator: z.enum(['k1', 'k2', 'k3']).exactOptional(),
  klPlacement: z.enum(['loss', 'reward']).exactOptional(),
  valueCoefficient: coefficient,
  valueClip: coefficient,
});

/**
 * Validates options from outside, such as a configuration file, and adds the recipe's defaults.
 *
 * @param recipe - the recipe's name
 * @param defaults - options that differ from the defaults of {@link PolicyGradientOptions}
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parsePolicyGradientOptions(
  recipe: string,
  defaults: PolicyGradientOptions,
  options: unknown,
): PolicyGradientOptions {
  const schema: z.ZodType<PolicyGradientOptions> = optionsObject.check(({ value, issues }) => {
    for (const { path, message } of contradictions({ ...defaults, ...value }))
      issues.push({ code: 'custom', input: value, path: [path], message });
  });
  return { ...defaults, ...parseSettings(schema, options, { what: `algorithm ${recipe}` }) };
}

/** Issues of settings that are valid alone but contradict each other. */
function contradictions(settings: PolicyGradientOptions): readonly ValidationIssue[] {
  return [
    ...lossIssues(settings),
    ...(settings.rewardName !== undefined && settings.rewardWeights !== undefined
      ? [{ path: 'rewardName', message: 'cannot be combined with rewardWeights' }]
      : []),
    ...overlongIssues(settings),
    ...(isGae(settings.advantage) ? valueIssues(settings) : comparisonIssues(settings)),
  ];
}

/** Whether turns are credited separately, without a return of the rollout or agent. */
function isByTurn({ creditAssignment }: PolicyGradientOptions): boolean {
  if (creditAssignment === undefined) return false;
  return 'assign' in creditAssignment ? creditAssignment.scope === 'turn' : creditAssignment.type === 'per-turn';
}

/** The penalty applies to the whole rollout, so turns cannot be credited separately. */
function overlongIssues(settings: PolicyGradientOptions): readonly ValidationIssue[] {
  if (settings.overlongPenalty === undefined || !isByTurn(settings)) return [];
  return [{ path: 'overlongPenalty', message: `is for a rollout as a whole; ${wholesOnly}` }];
}

const wholesOnly =
  'take a creditAssignment of rollouts or agents with it, such as { type: "terminal" } or { type: "by-agent" }, not one by turn';

/** Issues of advantages that compare the rollouts of a step. */
function comparisonIssues(settings: PolicyGradientOptions): readonly ValidationIssue[] {
  const { advantage = { type: 'grpo' }, groupSize, klPlacement, klCoefficient = 0 } = settings;
  const isGroupwise = 'type' in advantage && advantage.type !== 'reinforce++';
  return [
    ...(groupSize === 1 && isGroupwise
      ? [{ path: 'groupSize', message: `must be >=2: the advantage ${advantage.type} compares the rollouts of a task` }]
      : []),
    ...(klPlacement === 'reward' && klCoefficient > 0 && isByTurn(settings)
      ? [{ path: 'klPlacement', message: `in the reward it is a sum over turns; ${wholesOnly}, or put it in the loss` }]
      : []),
    ...(['valueCoefficient', 'valueClip'] as const)
      .filter((option) => settings[option] !== undefined)
      .map((path) => ({ path, message: 'there is a value head with the advantage { type: "gae" } only' })),
  ];
}

/** Issues of advantages with a value head. */
function valueIssues(settings: PolicyGradientOptions): readonly ValidationIssue[] {
  const { creditAssignment = { type: 'terminal' }, dropConstantGroups } = settings;
  const isPlain =
    'type' in creditAssignment &&
    (creditAssignment.type === 'terminal' ||
      (creditAssignment.type === 'per-turn' && creditAssignment.discount === undefined));
  return [
    ...(isPlain
      ? []
      : [
          {
            path: 'creditAssignment',
            message:
              'with the advantage gae, which spreads rewards itself, it is { type: "terminal" } or "per-turn" without a discount',
          },
        ]),
    ...(dropConstantGroups === true
      ? [{ path: 'dropConstantGroups', message: 'the advantage gae compares no groups' }]
      : []),
  ];
}
