import { headerNames } from '@agentlightning/core/protocol';
import { describe, expect, it } from 'vitest';
import type { RuntimeModel } from '../../client/runtime-model.ts';
import { aDatum, batchOfFour } from '../a-batch.ts';
import { type Bench, trainOnce } from '../bench.ts';

/** The parts of a chat completion that training needs. */
interface SampledCompletion {
  readonly status: number;
  readonly policyVersion: number;
  readonly promptTokenIds: readonly number[];
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
}

/** The endpoint serves the published weights and reports their version. */
export function describeServing(bench: Bench): void {
  describe('serving', () => {
    it.for([1, 0.7])(
      'samples with the log-probabilities that training computes, at temperature %f',
      async (temperature, { skip }) => {
        skip(!(await bench.temperatures()).includes(temperature), 'the runtime scores at temperature 1 only');
        const model = await bench.model();
        await trainOnce(model, batchOfFour);
        await (await model.publishWeights()).result;
        const completion = await sample(model, temperature, bench);
        expect(await trainerGap(model, completion, temperature)).toBeLessThan(bench.settings.logprobTolerance);
      },
    );

    it('serves new weights only after they are published', async () => {
      const model = await bench.model();
      for (let step = 0; step < 3; step += 1) await trainOnce(model, batchOfFour);
      const before = await sample(model, 1, bench);
      expect(before.policyVersion).toBe(0);
      expect(await trainerGap(model, before, 1)).toBeGreaterThan(bench.settings.logprobTolerance);
      const published = await (await model.publishWeights()).result;
      expect(published.policyVersion).toBe(1);
      expect(await model.endpoint()).toEqual(published);
      const after = await sample(model, 1, bench);
      expect(after.policyVersion).toBe(1);
      expect(await trainerGap(model, after, 1)).toBeLessThan(bench.settings.logprobTolerance);
      await trainOnce(model, batchOfFour);
      expect(await trainerGap(model, await sample(model, 1, bench), 1)).toBeGreaterThan(
        bench.settings.logprobTolerance,
      );
    });

    it('serves the weights of a checkpoint that was loaded', async () => {
      const model = await bench.model();
      const saved = await (await model.saveCheckpoint('start', {})).result;
      for (let step = 0; step < 3; step += 1) await trainOnce(model, batchOfFour);
      await (await model.publishWeights()).result;
      await (await model.loadCheckpoint(saved.uri)).result;
      const completion = await sample(model, 1, bench);
      expect(completion.policyVersion).toBe(0);
      expect(await trainerGap(model, completion, 1)).toBeLessThan(bench.settings.logprobTolerance);
    });

    it('identifies the served weights by a digest, or reports none', async () => {
      const model = await bench.model();
      const initial = await model.endpoint();
      if (!(await bench.has('weight_digest'))) {
        expect(initial.weights).toBeUndefined();
        return;
      }
      const digestOf = async () => (await (await model.publishWeights()).result).weights?.digest;
      expect(initial.weights?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(await digestOf()).toBe(initial.weights?.digest);
      const saved = await (await model.saveCheckpoint('initial', {})).result;
      await trainOnce(model, batchOfFour);
      const trained = await digestOf();
      expect(trained).not.toBe(initial.weights?.digest);
      const { weights, ...rest } = await model.endpoint();
      expect(weights?.digest).toBe(trained);
      expect(rest.policyVersion).toBe(2);
      if (weights?.probe !== undefined) {
        expect(weights.probe.tokens).toBeGreaterThan(0);
        expect(weights.probe.logprobGap).toBeLessThanOrEqual(weights.probe.maxLogprobGap);
      }
      await (await model.loadCheckpoint(saved.uri)).result;
      expect((await model.endpoint()).weights?.digest).toBe(initial.weights?.digest);
    });

    it.each(['drain', 'abort'] as const)(
      'rejects requests while it is paused (%s), and accepts them afterwards',
      async (mode) => {
        const model = await bench.model();
        expect(await model.pause(mode)).toMatchObject({ isPaused: true, inFlight: 0 });
        expect((await sample(model, 1, bench)).status).toBe(503);
        expect(await model.resume()).toMatchObject({ isPaused: false });
        expect((await sample(model, 1, bench)).status).toBe(200);
      },
    );
  });
}

async function sample(model: RuntimeModel, temperature: number, bench: Bench): Promise<SampledCompletion> {
  const { baseUrl, model: name } = await model.endpoint();
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bench.apiKey}` },
    body: JSON.stringify({
      model: name,
      messages: [{ role: 'user', content: bench.settings.prompt }],
      max_tokens: 6,
      temperature,
      logprobs: true,
      return_token_ids: true,
    }),
  });
  const body: ChatCompletion = JSON.parse(await response.text());
  const choice = body.choices?.[0];
  return {
    status: response.status,
    policyVersion: Number(response.headers.get(headerNames.policyVersion)),
    promptTokenIds: body.prompt_token_ids ?? [],
    tokenIds: choice?.token_ids ?? [],
    logprobs: choice?.logprobs?.content.map(({ logprob }) => logprob) ?? [],
  };
}

interface ChatCompletion {
  readonly prompt_token_ids?: readonly number[];
  readonly choices?: readonly {
    readonly token_ids?: readonly number[];
    readonly logprobs?: { readonly content: readonly { readonly logprob: number }[] };
  }[];
}

/** The largest difference between a response's log-probabilities and those of the trained weights. */
async function trainerGap(model: RuntimeModel, completion: SampledCompletion, temperature: number): Promise<number> {
  const { promptTokenIds, tokenIds, logprobs } = completion;
  expect(tokenIds.length).toBeGreaterThan(0);
  expect(logprobs).toHaveLength(tokenIds.length);
  const all = [...promptTokenIds, ...tokenIds];
  const datum = aDatum(1, {
    tokenIds: Int32Array.from(all),
    trained: [{ start: promptTokenIds.length, end: all.length }],
    temperature,
  });
  const [trained = new Float32Array()] = await model.logprobs({ data: [datum] });
  return Math.max(...Array.from(trained, (value, at) => Math.abs(value - (logprobs[at] ?? Number.NaN))));
}
