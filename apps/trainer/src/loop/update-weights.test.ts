import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StepPlan } from '@agentlightning/core/algorithm';
import type { TrainableModel, TrainingDatum } from '@agentlightning/core/training-runtime';
import { connectRuntime } from '@agentlightning/runtime';
import { type CpuRuntime, startCpuRuntime } from '@agentlightning/runtime-cpu';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PolicyPlan, type UpdateResult, type UpdateWeightsOptions, updateWeights } from './update-weights.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-update-'));
let runtime: CpuRuntime;
beforeAll(async () => {
  runtime = await startCpuRuntime({ checkpointDir: folder });
});
afterAll(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

const completion = z.object({
  prompt_token_ids: z.array(z.int()),
  choices: z.array(
    z.object({
      token_ids: z.array(z.int()),
      logprobs: z.object({ content: z.array(z.object({ logprob: z.number() })) }),
    }),
  ),
});

/** A model, and a sequence it sampled just now, ready to be trained on. */
async function sampled(
  modelId: string,
  more: { readonly top_p?: number } = {},
): Promise<{ model: TrainableModel; datum: TrainingDatum; close(): Promise<void> }> {
  const connection = await connectRuntime({ address: runtime.address, apiKey: runtime.apiKey });
  const model = await connection.createModel({ baseModel: 'tiny-chat', modelId, seed: 1 });
  const { baseUrl } = await model.endpoint();
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${runtime.apiKey}` },
    body: JSON.stringify({
      model: modelId,
      messages: [{ role: 'user', content: 'How many B4 are in stock?' }],
      max_tokens: 12,
      seed: 3,
      logprobs: true,
      return_token_ids: true,
      ...more,
    }),
  });
  const { prompt_token_ids: prompt, choices } = completion.parse(await response.json());
  const [choice] = choices;
  const tokens = choice?.token_ids ?? [];
  const datum: TrainingDatum = {
    tokenIds: Int32Array.from([...prompt, ...tokens]),
    trained: [{ start: prompt.length, end: prompt.length + tokens.length }],
    samplingLogprobs: Float32Array.from(choice?.logprobs.content ?? [], ({ logprob }) => logprob),
    advantages: new Float32Array(tokens.length).fill(1),
    weights: new Float32Array(tokens.length).fill(1 / tokens.length),
    temperature: 1,
    rolloutId: 'ro-1',
    groupId: 'group-1',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
  return { model, datum, close: () => connection.close() };
}

function planOf(datum: TrainingDatum): StepPlan {
  const loss = { name: 'importance_sampling', parameters: {} };
  return { updates: [{ batches: [{ data: [datum] }], loss, optimizer: { learningRate: 1e-4 } }], metrics: {} };
}

const pauseCalls = <TResult>(publish: () => Promise<TResult>): Promise<TResult> => publish();

const reference = (): Promise<TrainableModel> => Promise.reject(new Error('no KL term asks for it'));

/** Applies the plan of a single policy. */
async function updateModel(
  plan: StepPlan,
  {
    model,
    reference,
    policyVersion = 0,
    ...options
  }: Omit<PolicyPlan, 'plan' | 'policyVersion'> & { readonly policyVersion?: number } & UpdateWeightsOptions,
): Promise<UpdateResult> {
  const [updated] = await updateWeights([{ plan, policyVersion, model, reference }], options);
  if (updated === undefined) throw new Error('one plan has one result');
  return updated.result;
}

test('takes the step when trainer and sampler agree on the sampled tokens', async () => {
  const { model, datum, close } = await sampled('aligned');
  const { metrics, trainedTokens } = await updateModel(planOf(datum), {
    model,
    reference,
    maxLogprobGap: 0.1,
    pauseCalls,
  });
  expect(metrics['policy/logprob_gap']).toBeLessThan(1e-4);
  expect(trainedTokens).toBe(datum.samplingLogprobs.length);
  expect(metrics['policy/version']).toBe(1);
  await close();
});

test('publishes while new calls are paused, after the optimizer step', async () => {
  const { model, datum, close } = await sampled('paused');
  const states: object[] = [];
  await updateModel(planOf(datum), {
    model,
    reference,
    maxLogprobGap: 0.1,
    pauseCalls: async (publish) => {
      states.push(await model.state());
      const published = await publish();
      states.push(await model.state());
      return published;
    },
  });
  expect(states).toMatchObject([
    { step: 1, policyVersion: 0 },
    { step: 1, policyVersion: 1 },
  ]);
  await close();
});

describe('catches an alignment that is off by one:', () => {
  test('log-probabilities of the token before', async () => {
    const { model, datum, close } = await sampled('late');
    const count = datum.samplingLogprobs.length - 1;
    const shifted = {
      ...datum,
      trained: datum.trained.map(({ start, end }) => ({ start: start + 1, end })),
      samplingLogprobs: datum.samplingLogprobs.slice(0, count),
      advantages: datum.advantages.slice(0, count),
      weights: datum.weights.slice(0, count),
    };
    const updated = updateModel(planOf(shifted), { model, reference, maxLogprobGap: 0.1, pauseCalls });
    await expect(updated).rejects.toMatchObject({ code: 'TOKEN_MISALIGNMENT' });
    await close();
  });

  test('positions that begin with a token of the template', async () => {
    const { model, datum, close } = await sampled('early');
    const shifted = { ...datum, trained: datum.trained.map(({ start, end }) => ({ start: start - 1, end: end - 1 })) };
    const updated = updateModel(planOf(shifted), { model, reference, maxLogprobGap: 0.1, pauseCalls });
    await expect(updated).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
    await close();
  });
});

test.each([
  ['the first', 0],
  ['the last', 1],
])('takes no step and publishes nothing when %s batch of the first update is misaligned', async (name, misaligned) => {
  const { model, datum, close } = await sampled(`unchanged-${misaligned}`);
  const shifted = { ...datum, samplingLogprobs: datum.samplingLogprobs.map((logprob) => logprob - 5) };
  const data = [datum, datum].map((each, index) => (index === misaligned ? shifted : each));
  const [update] = planOf(datum).updates;
  if (update === undefined) throw new Error('the plan has one update');
  const plan = { updates: [{ ...update, batches: data.map((each) => ({ data: [each] })) }], metrics: {} };
  const before = await model.logprobs({ data: [datum] });
  const updated = updateModel(plan, { model, reference, maxLogprobGap: 0.1, pauseCalls });
  await expect(updated, name).rejects.toMatchObject({ code: 'TOKEN_MISALIGNMENT' });
  expect(await model.state()).toMatchObject({ step: 0, policyVersion: 0 });
  expect(await model.logprobs({ data: [datum] })).toEqual(before);
  await close();
});

test('takes no step for any policy when one of them is misaligned', async () => {
  const writer = await sampled('writer');
  const editor = await sampled('editor');
  const shifted = {
    ...editor.datum,
    samplingLogprobs: editor.datum.samplingLogprobs.map((logprob) => logprob - 5),
  };
  const updated = updateWeights(
    [
      { policyVersion: 0, plan: planOf(writer.datum), model: writer.model, reference },
      { policyVersion: 0, plan: planOf(shifted), model: editor.model, reference },
    ],
    { maxLogprobGap: 0.1, pauseCalls },
  );
  await expect(updated).rejects.toMatchObject({ code: 'TOKEN_MISALIGNMENT' });
  expect(await writer.model.state()).toMatchObject({ step: 0, policyVersion: 0 });
  expect(await editor.model.state()).toMatchObject({ step: 0, policyVersion: 0 });
  await writer.close();
  await editor.close();
});

test.each([
  ['older weights disagree', { isStaleShifted: true, isFreshShifted: false }, true],
  ['current weights disagree', { isStaleShifted: false, isFreshShifted: true }, false],
] as const)('with sequences of two ages, checks those of the current weights: %s', async (name, shifts, isTaken) => {
  const { model, datum, close } = await sampled(`ages-${name.replaceAll(' ', '-')}`);
  const shifted = datum.samplingLogprobs.map((logprob) => logprob - 5);
  const data = [
    { ...datum, ...(shifts.isStaleShifted ? { samplingLogprobs: shifted } : {}) },
    {
      ...datum,
      minPolicyVersion: 1,
      maxPolicyVersion: 1,
      ...(shifts.isFreshShifted ? { samplingLogprobs: shifted } : {}),
    },
  ];
  const [update] = planOf(datum).updates;
  if (update === undefined) throw new Error('the plan has one update');
  const plan = { updates: [{ ...update, batches: [{ data }] }], metrics: {} };
  const updated = updateModel(plan, { model, reference, policyVersion: 1, maxLogprobGap: 0.1, pauseCalls });
  if (isTaken) expect((await updated).metrics['sampler/current_logprob_gap']).toBeLessThan(1e-3);
  else await expect(updated).rejects.toMatchObject({ code: 'TOKEN_MISALIGNMENT' });
  await close();
});

test('a sampler correction does not hide the difference to the sampler', async () => {
  const { model, datum, close } = await sampled('corrected');
  const metrics = { 'sampler/logprob_gap': 0.2, 'sampler/current_logprob_gap': 0.2 };
  const updated = updateModel({ ...planOf(datum), metrics }, { model, reference, maxLogprobGap: 0.1, pauseCalls });
  await expect(updated).rejects.toMatchObject({ code: 'TOKEN_MISALIGNMENT', details: { gap: 0.2 } });
  await close();
});

test('names the sampling parameters that take tokens away when an agent has asked for one', async () => {
  const { model, datum, close } = await sampled('nucleus', { top_p: 0.3 });
  const updated = updateModel(planOf(datum), { model, reference, maxLogprobGap: 0.1, pauseCalls });
  await expect(updated).rejects.toMatchObject({
    code: 'TOKEN_MISALIGNMENT',
    remedy: expect.stringContaining('`top_p`'),
  });
  await close();
});

test('compares with the reference policy when the loss has a KL term', async () => {
  const { model, datum, close } = await sampled('compared');
  const [update] = planOf(datum).updates;
  if (update === undefined) throw new Error('the plan has one update');
  const loss = { name: 'importance_sampling', parameters: { kl_coefficient: 0.1 } };
  const plan = { updates: [{ ...update, loss }], metrics: {} };
  let asked = 0;
  const { metrics } = await updateModel(plan, {
    model,
    reference: () => {
      asked += 1;
      return Promise.resolve(model);
    },
    maxLogprobGap: 0.1,
    pauseCalls,
  });
  expect(asked).toBe(1);
  expect(Math.abs(metrics['policy/kl_reference'] ?? 1)).toBeLessThan(1e-6);
  await close();
});

test('brings the metrics of several batches together: means by tokens, and the largest of what is a largest', async () => {
  const { model, datum, close } = await sampled('together');
  const [update] = planOf(datum).updates;
  if (update === undefined) throw new Error('the plan has one update');
  const shifted = { ...datum, samplingLogprobs: datum.samplingLogprobs.map((logprob) => logprob - 0.06) };
  const plan = { updates: [{ ...update, batches: [{ data: [datum] }, { data: [shifted] }] }], metrics: {} };
  const { metrics } = await updateModel(plan, { model, reference, maxLogprobGap: 0.1, pauseCalls });
  expect(metrics['policy/logprob_gap']).toBeCloseTo(0.03, 4);
  expect(metrics['policy/logprob_gap_max']).toBeCloseTo(0.06, 4);
  await close();
});

test('reports the comparison of sampler and trainer after the publication', async () => {
  const { model, datum, close } = await sampled('probed');
  const probe = { logprobGap: 0.001, maxLogprobGap: 0.01, tokens: 128 };
  const probed = new Proxy(model, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (name !== 'publishWeights') return typeof value === 'function' ? value.bind(target) : value;
      return async () => {
        const { sequence, result } = await target.publishWeights();
        return {
          sequence,
          result: result.then((endpoint) => ({ ...endpoint, weights: { digest: 'sha256:', probe } })),
        };
      };
    },
  });
  const { metrics, publication } = await updateModel(planOf(datum), {
    model: probed,
    reference,
    maxLogprobGap: 0.1,
    pauseCalls,
  });
  expect(metrics).toMatchObject({ 'policy/publish_gap': 0.001, 'policy/publish_gap_limit': 0.01 });
  expect(publication).toMatchObject({
    version: 1,
    digest: 'sha256:',
    durationMs: expect.any(Number),
    probe: { gap: 0.001, limit: 0.01, tokens: 128 },
  });
  await close();
});
