import { distillation } from '@agentlightning/algorithms';
import { aCollectedRollout } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { loadBaseModel, ModelEngine, renderPrompt } from '@agentlightning/runtime-cpu/internal';
import { expect, test } from 'vitest';

const prompt = renderPrompt([{ role: 'user', content: 'Hi' }], []);

/** One row for each token that can follow the prompt. */
function rowsOf({ config }: ModelEngine): readonly TrainingDatum[] {
  const entries = Float32Array.of(1);
  return Array.from({ length: config.outputSize }, (_, token) => ({
    tokenIds: Int32Array.from([...prompt, token]),
    trained: [{ start: prompt.length, end: prompt.length + 1 }],
    samplingLogprobs: entries,
    advantages: entries,
    weights: entries,
    temperature: 1,
    rolloutId: `ro-${token}`,
    groupId: 'gr-1',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  }));
}

async function logprobsOf(engine: ModelEngine): Promise<readonly number[]> {
  return (await engine.forward(rowsOf(engine))).logprobs.map(([logprob = 0]) => logprob);
}

function divergence(policy: readonly number[], teacher: readonly number[]): number {
  return policy.reduce((sum, logprob, token) => sum + Math.exp(logprob) * (logprob - (teacher[token] ?? 0)), 0);
}

function withParameters({ config }: ModelEngine, parameters: Float32Array): ModelEngine {
  const random: Parameters<typeof ModelEngine.fromWeights>[0]['random'] = [1, 1, 1, 1];
  return ModelEngine.fromWeights(
    { config, parameters, weightVersion: 0, random, clientState: new Uint8Array() },
    1,
    {},
  );
}

test('in the mean over what the policy says, the gradient of distillation is that of the reverse KL divergence', async () => {
  const engine = await loadBaseModel('tiny-chat', 1);
  const teacher = await logprobsOf(await loadBaseModel('tiny-reader', 1));
  const policy = await logprobsOf(engine);
  const rollouts = policy.map((logprob, token) => {
    const choice = { index: 0, responseTokenIds: [token], responseLogprobs: [logprob], finishReason: 'stop' };
    const calls = [{ promptTokenIds: prompt, choices: [choice] }];
    return aCollectedRollout({ rolloutId: `ro-${token}`, reward: 0, calls });
  });
  const scores = {
    current: policy.map((logprob) => Float32Array.of(logprob)),
    teacher: teacher.map((logprob) => Float32Array.of(logprob)),
  };
  const algorithm = distillation({ teacher: { model: 'tiny-reader' }, clip: 1000 });
  const context = { step: 1, totalSteps: 1, policyVersion: 0, seed: 1, scores };
  const [update] = algorithm.planStep([{ groupId: 'gr-1', rollouts }], context).updates;
  // As often as the policy says each token.
  const data = (update?.batches ?? []).flatMap((batch) =>
    batch.data.map((datum) => ({
      ...datum,
      weights: datum.weights.map((weight) => weight * policy.length * Math.exp(datum.samplingLogprobs[0] ?? 0)),
    })),
  );
  await engine.forwardBackward(data, update?.loss ?? { name: 'cispo', parameters: {} });
  const gradient = engine.pendingGradients();
  const norm = Math.hypot(...gradient);
  expect(norm).toBeGreaterThan(0.1);

  const step = 0.01 / norm;
  const divergenceAt = async (sign: number): Promise<number> => {
    const moved = engine.parameters().map((value, at) => value + (sign * step * (gradient[at] ?? 0)) / norm);
    return divergence(await logprobsOf(withParameters(engine, moved)), teacher);
  };
  const slope = ((await divergenceAt(1)) - (await divergenceAt(-1))) / (2 * step);
  expect(slope / norm).toBeCloseTo(1, 1);
});
