import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StepRecord } from '../run/step-records.ts';
import { diagnoseSteps } from './diagnose-steps.ts';

/** The metrics of a step in which the policy learns. */
const healthy = {
  'reward/mean': 0.5,
  'reward/std': 0.4,
  'groups/constant': 2,
  'advantage/zero_share': 0.25,
  'policy/entropy': 1,
  'policy/kl_reference': 0.05,
  'policy/kl_sampler_k3': 0.01,
};

type Values = Readonly<Record<string, number>>;

/** The steps of a run: a healthy one, then others that differ from it. */
function stepsOf(...changes: readonly Values[]): readonly StepRecord[] {
  return [{}, ...changes].map((change, index) => ({ step: index + 1, values: { ...healthy, ...change } }));
}

/** The steps and names of all warnings that a run emits. */
function warningsOf(steps: readonly StepRecord[], policies: readonly (string | null)[] = [null]): readonly string[] {
  return steps.flatMap((_, index) =>
    diagnoseSteps({ steps: steps.slice(0, index + 1), policies, range: [0, 1] }).map(
      ({ step, name, policy }) => `${step} ${policy === null ? '' : `${policy} `}${name}`,
    ),
  );
}

const repeated = (values: Values, count: number): readonly Values[] => Array.from({ length: count }, () => values);

const noSignal = { 'reward/std': 0, 'advantage/zero_share': 1, 'groups/constant': 4 };

test.each<[string, readonly Values[], readonly string[]]>([
  ['healthy steps', repeated({}, 5), []],
  ['no signal for too few steps', [...repeated(noSignal, 2), {}, ...repeated(noSignal, 2)], []],
  ['equal rewards', repeated(noSignal, 5), ['4 constant-rewards']],
  ['equal rewards of demonstrations', repeated({ 'reward/std': 0, 'rollouts/imitated': 8 }, 5), []],
  [
    'groups with equal rewards that differ between groups',
    repeated({ ...noSignal, 'reward/std': 0.4 }, 3),
    ['4 constant-groups'],
  ],
  ['some constant groups', repeated({ 'groups/constant': 8, 'advantage/zero_share': 0.9 }, 4), []],
  [
    'advantages of 0 without groups',
    repeated({ 'groups/constant': 0, 'advantage/zero_share': 1 }, 3),
    ['4 zero-advantages'],
  ],
  [
    'a condition that holds again',
    [...repeated(noSignal, 3), {}, ...repeated({ 'reward/std': 0 }, 3)],
    ['4 constant-rewards', '8 constant-rewards'],
  ],
  [
    'responses that the token limit cuts',
    repeated({ ...noSignal, 'response/truncated_share': 0.9, 'response/distinct_share': 1 }, 3),
    ['4 truncated-responses'],
  ],
  ['cut responses with a learning signal', repeated({ 'response/truncated_share': 0.9 }, 3), []],
  [
    'only cut responses with a learning signal',
    repeated({ 'response/truncated_share': 1 }, 3),
    ['4 all-responses-truncated'],
  ],
  [
    'a reward that ignores different responses',
    repeated({ ...noSignal, 'reward/std': 0.4, 'response/distinct_share': 0.9 }, 3),
    ['4 reward-ignores-response'],
  ],
  [
    'equal rewards of equal responses',
    repeated({ ...noSignal, 'response/distinct_share': 0.1 }, 3),
    ['4 constant-rewards'],
  ],
  [
    'different responses that all fail',
    repeated({ ...noSignal, 'reward/mean': 0, 'response/distinct_share': 1 }, 3),
    ['4 policy-collapse'],
  ],
  ['a reward that falls by less than half', repeated({ 'reward/mean': 0.3 }, 3), []],
  [
    'a learning rate that moves nothing',
    repeated({ 'policy/update_change': 1e-4, 'optim/learning_rate': 1e-9 }, 3),
    ['4 weights-do-not-move'],
  ],
  [
    'longer responses, rewarded for their length',
    [
      ...repeated({ 'response/tokens_mean': 20, 'response/length_reward_correlation': 0.8 }, 2),
      ...repeated({ 'response/tokens_mean': 40, 'response/length_reward_correlation': 0.8 }, 3),
    ],
    ['6 length-drift'],
  ],
  [
    'longer responses, not rewarded for their length',
    [
      ...repeated({ 'response/tokens_mean': 20, 'response/length_reward_correlation': 0.1 }, 2),
      ...repeated({ 'response/tokens_mean': 40, 'response/length_reward_correlation': 0.1 }, 3),
    ],
    [],
  ],
  ['updates that move the policy', repeated({ 'policy/update_change': 0.01 }, 3), []],
  ['entropy that collapses', repeated({ 'policy/entropy': 0.09 }, 3), ['4 entropy-collapse']],
  ['entropy that falls above the threshold', repeated({ 'policy/entropy': 0.11 }, 3), []],
  ['entropy that collapses on a solved task', repeated({ 'policy/entropy': 0.01, 'reward/mean': 0.95 }, 3), []],
  ['entropy that explodes', repeated({ 'policy/entropy': 2.1 }, 3), ['4 entropy-explosion']],
  ['KL from the initial model', [{ 'policy/kl_reference': 1.5 }], ['2 kl-blow-up']],
  ['drift of the sampler', [{ 'policy/publish_gap': 0.06, 'policy/publish_gap_limit': 0.1 }], ['2 sampler-drift']],
  ['rounding of the sampler', [{ 'policy/publish_gap': 0.02, 'policy/publish_gap_limit': 0.1 }], []],
  ['KL from the sampler', [{ 'policy/kl_sampler_k3': 0.3 }], ['2 kl-blow-up']],
  ['clips of most tokens', repeated({ 'policy/clip_fraction': 0.31 }, 3), ['4 high-clip-fraction']],
  ['clips of most tokens of one step', [{ 'policy/clip_fraction': 1 }], []],
  ['few effective samples', repeated({ 'policy/effective_sample_fraction': 0.49 }, 3), ['4 low-effective-samples']],
  ['effective samples above the threshold', repeated({ 'policy/effective_sample_fraction': 0.51 }, 3), []],
  [
    'a part that falls while the reward rises',
    [1, 2, 3, 4, 5].map((step) => ({
      'collection/reward_mean': 0.5 + step / 20,
      'reward/correct/mean': step > 2 ? 0 : 0.3,
      'reward/correct/std': 0.45,
    })),
    ['6 proxy-diverges'],
  ],
  ['requests that alter sampling', [{ 'calls/altered_sampling/top_p': 4 }], ['2 altered-sampling']],
  ['failing agents', [{ 'failures/agent_share': 0.6 }], ['2 agent-failures']],
  [
    'agents that do not end in time',
    [{ 'failures/agent_share': 0.6, 'failures/timeout': 4, 'rollouts/failed': 5 }],
    ['2 agent-timeouts'],
  ],
  [
    'agents of which some do not end in time',
    [{ 'failures/agent_share': 0.6, 'failures/timeout': 2, 'rollouts/failed': 5 }],
    ['2 agent-failures'],
  ],
  ['rewards out of range', [{ 'reward/out_of_range': 3 }, { 'reward/out_of_range': 1 }, {}], ['2 reward-out-of-range']],
])('%s', (_, changes, expected) => {
  expect(warningsOf(stepsOf(...changes))).toEqual(expected);
});

