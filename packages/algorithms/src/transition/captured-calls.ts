import type { AttributeValue, ModelCall, Span } from '@agentlightning/core';
import { genAiAttributes, modelCallFromSpan } from '@agentlightning/core';

/** Model calls with token ids, in order of sequence id. */
export interface CapturedCalls {
  readonly calls: readonly ModelCall[];
  /** How many records were left out because they record a call that is in `calls` already. */
  readonly duplicates: number;
}

/**
 * The model calls that spans record. Two sources may tell of one call: the gateway, with token ids, and a
 * framework's adapter, with the agent's name. They are joined on the response id. Two records of the same
 * call with the same tokens, as of a gateway behind a recording `fetch`, count once; the first one stays.
 */
export function capturedCalls(spans: readonly Span[]): CapturedCalls {
  const agentNames = new Map<string, string>();
  const captured: ModelCall[] = [];
  for (const span of spans) {
    const call = modelCallFromSpan(span);
    if (call !== null) captured.push(call);
    const responseId = text(span.attributes[genAiAttributes.responseId]);
    const agentName = call?.agentName ?? text(span.attributes[genAiAttributes.agentName]);
    if (responseId !== null && agentName !== null) agentNames.set(responseId, agentName);
  }
  captured.sort((one, other) => one.sequenceId - other.sequenceId);
  const calls = withoutDuplicates(captured);
  return {
    calls: calls.map((call) => ({
      ...call,
      agentName: call.agentName ?? agentNames.get(call.responseId ?? '') ?? null,
    })),
    duplicates: captured.length - calls.length,
  };
}

function withoutDuplicates(calls: readonly ModelCall[]): readonly ModelCall[] {
  const seen = new Map<string, ModelCall[]>();
  return calls.filter((call) => {
    // Without an id two equal calls are two calls: a policy may well say the same thing twice.
    if (call.responseId === null) return true;
    const earlier = seen.get(call.responseId) ?? [];
    if (earlier.some((other) => hasSameTokens(other, call))) return false;
    seen.set(call.responseId, [...earlier, call]);
    return true;
  });
}

/** Guards against engines that give every answer the same id. */
function hasSameTokens(one: ModelCall, other: ModelCall): boolean {
  return (
    areEqual(one.promptTokenIds, other.promptTokenIds) &&
    one.choices.length === other.choices.length &&
    one.choices.every((choice, index) =>
      areEqual(choice.responseTokenIds, other.choices[index]?.responseTokenIds ?? []),
    )
  );
}

function areEqual(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}

function text(value: AttributeValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
