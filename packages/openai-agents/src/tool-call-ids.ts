import type { Attributes, JsonObject, JsonValue } from '@agentlightning/core';
import { objectsOf, textOf } from '@agentlightning/core/adapter';
import { isJsonObject } from '@agentlightning/core/internal';
import { genAiAttributes } from '@agentlightning/core/spans';
import type { SpanData } from './framework.ts';

/** A tool call that a model asked for. */
interface AskedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The ids of tool calls, which the framework's spans of tools do not have: they are in the answer that asked for them. */
export class ToolCallIds {
  readonly #asked: Map<string, AskedCall[]> = new Map();

  /** Notes what an agent's model asked for last. */
  add(agentId: string, answer: JsonObject): void {
    const calls = [...chatCalls(answer), ...responseCalls(answer)];
    if (calls.length > 0) this.#asked.set(agentId, calls);
  }

  /**
   * The id of the call that a tool's span is about, as an attribute.
   *
   * @param rank - how many spans of equal calls began before this one and are still under way: they begin in their order
   */
  take(agentId: string, { name, input }: SpanData, rank: number): Attributes {
    const asked = this.#asked.get(agentId) ?? [];
    const named = asked.filter((call) => call.name === name);
    const exact = named.filter((call) => call.arguments === input);
    const call = (exact.length > 0 ? exact : named)[rank];
    if (call === undefined) return {};
    asked.splice(asked.indexOf(call), 1);
    return { [genAiAttributes.toolCallId]: call.id };
  }

  forget(agentId: string): void {
    this.#asked.delete(agentId);
  }
}

function chatCalls({ choices }: JsonObject): readonly AskedCall[] {
  const [choice] = objectsOf(choices);
  const message = isJsonObject(choice?.message) ? choice.message : {};
  return objectsOf(message.tool_calls).flatMap((call) =>
    isJsonObject(call.function) ? askedCall(call.id, call.function) : [],
  );
}

function responseCalls({ output }: JsonObject): readonly AskedCall[] {
  return objectsOf(output).flatMap((item) => (item.type === 'function_call' ? askedCall(item.call_id, item) : []));
}

function askedCall(id: JsonValue | undefined, { name, arguments: args }: JsonObject): readonly AskedCall[] {
  if (typeof id !== 'string' || typeof name !== 'string') return [];
  return [{ id, name, arguments: textOf(args) ?? '' }];
}
