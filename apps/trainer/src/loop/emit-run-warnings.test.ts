import { expect, test } from 'vitest';
import { resolveRun } from '../config/resolve-run.ts';
import { StepRecords } from '../run/step-records.ts';
import type { SessionPolicy } from '../session/session-policies.ts';
import { warnOfStep } from './emit-run-warnings.ts';

function sessionOf(given: object): Parameters<typeof warnOfStep>[0] {
  const config = resolveRun(given, '/project');
  if ('kind' in config) throw new Error('not a training');
  return {
    config,
    tasks: { train: [], heldOut: [], validation: null, guards: {} },
    policies: [{ name: null, learner: {} }] as unknown as readonly SessionPolicy[],
    emit: () => undefined,
    stepHistory: new StepRecords(),
  };
}

const far = { step: 1, values: { 'policy/kl_sampler_k3': 1.3 } };
const imitated = { 'rollouts/imitated': 8, 'reward/std': 0, 'policy/loss': 2 };

test.each([
  ['sampled by the policy', { agent: () => 0, tasks: { train: [1], test: [2] } }, {}, ['kl-blow-up']],
  ['demonstrations', { agent: () => 0, tasks: { train: [1], test: [2] } }, imitated, []],
  ['stored', { data: 'examples.jsonl', algorithm: { type: 'sft' } }, {}, []],
])('data that are %s and far from the policy', (_, given, values, expected) => {
  const session = sessionOf(given);
  expect(warnOfStep(session, { ...far, values: { ...far.values, ...values } }).map(({ name }) => name)).toEqual(
    expected,
  );
});

test.each([
  ['a policy gradient', {}, ['low-effective-samples']],
  ['a preference loss, which has no probability ratios', { 'preference/loss': 0.6 }, []],
  ['another policy than that of a preference loss', { 'writer/preference/loss': 0.6 }, ['low-effective-samples']],
])('few effective samples of %s', (_, values, expected) => {
  const session = sessionOf({ agent: () => 0, tasks: { train: [1], test: [2] } });
  const found = [1, 2, 3].flatMap((step) =>
    warnOfStep(session, { step, values: { 'policy/effective_sample_fraction': 0.3, ...values } }),
  );
  expect(found.map(({ name }) => name)).toEqual(expected);
});
