import type { ModelCall, Span } from '@agentlightning/core';
import { genAiAttributes } from '@agentlightning/core/internal';
import type { CapturedCalls } from './captured-calls.ts';

/**
 * Maps spans of an attempt to turns, that is, model calls. Spans arrive from several machines in batches, so span contents
 * take precedence over arrival order.
 */
export class Turns {
  readonly #calls: readonly ModelCall[];
  /** Sequence ids of each agent's calls, in order; those of all calls under null. */
  readonly #sequenceIds: ReadonlyMap<string | null, readonly number[]>;
  readonly #sequenceIdBySpan: ReadonlyMap<string, number>;
  #responses: ReadonlyMap<ModelCall, string> | null = null;

  constructor({ calls, stepped }: CapturedCalls) {
    this.#calls = calls;
    this.#sequenceIds = new Map([...sequenceIdsByAgent(calls), [null, calls.map(({ sequenceId }) => sequenceId)]]);
    this.#sequenceIdBySpan = new Map([
      ...stepped.map(({ captured, step }) => [step.spanId, captured.sequenceId] as const),
      ...calls.map((call) => [call.spanId, call.sequenceId] as const),
    ]);
  }

  /**
   * The turn of a span: for a model call the call itself, for a tool call the call whose response requested it, else the
   * last call before it.
   *
   * @returns the sequence id of the model call; null before the first call
   */
  ofSpan(span: Span): number | null {
    return this.#sequenceIdBySpan.get(span.spanId) ?? this.#requesting(span) ?? this.before(span.sequenceId);
  }

  /**
   * The last model call before a sequence id; null before the first call.
   *
   * @param agent - only calls of this agent. @default all agents
   */
  before(sequenceId: number, agent: string | null = null): number | null {
    const sequenceIds = this.#sequenceIds.get(agent) ?? [];
    let low = 0;
    let high = sequenceIds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sequenceIds[middle] ?? Infinity) < sequenceId) low = middle + 1;
      else high = middle;
    }
    return sequenceIds[low - 1] ?? null;
  }

  /** The agent of a model call; null when unknown. */
  agentOf(sequenceId: number): string | null {
    return this.#calls.find((call) => call.sequenceId === sequenceId)?.agentName ?? null;
  }

  /** Whether an agent with this name called a model. */
  hasAgent(name: string): boolean {
    return this.#sequenceIds.has(name);
  }

  #requesting(span: Span): number | null {
    const callId = span.attributes[genAiAttributes.toolCallId];
    if (typeof callId !== 'string' || callId === '') return null;
    const quoted = JSON.stringify(callId);
    this.#responses ??= new Map(this.#calls.map((call) => [call, JSON.stringify(call.response)]));
    // Ids repeat in later messages: a tool call belongs to the first response that contains its id.
    for (const [call, response] of this.#responses) if (response.includes(quoted)) return call.sequenceId;
    return null;
  }
}

function sequenceIdsByAgent(calls: readonly ModelCall[]): ReadonlyMap<string, readonly number[]> {
  const byAgent = new Map<string, number[]>();
  for (const { agentName, sequenceId } of calls) {
    if (agentName === null) continue;
    const known = byAgent.get(agentName);
    if (known === undefined) byAgent.set(agentName, [sequenceId]);
    else known.push(sequenceId);
  }
  return byAgent;
}
