import type { RunWarning, WarningExplanation, WarningName } from '@agentlightning/core/protocol';

/** The explanation of each warning. */
export const warningExplanations: Readonly<Record<WarningName, WarningExplanation>> = {
  'agent-failures': {
    cause: 'The agent throws on responses that it cannot use, or its code has an error.',
    remedy:
      'Handle malformed responses in the agent and return their reward, or correct the line. `reward.failed` is the reward of such rollouts.',
  },
  'agent-timeouts': {
    cause: 'The agent, or a tool or service that it waits for, takes longer than a rollout may.',
    remedy:
      'Find the slow step with `agl trace`, and raise `limits.rolloutTimeoutMs` or lower `agents.concurrency`. `reward.failed` is the reward of such rollouts.',
  },
  'altered-sampling': {
    cause:
      'The agent or its framework sets these parameters, and the recorded log-probabilities are not those of the policy.',
    remedy: 'Remove them from the requests of training rollouts; `sampling: { topP: 1 }` overrides `top_p`.',
  },
  'constant-groups': {
    cause: 'Tasks are too easy or too hard for the model, or the sampling temperature is too low.',
    remedy: 'Use tasks of mixed difficulty, a graded reward, a larger `groupSize` or a higher `sampling.temperature`.',
  },
  'constant-rewards': {
    cause: 'The reward function returns the same value for every response, or the task is solved.',
    remedy: 'Inspect rollouts with `agl show`, and make the reward depend on the response.',
  },
  'zero-advantages': {
    cause: 'No rollout is better than those that it is compared with.',
    remedy: 'Make rewards differ within a group: a graded reward, a larger `groupSize`, or tasks of mixed difficulty.',
  },
  'truncated-responses': {
    cause: 'Responses end at `max_tokens`, or at the limit of the model, before the agent has its answer.',
    remedy: 'Raise `sampling.maxTokens` and the limit of the requests, or ask for shorter responses in the prompt.',
  },
  'all-responses-truncated': {
    cause:
      'No response ends before the limit: the policy learns responses that are cut, and does not learn to end them.',
    remedy:
      'Raise `sampling.maxTokens` and the limit of the requests. Ignore this if the agent wants only the first tokens of a response.',
  },
  'reward-ignores-response': {
    cause: 'The reward does not depend on the response: it reads the task only, or a value that the agent did not set.',
    remedy: 'Inspect two rollouts of a task with `agl show`, and make the reward depend on the response.',
  },
  'policy-collapse': {
    cause: 'An update destroyed what the policy had learned: the learning rate, `epochs` or staleness is too high.',
    remedy:
      'Lower `learningRate` by a factor of 3 to 10, and begin again from a checkpoint before the fall (`agl train --from <run>@best`).',
  },
  'weights-do-not-move': {
    cause: 'The learning rate is too small for what is trained, or its schedule is near 0.',
    remedy: 'Raise `learningRate` by a factor of 10, or remove it: the default fits the model.',
  },
  'entropy-collapse': {
    cause: 'The policy became deterministic before the task was solved, so it stops exploring.',
    remedy: 'Lower the learning rate, raise `clipHigh`, or set `entropyCoefficient` (0.001 to 0.02).',
  },
  'entropy-explosion': {
    cause: 'The learning rate or the entropy bonus is too high, or advantages are noise.',
    remedy: 'Lower `learningRate` or `entropyCoefficient`, and resume from an earlier checkpoint.',
  },
  'kl-blow-up': {
    cause: 'Updates are too large: the learning rate, `epochs` or staleness is too high.',
    remedy: 'Lower `learningRate` or `epochs`, or raise `klCoefficient`, and resume from an earlier checkpoint.',
  },
  'high-clip-fraction': {
    cause: 'Updates leave the range in which the loss has a gradient: many updates per batch, or a high learning rate.',
    remedy: 'Lower `learningRate`, `epochs` or the number of minibatches, or raise the clip range of the algorithm.',
  },
  'low-effective-samples': {
    cause: 'Few tokens with large probability ratios dominate the update: the policy has moved far from the sampler.',
    remedy: 'Lower `learningRate`, `epochs` or `maxStaleness`, or bound the ratios with `samplerCorrection`.',
  },
  'sampler-drift': {
    cause: 'The sampler computes other log-probabilities than the trainer, or serves older weights.',
    remedy: 'Compare the precision of both, and restart the runtime; above the limit the publication fails.',
  },
  'held-out-reward-falls': {
    cause: 'The policy overfits the training tasks, or exploits a flaw of the reward.',
    remedy: 'Use more training tasks or fewer steps (`stop.patience`), and inspect rollouts with high rewards.',
  },
  'proxy-diverges': {
    cause: 'The reward can rise without this part: the policy trades it for another one.',
    remedy:
      'Raise its weight in `rewardWeights`, or make the reward require it, and inspect rollouts with high rewards.',
  },
  'length-drift': {
    cause:
      'The reward pays for long responses, whatever they say: a judge that prefers them, or a part that counts words.',
    remedy:
      'Read the longest rollouts with a high reward, add a part that bounds the length, and try the reward on them: `agl reward probe`.',
  },
  'non-stationary-reward': {
    cause:
      'The reward depends on more than weights and task: the time, a quota, an external service, a judge, or state that the agent keeps between rollouts.',
    remedy: 'Reset such state for each rollout, and measure again with `agl eval` until two results agree.',
  },
  'missing-rewards': {
    cause: 'Rollouts failed, or the agent returned no reward.',
    remedy:
      'List them with `agl rollouts --run <run> --mode test --without-reward`. `reward.missing` and `reward.failed` give them a value.',
  },
  'unmatched-selector': {
    cause: 'The name is misspelt, or the agent does not report it.',
    remedy: 'Use a name of the agents seen, or name the agent with `withAgent`.',
  },
  'several-model-names': {
    cause: 'All calls of an instrumented client go to the policy, also those of a judge or of another model.',
    remedy:
      'Exclude calls of other models in the adapter (`shouldTrace`, `shouldRedirect`), or list the names of the policy in `agents.modelNames`.',
  },
  'unsolved-tasks': {
    cause: 'These tasks are too hard for the model, broken, or have a wrong answer.',
    remedy:
      'Read the rollouts with `agl show`, and correct or remove the tasks; for tasks that are too hard, give feedback (`sdpo`), a graded reward or demonstrations.',
  },
  'reward-out-of-range': {
    cause: 'The reward function and `reward.range` disagree.',
    remedy: 'Correct the reward function or `reward.range`.',
  },
};

