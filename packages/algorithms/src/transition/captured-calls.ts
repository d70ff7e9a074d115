import type { AttributeValue, ModelCall, Span } from '@agentlightning/core';
import { agentPathFromText, agentPathText, foreignModelCall, genAiAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes, joinModelCalls, modelCallFromSpan } from '@agentlightning/core/spans';

/** The model calls of an attempt, joined from its spans. */
export interface CapturedCalls {
  /** The spans of the attempt, in any order. */
  readonly spans: readonly Span[];
  /** Model calls in order of sequence id. */
  readonly calls: readonly ModelCall[];
  /** Number of duplicate records of the calls in `calls`. */
  readonly duplicates: number;
  /** Captured records with the adapter span of the same call; calls without both are excluded. */
  readonly stepped: readonly { readonly captured: Span; readonly step: Span }[];
}

/**
 * The model calls recorded in spans. A call can have two records: from the gateway, with token ids, and from a framework
 * adapter, with the agent's name and path. They are joined; the gateway's record of the agent takes precedence. Two records
 * of a call with the same tokens, as from a gateway behind a recording `fetch`, count once; the first is kept.
 */
export function capturedCalls(spans: readonly Span[]): CapturedCalls {
  const reported = agentsByResponse(spans);
  const joined = joinModelCalls(spans);
  const found = joined.flatMap(({ captured, step }) => {
    // Other recorders, such as OpenInference, have calls that no gateway recorded.
    const record = captured ?? (step === null || foreignModelCall(step) === null ? null : step);
    const call = record === null ? null : modelCallFromSpan(record);
    if (call === null || record === null) return [];
    return [withAgent({ call, record }, agentOf(step) ?? reported.get(call.responseId ?? '') ?? null)];
  });
  const calls = withoutDuplicates(found);
  const stepped = joined.flatMap(({ captured: record, step }) =>
    record === null || step === null ? [] : [{ captured: record, step }],
  );
  return { spans, calls, duplicates: found.length - calls.length, stepped };
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
  // Reads the span again instead of copying the call: a copy would decode the long bodies.
  return modelCallFromSpan({ ...record, attributes }) ?? call;
}

/** The agent of each response id, from all its spans; absent when they differ, as with repeated ids. */
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
    // Without an id, two equal calls are two calls: a policy can generate the same completion twice.
    if (call.responseId === null) return true;
    const earlier = seen.get(call.responseId) ?? [];
    if (earlier.some((other) => hasSameTokens(other, call))) return false;
    seen.set(call.responseId, [...earlier, call]);
    return true;
  });
}

/** Detects engines that give every response the same id. */
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
