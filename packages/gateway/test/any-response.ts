import type { JsonObject } from '@agentlightning/core';
import fc from 'fast-check';

/** A generated model response. */
export interface AnyResponse {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 });

const call = fc.record({
  id: fc.stringMatching(/^call_[a-z0-9]{1,8}$/),
  name: fc.stringMatching(/^[a-z_]{1,8}$/),
  arguments: fc
    .dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 1 }))
    .map((value) => JSON.stringify(value)),
});

/** Any response with at least a text or tool calls. */
export const anyResponse: fc.Arbitrary<AnyResponse> = fc
  .record({
    reasoning: text,
    content: text,
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  })
  .filter(({ content, calls }) => content !== '' || calls.length > 0);

/** Chunk boundaries, and the interleaving of tool calls. */
export const anyCuts: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });

/** The response as the message of a Chat Completions body. */
export function chatMessageOf({ reasoning, content, calls }: AnyResponse): JsonObject {
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls.map(toolCall) } : {}),
  };
}

/** The response as a Chat Completions body. */
export function chatBodyOf(response: AnyResponse, finishReason = 'stop'): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'tiny',
    choices: [{ index: 0, message: chatMessageOf(response), finish_reason: finishReason, logprobs: null }],
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, prompt_tokens_details: { cached_tokens: 4 } },
  };
}

/** The response as the chunks of a Chat Completions stream, with arbitrary boundaries and interleaved tool calls. */
export function chatChunksOf(response: AnyResponse, cuts: readonly number[]): readonly JsonObject[] {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'tiny' };
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const { usage } = chatBodyOf(response);
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(response.reasoning, cuts).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(response.content, cuts).map((content) => chunk({ content })),
    ...callDeltas(response, cuts).map((delta) => chunk({ tool_calls: [delta] })),
    chunk({}, 'stop'),
    { ...base, choices: [], usage: usage ?? null },
  ];
}

/** The heads of all tool calls first, then their arguments, interleaved as the cuts determine. */
function callDeltas({ calls }: AnyResponse, cuts: readonly number[]): readonly JsonObject[] {
  const rest = calls.map(({ arguments: whole }, index) => ({ index, pieces: [...pieces(whole, cuts)] }));
  const deltas: JsonObject[] = calls.map(({ id, name }, index) => ({
    index,
    id,
    type: 'function',
    function: { name },
  }));
  for (let turn = 0; rest.some((one) => one.pieces.length > 0); turn += 1) {
    const open = rest.filter((one) => one.pieces.length > 0);
    const next = open[(cuts[turn % cuts.length] ?? 0) % open.length];
    deltas.push({ index: next?.index ?? 0, function: { arguments: next?.pieces.shift() ?? '' } });
  }
  return deltas;
}

function pieces(whole: string, cuts: readonly number[]): readonly string[] {
  const letters = [...whole];
  const cut: string[] = [];
  for (let turn = 0; letters.length > 0; turn += 1)
    cut.push(letters.splice(0, ((cuts[turn % cuts.length] ?? 0) % 4) + 1).join(''));
  return cut;
}

function toolCall({ id, name, arguments: said }: AnyResponse['calls'][number]): JsonObject {
  return { id, type: 'function', function: { name, arguments: said } };
}
