import type { ChatRequest, ChatSampling, ParsedResponse } from '@agentlightning/runtime/internal/serving';
import { beforeAll, describe, expect, test } from 'vitest';
import { chatMl, textWith } from '../../test/model-texts.ts';
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
  model: ModelText = text,
): Promise<Sampled> {
  const requests: SampleRequest[] = [];
  const sampler = {
    policyVersion: 3,
    sample: async (sampled: SampleRequest): Promise<SampledSequence> => {
      requests.push(sampled);
      const tokens = model.encode(written);
      return { tokens, logprobs: tokens.map((_, index) => -index - 1), stopReason };
    },
    score: async (_prompt: readonly number[], response: readonly number[]) => response.map(() => -0.5),
  };
  const { signal } = new AbortController();
  const sampling = startChat({ text: model, ...sampler }, { ...question, ...request }, signal);
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

  test('has its reasoning apart, where the template finds it', async () => {
    const thought = '<think>\nTwo <tool_call>and</tool_call> nothing.\n</think>';
    const written = `${thought}\n\n${call}<|im_end|>`;
    const { message, sampling, tokens } = await ask({ tools: [add] }, written);
    const reasoning = 'Two <tool_call>and</tool_call> nothing.';
    expect(message).toMatchObject({ content: null, reasoning, toolCalls: [{ function: { name: 'add' } }] });
    expect(text.decode(tokens, { skipSpecialTokens: false })).toBe(written);
    const result = { role: 'tool', tool_call_id: 'call_0', content: '2' };
    const called = { role: 'assistant', content: '', reasoning_content: reasoning, tool_calls: message.toolCalls };
    const next = await ask({ tools: [add], messages: [...question.messages, called, result] }, '2');
    const sofar = [...sampling.promptTokens, ...tokens];
    expect(next.sampling.promptTokens.slice(0, sofar.length)).toEqual(sofar);
  });

  test.each([
    ['<think>\nTwo.\n</think>\n\n5<|im_end|>', { content: '5', reasoning: 'Two.' }],
    ['<think>\n\n</think>\n\n5<|im_end|>', { content: '5' }],
    ['5 </think> is <think>no mark</think><|im_end|>', { content: '5 </think> is <think>no mark</think>' }],
    ['<think>\nTwo and', { content: '', reasoning: 'Two and' }],
    ['<think>Two </thin but not closed', { content: '', reasoning: 'Two </thin but not closed' }],
    ['<thinking>5', { content: '<thinking>5' }],
    ['\n<think>ä😀\n\nb</think>c\n', { content: 'c\n', reasoning: 'ä😀\n\nb' }],
  ])('%j streams its reasoning before its text', async (written, expected) => {
    const { message, sampling } = await ask({}, written);
    expect(message).toEqual({ ...expected, toolCalls: [], finishReason: 'stop' });
    const stream = sampling.streamText();
    const deltas = [];
    for await (const { token } of sampling.responses[0] ?? []) deltas.push(stream.take(token));
    deltas.push(stream.rest(message));
    const { content, reasoning = '' } = expected as { readonly content: string; readonly reasoning?: string };
    expect(deltas.map((delta) => delta.reasoning).join('')).toBe(reasoning);
    expect(deltas.map((delta) => delta.content).join('')).toBe(content);
    const firstText = deltas.findIndex((delta) => delta.content !== '');
    expect(deltas.slice(firstText + 1).every((delta) => firstText < 0 || delta.reasoning === '')).toBe(true);
  });

  test('begins within the reasoning where the template opens it', async () => {
    const opened = await textWith({
      source: `${chatMl.replace('assistant\\n', 'assistant\\n<think>\\n')}{# </think> #}`,
    });
    const { message } = await ask({}, 'Two.\n</think>\n\n5', 'stop', opened);
    expect(message).toMatchObject({ content: '5', reasoning: 'Two.' });
    const { message: plain } = await ask({}, 'Two.</think>5', 'stop', await textWith({ source: chatMl }));
    expect(plain).toMatchObject({ content: 'Two.</think>5' });
    expect(plain.reasoning).toBeUndefined();
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
