import { expect, test } from 'vitest';
import { sampleRequest, smallConfig } from '../../test/small-model.ts';
import { initialParameters } from '../model/parameters.ts';
import { Random } from '../random.ts';
import { decodeTokens } from '../text/tokenizer.ts';
import { specialToken } from '../text/vocabulary.ts';
import { Decoder } from './decoder.ts';
import { KeyValueCache } from './key-value-cache.ts';
import { Sampler } from './sampler.ts';
import { chooseToken } from './token-choice.ts';

const parameters = initialParameters(smallConfig, Random.fromSeed(1));

function makeSampler(): Sampler {
  return new Sampler({ config: smallConfig, parameters, version: 3, random: Random.fromSeed(9) });
}

/** Prompts with common prefixes of different lengths. */
const requests = Array.from({ length: 24 }, (_, index) =>
  sampleRequest({
    promptTokens: Array.from({ length: 4 + (index % 7) * 6 }, (_, at) => (at * 5 + (at > index ? index : 0)) % 256),
    maxTokens: 5 + (index % 5) * 9,
    temperature: 0.5 + (index % 4) * 0.4,
    seed: index,
  }),
);

test('a response does not depend on the batch nor on earlier requests', async () => {
  const together = makeSampler();
  const results = await Promise.all(requests.map((request) => together.sample(request).result));
  const alone = await Promise.all(requests.map((request) => makeSampler().sample(request).result));
  expect(results.map(({ choices }) => choices)).toEqual(alone.map(({ choices }) => choices));
  expect(results.some(({ cachedTokens }) => cachedTokens > 10)).toBe(true);
  expect(alone.every(({ cachedTokens }) => cachedTokens === 0)).toBe(true);
});

test('decoding with cached prefixes is bitwise identical to a full prefill', async () => {
  const sampler = makeSampler();
  const decoder = new Decoder(smallConfig, parameters);
  for (const request of requests.slice(0, 8)) {
    const { choices } = await sampler.sample(request).result;
    const random = Random.fromSeed(request.seed ?? 0);
    const tokens = [...request.promptTokens];
    for (const choice of choices) {
      const logits = decoder.append(tokens, new KeyValueCache(smallConfig, 1));
      expect(chooseToken(logits, request, random.nextUniform())).toEqual(choice);
      tokens.push(choice.token);
    }
  }
});

test('the second turn computes only new tokens', async () => {
  const sampler = makeSampler();
  const first = await sampler.sample(sampleRequest({ maxTokens: 5 })).result;
  const history = [...first.promptTokens, ...first.choices.map(({ token }) => token)];
  const second = await sampler.sample(sampleRequest({ promptTokens: [...history, 271, 52, 50, 270] })).result;
  expect(second.cachedTokens).toBe(history.length - 1);
});

test('the same seed gives the same response, another seed another', async () => {
  const sampler = makeSampler();
  const sample = async (seed: number) => (await sampler.sample(sampleRequest({ seed, maxTokens: 20 })).result).choices;
  expect(await sample(1)).toEqual(await sample(1));
  expect(await sample(2)).not.toEqual(await sample(1));
});

test('tokens are streamed while the response is in progress', async () => {
  const sampler = makeSampler();
  const generation = sampler.sample(sampleRequest({ maxTokens: 40, seed: 4 }));
  const seen: number[] = [];
  let activeAtFirst = 0;
  for await (const { token } of generation) {
    if (seen.length === 0) activeAtFirst = sampler.activeCount;
    seen.push(token);
  }
  const { choices } = await generation.result;
  expect(seen).toEqual(choices.map(({ token }) => token));
  expect(seen.length).toBeGreaterThan(5);
  expect(activeAtFirst).toBe(1);
});