/** A warning as one line of text, with its cause and remedy. */
export function warningText({ name, step, policy, message }: RunWarning): string {
  const { cause, remedy } = warningExplanations[name];
  return `[${name}] ${policy === null ? '' : `policy ${policy}, `}step ${step}: ${message}. Likely cause: ${cause} Remedy: ${remedy}`;
}

/** Without differences between the rewards of a group, all of these hold, the strongest first. */
const withoutSignal: readonly WarningName[] = ['constant-rewards', 'constant-groups', 'zero-advantages'];

/** The conditions that follow from another one. Only that one is emitted, and it satisfies `stop.warnings` for all of them. */
export const impliedWarnings: Readonly<Partial<Record<WarningName, readonly WarningName[]>>> = {
  'agent-timeouts': ['agent-failures'],
  'constant-rewards': withoutSignal.slice(1),
  'constant-groups': withoutSignal.slice(2),
  'truncated-responses': [...withoutSignal, 'reward-ignores-response', 'all-responses-truncated'],
  'reward-ignores-response': withoutSignal,
  'policy-collapse': [...withoutSignal, 'truncated-responses'],
};

/** Whether one of the emitted warnings is, or implies, one of these. */
export function includesWarning(emitted: readonly Pick<RunWarning, 'name'>[], names: readonly WarningName[]): boolean {
  return emitted.some(({ name }) => [name, ...(impliedWarnings[name] ?? [])].some((each) => names.includes(each)));
}
