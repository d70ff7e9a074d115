import type { ChatRequest, ChatSampling, ParsedResponse } from '@agentlightning/runtime/internal/serving';
import { beforeAll, describe, expect, test } from 'vitest';
import { textWith } from '../../test/model-texts.ts';
import type { ModelText } from '../text/model-text.ts';
import type { SampledSequence, SampleRequest } from '../wire/sample-messages.ts';
import { startChat } from './tinker-chat.ts';

let text: ModelText;

beforeAll(async () => {
  text = await textWith({ template: 'turns' });
});

const question: ChatRequest = { model: 'm', messages: [{ role: 'user', content: '2 + 3?' }] };
const add = { type: 'function', function: { name: 'add' } } as const;
const call = '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>';

interface Sampled {
  readonly sampling: ChatSampling;
  readonly requests: readonly SampleRequest[];
  readonly message: ParsedResponse;
  readonly tokens: readonly number[];
}

/** Asks for a response; the sampler returns this text. */
async function ask(
  request: Partial<ChatRequest>,
  written: string,
  stopReason: SampledSequence['stopReason'] = 'stop',
): Promise<Sampled> {
  const requests: SampleRequest[] = [];
  const sampler = {
    policyVersion: 3,
    sample: async (sampled: SampleRequest): Promise<SampledSequence> => {
      requests.push(sampled);
      const tokens = text.encode(written);
      return { tokens, logprobs: tokens.map((_, index) => -index - 1), stopReason };
    },
    score: async (_prompt: readonly number[], response: readonly number[]) => response.map(() => -0.5),
  };
  const { signal } = new AbortController();
  const sampling = startChat({ text, ...sampler }, { ...question, ...request }, signal);
  const [first] = sampling.responses;
  if (!first) throw new Error('no response');
  const result = await first.result;
  return {
    sampling,
    requests,
    message: sampling.read(result, 'call'),
    tokens: result.choices.map(({ token }) => token),
  };
}

test('the prompt is rendered, and responses end at the end tokens of the model', async () => {
  const { sampling, requests } = await ask({ max_tokens: 5, temperature: 0.7, top_p: 0.9, n: 2, seed: 4 }, '5');
  expect(text.decode(sampling.promptTokens, { skipSpecialTokens: false })).toBe(
    '<|im_start|>user\n2 + 3?<|im_end|>\n<|im_start|>assistant\n',
  );
  expect(requests).toHaveLength(2);
  expect(requests[0]).toMatchObject({
    maxTokens: 5,
    temperature: 0.7,
    topP: 0.9,
    vocabularySize: text.vocabularySize,
    seed: 4,
  });
  expect(requests[1]?.seed).not.toBe(4);
  expect(requests[0]?.stopTokens).toEqual([...text.endTokens]);
  expect(sampling.policyVersion).toBe(3);
});

test('without max_tokens a response fills the context', async () => {
  const { sampling, requests } = await ask({}, '5');
  expect(requests[0]?.maxTokens).toBe(1000 - sampling.promptTokens.length);
});

describe('a response', () => {
  test('has its end token among the tokens and not in the text', async () => {
    const { message, tokens } = await ask({}, 'It is 5.<|im_end|>');
    expect(message).toEqual({ content: 'It is 5.', toolCalls: [], finishReason: 'stop' });
    expect(text.endTokens.has(tokens.at(-1) ?? -1)).toBe(true);
  });

  test('calls the tools that were offered', async () => {
    const offered = await ask({ tools: [add] }, `${call}<|im_end|>`);
    expect(offered.message).toEqual({
      content: null,
      toolCalls: [{ id: 'call_0', type: 'function', function: { name: 'add', arguments: '{"a":2}' } }],
      finishReason: 'tool_calls',
    });
    for (const request of [{}, { tools: [add], tool_choice: 'none' }]) {
      expect((await ask(request, call)).message).toMatchObject({ content: call, toolCalls: [], finishReason: 'stop' });
    }
  });

  test('has its reasoning in the text, where the template finds it', async () => {
    const thought = '<think>\nTwo and nothing.\n</think>';
    const written = `${thought}\n\n<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call><|im_end|>`;
    const { message, sampling, tokens } = await ask({ tools: [add] }, written);
    expect(message.content).toBe(thought);
    const result = { role: 'tool', tool_call_id: 'call_0', content: '2' };
    const sofar = [...sampling.promptTokens, ...tokens];
    for (const said of [{ content: thought }, { content: '', reasoning_content: 'Two and nothing.' }]) {
      const called = { role: 'assistant', ...said, tool_calls: message.toolCalls };
      const next = await ask({ tools: [add], messages: [...question.messages, called, result] }, '2');
      expect(next.sampling.promptTokens.slice(0, sofar.length)).toEqual(sofar);
    }
    expect((await ask({}, `${thought}\n\n5<|im_end|>`)).message.content).toBe(`${thought}\n\n5`);
  });

  test('ends with the token that completes a stop text', async () => {
    const { message, tokens, sampling } = await ask({ stop: ['!!', 'is 5'] }, 'Well, it is 5. No, 6!!', 'length');
    expect(message).toMatchObject({ content: 'Well, it ', finishReason: 'stop' });
    expect(text.decode(tokens, { skipSpecialTokens: false })).toMatch(/^Well, it is 5/);
    const streamed = [];
    for await (const { token } of sampling.responses[0] ?? []) streamed.push(token);
    expect(streamed).toEqual(tokens);
  });

  test('that is truncated says so', async () => {
    expect((await ask({}, 'It is', 'length')).message.finishReason).toBe('length');
    expect((await ask({ tools: [add] }, '<tool_call>{"name": "add"}', 'length')).message).toMatchObject({
      toolCalls: [{ function: { name: 'add' } }],
      finishReason: 'length',
    });
  });

  test('can be forced, and is scored', async () => {
    const { message, sampling, requests, tokens } = await ask({ forced_message: { content: '5' } }, 'ignored');
    expect(requests).toEqual([]);
    expect(message.content).toBe('5');
    expect(text.decode(tokens, { skipSpecialTokens: false })).toBe('5<|im_end|>');
    const result = await sampling.responses[0]?.result;
    expect(result?.choices.every(({ logprob }) => logprob === -0.5)).toBe(true);
  });
});

test.each([
  [{ top_logprobs: 2 }, /top_logprobs: a Tinker server returns no alternatives/],
  [{ prompt_token_ids: Array<number>(1000).fill(5) }, /context is 1000/],
  [{ tool_choice: 'required' }, /tool_choice: it is "required"/],
])('%j is refused', async (request, message) => {
  await expect(ask(request, '5')).rejects.toThrow(message);
});
