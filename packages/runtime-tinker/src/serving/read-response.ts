import type { ChatTool, ParsedResponse, SampledResponse } from '@agentlightning/runtime/internal/serving';
import type { ModelText } from '../text/model-text.ts';
import { type ReasoningPlace, splitReasoning } from './reasoning.ts';

/** Reads a response: its reasoning is apart, tool calls are parsed when tools were offered; end tokens and special tokens are not text. */
export function readResponse(
  text: ModelText,
  response: SampledResponse,
  {
    tools,
    callIdPrefix,
    place,
  }: { readonly tools: readonly ChatTool[]; readonly callIdPrefix: string; readonly place: ReasoningPlace },
): ParsedResponse {
  const tokens = response.choices.map(({ token }) => token);
  const last = tokens.at(-1);
  const spoken = last !== undefined && text.endTokens.has(last) ? tokens.slice(0, -1) : tokens;
  const textOf = (skipSpecialTokens: boolean): string => {
    const whole = text.decode(spoken, { skipSpecialTokens });
    const end = response.stopString === undefined ? -1 : whole.indexOf(response.stopString);
    return end < 0 ? whole : whole.slice(0, end);
  };
  const message = splitReasoning(textOf(true), place);
  // A call within the reasoning is not made.
  const called = tools.length > 0 ? splitReasoning(textOf(false), place).content : '';
  const parsed = called === '' ? { content: '', calls: [] } : text.toolFormat.parse(called);
  if (parsed.calls.length === 0) return { ...message, toolCalls: [], finishReason: response.finishReason };
  return {
    ...message,
    content: parsed.content.trim() === '' ? null : parsed.content,
    toolCalls: parsed.calls.map((call, index) => ({
      id: `${callIdPrefix}_${index}`,
      type: 'function',
      function: call,
    })),
    finishReason: response.finishReason === 'stop' ? 'tool_calls' : response.finishReason,
  };
}

/** The number of tokens up to the one that completes the first stop text, and that text; all tokens without one. */
export function untilStop(
  text: ModelText,
  tokens: readonly number[],
  stops: readonly string[],
): { readonly count: number; readonly stop: string | null } {
  const stopIn = (count: number): string | null =>
    firstOf(stops, text.decode(tokens.slice(0, count), { skipSpecialTokens: true }));
  if (stops.length === 0 || stopIn(tokens.length) === null) return { count: tokens.length, stop: null };
  let [without, within] = [0, tokens.length];
  while (within - without > 1) {
    const middle = (without + within) >> 1;
    if (stopIn(middle) === null) without = middle;
    else within = middle;
  }
  return { count: within, stop: stopIn(within) };
}

function firstOf(stops: readonly string[], text: string): string | null {
  const places = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at >= 0);
  return places.toSorted((a, b) => a.at - b.at)[0]?.stop ?? null;
}
