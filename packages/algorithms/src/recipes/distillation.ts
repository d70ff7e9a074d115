import type { Algorithm } from '@agentlightning/core';
import type { ExternalTeacher } from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { policyGradient } from '../policy-gradient/policy-gradient.ts';
import { type GuidanceOptions, parseGuidance } from './guided-options.ts';

/** Options of on-policy distillation. */
export interface DistillationOptions extends GuidanceOptions {
  /**
   * The teacher: a checkpoint of a run (`{ run: 'run-1a2b@best' }`), another base model of the runtime (`{ model: 'name' }`), or a
   * model behind an endpoint that returns `prompt_logprobs`, as vLLM does (`{ endpoint: 'http://gpu-1:8000/v1', model: 'name', apiKey: env('NAME') }`).
   * Its tokenizer must be that of the trained model.
   */
  readonly teacher: ExternalTeacher;
}

const teacherSchema: z.ZodType<ExternalTeacher> = z.union(
  [
    z.strictObject({ run: z.string().min(1) }),
    z.strictObject({ model: z.string().min(1) }),
    z.strictObject({
      endpoint: z.url(),
      model: z.string().min(1),
      apiKey: z.strictObject({ env: z.string().min(1) }).exactOptional(),
    }),
  ],
  {
    error:
      'must be { run: "<run>@best" }, { model: "<base model>" } or { endpoint: "<url>", model, apiKey: env("NAME") }',
  },
);

/**
 * On-policy distillation: the policy samples, and each of its tokens is compared with a teacher. It needs fewer rollouts than a
 * reward, and no reward at all. Agarwal et al., arXiv 2306.13649.
 *
 * The advantage of a token is `log p(teacher) - log p(policy)`, at most `clip` in size: the reverse KL divergence, estimated at the
 * sampled token, mixed with the advantage of the reward by `weight`. Its own defaults: `groupSize` 4, `loss` cispo with ratios from 0 to 2,
 * `weight` 1, `clip` 5.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = distillation({ teacher: { run: 'run-1a2b@best' } });
 * ```
 */
export function distillation(options: DistillationOptions): Algorithm {
  const { settings, own, ...mixing } = parseGuidance(
    'distillation',
    { teacher: teacherSchema },
    { options, groupSize: 4 },
  );
  return policyGradient('distillation', settings, { ...mixing, teacher: own.teacher, feedback: null });
}
