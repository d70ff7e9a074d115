import type { Algorithm } from '@agentlightning/core';
import { z } from 'zod';
import { policyGradient } from '../policy-gradient/policy-gradient.ts';
import { type FeedbackSource, feedbackSources } from '../teacher/feedback.ts';
import { type GuidanceOptions, parseGuidance } from './guided-options.ts';

/** Options of self-distillation from feedback. */
export interface SelfDistillationOptions extends GuidanceOptions {
  /**
   * The weights that see the feedback. `initial`: those that the run began with, as in OPSD (arXiv 2601.18734), a teacher that
   * does not change. `current`: those in training, whose teacher improves with the policy and can collapse with it.
   *
   * @default 'initial'
   */
  readonly teacher?: 'initial' | 'current';
  /**
   * What the teacher sees of a rollout: `reasons` of its scores, `messages` of `emitMessage`, `errors` of its tool calls, the
   * responses of another rollout of the task that solved it (`siblings`), and the field `demonstration` of the task. Rollouts
   * without any are trained by their reward only.
   *
   * @default all of them
   */
  readonly feedback?: readonly FeedbackSource[];
  /** The lowest reward of a rollout that solved its task, for `siblings`. @default 1 */
  readonly successReward?: number;
  /**
   * The text that the teacher's prompt has in addition, with `{feedback}`. It is appended to the last message of the user before the
   * first response of a row of tokens.
   *
   * @default the feedback, then a sentence that asks for a response to the original request
   */
  readonly template?: string;
}

const averaged =
  'must be "initial" or "current": an exponentially averaged teacher needs weights that training runtimes cannot average';

const ownShape = {
  teacher: z.enum(['initial', 'current'], { error: averaged }).exactOptional(),
  feedback: z.array(z.enum(feedbackSources)).min(1).exactOptional(),
  successReward: z.number().exactOptional(),
  template: z
    .string()
    .refine((text) => text.includes('{feedback}'), { error: 'must contain {feedback}' })
    .exactOptional(),
};

const defaultTemplate = '\n\n{feedback}\n\nWith this in mind, respond to the original request.';

/**
 * Self-distillation policy optimisation: the model that sees feedback on its rollout is the teacher of each of its tokens. It
 * learns where all rewards are 0, if the feedback makes better tokens more likely. Hübotter et al., arXiv 2601.20802.
 *
 * The advantage of a token is `log p(token | prompt, feedback) - log p(token | prompt)`, at most `clip` in size, mixed with that of
 * the reward by `weight`. Its own defaults: `loss` cispo with ratios from 0 to 2, the clip of the authors' implementation,
 * `weight` 1, `clip` 5. A step costs two forward passes more than GRPO.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = sdpo({ feedback: ['reasons'], weight: 0.5 });
 * ```
 */
export function sdpo(options: SelfDistillationOptions = {}): Algorithm {
  const { settings, own, ...mixing } = parseGuidance('sdpo', ownShape, { options, groupSize: 8 });
  return policyGradient('sdpo', settings, {
    ...mixing,
    teacher: own.teacher ?? 'initial',
    feedback: {
      sources: own.feedback ?? feedbackSources,
      template: own.template ?? defaultTemplate,
      successReward: own.successReward ?? 1,
    },
  });
}
