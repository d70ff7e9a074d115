import type { Attributes, JsonObject, JsonValue } from '@agentlightning/core';
import { genAiAttributes, isJsonObject, objectsOf, textOf } from '@agentlightning/core/internal';
import type { SpanData } from './framework.ts';

/** A tool call that a model requested. */
interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Finds the ids of tool calls: the framework's tool spans do not have them, only the model's response does. */
export class ToolCallIds {
  readonly #requested: Map<string, RequestedCall[]> = new Map();

  /** Stores the tool calls of an agent's latest model response. */
  add(agentId: string, response: JsonObject): void {
    const calls = [...chatCalls(response), ...responseCalls(response)];
    if (calls.length > 0) this.#requested.set(agentId, calls);
  }

  /**
   * The id of a tool span's call, as an attribute.
   *
   * @param rank - the number of spans in progress with an equal call that started earlier: they start in request order
   */
  take(agentId: string, { name, input }: SpanData, rank: number): Attributes {
    const requested = this.#requested.get(agentId) ?? [];
    const named = requested.filter((call) => call.name === name);
    const exact = named.filter((call) => call.arguments === input);
    const call = (exact.length > 0 ? exact : named)[rank];
    if (call === undefined) return {};
    requested.splice(requested.indexOf(call), 1);
    return { [genAiAttributes.toolCallId]: call.id };
  }

  forget(agentId: string): void {
    this.#requested.delete(agentId);
  }
}

function chatCalls({ choices }: JsonObject): readonly RequestedCall[] {
  const [choice] = objectsOf(choices);
  const message = isJsonObject(choice?.message) ? choice.message : {};
  return objectsOf(message.tool_calls).flatMap((call) =>
    isJsonObject(call.function) ? requestedCall(call.id, call.function) : [],
  );
}

function responseCalls({ output }: JsonObject): readonly RequestedCall[] {
  return objectsOf(output).flatMap((item) => (item.type === 'function_call' ? requestedCall(item.call_id, item) : []));
}

function requestedCall(id: JsonValue | undefined, { name, arguments: args }: JsonObject): readonly RequestedCall[] {
  if (typeof id !== 'string' || typeof name !== 'string') return [];
  return [{ id, name, arguments: textOf(args) ?? '' }];
}