test('a warning of cut responses names a constant reward that is not the lowest one', () => {
  const cut = { ...noSignal, 'response/truncated_share': 1 };
  const messagesOf = (reward: number): readonly string[] => {
    const steps = stepsOf(...repeated({ ...cut, 'reward/mean': reward, 'collection/reward_mean': reward }, 3));
    // Without the healthy first step, from whose reward the others would have fallen.
    const history = { steps: steps.slice(1), policies: [null], range: [0, 1] as const };
    return diagnoseSteps(history).map(({ name, message }) => `${name}: ${message}`);
  };
  expect(messagesOf(0.5)).toEqual([expect.stringMatching(/^truncated-responses: .*; every reward is 0\.500: check/)]);
  expect(messagesOf(0)).toEqual([expect.stringMatching(/^truncated-responses: (?!.*every reward)/)]);
});

test('a penalised part may fall', () => {
  const values = (step: number) => ({ 'reward/length/mean': 10 - step, 'reward/length/std': 1, 'reward/mean': step });
  const steps = [1, 2, 3, 4, 5, 6].map((step) => ({
    step,
    values: { ...healthy, ...values(step), 'collection/reward_mean': step },
  }));
  const history = { steps, policies: [null], range: [0, 10] as const };
  expect(diagnoseSteps(history)).toMatchObject([{ name: 'proxy-diverges' }]);
  expect(diagnoseSteps({ ...history, penalised: new Set(['length']) })).toEqual([]);
});

test('each policy is diagnosed with its own metrics', () => {
  const named = (policy: string, values: Values): Values =>
    Object.fromEntries(Object.entries({ ...healthy, ...values }).map(([name, value]) => [`${policy}/${name}`, value]));
  const step = { ...named('writer', {}), ...named('critic', { 'policy/kl_reference': 3 }), 'reward/mean': 0.5 };
  expect(warningsOf([{ step: 1, values: step }], ['writer', 'critic'])).toEqual(['1 critic kl-blow-up']);
});

test('a step without an entropy, because it had no update, does not hide a collapse', () => {
  const { 'policy/entropy': _, ...skipped } = healthy;
  const steps = stepsOf(...repeated({ 'policy/entropy': 0.01 }, 2));
  const last = { step: 5, values: { ...healthy, 'policy/entropy': 0.01 } };
  expect(warningsOf([...steps, { step: 4, values: skipped }, last])).toEqual(['5 entropy-collapse']);
});

describe('for any metrics', () => {
  const metric = fc.double({ min: 0, max: 3, noNaN: true });
  const values = fc.dictionary(fc.constantFrom(...Object.keys(healthy)), metric);
  const runs = fc.array(values).map((all) => all.map((each, index): StepRecord => ({ step: index + 1, values: each })));

  const namesAt = (emitted: readonly string[], step: number): readonly string[] =>
    emitted.filter((each) => each.startsWith(`${step} `)).map((each) => each.slice(`${step} `.length));

  test('a warning is emitted again only after a step without its condition', () => {
    fc.assert(
      fc.property(runs, (steps) => {
        const emitted = warningsOf(steps);
        // A warning of step 4 needs a step without its condition before one of step 5.
        for (const [index, { step }] of steps.entries()) {
          const names = namesAt(emitted, step);
          expect(new Set(names).size).toBe(names.length);
          const next = namesAt(emitted, steps[index + 1]?.step ?? 0);
          expect(next.filter((name) => names.includes(name))).toEqual([]);
        }
      }),
    );
  });

  test('a warning is about the last step and depends on no later one', () => {
    fc.assert(
      fc.property(runs, fc.nat(), (steps, cut) => {
        const part = steps.slice(0, cut);
        const history = { policies: [null], range: [0, 1] as const };
        for (const { step } of diagnoseSteps({ ...history, steps: part })) expect(step).toBe(part.length);
        expect(warningsOf(steps).slice(0, warningsOf(part).length)).toEqual(warningsOf(part));
      }),
    );
  });
});