test('a response in progress ends with the weights it started with', async () => {
  const sampler = makeSampler();
  const request = sampleRequest({ maxTokens: 30, seed: 4 });
  const expected = await sampler.sample(request).result;
  const generation = sampler.sample(request);
  for await (const _ of generation) {
    if (sampler.weightVersion === 3) sampler.publish(initialParameters(smallConfig, Random.fromSeed(2)), 4);
  }
  expect((await generation.result).choices).toEqual(expected.choices);
  expect(generation.weightVersion).toBe(3);
  const next = await sampler.sample(request).result;
  expect(next.weightVersion).toBe(4);
  expect(next.choices).not.toEqual(expected.choices);
  expect(next.cachedTokens).toBe(0);
});

test('a response ends at the token limit, at the end of the context, and at the end token', async () => {
  const sampler = makeSampler();
  const limited = await sampler.sample(sampleRequest({ maxTokens: 3, seed: 4 })).result;
  expect(limited).toMatchObject({ finishReason: 'length', choices: { length: 3 } });
  const long = sampleRequest({ promptTokens: Array<number>(126).fill(65), maxTokens: 50, seed: 4 });
  expect(await sampler.sample(long).result).toMatchObject({ finishReason: 'length', choices: { length: 2 } });
  const eager = new Sampler({
    config: smallConfig,
    parameters: await endingParameters(),
    version: 0,
    random: Random.fromSeed(1),
  });
  const ended = await eager.sample(sampleRequest({ temperature: 0 })).result;
  expect(ended.finishReason).toBe('stop');
  expect(ended.choices.map(({ token }) => token)).toEqual([specialToken.end]);
});

/** Weights under which only the end token's logit is nonzero, and positive after the default prompt. */
async function endingParameters(): Promise<Float32Array> {
  const values = Float32Array.from(parameters);
  const table = values.subarray(values.length - smallConfig.outputSize * smallConfig.width);
  const row = table.subarray(specialToken.end * smallConfig.width, (specialToken.end + 1) * smallConfig.width);
  const saved = Float32Array.from(row);
  table.fill(0);
  row.set(saved);
  const logits = new Decoder(smallConfig, values).append(
    sampleRequest({}).promptTokens,
    new KeyValueCache(smallConfig, 8),
  );
  if ((logits[specialToken.end] ?? 0) < 0) row.set(saved.map((value) => -value));
  return values;
}

test('a stop text ends the response immediately', async () => {
  const sampler = makeSampler();
  const request = sampleRequest({ maxTokens: 30, seed: 4 });
  const { choices } = await sampler.sample(request).result;
  const stop = decodeTokens(choices.slice(6, 8).map(({ token }) => token));
  const stopped = await sampler.sample({ ...request, stop: ['never there', stop] }).result;
  expect(stopped).toMatchObject({ finishReason: 'stop', stopString: stop });
  expect(stopped.choices.length).toBeLessThanOrEqual(8);
});

test('an aborted request ends with CANCELLED, and the others continue', async () => {
  const sampler = makeSampler();
  const controller = new AbortController();
  const abandoned = sampler.sample(sampleRequest({ maxTokens: 60, seed: 4, signal: controller.signal }));
  const other = sampler.sample(sampleRequest({ maxTokens: 10, seed: 4 }));
  for await (const _ of other) controller.abort();
  await expect(abandoned.result).rejects.toMatchObject({ code: 'CANCELLED' });
  expect((await other.result).choices).toHaveLength(10);
  await sampler.whenIdle;
  expect(sampler.activeCount).toBe(0);
});

test.each([
  ['an empty prompt', { promptTokens: [] }, /no tokens/],
  ['a prompt as long as the context', { promptTokens: Array<number>(128).fill(1) }, /128/],
  ['an unknown token', { promptTokens: [1, 273] }, /unknown token 273/],
  ['no tokens to sample', { maxTokens: 0 }, /max_tokens is 0/],
  ['a negative temperature', { temperature: -1 }, /temperature is -1/],
  ['a top_p of 0', { topP: 0 }, /top_p is 0/],
])('a request with %s is rejected', (_, fields, message) => {
  expect(() => makeSampler().sample(sampleRequest(fields))).toThrow(message);
});
