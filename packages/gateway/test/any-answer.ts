import type { JsonObject } from '@agentlightning/core';
import fc from 'fast-check';

/** An answer of a model as tests make one up, whole. */
export interface AnyAnswer {
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

/** Any answer that has a text or calls at least. */
export const anyAnswer: fc.Arbitrary<AnyAnswer> = fc
  .record({
    reasoning: text,
    content: text,
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  })
  .filter(({ content, calls }) => content !== '' || calls.length > 0);

/** Where texts are cut, and which call goes on next. */
export const anyCuts: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });

/** The answer as the message of a Chat Completions body. */
export function chatMessageOf({ reasoning, content, calls }: AnyAnswer): JsonObject {
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls.map(toolCall) } : {}),
  };
}

/** The answer as a Chat Completions body. */
export function chatBodyOf(answer: AnyAnswer, finishReason = 'stop'): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'tiny',
    choices: [{ index: 0, message: chatMessageOf(answer), finish_reason: finishReason, logprobs: null }],
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, prompt_tokens_details: { cached_tokens: 4 } },
  };
}

/** The answer as the chunks of a Chat Completions stream, its texts cut anywhere and its calls mixed. */
export function chatChunksOf(answer: AnyAnswer, cuts: readonly number[]): readonly JsonObject[] {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'tiny' };
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const { usage } = chatBodyOf(answer);
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(answer.reasoning, cuts).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(answer.content, cuts).map((content) => chunk({ content })),
    ...callDeltas(answer, cuts).map((delta) => chunk({ tool_calls: [delta] })),
    chunk({}, 'stop'),
    { ...base, choices: [], usage: usage ?? null },
  ];
}

/** The heads of all calls first, then their arguments in turns, as the cuts say. */
function callDeltas({ calls }: AnyAnswer, cuts: readonly number[]): readonly JsonObject[] {
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

function toolCall({ id, name, arguments: said }: AnyAnswer['calls'][number]): JsonObject {
  return { id, type: 'function', function: { name, arguments: said } };
}
