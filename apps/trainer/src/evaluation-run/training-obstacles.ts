import { transitionsFromSpans } from '@agentlightning/algorithms/internal';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { alteredSamplingText } from '../diagnosis/run-conditions.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { alteredSamplingCounts, trainableCalls } from '../rollouts/call-metrics.ts';

/** Reasons of the algorithm's own selection of calls. */
const selected: ReadonlySet<string> = new Set(['other_model', 'other_agent', 'other_node', 'other_tag', 'not_chosen']);

/** What to do about a reason for which a call cannot be trained on. */
const remedies: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [
    /no (prompt|response) token ids/,
    'train with a runtime (`runtime`), or with an engine that returns token ids such as vLLM (`return_token_ids`)',
  ],
  [/log-?prob/i, 'let the engine return the log-probability of each sampled token'],
  [/^greedy$/, 'set `sampling: { temperature: 1 }`: a greedy response is not a sample of the policy'],
];

/** Reasons of the endpoint, which is not that of the training where it is a script; scripted errors are intended. */
const ofEndpoint = /token ids|log-?prob|^the model endpoint returned/i;

/**
 * The reasons for which a step would not train on the model calls of a rollout, or not as intended, each with its number of
 * responses. They are those of the selection of the algorithm, which every step applies.
 *
 * @param isScripted - whether a script responded, instead of a model
 */
export function trainingObstacles(
  { attemptId, spans }: FinishedRollout,
  { policies, sampling }: Pick<ResolvedConfig, 'policies' | 'sampling'>,
  isScripted: boolean,
): readonly string[] {
  const own = spans.filter((span) => span.attemptId === attemptId);
  const outcomes = policies.flatMap(({ algorithm }) => {
    if (algorithm === null || algorithm.type === 'custom') return [];
    // Models have another name than in the training.
    const { models: _, ...choice } = algorithm;
    return [transitionsFromSpans(own, choice)];
  });
  const reasons = new Map<string, number>();
  for (const { excluded } of outcomes) {
    for (const [reason, count] of Object.entries(excluded)) {
      // Evaluations may sample otherwise than the training does.
      const isOverridden = reason === 'greedy' && sampling.temperature !== undefined;
      if (!selected.has(reason) && !isOverridden) reasons.set(reason, Math.max(reasons.get(reason) ?? 0, count));
    }
  }
  const { top_p: topP, ...others } = alteredSamplingCounts(trainableCalls([{ spans: own }]));
  const altered = topP === undefined || sampling.topP === 1 ? others : { top_p: topP, ...others };
  return [
    ...[...reasons]
      .filter(([reason]) => !isScripted || !ofEndpoint.test(reason))
      .map(([reason, count]) => obstacleText(reason, count)),
    ...(outcomes.length > 0 && reasons.size === 0 && outcomes.every(({ transitions }) => transitions.length === 0)
      ? [
          'the selection of the algorithm (`agents`, `nodes`, `tags`, `onlyCalls`) excludes every model call from training',
        ]
      : []),
    ...(Object.keys(altered).length === 0
      ? []
      : [
          `${alteredSamplingText(altered)}: remove them in training rollouts; \`sampling: { topP: 1 }\` overrides \`top_p\``,
        ]),
  ];
}

function obstacleText(reason: string, count: number): string {
  const remedy = remedies.find(([pattern]) => pattern.test(reason))?.[1];
  const calls = count === 1 ? '1 response cannot be trained on' : `${count} responses cannot be trained on`;
  return `${calls}: ${reason.replaceAll('_', ' ')}${remedy === undefined ? '' : `; ${remedy}`}`;
}
