import type { AttributeValue, ModelCall, Span } from '@agentlightning/core';
import {
  agentLightningAttributes,
  agentPathFromText,
  agentPathText,
  genAiAttributes,
  joinModelCalls,
  modelCallFromSpan,
} from '@agentlightning/core/spans';

/** What an attempt's spans say of its model calls, joined once for all who ask. */
export interface CapturedCalls {
  /** The spans of the attempt, in any order. */
  readonly spans: readonly Span[];
  /** Model calls with token ids, in order of sequence id. */
  readonly calls: readonly ModelCall[];
  /** How many records were left out because they record a call that is in `calls` already. */
  readonly duplicates: number;
  /** The records, each with the step that an adapter reported; what has only one of both is not among them. */
  readonly stepped: readonly { readonly captured: Span; readonly step: Span }[];
}

/**
 * The model calls that spans record. Two sources may tell of one call: the gateway, with token ids, and a
 * framework's adapter, with the agent's name and path. They are joined; the gateway's own record of the agent
 * comes first. Two records of the same call with the same tokens, as of a gateway behind a recording `fetch`, count
 * once; the first one stays.
 */
export function capturedCalls(spans: readonly Span[]): CapturedCalls {
  const reported = agentsByResponse(spans);
  const joined = joinModelCalls(spans);
  const captured = joined.flatMap(({ captured: record, step }) => {
    const call = record === null ? null : modelCallFromSpan(record);
    if (call === null || record === null) return [];
    return [withAgent({ call, record }, agentOf(step) ?? reported.get(call.responseId ?? '') ?? null)];
  });
  const calls = withoutDuplicates(captured);
  const stepped = joined.flatMap(({ captured: record, step }) =>
    record === null || step === null ? [] : [{ captured: record, step }],
  );
  return { spans, calls, duplicates: captured.length - calls.length, stepped };
}

/** An agent, as a span reports it. */
type ReportedAgent = Pick<ModelCall, 'agentName' | 'agentPath'>;

function withAgent(
  { call, record }: { readonly call: ModelCall; readonly record: Span },
  reported: ReportedAgent | null,
): ModelCall {
  if (reported === null || (call.agentName !== null && call.agentPath !== null)) return call;
  const agentName = call.agentName ?? reported.agentName;
  // The path of another agent would contradict the name.
  const path = call.agentPath ?? (agentName === reported.agentName ? reported.agentPath : null);
  if (agentName === null || (agentName === call.agentName && path === null)) return call;
  const attributes = {
    ...record.attributes,
    [genAiAttributes.agentName]: agentName,
    ...(path === null ? {} : { [agentLightningAttributes.agentPath]: agentPathText(path) }),
  };
  // Read once more rather than copied: a copy would read the bodies, which are long and seldom asked for.
  return modelCallFromSpan({ ...record, attributes }) ?? call;
}

/** The caller of each response, by all spans that record it; absent where they differ, as with a repeated id. */
function agentsByResponse(spans: readonly Span[]): ReadonlyMap<string, ReportedAgent | null> {
  const agents = new Map<string, ReportedAgent | null>();
  for (const span of spans) {
    const agent = agentOf(span);
    const responseId = text(span.attributes[genAiAttributes.responseId]);
    if (agent === null || responseId === null) continue;
    const known = agents.get(responseId);
    if (known === undefined || known?.agentPath === null) agents.set(responseId, agent);
    if (known !== undefined && known?.agentName !== agent.agentName) agents.set(responseId, null);
  }
  return agents;
}

function agentOf(span: Span | null): ReportedAgent | null {
  const agentName = text(span?.attributes[genAiAttributes.agentName]);
  const path = text(span?.attributes[agentLightningAttributes.agentPath]);
  return agentName === null ? null : { agentName, agentPath: path === null ? null : agentPathFromText(path) };
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

/** Guards against engines that give every response the same id. */
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
